package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop"
)

// maxLine is the longest line of the client that is read, 8 MiB. Longer ones
// are dropped; a question in one of them stays unanswered, and nothing runs.
const maxLine = 8 << 20

// maxTracked bounds the items that are remembered at a time.
const maxTracked = 1000

// session is one running client. Its lines are handled one after the other on
// the goroutine that reads them.
type session struct {
	req        loop.Request
	events     func(loop.AgentEvent)
	process    *proc.Process
	watch      *client.Watch
	transcript *client.Transcript
	out        *client.Outbox
	clock      proc.Clock
	grace      time.Duration
	contained  bool // the client's own sandbox works here
	callCtx    context.Context
	cancel     context.CancelFunc
	calls      sync.WaitGroup

	// Only the reading goroutine uses these until reading is over.
	stream stream
	first  *ending // of the request's own prompt
	judged map[string]bool
	// reasons are refusals that wait until the model was told why.
	reasons map[string]func()

	telling sync.Mutex // events never overlap

	mu          sync.Mutex
	thread      string
	turn        string
	stopped     *ending // why we ended the client or its turn
	interrupted bool
	halt        chan struct{} // closed with stopped
	started     chan struct{} // closed when the turn has begun
	finished    chan struct{} // closed when no further prompt will come
}

func newSession(ctx context.Context, req loop.Request, events func(loop.AgentEvent), p *proc.Process, watch *client.Watch, transcript *client.Transcript) *session {
	if events == nil {
		events = func(loop.AgentEvent) {}
	}
	s := &session{req: req, events: events, process: p, watch: watch, transcript: transcript, out: client.NewOutbox(p.Stdin),
		stream: stream{items: map[string]item{}}, judged: map[string]bool{}, reasons: map[string]func(){},
		halt: make(chan struct{}), started: make(chan struct{}), finished: make(chan struct{})}
	s.callCtx, s.cancel = context.WithCancel(ctx)
	return s
}

// follow plays the session to its end and returns the client's exit.
func (s *session) follow(ctx context.Context) (proc.Exit, error) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := &client.Lines{Max: maxLine, Line: s.line}
		io.Copy(heard{lines, s.watch}, s.process.Stdout) // ends with the client
		lines.Close()
		s.process.Stdout.Close()
	}()
	s.watch.Open(initializeID) // starting has a limit of its own
	s.out.Send(initialize())
	s.supervise(ctx)
	s.out.Close()
	exit, err := s.process.Wait()
	<-read
	<-s.out.Done()
	s.cancel()
	s.calls.Wait()
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
			s.stop(ending{kind: loop.ProtocolError, detail: "no turn began within " + client.Span(startLimit)})
		case why := <-s.watch.Late():
			s.stop(ending{kind: loop.Hang, detail: why})
		case <-done:
			done = nil
			s.mu.Lock()
			s.interrupted = true
			s.mu.Unlock()
			s.interruptTurn()
			patience, cancel = timer(interruptLimit)
		case <-finished:
			finished = nil
			s.out.Close() // the client ends with its input
			over, cancel = timer(endLimit)
		case <-halt:
			halt = nil
			s.process.Stop(s.grace)
		case <-patience:
			patience = nil
			s.process.Stop(s.grace)
		case <-over:
			over = nil
			s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: "the client did not end by itself after its turn"})
			s.process.Stop(s.grace)
		}
	}
}

// interruptTurn asks the client to end its turn.
func (s *session) interruptTurn() {
	s.mu.Lock()
	thread, turn := s.thread, s.turn
	s.mu.Unlock()
	if turn != "" {
		s.out.Send(request(otherID, "turn/interrupt", object{"threadId": thread, "turnId": turn}))
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
		s.transcript.Output("", data, true)
		s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: fmt.Sprintf("a line of the client was longer than %d MiB and was dropped", maxLine>>20)})
		return
	}
	l, ok := parse(data)
	if !ok {
		if len(bytes.TrimSpace(data)) > 0 {
			s.transcript.Output("", data, false)
		}
		return
	}
	if !strings.HasSuffix(l.Method, "/delta") && !strings.HasSuffix(l.Method, "Delta") { // told again as a whole
		s.transcript.JSON(data)
	}
	switch {
	case l.Method == "":
		s.answered(l)
	case len(l.ID) > 0:
		s.asked(l)
	default:
		s.observe(l)
	}
}

