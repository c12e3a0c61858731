package loop

import (
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
	"git-ralph/loop/session"
)

// Facts are everything that a verdict depends on. examine establishes them; the
// agent's claims are one group of them.
type Facts struct {
	// Claims reports whether the job ends by the agent's claim, as a task does. Other
	// jobs end by what they leave.
	Claims bool
	// Spare reports whether nothing counts a failure of the job, as of planning anew.
	Spare bool

	Outcome     session.OutcomeKind
	Detail      string
	Skipped     bool // a person took the task away meanwhile
	Said        Said
	Change      Change
	Checks      Checks
	Tampered    []string
	PartialLeft bool // the task may keep another unfinished step
}

// Said is what the agent said about its task.
type Said struct {
	// Done reports whether it said through the tool or a valid handoff that the task is
	// complete, and neither of them said no.
	Done bool
	// Unfinished reports whether a valid handoff says fully_complete = false.
	Unfinished bool
	Problem    string // why a handoff that was left could not be accepted
	Blocked    string // reason given by ralph_mark_task_blocked
	Retry      string // reason given by ralph_increment_retry
	Question   string // one that it asked and that nobody has answered
}

// Change is what the attempt did to the worktree, as far as a gate asks.
type Change struct {
	Any        bool
	NoneOK     bool     // the task expects none
	Protected  []string // paths that no agent may change
	OutOfPhase []string // paths that the phase may not change
	TooLarge   []string
	Nested     []string
	Unreadable []string // what the agent made unreadable: it cannot be committed
	Secrets    []string // paths with what a file of secrets holds that git does not track
}

// Checks are the checks that ran on the attempt, with their results.
type Checks struct {
	Pass         bool
	Reasons      []string // why not
	StepFailed   string
	Environment  string // a program that the machine lacks, so that nothing can be judged
	Weakened     []string
	Unreproduced string // why a bug was not shown by a test
}

// Verdict is what becomes of an attempt and what it does to the task.
type Verdict struct {
	Verdict state.Verdict
	Partial bool
	Reasons []string
	Attempt bool // spends one
	Failure bool // counts towards the breaker
	Block   bool // the task becomes blocked
	Waits   bool // for an answer, so that it is blocked until then
}

func reject(reasons ...string) Verdict {
	return Verdict{Verdict: state.Reject, Reasons: reasons}
}

// rejectAttempt is a reject that costs the task an attempt.
func rejectAttempt(reasons ...string) Verdict {
	return Verdict{Verdict: state.Reject, Reasons: reasons, Attempt: true, Failure: true}
}

// Judge weighs the facts of an iteration, whatever its job is. The model's words are
// evidence, never a verdict: a claim is necessary and not enough.
func Judge(f Facts) Verdict {
	if f.Skipped {
		return reject("skipped")
	}
	if len(f.Tampered) == 0 && f.Checks.Environment != "" {
		return reject(environment(f.Checks.Environment))
	}
	if v, ended := judgeOutcome(f); ended {
		return v
	}
	if f.Said.Question != "" && f.Claims && !f.Said.Done && len(f.Tampered) == 0 {
		return judgeAsked(f)
	}
	why := broken(f)
	if f.Said.Blocked != "" && f.Claims && len(why) == 0 {
		return Verdict{Verdict: state.Reject, Reasons: []string{"blocked"}, Block: true}
	}
	if f.Said.Retry != "" && f.Claims {
		why = append(why, "retry: "+f.Said.Retry)
	}
	silent := f.Claims && len(why) == 0 && !f.Said.Done && !f.Said.Unfinished
	expected := f.Claims && len(why) == 0 && !f.Change.NoneOK // a change
	if silent {
		why = append(why, "not_claimed")
	}
	why = append(why, gates(f, expected)...)
	if silent && f.Said.Problem != "" {
		why = append(why, "handoff: "+f.Said.Problem)
		if len(why) == 2 {
			// Everything else is green, and an unreadable handoff is no attempt at
			// the task. The breaker stops a client that never writes a readable one.
			return Verdict{Verdict: state.Reject, Reasons: why, Failure: true}
		}
	}
	switch {
	case len(why) > 0 && !f.Claims:
		return Verdict{Verdict: state.Reject, Reasons: why, Failure: !f.Spare}
	case len(why) > 0:
		return rejectAttempt(why...)
	case !f.Claims || f.Said.Done:
		return Verdict{Verdict: state.Keep}
	case !f.PartialLeft:
		return rejectAttempt("not_claimed")
	}
	return Verdict{Verdict: state.Keep, Partial: true}
}

