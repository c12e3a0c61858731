package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// validation is the product of a validation run: a verdict on every acceptance
// criterion, each with evidence.
type validation struct {
	plain
	l       *Loop
	specs   []Spec
	fresh   ProofReport
	results []state.ReportSpec
}

// validate runs the checks on the branch's tip, lets the validation agent judge
// every acceptance criterion, and records the report. Nothing that happens in
// it stays in the worktree.
func (l *Loop) validate(ctx context.Context, s state.State, failure string) (Ending, error) {
	specs, err := ReadSpecs(l.Repo.Root)
	if err != nil {
		return Ending{}, err
	}
	_, tip, err := l.head(ctx)
	if err != nil {
		return Ending{}, err
	}
	v := &validation{l: l, specs: specs}
	if v.fresh, err = l.proveTip(ctx, tip, s); err != nil {
		return Ending{}, err
	}
	l.proof, l.proofOf = &v.fresh, tip
	if gone := slices.DeleteFunc(lacking(v.fresh.Runs),
		func(c state.CheckRun) bool { return strings.ContainsRune(c.Missing, '/') }); len(gone) > 0 {
		return Ending{Halt: l.environmentHalt(gone[0].Missing)}, nil
	}
	n := 0
	for _, sp := range specs {
		n += len(sp.Criteria)
		for _, p := range sp.Problems {
			l.Log("%s: %s", sp.Path, p)
		}
	}
	green := slices.ContainsFunc(v.fresh.Runs, func(c state.CheckRun) bool { return c.Passed })
	rep := state.Report{Commit: object.Hex(tip), Checks: []state.ReportCheck{}, Specs: []state.ReportSpec{}}
	var end Ending
	if n > 0 {
		end, err = l.iterate(ctx, s, Job{phase: state.Validation, role: session.RoleValidation, attempt: 1, product: v,
			proved: &v.fresh,
			specs:  specFiles(specs), failure: failure})
		if err != nil || end.Verdict.Verdict != state.Keep {
			return end, err
		}
		rep.Iteration, rep.Specs = end.number, v.results
	}
	for _, c := range v.fresh.Runs {
		if c.Kind == "criterion" && c.Passed {
			continue // said with its task
		}
		rep.Checks = append(rep.Checks, state.ReportCheck{Name: c.Name, Kind: c.Kind, Passed: c.Passed,
			Tolerated: c.Tolerated})
	}
	for _, name := range v.fresh.OldTests {
		rep.Checks = append(rep.Checks, state.ReportCheck{Name: name, Kind: oldTestKind})
	}
	if !v.fresh.Pass && len(v.fresh.Runs) == 0 {
		rep.Checks = append(rep.Checks, state.ReportCheck{Name: cmp.Or(strings.Join(v.fresh.Reasons, "; "), "setup"),
			Kind: "setup"})
	}
	_, err = l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		r := rep
		r.Time, r.Tasks = l.Now(), unmet(s.Plan)
		r.Passed = v.fresh.Pass && len(r.Tasks) == 0 && !slices.ContainsFunc(r.Specs, func(sp state.ReportSpec) bool {
			return slices.ContainsFunc(sp.Criteria, func(c state.ReportCriterion) bool { return c.Verdict != "pass" })
		})
		if r.Passed && n == 0 && !green && !l.Settings.Unchecked {
			return state.Event{}, l.nothingToValidate()
		}
		rep = r
		return state.Event{Type: state.EvReport, Phase: state.Validation, Iteration: r.Iteration, Report: &r}, nil
	})
	if err == nil {
		l.emit("phase", s, "", rep, "validation: %s", reportLine(rep))
	}
	return end, err
}

// nothingToValidate refuses a report that would pass although nothing was green and nothing
// was judged.
func (l *Loop) nothingToValidate() error {
	if why := l.Prover.Excuses(); len(why) > 0 {
		return refusal.New(refusal.Unprovable, "there are no acceptance criteria, and no check has to pass, so nothing "+
			"could be validated: %s", strings.Join(why, ", "))
	}
	return refusal.New(refusal.Unprovable,
		"there are no checks, no verify commands and no acceptance criteria, so nothing could be validated")
}

