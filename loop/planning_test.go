package loop

import (
	"context"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// TestTaskAddedDuringPlanning: a task that a person adds while the planning agent works keeps its
// id; the agent's tasks get others, and wait for the same tasks as before.
func TestTaskAddedDuringPlanning(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		if req.Role != session.RolePlanning {
			r.write(req.TaskID+".txt", "x\n")
			b.done(req)
			return completed()
		}
		b.say(func(c *session.Collected) {
			c.Tasks = []plan.Task{{ID: "T-001", Title: "one of the agent", Status: plan.Pending, Criteria: []string{"x"}},
				{ID: "T-002", Title: "two of the agent", Status: plan.Pending, Criteria: []string{"x"},
					DependsOn: []plan.TaskID{"T-001"}}}
		})
		_, err := r.Journal.Record(context.Background(), state.Event{Type: state.EvPlan,
			Plan: &state.PlanChange{Reason: "add",
				Upsert: []plan.Task{{ID: "T-001", Title: "of a person", Status: plan.Pending}}}})
		if err != nil {
			r.t.Error(err)
		}
		return completed()
	})
	r.write("specs/colours.md", colours)
	r.repo.Git("add", "specs")
	r.repo.Git("commit", "-q", "-m", "say what is wanted")
	r.run(RunOptions{Phase: state.Planning, Only: true})
	titles := map[string]plan.Task{}
	s := r.state()
	for _, x := range s.Plan.Tasks {
		titles[x.Title] = x
	}
	one, two := titles["one of the agent"], titles["two of the agent"]
	if len(titles) != 3 || titles["of a person"].ID != "T-001" || one.ID == "" ||
		len(two.DependsOn) != 1 || two.DependsOn[0] != one.ID {
		t.Errorf("%+v", s.Plan.Tasks)
	}
}
