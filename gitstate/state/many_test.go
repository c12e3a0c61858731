package state

import (
	"fmt"
	"runtime"
	"testing"

	"git-ralph/plan"
)

// TestManyTasksAtOnce: the cost of applying a plan of thousands of tasks grows with
// its length, not with its square. Memory is measured, because time depends on the
// load of the machine.
func TestManyTasksAtOnce(t *testing.T) {
	change := func(n int) Event {
		c := &PlanChange{Reason: "import"}
		for i := range n {
			c.Upsert = append(c.Upsert, plan.Task{ID: plan.NumberedID(i + 1), Title: fmt.Sprint("thing ", i),
				Status: plan.Pending, Priority: 1})
		}
		return Event{Type: EvPlan, Plan: c}
	}
	var s State
	takes := func(n int) uint64 {
		e := change(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, _ = Apply(State{Format: Format}, e)
		s, _ = Apply(s, e) // once more replaces all of them
		runtime.ReadMemStats(&after)
		if len(s.Plan.Tasks) != n {
			t.Fatalf("%d tasks of %d", len(s.Plan.Tasks), n)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	takes(10) // one-time allocations
	if few, many := takes(300), takes(3000); many > 15*few {
		t.Errorf("3,000 tasks take %d bytes, 300 take %d", many, few)
	}
}