// answered handles the answer to a request of ours.
func (s *session) answered(l line) {
	var id string
	if json.Unmarshal(l.ID, &id) != nil || id == otherID {
		return
	}
	if strings.HasPrefix(id, reasonID) {
		if refuse := s.reasons[id]; refuse != nil { // also when the model could not be told
			refuse()
			delete(s.reasons, id)
		}
		return
	}
	if l.Error != nil && id == threadID && s.req.Resume != nil {
		s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: "the session of the attempt before is gone; a fresh one begins"})
		s.req.Resume, s.stream.before = nil, loop.Usage{}
		s.out.Send(startThread(s.req))
		return
	}
	if l.Error != nil || l.Result == nil {
		why := "an answer without a result"
		if l.Error != nil {
			why = client.Line(l.Error.Message, 300)
		}
		s.stop(ending{kind: loop.ProtocolError, detail: "the client refused " + strings.TrimPrefix(id, "ralph-") + ": " + why})
		return
	}
	switch id {
	case initializeID:
		s.stream.version = clientVersion(l.Result.UserAgent)
		s.out.Send(object{"method": "initialized"})
		s.out.Send(startThread(s.req))
	case threadID:
		if string(l.Result.ApprovalPolicy) != `"untrusted"` {
			s.stop(ending{kind: loop.PermissionDenied, detail: "a policy of this machine makes the client run commands without asking"})
			return
		}
		s.mu.Lock()
		s.thread = client.Line(l.Result.Thread.ID, 100)
		s.mu.Unlock()
		s.stream.model = client.Line(l.Result.Model, 100)
		s.event(loop.AgentEvent{Kind: loop.EventSession, Text: s.thread, Model: s.stream.model, Version: s.stream.version})
		s.prompt(s.req.Prompt)
	case turnID:
		select {
		case <-s.started:
		default:
			close(s.started)
			s.watch.Close(initializeID)
		}
	}
}

// prompt starts a turn.
func (s *session) prompt(text string) bool {
	tools := client.Tools(s.req)
	writes := slices.Contains(tools, "Write") || slices.Contains(tools, "Edit") || slices.Contains(tools, "Bash")
	var roots []string
	if home := client.Get(s.req.Env, "HOME"); filepath.IsAbs(home) { // caches; what of it may be written is for our sandbox to say
		roots = append(roots, home)
	}
	if s.req.HandoffFile != "" {
		roots = append(roots, filepath.Dir(s.req.HandoffFile))
	}
	s.stream.turns++
	return s.out.Send(startTurn(s.thread, text, sandboxPolicy(s.contained, writes, roots)))
}

// observe follows what the client reports about itself.
func (s *session) observe(l line) {
	p := l.Params
	switch l.Method {
	case "turn/started":
		if p.Turn != nil {
			s.mu.Lock()
			s.turn = p.Turn.ID
			interrupted := s.interrupted
			s.mu.Unlock()
			if interrupted {
				s.interruptTurn()
			}
		}
	case "item/started":
		if p.Item != nil && isCall(p.Item.Type) {
			s.watch.Open(p.Item.ID)
		}
	case "item/completed":
		if p.Item != nil && isCall(p.Item.Type) {
			s.watch.Close(p.Item.ID)
			s.checkJudged(*p.Item)
		}
	case "mcpServer/startupStatus/updated":
		if p.Name != "codex_apps" { // the client's own
			s.stop(ending{kind: loop.ProtocolError, detail: "the client started an MCP server that this run does not offer: " + client.Line(p.Name, 100)})
		}
	}
	for _, e := range s.stream.read(l) {
		s.event(e)
	}
	switch l.Method {
	case "thread/tokenUsage/updated":
		if s.req.MaxTurns > 0 && s.stream.calls >= s.req.MaxTurns && s.stream.working && s.first == nil {
			s.first = &ending{kind: loop.MaxTurns, detail: fmt.Sprintf("%d requests to the model", s.stream.calls)}
			s.interruptTurn()
		}
	case "turn/completed":
		s.watch.CloseAll()
		s.turnEnded(p.Turn)
	}
}

