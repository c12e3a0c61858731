package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Command is the hidden first argument that makes this program play steps.
const Command = "agent-script"

// Agent plays a script.
type Agent struct {
	Script *Script // required
	// Self is the program that is started as "Self agent-script"; required.
	Self string
	// Grace is the time between asking the player to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
}

// The player and the harness talk in JSON lines: the player asks before each
// step that touches anything, as a client does through its hooks, and the
// harness answers. What a plain client may print (text, usage) it prints too.
type (
	// opening is the first line that the player gets.
	opening struct {
		Steps []Step   `json:"steps"`
		Again []Step   `json:"again,omitempty"`
		Tools []string `json:"tools,omitempty"`
	}
	// question is a line of the player: ready, ask (may I?), done, call (a ralph_*
	// tool), end (the steps are played; is there more?).
	question struct {
		Type  string          `json:"type"`
		ID    int             `json:"id"`
		Tool  string          `json:"tool,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`
	}
	// answer is the harness's line.
	answer struct {
		ID     int             `json:"id"`
		Allow  bool            `json:"allow,omitempty"`
		Reason string          `json:"reason,omitempty"`
		Input  json.RawMessage `json:"input,omitempty"` // updated arguments
		Result json.RawMessage `json:"result,omitempty"`
		Error  string          `json:"error,omitempty"`
		More   bool            `json:"more,omitempty"`
	}
)

// Run plays the script's part for this request.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	if events == nil {
		events = func(session.AgentEvent) {}
	}
	clock, grace := proc.SystemClock(), a.Grace
	if a.Clock != nil {
		clock = *a.Clock
	}
	if grace == 0 {
		grace = client.DefaultGrace
	}
	s := &conversation{req: req, transcript: client.NewTranscript(req.Transcript), ready: make(chan struct{}),
		watch: client.NewWatch(req.Timeout, req.Idle, req.OpenCalls, clock)}
	defer s.watch.Stop()
	s.events = func(e session.AgentEvent) {
		s.telling.Lock()
		defer s.telling.Unlock()
		events(e)
	}
	s.printed = client.NewPrinted(s.events, s.transcript)
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.cancel()

	play, ok := a.Script.Choose(req)
	if !ok {
		s.events(session.AgentEvent{Kind: session.EventText, Text: fmt.Sprintf(
			"the script has nothing for task %s, attempt %d", client.Line(req.TaskID, 64), req.Attempt)})
	}
	stdout := &client.HeardLines{Lines: client.Lines{Max: client.MaxPrinted, Line: s.line}, Watch: s.watch}
	stderr := &client.HeardLines{Lines: client.Lines{Max: client.MaxPrinted, Line: s.printed.Stderr}, Watch: s.watch}
	s.watch.Open(starting) // silence counts from the player's first word
	// The context ends the player through Follow, which tells why it ended.
	p, err := req.Start(context.WithoutCancel(ctx), proc.Command{
		Argv: []string{a.Self, Command}, Dir: req.Dir, Env: client.Environ(req), StdinPipe: true, Stdout: stdout,
		Stderr: stderr,
	})
	if err != nil {
		close(s.ready)
		return session.Result{}, fmt.Errorf("run the script: %w", err)
	}
	s.out = client.NewOutbox(p.Stdin)
	close(s.ready)
	first := opening{Steps: play.Steps, Again: play.Again}
	for _, t := range req.ToolSpecs {
		first.Tools = append(first.Tools, t.Name)
	}
	s.out.Send(first)
	kind, detail, exit, err := client.Follow(ctx, p, s.watch, grace)
	s.cancel()
	s.calls.Wait()
	s.out.Close()
	<-s.out.Done()
	stdout.Close()
	stderr.Close()
	if err != nil {
		return session.Result{}, fmt.Errorf("run the script: %w", err)
	}
	if err := s.transcript.Err(); err != nil && req.Log != nil {
		req.Log("write the transcript: %v", err)
	}
	result := session.Result{Outcome: kind, Detail: detail, ExitCode: exit.Code, Client: "scripted"}
	result.Usage, result.Model = s.printed.Usage()
	return result, nil
}

// starting stands for the start of the player among its open calls.
const starting = "start"

// conversation is one running player. Its lines come on one goroutine.
type conversation struct {
	req        session.Request
	ctx        context.Context
	cancel     context.CancelFunc
	events     func(session.AgentEvent)
	telling    sync.Mutex // events never overlap
	transcript *client.Transcript
	printed    *client.Printed
	watch      *client.Watch
	out        *client.Outbox
	ready      chan struct{} // closed when out is there
	calls      sync.WaitGroup
}

// line handles one line of the player.
func (s *conversation) line(data []byte, cut bool) {
	var q question
	trimmed := bytes.TrimSpace(data)
	if cut || len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(trimmed, &q) != nil {
		s.printed.Stdout(data, cut)
		return
	}
	call := fmt.Sprint(q.ID)
	switch q.Type {
	case "ready":
		s.watch.Close(starting)
	case "ask":
		s.transcript.JSON(trimmed)
		s.watch.Open(call)
		s.events(session.AgentEvent{Kind: session.EventToolCall, Tool: q.Tool, Text: client.Brief(q.Input),
			Path: client.Path(q.Input)})
		p := session.Permission{Allow: true}
		if s.req.Judge != nil {
			p = s.req.Judge(session.ToolUse{Tool: q.Tool, Input: q.Input})
		}
		if !p.Allow {
			s.events(session.AgentEvent{Kind: session.EventDenied, Tool: q.Tool, Text: p.Reason})
		}
		s.reply(answer{ID: q.ID, Allow: p.Allow, Reason: p.Reason, Input: p.Updated})
	case "done":
		s.transcript.JSON(trimmed)
		s.watch.Close(call)
		s.events(session.AgentEvent{Kind: session.EventToolDone, Tool: q.Tool})
	case "call":
		s.transcript.JSON(trimmed)
		s.watch.Open(call)
		s.events(session.AgentEvent{Kind: session.EventToolCall, Tool: q.Tool, Text: client.Brief(q.Input),
			Path: client.Path(q.Input)})
		s.calls.Go(func() { s.serve(q, call) })
	case "end":
		more := false
		if s.req.FollowUp != nil {
			usage, model := s.printed.Usage()
			_, more = s.req.FollowUp(session.Result{Outcome: session.Completed, Client: "scripted", Usage: usage, Model: model})
		}
		s.reply(answer{ID: q.ID, More: more})
	default:
		s.printed.Stdout(data, false)
	}
}

// serve executes a ralph_* tool.
func (s *conversation) serve(q question, call string) {
	a := answer{ID: q.ID, Error: "the tool is not offered in this run"}
	if s.req.CallTool != nil && client.HasTool(s.req, q.Tool) {
		result, err := s.req.CallTool(s.ctx, q.Tool, q.Input)
		a = answer{ID: q.ID, Result: result}
		if err != nil {
			a = answer{ID: q.ID, Error: err.Error()}
		}
	}
	s.watch.Close(call)
	s.events(session.AgentEvent{Kind: session.EventToolDone, Tool: q.Tool})
	s.reply(a)
}

func (s *conversation) reply(a answer) {
	<-s.ready
	if s.out != nil {
		s.out.Send(a)
	}
}
