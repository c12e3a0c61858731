package loop

import (
	"strings"

	"git-ralph/gitstate/state"
)

// Proof is everything the verdict depends on, as facts.
type Proof struct {
	Outcome OutcomeKind
	Detail  string

	// Claimed reports whether the agent said through the tool or a valid handoff that the task
	// is complete, and neither of them said no.
	Claimed bool
	// Unfinished reports whether a valid handoff says fully_complete = false.
	Unfinished bool
	// HandoffProblem is why a handoff that was left could not be accepted.
	HandoffProblem string
	Blocked        string // reason given by ralph_mark_task_blocked
	Retry          string // reason given by ralph_increment_retry
	Skipped        bool   // the operator took the task away meanwhile

	ChecksPass   bool
	CheckReasons []string
	Protected    []string
	Weakened     []string
	Unreproduced string // why a bug was not shown by a test
	TooLarge     []string
	Nested       []string
	Unreadable   []string // what the agent made unreadable: it cannot be committed
	Tampered     []string
	StepFailed   string
	Environment  string // a program that the machine lacks, so that nothing can be judged
	Changed      bool
	NoChangeOK   bool
	OutOfPhase   []string // paths that the phase may not change

	PartialLeft bool // the task may keep another unfinished step
}

// Judgement is the verdict and what it does to the task.
type Judgement struct {
	Verdict state.Verdict
	Partial bool
	Reasons []string
	Attempt bool // spends one
	Failure bool // counts towards the breaker
	Block   bool // the task becomes blocked
}

// Judge weighs the proof of a building iteration. The model's words are evidence,
// never a verdict: a claim is necessary and not enough.
func Judge(p Proof) Judgement {
	var why []string
	if p.Skipped {
		return Judgement{Verdict: state.Reject, Reasons: []string{"skipped"}}
	}
	if len(p.Tampered) == 0 && p.Environment != "" {
		return Judgement{Verdict: state.Reject, Reasons: []string{environment(p.Environment)}}
	}
	switch p.Outcome {
	case RateLimited, UsageLimit, Overloaded, AuthFailed, Interrupted:
		return Judgement{Verdict: state.Reject, Reasons: []string{string(p.Outcome)}}
	case BudgetExceeded:
		// A budget of the session or of all ends the run; only one of the
		// iteration says something about the task. What was finished and proved
		// when it was crossed is kept.
		if !ofIteration(p.Detail) {
			finished := p
			finished.Outcome, finished.Detail = Completed, ""
			if j := Judge(finished); p.Claimed && j.Verdict == state.Keep {
				return j
			}
			return Judgement{Verdict: state.Reject, Reasons: []string{withDetail("limit", p.Detail)}}
		}
	case NotStarted:
		// The agent never ran, so that it is no attempt; the breaker counts it,
		// because nobody else would end the run.
		return Judgement{Verdict: state.Reject, Reasons: []string{withDetail("step", p.Detail)}, Failure: true}
	case ContextLimit:
		return Judgement{Verdict: state.Reject, Reasons: []string{"context_limit"}}
	}
	if len(p.Tampered) > 0 {
		why = append(why, "tampered: "+strings.Join(p.Tampered, ", "))
	}
	switch p.Outcome {
	case Completed:
	case Hang:
		why = append(why, withDetail("hang", p.Detail))
	case Crashed:
		why = append(why, withDetail("crashed", p.Detail))
	case BudgetExceeded:
		why = append(why, withDetail("limit", p.Detail))
	default: // max_turns, permission_denied, protocol_error
		why = append(why, withDetail(string(p.Outcome), p.Detail))
	}
	if p.Blocked != "" && len(why) == 0 {
		return Judgement{Verdict: state.Reject, Reasons: []string{"blocked"}, Block: true}
	}
	if p.Retry != "" {
		why = append(why, "retry: "+p.Retry)
	}
	ended := len(why) == 0
	silent := false
	if ended && !p.Claimed && !p.Unfinished {
		silent = true
		why = append(why, "not_claimed")
	}
	if p.StepFailed != "" {
		why = append(why, "step: "+p.StepFailed)
	}
	if !p.ChecksPass {
		why = append(why, p.CheckReasons...)
	}
	if len(p.Protected) > 0 {
		why = append(why, "protected: "+list(p.Protected))
	}
	if len(p.OutOfPhase) > 0 {
		why = append(why, "out_of_phase: "+list(p.OutOfPhase))
	}
	if len(p.Weakened) > 0 {
		why = append(why, "test_weakened: "+strings.Join(p.Weakened, ", "))
	}
	if p.Unreproduced != "" {
		why = append(why, reproduction+p.Unreproduced)
	}
	if ended && !p.Changed && !p.NoChangeOK {
		why = append(why, "no_change")
	}
	if len(p.TooLarge) > 0 {
		why = append(why, "too_large: "+list(p.TooLarge))
	}
	if len(p.Nested) > 0 {
		why = append(why, "nested: "+list(p.Nested))
	}
	if len(p.Unreadable) > 0 {
		why = append(why, "unreadable: "+list(p.Unreadable))
	}
	if silent && p.HandoffProblem != "" {
		why = append(why, "handoff: "+p.HandoffProblem)
		if len(why) == 2 {
			// Everything else is green: what could not be read is no attempt at the
			// task. The breaker ends a client that never writes a readable one.
			return Judgement{Verdict: state.Reject, Reasons: why, Failure: true}
		}
	}
	if len(why) > 0 {
		return Judgement{Verdict: state.Reject, Reasons: why, Attempt: true, Failure: true}
	}
	if !p.Claimed {
		if !p.PartialLeft {
			return Judgement{Verdict: state.Reject, Reasons: []string{"not_claimed"}, Attempt: true, Failure: true}
		}
		return Judgement{Verdict: state.Keep, Partial: true}
	}
	return Judgement{Verdict: state.Keep}
}

// ofIteration says whether a limit is one of a single iteration.
func ofIteration(limit string) bool {
	return strings.HasPrefix(limit, "iteration_") || limit == limitMemory
}

// limitMemory is the detail of an agent that the kernel ended because memory
// ran out.
const limitMemory = "memory"

func withDetail(word, detail string) string {
	if detail == "" {
		return word
	}
	return word + ": " + detail
}

// list names at most five paths.
func list(paths []string) string {
	if len(paths) > 5 {
		return strings.Join(paths[:5], ", ") + ", …"
	}
	return strings.Join(paths, ", ")
}
