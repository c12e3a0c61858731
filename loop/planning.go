package loop

import (
	"context"

	"git-ralph/internal/state"
	"git-ralph/plan"
)

// PlanAgain lets the planning agent make a new plan: done and skipped tasks
// stay, the rest is replaced by what it adds through its tool.
func (l *Loop) PlanAgain(ctx context.Context, reason string) error {
	s, err := l.load()
	if err != nil {
		return err
	}
	it := &iteration{phase: state.Planning, role: RolePlanning, attempt: 1, state: s}
	if _, err := l.work(ctx, it); err != nil {
		return err
	}
	return l.record(state.Event{Type: state.EvPhase, PhaseTo: &state.PhaseChange{From: state.Planning, To: state.Building,
		Reason: "planned again: " + reason, Rounds: s.Run.Rounds}})
}

// replanned is the change that a planning run makes of the plan.
func replanned(old plan.Plan, added []plan.Task) *state.PlanChange {
	c := &state.PlanChange{Reason: "planning", Upsert: added}
	for _, t := range old.Tasks {
		if t.Status != plan.Done && t.Status != plan.Skipped {
			c.Remove = append(c.Remove, t.ID)
		}
	}
	return c
}
