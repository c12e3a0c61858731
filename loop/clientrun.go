package loop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/notes"
)

// session is one run of a client for an iteration: the coding agent's, or one of
// the agents that help it. They differ by these values alone.
type session struct {
	*Ready
	role   Role
	n      int         // of the coding agent's sessions, from 1
	known  state.State // what its tools see
	prompt agentctx.Prompt
	use    Use
	start  Starter
	// adjust has the last word on the request; hear is told of every event; window
	// watches the context window. All may be nil.
	adjust  func(req *Request, box Toolbox, stop context.CancelCauseFunc)
	hear    func(AgentEvent)
	window  *fill
	calls   *toolWatch
	clients clients // its processes
}

// handoffFile is where the client may leave its handoff.
func (ss *session) handoffFile() string { return handoffIn(ss.use.RunDir) }

func handoffIn(runDir string) string { return filepath.Join(runDir, "handoff", "handoff.json") }

// sessionEnd is what came of a session.
type sessionEnd struct {
	run        Result
	prompt     string // as it was sent
	cause      error  // why the harness stopped it
	tools      Collected
	record     state.AgentRun
	transcript []byte
	peak       int
	lastText   string
	warning    string
	failed     error // of the harness; nothing was run, or nothing is known of it
}

// runSession runs a client once. An error is one of the harness before it began.
func (l *Loop) runSession(ctx context.Context, ss *session) (sessionEnd, error) {
	agent, err := l.agentFor(ss.role)
	if err != nil {
		return sessionEnd{}, err
	}
	box, err := l.OpenTools(l.scope(ss))
	if err != nil {
		return sessionEnd{}, fmt.Errorf("open the tools of the run: %w", err)
	}
	defer box.Close()
	transcript := proc.NewHeadTailLines(maxTranscript)
	req, err := l.request(ss, box, transcript)
	if err != nil {
		return sessionEnd{}, err
	}
	if ss.n == 1 {
		l.resume(ss, agent, &req)
	}
	run, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	if ss.adjust != nil {
		ss.adjust(&req, box, stop)
	}
	unhook := context.AfterFunc(ctx, func() { stop(errInterrupted) })
	defer unhook()
	watched := l.watch(run, ss, box, stop)
	meter := &meter{l: l, ss: ss, ctx: run, stop: stop, model: req.Model}
	began := l.Now()
	var end sessionEnd
	end.run, err = agent.Run(run, req, func(e AgentEvent) {
		if ss.hear != nil {
			ss.hear(e)
		}
		meter.event(e)
	})
	stop(nil)
	<-watched
	if cause := context.Cause(run); cause != nil && !errors.Is(cause, context.Canceled) {
		end.cause = cause
	}
	if err != nil && end.cause == nil {
		end.failed = fmt.Errorf("run the agent: %w", err)
	}
	end.tools = box.Collected()
	end.run, end.warning = l.settled(ss.Ready, end.run, end.cause, ss.clients.limit(), meter)
	l.keepSession(ss, agent, req, end.run)
	end.prompt, end.transcript = req.Prompt, transcript.Take()
	end.peak, end.lastText = meter.peak, meter.lastText
	end.record = agentRun(ss.role, end.run, meter.peak, l.Now().Sub(began))
	end.record.Model, end.record.Effort = or(end.record.Model, notes.OneLine(req.Model, 100)), req.Effort
	return end, nil
}

func agentRun(role Role, r Result, peak int, d time.Duration) state.AgentRun {
	return state.AgentRun{Role: string(role), SessionID: notes.OneLine(r.SessionID, 100),
		Client: notes.OneLine(r.Client, 100),
		Model:  notes.OneLine(r.Model, 100), Outcome: string(r.Outcome), Reason: "end", Tokens: tokens(r.Usage),
		CostMicro: r.Usage.CostMicroUSD, DurationMs: d.Milliseconds(), Turns: r.Usage.Turns, APICalls: r.Usage.APICalls,
		ContextPeak: peak}
}

func tokens(u Usage) state.Tokens {
	return state.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// settled replaces what a driver says of a run that we stopped ourselves, and
// fills in what it did not say. limit is what the client took too much of. The
// warning is for people.
func (l *Loop) settled(rd *Ready, r Result, cause error, limit string, m *meter) (_ Result, warning string) {
	var over budgetError
	switch {
	case errors.As(cause, &over):
		r.Outcome, r.Detail = BudgetExceeded, over.limit
	case errors.Is(cause, errEndedTool):
		r.Outcome, r.Detail = Completed, ""
	case errors.Is(cause, errWindow):
		r.Outcome, r.Detail = ContextLimit, cause.Error()
	case errors.Is(cause, errInterrupted), errors.Is(cause, errStopNow):
		r.Outcome, r.Detail = Interrupted, cause.Error()
	}
	if limit != "" && cause == nil {
		r.Outcome, r.Detail = BudgetExceeded, limit
	} else if rd.kills != nil && cause == nil {
		if n := proc.MemoryKills() - *rd.kills; n > 0 && r.Outcome == Crashed && r.Detail == "signal 9" {
			r.Outcome, r.Detail = BudgetExceeded, proc.LimitMemory
		} else if n > 0 {
			warning = fmt.Sprintf("memory ran out, and the kernel ended %d processes of this machine meanwhile", n)
		}
	}
	if r.Usage.Total() == 0 && m.sum.Total() > 0 {
		r.Usage = m.sum
	}
	if r.Usage.CostMicroUSD == nil {
		if p, ok := l.price(or(r.Model, m.model)); ok {
			cost := p.Of(r.Usage)
			r.Usage.CostMicroUSD = &cost
		}
	}
	return r, warning
}

// leftHandoff is what the session left, as it came.
func (ss *session) leftHandoff(c Collected, r Result) []byte {
	if c.Handoff != nil {
		return c.Handoff
	}
	if raw, _ := readHandoff(ss.handoffFile()); raw != nil {
		return raw
	}
	return r.Structured
}

// ofSession names a file of evidence: prompt.md, prompt.2.md.
func ofSession(name string, n int, ext string) string {
	if n == 1 {
		return name + "." + ext
	}
	return fmt.Sprintf("%s.%d.%s", name, n, ext)
}

// olderSessions names what sessions before the last one handed over, so that
// the third does not depend on the second's retelling of the first.
func olderSessions(list []notes.Handoff) string {
	var b strings.Builder
	for i, h := range list {
		fmt.Fprintf(&b, "\n- Session %d: %s", i+1, notes.OneLine(h.Summary, 300))
		for _, c := range h.ConstraintsDiscovered[:min(len(h.ConstraintsDiscovered), 5)] {
			fmt.Fprintf(&b, "\n  - %s", notes.OneLine(c.Constraint, 300))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\nSessions before that:\n" + b.String()
}
