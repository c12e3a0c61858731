package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop"
)

// maxLine is the longest line of the client that is read, 8 MiB. A call with
// longer arguments is denied; other lines are dropped with a warning.
const maxLine = 8 << 20

// session is one running client. Its lines are handled one after the other on
// the goroutine that reads them; tool calls and the limits have their own.
type session struct {
	req        loop.Request
	events     func(loop.AgentEvent)
	process    *proc.Process
	watch      *client.Watch
	transcript *client.Transcript
	stream     *stream
	tools      *toolServer
	out        *client.Outbox
	clock      proc.Clock
	grace      time.Duration

	// Only the reading goroutine uses these until reading is over.
	judged     map[string]verdict // of calls in flight, by tool_use_id
	first      *ending            // of the request's own prompt
	structured json.RawMessage
	ready      bool // the client has answered initialize
	shaken     handshake

	telling sync.Mutex // events never overlap

	mu          sync.Mutex
	stopped     *ending // why we ended the client
	interrupted bool
	halt        chan struct{} // closed with stopped
	started     chan struct{} // closed with the answer to initialize
	finished    chan struct{} // closed when no further prompt will come
}

// verdict is what we said about a call.
type verdict struct{ allow bool }

func newSession(ctx context.Context, req loop.Request, events func(loop.AgentEvent), p *proc.Process,
	watch *client.Watch, transcript *client.Transcript) *session {
	if events == nil {
		events = func(loop.AgentEvent) {}
	}
	return &session{req: req, events: events, process: p, watch: watch, transcript: transcript,
		stream: newStream(), tools: newToolServer(ctx, req), out: client.NewOutbox(p.Stdin),
		judged: map[string]verdict{}, halt: make(chan struct{}), started: make(chan struct{}), finished: make(chan struct{})}
}

// follow plays the session to its end and returns the client's exit.
func (s *session) follow(ctx context.Context) (proc.Exit, error) {
	defer s.tools.close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := &client.Lines{Max: maxLine, Line: s.line}
		io.Copy(heard{lines, s.watch}, s.process.Stdout) // ends with the client
		lines.Close()
		s.process.Stdout.Close()
	}()
	s.watch.Open(initializeID) // starting has a limit of its own
	s.out.Send(initialize(len(s.req.ToolSpecs) > 0))
	s.supervise(ctx)
	s.out.Close()
	exit, err := s.process.Wait()
	<-read
	<-s.out.Done()
	return exit, err
}

// supervise returns when the client has ended or was ended.
func (s *session) supervise(ctx context.Context) {
	timer := func(d time.Duration) (<-chan struct{}, func() bool) {
		c := make(chan struct{})
		return c, s.clock.AfterFunc(d, func() { close(c) })
	}
	late, cancel := timer(startLimit)
	var patience, over <-chan struct{}
	// Each of these happens once; nil never happens again.
	started, finished, halt, done := s.started, s.finished, s.halt, ctx.Done()
	for {
		select {
		case <-s.process.Done():
			cancel()
			return
		case <-started:
			cancel()
			late, started = nil, nil
		case <-late:
			late = nil
			s.stop(ending{kind: loop.ProtocolError, detail: "no answer to initialize within " + client.Span(startLimit)})
		case why := <-s.watch.Late():
			s.stop(ending{kind: loop.Hang, detail: why})
		case <-done:
			// Interrupting first gets a result line with the costs.
			done = nil
			s.mu.Lock()
			s.interrupted = true
			s.mu.Unlock()
			s.out.Send(object{"type": "control_request", "request_id": interruptID, "request": object{"subtype": "interrupt"}})
			patience, cancel = timer(interruptLimit)
		case <-finished:
			finished = nil
			s.out.Close()
			over, cancel = timer(endLimit)
		case <-halt:
			halt = nil
			s.process.Stop(s.grace)
		case <-patience:
			patience = nil
			s.process.Stop(s.grace)
		case <-over:
			over = nil
			s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: "the client did not end by itself after its result"})
			s.process.Stop(s.grace)
		}
	}
}

// stop ends the client; the first reason counts.
func (s *session) stop(e ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = &e
		close(s.halt)
	}
}

