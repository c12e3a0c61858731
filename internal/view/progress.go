package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/internal/text"
	"git-ralph/notes"
	"git-ralph/plan"
)

// ProgressDoc is `progress --json`.
type ProgressDoc struct {
	Phase      state.Phase    `json:"phase"`
	Percent    int            `json:"percent_complete"`
	Tasks      plan.Counts    `json:"tasks"`
	Iterations int            `json:"iterations"`
	Completed  []completedDoc `json:"completed"`
	InProgress []plan.TaskID  `json:"in_progress"`
	Next       plan.TaskID    `json:"next"`
	Runnable   []plan.TaskID  `json:"runnable"`
	Waiting    []plan.Blocker `json:"waiting"`
}

type completedDoc struct {
	ID          plan.TaskID `json:"id"`
	Title       string      `json:"title"`
	CompletedAt *time.Time  `json:"completed_at"`
	Attempts    int         `json:"attempts"`
	Tokens      int64       `json:"tokens"`
	Cost        json.Number `json:"cost_usd"`
}

// PaceLine is what a task of this session took on average, rejected attempts
// included, and what the rest will take at that pace; "" before one is done.
func PaceLine(s state.State) string {
	n := s.Plan.Counts()
	if n.Pending+n.InProgress == 0 { // a person decides what becomes of the others
		return ""
	}
	r, left := s.Run, int64(s.Plan.Remaining())
	if r.SessionDone == 0 || r.Used.Ms == 0 || left == 0 {
		return ""
	}
	each := r.Used.Ms / int64(r.SessionDone)
	line := fmt.Sprintf("%s a task, about %s for the %d that are left", Duration(each), Duration(each*left), left)
	if cost := r.Cost.Session / int64(r.SessionDone); cost > 0 {
		line += fmt.Sprintf("; $%s a task, about $%s", USD(cost), USD(cost*left))
	}
	return line
}

// Progress says how far the plan is.
func Progress(s state.State) ProgressDoc {
	d := ProgressDoc{Phase: s.Run.Phase, Percent: s.Plan.PercentComplete(), Tasks: s.Plan.Counts(),
		Iterations: s.Run.Iteration,
		Completed:  []completedDoc{}, InProgress: []plan.TaskID{}, Runnable: List(s.Plan.Runnable()),
		Waiting: List(s.Plan.Blockers())}
	d.Next, _ = plan.Next(s.Plan)
	for _, t := range s.Plan.Tasks {
		switch t.Status {
		case plan.Done:
			d.Completed = append(d.Completed, completedDoc{t.ID, t.Title, t.CompletedAt, t.Attempts, t.ActualTokens,
				Dollars(t.CostMicroUSD)})
		case plan.InProgress:
			d.InProgress = append(d.InProgress, t.ID)
		}
	}
	stable.Sort(d.Completed, func(x, y completedDoc) int {
		switch {
		case x.CompletedAt == nil || y.CompletedAt == nil:
			return 0
		}
		return x.CompletedAt.Compare(*y.CompletedAt)
	})
	return d
}

// Print writes it for people.
func (d ProgressDoc) Print(p Printer, s state.State) {
	width := 40
	if p.Columns > 0 {
		width = min(width, max(p.Columns-6, 10)) // the figure stands behind it
	}
	full := width * d.Percent / 100
	pace := PaceLine(s)
	if pace != "" {
		pace = "\n" + pace
	}
	p.Say("%s%s %d %%\n%s%s\n", p.Paint("32", strings.Repeat("█", full)),
		p.Paint("2", strings.Repeat("░", width-full)), d.Percent, CountLine(s.Plan), pace)
	if len(d.Completed) > 0 {
		p.Printf("\n%s\n", p.Paint("1", "done"))
		var rows [][]string
		for _, t := range d.Completed {
			when, used := "", ""
			if t.CompletedAt != nil {
				when = Moment(*t.CompletedAt)
			}
			if t.Tokens > 0 {
				used = "$" + t.Cost.String() + ", " + Thousands(t.Tokens) + " tokens"
			}
			if t.Attempts > 0 {
				used = strings.TrimPrefix(used+", "+Plural(t.Attempts, "failed attempt"), ", ")
			}
			rows = append(rows, []string{p.Paint("32", "✓"), string(t.ID), text.Clip(t.Title, 60), when,
				p.Paint("2", used)})
		}
		p.Table(rows)
	}
	if len(d.InProgress)+len(d.Runnable)+len(d.Waiting) > 0 {
		p.Printf("\n%s\n", p.Paint("1", "to do"))
		var open []plan.Task
		for _, t := range s.Plan.Tasks {
			if t.Status != plan.Done && t.Status != plan.Skipped {
				open = append(open, t)
			}
		}
		p.taskRows(s.Plan, open)
	}
}

// ProgressMarkdown writes the plan as a checklist, and what each iteration did.
func (r Reader) ProgressMarkdown(ctx context.Context, p Printer, s state.State) error {
	var entries []string
	err := r.Journal.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if e.Event.Result != nil {
			entries = append(entries, iterationMarkdown(e.Event, *e.Event.Result))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	title := "Progress"
	if s.Plan.Goal != "" {
		title += ": " + notes.OneLine(s.Plan.Goal, 200)
	}
	p.Printf("# %s\n\n%s\n\n", title, CountLine(s.Plan))
	for _, t := range s.Plan.Tasks {
		box := " "
		if t.Status == plan.Done {
			box = "x"
		}
		line := fmt.Sprintf("- [%s] %s %s", box, t.ID, notes.OneLine(t.Title, 300))
		if t.Status != plan.Done && t.Status != plan.Pending {
			line += " (" + statusWord(t.Status) + ")"
		}
		p.Printf("%s\n", line)
	}
	for _, entry := range entries {
		p.Printf("\n%s", entry)
	}
	return nil
}

func iterationMarkdown(e state.Event, r state.Result) string {
	var b strings.Builder
	what := strings.TrimSpace(string(e.Task) + " " + notes.OneLine(r.Title, 200))
	if what == "" {
		what = string(e.Phase)
	}
	word := "kept"
	switch {
	case r.Verdict != state.Keep:
		word = "rejected"
	case r.Partial:
		word = "kept, a step"
	}
	fmt.Fprintf(&b, "## Iteration %d: %s (%s)\n\n", e.Iteration, what, word)
	when := []string{e.Time.UTC().Format("2006-01-02 15:04 MST"), Duration(r.DurationMs)}
	if r.CostMicro != nil {
		when = append(when, "$"+USD(*r.CostMicro))
	}
	if n := r.Tokens.Total(); n > 0 {
		when = append(when, Thousands(n)+" tokens")
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(when, ", "))
	if r.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", notes.OneLine(r.Summary, 1000))
	}
	if len(r.Reasons) > 0 || r.Commit != "" || len(r.Files) > 0 {
		b.WriteString("\n")
	}
	if len(r.Reasons) > 0 {
		fmt.Fprintf(&b, "- why: %s\n", notes.OneLine(strings.Join(r.Reasons, "; "), 600))
	}
	if r.Commit != "" {
		fmt.Fprintf(&b, "- commit: %s\n", r.Commit[:min(12, len(r.Commit))])
	}
	if n := len(r.Files); n > 0 {
		var names []string
		for _, f := range r.Files[:min(n, 10)] {
			names = append(names, "`"+strings.ReplaceAll(f.Path, "`", "'")+"`")
		}
		if n > 10 {
			names = append(names, fmt.Sprintf("%d more", n-10))
		}
		fmt.Fprintf(&b, "- files: %s\n", strings.Join(names, ", "))
	}
	return b.String()
}
