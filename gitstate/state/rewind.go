package state

import (
	"git-ralph/plan"
)

// rewind opens the tasks again whose work was taken back. What was spent and
// counted stays: a rewind cannot be used to get round a budget.
func (a *applier) rewind() {
	c := a.e.Rewind
	if c == nil {
		a.drop("rewind", "no content")
		return
	}
	for _, id := range c.Tasks {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan any more")
		case t.Status == plan.Skipped, t.Status == plan.Blocked:
			a.drop(string(id), "is "+string(t.Status)+" meanwhile")
		default:
			t.Status, t.CompletedAt = plan.Pending, nil
		}
	}
	r := &a.s.Run
	r.LastKeep = c.LastKept
	if c.Commit != "" {
		r.LastKeep = &Kept{EventID: a.e.ID, Iteration: c.To, Parent: c.Parent, Commit: c.Commit, Rewind: true}
	}
	if a.finished() {
		return
	}
	if r.Phase == Validation {
		r.Phase, r.PhaseDone = Building, false
	}
	switch r.Status {
	case Complete, BlockedStatus, MaxIterations, Stopped, Interrupted, NeedsReview:
		r.Status, r.Reason = Ready, ""
	}
}
