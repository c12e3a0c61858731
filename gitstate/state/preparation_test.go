package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/plan"
)

// The results of helper agents reach the next preparation, and only that one.
func TestApplyPreparation(t *testing.T) {
	prep := func(task string, c ContextNote) Event {
		c.Kind = "prep"
		return Event{ID: "p", Time: t0, Type: EvContext, Task: plan.TaskID(task), Iteration: 1, Context: &c}
	}
	research := prep("T-1", ContextNote{Action: "research", Topics: []string{"cost of bcrypt"}, Research: "12 is usual"})
	finding := Event{ID: "f", Time: t0, Type: EvPass, Pass: &PassResult{Name: "review",
		Findings: "a.go:1: lost error\n\nb.go:2: no test"}}
	advice := Event{ID: "a", Time: t0, Type: EvContext, Context: &ContextNote{Kind: "post", Action: "increase_retries",
		Reason: "close"}}
	rows := []struct {
		why    string
		events []Event
		want   Preparation
	}{
		{"findings are lines with the name of their pass", []Event{finding},
			Preparation{Findings: []string{"review: a.go:1: lost error", "review: b.go:2: no test"}}},
		{"advice is the newest directive", []Event{advice}, Preparation{Advice: "increase_retries: close"}},
		{"a preparation has read what was left", []Event{finding, advice, prep("T-1", ContextNote{Action: "proceed"})},
			Preparation{}},
		{"one that failed has not", []Event{advice, prep("T-1", ContextNote{Action: "fallback", Failed: true})},
			Preparation{Advice: "increase_retries: close"}},
		{"research is counted by task", []Event{research, research},
			Preparation{Rounds: map[string]int{"T-1": 2}, Task: "T-1", Topics: []string{"cost of bcrypt"},
				Research: "12 is usual"}},
		{"another task's preparation forgets the topics and not the count",
			[]Event{research, prep("T-2", ContextNote{Action: "proceed"})},
			Preparation{Rounds: map[string]int{"T-1": 1}}},
		{"a failed post leaves no advice", []Event{{ID: "x", Time: t0, Type: EvContext,
			Context: &ContextNote{Kind: "post", Failed: true, Reason: "hang"}}}, Preparation{}},
	}
	for _, r := range rows {
		s := with(pending("T-1"), pending("T-2"))
		before := s
		for _, e := range r.events {
			s, _ = Apply(s, e)
		}
		if diff := cmp.Diff(r.want, s.Run.Prep); diff != "" {
			t.Errorf("%s:\n%s", r.why, diff)
		}
		again, err := Decode(Changes(State{}, s))
		if err != nil || !cmp.Equal(again.Run.Prep, s.Run.Prep) {
			t.Errorf("%s: read back: %v\n%s", r.why, err, cmp.Diff(s.Run.Prep, again.Run.Prep))
		}
		if len(before.Run.Prep.Findings) > 0 || before.Run.Prep.Rounds != nil {
			t.Errorf("%s: the state before was changed", r.why)
		}
	}
	s := started(with(pending("T-1")), "T-1")
	s, _ = Apply(s, research)
	s, _ = Apply(s, ended("T-1", Result{Verdict: Keep, TaskStatus: plan.Done}))
	if s.Run.Prep.Rounds != nil {
		t.Errorf("a task that is done: %v", s.Run.Prep.Rounds)
	}
	for range 30 {
		s, _ = Apply(s, Event{ID: "f", Time: t0, Type: EvPass, Pass: &PassResult{Name: "review",
			Findings: strings.Repeat("x", 5000)}})
	}
	if n := len(s.Run.Prep.Findings); n != maxFindings || len(s.Run.Prep.Findings[0]) > maxFinding+20 {
		t.Errorf("%d findings of %d bytes", n, len(s.Run.Prep.Findings[0]))
	}
}

// Counters start anew only when the index was brought up to date.
func TestApplyIndexing(t *testing.T) {
	note := func(kind string, failed bool) Event {
		return Event{ID: "i", Time: t0, Type: EvContext, Context: &ContextNote{Kind: kind, Failed: failed}}
	}
	for _, r := range []struct {
		why  string
		e    Event
		want IndexState
	}{
		{"the indexer ran", note("index", false), IndexState{Last: 7}},
		{"it was refused, its handoffs wait on", note("index", true), IndexState{Since: 4, Bytes: 900, Last: 3}},
		{"the context agent does the same work", note("post", false), IndexState{Last: 7}},
		{"a preparation does not", note("prep", false), IndexState{Since: 4, Bytes: 900, Last: 3}},
	} {
		s := begun()
		s.Run.Iteration, s.Run.Index = 7, IndexState{Since: 4, Bytes: 900, Last: 3}
		if s, _ = Apply(s, r.e); s.Run.Index != r.want {
			t.Errorf("%s: %+v", r.why, s.Run.Index)
		}
	}
}

func TestApplyLeftPhase(t *testing.T) {
	s, _ := Apply(with(pending("T-1")), Event{ID: "x", Time: t0, Type: EvPhase, PhaseTo: &PhaseChange{To: Planning}})
	s, _ = Apply(s, Event{ID: "y", Time: t0, Type: EvPhase, PhaseTo: &PhaseChange{To: Building}})
	if s.Run.LeftPhase != Planning {
		t.Errorf("left %q", s.Run.LeftPhase)
	}
	s = started(s, "T-1")
	waited, _ := Apply(s, ended("T-1", Result{Verdict: Reject, Outcome: "rate_limited"}))
	if waited.Run.LeftPhase != Planning {
		t.Error("a run that waited for its provider has read nothing")
	}
	if s, _ = Apply(s, ended("T-1", Result{Verdict: Reject})); s.Run.LeftPhase != "" {
		t.Errorf("after a run of its own it is %q", s.Run.LeftPhase)
	}
}
