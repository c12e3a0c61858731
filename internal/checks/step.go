package checks

import (
	"fmt"
	"time"
)

// When says on which side of the agent a step runs.
type When string

// Before is after the checkpoint and before the agent; After is when the agent
// has ended and before the checks.
const (
	Before When = "before"
	After  When = "after"
)

// Step is one entry of `[[steps]]`: a command around an iteration.
type Step struct {
	Name    string
	When    When // empty = After
	Run     string
	Enabled bool
	// Timeout is the wall clock of one attempt; 0 = the runner's.
	Timeout time.Duration
	// Retries are further attempts after the first, RetryDelay the pause before each.
	Retries    int
	RetryDelay time.Duration
	// ContinueOnError lets the iteration go on when the step has failed.
	ContinueOnError bool
	Breaker         StepBreaker
}

// StepBreaker is the setting of a step's own breaker. It has nothing to do with
// the breaker of the loop.
type StepBreaker struct {
	// Threshold is the number of failures in a row that open it; 0 = no breaker.
	Threshold int
	// ResetAfter is the time after which one attempt is allowed again; 0 = it
	// stays open until the state is forgotten.
	ResetAfter time.Duration
}

// StepState is what a step remembers between iterations; the caller persists
// it by the step's name. The zero value is a step that never failed.
type StepState struct {
	// Failures counts iterations in a row in which the step failed with all its retries.
	Failures int `toml:"failures,omitempty" json:"failures,omitempty"`
	// OpenedAt is when the breaker opened; zero while it is closed.
	OpenedAt time.Time `toml:"opened_at,omitempty" json:"opened_at,omitzero"`
}

// Move is the next thing to do with a step.
type Move struct {
	Kind MoveKind
	// Delay is how long to wait before a Try that is a retry.
	Delay time.Duration
	// Why is one line for people, for Skip and Fail.
	Why string
}

// MoveKind names a Move.
type MoveKind string

// The moves. Skip, Pass, Forgive and Fail end the step; Forgive is a failure
// that continue_on_error permits, Fail rejects the iteration.
const (
	Try     MoveKind = "try"
	Skip    MoveKind = "skip"
	Pass    MoveKind = "pass"
	Forgive MoveKind = "forgive"
	Fail    MoveKind = "fail"
)

// Disabled is why a step that is switched off is skipped.
const Disabled = "disabled"

// Next says what to do with a step that has been tried `tried` times in this
// iteration, the last time with result last (ignored when tried is 0). A
// half-open breaker allows one attempt without retries.
func (s Step) Next(st StepState, tried int, last Result, now time.Time) Move {
	if tried == 0 {
		switch {
		case !s.Enabled:
			return Move{Kind: Skip, Why: Disabled}
		case s.open(st) && !s.halfOpen(st, now):
			return Move{Kind: Skip, Why: fmt.Sprintf("breaker open after %d failures", st.Failures)}
		}
		return Move{Kind: Try}
	}
	if last.Passed {
		return Move{Kind: Pass}
	}
	if tried <= s.Retries && !s.open(st) {
		return Move{Kind: Try, Delay: s.RetryDelay}
	}
	why := failure(last)
	if s.ContinueOnError {
		return Move{Kind: Forgive, Why: why}
	}
	return Move{Kind: Fail, Why: why}
}

// After is the state that a move which ended the step leaves behind.
func (s Step) After(st StepState, end Move, now time.Time) StepState {
	switch end.Kind {
	case Pass:
		return StepState{}
	case Forgive, Fail:
		st.Failures++
		if s.Breaker.Threshold > 0 && st.Failures >= s.Breaker.Threshold {
			st.OpenedAt = now // also again after a half-open attempt: a new cool-down
		}
	}
	return st
}

func (s Step) open(st StepState) bool { return s.Breaker.Threshold > 0 && !st.OpenedAt.IsZero() }

func (s Step) halfOpen(st StepState, now time.Time) bool {
	return s.Breaker.ResetAfter > 0 && !now.Before(st.OpenedAt.Add(s.Breaker.ResetAfter))
}

// when is s.When with its default.
func (s Step) when() When {
	if s.When == Before {
		return Before
	}
	return After
}
