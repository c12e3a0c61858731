package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// RunOptions says which part of the lifecycle a run goes through.
type RunOptions struct {
	// Phase is entered first; "" = go on where the run stands.
	Phase state.Phase
	// Build reports whether the session works on the plan, proves the result and
	// ends there: what start does.
	Build bool
	// Only reports whether the session ends when that phase is over.
	Only bool
	// Request is what a person asks for, in their own words: the beginning of a
	// discovery, or with Add what planning shall make tasks of.
	Request string
	// Add reports whether planning adds to the plan; otherwise done and skipped tasks stay and
	// the rest is replaced.
	Add bool
	// Reason of the change of the plan; "" = planning.
	Reason string

	alone bool   // planning as a recovery
	why   string // open tasks are set aside
}

// Gates are the points at which a person is asked, and how often validation
// may send the work back.
type Gates struct {
	Specs, Plan, Report bool
	Rounds              int
}

// Gates of the settings.
func (s Settings) Gates() Gates {
	return Gates{Specs: s.ConfirmSpecs, Plan: s.ConfirmPlan, Report: s.HumanApproval, Rounds: s.Rounds}
}

// DecidePhase decides the next step of the lifecycle. Like Decide it reads only
// the state. A phase is over when it has produced its result and the user has
// approved it where they want to be asked.
func DecidePhase(s state.State, g Gates) Action {
	r := s.Run
	agreed := slices.Contains(r.Confirmed, string(r.Phase))
	run := Action{Kind: RunPhase, Phase: r.Phase}
	review := func(format string, args ...any) Action {
		return Action{Kind: Halt, Status: state.NeedsReview, Reason: fmt.Sprintf(format, args...)}
	}
	to := func(p state.Phase, format string, args ...any) Action {
		return Action{Kind: Advance, Phase: p, Reason: fmt.Sprintf(format, args...)}
	}
	_, runnable := plan.Next(s.Plan)
	switch r.Phase {
	case state.Discovery:
		if open := OpenQuestions(s); len(open) > 0 {
			var ids []string
			for _, q := range open {
				ids = append(ids, q.ID)
			}
			return Action{Kind: Halt, Status: state.Paused, Reason: "waiting for answers: " + strings.Join(ids, ", ")}
		}
		switch {
		case !r.PhaseDone && r.Request == "" && len(s.Plan.Tasks) > 0:
			return to(state.Building, "the plan has tasks")
		case !r.PhaseDone:
			return run
		case g.Specs && !agreed:
			return review("the specs are waiting to be approved")
		}
		return to(state.Planning, "the specs are written")
	case state.Planning:
		switch {
		case !r.PhaseDone:
			return run
		case g.Plan && !agreed:
			return review("the plan is waiting to be approved")
		}
		return to(state.Building, "%d tasks are planned", s.Plan.Remaining())
	case state.Validation:
		if !r.PhaseDone || s.Report == nil {
			return run
		}
		return decideReport(s, g, runnable)
	}
	switch {
	case len(s.Plan.Tasks) == 0:
		return Action{Kind: Halt, Status: state.New, Reason: "the plan is empty"}
	case runnable:
		return run
	case s.Plan.Settled():
		return to(state.Validation, "every task is done or skipped")
	}
	return to(state.Validation, "no task can be worked on")
}

// decideReport weighs a validation that is over.
func decideReport(s state.State, g Gates, runnable bool) Action {
	rep := s.Report
	done := Action{Kind: Halt, Status: state.Complete}
	back := func(reason string) Action { return Action{Kind: Advance, Phase: state.Building, Reason: reason} }
	aside := s.Plan.LeftToPerson()
	switch v := rep.Approved; {
	case runnable:
		return back("there is work to do")
	case len(later(*rep, s.Plan)) > 0 && !aside && (v == nil && rep.Passed || v != nil && v.Approved):
		return Action{Kind: Halt, Status: state.BlockedStatus,
			Reason: "these tasks cannot be worked on, and were added or stopped since the validation: " +
				strings.Join(later(*rep, s.Plan), ", ")}
	case v != nil && v.Approved && !aside:
		done.Reason = rep.Unmet()
		return done
	case v != nil && !v.Approved:
		return back("rejected: " + notes.OneLine(v.Reason, 200))
	case aside && (rep.Passed || len(unmetTasks(*rep, s.Plan)) == 0):
		return asideReview(s.Plan)
	case rep.Passed && g.Report:
		return Action{Kind: Halt, Status: state.NeedsReview, Reason: "the validation passed and is waiting to be approved"}
	case rep.Passed:
		return done
	case len(unmetTasks(*rep, s.Plan)) == 0:
		return Action{Kind: Halt, Status: state.BlockedStatus,
			Reason: "the validation failed, and nothing is left that could be worked on"}
	case s.Run.Rounds >= g.Rounds:
		return Action{Kind: Halt, Status: state.NeedsReview,
			Reason: fmt.Sprintf("the validation failed after %d returns to building", s.Run.Rounds)}
	}
	return back("the validation failed: " + reportLine(*rep))
}

