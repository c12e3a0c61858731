package loop

import (
	"context"
	"errors"
	"sync"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/notes"
)

// errWindow is the cause when a session is ended because its window is full.
var errWindow = errors.New("the context window is full")

// Reasons why a session was ended for a fresh one.
const (
	endBudget = "context_budget"
	endManual = "manual"
)

// fill follows the context window of one session. Above the first threshold,
// or when a person asks for it, the client's next tool call is denied with the
// request to hand over, and so is every one after it: that is the only moment
// in the middle of its work at which a client listens. When it ends without a
// handoff, FollowUp asks once more. Above the second threshold the session is
// ended. A client that lets us judge nothing cannot be asked, and is left alone.
// A nil fill watches nothing.
type fill struct {
	ask   func(percent int) string // the words
	asked func() bool              // does the journal say that a person wants a handoff; nil = nobody can
	stop  context.CancelCauseFunc
	last  bool // no further session is left: nothing is asked for

	mu       sync.Mutex
	window   agentctx.Window
	heard    bool   // the client can be asked
	reason   string // why a handoff is wanted, "" = it is not
	told     bool
	prompted bool
}

// newFill is for a session that was handed a text by the one before; nil where
// sessions do not follow each other.
func (l *Loop) newFill(ss *session, handed string, stop context.CancelCauseFunc) *fill {
	if !ss.claims {
		return nil
	}
	f := &fill{stop: stop, last: ss.n > l.Settings.MaxHandoffs,
		window: agentctx.Window{Capacity: int64(l.Settings.Window), Ask: l.Settings.HandoffPercent,
			Hard: l.Settings.HardPercent}}
	o := l.promptOptions(ss.Ready, handed)
	f.ask = func(percent int) string { return agentctx.AskHandoff(ss.asked, ss.task.ID, o, percent) }
	f.asked = func() bool {
		s, err := l.load()
		return err == nil && s.Run.AskHandoff == ss.number
	}
	return f
}

func (f *fill) observe(u Usage) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window.Observe(u.ContextTokens, u.ContextWindow)
	switch f.window.State() {
	case agentctx.WindowHard:
		if f.heard {
			f.stop(errWindow)
		}
	case agentctx.WindowAsk:
		f.want(endBudget)
	}
}

// want asks for a handoff at the next occasion; f.mu is held.
func (f *fill) want(reason string) {
	if f.reason == "" && !f.last {
		f.reason = reason
	}
}

// wanted is a person's request.
func (f *fill) wanted() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want(endManual)
}

// judge puts the request before the judgement of a tool call.
func (f *fill) judge(next func(ToolUse) Permission) func(ToolUse) Permission {
	if f == nil {
		return next
	}
	return func(u ToolUse) Permission {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.heard = true
		switch {
		case f.reason == "":
			return next(u)
		case f.told:
			return Permission{Reason: "no more tools in this session: call ralph_submit_handoff now, then end"}
		}
		f.told = true
		return Permission{Reason: f.words()}
	}
}

// followUp puts the request before the repair of a handoff.
func (f *fill) followUp(file string, box Toolbox, next func(Result) (string, bool)) func(Result) (string, bool) {
	if f == nil {
		return next
	}
	return func(r Result) (string, bool) {
		if text, ok := f.prompt(file, box, r); ok {
			return text, true
		}
		return next(r)
	}
}

func (f *fill) prompt(file string, box Toolbox, r Result) (string, bool) {
	if f.asked != nil && f.asked() {
		// Acknowledged before the session ended, and too late for watch to see.
		f.wanted()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = true
	c := box.Collected()
	if f.reason == "" || f.prompted || r.Outcome != Completed || c.Complete != nil || c.Blocked != nil || c.Retry != "" ||
		c.Handoff != nil {
		return "", false
	}
	if raw, _ := readHandoff(file); raw != nil {
		return "", false
	}
	f.prompted, f.told = true, true
	return f.words(), true
}

// words is the request for a handoff; f.mu is held.
func (f *fill) words() string {
	if f.reason == endManual {
		return f.ask(0)
	}
	return f.ask(f.window.Percent())
}

// over says why the session was one that a fresh one follows, "" when it was
// not, after its client has ended.
func (f *fill) over(c Collected, o OutcomeKind, h *notes.Handoff) string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Complete != nil || c.Blocked != nil || c.Retry != "" || h != nil && h.TaskCompleted.FullyComplete {
		return ""
	}
	switch o {
	case ContextLimit:
		if f.reason == endManual {
			return endManual
		}
		return endBudget
	case Completed, MaxTurns:
		if f.told {
			return f.reason
		}
	}
	return ""
}

// remaining takes what the iteration has used already from the limits of a
// further run of it: money always, time and turns from the run since on, where
// the attempt began.
func (l *Loop) remaining(runs []state.AgentRun, since int, role Role, req *Request) {
	spent, _ := (&helped{runs: runs}).spent()
	if limit := l.Settings.IterationMicroUSD; limit > 0 {
		req.MaxCostMicroUSD = max(1, limit-spent)
	}
	var took time.Duration
	turns := 0
	for _, r := range runs[since:] {
		if r.Role == string(role) {
			took += time.Duration(r.DurationMs) * time.Millisecond
			turns += r.Turns
		}
	}
	if req.Timeout > 0 && took > 0 {
		req.Timeout = max(req.Timeout-took, time.Second)
	}
	if req.MaxTurns > 0 && turns > 0 {
		req.MaxTurns = max(req.MaxTurns-turns, 1)
	}
}
