// Package command drives any program as an agent: it is run in the worktree
// with the prompt on standard input and RALPH_* in its environment, may call
// "git ralph tool", may leave its handoff in $RALPH_HANDOFF_FILE, and may print
// usage and text as JSON lines. Status 0 says that it ended, nothing more.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Agent runs one command.
type Agent struct {
	// Argv is the command; a relative Argv[0] with a slash is relative to the
	// worktree's root, a bare name is looked up in PATH and then there. Required.
	Argv []string
	// Preset is a known client in place of Argv, which is empty then.
	Preset string
	// Grace is the time between asking the agent to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
}

// Run runs the command once.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	result := session.Result{Client: "command"}
	preset, known := PresetOf(a.Preset)
	if len(a.Argv) == 0 && !known {
		return result, errors.New("run the agent: agent.command is empty")
	}
	env := client.Set(client.Environ(req), "RALPH_RUN_MODEL="+req.Model, "RALPH_RUN_EFFORT="+req.Effort)
	// All of it at once, so that an agent which never reads it can neither block
	// nor break a pipe. req.PromptFile does not work here: its path is valid only
	// inside the sandbox, and the agent could change it.
	argv, input := a.Argv, req.Prompt
	if known {
		var more []string
		var err error
		if argv, more, input, err = preset.command(req); err != nil {
			return result, fmt.Errorf("run the agent: %w", err)
		}
		env, result.Client = client.Set(env, more...), preset.Name
	}
	stdin, closeStdin, err := proc.Input([]byte(input))
	if err != nil {
		return result, fmt.Errorf("hand over the prompt: %w", err)
	}
	defer closeStdin()

	transcript := client.NewTranscript(req.Transcript)
	printed := client.NewPrinted(events, transcript)
	clock, grace := proc.SystemClock(), a.Grace
	if a.Clock != nil {
		clock = *a.Clock
	}
	if grace == 0 {
		grace = client.DefaultGrace
	}
	watch := client.NewWatch(req.Timeout, req.Idle, req.OpenCalls, clock)
	defer watch.Stop()
	line := printed.Stdout
	if preset.JSON {
		line = func(data []byte, cut bool) {
			printed.Stdout(data, cut)
			for _, l := range preset.translate(bytes.TrimSpace(data), clock) {
				printed.Stdout(l, false)
			}
		}
	}
	var last lastLines
	heard := func(line func([]byte, bool)) *client.HeardLines {
		return &client.HeardLines{Lines: client.Lines{Max: client.MaxPrinted, Line: func(data []byte, cut bool) {
			last.add(data)
			line(data, cut)
		}}, Watch: watch}
	}
	stdout, stderr := heard(line), heard(printed.Stderr)
	// The context ends the agent through Follow, which tells why it ended.
	p, err := req.Start(context.WithoutCancel(ctx), proc.Command{
		Argv: Resolve(argv, req.Dir, env), Dir: req.Dir, Env: env,
		Stdin: stdin, Stdout: stdout, Stderr: stderr,
	})
	if err != nil {
		return result, fmt.Errorf("run the agent: %w", err)
	}
	kind, detail, exit, err := client.Follow(ctx, p, watch, grace)
	stdout.Close()
	stderr.Close()
	if err != nil {
		return result, fmt.Errorf("run the agent: %w", err)
	}
	if err := transcript.Err(); err != nil && req.Log != nil {
		req.Log("write the transcript: %v", err)
	}
	result.Outcome, result.Detail, result.ExitCode = kind, detail, exit.Code
	result.Usage, result.Model = printed.Usage()
	// A run that we ended ourselves keeps our outcome.
	if kind == session.Completed || kind == session.Crashed {
		if end := printed.End(); end != nil {
			result.Outcome, result.Detail, result.Until = end.Outcome, end.Detail, end.Until
		} else if end := last.ending(preset.Errors, clock.Now()); end != nil {
			result.Outcome, result.Detail, result.Until = end.Kind, end.Detail, end.Until
		}
	}
	return result, nil
}

// Resolve is argv with its program found: see Agent.Argv. A program that is
// nowhere stays as it is; starting it will say so.
func Resolve(argv []string, dir string, env []string) []string {
	name := argv[0]
	if filepath.IsAbs(name) {
		return argv
	}
	out := append([]string{}, argv...)
	if !strings.ContainsAny(name, `/\`) || filepath.Separator == '/' && !strings.Contains(name, "/") {
		if p := proc.Look(name, env); p != "" {
			out[0] = p
			return out
		}
	}
	if p := filepath.Join(dir, name); isFile(p) {
		out[0] = p
	}
	return out
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
