package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// HistoryCmd is `git ralph history`.
type HistoryCmd struct {
	Number int    `short:"n" name:"max-count" placeholder:"N" help:"At most N agent sessions."`
	Role   string `placeholder:"ROLE" help:"Only agents of a role, such as coding."`
	JSON   bool   `name:"json" help:"Print one object a line."`
}

// Help says more.
func (HistoryCmd) Help() string {
	return "One line an agent session, newest first: helpers, and the fresh sessions of an iteration whose window was " +
		"full, have lines of their own."
}

// historyDoc is one line of `history --json`.
type historyDoc struct {
	Session   int         `json:"session"`
	Iteration int         `json:"iteration"`
	Task      plan.TaskID `json:"task"`
	Phase     state.Phase `json:"phase"`
	agentDoc
	Time time.Time `json:"time"`
}

// Run lists the agent sessions.
func (c *HistoryCmd) Run(a *App) error {
	if c.Number < 0 {
		return usage("git ralph history -n 20", "-n %d is negative", c.Number)
	}
	if _, err := a.Load(); err != nil {
		return err
	}
	var found []historyDoc
	open := 0 // from here on the session's number is not known yet
	err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		switch ev := e.Event; {
		case ev.Result != nil:
			for i := len(ev.Result.Runs) - 1; i >= 0; i-- {
				r := ev.Result.Runs[i]
				if c.Role == "" || c.Role == r.Role {
					found = append(found, historyDoc{Iteration: ev.Iteration, Task: ev.Task, Phase: ev.Phase,
						agentDoc: describeRun(r), Time: ev.Time.UTC()})
				}
			}
		case ev.Sess != nil && ev.Sess.Action == "begin":
			for ; open < len(found); open++ {
				found[open].Session = ev.Sess.Number
			}
			return c.Number == 0 || len(found) < c.Number, nil
		}
		return true, nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if c.Number > 0 && len(found) > c.Number {
		found = found[:c.Number]
	}
	if c.JSON {
		for _, d := range found {
			if err := a.printLine(d); err != nil {
				return err
			}
		}
		return nil
	}
	if len(found) == 0 {
		a.printf("no agent has run yet: git ralph start\n")
		return nil
	}
	defer a.page()()
	rows := [][]string{{"session", "iteration", "role", "task", "model", "end", "reason", "time", "tokens", "cost", "id"}}
	for i, h := range rows[0] {
		rows[0][i] = a.colour(a.Out, "2", h)
	}
	for _, d := range found {
		what := string(d.Task)
		if what == "" {
			what = string(d.Phase)
		}
		cost := "?"
		if d.Cost != nil {
			cost = "$" + d.Cost.String()
		}
		rows = append(rows, []string{strconv.Itoa(d.Session), strconv.Itoa(d.Iteration), d.Role, what, orDash(d.Model),
			d.Outcome, orDash(d.Reason),
			duration(d.DurationMs), thousands(d.Tokens.Total), cost, orDash(text.Clip(d.SessionID, 12))})
	}
	table(a.Out, rows)
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