// later are the unfinished tasks that a report does not know as such.
func later(rep state.Report, p plan.Plan) []string {
	var out []string
	for _, t := range unmet(p) {
		if !slices.ContainsFunc(rep.Tasks, func(have state.ReportUnmet) bool { return have.ID == t.ID }) {
			out = append(out, string(t.ID))
		}
	}
	return out
}

// endRun ends a run that came to nothing: tasks that could not be added are
// no reason to plan everything anew the next time.
func (l *Loop) endRun(c RunOptions) error {
	if !c.Add {
		return nil
	}
	s, err := l.load()
	if err != nil || s.Run.Phase != state.Planning || s.Run.PhaseDone {
		return err
	}
	return l.enter(state.Building, "nothing was added")
}

// beginRun enters the phase in which a run begins.
func (l *Loop) beginRun(c RunOptions) error {
	s, err := l.load()
	if err != nil || c.Phase == "" && !c.Build {
		return err
	}
	if c.Build {
		return l.enter(state.Building, "start")
	}
	if c.Phase == state.Discovery && c.Request != "" {
		l.leavePhase(state.Discovery, "asked for something new")
		_, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
			return state.Event{Type: state.EvPhase, PhaseTo: &state.PhaseChange{From: s.Run.Phase, To: state.Discovery,
				Reason: "asked for: " + notes.OneLine(c.Request, 300), Request: c.Request}}, nil
		})
		return err
	}
	if s.Run.Phase == c.Phase && !s.Run.PhaseDone {
		return nil
	}
	return l.enter(c.Phase, cmp.Or(c.Reason, "asked for"))
}

// enter moves the run to a phase; nothing happens when it is there.
func (l *Loop) enter(to state.Phase, reason string) error {
	s, err := l.load()
	if err != nil || s.Run.Phase == to && !s.Run.PhaseDone {
		return err
	}
	l.leavePhase(to, reason)
	return l.record(state.Event{Type: state.EvPhase, PhaseTo: &state.PhaseChange{From: s.Run.Phase, To: to, Reason: reason,
		Rounds: s.Run.Rounds}})
}

// advance makes a transition, on criteria that DecidePhase has checked.
func (l *Loop) advance(s state.State, a Action) error {
	l.emit("phase", s, "", map[string]any{"from": s.Run.Phase, "to": a.Phase}, "%s → %s: %s", s.Run.Phase, a.Phase,
		a.Reason)
	if s.Run.Phase == state.Validation && a.Phase == state.Building {
		l.leavePhase(state.Building, a.Reason)
		return ReturnToBuilding(l.background(), l.Journal, a.Reason)
	}
	return l.enter(a.Phase, a.Reason)
}

// runPhase runs the agent of one phase once. A run that did not count is tried
// again as often as t allows.
func (l *Loop) runPhase(ctx context.Context, s state.State, p state.Phase, c RunOptions, t *attempts) (*Action, error) {
	var end Ending
	var err error
	switch p {
	case state.Discovery:
		end, err = l.discover(ctx, s, t.failure)
	case state.Planning:
		end, err = l.plan(ctx, s, c, t.failure)
	default:
		end, err = l.validate(ctx, s, t.failure)
	}
	if end.Halt != nil || err != nil {
		return end.Halt, err
	}
	return t.again(end, l.phaseTries()), nil
}
