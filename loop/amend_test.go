package loop

import (
	"strings"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// TestAmendmentOfItsOwnTask: an amendment belongs to the task whose iteration proposed
// it, whatever another worker has begun since.
func TestAmendmentOfItsOwnTask(t *testing.T) {
	s := state.State{Plan: plan.Plan{Tasks: []plan.Task{
		{ID: "A", Title: "a", Description: "first", Status: plan.Done},
		{ID: "B", Title: "b", Description: "second", Status: plan.InProgress},
		{ID: "C", Title: "c", Description: "third", Status: plan.Pending}}}}
	s.Run.Iteration, s.Run.LastTask = 7, "A"
	s.Run.Proposed = []state.Proposed{{Iteration: 5, Task: "B", Of: 1,
		JSON: `{"action":"modify","task_id":"B","changes":{"description":"better"},"reason":"clearer"}`}}
	e := amendment(s, plan.Critic{})
	if !e.Amend.Accepted || e.Iteration != 5 || e.Task != "B" || !strings.Contains(e.Amend.Task.Description, "better") {
		t.Errorf("%d %s: %+v, %+v", e.Iteration, e.Task, *e.Amend, e.Amend.Task)
	}
	s.Run.Pending, s.Run.PendingOf = []string{`{"action":"remove","task_id":"C","reason":"not needed"}`}, 4
	if e := amendment(s, plan.Critic{}); e.Iteration != 7 || e.Amend.Accepted {
		t.Errorf("of an earlier version: %+v", e)
	}
}
