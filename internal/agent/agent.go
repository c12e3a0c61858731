// Package agent chooses the driver of a coding client by its name. The drivers
// lie in folders of their own; what they share is in client.
package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"git-ralph/internal/agent/claude"
	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/command"
	"git-ralph/internal/proc"
	"git-ralph/loop"
)

// Options are what the settings say about drivers.
type Options struct {
	Command []string // argv of driver "command"
	Script  string   // file of driver "scripted"; "" = the embedded demo
	Path    string   // of the client's binary; "" = looked up
}

// Info is what is known about a driver's client on this machine.
type Info = client.Info

// New returns the driver of a client.
func New(driver string, o Options) (loop.Agent, error) {
	switch driver {
	case "command":
		return &command.Agent{Argv: o.Command}, nil
	case "claude":
		return &claude.Agent{Path: o.Path}, nil
	case "codex", "opencode", "gemini":
		return nil, fmt.Errorf("the driver %s is not available yet", driver)
	}
	return nil, fmt.Errorf("unknown driver %q", driver)
}

// Needs names the variables that a client needs to authenticate.
func Needs(driver string) []string {
	if driver == "claude" {
		return claude.Credentials()
	}
	return nil
}

// Probe looks for a driver's client. Dir is the worktree's root.
func Probe(ctx context.Context, driver string, o Options, env []string, dir string) (Info, error) {
	switch driver {
	case "claude":
		return claude.Probe(ctx, o.Path, env)
	case "command":
		return probeCommand(o.Command, env, dir), nil
	case "scripted":
		return Info{Found: true, Supported: true}, nil
	}
	return Info{Problem: fmt.Sprintf("the driver %s is not available yet", driver), Hint: `use driver = "claude" or "command" under [agent]`}, nil
}

func probeCommand(argv []string, env []string, dir string) Info {
	if len(argv) == 0 {
		return Info{Problem: "agent.command is empty", Hint: `set command = ["sh", "agent.sh"] under [agent] in ralph.toml`}
	}
	resolved := command.Resolve(argv, dir, env)
	path := proc.Look(resolved[0], env)
	if path == "" {
		return Info{Problem: fmt.Sprintf("the agent's command %q was not found", argv[0]), Hint: "give its path from the root of the worktree, or put it on PATH"}
	}
	if st, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && st.IsDir() {
		return Info{Problem: fmt.Sprintf("the agent's command %q is not a program", argv[0]), Hint: "give the path of an executable file"}
	}
	return Info{Found: true, Supported: true, Path: filepath.Clean(path)}
}
