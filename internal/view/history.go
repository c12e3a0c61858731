package view

import (
	"context"
	"strconv"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// HistoryDoc is one line of `history --json`.
type HistoryDoc struct {
	Session   int         `json:"session"`
	Iteration int         `json:"iteration"`
	Task      plan.TaskID `json:"task"`
	Phase     state.Phase `json:"phase"`
	AgentDoc
	Time time.Time `json:"time"`
}

// History are the agent sessions of a journal, newest first: at most n, 0 = all;
// of a role, "" = of all.
func History(ctx context.Context, j *journal.Journal, role string, n int) ([]HistoryDoc, error) {
	var found []HistoryDoc
	open := 0 // from here on the session's number is not known yet
	err := j.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		switch ev := e.Event; {
		case ev.Result != nil:
			for i := len(ev.Result.Runs) - 1; i >= 0; i-- {
				r := ev.Result.Runs[i]
				if role == "" || role == r.Role {
					found = append(found, HistoryDoc{Iteration: ev.Iteration, Task: ev.Task, Phase: ev.Phase,
						AgentDoc: describeRun(r), Time: ev.Time.UTC()})
				}
			}
		case ev.Sess != nil && ev.Sess.Action == "begin":
			for ; open < len(found); open++ {
				found[open].Session = ev.Sess.Number
			}
			return n == 0 || len(found) < n, nil
		}
		return true, nil
	})
	if n > 0 && len(found) > n {
		found = found[:n]
	}
	return found, err
}

// History writes agent sessions for people.
func (p Printer) History(found []HistoryDoc) {
	head := []string{"session", "iteration", "role", "task", "model", "end", "reason", "time", "tokens", "cost", "id"}
	var rows [][]string
	for _, d := range found {
		what := string(d.Task)
		if what == "" {
			what = string(d.Phase)
		}
		cost := "?"
		if d.Cost != nil {
			cost = "$" + d.Cost.String()
		}
		rows = append(rows, []string{strconv.Itoa(d.Session), strconv.Itoa(d.Iteration), d.Role, what, OrDash(d.Model),
			d.Outcome, OrDash(d.Reason),
			Duration(d.DurationMs), Thousands(d.Tokens.Total), cost, OrDash(text.Clip(d.SessionID, 12))})
	}
	p.HeadedTable(head, rows)
}
