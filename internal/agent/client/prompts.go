package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

// Reader is what a driver knows about the output of its client. Its methods are
// called one after the other.
type Reader interface {
	// Line takes one JSON object of standard output.
	Line(s *Prompts, line []byte)
	// End says how a prompt ended whose client has exited by itself.
	End(exit proc.Exit, stderr string, now time.Time) Ending
	// Result is what is known so far: usage, model, client and session.
	Result() session.Result
}

// Prompts runs a client that takes one prompt a process, prints what it does as
// JSON lines and exits. A further prompt is a further process.
type Prompts struct {
	Request session.Request
	Events  func(session.AgentEvent) // may be nil
	Env     []string
	Reader  Reader
	// Argv is the command line of the first or of a further prompt.
	Argv  func(further bool) []string
	Clock *proc.Clock   // nil = the system's
	Grace time.Duration // between asking the client to end and killing it; 0 = 5 s

	transcript *Transcript
	watch      *Watch
	telling    sync.Mutex
	halt       context.CancelCauseFunc
	unjudged   bool // the driver ended the client for what it did unjudged
}

// stopped is the cause for which a driver ends its client.
type stopped struct{ Ending }

func (stopped) Error() string { return "stopped by the driver" }

// Run plays all prompts of the request. An error means that the client could
// not be started.
func (s *Prompts) Run(ctx context.Context) (session.Result, error) {
	s.transcript = NewTranscript(s.Request.Transcript)
	if s.Clock == nil {
		c := proc.SystemClock()
		s.Clock = &c
	}
	if s.Grace == 0 {
		s.Grace = DefaultGrace
	}
	prompt := s.Request.Prompt
	var first Ending
	var code int
	for n := 0; ; n++ {
		e, exit, err := s.play(ctx, prompt, n > 0)
		if err != nil && n == 0 {
			return s.Reader.Result(), err
		}
		switch {
		case err != nil:
			s.Event(session.AgentEvent{Kind: session.EventWarning, Text: "a further prompt could not be given: " + err.Error()})
		case n == 0, s.unjudged: // which spoils the work that was done before, too
			first, code = e, exit.Code
		case e.Kind != session.Completed && e.Kind != session.Interrupted:
			s.Event(session.AgentEvent{Kind: session.EventWarning, Text: FurtherEnded(e)})
		}
		again := false
		usable := e.Kind == session.Completed || e.Kind == session.MaxTurns && n == 0
		if s.Request.FollowUp != nil && err == nil && usable && ctx.Err() == nil && s.Reader.Result().SessionID != "" {
			prompt, again = s.Request.FollowUp(s.result(e, exit.Code))
		}
		if !again {
			break
		}
		s.transcript.Prompt(prompt)
	}
	if err := s.transcript.Err(); err != nil && s.Request.Log != nil {
		s.Request.Log("write the transcript: %v", err)
	}
	return s.result(first, code), nil
}

func (s *Prompts) result(e Ending, code int) session.Result {
	r := withEnding(s.Reader.Result(), e)
	r.ExitCode = code
	return r
}

