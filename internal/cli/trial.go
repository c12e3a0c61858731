package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/internal/agent"
	"git-ralph/internal/agent/acp"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/proc"
)

// promiseDoc is one thing that a client has to do, and whether it did.
type promiseDoc struct {
	Promise string `json:"promise"`
	Holds   bool   `json:"holds"`
	Detail  string `json:"detail,omitempty"`
}

// trialLimit is the longest that a trial may take; a healthy client needs some
// seconds, on a busy machine some minutes.
const trialLimit = 8 * time.Minute

// try lets the user's own client work through a task in a throw-away repository.
// Its model is a script on loopback and its home folder an empty one, so that no
// account is used and nothing of the user's is seen or changed.
func (d *doctor) try(ctx context.Context) error {
	dialect, ok := agent.DialectOf(d.cmd.Agent)
	generic := d.cmd.Agent == "acp" && d.set != nil && len(d.set.Agent.Command) > 0 && d.a.trusted(d.set)
	if !ok && !generic {
		return nil
	}
	for _, c := range d.clients {
		if c.Driver == d.cmd.Agent && (c.State == "not installed" || c.Version == "") {
			return nil
		}
	}
	dir, err := os.MkdirTemp("", "git-ralph-trial-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return fmt.Errorf("make the folder of the trial: %w", err)
	}
	defer os.RemoveAll(dir)
	t := &trial{Dialect: dialect, dir: dir, work: filepath.Join(dir, "project"), env: d.a.Env}
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	if generic {
		t.command = absolute(d.set.Agent.Command, d.a.repo.Root)
		if ok, err = d.shake(ctx, t); err != nil {
			return err
		}
	}
	if ok {
		tried, err := t.run(ctx)
		if err != nil {
			return fmt.Errorf("try %s: %w", d.cmd.Agent, err)
		}
		d.trial = append(d.trial, tried...)
	}
	hint := "git ralph doctor --agent " + d.cmd.Agent + " shows all of it; take the version that was tested"
	if generic && !ok {
		hint = `agent.command has to start the client in its mode for the protocol, as ["opencode", "acp"] does`
	}
	for _, p := range d.trial {
		if !p.Holds {
			d.add("fail", "trial", hint, "%s: %s does not hold", d.cmd.Agent, p.Promise)
		}
	}
	return nil
}

// shake makes the handshake with a client of the Agent Client Protocol, and finds
// out how a scripted model works with it; false when that is not known.
func (d *doctor) shake(ctx context.Context, t *trial) (bool, error) {
	if err := os.MkdirAll(filepath.Join(t.dir, "home"), 0o700); err != nil {
		return false, err
	}
	if err := os.MkdirAll(t.work, 0o700); err != nil {
		return false, err
	}
	name, version, err := acp.Shake(ctx, t.command, t.work, t.environ(nil))
	promise := promiseDoc{Promise: "it speaks version 1 of the Agent Client Protocol", Holds: err == nil,
		Detail: strings.TrimSpace(name + " " + version)}
	if err != nil {
		promise.Detail = err.Error()
	}
	d.trial = []promiseDoc{promise}
	if err != nil || ctx.Err() != nil {
		return false, ctx.Err()
	}
	known := false
	if t.Dialect, known = agent.ACPDialectOf(name); !known {
		d.add("warn", "trial", "a whole task is tried with Gemini CLI and opencode",
			"no scripted model is known for %q, so that only its handshake was tried", name)
	}
	return known, nil
}

// absolute is a command whose files are found from another folder, too.
func absolute(argv []string, root string) []string {
	out := slices.Clone(argv)
	for i, word := range out {
		path := filepath.Join(root, word)
		if filepath.IsAbs(word) || i > 0 && !strings.ContainsRune(word, filepath.Separator) {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			out[i] = path
		}
	}
	return out
}

type trial struct {
	agent.Dialect
	dir, work string
	env       []string
	command   []string // of a client without a driver of its own
}

// script is what the model does: each step is there for one of the promises.
func (t *trial) script() fakemodel.Script {
	one := func(tool fakemodel.Tool) fakemodel.Step { return fakemodel.Step{Tools: []fakemodel.Tool{tool}} }
	keys := ""
	for _, name := range agent.LoginOf(t.Driver).Env {
		keys += "$" + name
	}
	return fakemodel.Script{
		one(t.Write(filepath.Join(t.work, "hello.txt"), "hello\n")),
		one(t.Shell(`cat hello.txt; echo "key=[` + keys + `]"`)),
		one(t.Shell("git commit --allow-empty -m forbidden")),
		one(t.Tool("ralph_mark_task_complete", `{"task_id":"T-001","verification_notes":"hello.txt is there"}`)),
		{Text: "The task is done."},
	}
}

