package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Versions. 2.1.197 speaks the same protocol but lets a call run when its
// judgement fails; which version began to block is not known, so that the
// handshake decides. TestedVersion is the newest that the tests ran.
const (
	tooOldVersion = "2.1.197"
	TestedVersion = "2.1.329"
)

// InstallHint is how to get a client that works.
const InstallHint = "npm install -g @anthropic-ai/claude-code@" + TestedVersion

// Probe finds the client, asks for its version and makes the handshake of the
// control protocol without giving it anything to do (about 0.4 s, no request to
// the provider). path is the client; "" = "claude" in PATH of env. An error
// means that ctx ended; everything about the client is in Info.
func Probe(ctx context.Context, path string, env []string) (client.Info, error) {
	if path == "" {
		path = "claude"
	}
	found := proc.Look(path, env)
	if found == "" {
		return client.Info{Problem: fmt.Sprintf("Claude Code was not found (%q is not on PATH)", path), Hint: InstallHint},
			nil
	}
	info := client.Info{Found: true, Path: found, Hint: InstallHint}
	limited, cancel := context.WithTimeout(ctx, client.ProbeLimit)
	defer cancel()
	env = environ(session.Request{Env: env}, os.Geteuid() == 0)

	out := proc.NewHeadTail(4 << 10)
	exit, err := proc.Run(limited, proc.Command{Argv: []string{found, "--version"}, Env: env, Stdout: out, Stderr: out})
	if ctx.Err() != nil {
		return info, fmt.Errorf("probe claude: %w", ctx.Err())
	}
	if info.Version = client.VersionIn(out.String()); err != nil || !exit.Success() || info.Version == "" {
		info.Problem = fmt.Sprintf("%s does not say which version it is (%s)", found, client.Complaint(out.String()))
		return info, nil
	}
	if client.CompareVersions(info.Version, tooOldVersion) <= 0 {
		info.Problem = fmt.Sprintf("Claude Code %s is too old: it runs a tool call whose judgement failed", info.Version)
		return info, nil
	}
	_, problem := shake(limited, found, env)
	if ctx.Err() != nil {
		return info, fmt.Errorf("probe claude: %w", ctx.Err())
	}
	if problem != "" {
		info.Problem = fmt.Sprintf("Claude Code %s cannot be used: %s", info.Version, problem)
		return info, nil
	}
	info.Supported, info.Hint = true, ""
	if client.CompareVersions(info.Version, TestedVersion) > 0 {
		info.Warning = fmt.Sprintf("Claude Code %s is newer than %s, the newest that git ralph was tested with", info.Version,
			TestedVersion)
		info.Hint = InstallHint
	}
	if info.Login = login(env, runtime.GOOS); info.Login == "no" {
		info.Warning, info.Hint = "Claude Code is not logged in", LoginHint
	}
	return info, nil
}

// LoginHint is how to let it in.
const LoginHint = "run claude once and log in, or set ANTHROPIC_API_KEY"

// login says whether the client has a key or a login: yes, no, or unknown where
// they lie in a place of the system's or of another provider's.
func login(env []string, system string) string {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && (slices.Contains(credentials, name) && !strings.HasPrefix(name, "AWS_") ||
			strings.HasPrefix(name, "CLAUDE_CODE_OAUTH_")) {
			return "yes"
		}
		if strings.HasPrefix(name, "CLAUDE_CODE_USE_") || name == "CLAUDE_CONFIG_DIR" {
			return "unknown"
		}
	}
	if _, err := os.Stat(filepath.Join(client.Get(env, "HOME"), CredentialFile)); err == nil {
		return "yes"
	}
	if system == "darwin" {
		return "unknown" // the keychain
	}
	return "no"
}

// shake starts the client, initializes the protocol and ends it.
func shake(ctx context.Context, path string, env []string) (handshake, string) {
	stderr := proc.NewHeadTail(4 << 10)
	p, err := proc.Start(ctx, proc.Command{
		Argv: []string{path, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
			"--setting-sources", "", "--strict-mcp-config", "--permission-mode", "bypassPermissions", "--no-session-persistence",
			"--tools", "Read"},
		Dir: os.TempDir(), Env: env, StdinPipe: true, StdoutPipe: true, Stderr: stderr,
	})
	if err != nil {
		return handshake{}, err.Error()
	}
	out := client.NewOutbox(p.Stdin)
	out.Send(initialize(withoutTools))
	var h handshake
	problem := "no answer to initialize"
	lines := &client.Lines{Max: client.MaxLine, Line: func(data []byte, cut bool) {
		if l, ok := parse(data); ok && !cut && l.Type == "control_response" && l.Response != nil &&
			l.Response.RequestID == initializeID {
			h, problem = l.Response.check()
			out.Close() // the client ends with its input
		}
	}}
	_, err = io.Copy(lines, p.Stdout)
	lines.Close()
	out.Close()
	exit, waitErr := p.Wait()
	<-out.Done()
	p.Stdout.Close()
	if err = errors.Join(err, waitErr); err != nil && problem == "" {
		problem = err.Error()
	}
	if problem == "no answer to initialize" {
		if why := client.Complaint(stderr.String()); why != "" {
			problem += ": " + why
		} else if !exit.Success() {
			problem += ": " + exit.String()
		}
	}
	return h, problem
}