// play runs the client with one prompt.
func (s *Prompts) play(ctx context.Context, prompt string, further bool) (Ending, proc.Exit, error) {
	stdin, closeStdin, err := proc.Input([]byte(prompt))
	if err != nil {
		return Ending{}, proc.Exit{}, fmt.Errorf("hand over the prompt: %w", err)
	}
	defer closeStdin()
	s.watch = NewWatch(s.Request.Timeout, s.Request.Idle, s.Request.OpenCalls, *s.Clock)
	defer s.watch.Stop()
	// The context ends the client through Follow, which tells why it ended.
	var running context.Context
	running, s.halt = context.WithCancelCause(ctx)
	defer s.halt(nil)
	stderr := proc.NewHeadTail(16 << 10)
	stdout := &HeardLines{Lines: Lines{Max: MaxLine, JSON: true, Line: s.line}, Watch: s.watch}
	p, err := s.Request.Start(context.WithoutCancel(ctx), proc.Command{Argv: s.Argv(further), Dir: s.Request.Dir,
		Env:   s.Env,
		Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if err != nil {
		return Ending{}, proc.Exit{}, err
	}
	kind, detail, exit, err := Follow(running, p, s.watch, s.Grace)
	if err != nil {
		return Ending{}, exit, err
	}
	stdout.Close()
	s.transcript.Stderr(stderr.Bytes())
	var stop stopped
	if cause, ok := context.Cause(running).(stopped); ok {
		stop = cause
	}
	how := exit
	if kind == session.Hang || kind == session.Interrupted {
		how = proc.Exit{} // we sent the signal; what counts is whether the work was done before
	}
	ended := s.Reader.End(how, stderr.String(), s.Clock.Now())
	switch {
	case stop.Kind != "":
		s.unjudged = stop.Kind == session.ProtocolError
		return stop.Ending, exit, nil
	case kind == session.Hang && ended.Kind == session.Completed:
		s.Event(session.AgentEvent{Kind: session.EventWarning, Text: "after its work was done the client hung: " + detail})
		return ended, exit, nil
	case kind == session.Hang, kind == session.Interrupted:
		return Ending{Kind: kind, Detail: detail}, exit, nil
	}
	return ended, exit, nil
}

// Replay hands what a client printed to the reader, as Run does, and says how that
// would have ended a run whose client then exited. It starts nothing.
func (s *Prompts) Replay(printed []byte, exit proc.Exit) Ending {
	clock := proc.SystemClock()
	s.Clock, s.transcript = &clock, NewTranscript(s.Request.Transcript)
	s.watch = NewWatch(0, 0, nil, clock)
	defer s.watch.Stop()
	var running context.Context
	running, s.halt = context.WithCancelCause(context.Background())
	defer s.halt(nil)
	lines := &Lines{Max: MaxLine, JSON: true, Line: s.line}
	lines.Write(printed)
	lines.Close()
	if stop, ok := context.Cause(running).(stopped); ok {
		return stop.Ending
	}
	return s.Reader.End(exit, "", clock.Now())
}

func (s *Prompts) line(data []byte, cut bool) {
	data = bytes.TrimSpace(data)
	object := len(data) > 0 && data[0] == '{' && json.Valid(data)
	if cut {
		what := "was dropped"
		if object {
			what = "has its texts shortened"
		}
		s.Event(session.AgentEvent{Kind: session.EventWarning,
			Text: fmt.Sprintf("a line of the client was longer than %d MiB and %s", MaxLine>>20, what)})
	}
	switch {
	case !object && len(data) > 0:
		s.transcript.Output("", data, cut)
	case !object:
	default:
		s.transcript.JSON(data)
		s.Reader.Line(s, data)
	}
}

// Event reports; events never overlap.
func (s *Prompts) Event(e session.AgentEvent) {
	if s.Events == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.Events(e)
}

// Open and Close say that a call of a tool has begun and ended.
func (s *Prompts) Open(id string)  { s.watch.Open(id) }
func (s *Prompts) Close(id string) { s.watch.Close(id) }

// Stop ends the client; the first reason counts.
func (s *Prompts) Stop(kind session.OutcomeKind, until time.Time, format string, args ...any) {
	s.halt(stopped{Ending{Kind: kind, Detail: fmt.Sprintf(format, args...), Until: until}})
}

// maxRetries is how often a client may retry a request by itself. Some retry for
// ever; the loop waits longer, and knows why.
const maxRetries = 2

// Retried handles the n-th retry of a refused request, at until if that is known. It
// ends the client when it keeps retrying, when it is to wait for more than a minute,
// and when a usage limit is reached.
func (s *Prompts) Retried(f Failure, n int, until time.Time) {
	now := s.Clock.Now()
	if m := messageIn().FindStringSubmatch(f.Body); f.Message == "" && m != nil {
		f.Message = m[1]
	}
	e := f.Ending(now)
	if e.Kind == session.ProtocolError || e.Kind == session.Crashed {
		e.Kind = session.Overloaded // the client only retries what can repair itself
	}
	if until.IsZero() {
		until = e.Until
	}
	s.Event(session.AgentEvent{Kind: session.EventRetry, Text: Line(or(f.Message, e.Detail), 300), Until: until})
	long := until.Sub(now) > time.Minute
	if n < maxRetries && !long && e.Kind != session.UsageLimit && e.Kind != session.AuthFailed {
		return
	}
	if long && e.Until.IsZero() {
		e.Until = until
	}
	s.Stop(e.Kind, e.Until, "%s", e.Detail)
}

var messageIn = lazyregexp.New(`"message": ?"([^"]{1,300})"`)

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// Checked compares a call that has run with the verdict that it should have
// got. A hook that the client did not call, or did not obey, ends the run.
func (s *Prompts) Checked(tool string, input json.RawMessage) {
	if p := s.Request.Judge(session.ToolUse{Tool: tool, Input: input}); !p.Allow {
		s.Stop(session.ProtocolError, time.Time{}, "a call ran without being judged: %s", Line(tool+" "+Brief(input), 100))
	}
}
