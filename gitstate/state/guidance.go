package state

import (
	"slices"

	"git-ralph/plan"
)

// Carries says whether the next prompt on a task has a note of the operator's: one that
// its worker has not had yet, or that it had with this task.
func (s State) Carries(g Guidance, task plan.TaskID) bool {
	if g.Workers == 0 {
		return !g.Shown || g.Task == task
	}
	return slices.Contains(g.Tasks, task) || g.wanted() && !slices.Contains(g.Seen, s.worker(task))
}

// wanted says whether there is a worker that has not had the note.
func (g Guidance) wanted() bool { return len(g.Seen) < g.Workers }

// worker names who works on a task; "" = a run without workers.
func (s State) worker(task plan.TaskID) string {
	if c := s.ClaimOf(task); c != nil {
		return c.Actor + " " + c.Worker
	}
	return ""
}

// showGuidance takes note of the notes that a prompt on a task had.
func (a *applier) showGuidance(ids []string, task plan.TaskID) {
	if len(ids) == 0 {
		return
	}
	a.s.Guidance = slices.Clone(a.s.Guidance)
	for i := range a.s.Guidance {
		g := &a.s.Guidance[i]
		switch {
		case !slices.Contains(ids, g.ID):
		case g.Workers == 0 && !g.Shown:
			g.Shown, g.Task = true, task
		case g.Workers > 0 && !slices.Contains(g.Tasks, task):
			g.Tasks = append(slices.Clip(g.Tasks), task)
			if w := a.s.worker(task); g.wanted() && !slices.Contains(g.Seen, w) {
				g.Seen = append(slices.Clip(g.Seen), w)
			}
		}
	}
}

// dropGuidance ends the notes that were shown with a task and are for no other.
func (a *applier) dropGuidance(id plan.TaskID) {
	a.s.Guidance = slices.DeleteFunc(slices.Clone(a.s.Guidance), func(g Guidance) bool { return g.Shown && g.Task == id })
	for i := range a.s.Guidance {
		g := &a.s.Guidance[i]
		g.Tasks = slices.DeleteFunc(slices.Clone(g.Tasks), func(t plan.TaskID) bool { return t == id })
		if len(g.Tasks) == 0 {
			g.Tasks = nil
		}
	}
	a.endGuidance()
}

// settleGuidance ends the wait for workers of a run that is over. A note that none of
// them has had is for the next prompt.
func (a *applier) settleGuidance() {
	a.s.Guidance = slices.Clone(a.s.Guidance)
	for i := range a.s.Guidance {
		if g := &a.s.Guidance[i]; g.wanted() {
			g.Workers = len(g.Seen)
		}
	}
	a.endGuidance()
}

func (a *applier) endGuidance() {
	a.s.Guidance = slices.DeleteFunc(a.s.Guidance, func(g Guidance) bool {
		return g.Workers > 0 && len(g.Tasks) == 0 && !g.wanted()
	})
}