// judgeAsked is the verdict on a run that asked a person, got no answer and left its task
// open. However it ended, that is no attempt; a green step that it made is kept.
func judgeAsked(f Facts) Verdict {
	step := f
	step.Said.Question = ""
	if v := Judge(step); v.Verdict == state.Keep {
		v.Waits = true
		return v
	}
	return Verdict{Verdict: state.Reject, Reasons: []string{"question: " + f.Said.Question}, Block: true, Waits: true}
}

// judgeOutcome is the verdict on a run that ended for a reason outside of the work,
// about which nothing else is asked.
func judgeOutcome(f Facts) (v Verdict, ended bool) {
	switch f.Outcome {
	case session.RateLimited, session.UsageLimit, session.Overloaded, session.AuthFailed, session.Interrupted:
		return reject(string(f.Outcome)), true
	case session.BudgetExceeded:
		// A budget of the session or of all ends the run; only one of the
		// iteration says something about the task. What was finished and proved
		// when it was crossed is kept.
		if ofIteration(f.Detail) {
			return v, false
		}
		finished := f
		finished.Outcome, finished.Detail = session.Completed, ""
		if v := Judge(finished); f.Said.Done && v.Verdict == state.Keep {
			return v, true
		}
		return reject(withDetail("limit", f.Detail)), true
	case session.NotStarted:
		// The agent never ran, so that it is no attempt; the breaker counts it,
		// because nobody else would end the run.
		if f.Claims {
			return Verdict{Verdict: state.Reject, Reasons: []string{withDetail("step", f.Detail)}, Failure: true}, true
		}
	case session.ContextLimit:
		if f.Claims {
			return reject("context_limit"), true
		}
	}
	return v, false
}

// broken says why the run did not end normally or honestly.
func broken(f Facts) []string {
	var why []string
	if len(f.Tampered) > 0 {
		why = append(why, "tampered: "+strings.Join(f.Tampered, ", "))
	}
	switch f.Outcome {
	case session.Completed:
	case session.BudgetExceeded:
		why = append(why, withDetail("limit", f.Detail))
	default: // hang, crashed, max_turns, permission_denied, protocol_error
		why = append(why, withDetail(string(f.Outcome), f.Detail))
	}
	return why
}

// gates are what the work itself has to pass, in the order in which reasons are told.
func gates(f Facts, changeExpected bool) []string {
	var why []string
	gate := func(word string, paths []string) {
		if len(paths) > 0 {
			why = append(why, word+": "+text.List(paths))
		}
	}
	if f.Checks.StepFailed != "" {
		why = append(why, "step: "+f.Checks.StepFailed)
	}
	if !f.Checks.Pass {
		why = append(why, f.Checks.Reasons...)
	}
	gate("protected", f.Change.Protected)
	gate("secret", f.Change.Secrets)
	gate("out_of_phase", f.Change.OutOfPhase)
	if len(f.Checks.Weakened) > 0 {
		why = append(why, "test_weakened: "+strings.Join(f.Checks.Weakened, ", "))
	}
	if f.Checks.Unreproduced != "" {
		why = append(why, reproduction+f.Checks.Unreproduced)
	}
	if changeExpected && !f.Change.Any {
		why = append(why, "no_change")
	}
	gate("too_large", f.Change.TooLarge)
	gate("nested", f.Change.Nested)
	gate("unreadable", f.Change.Unreadable)
	return why
}

// ofIteration says whether a limit is one of a single iteration.
func ofIteration(limit string) bool {
	switch limit {
	case proc.LimitDisk, proc.LimitMemory, proc.LimitProcesses:
		return true
	}
	return strings.HasPrefix(limit, "iteration_")
}

func withDetail(word, detail string) string {
	if detail == "" {
		return word
	}
	return word + ": " + detail
}
