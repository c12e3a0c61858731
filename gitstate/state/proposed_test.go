package state

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/plan"
)

// TestProposedByTwo: two workers hand over before anything is judged, and the amendments of
// both wait. Those of an entry without Queued replace the waiting ones.
func TestProposedByTwo(t *testing.T) {
	raw := func(texts ...string) (out []json.RawMessage) {
		for _, s := range texts {
			out = append(out, json.RawMessage(s))
		}
		return out
	}
	s := State{Format: Format, Run: Run{Phase: Building, Status: Running},
		Plan: plan.Plan{Tasks: []plan.Task{{ID: "A", Title: "a", Status: plan.InProgress},
			{ID: "B", Title: "b", Status: plan.InProgress}}}}
	step := func(n int, task plan.TaskID, queued bool, list []json.RawMessage) {
		t.Helper()
		next, _ := Apply(s, Event{ID: "E", Type: EvIteration, Time: time.Unix(1, 0), Phase: Building, Iteration: n,
			Task: task, Result: &Result{Verdict: Keep, TaskStatus: plan.Done, Amendments: list, Queued: queued}})
		s = next
	}
	step(1, "A", true, raw(`{"a": 1}`))
	step(2, "B", true, raw(`{"b": 1}`, `{"b": 2}`))
	want := []Proposed{{1, "A", 1, `{"a":1}`}, {2, "B", 2, `{"b":1}`}, {2, "B", 2, `{"b":2}`}}
	if diff := cmp.Diff(want, s.Run.Proposed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	step(3, "A", false, raw(`{"old": 1}`))
	step(4, "B", false, raw(`{"old": 2}`))
	if diff := cmp.Diff([]string{`{"old":2}`}, s.Run.Pending); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
