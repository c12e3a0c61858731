// Package codex drives OpenAI's Codex over the JSON-RPC of its app-server: one
// process, the prompt and every verdict on its standard input, everything it
// does on its standard output. Every command and every patch waits for our
// answer before it runs, so that a verdict that never comes is a refusal; its
// own sandbox is a further layer. The ralph_* tools are served in this process.
//
// The client gets a home folder of its own (CODEX_HOME) beside the handoff, with
// nothing of the user's but a link to the login.
package codex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

// Agent runs Codex.
type Agent struct {
	// Path of the client; "" = "codex" in PATH of the request.
	Path string
	// Grace is the time between asking the client to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
}

// sandboxLimit is the time for one harmless command in the client's sandbox.
const sandboxLimit = 20 * time.Second

// Run runs the client once. What the client does wrong is an Outcome; an error
// means that it could not be started.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	result := session.Result{Client: "codex"}
	if req.Judge == nil {
		return result, errors.New("run codex: nobody judges its tool calls")
	}
	if len(req.MCP) > 0 {
		return result, errors.New("run codex: this driver does not serve the MCP servers of the settings")
	}
	env := environ(req)
	path := find(a.Path, env)
	if path == "" {
		return result, errors.New("run codex: the client was not found on PATH")
	}
	s := newConversation(ctx, client.NewSession(req, events, a.Clock, a.Grace))
	var err error
	if s.contained, err = trySandbox(ctx, path, req, env, s.Clock); err != nil {
		return result, fmt.Errorf("run codex: %w", err)
	}
	if req.Resume != nil {
		s.stream.before = req.Resume.Used
	}
	if !s.contained {
		s.Warn("the client's own sandbox does not work here; the guard and our sandbox remain")
	}
	result, _, err = s.Play(ctx, argv(path, req, env), env, s)
	s.cancel()
	s.calls.Wait()
	if err != nil {
		return result, fmt.Errorf("run codex: %w", err)
	}
	if req.KeepSession && threadName().MatchString(s.thread) {
		result.Session = &session.ClientSession{ID: s.thread, Used: client.AddUsage(s.stream.before, s.stream.usage)}
	}
	return result, nil
}

// threadName is the form of the ids of the client's conversations.
var threadName = lazyregexp.New(`^[0-9a-f-]{36}$`)

// Resumes reports that a run can go on in the session of an earlier one.
func (a *Agent) Resumes() bool { return true }

// trySandbox says whether the client's own sandbox works where the client will
// run. Without it every command would fail, and the model would not know why.
func trySandbox(ctx context.Context, path string, req session.Request, env []string, clock proc.Clock) (bool, error) {
	p, err := req.Start(context.WithoutCancel(ctx), proc.Command{
		Argv: append(home(req, env), path, "sandbox", "-c", `sandbox_mode="workspace-write"`, "--", "true"), Dir: req.Dir,
		Env: env})
	if err != nil {
		return false, err
	}
	watch := client.NewWatch(sandboxLimit, 0, nil, clock)
	kind, _, _, err := client.Follow(ctx, p, watch, 0)
	return kind == session.Completed, err
}
