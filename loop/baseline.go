package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// CheckProvable refuses a plan with a task that nothing could ever prove: no
// configured check binds, and the task has no verify command.
func (l *Loop) CheckProvable(p plan.Plan) error {
	for _, t := range p.Tasks {
		if (t.Status == plan.Pending || t.Status == plan.InProgress) && !l.Prover.Provable(t, nil) {
			if why := l.Prover.Excuses(); len(why) > 0 {
				return refusal.New(refusal.Unprovable,
					"there are no checks that judge an iteration, so nothing could be verified: %s", strings.Join(why, ", "))
			}
			return refusal.New(refusal.Unprovable, "there are no checks, so nothing could be verified")
		}
	}
	return nil
}

// provable says whether anything would prove the task that comes next, with
// what is known about the checks so far.
func (l *Loop) provable(s state.State) bool {
	id, ok := plan.Next(s.Plan)
	return !ok || l.proves(s, id)
}

// proves says the same of one task.
func (l *Loop) proves(s state.State, id plan.TaskID) bool {
	return l.Settings.Unchecked || l.Prover.Provable(s.Plan.Tasks[s.Plan.Find(id)], s.Baseline)
}

// unproved ends a run before a task that nothing would prove: its checks were
// red before the run and have not become green, and it has no verify command.
func (l *Loop) unproved(s state.State, id plan.TaskID) *Action {
	if l.proves(s, id) {
		return nil
	}
	return &Action{Kind: Halt, Status: state.HaltedStatus,
		Reason: fmt.Sprintf("unproved: no check is green, and %s has no verify command", id)}
}

// setupState says whether project.setup_prompt has run.
type setupState bool

const (
	setupDone    setupState = true
	setupPending setupState = false
)

// baseline runs the checks before the first iteration, so that checks that
// already failed are not blamed on an agent. A later start runs them again when
// nothing known can prove the next task. A baseline that refuses to start is
// not recorded, so the next start checks again. Before project.setup_prompt has
// run it refuses nothing.
func (l *Loop) baseline(ctx context.Context, s state.State, ready setupState) error {
	mode := l.Settings.BaselineMode
	red := func(c state.CheckState) bool { return c.Red }
	known := s.Baseline != nil && l.provable(s) && !(mode == "require" && slices.ContainsFunc(s.Baseline, red))
	if mode == "off" || s.Plan.Complete() || len(s.Plan.Tasks) == 0 || known {
		return nil
	}
	home := warm(s.Journal.ID)
	built, err := l.built(ctx, s)
	if err != nil {
		return err
	}
	home.Fill = !built // the caches of code that no agent wrote
	var again func(func(ProofRequest) error) error
	if _, tip, err := l.Repo.Head(ctx); err == nil && !tip.IsZero() {
		again = func(f func(ProofRequest) error) error { return l.inFresh(ctx, fresh{commit: tip}, f) }
	}
	report, err := l.proveInPlace(ctx, home, ProofRequest{Baseline: s.Baseline, Unexcused: true, Again: again,
		Result: func(c state.CheckRun) {
			c.Tail = nil // told below, once
			l.emit("check", s, "", c, "baseline, %s: %s", c.Name, passed(c))
		}})
	if err != nil || ctx.Err() != nil || len(report.Baseline) == 0 {
		return err
	}
	var names []string
	var tails strings.Builder
	for _, c := range report.Runs {
		if !c.Passed && !c.Tolerated && c.Skipped == "" {
			names = append(names, c.Name)
			tails.WriteString(redText(c))
		}
	}
	refuse := func(kind refusal.Kind, format string, args ...any) *refusal.Error {
		return refusal.New(kind, "%s%s", fmt.Sprintf(format, args...), strings.TrimRight(":\n"+tails.String(), ":\n"))
	}
	now := s
	now.Baseline = report.Baseline
	fix := mode == "fix-first" && len(names) > 0 && !slices.ContainsFunc(s.Plan.Tasks, func(t plan.Task) bool {
		return t.Title == fixTitle(names) && t.Status != plan.Done
	})
	if gone := slices.DeleteFunc(lacking(report.Runs), func(c state.CheckRun) bool {
		return fix &&
			l.workFile(c.Missing)
	}); ready == setupDone && len(gone) > 0 {
		return refuse(refusal.MissingProgram, "%s, which check %s needs", environment(gone[0].Missing), gone[0].Name)
	}
	switch {
	case mode == "require" && len(names) > 0:
		return refuse(refusal.RedBaseline, "these checks are red before any work: %s", text.List(names))
	case ready == setupDone && !fix && !l.provable(now):
		id, _ := plan.Next(s.Plan)
		return refuse(refusal.NothingGreen,
			"nothing could be verified: no check is green before any work, and %s has no verify command", id).About(string(id))
	}
	if err := l.record(state.Event{Type: state.EvBaseline, Baseline: report.Baseline}); err != nil {
		return err
	}
	switch {
	case fix:
		return l.fixFirst(names)
	case len(names) > 0:
		l.Log("already red before any work, and no reason to reject an iteration; complete is said when they are green:\n%s",
			strings.TrimRight(tails.String(), "\n"))
	}
	return nil
}

// redText names a red check with the last lines that it printed.
func redText(c state.CheckRun) string {
	how := fmt.Sprintf("exit code %d", c.ExitCode)
	if c.TimedOut {
		how = "timeout"
	} else if c.Limit != "" {
		how = "limit: " + c.Limit
	} else if c.NoTests {
		how = "no test ran"
	}
	text := "  " + notes.OneLine(c.Name, 100) + ": " + how + "\n"
	for _, line := range c.Tail {
		text += "    " + line + "\n"
	}
	return text
}

// proveInPlace runs checks in the worktree, between iterations, and puts back
// what they changed.
func (l *Loop) proveInPlace(ctx context.Context, home session.Home, req ProofRequest) (ProofReport, error) {
	before, err := l.Engine.Checkpoint(ctx)
	if err != nil {
		return ProofReport{}, fmt.Errorf("take a checkpoint before the checks: %w", err)
	}
	var report ProofReport
	err = l.inWorktree(home, l.covered(before), func(start session.Starter) error {
		req.Start, req.Dir, req.Env = start, l.Repo.Root, l.Settings.CheckEnv
		var err error
		report, err = l.Prover.Prove(ctx, req)
		return err
	})
	if rerr := l.place().RestoreChecked(before); rerr != nil {
		err = errors.Join(err, fmt.Errorf("put back what the checks changed: %w", rerr))
	}
	return report, err
}

func fixTitle(red []string) string { return "make the checks green: " + text.List(red) }

// fixFirst makes the red checks the first task. They are its criteria, so that
// the baseline does not excuse them there.
func (l *Loop) fixFirst(red []string) error {
	_, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		t := plan.Task{ID: plan.NextID(s.Plan), Title: fixTitle(red), Status: plan.Pending, Verify: red,
			Description: "These checks fail before any work on the plan begins. Mend the code, not the checks."}
		order := []plan.TaskID{t.ID}
		for i, x := range s.Plan.Tasks {
			if i == 0 || x.Priority <= t.Priority {
				t.Priority = min(t.Priority, x.Priority-1)
			}
			order = append(order, x.ID)
		}
		t.Priority = max(t.Priority, 0)
		return state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "fix-first", Upsert: []plan.Task{t},
			Order: order}}, nil
	})
	return err
}
