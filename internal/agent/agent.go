// Package agent is the list of drivers: it makes the session.Agent that a setting
// names, says whether its client can be used on this machine, and what that
// client needs to log in.
package agent

import (
	"context"
	"fmt"
	"os"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/internal/agent/acp"
	"git-ralph/internal/agent/claude"
	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/codex"
	"git-ralph/internal/agent/command"
	"git-ralph/internal/agent/gemini"
	"git-ralph/internal/agent/opencode"
	"git-ralph/internal/agent/scripted"
	"git-ralph/internal/proc"
	"git-ralph/loop"
	"git-ralph/loop/session"
)

// Info is what is known about a driver's client on this machine.
type Info = client.Info

// Options are what drivers are made from; each takes what it needs.
type Options struct {
	// Command is the argv of the command and acp drivers (agent.command).
	Command []string
	// Preset is a client that the command driver knows (agent.preset), when Command
	// is empty.
	Preset string
	// Script is the file of the scripted driver (agent.script); "" = the
	// embedded demo.
	Script string
	// Self is the path of this program, which plays scripts; "" = os.Executable.
	Self string
	// ClientPath is the client's binary; "" = its usual name on PATH.
	ClientPath string
	// Dir is the worktree's root, for commands that are relative to it.
	Dir string
}

// Names are the drivers of this version.
func Names() []string {
	return []string{"claude", "codex", "gemini", "opencode", "acp", "command", "scripted"}
}

// ConfinesItself reports whether the driver called name runs the commands of its client in
// the client's own sandbox, which needs mount namespaces.
func ConfinesItself(name string) bool { return name == "codex" }

// New makes the driver called name.
func New(name string, opts Options) (session.Agent, error) {
	switch name {
	case "claude":
		return &claude.Agent{Path: opts.ClientPath}, nil
	case "codex":
		return &codex.Agent{Path: opts.ClientPath}, nil
	case "gemini":
		return &gemini.Agent{Path: opts.ClientPath}, nil
	case "opencode":
		return &opencode.Agent{Path: opts.ClientPath}, nil
	case "acp":
		if len(opts.Command) == 0 {
			return nil, fmt.Errorf("the acp driver needs agent.command")
		}
		return &acp.Agent{Argv: opts.Command}, nil
	case "command":
		if _, known := command.PresetOf(opts.Preset); known && len(opts.Command) == 0 {
			return &command.Agent{Preset: opts.Preset}, nil
		}
		if len(opts.Command) == 0 {
			return nil, fmt.Errorf("the command driver needs agent.command")
		}
		return &command.Agent{Argv: opts.Command}, nil
	case "scripted":
		script, err := load(opts.Script)
		if err != nil {
			return nil, err
		}
		self := opts.Self
		if self == "" {
			if self, err = os.Executable(); err != nil {
				return nil, fmt.Errorf("find this program: %w", err)
			}
		}
		return &scripted.Agent{Script: script, Self: self}, nil
	}
	return nil, unknown(name)
}

func load(path string) (*scripted.Script, error) {
	if path == "" {
		return scripted.ParseScript("the embedded demo", scripted.DemoScript())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the agent's script: %w", err)
	}
	return scripted.ParseScript(path, data)
}

func unknown(name string) error {
	return gitstate.Hint(8, "set agent.driver (or --agent) to "+strings.Join(Names(), ", "),
		"driver %q is not one of this version's", name)
}

