package cli

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/text"
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
	if p.Goal != "" {
		a.printf("%s\n\n", a.colour(a.Out, "1", p.Goal))
	}
	blockers := map[plan.TaskID]plan.Blocker{}
	for _, b := range p.Blockers() {
		blockers[b.ID] = b
	}
	next, _ := plan.Next(p)
	rows := make([][]string, 0, len(shown))
	for _, t := range shown {
		rows = append(rows, a.taskRow(t, blockers, next))
	}
	table(a.Out, rows)
	a.printf("\n%s\n", countLine(p))
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

// taskRow is one line of the list: state, id, title, and what people ask next.
func (a *App) taskRow(t plan.Task, blockers map[plan.TaskID]plan.Blocker, next plan.TaskID) []string {
	mark, code := taskMark(t.Status)
	var more []string
	if t.Status == plan.Pending && t.ID == next {
		more = append(more, a.colour(a.Out, "36", "next"))
	}
	if b, ok := blockers[t.ID]; ok {
		more = append(more, b.Reason)
	}
	if t.SetAside() {
		more = append(more, "set aside: "+t.AsideReason())
	} else if t.Status == plan.Skipped && len(t.BlockedBy) > 0 {
		more = append(more, strings.Join(t.BlockedBy, "; "))
	}
	if t.Attempts > 0 && t.Status != plan.Failed {
		more = append(more, plural(t.Attempts, "attempt"))
	}
	if t.Priority != 1 {
		more = append(more, fmt.Sprintf("priority %d", t.Priority))
	}
	return []string{a.colour(a.Out, code, mark), string(t.ID), a.colour(a.Out, code, statusWord(t.Status)),
		text.Clip(t.Title, 72), a.colour(a.Out, "2", strings.Join(more, ", "))}
}

func taskMark(s plan.Status) (mark, code string) {
	switch s {
	case plan.Done:
		return "✓", "32"
	case plan.InProgress:
		return "▸", "36"
	case plan.Failed:
		return "✗", "31"
	case plan.Blocked:
		return "!", "33"
	case plan.Skipped:
		return "-", "2"
	}
	return "·", "0"
}

func statusWord(s plan.Status) string { return strings.ReplaceAll(string(s), "_", " ") }

// countLine is "3 of 8 done (37 %): 4 pending, 1 failed".
func countLine(p plan.Plan) string {
	n := p.Counts()
	line := fmt.Sprintf("%d of %d done (%d %%)", n.Done, n.Wanted(), n.Percent())
	var parts []string
	for _, x := range []struct {
		n    int
		word string
	}{{n.InProgress, "in progress"}, {n.Pending, "pending"}, {n.Failed, "failed"}, {n.Blocked, "blocked"},
		{n.SetAside, "set aside"}, {n.Skipped - n.SetAside, "skipped"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, ", ")
	}
	return line
}
