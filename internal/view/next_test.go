package view

import (
	"strings"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// TestNextCommand: status proposes the right command in every state of a run.
func TestNextCommand(t *testing.T) {
	pending := plan.Plan{Tasks: []plan.Task{{ID: "T-001", Status: plan.Pending, Priority: 1}}}
	done := plan.Plan{Tasks: []plan.Task{{ID: "T-001", Status: plan.Done, Priority: 1}}}
	failed := plan.Plan{Tasks: []plan.Task{{ID: "T-001", Status: plan.Failed, Priority: 1}}}
	for _, x := range []struct {
		why    string
		plan   plan.Plan
		status state.Status
		reason string
		change func(*state.State, *StatusDoc)
		want   string
		never  string
	}{
		{"nothing is planned", plan.Plan{}, state.New, "", nil, "git ralph import FILE", "start"},
		{"a request waits for its plan", plan.Plan{}, state.Stopped, "", func(s *state.State, d *StatusDoc) {
			s.Run.Request, d.Phase = "a tool", state.Discovery
		}, "git ralph run", "import"},
		{"a discovery was rejected beside an old plan", done, state.Stopped, "", func(s *state.State, d *StatusDoc) {
			s.Run.Request, d.Phase = "a tool", state.Discovery
		}, "git ralph run", "everything is done"},
		{"a plan that nobody has begun", pending, state.Ready, "", nil, "git ralph start begins with T-001", ""},
		{"stopped", pending, state.Stopped, "stop", nil, "git ralph start begins with T-001", ""},
		{"stopped after the last task", done, state.Stopped, "stop", nil, "git ralph start proves the whole", "everything"},
		{"interrupted after the last task", done, state.Interrupted, "", nil, "git ralph start", "everything"},
		{"the iterations are used up", pending, state.MaxIterations, "", nil, "git ralph start", "resume"},
		{"interrupted", pending, state.Interrupted, "", nil, "git ralph start recovers", ""},
		{"interrupted in validation", pending, state.Interrupted, "", func(s *state.State, d *StatusDoc) {
			d.Phase = state.Validation
		}, "git ralph run recovers", ""},
		{"paused", pending, state.Paused, "", func(s *state.State, d *StatusDoc) { d.Paused = true }, "git ralph resume", ""},
		{"complete", done, state.Complete, "", nil, "git log --notes=ralph", ""},
		{"red in a fresh checkout, all tasks done", done, state.HaltedStatus, "fresh_checks: test", nil, "setup",
			"everything is done"},
		{"old tests are red", done, state.HaltedStatus, "old_tests: TestA", nil, "allow_test_changes", "everything is done"},
		{"a program is missing", pending, state.HaltedStatus, "environment: pytest not found", nil, "install it", "resume"},
		{"nothing could be proved", done, state.HaltedStatus, "unproved: T-001", nil, "verify command", "everything"},
		{"the breaker is open", pending, state.HaltedStatus, "consecutive_failures:3", func(s *state.State, d *StatusDoc) {
			s.Run.Breaker.State = "open"
		}, "git ralph resume", ""},
		{"refs were moved", done, state.HaltedStatus, "refs_moved", nil, "git ralph log says why", "resume"},
		{"tasks failed", failed, state.BlockedStatus, "", nil, "git ralph retry --failed", "everything is done"},
		{"a person has to look", done, state.NeedsReview, "specs", nil, "git ralph approve", ""},
		{"a question is open", pending, state.Paused, "", func(s *state.State, d *StatusDoc) {
			d.Questions = []state.Question{{ID: "Q1"}}
		}, "git ralph answer Q1", ""},
	} {
		t.Run(x.why, func(t *testing.T) {
			s := state.State{Plan: x.plan}
			s.Run.Phase = state.Building
			d := StatusDoc{Status: x.status, HaltReason: x.reason, Phase: state.Building, Tasks: x.plan.Counts()}
			if x.change != nil {
				x.change(&s, &d)
			}
			got := (Reader{}).Next(d, s)
			if !strings.Contains(got, x.want) || x.never != "" && strings.Contains(got, x.never) {
				t.Errorf("next: %s\nwant %q, never %q", got, x.want, x.never)
			}
		})
	}
}
