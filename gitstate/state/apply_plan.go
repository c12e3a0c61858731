package state

import (
	"slices"
	"strings"

	"git-ralph/internal/stable"
	"git-ralph/plan"
)

func (a *applier) plan(c *PlanChange) {
	if c == nil {
		a.drop("plan", "no content")
		return
	}
	if c.Goal != nil {
		a.s.Plan.Goal = *c.Goal
	}
	person := c.Reason == "edit"
	for _, id := range c.Remove {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan")
		case t.Status == plan.Done && !person && c.Reason != "archive":
			a.drop(string(id), "a done task is not removed")
		default:
			a.s.Plan.Tasks = slices.DeleteFunc(a.s.Plan.Tasks, func(x plan.Task) bool { return x.ID == t.ID })
		}
	}
	for _, id := range c.Aside {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan any more")
		case t.Status == plan.Done, t.Status == plan.Skipped:
			a.drop(string(id), "is "+string(t.Status)+" meanwhile")
		default:
			t.PutAside(a.e.Iteration, plan.ReplacedReason, c.AsideWhy)
			a.dropGuidance(t.ID)
		}
	}
	a.s.Plan.Retire(c.Retired...)
	a.upsert(c.Upsert, person)
	if len(c.Order) > 0 {
		a.order(c.Order)
	}
	if len(a.s.Plan.Tasks) > 0 {
		if a.s.Run.Phase == Discovery && a.s.Run.Iteration == 0 {
			a.s.Run.Phase = Building
		}
		if a.s.Run.Status == New {
			a.s.Run.Status = Ready
		}
	}
	if a.s.Run.Status == Complete && !a.finished() {
		a.s.Run.Status = Ready
	}
}

// upsert adds tasks and replaces those that are in the plan. A plan of thousands
// comes at once: the tasks are copied and looked through once.
func (a *applier) upsert(tasks []plan.Task, person bool) {
	if len(tasks) == 0 {
		return
	}
	all := append(make([]plan.Task, 0, len(a.s.Plan.Tasks)+len(tasks)), a.s.Plan.Tasks...)
	at := make(map[string]int, cap(all))
	for i := len(all) - 1; i >= 0; i-- {
		at[strings.ToLower(string(all[i].ID))] = i
	}
	for _, n := range tasks {
		id := strings.ToLower(string(n.ID))
		switch i, known := at[id]; {
		case !known:
			at[id] = len(all)
			all = append(all, n)
		case all[i].Status == plan.Done && !person:
			a.drop(string(n.ID), "a done task is not changed")
		default:
			all[i] = n
		}
	}
	a.s.Plan.Tasks, a.cloned = slices.Clip(all), true
}

func (a *applier) finished() bool {
	for _, t := range a.s.Plan.Tasks {
		if t.Status != plan.Done && t.Status != plan.Skipped || t.SetAside() {
			return false
		}
	}
	return true
}

// order sorts tasks by the given ids; tasks that it does not name keep their
// place behind the others.
func (a *applier) order(ids []plan.TaskID) {
	pos := make(map[plan.TaskID]int, len(ids))
	for i, id := range ids {
		pos[id] = i
	}
	tasks := slices.Clone(a.s.Plan.Tasks)
	stable.Sort(tasks, func(x, y plan.Task) int {
		px, okx := pos[x.ID]
		py, oky := pos[y.ID]
		if !okx {
			px = len(ids)
		}
		if !oky {
			py = len(ids)
		}
		return px - py
	})
	a.s.Plan.Tasks, a.cloned = tasks, true
}

func (a *applier) amend() {
	c := a.e.Amend
	if c == nil {
		a.drop("amend", "no content")
		return
	}
	if n := len(a.s.Run.Pending); n == 0 && len(a.s.Run.Proposed) > 0 {
		a.s.Run.Proposed = slices.Clone(a.s.Run.Proposed[1:])
	} else if n > 0 {
		a.s.Run.Pending = slices.Clone(a.s.Run.Pending[1:])
		if n == 1 {
			a.s.Run.PendingOf = 0
		}
	}
	if !c.Accepted || c.Task == nil {
		return
	}
	t := a.task(c.Task.ID)
	switch {
	case t != nil && t.Status == plan.Done:
		a.drop(string(c.Task.ID), "the task is done meanwhile")
	case t != nil && c.Action == "add":
		a.drop(string(c.Task.ID), "the id was taken meanwhile")
	case t != nil:
		// What a person did to the status meanwhile stands.
		st, att := t.Status, t.Attempts
		*t = *c.Task
		t.Attempts = att
		if c.Action != "remove" {
			t.Status = st
		}
	case c.Action == "add":
		at := len(a.s.Plan.Tasks)
		if i := slices.IndexFunc(a.s.Plan.Tasks, func(x plan.Task) bool { return x.ID == c.After }); c.After != "" && i >= 0 {
			at = i + 1
		}
		a.s.Plan.Tasks = slices.Insert(slices.Clone(a.s.Plan.Tasks), at, *c.Task)
		a.cloned = true
	default:
		a.drop(string(c.Task.ID), "not in the plan any more")
	}
}

func (a *applier) taskChange() {
	c := a.e.TaskSet
	if c == nil {
		a.drop("task", "no content")
		return
	}
	for _, id := range c.IDs {
		t := a.task(id)
		if t == nil {
			a.drop(string(id), "not in the plan any more")
			continue
		}
		if t.Status == plan.Done && c.Action != "retry" {
			a.drop(string(id), "the task is done")
			continue
		}
		if held := a.s.ClaimOf(id); held != nil && c.Rule != "" {
			a.drop(string(id), "is claimed by "+held.Actor) // only a person decides over a worker
			continue
		}
		if c.AllowTestChanges {
			if t.AllowTestChanges = true; t.Status == plan.InProgress {
				continue
			}
		}
		t.Status, t.SkippedBy, t.SkippedIn = c.Status, "", 0 // a person decided
		switch c.Action {
		case "block", "skip", "fail":
			t.BlockedBy = nil
			if c.Reason != "" {
				t.BlockedBy = []string{c.Reason}
			}
			a.dropGuidance(t.ID)
		case "retry", "unblock":
			t.BlockedBy, t.CompletedAt = nil, nil
		}
		if c.Reset {
			t.Attempts, t.Rung, t.Failure, t.Partial = 0, 0, "", 0
		}
	}
	switch c.Rule {
	case "attempts_exhausted":
		a.s.Run.Breaker.FailedTasks++
	case "stagnation":
		a.s.Run.Breaker.Stagnation = 0
	}
	if c.ResetFailures {
		a.s.Run.Breaker.Failures = 0
	}
	st := a.s.Run.Status
	if aside := st == NeedsReview && strings.HasPrefix(a.s.Run.Reason, SetAside); aside && !a.s.Plan.LeftToPerson() {
		a.s.Run.Status, a.s.Run.Reason = a.afterReview(), ""
	}
	if (st == Complete || st == BlockedStatus) && !a.finished() && (c.Action == "retry" || c.Action == "unblock") {
		a.s.Run.Status, a.s.Run.Reason = Ready, ""
	}
}
