package cli

import (
	"slices"
	"strings"

	"git-ralph/plan"
)

// TasksCmd is `git ralph tasks`.
type TasksCmd struct {
	Status  []string `complete:"statuses" sep:"," placeholder:"STATE" help:"Only tasks in these states: pending, in_progress, done, failed, blocked, skipped."`
	Pending bool     `help:"Only tasks that are still to be done."`
	Tree    bool     `help:"Draw what waits on what."`
	JSON    bool     `name:"json" help:"Print an array of tasks."`
}

// statuses are the states of a task in the order in which people name them.
var statuses = []plan.Status{plan.Pending, plan.InProgress, plan.Done, plan.Failed, plan.Blocked, plan.Skipped}

// Run lists the tasks.
func (c *TasksCmd) Run(a *App) error {
	brief()
	want, err := c.wanted()
	if err != nil {
		return err
	}
	snap, err := a.Load()
	if err != nil {
		return err
	}
	p := snap.State.Plan
	shown := []plan.Task{}
	for _, t := range p.Tasks {
		if len(want) == 0 || slices.Contains(want, t.Status) {
			shown = append(shown, t)
		}
	}
	if c.JSON {
		return a.printJSON(shown)
	}
	if len(p.Tasks) == 0 {
		a.printf("the plan is empty: git ralph import FILE, or git ralph add \"a task\"\n")
		return nil
	}
	defer a.page()()
	if c.Tree {
		a.printf("%s", plan.Tree(plan.Plan{Goal: p.Goal, Tasks: shown}))
		return nil
	}
	a.printer().Tasks(p, shown)
	return nil
}

// wanted are the states asked for; none = all.
func (c *TasksCmd) wanted() ([]plan.Status, error) {
	var want []plan.Status
	for _, s := range trimmed(c.Status) {
		st := plan.Status(strings.ReplaceAll(strings.ToLower(s), "-", "_"))
		if !slices.Contains(statuses, st) {
			return nil, usage("states: pending, in_progress, done, failed, blocked, skipped", "%q is no state of a task", s)
		}
		want = append(want, st)
	}
	if c.Pending {
		want = append(want, plan.Pending, plan.InProgress)
	}
	return want, nil
}
