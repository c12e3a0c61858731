package client

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/guard"
	"git-ralph/guard/hook"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// HookProbe proves, before a loop begins, that a client really calls the hook
// program for its tool calls and obeys it. A client that is asked over a pipe
// proves that by its handshake. One that starts a program may ignore its
// settings, start it wrongly, or run the call when it fails, and nobody
// outside sees it. A driver lets the client make one harmless tool call with
// Hook as its hook, and then asks Proved.
//
// Its folder is its own; no agent ever sees it, and it is gone before one
// runs.
type HookProbe struct {
	// Work is an empty folder for the client to work in.
	Work  string
	Nonce string

	dir, self, record string
}

// NewHookProbe makes the folder of a hook probe; self is the path of this program.
// Close must be called.
func NewHookProbe(self string) (*HookProbe, error) {
	dir, err := proc.TempDir("canary")
	if err != nil {
		return nil, fmt.Errorf("make the canary: %w", err)
	}
	// Clients and their hooks see paths without links.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	c := &HookProbe{dir: dir, Work: filepath.Join(dir, "work"), record: filepath.Join(dir, "record.jsonl"),
		Nonce: rand.Text()}
	if err := c.fill(self); err != nil {
		c.Close()
		return nil, fmt.Errorf("make the canary: %w", err)
	}
	return c, nil
}

func (c *HookProbe) fill(self string) error {
	p := guard.New(c.Work, "")
	p.HookProbe = &guard.HookProbe{Nonce: c.Nonce, Record: c.record}
	policy, err := p.Marshal()
	if err != nil {
		return err
	}
	for _, d := range []string{c.Work, filepath.Join(c.dir, "bin")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	for name, data := range map[string][]byte{hook.PolicyFile: policy, filepath.Base(c.record): nil} {
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	bin := filepath.Join(c.dir, "bin")
	c.self = filepath.Join(bin, session.SelfName(self))
	return session.InstallSelf(self, bin)
}

// Hook is the command of the hook for the client of that name (claude, codex,
// gemini): as in a run, our program in a folder beside the policy.
func (c *HookProbe) Hook(client string) []string {
	return []string{c.self, "hook", client}
}

// Env is env with what a run's hooks get.
func (c *HookProbe) Env(env []string) []string {
	return Set(env, hook.PolicyVar+"="+filepath.Join(c.dir, hook.PolicyFile))
}

// Proved says whether the hook was asked about the call: by that client, for a
// tool about to run, with this hook probe's policy, and it refused. told is what
// the model got as the result of its call; it must be the refusal. The error
// is one sentence about what is wrong.
func (c *HookProbe) Proved(client, told string) error {
	data, err := os.ReadFile(c.record)
	if err != nil {
		return fmt.Errorf("the hook's record cannot be read: %w", err)
	}
	asked := false
	for _, r := range guard.ParseHookProbe(data) {
		asked = asked || r.Nonce == c.Nonce && r.Client == client && r.Tool != "" && r.Refused
	}
	switch obeyed := strings.Contains(told, c.Nonce); {
	case asked && obeyed:
		return nil
	case asked:
		return errors.New("the hook refused a tool call, and the client does not say that it was refused")
	case len(bytes.TrimSpace(data)) > 0:
		return errors.New("the client calls the hook, but not before a tool runs")
	}
	return errors.New("the client made a tool call without asking the hook")
}

// Close removes the folder.
func (c *HookProbe) Close() error { return os.RemoveAll(c.dir) }
