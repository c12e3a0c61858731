package session

import (
	"context"
	"errors"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/plan"
)

// Causes for which the harness itself stops a client.
var (
	ErrSkipped     = errors.New("the operator took the task away")
	ErrStopNow     = errors.New("stopped by the operator")
	ErrInterrupted = errors.New("interrupted") // a person ends the run: Ctrl-C, SIGTERM
	ErrEndedByTool = errors.New("the agent ended its iteration by a tool")
	ErrWindowFull  = errors.New("the context window is full")
)

// budgetError is the cause when a limit was crossed, and names it.
type budgetError struct{ limit string }

func (e budgetError) Error() string { return e.limit }

// watch looks at the journal while the agent runs: an operator may skip the
// task, stop the run now, or ask for a handoff. The channel closes when it ends.
func (h *Host) watch(ctx context.Context, ss *Session, box Toolbox, stop context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		last, ended := object.Zero, 0
		for ctx.Err() == nil {
			h.Sleep(ctx, 200*time.Millisecond)
			if c := box.Collected(); c.Blocked != nil || c.Retry != "" {
				// The tool ended the iteration; the agent has a moment for its handoff.
				if ended++; ended > 10 {
					stop(ErrEndedByTool)
					return
				}
			}
			if !ss.Deadline.IsZero() && !h.Now().Before(ss.Deadline) {
				stop(budgetError{"session_time"})
				return
			}
			tip, err := h.Journal.Tip(ctx)
			if err != nil || tip == last {
				continue
			}
			// An agent without a sandbox may have moved the ref to an older entry: Load knows.
			snap, err := h.Journal.Load(ctx)
			if err != nil {
				continue
			}
			last = snap.Tip
			s := snap.State
			if s.Run.AskHandoff == ss.Request.Iteration {
				ss.Window.wanted()
			}
			if s.Run.StopNow && s.Run.StopAsked == s.Run.Session {
				stop(ErrStopNow)
				return
			} else if id := plan.TaskID(ss.Request.TaskID); id != "" && s.Withdrawn(id) {
				stop(ErrSkipped)
				return
			}
		}
	}()
	return done
}
