package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// TestChangesOfALargePlan finds the changes of an entry without comparing every
// task of the plan field by field.
func TestChangesOfALargePlan(t *testing.T) {
	allocations := func(tasks int) float64 {
		var old state.State
		old.Format = state.Format
		for i := range tasks {
			old.Plan.Tasks = append(old.Plan.Tasks, plan.Task{ID: plan.TaskID(fmt.Sprintf("T-%04d", i)), Title: "a thing",
				Criteria: []string{"it exists"}})
		}
		next := old
		next.Plan.Tasks = slices.Clone(old.Plan.Tasks)
		next.Plan.Tasks[tasks/2].Title = "another thing"
		changed := 0
		for path := range state.Changes(old, next) {
			if strings.HasPrefix(path, "tasks/") {
				changed++
			}
		}
		if changed != 1 {
			t.Fatalf("%d tasks changed", changed)
		}
		return testing.AllocsPerRun(20, func() { state.Changes(old, next) })
	}
	if few, many := allocations(10), allocations(3000); many > few {
		t.Errorf("%.0f allocations with 10 tasks, %.0f with 3,000", few, many)
	}
}
