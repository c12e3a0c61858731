package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// TestStatsCount: the figures of two sessions, counted from the newest event.
func TestStatsCount(t *testing.T) {
	usd := func(n int64) *int64 { n *= 1_000_000; return &n }
	ended := func(n int, task plan.TaskID, verdict state.Verdict, peak int, cost int64) state.Event {
		return state.Event{Iteration: n, Task: task, Phase: state.Building, Result: &state.Result{Verdict: verdict,
			Outcome: "finished", ContextPeak: peak, CostMicro: usd(cost), DurationMs: 1000, Title: "a " + string(task)}}
	}
	events := []state.Event{
		{Sess: &state.SessionChange{Action: "begin", Number: 1}},
		ended(1, "T-001", state.Reject, 30, 1),
		ended(2, "T-001", state.Reject, 50, 1),
		{Task: "T-001", Stuck: &state.Stuck{Reason: "the same failure twice"}},
		{Operator: &state.Operator{Command: "inject"}},
		ended(3, "T-001", state.Keep, 55, 1),
		{Sess: &state.SessionChange{Action: "end", Number: 1}},
		{TaskSet: &state.TaskChange{Action: "retry", IDs: []plan.TaskID{"T-002"}}},
		{TaskSet: &state.TaskChange{Action: "skip", Rule: "skip_after", IDs: []plan.TaskID{"T-003"}}}, // by the loop
		{Sess: &state.SessionChange{Action: "begin", Number: 2}},
		ended(4, "T-002", state.Reject, 70, 5),
		{Task: "T-002", Stuck: &state.Stuck{Reason: "the same failure twice"}},
	}
	s := state.State{Plan: plan.Plan{Tasks: []plan.Task{
		{ID: "T-001", Status: plan.Done, EstimatedTokens: 100, ActualTokens: 150}, {ID: "T-002", Status: plan.Pending}}}}
	c := newCount(s)
	for i := len(events) - 1; i >= 0; i-- {
		c.add(events[i])
	}
	got := c.result()
	want := StatsDoc{
		Iterations: 4, Kept: 1, Rejected: 3, Completion: 0.5, Stuck: 2, Recovered: 1, DurationMs: 4000,
		Reasons: map[string]int{}, Outcomes: map[string]int{"finished": 4}, Criteria: map[string]int{},
		Interventions: map[string]int{"inject": 1, "retry": 1},
		Zone:          zoneDoc{Below: 1, In: 2, Above: 1, Percent: 50},
		Estimate:      estimateDoc{Tasks: 1, Estimated: 100, Actual: 150, Ratio: 1.5}, Cost: "0",
		Phases: []useDoc{{Name: "building", Runs: 4, Cost: "8", DurationMs: 4000, micro: 8_000_000}},
		Rungs:  []rungDoc{{Cost: "8", DurationMs: 4000, micro: 8_000_000}},
		Roles:  []useDoc{}, Models: []useDoc{},
		Tasks: []taskUseDoc{
			{ID: "T-002", Title: "a T-002", Iterations: 1, Cost: "5", DurationMs: 1000, micro: 5_000_000},
			{ID: "T-001", Title: "a T-001", Iterations: 3, Kept: 1, Estimated: 100, Cost: "3", DurationMs: 3000,
				micro: 3_000_000}},
		BySession: []sessionDoc{
			{Session: 1, Iterations: 3, Kept: 1, Zone: zoneDoc{Below: 1, In: 2, Percent: 66}, Cost: "3", DurationMs: 3000,
				micro: 3_000_000},
			{Session: 2, Iterations: 1, Zone: zoneDoc{Above: 1}, Cost: "5", DurationMs: 1000, micro: 5_000_000}},
		Timeline: []pointDoc{{1, false, 30, "1"}, {2, false, 50, "1"}, {3, true, 55, "1"}, {4, false, 70, "5"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(useDoc{}, taskUseDoc{}, sessionDoc{}, rungDoc{})); diff != "" {
		t.Error(diff)
	}
}
