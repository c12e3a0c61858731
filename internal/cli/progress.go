package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/notes"
	"git-ralph/plan"
)

// ProgressCmd is `git ralph progress`.
type ProgressCmd struct {
	Markdown bool `help:"Print a report in Markdown, with an entry for each iteration."`
	JSON     bool `name:"json" help:"Print one object."`
}

// progressDoc is `progress --json`.
type progressDoc struct {
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

// paceLine is what a task of this session took on average, rejected attempts
// included, and what the rest will take at that pace; "" before one is done.
func paceLine(s state.State) string {
	r, left := s.Run, int64(s.Plan.Remaining())
	if r.SessionDone == 0 || r.Used.Ms == 0 || left == 0 {
		return ""
	}
	each := r.Used.Ms / int64(r.SessionDone)
	line := fmt.Sprintf("%s a task, about %s for the %d that are left", duration(each), duration(each*left), left)
	if cost := r.Cost.Session / int64(r.SessionDone); cost > 0 {
		line += fmt.Sprintf("; $%s a task, about $%s", usd(cost), usd(cost*left))
	}
	return line
}

// Run shows how far the plan is.
func (c *ProgressCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	d := progressDoc{Phase: s.Run.Phase, Percent: s.Plan.PercentComplete(), Tasks: s.Plan.Counts(),
		Iterations: s.Run.Iteration,
		Completed:  []completedDoc{}, InProgress: []plan.TaskID{}, Runnable: list(s.Plan.Runnable()),
		Waiting: list(s.Plan.Blockers())}
	d.Next, _ = plan.Next(s.Plan)
	for _, t := range s.Plan.Tasks {
		switch t.Status {
		case plan.Done:
			d.Completed = append(d.Completed, completedDoc{t.ID, t.Title, t.CompletedAt, t.Attempts, t.ActualTokens,
				dollars(t.CostMicroUSD)})
		case plan.InProgress:
			d.InProgress = append(d.InProgress, t.ID)
		}
	}
	slices.SortStableFunc(d.Completed, func(x, y completedDoc) int {
		switch {
		case x.CompletedAt == nil || y.CompletedAt == nil:
			return 0
		}
		return x.CompletedAt.Compare(*y.CompletedAt)
	})
	if c.JSON {
		return a.printJSON(d)
	}
	if c.Markdown {
		return a.progressMarkdown(s)
	}
	if d.Tasks.Total == 0 {
		a.printf("the plan is empty: git ralph import FILE, or git ralph add \"a task\"\n")
		return nil
	}
	defer a.page()()
	const width = 40
	full := width * d.Percent / 100
	pace := paceLine(s)
	if pace != "" {
		pace = "\n" + pace
	}
	a.printf("%s%s %d %%\n%s%s\n", a.colour(a.Out, "32", strings.Repeat("█", full)),
		a.colour(a.Out, "2", strings.Repeat("░", width-full)), d.Percent, countLine(s.Plan), pace)
	if len(d.Completed) > 0 {
		a.printf("\n%s\n", a.colour(a.Out, "1", "done"))
		var rows [][]string
		for _, t := range d.Completed {
			when, used := "", ""
			if t.CompletedAt != nil {
				when = entryTime(*t.CompletedAt)
			}
			if t.Tokens > 0 {
				used = "$" + t.Cost.String() + ", " + thousands(t.Tokens) + " tokens"
			}
			if t.Attempts > 0 {
				used = strings.TrimPrefix(used+", "+plural(t.Attempts, "failed attempt"), ", ")
			}
			rows = append(rows, []string{a.colour(a.Out, "32", "✓"), string(t.ID), text.Clip(t.Title, 60), when,
				a.colour(a.Out, "2", used)})
		}
		table(a.Out, rows)
	}
	if len(d.InProgress)+len(d.Runnable)+len(d.Waiting) > 0 {
		a.printf("\n%s\n", a.colour(a.Out, "1", "to do"))
		blockers := map[plan.TaskID]plan.Blocker{}
		for _, b := range d.Waiting {
			blockers[b.ID] = b
		}
		var rows [][]string
		for _, t := range s.Plan.Tasks {
			if t.Status != plan.Done && t.Status != plan.Skipped {
				rows = append(rows, a.taskRow(t, blockers, d.Next))
			}
		}
		table(a.Out, rows)
	}
	return nil
}

// progressMarkdown is the plan as a checklist, and what each iteration did.
func (a *App) progressMarkdown(s state.State) error {
	var entries []string
	err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
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
	a.printf("# %s\n\n%s\n\n", title, countLine(s.Plan))
	for _, t := range s.Plan.Tasks {
		box := " "
		if t.Status == plan.Done {
			box = "x"
		}
		line := fmt.Sprintf("- [%s] %s %s", box, t.ID, notes.OneLine(t.Title, 300))
		if t.Status != plan.Done && t.Status != plan.Pending {
			line += " (" + statusWord(t.Status) + ")"
		}
		a.printf("%s\n", line)
	}
	for _, entry := range entries {
		a.printf("\n%s", entry)
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
	when := []string{e.Time.UTC().Format("2006-01-02 15:04 MST"), duration(r.DurationMs)}
	if r.CostMicro != nil {
		when = append(when, "$"+usd(*r.CostMicro))
	}
	if n := r.Tokens.Total(); n > 0 {
		when = append(when, thousands(n)+" tokens")
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
