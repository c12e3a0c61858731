package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Times that are no settings: how long a healthy client may take for what it
// does in well under a second.
const (
	StartLimit     = 2 * time.Minute  // from its start until it is ready
	EndLimit       = 10 * time.Second // from the end of its input to its exit
	InterruptLimit = 3 * time.Second  // from an interrupt to the end of its turn
	stayLimit      = 2 * time.Second  // from the end of the input of one that may stay
)

// Ending is how a prompt, or the run, ended.
type Ending struct {
	Kind   session.OutcomeKind
	Detail string
	Until  time.Time // of a limit; zero = not said
}

// Speaker is what a driver knows about the protocol of its client. Line is called
// for one line after the other, on the goroutine that reads them.
type Speaker interface {
	// Begin says the first words.
	Begin()
	// Line takes one line of standard output. One that is longer than MaxLine is cut:
	// its texts are shortened, and when that is not enough, its end is missing.
	Line(data []byte, cut bool)
	// Interrupt asks the client to end its turn.
	Interrupt()
	// Result is what is known so far; the outcome is added to it.
	Result() session.Result
}

// MaxLine is the longest line of a client that is read as it stands, 8 MiB. In longer
// ones texts are shortened, so that nothing may be allowed by them.
const MaxLine = 8 << 20

// TooLong is why a call is refused whose request is longer than MaxLine.
var TooLong = fmt.Sprintf("the arguments of this call are longer than %d MiB; work in smaller steps", MaxLine>>20)

// A Session is a running client that is spoken with in both directions: it gets
// its prompts and our answers on standard input. The Session supervises its end;
// the driver interprets the lines.
type Session struct {
	Request    session.Request
	Out        *Outbox
	Watch      *Watch
	Transcript *Transcript
	Clock      proc.Clock
	// Awaited is what a healthy client does within StartLimit, for people.
	Awaited    string
	StartLimit time.Duration
	// Stays says that the client may stay when its input has ended. It is then
	// silently ended.
	Stays bool
	// First is how the request's own prompt ended. Only the reading goroutine uses
	// it until reading is over.
	First *Ending

	grace   time.Duration
	events  func(session.AgentEvent)
	telling sync.Mutex // events never overlap
	process *proc.Process

	mu          sync.Mutex
	stopped     *Ending // why we ended the client
	interrupted bool
	halt        chan struct{} // closed with stopped
	started     chan struct{} // closed when the client is ready
	finished    chan struct{} // closed when no further prompt will come
}

// NewSession prepares a run. events may be nil, clock too (the system's), and a
// grace of 0 is DefaultGrace.
func NewSession(req session.Request, events func(session.AgentEvent), clock *proc.Clock, grace time.Duration) *Session {
	s := &Session{Request: req, Transcript: NewTranscript(req.Transcript), Clock: proc.SystemClock(), grace: grace,
		StartLimit: StartLimit,
		events:     events, halt: make(chan struct{}), started: make(chan struct{}), finished: make(chan struct{})}
	if clock != nil {
		s.Clock = *clock
	}
	if grace == 0 {
		s.grace = DefaultGrace
	}
	s.Watch = NewWatch(req.Timeout, req.Idle, req.OpenCalls, s.Clock)
	return s
}

// starting is the call that is open until the client is ready: silence has a
// limit of its own there.
const starting = "ralph-starting"

// Play starts the client, follows it to its end and returns its result. An error
// means that it could not be started.
func (s *Session) Play(ctx context.Context, argv, env []string, speaker Speaker) (session.Result, string, error) {
	defer s.Watch.Stop()
	stderr := proc.NewHeadTail(16 << 10)
	// The context ends the client through supervise, which interrupts it first.
	var err error
	s.process, err = s.Request.Start(context.WithoutCancel(ctx), proc.Command{Argv: argv, Dir: s.Request.Dir, Env: env,
		StdinPipe: true, StdoutPipe: true, Stderr: stderr})
	if err != nil {
		return speaker.Result(), "", err
	}
	s.Out = NewOutbox(s.process.Stdin)
	s.Watch.Open(starting)
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := &HeardLines{Lines: Lines{Max: MaxLine, JSON: true, Line: speaker.Line}, Watch: s.Watch}
		io.Copy(lines, s.process.Stdout) // ends with the client
		lines.Close()
		s.process.Stdout.Close()
	}()
	speaker.Begin()
	s.supervise(ctx, speaker)
	s.Out.Close()
	exit, err := s.process.Wait()
	<-read
	<-s.Out.Done()
	if err != nil {
		return speaker.Result(), "", err
	}
	s.Transcript.Stderr(stderr.Bytes())
	if err := s.Transcript.Err(); err != nil && s.Request.Log != nil {
		s.Request.Log("write the transcript: %v", err)
	}
	return s.Finish(exit, stderr.String(), speaker), stderr.String(), nil
}

// supervise returns when the client has ended or was ended.
func (s *Session) supervise(ctx context.Context, speaker Speaker) {
	timer := func(d time.Duration) (<-chan struct{}, func() bool) {
		c := make(chan struct{})
		return c, s.Clock.AfterFunc(d, func() { close(c) })
	}
	late, cancel := timer(s.StartLimit)
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
			s.Stop(Ending{Kind: session.ProtocolError, Detail: "no " + s.Awaited + " within " + Span(s.StartLimit)})
		case why := <-s.Watch.Late():
			s.Stop(Ending{Kind: session.Hang, Detail: why})
		case <-done:
			// Interrupting first gets a last event with the costs.
			done = nil
			s.mu.Lock()
			s.interrupted = true
			s.mu.Unlock()
			speaker.Interrupt()
			patience, cancel = timer(InterruptLimit)
		case <-finished:
			finished = nil
			s.Out.Close() // the client ends with its input
			limit := EndLimit
			if s.Stays {
				limit = stayLimit
			}
			over, cancel = timer(limit)
		case <-halt:
			halt = nil
			s.process.Stop(s.grace)
		case <-patience:
			patience = nil
			s.process.Stop(s.grace)
		case <-over:
			over = nil
			if !s.Stays {
				s.Warn("the client did not end by itself after its result")
			}
			s.process.Stop(s.grace)
		}
	}
}

