package loop

import (
	"context"
	"strings"

	"git-ralph/internal/state"
)

// JudgePhase weighs a run of another phase than building. Such a run ends by
// exit and by what it produced, not by a claim about a task.
func JudgePhase(phase state.Phase, p Proof) Judgement {
	var why []string
	switch p.Outcome {
	case RateLimited, UsageLimit, Overloaded, AuthFailed, Interrupted:
		return Judgement{Verdict: state.Reject, Reasons: []string{string(p.Outcome)}}
	case Completed:
	default:
		why = append(why, withDetail(string(p.Outcome), p.Detail))
	}
	if len(p.Tampered) > 0 {
		why = append(why, "tampered: "+strings.Join(p.Tampered, ", "))
	}
	if len(p.OutOfPhase) > 0 {
		why = append(why, "out_of_phase: "+list(p.OutOfPhase))
	}
	if len(p.TooLarge) > 0 {
		why = append(why, "too_large: "+list(p.TooLarge))
	}
	if len(p.Nested) > 0 {
		why = append(why, "nested: "+list(p.Nested))
	}
	if !p.ChecksPass {
		why = append(why, p.CheckReasons...)
	}
	if len(why) > 0 {
		return Judgement{Verdict: state.Reject, Reasons: why, Failure: true}
	}
	return Judgement{Verdict: state.Keep}
}

// replan asks for a new plan when the run stands still.
func (l *Loop) replan(ctx context.Context, a Action) error {
	l.emit("stuck", state.State{}, "", nil, "no task was finished for a while (%s): planning anew", a.Reason)
	if err := l.record(state.Event{Type: state.EvContext, Phase: state.Building,
		Context: &state.ContextNote{Kind: "replan", Reason: a.Reason}}); err != nil {
		return err
	}
	return l.PlanAgain(ctx, a.Reason)
}
