package loop

import (
	"context"
	"errors"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// planning is the product of a planning run: a plan that can be worked on.
type planning struct {
	plain
	l      *Loop
	base   plan.Plan // the tasks that stay
	add    bool      // all stay, the new ones are added
	reason string    // of the change: planning, add, regenerate
}

// plan runs the planning agent once. With add the tasks of the plan stay;
// otherwise done and skipped ones do and the rest is replaced.
func (l *Loop) plan(ctx context.Context, s state.State, c Course, failure string) (*iteration, *Action, error) {
	specs, err := ReadSpecs(l.Repo.Root)
	if err != nil {
		return nil, nil, err
	}
	p := &planning{l: l, add: c.Add, base: s.Plan, reason: or(c.Reason, "planning")}
	request := s.Run.Request
	if c.Add {
		request = c.Request
	} else {
		p.base.Tasks = nil
		for _, t := range s.Plan.Tasks {
			if t.Status == plan.Done || t.Status == plan.Skipped {
				p.base.Tasks = append(p.base.Tasks, t)
			}
		}
	}
	it := &iteration{phase: state.Planning, role: RolePlanning, attempt: 1, state: s, product: p,
		specs: specFiles(specs), request: request, failure: failure}
	halt, err := l.work(ctx, it)
	return it, halt, err
}

// scope shows the tools only the tasks that stay: a new plan may use the ids
// of the tasks that it replaces.
func (p *planning) scope(sc *Scope) { sc.State.Plan = p.base }

func (p *planning) missing(it *iteration, c Collected) []string {
	_, problems, _ := p.weigh(it.state.Plan, c.Tasks)
	return problems
}

// weigh makes the new plan and names what is wrong with it. Problems that
// tasks had before and that the run did not make are not its own.
func (p *planning) weigh(old plan.Plan, added []plan.Task) (*state.PlanChange, []string, []string) {
	if len(added) == 0 {
		left := 0
		for _, t := range old.Tasks {
			if t.Status != plan.Done && t.Status != plan.Skipped {
				left++
			}
		}
		if len(old.Tasks) > 0 && left == 0 && !p.add {
			return nil, nil, nil // nothing is missing, the agent found
		}
		return nil, []string{"no task was added: record each with ralph_add_task"}, nil
	}
	merge := func() (plan.Plan, plan.Change, error) { return plan.Replan(old, plan.Plan{Tasks: added}) }
	if p.add {
		merge = func() (plan.Plan, plan.Change, error) { return plan.Merge(old, plan.Plan{Tasks: added}, false) }
	}
	next, _, err := merge()
	var found plan.Problems
	if err != nil && !errors.As(err, &found) {
		return nil, []string{err.Error()}, nil
	}
	known := map[string]bool{}
	for _, x := range plan.Review(p.base, p.l.Settings.PlanningTokens) {
		known[x.Text] = true
	}
	var problems, warnings []string
	for _, x := range plan.Review(next, p.l.Settings.PlanningTokens) {
		switch {
		case known[x.Text]:
		case x.Warning:
			warnings = append(warnings, x.Text)
		default:
			problems = append(problems, x.Text)
		}
	}
	c := &state.PlanChange{Reason: p.reason}
	for _, t := range old.Tasks {
		if p.base.Find(t.ID) < 0 {
			c.Remove = append(c.Remove, t.ID)
		}
	}
	for _, t := range next.Tasks[len(p.base.Tasks):] {
		c.Upsert, c.IDs = append(c.Upsert, t), append(c.IDs, t.ID)
	}
	return c, problems, warnings
}

func (p *planning) settle(_ context.Context, it *iteration) error {
	change, problems, warnings := p.weigh(it.state.Plan, it.tools.Tasks)
	for _, x := range problems {
		it.proof.ChecksPass = false
		it.proof.CheckReasons = append(it.proof.CheckReasons, "plan: "+notes.OneLine(x, 300))
	}
	for _, w := range warnings {
		it.notices = append(it.notices, "plan: "+notes.OneLine(w, 300))
		p.l.Log("%s", notes.OneLine(w, 300))
	}
	it.planned, it.done = change, len(problems) == 0
	return nil
}

// PlanAgain lets the planning agent make a new plan as a recovery: done and
// skipped tasks stay, the rest is replaced by what it adds through its tool.
// When it leaves no plan that holds, the old one stays.
func (l *Loop) PlanAgain(ctx context.Context, reason string) (*Action, error) {
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	it, halt, err := l.plan(ctx, s, Course{Reason: "regenerate"}, "")
	if err != nil {
		return nil, err
	}
	if it.verdict.Verdict != state.Keep {
		l.Log("no new plan was made, the old one stays: %s", strings.Join(it.verdict.Reasons, "; "))
	}
	return halt, l.enter(state.Building, "planned again: "+reason)
}
