package codex

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop"
)

// TestedVersion is the version that the tests ran. Older ones are not known to
// ask about every command, or to take tools from us.
const TestedVersion = "0.169.0"

// InstallHint is how to get a client that works.
const InstallHint = "npm install -g @openai/codex@" + TestedVersion

// LoginHint is how to let it in.
const LoginHint = "codex login, or set OPENAI_API_KEY"

// probeLimit is the longest that a healthy client needs to say who it is.
const probeLimit = 30 * time.Second

// Probe finds the client, asks for its version and looks for a login. path is
// the client; "" = "codex" in PATH of env. An error means that ctx ended;
// everything about the client is in Info.
func Probe(ctx context.Context, path string, env []string) (client.Info, error) {
	if runtime.GOOS == "windows" {
		return client.Info{Problem: "the codex driver does not work on Windows", Hint: "use it in WSL, or another agent.driver"}, nil
	}
	found := find(path, env)
	if found == "" {
		if path == "" {
			path = "codex"
		}
		return client.Info{Problem: fmt.Sprintf("Codex was not found (%q is not on PATH)", path), Hint: InstallHint}, nil
	}
	info := client.Info{Found: true, Path: found, Hint: InstallHint}
	limited, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	env = environ(loop.Request{Env: env})
	out := proc.NewHeadTail(4 << 10)
	exit, err := proc.Run(limited, proc.Command{Argv: []string{found, "--version"}, Env: env, Stdout: out})
	if ctx.Err() != nil {
		return info, fmt.Errorf("probe codex: %w", ctx.Err())
	}
	if info.Version = clientVersion(out.String()); err != nil || !exit.Success() || info.Version == "" {
		info.Problem = fmt.Sprintf("%s does not say which version it is (%s)", found, client.Line(out.String(), 200))
		return info, nil
	}
	switch client.CompareVersions(info.Version, TestedVersion) {
	case -1:
		info.Problem = fmt.Sprintf("Codex %s is too old: %s is the oldest that is known to ask about every command", info.Version, TestedVersion)
		return info, nil
	case 1:
		info.Warning = fmt.Sprintf("Codex %s is newer than %s, the newest that git ralph was tested with", info.Version, TestedVersion)
	}
	info.Login = "yes"
	if _, err := os.Stat(filepath.Join(client.Get(env, "HOME"), CredentialFile)); err != nil && keyVariable(env) == "" {
		info.Login, info.Problem, info.Warning, info.Hint = "no", "Codex is not logged in", "", LoginHint
		return info, nil
	}
	info.Supported = true
	if info.Warning == "" {
		info.Hint = ""
	}
	return info, nil
}