// heard is output as a sign of life. Bytes count: the client streams.
type heard struct {
	io.Writer
	watch *client.Watch
}

func (h heard) Write(p []byte) (int, error) {
	h.watch.Touch()
	return h.Writer.Write(p)
}

func (s *session) event(e loop.AgentEvent) {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.events(e)
}

// line handles one line of the client.
func (s *session) line(data []byte, cut bool) {
	if cut {
		s.tooLong(data)
		return
	}
	l, ok := parse(data)
	if !ok {
		if len(bytes.TrimSpace(data)) > 0 {
			s.transcript.Output("", data, false)
		}
		return
	}
	switch l.Type {
	case "control_request":
		s.control(l)
	case "control_response":
		s.answered(l)
	case "control_cancel_request":
		s.tools.abort(l.RequestID)
	case "stream_event": // told again as a whole
		s.tell(l)
	default:
		s.transcript.JSON(data)
		s.observe(l)
	}
}

// tooLong denies a call whose arguments cannot be read and reports other lines.
// The request's id stands near the beginning, before the arguments.
func (s *session) tooLong(data []byte) {
	s.transcript.Output("", data, true)
	if id := headID(data); id != "" {
		s.out.Send(success(id, hookAnswer(loop.Permission{Reason: fmt.Sprintf(
			"the arguments of this call are longer than %d MiB; work in smaller steps", maxLine>>20)})))
	}
	s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: fmt.Sprintf(
		"a line of the client was longer than %d MiB and was dropped", maxLine>>20)})
}

// headID finds the id of a control request in the beginning of its line.
func headID(data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data[:min(len(data), 4096)]))
	depth, key, kind, id := 0, "", "", ""
	for {
		tok, err := dec.Token()
		if err != nil {
			break
		}
		switch v := tok.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			key = ""
		case string:
			if depth != 1 {
				continue
			}
			switch key {
			case "":
				key = v
				continue
			case "type":
				kind = v
			case "request_id":
				id = v
			}
			key = ""
		default:
			key = ""
		}
	}
	if kind != "control_request" {
		return ""
	}
	return id
}

// observe follows what the client reports about itself.
func (s *session) observe(l line) {
	switch l.Type {
	case "assistant":
		if l.Message != nil {
			for _, b := range l.Message.Content {
				if b.Type == "tool_use" {
					s.watch.Open(b.ID)
				}
			}
		}
	case "user":
		s.toolsEnded(l)
	case "system":
		if l.Subtype == "informational" && (l.Tag == "hook_no_verdict" || l.Tag == "hook_callback_failed") {
			s.stop(ending{kind: loop.ProtocolError, detail: "a tool call was not judged: " + client.Line(l.Content, 200)})
		}
	}
	s.tell(l)
	switch {
	case l.Type == "system" && l.Subtype == "init":
		s.checkInit()
	case l.Type == "system" && l.Subtype == "api_retry":
		s.checkRetry(l)
	case l.Type == "result":
		s.watch.CloseAll()
		clear(s.judged)
		s.turnEnded(l)
	}
}

func (s *session) tell(l line) {
	for _, e := range s.stream.read(l) {
		s.event(e)
	}
}

// toolsEnded checks that no call ran which was not allowed, the last of the
// guard's lines of defence that sees the client: whatever switched our hook off,
// the first result shows it.
func (s *session) toolsEnded(l line) {
	if l.Message == nil {
		return
	}
	for _, b := range l.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		s.watch.Close(b.ToolUseID)
		v, ok := s.judged[b.ToolUseID]
		delete(s.judged, b.ToolUseID)
		if b.IsError {
			continue // refused, or failed before it began
		}
		name := client.Line(s.stream.open[b.ToolUseID], 100)
		switch {
		case !ok:
			s.stop(ending{kind: loop.ProtocolError, detail: "a call of " + name + " ran without being judged"})
		case !v.allow:
			s.stop(ending{kind: loop.ProtocolError, detail: "a denied call of " + name + " ran"})
		}
	}
}