// Started says that the client is ready.
func (s *Session) Started() {
	select {
	case <-s.started:
	default:
		close(s.started)
		s.Watch.Close(starting)
	}
}

// Stop ends the client; the first reason counts.
func (s *Session) Stop(e Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = &e
		close(s.halt)
	}
}

// Interrupted says that the loop takes the run back.
func (s *Session) Interrupted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interrupted
}

// Event reports; events never overlap.
func (s *Session) Event(e session.AgentEvent) {
	if s.events == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.events(e)
}

// Warn reports what a person should know.
func (s *Session) Warn(format string, args ...any) {
	s.Event(session.AgentEvent{Kind: session.EventWarning, Text: fmt.Sprintf(format, args...)})
}

// Unread records a line that is no JSON object, or too long for one.
func (s *Session) Unread(data []byte, cut bool) {
	if cut {
		s.Warn("a line of the client was longer than %d MiB and was dropped", MaxLine>>20)
	}
	if cut || len(bytes.TrimSpace(data)) > 0 {
		s.Transcript.Output("", data, cut)
	}
}

// TurnEnded is told how a prompt ended, and decides whether the session goes on:
// ask sends a further prompt, and is false when that cannot go any more.
func (s *Session) TurnEnded(e Ending, further bool, speaker Speaker, ask func(prompt string) bool) {
	s.mu.Lock()
	interrupted, stopped := s.interrupted, s.stopped != nil
	s.mu.Unlock()
	if s.First == nil {
		s.First = &e
	} else if further && e.Kind != session.Completed && !interrupted {
		s.Warn("%s", FurtherEnded(e))
	}
	usable := e.Kind == session.Completed || e.Kind == session.MaxTurns
	if s.Request.FollowUp != nil && usable && !interrupted && !stopped {
		if prompt, again := s.Request.FollowUp(withEnding(speaker.Result(), e)); again {
			s.Transcript.Prompt(prompt)
			if ask(prompt) {
				return
			}
		}
	}
	select {
	case <-s.finished: // a second last event, of a task that the client had in the background
	default:
		close(s.finished)
	}
}

// FurtherEnded says that a prompt after the first did not end well.
func FurtherEnded(e Ending) string {
	return strings.TrimSuffix("a further prompt ended with "+string(e.Kind)+": "+e.Detail, ": ")
}

func withEnding(r session.Result, e Ending) session.Result {
	r.Outcome, r.Detail, r.Until = e.Kind, e.Detail, e.Until
	return r
}

// Finish is the result of the run. Reading is over.
func (s *Session) Finish(exit proc.Exit, stderr string, speaker Speaker) session.Result {
	s.mu.Lock()
	stopped, interrupted := s.stopped, s.interrupted
	s.mu.Unlock()
	var e Ending
	switch {
	case stopped != nil && s.First != nil && s.First.Kind == session.Completed && stopped.Kind == session.Hang:
		// The work was done; what hung was a further prompt, or the client's own end.
		e = *s.First
		s.Warn("after its work was done the client hung: %s", stopped.Detail)
	case stopped != nil:
		e = *stopped
	case interrupted:
		e = Ending{Kind: session.Interrupted}
	case s.First != nil:
		e = *s.First
		if kind, detail := Outcome(exit); e.Kind == session.Completed && kind != session.Completed && !exit.Stopped {
			e = Ending{Kind: kind, Detail: detail + " after its result"}
		}
	default:
		began := false
		select {
		case <-s.started:
			began = true
		default:
		}
		e = EndedEarly(exit, stderr, began, s.Clock.Now())
	}
	r := withEnding(speaker.Result(), e)
	r.ExitCode = exit.Code
	return r
}

// EndedEarly is the end of a client that exited without saying how its work ended. Before
// it has begun, what it says is its own word: a limit or a login that it names on standard
// error spends no attempt.
func EndedEarly(exit proc.Exit, stderr string, began bool, now time.Time) Ending {
	kind, detail := Outcome(exit)
	why := Complaint(stderr)
	switch {
	case kind == session.Completed:
		return Ending{Kind: session.ProtocolError, Detail: "the client ended without a result"}
	case !began && why != "" && !strings.HasPrefix(detail, "signal"):
		e := Failure{Message: why}.Ending(now)
		e.Detail = "the client did not start: " + why
		switch e.Kind {
		case session.UsageLimit, session.RateLimited, session.AuthFailed:
			return e
		}
		return Ending{Kind: session.ProtocolError, Detail: e.Detail}
	case why != "" && !strings.HasPrefix(detail, "signal"):
		detail += ": " + why
	}
	return Ending{Kind: kind, Detail: detail}
}

// Complaint is the line of standard error that says what is wrong: the first one
// that names an error, else the last one that is no warning.
func Complaint(stderr string) string {
	last := ""
	for line := range strings.Lines(stderr) {
		text := Line(line, 300)
		upper := strings.ToUpper(text)
		switch {
		case text == "" || strings.HasPrefix(upper, "WARNING"):
		case strings.HasPrefix(upper, "ERROR"):
			return text
		default:
			last = text
		}
	}
	return last
}
