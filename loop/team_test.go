package loop

import (
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

func TestAssign(t *testing.T) {
	s := state.State{Plan: plan.Plan{Tasks: []plan.Task{
		{ID: "a", Status: plan.InProgress}, {ID: "b", Status: plan.Pending}, {ID: "c", Status: plan.Pending},
		{ID: "d", Status: plan.Pending, DependsOn: []plan.TaskID{"a"}}}}}
	half := s
	half.Run.Breaker.State = "half-open"
	ran := s
	ran.Run.SessionIterations = 2
	claimed := s
	claimed.Claims = []state.Claim{{Task: "a", Actor: "here"}}
	there := s
	there.Claims = []state.Claim{{Task: "a", Actor: "there"}}
	meets := state.State{Plan: plan.Plan{Tasks: []plan.Task{
		{ID: "y", Title: "change lib/a.go", Status: plan.InProgress},
		{ID: "x", Title: "lint lib/a.go", Status: plan.Pending}}},
		Claims: []state.Claim{{Task: "y", Actor: "there"}}}
	work := Action{Kind: Work, Task: "b"}
	for _, c := range []struct {
		why  string
		s    state.State
		a    Action
		busy []plan.TaskID
		size int
		lim  Limits
		kind ActionKind
		task plan.TaskID
	}{
		{"nobody is at work: as a single loop", s, work, nil, 3, Limits{}, Work, "b"},
		{"the next one beside it", s, work, []plan.TaskID{"a"}, 3, Limits{}, Work, "b"},
		{"and the next", s, work, []plan.TaskID{"a", "b"}, 3, Limits{}, Work, "c"},
		{"all have something to do", s, work, []plan.TaskID{"a", "b"}, 2, Limits{}, Await, ""},
		{"what waits for a is not taken", s, work, []plan.TaskID{"a", "b", "c"}, 4, Limits{}, Await, ""},
		{"a claim of another process counts", claimed, work, nil, 1, Limits{}, Await, ""},
		{"a claim of another machine takes no worker", there, work, []plan.TaskID{"b"}, 2, Limits{}, Work, "c"},
		{"and is no reason for the end to wait", there, Action{Kind: Halt}, nil, 2, Limits{}, Halt, ""},
		{"a task that meets one there waits", meets, Action{Kind: Work, Task: "x"}, nil, 2, Limits{}, Wait, ""},
		{"half-open allows one attempt", half, work, []plan.TaskID{"a"}, 3, Limits{}, Await, ""},
		{"those at work count towards the iterations", ran, work, []plan.TaskID{"a"}, 3, Limits{MaxIterations: 3}, Await, ""},
		{"the end waits for all", s, Action{Kind: Halt}, []plan.TaskID{"a"}, 3, Limits{}, Await, ""},
		{"and so does a pause", s, Action{Kind: Wait}, []plan.TaskID{"a"}, 3, Limits{}, Await, ""},
		{"and the proof", s, Action{Kind: Prove}, []plan.TaskID{"a"}, 3, Limits{}, Await, ""},
		{"the breaker opens at once", s, Action{Kind: OpenBreaker}, []plan.TaskID{"a"}, 3, Limits{}, OpenBreaker, ""},
		{"and so is given up what is out of attempts", s, Action{Kind: FailTask, Task: "b"}, []plan.TaskID{"a"}, 3, Limits{},
			FailTask, "b"},
	} {
		if got := Assign(c.s, c.a, "here", c.busy, c.size, c.lim); got.Kind != c.kind || got.Task != c.task {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}