// checkJudged stops a client that ran something which we were not asked about
// and would not have allowed.
func (s *session) checkJudged(it item) {
	asked := s.judged[it.ID]
	delete(s.judged, it.ID)
	if asked || it.Status == "declined" || it.Type != "commandExecution" && it.Type != "fileChange" {
		return
	}
	if p := s.judgeItem(it, it.Command, it.Cwd, it.Actions); !p.Allow {
		s.stop(ending{kind: loop.ProtocolError, detail: "a call ran without being judged: " + client.Line(it.Command, 100)})
	}
}

// turnEnded decides after each turn whether the session goes on.
func (s *session) turnEnded(t *turn) {
	if t == nil {
		t = &turn{}
	}
	e := s.stream.classify(*t, s.clock.Now())
	s.mu.Lock()
	s.turn = ""
	interrupted, stopped := s.interrupted, s.stopped != nil
	s.mu.Unlock()
	switch {
	case s.stream.turns <= 1 && s.first == nil:
		s.first = &e
	case s.stream.turns <= 1: // the limit of turns: the interruption is ours
		e = *s.first
	case e.kind != loop.Completed && !interrupted:
		s.event(loop.AgentEvent{Kind: loop.EventWarning, Text: strings.TrimSuffix("a further prompt ended with "+string(e.kind)+": "+e.detail, ": ")})
	}
	usable := e.kind == loop.Completed || e.kind == loop.MaxTurns
	if s.req.FollowUp != nil && usable && !interrupted && !stopped {
		if prompt, again := s.req.FollowUp(s.outcome(e)); again {
			if b, err := json.Marshal(object{"type": "ralph_prompt", "text": prompt}); err == nil {
				s.transcript.JSON(b)
			}
			if s.prompt(prompt) {
				return
			}
		}
	}
	select {
	case <-s.finished:
	default:
		close(s.finished)
	}
}

// outcome is the result so far.
func (s *session) outcome(e ending) loop.Result {
	return loop.Result{Outcome: e.kind, Detail: e.detail, Until: e.until, Usage: s.stream.usage, Model: s.stream.model,
		Client: strings.TrimSpace("codex " + s.stream.version), SessionID: s.thread}
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
			e = ending{kind: kind, detail: detail + " after its turn"}
		}
	default:
		e = ended(exit, stderr, s.stream)
	}
	r := s.outcome(e)
	r.ExitCode = exit.Code
	return r
}

// ended is the end of a client whose turn never ended.
func ended(exit proc.Exit, stderr string, st stream) ending {
	kind, detail := client.Outcome(exit)
	why := ""
	for line := range strings.Lines(stderr) {
		if text := client.Line(line, 300); text != "" && !strings.HasPrefix(text, "WARNING") {
			why = text
			break
		}
	}
	switch {
	case kind == loop.Completed:
		return ending{kind: loop.ProtocolError, detail: "the client ended without the end of its turn"}
	case st.turns == 0 && why != "":
		return ending{kind: loop.ProtocolError, detail: "the client did not start: " + why}
	case why != "" && !strings.HasPrefix(detail, "signal"):
		detail += ": " + why
	}
	return ending{kind: kind, detail: detail}
}