// run makes the repository, lets the loop work in it, and looks at the result.
func (t *trial) run(ctx context.Context) ([]promiseDoc, error) {
	model, err := fakemodel.New(t.script())
	if err != nil {
		return nil, err
	}
	defer model.Close()
	if err := t.Furnish(filepath.Join(t.dir, "home")); err != nil {
		return nil, err
	}
	vars := t.Env(model.URL)
	t.env = t.environ(vars)
	more := ""
	if len(t.command) > 0 {
		command, err := json.Marshal(t.command)
		if err != nil {
			return nil, err
		}
		more = fmt.Sprintf("command = %s\nenv_allow = [\"%s\"]\n", command,
			strings.Join(slices.Sorted(maps.Keys(vars)), `", "`))
	}
	settings := fmt.Sprintf("[agent]\ndriver = %q\nmodel = %q\ntimeout = \"6m\"\nidle_timeout = \"4m\"\n"+
		"on_limit = \"stop\"\n%s[loop]\nmax_attempts = 1\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+
		"[[checks]]\nname = \"test\"\nrun = \"test -e hello.txt\"\n", t.Driver, t.Model, more)
	for path, text := range map[string]string{"ralph.toml": settings, "README": "a trial\n"} {
		path = filepath.Join(t.work, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"config", "user.name", "trial"},
		{"config", "user.email", "trial@localhost"}, {"config", "commit.gpgsign", "false"}, {"add", "--all"},
		{"commit", "--quiet", "--message", "start"}} {
		if _, err := t.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"trust", "--yes"}, {"add", "write hello.txt"}} {
		if _, err := t.ralph(ctx, args...); err != nil {
			return nil, err
		}
	}
	said, failed := t.ralph(ctx, "start", "--yes")
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it did not end within %s", trialLimit)
	}
	return t.judge(ctx, model, said, failed)
}

// judge compares what was promised with what the repository, the journal and the
// model saw.
func (t *trial) judge(ctx context.Context, model *fakemodel.Server, said string, failed error) ([]promiseDoc, error) {
	var shown struct {
		Verdict, Reason, Outcome string
		Tokens                   struct{ Total int64 }
	}
	if out, err := t.ralph(ctx, "show", "1", "--json"); err == nil {
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			return nil, fmt.Errorf("read what came of it: %w", err)
		}
	}
	subjects, err := t.git(ctx, "log", "--format=%s")
	if err != nil {
		return nil, err
	}
	heard := ""
	turns := model.Turns()
	for _, turn := range turns {
		heard += string(turn.Body)
	}
	why := ""
	if failed != nil {
		why = lastLine(said)
	}
	tried := []promiseDoc{
		{"it reaches its model and ends by itself", len(turns) > 0 && shown.Outcome == "completed", why},
		{"its work passes the check and is kept", shown.Verdict == "keep" && strings.Contains(subjects, "T-001"),
			shown.Reason},
		{"a command that the guard refuses does not run, and the model is told why",
			len(turns) > 3 && !strings.Contains(subjects, "forbidden") && strings.Contains(heard, "the harness commits"), ""},
		{"our tools reach it", shown.Verdict == "keep", ""},
		{"it reports tokens", shown.Tokens.Total > 0, ""},
	}
	if len(t.command) == 0 { // else the settings let the key through, to all that the client starts
		tried = append(tried, promiseDoc{"its commands do not see the key of the model",
			strings.Contains(heard, "key=[]"), ""})
	}
	return tried, nil
}

// environ is the user's environment without anything that leads to an account, and
// vars.
func (t *trial) environ(vars map[string]string) []string {
	var env, login []string
	for _, driver := range agent.Names() {
		login = append(login, agent.LoginOf(driver).Env...)
	}
	for _, kv := range t.env {
		name, _, _ := strings.Cut(kv, "=")
		drop := strings.HasPrefix(name, "RALPH_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GIT_")
		for _, prefix := range []string{"ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_", "OPENCODE"} {
			drop = drop || strings.HasPrefix(name, prefix)
		}
		drop = drop || slices.Contains(login, name)
		switch strings.ToLower(name) {
		case "home", "http_proxy", "https_proxy", "all_proxy", "no_proxy":
			drop = true
		}
		if !drop {
			env = append(env, kv)
		}
	}
	env = append(env, "HOME="+filepath.Join(t.dir, "home"), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env
}

func (t *trial) git(ctx context.Context, args ...string) (string, error) {
	path, err := proc.FindGit(t.env)
	if err != nil {
		return "", err
	}
	out, err := (&proc.Git{Path: path, Dir: t.work, Env: proc.GitEnv(t.env)}).Run(ctx, args...)
	return string(out), err
}

// ralph runs one of our own commands there, in a process of its own: the home
// folder is another one.
func (t *trial) ralph(ctx context.Context, args ...string) (string, error) {
	if err := os.MkdirAll(filepath.Join(t.dir, "home"), 0o700); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	var out, errs bytes.Buffer
	exit, err := proc.Run(ctx, proc.Command{Argv: append([]string{self}, args...), Dir: t.work, Env: t.env,
		Stdout: &out, Stderr: &errs})
	if err == nil && !exit.Success() {
		err = fmt.Errorf("git ralph %s: %s", strings.Join(args, " "), lastLine(errs.String()))
		return out.String() + errs.String(), err
	}
	return out.String(), err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
