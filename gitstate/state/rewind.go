package state

import (
	"maps"

	"git-ralph/notes"
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
	undone := 0
	for _, id := range c.Tasks {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan any more")
		case t.Status == plan.Skipped, t.Status == plan.Blocked:
			a.drop(string(id), "is "+string(t.Status)+" meanwhile")
		default:
			if t.CompletedAt != nil && !t.CompletedAt.Before(a.s.Run.StartedAt) {
				undone++
			}
			t.Status, t.CompletedAt = plan.Pending, nil
		}
	}
	r := &a.s.Run
	r.LastKeep = c.LastKept
	if c.Commit != "" {
		r.LastKeep = &Kept{EventID: a.e.ID, Iteration: c.To, Parent: c.Parent, Commit: c.Commit, Rewind: true}
	}
	if c.Told != nil {
		a.forget(*c.Told)
		r.SessionDone = max(0, r.SessionDone-undone)
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

// forget removes knowledge of reverted work from the state.
func (a *applier) forget(told Told) {
	a.s.Handoff, a.s.Recent = told.Handoff, told.Recent
	if len(told.Withdrawn) > 0 {
		a.s.Knowledge = notes.Withdraw(a.s.Knowledge, told.Withdrawn)
	}
	for id, n := range told.Steps {
		if t := a.task(id); t != nil {
			t.Partial = n
		}
	}
	m := maps.Clone(a.s.Memory)
	for _, name := range []string{"session", "phase-" + string(Building), "phase-" + string(Validation)} {
		delete(m, name)
	}
	a.s.Memory = m
	if told.Memory != "" {
		a.memory("session", told.Memory)
	}
	a.s.Report = nil
	r := &a.s.Run
	r.LastTask, r.Stuck, r.LastFailKey, r.LastFailTask, r.LastFailTree = "", "", "", "", ""
	r.Prep = Preparation{Rounds: r.Prep.Rounds}
}