// checkInit looks at what the client says about its own set-up.
func (s *session) checkInit() {
	if mode := s.stream.mode; mode != "" && mode != "bypassPermissions" {
		s.stop(ending{kind: loop.PermissionDenied,
			detail: "a policy of this machine makes the client run in permission mode " + client.Line(mode, 50)})
	}
	if len(s.req.ToolSpecs) > 0 && s.stream.toolServer == "failed" {
		s.stop(ending{kind: loop.ProtocolError, detail: "the client could not connect to the ralph tools"})
	}
}

// longestRetry is how long the client may wait before it tries its provider
// again; the loop waits better: it says so, and until when.
const longestRetry = 2 * time.Minute

func (s *session) checkRetry(l line) {
	wait := time.Duration(min(max(l.RetryDelayMS, 0), 1e9)) * time.Millisecond
	limit := max(maxRetries, min(l.MaxRetries, 20)) // a user's own setting counts
	if l.Attempt <= limit && wait <= longestRetry {
		return
	}
	e := retryFailure(l)
	if wait > longestRetry {
		e.until = s.clock.Now().Add(wait)
	}
	s.stop(e)
}

// turnEnded decides after each result whether the session goes on.
func (s *session) turnEnded(l line) {
	e := s.stream.classify(l)
	if len(l.Structured) > 0 && string(l.Structured) != "null" {
		s.structured = l.Structured
	}
	s.mu.Lock()
	interrupted, stopped := s.interrupted, s.stopped != nil
	s.mu.Unlock()
	if s.first == nil {
		s.first = &e
	} else if e.kind != loop.Completed && !interrupted {
		s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: strings.TrimSuffix(
			"a further prompt ended with "+string(e.kind)+": "+e.detail, ": ")})
	}
	usable := e.kind == loop.Completed || e.kind == loop.MaxTurns
	if s.req.FollowUp != nil && usable && !interrupted && !stopped {
		if prompt, again := s.req.FollowUp(s.outcome(e)); again {
			if b, err := json.Marshal(object{"type": "ralph_prompt", "text": prompt}); err == nil {
				s.transcript.JSON(b)
			}
			if s.out.Send(userLine(prompt)) {
				return
			}
		}
	}
	select {
	case <-s.finished: // a second result, of a task that the client had in the background
	default:
		close(s.finished)
	}
}

// outcome is the result so far.
func (s *session) outcome(e ending) loop.Result {
	version := s.shaken.Version
	if version == "" {
		version = s.stream.version
	}
	return loop.Result{Outcome: e.kind, Detail: e.detail, Until: e.until, Usage: s.stream.usage(),
		Structured: s.structured,
		Model:      s.stream.model, Client: strings.TrimSpace("claude " + client.Line(version, 50)),
		SessionID: s.stream.session}
}

// finish is the result of the run. Reading is over.
func (s *session) finish(exit proc.Exit, stderr string) loop.Result {
	s.mu.Lock()
	stopped, interrupted := s.stopped, s.interrupted
	s.mu.Unlock()
	var e ending
	switch {
	case stopped != nil && s.first != nil && s.first.kind == loop.Completed && stopped.kind == loop.Hang:
		// The work was done; what hung was a further prompt, or the client's own end.
		e = *s.first
		s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: "after its work was done the client hung: " + stopped.detail})
	case stopped != nil:
		e = *stopped
	case interrupted:
		e = ending{kind: loop.Interrupted}
	case s.first != nil:
		e = *s.first
		if kind, detail := client.Outcome(exit); e.kind == loop.Completed && kind != loop.Completed && !exit.Stopped {
			e = ending{kind: kind, detail: detail + " after its result"}
		}
	default:
		e = s.ended(exit, stderr)
	}
	r := s.outcome(e)
	r.ExitCode = exit.Code
	return r
}

// ended is the end of a client that never gave a result.
func (s *session) ended(exit proc.Exit, stderr string) ending {
	kind, detail := client.Outcome(exit)
	why := client.Line(firstLine(stderr), 300)
	switch {
	case kind == loop.Completed:
		return ending{kind: loop.ProtocolError, detail: "the client ended without a result"}
	case !s.ready && why != "":
		return ending{kind: loop.ProtocolError, detail: "the client did not start: " + why}
	case why != "" && !strings.HasPrefix(detail, "signal"):
		detail += ": " + why
	}
	return ending{kind: kind, detail: detail}
}

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			return line
		}
	}
	return ""
}
