// Package acp drives any client that speaks the Agent Client Protocol, version 1:
// JSON-RPC on its standard input and output. What the client asks permission for
// is put to the guard. A call that it ran without asking is judged when it says
// so, and one that is refused ends the run; which calls a client asks about is its
// own choice, so that the sandbox and the shims remain the boundary. Files and
// terminals are not offered: the client does its work itself, inside the sandbox.
// The ralph_* tools come from git ralph mcp.
package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/command"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Agent runs a client.
type Agent struct {
	// Argv is the client's command; a relative Argv[0] is looked up in PATH, then in
	// the root of the worktree. Required.
	Argv []string
	// Grace is the time between asking the client to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
}

// StartLimit is longer than that of other clients: what a command line starts may
// have to be fetched first.
const StartLimit = 5 * time.Minute

// Run runs the client once. What the client does wrong is an Outcome; an error
// means that it could not be started.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	result := session.Result{Client: "acp"}
	switch {
	case len(a.Argv) == 0:
		return result, errors.New("run the agent: agent.command is empty")
	case req.Judge == nil:
		return result, errors.New("run the agent: nobody judges its tool calls")
	case len(req.MCP) > 0:
		return result, errors.New("run the agent: the acp driver does not serve the MCP servers of the settings")
	}
	env := client.Set(client.Environ(req), "RALPH_RUN_MODEL="+req.Model)
	s := &conversation{Session: client.NewSession(req, events, a.Clock, a.Grace), env: env, calls: map[string]*call{}}
	s.Awaited, s.StartLimit, s.Stays = "session", StartLimit, true
	result, _, err := s.Play(ctx, command.Resolve(a.Argv, req.Dir, env), env, s)
	if err != nil {
		return result, fmt.Errorf("run the agent: %w", err)
	}
	return result, nil
}
