// Package opencode drives opencode by its run command: one process a prompt,
// which reports what it does as JSON lines on its standard output. Our plugin
// runs in the client. It asks the guard before every tool call and reports what
// the client keeps to itself (retries, the model, sub-agents' tokens). A client
// that works without it is ended. The ralph_* tools come from git ralph mcp.
//
// The client gets folders of its own for settings, data and cache beside the
// handoff, with nothing of the user's but a link to the logins.
package opencode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Agent runs opencode.
type Agent struct {
	// Path of the client; "" = "opencode" in PATH of the request.
	Path string
	// Grace is the time between asking the client to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
}

// Run runs the client once. What the client does wrong is an Outcome; an error
// means that it could not be started.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	result := session.Result{Client: "opencode"}
	if req.Judge == nil || req.Self == "" {
		return result, errors.New("run opencode: nobody judges its tool calls")
	}
	if len(req.MCP) > 0 {
		return result, errors.New("run opencode: this driver does not serve the MCP servers of the settings")
	}
	if found := ownPlugins(req.Dir); found != "" {
		result.Outcome = session.PermissionDenied
		result.Detail = "opencode would run the plugins of the repository (" + found +
			") unasked; remove them, or take another agent.driver"
		return result, nil
	}
	dir := client.HomeDir(req, req.Env, "opencode")
	env, err := environ(req, dir)
	if err != nil {
		return result, fmt.Errorf("run opencode: %w", err)
	}
	path := find(a.Path, env)
	if path == "" {
		return result, errors.New("run opencode: the client was not found on PATH")
	}
	stream := newStream(req)
	prompts := client.Prompts{Request: req, Events: events, Env: env, Reader: stream, Clock: a.Clock, Grace: a.Grace,
		Argv: func(further bool) []string {
			argv := append(home(req).Argv(req, env, dir), path, "run", "--format", "json")
			if further {
				return append(argv, "--session", stream.session)
			}
			argv = append(argv, "--title", "git ralph")
			if req.Model != "" {
				argv = append(argv, "--model", req.Model)
			}
			if req.Effort != "" {
				argv = append(argv, "--variant", req.Effort)
			}
			return argv
		}}
	if result, err = prompts.Run(ctx); err != nil {
		return result, fmt.Errorf("run opencode: %w", err)
	}
	return result, nil
}
