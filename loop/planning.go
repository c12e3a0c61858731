package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// planning is the product of a planning run: a plan that can be worked on.
type planning struct {
	plain
	l      *Loop
	base   plan.Plan // as it is when the run is kept, without the new tasks
	add    bool      // nothing is replaced, the new tasks are added
	alone  bool      // a recovery: no person has asked for it
	reason string    // of the change: planning, add, regenerate
	why    string    // the open tasks are set aside
}

// plan runs the planning agent once. With add the tasks of the plan stay;
// otherwise done and skipped ones do, and the rest is set aside.
func (l *Loop) plan(ctx context.Context, s state.State, c RunOptions, failure string) (Ending, error) {
	specs, err := ReadSpecs(l.Repo.Root)
	if err != nil {
		return Ending{}, err
	}
	p := &planning{l: l, add: c.Add, alone: c.alone, base: s.Plan, reason: cmp.Or(c.Reason, "planning"),
		why: cmp.Or(c.why, "planned anew")}
	request := s.Run.Request
	if c.Add {
		request = c.Request
	} else if p.base, _, err = plan.Replan(s.Plan, plan.Plan{}, s.Run.Iteration+1, p.why); err != nil &&
		p.base.Tasks == nil {
		return Ending{}, err
	}
	end, err := l.iterate(ctx, s, Job{phase: state.Planning, role: session.RolePlanning, attempt: 1, product: p,
		spare: c.alone,
		specs: specFiles(specs), request: request, failure: failure})
	if err == nil && end.Verdict.Verdict != "" {
		p.tell(s, end)
	}
	return end, err
}

// scope shows the tools the tasks that are replaced as set aside: nothing may
// wait for them, and their ids are taken.
func (p *planning) scope(sc *session.Scope) { sc.State.Plan = p.base }

func (p *planning) missing(s state.State, c session.Collected) []string {
	_, problems, _ := p.weigh(s.Plan, c.Tasks)
	return problems
}

// weigh makes the new plan and names what is wrong with it. Problems that the
// plan had before are not the run's own.
func (p *planning) weigh(old plan.Plan, added []plan.Task) (*state.PlanChange, []string, []string) {
	if len(added) == 0 {
		if len(old.Tasks) > 0 && old.Remaining() == 0 && !p.add {
			return nil, nil, nil // nothing is missing, the agent found
		}
		return nil, []string{"no task was added: record each with ralph_add_task"}, nil
	}
	next, _, err := plan.Merge(p.base, plan.Plan{Tasks: added}, plan.RefuseKnown)
	var found plan.Problems
	if err != nil && !errors.As(err, &found) {
		return nil, []string{err.Error()}, nil
	}
	var problems, warnings []string
	for _, x := range p.l.Settings.Critic.New(p.base, next) {
		if x.Warning {
			warnings = append(warnings, x.Text)
		} else {
			problems = append(problems, x.Text)
		}
	}
	c := &state.PlanChange{Reason: p.reason, AsideWhy: p.why}
	for i, t := range old.Tasks {
		if !p.add && !t.SetAside() && p.base.Tasks[i].SetAside() {
			c.Aside = append(c.Aside, t.ID)
		}
	}
	if c.Aside == nil {
		c.AsideWhy = ""
	}
	for _, t := range next.Tasks[len(p.base.Tasks):] {
		if p.alone && (t.NoChangeExpected || t.AllowTestChanges) {
			problems = append(problems,
				fmt.Sprintf("%s lifts a rule (no_change_expected, allow_test_changes), and no person has asked for this plan",
					t.ID))
		}
		c.Upsert, c.IDs = append(c.Upsert, t), append(c.IDs, t.ID)
	}
	return c, problems, warnings
}

