package session

import (
	"context"
	"sync"

	agentctx "git-ralph/context"
	"git-ralph/notes"
)

// Reasons why a session was ended for a fresh one.
const (
	EndBudget = "context_budget"
	EndManual = "manual"
)

// Window follows the context window of one session. Above the first threshold, or
// when a person asks for it, every tool call is denied with a request for a
// handoff, because a working client listens only then. If it ends without a
// handoff, FollowUp asks once more. Above the second threshold the session is
// ended. A client whose tool calls we cannot judge cannot be asked and is left
// alone. A nil Window watches nothing.
type Window struct {
	Fill  agentctx.Window
	Ask   func(percent int) string // the words
	Asked func() bool              // does the journal say that a person wants a handoff; nil = nobody can
	Last  bool                     // no further session is left: nothing is asked for

	stop     context.CancelCauseFunc
	mu       sync.Mutex
	heard    bool   // the client can be asked
	reason   string // why a handoff is wanted, "" = it is not
	told     bool
	prompted bool
}

func (w *Window) observe(u Usage) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Fill.Observe(u.ContextTokens, u.ContextWindow)
	switch w.Fill.State() {
	case agentctx.WindowHard:
		if w.heard {
			w.stop(ErrWindowFull)
		}
	case agentctx.WindowAsk:
		w.want(EndBudget)
	}
}

// want asks for a handoff at the next occasion; w.mu is held.
func (w *Window) want(reason string) {
	if w.reason == "" && !w.Last {
		w.reason = reason
	}
}

// wanted is a person's request.
func (w *Window) wanted() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.want(EndManual)
}

// judge puts the request before the judgement of a tool call.
func (w *Window) judge(next func(ToolUse) Permission) func(ToolUse) Permission {
	if w == nil {
		return next
	}
	return func(u ToolUse) Permission {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heard = true
		switch {
		case w.reason == "":
			return next(u)
		case w.told:
			return Permission{Reason: "no more tools in this session: call ralph_submit_handoff now, then end"}
		}
		w.told = true
		return Permission{Reason: w.words()}
	}
}

// followUp puts the request before the repair of a handoff.
func (w *Window) followUp(file string, box Toolbox, next func(Result) (string, bool)) func(Result) (string, bool) {
	if w == nil {
		return next
	}
	return func(r Result) (string, bool) {
		if text, ok := w.prompt(file, box, r); ok {
			return text, true
		}
		return next(r)
	}
}

func (w *Window) prompt(file string, box Toolbox, r Result) (string, bool) {
	if w.Asked != nil && w.Asked() {
		// Acknowledged before the session ended, and too late for watch to see.
		w.wanted()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = true
	c := box.Collected()
	if w.reason == "" || w.prompted || r.Outcome != Completed || c.Complete != nil || c.Blocked != nil || c.Retry != "" ||
		c.Handoff != nil {
		return "", false
	}
	if raw, _ := ReadHandoff(file); raw != nil {
		return "", false
	}
	w.prompted, w.told = true, true
	return w.words(), true
}

// words is the request for a handoff; w.mu is held.
func (w *Window) words() string {
	if w.reason == EndManual {
		return w.Ask(0)
	}
	return w.Ask(w.Fill.Percent())
}

// Over says why a fresh session follows after the client has ended; "" when
// none does.
func (w *Window) Over(c Collected, o OutcomeKind, h *notes.Handoff) string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Complete != nil || c.Blocked != nil || c.Retry != "" || h != nil && h.TaskCompleted.FullyComplete {
		return ""
	}
	switch o {
	case ContextLimit:
		if w.reason == EndManual {
			return EndManual
		}
		return EndBudget
	case Completed, MaxTurns:
		if w.told {
			return w.reason
		}
	}
	return ""
}
