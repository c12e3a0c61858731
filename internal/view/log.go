package view

import (
	"encoding/json"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// EntryDoc is one line of `log --json` and the head of `show --json`.
type EntryDoc struct {
	Entry      string          `json:"entry"`
	Event      state.EventType `json:"event"`
	Iteration  int             `json:"iteration"`
	Task       plan.TaskID     `json:"task"`
	Attempt    int             `json:"attempt"`
	Verdict    state.Verdict   `json:"verdict"`
	Reason     string          `json:"reason"`
	Summary    string          `json:"summary"`
	Commit     string          `json:"commit"`
	Evidence   *string         `json:"evidence"`
	Agent      string          `json:"agent"`
	Tokens     TokensDoc       `json:"tokens"`
	Cost       *json.Number    `json:"cost_usd"`
	DurationMs int64           `json:"duration_ms"`
	Time       time.Time       `json:"time"`
	Outcome    string          `json:"outcome"`
	Turns      int             `json:"turns"`
	APICalls   int             `json:"api_calls"`
	// By is the person who asked for it, Via where: "page", "live view"; absent is
	// the command line.
	By  string `json:"by,omitempty"`
	Via string `json:"via,omitempty"`
}

// askedBy is the person who asked for an entry, "" when the loop made it.
func askedBy(e journal.Entry) string {
	ev := e.Event
	if ev.Operator != nil || ev.Via != "" || ev.TaskSet != nil && ev.Phase == "" && ev.TaskSet.Action != "recover" {
		return e.Commit.Author.Name
	}
	return ""
}

// Describe makes the document of one entry.
func Describe(e journal.Entry) EntryDoc {
	ev := e.Event
	d := EntryDoc{Entry: e.ID.String(), Event: ev.Type, Iteration: ev.Iteration, Task: ev.Task, Attempt: ev.Attempt,
		Time: ev.Time.UTC(), By: askedBy(e), Via: ev.Via}
	_, d.Summary, _ = strings.Cut(Subject(e), ": ")
	if d.Summary == "" {
		d.Summary = Subject(e)
	}
	switch {
	case ev.Result != nil:
		r := ev.Result
		d.Verdict, d.Reason, d.Summary, d.Commit = r.Verdict, strings.Join(r.Reasons, "; "), r.Summary, r.Commit
		d.Agent, d.Tokens, d.Cost, d.DurationMs = strings.TrimSpace(r.Agent+" "+r.Model), countTokens(r.Tokens),
			costOrNil(r.CostMicro), r.DurationMs
		d.Outcome, d.Turns, d.APICalls = r.Outcome, r.Turns, r.APICalls
		if r.Evidence != "" {
			d.Evidence = &r.Evidence
		}
	case ev.Start != nil:
		d.Agent = strings.TrimSpace(ev.Start.Agent + " " + ev.Start.Model)
	case ev.Halt != nil:
		d.Reason = ev.Halt.Reason
	case ev.Sess != nil:
		d.Reason = ev.Sess.Reason
	case ev.Breaker != nil:
		d.Reason = ev.Breaker.Reason
	case ev.TaskSet != nil:
		d.Reason = ev.TaskSet.Reason
		if d.Task == "" && len(ev.TaskSet.IDs) == 1 {
			d.Task = ev.TaskSet.IDs[0]
		}
	case ev.Amend != nil:
		d.Reason = ev.Amend.Reason
	case ev.Stuck != nil:
		d.Reason = ev.Stuck.Reason
	case ev.Plan != nil:
		d.Reason = ev.Plan.Reason
	case ev.PhaseTo != nil:
		d.Reason = ev.PhaseTo.Reason
	case ev.Operator != nil:
		d.Reason = ev.Operator.Text
	case ev.Context != nil:
		d.Reason, d.Tokens, d.Cost = ev.Context.Reason, countTokens(ev.Context.Tokens), costOrNil(ev.Context.CostMicro)
	}
	return d
}

func costOrNil(micro *int64) *json.Number {
	if micro == nil {
		return nil
	}
	n := Dollars(*micro)
	return &n
}

// Subject is the first line of an entry's message.
func Subject(e journal.Entry) string {
	line, _, _ := strings.Cut(e.Commit.Message, "\n")
	return line
}

// flaky are the names of checks that were red first and then green.
func flaky(checks []state.CheckRun) []string {
	var names []string
	for _, c := range checks {
		if c.Passed && c.Flaky {
			names = append(names, c.Name)
		}
	}
	return names
}

// LogRow is one entry as people read it: object name, time, what happened, and
// what it took.
func (p Printer) LogRow(e journal.Entry) []string {
	what, more := Subject(e), ""
	code := "0"
	if r := e.Event.Result; r != nil {
		switch r.Verdict {
		case state.Keep:
			code = "32"
		default:
			code = "33"
		}
		var parts []string
		if len(r.Reasons) > 0 {
			parts = append(parts, strings.Join(r.Reasons, "; "))
		}
		if r.Partial {
			parts = append(parts, "a step, not finished")
		}
		if names := flaky(r.Checks); len(names) > 0 {
			parts = append(parts, "flaky: "+strings.Join(names, ", "))
		}
		if r.DurationMs > 0 { // of an iteration that died with its process nobody knows it
			parts = append(parts, Duration(r.DurationMs))
		}
		if r.CostMicro != nil && *r.CostMicro > 0 {
			parts = append(parts, "$"+USD(*r.CostMicro))
		}
		if t := r.Tokens.Total(); t > 0 {
			parts = append(parts, Thousands(t)+" tokens")
		}
		more = strings.Join(parts, ", ")
	} else if d := Describe(e); d.Reason != "" && !strings.Contains(what, d.Reason) {
		line, _, _ := strings.Cut(d.Reason, "\n")
		more = text.Clip(line, 100)
	}
	if by := askedBy(e); by != "" {
		by = "by " + text.Clip(by, 40)
		if e.Event.Via != "" {
			by += " from the " + e.Event.Via
		}
		more = strings.TrimPrefix(more+", "+by, ", ")
	}
	row := []string{p.Paint("33", e.ID.String()[:9]), Moment(e.Event.Time), p.Paint(code, what), p.Paint("2", more)}
	if p.Columns > 0 && more != "" { // so that what happened is cut after what it took
		row = append(row[:2], row[2]+"  "+row[3])
	}
	return row
}

// Events are the types of entries, as people name them.
var Events = []state.EventType{state.EvInit, state.EvPhase, state.EvPlan, state.EvAmend, state.EvTask, state.EvStart,
	state.EvIteration,
	state.EvKnowledge, state.EvOperator, state.EvBreaker, state.EvHalt, state.EvSession, state.EvMerge, state.EvRewind,
	state.EvClaim,
	state.EvQuestion, state.EvContext, state.EvStuck, state.EvPass, state.EvBaseline, state.EvReport}
