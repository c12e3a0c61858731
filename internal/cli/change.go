package cli

import (
	"errors"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// change records one event of a person. The event is made from the state that
// it will be applied to, so that two people at once cannot undo each other.
// False, without an error, means that there was nothing to change.
func (a *App) change(build journal.Build) (*journal.Snapshot, bool, error) {
	j, err := a.writable()
	if err != nil {
		return nil, false, err
	}
	snap, err := j.Append(a.Ctx, func(s state.State) (state.Event, error) {
		e, err := build(s)
		e.Via = a.via
		if err == nil && (e.Type == state.EvTask || e.Operator != nil && e.Operator.Command == "approve") {
			e.Moved, err = a.moved(s)
		}
		return e, err
	})
	if errors.Is(err, journal.ErrNothing) {
		return snap, false, nil
	}
	return snap, err == nil, err
}

// moved reports whether the branch is no longer where its work was proved or validated.
func (a *App) moved(s state.State) (bool, error) {
	tip, err := a.repo.ReadRef(a.Ctx, gitstate.BranchRef(a.journal.Branch))
	return err == nil && s.Moved(object.Hex(tip)), err
}

// changeTasks is change for commands that mean tasks which must exist: with no
// journal there is nothing they could mean, and none is begun.
func (a *App) changeTasks(build journal.Build) (*journal.Snapshot, bool, error) {
	if _, err := a.Load(); err != nil {
		return nil, false, err
	}
	return a.change(build)
}

// taskIDs finds tasks by their ids, in any case. Everything that is not found
// is named at once, with what it may have meant.
func taskIDs(p plan.Plan, ids []string) ([]plan.TaskID, error) {
	var found []plan.TaskID
	var missing, near []string
	for _, id := range ids {
		i := p.Find(plan.TaskID(id))
		if i < 0 {
			missing = append(missing, id)
			for _, n := range nearIDs(p, id) {
				if !slices.Contains(near, n) {
					near = append(near, n)
				}
			}
			continue
		}
		if !slices.Contains(found, p.Tasks[i].ID) {
			found = append(found, p.Tasks[i].ID)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	hint := "git ralph tasks lists them"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "? " + hint
	} else if len(p.Tasks) == 0 {
		hint = "the plan is empty: git ralph import FILE, or git ralph add \"a task\""
	}
	word := "is"
	if len(missing) > 1 {
		word = "are"
	}
	return nil, gitstate.Hint(1, hint, "%s %s not in the plan", strings.Join(missing, ", "), word)
}

// nearIDs are the ids that id may have meant: at most three, by the number of
// characters to change, and "3" means T-003.
func nearIDs(p plan.Plan, id string) []string {
	type near struct {
		id   string
		cost int
	}
	var list []near
	low := strings.ToLower(id)
	for _, t := range p.Tasks {
		have := strings.ToLower(string(t.ID))
		cost := distance(low, have)
		if digits := strings.TrimLeft(strings.TrimFunc(have, func(r rune) bool { return r < '0' || r > '9' }),
			"0"); digits != "" && digits == strings.TrimLeft(low, "0") {
			cost = 0
		}
		if cost <= max(1, len(low)/3) {
			list = append(list, near{string(t.ID), cost})
		}
	}
	stable.Sort(list, func(x, y near) int { return x.cost - y.cost })
	var out []string
	for _, n := range list[:min(len(list), 3)] {
		out = append(out, n.id)
	}
	return out
}

// distance is the number of characters to insert, remove or replace between
// two short texts. Longer ones are not compared: ids are at most 64 long.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 20
	}
	return text.Distance(a, b)
}

// planProblem gives the errors of a plan their next move.
func planProblem(err error) error {
	var clash *plan.ClashError
	if errors.As(err, &clash) {
		return &gitstate.HintError{Err: err, Hint: clash.Hint(), Code: 1}
	}
	return err
}

// upsert makes the event of a change of the plan: the difference between the
// old plan and the new one.
func upsert(old, new plan.Plan, reason, source string) (*state.PlanChange, plan.Change) {
	d := plan.Difference(old, new)
	c := &state.PlanChange{Reason: reason, Source: source, Remove: d.Removed, Retired: d.Removed}
	if d.Goal {
		goal := new.Goal
		c.Goal = &goal
	}
	changed := map[plan.TaskID]bool{}
	for _, id := range d.Added {
		changed[id] = true
	}
	for _, t := range d.Changed {
		changed[t.ID] = true
	}
	for _, t := range new.Tasks {
		if changed[t.ID] {
			c.Upsert = append(c.Upsert, t)
			c.IDs = append(c.IDs, t.ID)
		}
	}
	if len(c.Upsert)+len(c.Remove) > 0 || d.Reordered {
		if order := orderOf(new); !slices.Equal(order, orderAfter(old, c)) {
			c.Order = order
		}
	}
	return c, d
}

func orderOf(p plan.Plan) []plan.TaskID {
	ids := make([]plan.TaskID, len(p.Tasks))
	for i, t := range p.Tasks {
		ids[i] = t.ID
	}
	return ids
}

// orderAfter is the order after a change that names none: the old one, new
// tasks last.
func orderAfter(old plan.Plan, c *state.PlanChange) []plan.TaskID {
	var ids []plan.TaskID
	for _, t := range old.Tasks {
		if !slices.Contains(c.Remove, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	for _, id := range c.IDs {
		if old.Find(id) < 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// running says whether a loop works on the branch, and in which session.
func (a *App) running() (*journal.Snapshot, gitstate.Holder, error) {
	snap, err := a.Load()
	if err != nil {
		return nil, gitstate.Holder{}, err
	}
	h, alive := a.journal.Repo.BranchHolder(a.journal.Branch)
	if !alive {
		if l, ok, err := a.journal.Repo.LinkedOf(a.journal.Branch); err == nil && ok {
			if _, beside := a.journal.Repo.BranchHolder(l.Branch); beside {
				return snap, h, gitstate.Hint(1, "git ralph -C "+text.Shell(l.Root)+" and the same",
					"no loop is running on %s; the one beside it is that of %s", a.journal.Branch, l.Branch)
			}
		}
		return snap, h, gitstate.Hint(1, "git ralph status shows where it stands; git ralph start begins one",
			"no loop is running on %s", a.journal.Branch)
	}
	return snap, h, nil
}

// note tells a person what a loop that is running makes of a change.
func (a *App) note() string {
	if _, alive := a.journal.Repo.BranchHolder(a.journal.Branch); alive {
		return " (the running loop sees it at its next decision)"
	}
	return ""
}
