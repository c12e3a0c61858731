package view

import (
	"fmt"
	"strconv"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// Tasks writes the tasks of a plan for people, those that are shown.
func (p Printer) Tasks(all plan.Plan, shown []plan.Task) {
	if all.Goal != "" {
		p.Say("%s\n\n", p.Paint("1", all.Goal))
	}
	p.taskRows(all, shown)
	p.Say("\n%s\n", CountLine(all))
}

// taskRows writes a line for each of the tasks.
func (p Printer) taskRows(all plan.Plan, shown []plan.Task) {
	blockers := map[plan.TaskID]plan.Blocker{}
	for _, b := range all.Blockers() {
		blockers[b.ID] = b
	}
	next, _ := plan.Next(all)
	rows := make([][]string, 0, len(shown))
	for _, t := range shown {
		rows = append(rows, p.taskRow(t, blockers, next))
	}
	p.Table(rows)
}

// taskRow is one line of the list: state, id, title, and what people ask next.
func (p Printer) taskRow(t plan.Task, blockers map[plan.TaskID]plan.Blocker, next plan.TaskID) []string {
	mark, code := taskMark(t.Status)
	var more []string
	if t.Status == plan.Pending && t.ID == next {
		more = append(more, p.Paint("36", "next"))
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
		more = append(more, Plural(t.Attempts, "attempt"))
	}
	if t.Priority != 1 {
		more = append(more, fmt.Sprintf("priority %d", t.Priority))
	}
	return []string{p.Paint(code, mark), string(t.ID), p.Paint(code, statusWord(t.Status)),
		text.Clip(t.Title, 72), p.Paint("2", strings.Join(more, ", "))}
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

// CountLine is "3 of 8 done (37 %): 4 pending, 1 failed".
func CountLine(p plan.Plan) string {
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

// Task writes a task and its iterations for people; all is the plan that it is of.
func (p Printer) Task(t plan.Task, all plan.Plan, iterations []journal.Entry) {
	mark, code := taskMark(t.Status)
	line := p.Paint(code, mark) + " " + p.Paint(code, statusWord(t.Status))
	for _, b := range all.Blockers() {
		if b.ID == t.ID {
			line += ": " + b.Reason
		}
	}
	p.Say("%s %s\n%s\n\n", p.Paint("1", string(t.ID)), t.Title, line)
	var rows [][]string
	row := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{"  " + name, text})
		}
	}
	row("priority", strconv.Itoa(t.Priority))
	row("depends on", JoinIDs(t.DependsOn))
	if t.Attempts > 0 {
		row("attempts", strconv.Itoa(t.Attempts))
	}
	row("model", t.Model)
	row("verify", strings.Join(t.Verify, "; "))
	row("skills", strings.Join(t.Skills, ", "))
	row("spec", t.Spec)
	if t.ActualTokens > 0 {
		row("used", fmt.Sprintf("%s tokens, $%s", Thousands(t.ActualTokens), USD(t.CostMicroUSD)))
	}
	p.Table(rows)
	for _, x := range []struct{ name, text string }{{"", t.Description}, {"notes", t.Notes},
		{"why the last attempt failed", t.Failure}} {
		if x.text != "" {
			p.Say("\n")
			if x.name != "" {
				p.Say("%s\n", x.name)
			}
			p.Indented(strings.TrimRight(x.text, "\n")+"\n", "  ")
		}
	}
	if len(t.Criteria) > 0 {
		p.Say("\ncriteria\n")
		for _, k := range t.Criteria {
			p.Say("  - %s\n", k)
		}
	}
	if len(iterations) == 0 {
		return
	}
	p.Say("\niterations\n")
	rows = nil
	for _, e := range iterations {
		rows = append(rows, append([]string{"  " + strconv.Itoa(e.Event.Iteration)}, p.LogRow(e)[1:]...))
	}
	p.Table(rows)
}