// Probe says whether the driver called name can be used with these options and
// this environment. An error means that ctx ended; what is wrong with the
// driver or its client is in Info, with a hint.
func Probe(ctx context.Context, name string, opts Options, env []string) (Info, error) {
	switch name {
	case "claude":
		return claude.Probe(ctx, opts.ClientPath, env)
	case "codex":
		return codex.Probe(ctx, opts.ClientPath, env)
	case "gemini":
		return gemini.Probe(ctx, opts.ClientPath, env)
	case "opencode":
		return opencode.Probe(ctx, opts.ClientPath, env)
	case "acp", "command":
		if p, known := command.PresetOf(opts.Preset); known && len(opts.Command) == 0 && name == "command" {
			return p.Probe(env), nil
		}
		if len(opts.Command) == 0 {
			return Info{Problem: "agent.command is empty", Hint: "set agent.command in ralph.toml, for example " +
				map[string]string{"acp": `["opencode", "acp"]`, "command": `["sh", "agent.sh"]`}[name]}, nil
		}
		argv := command.Resolve(opts.Command, opts.Dir, env)
		path := proc.Look(argv[0], env) // a regular file, or nothing
		if path == "" {
			return Info{Problem: fmt.Sprintf("the agent's command %q was not found", opts.Command[0]),
				Hint: "agent.command is looked up in PATH, then in the root of the worktree"}, nil
		}
		return Info{Found: true, Path: path, Supported: true}, nil
	case "scripted":
		if _, err := load(opts.Script); err != nil {
			return Info{Problem: err.Error(), Hint: "fix the script that agent.script (or --script) names"}, nil
		}
		return Info{Found: true, Supported: true}, nil
	}
	return Info{Problem: fmt.Sprintf("driver %q is not one of this version's", name),
		Hint: "set agent.driver (or --agent) to " + strings.Join(Names(), ", ")}, nil
}

// ProbeHooks says whether the client called name calls our hook program before
// its tools and obeys it. It makes the client do one harmless tool call, without
// network and account. Drivers whose clients use such a program refuse the start
// when the answer is not Supported; for the others Probe is the proof. An error
// means that ctx ended or that nothing could be tried.
func ProbeHooks(ctx context.Context, name string, opts Options, env []string) (Info, error) {
	if name != "claude" {
		return Info{Problem: fmt.Sprintf("there is no canary for the hooks of %q", name),
			Hint: "it can be tried with: claude"}, nil
	}
	path := opts.ClientPath
	if path == "" {
		path = name
	}
	info := Info{Path: proc.Look(path, env), Hint: claude.InstallHint}
	if info.Path == "" {
		info.Problem = fmt.Sprintf("%q was not found on PATH", path)
		return info, nil
	}
	info.Found = true
	self := opts.Self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return info, fmt.Errorf("find this program: %w", err)
		}
	}
	problem, err := claude.ProbeHook(ctx, info.Path, env, self)
	if err != nil {
		return info, err
	}
	if problem != "" {
		info.Problem = "the hook of " + name + " does not work: " + problem
		info.Hint = "look for settings of this machine that switch hooks off (managed settings), or take the version that " +
			"was tested: " + claude.InstallHint
		return info, nil
	}
	info.Supported, info.Hint = true, ""
	return info, nil
}

// Efforts are the levels of agent.effort that a driver's client takes; false when
// it has none. Which of them a model of it knows is the model's affair.
func Efforts(name string) ([]string, bool) {
	switch name {
	case "claude":
		return []string{"low", "medium", "high", "xhigh", "max"}, true
	case "codex", "opencode", "command", "scripted":
		return loop.Efforts(), true
	}
	return nil, false
}

// Login is what a driver's client needs to authenticate.
type Login struct {
	// Env are names of variables that the client gets although agent.env_deny
	// matches them, and that nothing else gets.
	Env []string
	// File is the client's credential file, relative to HOME; "" = none. It
	// is the only file of HOME that is copied back from the sandbox.
	File string
}

// SessionFolders are where clients keep the sessions that a retry may go on in,
// relative to HOME. No other process than the loop that made one goes on in it.
func SessionFolders() []string { return []string{codex.SessionFolder} }

// LoginOf is what the client of the driver called name needs.
func LoginOf(name string) Login {
	switch name {
	case "claude":
		return Login{Env: claude.Credentials(), File: claude.CredentialFile}
	case "codex":
		return Login{Env: codex.Credentials(), File: codex.CredentialFile}
	case "gemini":
		return Login{Env: gemini.Credentials(), File: gemini.CredentialFile}
	case "opencode":
		return Login{Env: opencode.Credentials(), File: opencode.CredentialFile}
	}
	return Login{}
}
