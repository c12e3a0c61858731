package loop

import (
	"context"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// complete proves the finished work: every binding check passes in a checkout
// of only the branch's tip, even checks that failed before the run.
func (l *Loop) complete(ctx context.Context, s state.State) (Action, error) {
	done := Action{Kind: Halt, Status: state.Complete}
	_, tip, err := l.head(ctx)
	if err != nil {
		return done, err
	}
	report, err := l.proveTip(ctx, tip, s)
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	if err != nil {
		return done, err
	}
	if l.proof, l.proofOf = &report, tip; report.Pass {
		return done, nil
	}
	if len(report.OldTests) > 0 {
		return Action{Kind: Halt, Status: state.HaltedStatus, Reason: strings.Join(report.Reasons, "; ")}, nil
	}
	l.Log("the newest commit of the branch fails in a fresh checkout: %s\n%s", strings.Join(report.Reasons, "; "),
		report.FailText)
	return Action{Kind: Halt, Status: state.HaltedStatus, Reason: freshChecks +
		strings.TrimPrefix(strings.Join(report.Reasons, "; "), "checks: ")}, nil
}

// stillComplete says whether the end that was proved is the end still: while the checks ran, or a
// pull request was waited for, a person may have added a task or committed. nil means that the run
// goes on, with the task or with another proof.
func (l *Loop) stillComplete(ctx context.Context, c RunOptions, done Action) (*Action, error) {
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	_, tip, err := l.Repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	rep := s.Report
	switch {
	case c.Build && (!s.Plan.Complete() || tip != l.proofOf):
		return nil, nil
	case !c.Build && rep != nil && rep.Commit != object.Hex(tip):
		return nil, l.enter(state.Validation, "the branch has moved since it was validated")
	}
	return &done, nil
}

// freshChecks begins the reason of a run that ended with red checks.
const freshChecks = "fresh_checks: "

// proveTip runs the checks in a fresh checkout of the branch's tip; the
// baseline excuses none. Where the settings forbid a checkout it uses the
// worktree and restores it afterwards. The verify commands of done tasks, and
// of tasks that a new plan replaced, have to pass too.
func (l *Loop) proveTip(ctx context.Context, tip object.ID, s state.State) (ProofReport, error) {
	req := ProofRequest{Baseline: s.Baseline, Unexcused: true, Complete: true, Verify: s.Plan.Carried()}
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.Done && t.CompletedAt != nil { // by us, not by the file that it came from
			req.Done = append(req.Done, t)
		}
	}
	if tip.IsZero() || l.Settings.Fresh == "never" {
		req.Result = func(c state.CheckRun) { l.emit("check", s, "", c, "%s: %s", c.Name, passed(c)) }
		return l.proveInPlace(ctx, warm(s.Journal.ID), req)
	}
	req.Result = func(c state.CheckRun) { l.emit("check", s, "", c, "fresh checkout, %s: %s", c.Name, passed(c)) }
	report, err := l.proveFresh(ctx, tip, req)
	for _, f := range report.Fewer {
		l.emit("check", s, "", nil, "fresh checkout, %s", f)
	}
	if err != nil || !report.Pass {
		return report, err
	}
	if report.OldTests, err = l.baseTests(ctx, tip, s); len(report.OldTests) > 0 {
		report.Pass, report.Reasons = false, []string{oldTests + text.List(report.OldTests)}
	}
	if err != nil || !report.Pass {
		return report, err
	}
	lost, err := l.lostReproductions(ctx, tip, s)
	if len(lost) > 0 {
		report.OldTests = lost
		report.Pass, report.Reasons = false, []string{reproduction + text.List(lost)}
	}
	return report, err
}