// renumbered is a change of the plan whose new tasks have ids of their own: a person may have given
// one to another task while the planning agent worked.
func renumbered(c state.PlanChange, p plan.Plan) state.PlanChange {
	used := map[string]bool{}
	for _, id := range p.Used() {
		used[plan.Fold(id)] = true
	}
	taken := plan.Plan{Retired: slices.Concat(p.Used(), c.IDs)}
	is := map[string]plan.TaskID{}
	for _, t := range c.Upsert {
		if used[plan.Fold(t.ID)] {
			id := plan.NextID(taken)
			taken.Retire(id)
			is[plan.Fold(t.ID)] = id
		}
	}
	if len(is) == 0 {
		return c
	}
	now := func(id plan.TaskID) plan.TaskID { return cmp.Or(is[plan.Fold(id)], id) }
	c.Upsert, c.IDs = slices.Clone(c.Upsert), slices.Clone(c.IDs)
	for i := range c.Upsert {
		t := &c.Upsert[i]
		t.ID, t.DependsOn = now(t.ID), slices.Clone(t.DependsOn)
		for j, id := range t.DependsOn {
			t.DependsOn[j] = now(id)
		}
	}
	for i, id := range c.IDs {
		c.IDs[i] = now(id)
	}
	return c
}

// tell says what the run made of the plan, and what it was refused.
func (p *planning) tell(s state.State, end Ending) {
	say := func(format string, args ...any) { p.l.emit("plan", s, "", nil, format, args...) }
	for _, r := range end.refused {
		say("refused: %s: %s", notes.OneLine(r.Title, 100), notes.OneLine(r.Why, 300))
	}
	if end.Verdict.Verdict != state.Keep || end.plan == nil {
		return
	}
	for _, id := range end.plan.Aside {
		say("%s is set aside until a person agrees: %s", id, notes.OneLine(s.Plan.Tasks[s.Plan.Find(id)].Title, 100))
	}
	if verify := p.base.Carried(); len(verify) > 0 && len(end.plan.Aside) > 0 {
		say("still to pass at the end: %s", notes.OneLine(strings.Join(verify, "; "), 300))
	}
	planned := p.base
	planned.Tasks = append(p.base.Tasks[:len(p.base.Tasks):len(p.base.Tasks)], end.plan.Upsert...)
	for _, line := range uncovered(planned, end.job.specs) {
		say("%s", line)
	}
	for _, t := range end.plan.Upsert {
		say("%s is added: %s", t.ID, notes.OneLine(t.Title, 100))
	}
}

func (p *planning) settle(_ context.Context, it *attempt) (made, error) {
	change, problems, warnings := p.weigh(it.state.Plan, it.tools.Tasks)
	m := made{plan: change, done: len(problems) == 0}
	for _, x := range problems {
		m.problems = append(m.problems, "plan: "+notes.OneLine(x, 300))
	}
	for _, r := range it.tools.Refused {
		m.notices = append(m.notices, "refused: "+notes.OneLine(r.Title, 100)+": "+notes.OneLine(r.Why, 300))
	}
	for _, w := range warnings {
		m.notices = append(m.notices, "plan: "+notes.OneLine(w, 300))
		p.l.Log("%s", notes.OneLine(w, 300))
	}
	return m, nil
}

// PlanAgain lets the planning agent make a new plan as a recovery. Done and
// skipped tasks stay; the others are set aside for the new ones. Without a
// valid new plan the old one stays, and the failure does not count against the
// tasks. The plan needs approval where plans do.
func (l *Loop) PlanAgain(ctx context.Context, reason string) (*Action, error) {
	defer l.behind.Wait()
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	end, err := l.plan(ctx, s, RunOptions{Reason: "regenerate", alone: true, why: "planned anew: " + reason}, "")
	if err != nil {
		return nil, err
	}
	kept := end.Verdict.Verdict == state.Keep
	if kept && end.Halt == nil && l.Settings.ConfirmPlan {
		return &Action{Kind: Halt, Status: state.NeedsReview, Reason: "the plan was made anew and is waiting to be approved"},
			nil
	}
	if !kept {
		l.Log("no new plan was made, the old one stays: %s", strings.Join(end.Verdict.Reasons, "; "))
	}
	return end.Halt, l.enter(state.Building, "planned again: "+reason)
}