func (v *validation) missing(_ state.State, c session.Collected) []string {
	var out []string
	for _, sp := range v.specs {
		for _, text := range sp.Criteria {
			i := slices.IndexFunc(c.Criteria, func(r session.CriterionReport) bool {
				return r.Spec == sp.Path &&
					r.Criterion == text
			})
			switch {
			case i < 0:
				out = append(out, fmt.Sprintf("not reported with ralph_report_criterion: %s: %s", sp.Path, text))
			case c.Criteria[i].Verdict == "pass" && !c.Criteria[i].Checkable():
				out = append(out, fmt.Sprintf("reported as passed in words alone, which count for nothing; report it again "+
					"with command, or file and quote: %s: %s", sp.Path, text))
			}
		}
	}
	return out
}

// settle restores the worktree and gives every criterion its verdict by
// evidence from the commit.
func (v *validation) settle(ctx context.Context, it *attempt) (made, error) {
	m := made{validated: &validated{}}
	for _, c := range it.after.Changes {
		if len(it.putBack)+len(m.validated.putBack) < 1000 {
			m.validated.putBack = append(m.validated.putBack, c.Path)
		}
	}
	after := *it.after
	restore := func() error {
		back, err := it.RestoreBefore(&after)
		m.notices = append(m.notices, back.Notices...)
		if err != nil {
			return fmt.Errorf("put back what the validation changed: %w", err)
		}
		return nil
	}
	if err := restore(); err != nil {
		return m, err
	}
	after.Changes, after.PutBack = nil, nil
	m.validated.after = &after
	if err := v.judge(ctx, it, m.validated); err != nil {
		return m, err
	}
	if v.l.Settings.Fresh == "never" {
		return m, restore() // the commands of the evidence ran in the worktree
	}
	return m, nil
}

// judge weighs what was reported of every criterion.
func (v *validation) judge(ctx context.Context, it *attempt, out *validated) error {
	w := &witness{l: v.l, state: it.state, commit: it.tip, policy: v.l.policyFor(it.Ready, it.role, PhaseTools(it.phase)),
		specs: v.specs}
	w.ran = func(c state.CheckRun, output []byte) {
		out.runs = append(out.runs, c)
		it.Add(fmt.Sprintf("checks/criterion-%02d.txt", len(it.report.Runs)+len(out.runs)), output)
		v.l.emit("check", it.state, "", c, "criterion, %s: %s", notes.OneLine(c.Command, 100), passed(c))
	}
	if !it.tip.IsZero() {
		var err error
		if w.tree, err = v.l.Repo.TreeOf(it.tip); err != nil {
			return err
		}
	}
	for _, sp := range v.specs {
		if len(sp.Criteria) == 0 {
			continue
		}
		res := state.ReportSpec{File: sp.Path, Title: sp.Title}
		for _, text := range sp.Criteria {
			c := judgeCriterion(sp.Path, text, it.tools.Criteria, func(r session.CriterionReport) (string,
				string) {
				return w.look(ctx, r)
			})
			res.Criteria = append(res.Criteria, c)
			mark := c.Mark
			if c.Verdict != "pass" {
				mark = markUnjudged
			}
			out.criteria = append(out.criteria, state.CriterionMark{Text: text, Mark: mark})
		}
		v.results = append(v.results, res)
	}
	if ctx.Err() != nil {
		out.interrupted = true
		return nil
	}
	if w.err != nil {
		return fmt.Errorf("run the commands of the evidence: %w", w.err)
	}
	return nil
}

// unmet are the tasks that are neither done nor skipped, each with its reason.
func unmet(p plan.Plan) []state.ReportUnmet {
	why := map[plan.TaskID]string{}
	for _, b := range p.Blockers() {
		why[b.ID] = b.Reason
	}
	var out []state.ReportUnmet
	for _, t := range p.Tasks {
		if t.Status != plan.Done && t.Status != plan.Skipped {
			out = append(out, state.ReportUnmet{ID: t.ID, Status: t.Status, Reason: why[t.ID]})
		}
	}
	return out
}

// oldTestKind is the kind of a test that fails as it was at the beginning.
const oldTestKind = "old_tests"

