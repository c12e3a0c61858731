package loop

import (
	"context"
	"fmt"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// product is the result of an agent run without a task: specs, a plan, a report
// on the criteria, a prepared worktree.
type product interface {
	// prompt replaces the state and the task that the prompt is made from.
	prompt(before state.State) (s state.State, id plan.TaskID, ok bool)
	// scope narrows what the tools of the run see.
	scope(sc *session.Scope)
	// missing names what is wrong with the product so far. The agent is asked
	// once to repair it, while its session is open.
	missing(s state.State, c session.Collected) []string
	// settle weighs the product when the agent is gone.
	settle(ctx context.Context, it *attempt) (made, error)
}

// plain is the part of a product that most do not need.
type plain struct{}

func (plain) prompt(state.State) (state.State, plan.TaskID, bool) { return state.State{}, "", false }
func (plain) scope(*session.Scope)                                {}

// repair asks the agent once for what is missing from the product.
func (l *Loop) repair(it *Ready, ran *Ran, box session.Toolbox) func(session.Result) (string, bool) {
	return func(r session.Result) (string, bool) {
		if ran.repaired || r.Outcome != session.Completed {
			return "", false
		}
		missing := it.product.missing(it.state, box.Collected())
		if len(missing) == 0 {
			return "", false
		}
		ran.repaired = true
		return repairText(missing), true
	}
}

func repairText(missing []string) string {
	var b strings.Builder
	b.WriteString("This is not what the phase needs yet. Mend it now, then end; you are asked only once.\n\n")
	for _, m := range missing {
		b.WriteString("- " + notes.OneLine(m, 500) + "\n")
	}
	return b.String()
}

// attempts counts the unsuccessful runs of one phase.
type attempts struct {
	wrong   int // ended with a wrong product
	failed  int // crashed or were stopped
	failure string
}

// again decides what follows a run: nil to go on or to repeat it, or the end of
// the session. A wrong product is made once more, unless the agent was already
// asked to repair it. A run that crashed or was stopped is repeated as often as
// a task would be.
func (t *attempts) again(e Ending, most int) *Action {
	j := e.Verdict
	if j.Verdict == state.Keep {
		*t = attempts{}
		return nil
	}
	if !j.Failure {
		return nil // a limit of the provider, an interruption
	}
	halt := &Action{Kind: Halt, Status: state.HaltedStatus, Reason: e.job.kind() + ": " + strings.Join(j.Reasons, "; ")}
	if e.outcome == session.Completed {
		if t.wrong++; t.wrong > 1 || e.repaired {
			return halt
		}
	} else if t.failed++; t.failed >= most {
		return halt
	}
	t.failure = phaseFailure(j)
	return nil
}

// phaseFailure is what the next run is told.
func phaseFailure(j Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The run before did not count:\n")
	for _, r := range j.Reasons {
		b.WriteString("- " + notes.OneLine(r, 500) + "\n")
	}
	return notes.CutBytes(b.String(), 6000)
}

// replan asks for a new plan when the run stands still.
func (l *Loop) replan(ctx context.Context, a Action) (*Action, error) {
	l.emit("stuck", state.State{}, "", nil, "no task was finished for a while (%s): planning anew", a.Reason)
	if err := l.record(state.Event{Type: state.EvContext, Phase: state.Building,
		Context: &state.ContextNote{Kind: "replan", Reason: a.Reason}}); err != nil {
		return nil, err
	}
	return l.PlanAgain(ctx, a.Reason)
}
