package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/plan"
)

func TestNewCommands(t *testing.T) {
	old := State{Plan: plan.Plan{Tasks: []plan.Task{{ID: "T-001", Verify: []string{"foreign"}}}}}
	for _, row := range []struct {
		why  string
		e    Event
		want []Command
	}{
		{"a task that is added", Event{Plan: &PlanChange{Upsert: []plan.Task{{ID: "T-002",
			Verify: []string{"own", "own"}}}}}, []Command{{"T-002", "own"}}},
		{"an edit that leaves a foreign command as it is does not vouch for it",
			Event{Plan: &PlanChange{Upsert: []plan.Task{{ID: "T-001", Title: "other",
				Verify: []string{"foreign", "mine"}}}}}, []Command{{"T-001", "mine"}}},
		{"an amendment", Event{Amend: &AmendChange{Task: &plan.Task{ID: "T-003", Verify: []string{"x"}}}},
			[]Command{{"T-003", "x"}}},
		{"a setting", Event{Operator: &Operator{Command: "set", Key: "k", Value: "v"}}, []Command{{"", "set k v"}}},
		{"recorded checks", Event{Task: "T-001", Result: &Result{Checks: []CheckRun{{Command: "make"},
			{Command: "foreign"}}}}, []Command{{"T-001", "make"}}},
		{"tasks that an iteration made", Event{Result: &Result{Plan: &PlanChange{Upsert: []plan.Task{{ID: "T-009",
			Verify: []string{"y"}}}}}}, []Command{{"T-009", "y"}}},
		{"what goes back to earlier entries brings nothing", Event{Rewind: &Rewind{}}, nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			if d := cmp.Diff(row.want, NewCommands(old, row.e)); d != "" {
				t.Error(d)
			}
		})
	}
}
