// Package claude drives Claude Code over its control protocol: one process, the
// prompt and every verdict on its standard input, everything it does on its
// standard output. Each tool call is judged by the harness before it runs, and
// the client is told to block a call whose judgement is missing; a client that
// cannot do that is refused, and one that ran a call unjudged is stopped. The
// ralph_* tools are served in this process.
package claude

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Agent runs Claude Code.
type Agent struct {
	// Path of the client; "" = "claude" in PATH of the request.
	Path string
	// Grace is the time between asking the client to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
	// SessionID makes the id of a session (a UUID); nil = at random.
	SessionID func() string
}

// Run runs the client once. What the client does wrong is an Outcome; an error
// means that it could not be started.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	result := session.Result{Client: "claude"}
	if req.Judge == nil {
		return result, errors.New("run claude: nobody judges its tool calls")
	}
	path := a.Path
	if path == "" {
		path = "claude"
	}
	env := environ(req, os.Geteuid() == 0)
	if path = proc.Look(path, env); path == "" {
		return result, errors.New("run claude: the client was not found on PATH")
	}
	newID := a.SessionID
	if newID == nil {
		newID = randomUUID
	}
	id := newID()
	if req.Resume != nil {
		id = req.Resume.ID
	}
	args, err := argv(req, id)
	if err != nil {
		return result, fmt.Errorf("run claude: %w", err)
	}
	s := newConversation(ctx, client.NewSession(req, events, a.Clock, a.Grace))
	if req.Resume != nil {
		s.stream.before = req.Resume.Used
	}
	result, stderr, err := s.Play(ctx, append([]string{path}, args...), env, s)
	s.tools.close()
	if err != nil {
		return result, fmt.Errorf("run claude: %w", err)
	}
	gone := req.Resume != nil && result.Usage.Total() == 0 && strings.Contains(result.Detail+stderr, noConversation)
	if gone && ctx.Err() == nil {
		s.Warn("the session of the attempt before is gone; a fresh one begins")
		req.Resume = nil
		return a.Run(ctx, req, events)
	}
	if s.stream.counted && req.KeepSession && result.SessionID == id {
		result.Session = &session.ClientSession{ID: result.SessionID, Used: client.AddUsage(s.stream.before, s.stream.totals)}
	}
	return result, nil
}

// noConversation is what the client says when --resume names no session.
const noConversation = "No conversation found"

// Resumes reports that a run can go on in the session of an earlier one.
func (a *Agent) Resumes() bool { return true }

// randomUUID is a version 4 UUID, the form that the client demands of an id.
func randomUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