// unmetTasks makes tasks of what a report says is missing. Tasks that the plan
// has already, unfinished or skipped by a user, are not added again.
func unmetTasks(rep state.Report, p plan.Plan) []plan.Task {
	var out []plan.Task
	next := plan.Plan{Tasks: slices.Clone(p.Tasks), Retired: p.Retired}
	add := func(t plan.Task) {
		for _, have := range next.Tasks {
			if have.Status != plan.Done && have.Spec == t.Spec && have.Title == t.Title {
				return
			}
		}
		t.ID, t.Status, t.Priority = plan.NextID(next), plan.Pending, 1
		next.Tasks, out = append(next.Tasks, t), append(out, t)
	}
	var red, old []string
	setup := false
	for _, c := range rep.Checks {
		if !c.Passed && c.Kind == oldTestKind {
			old = append(old, c.Name)
		} else if !c.Passed && !c.Tolerated {
			red, setup = append(red, c.Name), setup || c.Kind == "setup"
		}
	}
	if len(red) > 0 {
		t := plan.Task{Title: oneTitle("make the checks pass in a fresh checkout: " + strings.Join(red, ", ")),
			Description: "These checks fail on a checkout of the branch's tip that holds nothing but committed files. Mend " +
				"the project, not the checks."}
		if setup {
			t.Title = "make the setup of the project work in a fresh checkout"
		} else {
			t.Verify = red
		}
		t.Criteria = []string{t.Title}
		add(t)
	}
	if len(old) > 0 {
		t := plan.Task{Title: oneTitle("make the code pass the tests that were there at the beginning: " +
			strings.Join(old, ", ")),
			Description: "These tests fail on the branch's tip as they were when the work began; they were changed since. " +
				"Mend the code, not the tests."}
		t.Criteria = []string{t.Title}
		add(t)
	}
	for _, sp := range rep.Specs {
		for _, c := range sp.Criteria {
			if c.Verdict == "pass" {
				continue
			}
			add(plan.Task{Title: oneTitle(c.Text), Spec: sp.File, Criteria: []string{c.Text},
				Description: fmt.Sprintf("%s What was seen:\n\n%s", notMet(sp.File, c), c.Evidence)})
		}
	}
	if v := rep.Approved; v != nil && !v.Approved && strings.TrimSpace(v.Reason) != "" {
		add(plan.Task{Title: oneTitle(v.Reason), Criteria: []string{notes.OneLine(v.Reason, 1000)},
			Description: "A person looked at the result and rejected it:\n\n" + v.Reason})
	}
	return out
}

func notMet(spec string, c state.ReportCriterion) string {
	if c.Mark == markUnjudged {
		return fmt.Sprintf("The validation could not show that this acceptance criterion of %s is met. Where it is, "+
			"leave a test or a command that shows it.", spec)
	}
	return fmt.Sprintf("The validation judged this acceptance criterion of %s as not met.", spec)
}

func oneTitle(s string) string { return notes.OneLine(s, 300) }

// reportLine is a report in one line.
func reportLine(r state.Report) string {
	red := 0
	for _, c := range r.Checks {
		if !c.Passed {
			red++
		}
	}
	n := r.Count()
	parts := []string{fmt.Sprintf("%d of %d criteria met", n.Proved+n.Judged, n.All()),
		fmt.Sprintf("%d of %d checks green", len(r.Checks)-red, len(r.Checks))}
	if n.All() > 0 {
		parts[0] += " (" + n.String() + ")"
	}
	if n := len(r.Tasks); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tasks unfinished", n))
	}
	return strings.Join(parts, ", ")
}

// ReturnToBuilding makes tasks of what the newest report, or the person who
// rejected it, says is missing, and goes back to the building phase.
func ReturnToBuilding(ctx context.Context, j *journal.Journal, reason string) error {
	_, err := j.Append(ctx, func(s state.State) (state.Event, error) {
		if s.Report == nil {
			return state.Event{}, journal.ErrNothing
		}
		tasks := unmetTasks(*s.Report, s.Plan)
		if len(tasks) == 0 {
			return state.Event{}, journal.ErrNothing
		}
		c := &state.PlanChange{Reason: "validation", Upsert: tasks}
		for _, t := range tasks {
			c.IDs = append(c.IDs, t.ID)
		}
		return state.Event{Type: state.EvPlan, Phase: state.Validation, Plan: c}, nil
	})
	if err != nil && !errors.Is(err, journal.ErrNothing) {
		return err
	}
	_, err = j.Append(ctx, func(s state.State) (state.Event, error) {
		if s.Run.Phase == state.Building {
			return state.Event{}, journal.ErrNothing
		}
		rounds := s.Run.Rounds
		if s.Report != nil && !s.Report.Passed {
			rounds++
		}
		return state.Event{Type: state.EvPhase, PhaseTo: &state.PhaseChange{From: s.Run.Phase, To: state.Building,
			Reason: reason, Rounds: rounds}}, nil
	})
	if errors.Is(err, journal.ErrNothing) {
		return nil
	}
	return err
}
