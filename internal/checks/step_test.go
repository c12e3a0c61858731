package checks

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStepNext(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := Result{ExitCode: 2}
	open := StepState{Failures: 3, OpenedAt: t0}
	breaker := StepBreaker{Threshold: 3, ResetAfter: time.Minute}
	for _, tt := range []struct {
		why   string
		step  Step
		state StepState
		tried int
		last  Result
		now   time.Time
		want  Move
	}{
		{"a disabled step is skipped", Step{}, StepState{}, 0, Result{}, t0, Move{Kind: Skip, Why: "disabled"}},
		{"an enabled one is tried", Step{Enabled: true}, StepState{}, 0, Result{}, t0, Move{Kind: Try}},
		{"success ends it", Step{Enabled: true}, StepState{}, 1, Result{Passed: true}, t0, Move{Kind: Pass}},
		{"a failure without retries rejects", Step{Enabled: true}, StepState{}, 1, failed, t0,
			Move{Kind: Fail, Why: "exit code 2"}},
		{"a failure that may be", Step{Enabled: true, ContinueOnError: true}, StepState{}, 1, failed, t0,
			Move{Kind: Forgive, Why: "exit code 2"}},
		{"a retry after its delay", Step{Enabled: true, Retries: 2, RetryDelay: time.Second}, StepState{}, 2, failed,
			t0, Move{Kind: Try, Delay: time.Second}},
		{"retries are used up", Step{Enabled: true, Retries: 2}, StepState{}, 3, failed, t0,
			Move{Kind: Fail, Why: "exit code 2"}},
		{"a timeout says so", Step{Enabled: true}, StepState{}, 1, Result{TimedOut: true}, t0,
			Move{Kind: Fail, Why: "timeout"}},
		{"an open breaker skips", Step{Enabled: true, Breaker: breaker}, open, 0, Result{}, t0.Add(59 * time.Second),
			Move{Kind: Skip, Why: "breaker open after 3 failures"}},
		{"it allows one attempt after the time", Step{Enabled: true, Breaker: breaker, Retries: 5}, open, 0, Result{},
			t0.Add(time.Minute), Move{Kind: Try}},
		{"half-open has no retries", Step{Enabled: true, Breaker: breaker, Retries: 5}, open, 1, failed,
			t0.Add(time.Minute), Move{Kind: Fail, Why: "exit code 2"}},
		{"without a time it stays open", Step{Enabled: true, Breaker: StepBreaker{Threshold: 3}}, open, 0, Result{},
			t0.Add(time.Hour), Move{Kind: Skip, Why: "breaker open after 3 failures"}},
		{"a state without a breaker means nothing", Step{Enabled: true}, open, 0, Result{}, t0, Move{Kind: Try}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.step.Next(tt.state, tt.tried, tt.last, tt.now)); diff != "" {
				t.Errorf("move (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStepBreaker drives one step through all states of its breaker.
func TestStepBreaker(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := Step{Enabled: true, Breaker: StepBreaker{Threshold: 2, ResetAfter: time.Minute}}
	fail, pass := Move{Kind: Fail}, Move{Kind: Pass}
	var st StepState
	st = s.After(st, fail, t0)
	if st != (StepState{Failures: 1}) {
		t.Fatalf("one failure: %+v", st)
	}
	st = s.After(st, fail, t0)
	if st != (StepState{Failures: 2, OpenedAt: t0}) {
		t.Fatalf("the threshold opens: %+v", st)
	}
	if st2 := s.After(st, Move{Kind: Skip}, t0.Add(time.Second)); st2 != st {
		t.Fatalf("a skip changes nothing: %+v", st2)
	}
	t1 := t0.Add(time.Minute)
	st = s.After(st, Move{Kind: Forgive}, t1)
	if st != (StepState{Failures: 3, OpenedAt: t1}) {
		t.Fatalf("a failed attempt starts the cool-down again: %+v", st)
	}
	if st = s.After(st, pass, t1.Add(time.Minute)); st != (StepState{}) {
		t.Fatalf("success closes: %+v", st)
	}
}
