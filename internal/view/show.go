package view

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/notes"
)

// ShowDoc is `show --json`.
type ShowDoc struct {
	EntryDoc
	Phase    state.Phase           `json:"phase"`
	Partial  bool                  `json:"partial"`
	Rung     int                   `json:"rung"`
	Step     string                `json:"step,omitempty"` // of agent.ladder
	Detail   string                `json:"detail"`
	Handoff  *notes.Record         `json:"handoff"`
	Checks   []state.CheckRun      `json:"checks"`
	Files    []state.FileChange    `json:"files"`
	PutBack  []string              `json:"put_back"`
	Notices  []string              `json:"notices"`
	Criteria []state.CriterionMark `json:"criteria"`
	// Reproduction is the test of a bug.
	Reproduction []state.TestBlob   `json:"reproduction,omitempty"`
	Dropped      []string           `json:"dropped_sections"`
	Prompt       int                `json:"prompt_tokens"`
	Sandbox      string             `json:"sandbox"`
	Agents       []AgentDoc         `json:"agents"`
	Passes       []state.PassResult `json:"passes"`
}

// AgentDoc is one agent session inside an iteration.
type AgentDoc struct {
	Role        string       `json:"role"`
	SessionID   string       `json:"session_id"`
	Client      string       `json:"client"`
	Model       string       `json:"model"`
	Effort      string       `json:"effort,omitempty"`
	Outcome     string       `json:"outcome"`
	Reason      string       `json:"reason"`
	Tokens      TokensDoc    `json:"tokens"`
	Cost        *json.Number `json:"cost_usd"`
	DurationMs  int64        `json:"duration_ms"`
	Turns       int          `json:"turns"`
	APICalls    int          `json:"api_calls"`
	ContextPeak int          `json:"context_peak"`
}

func describeRun(r state.AgentRun) AgentDoc {
	return AgentDoc{Role: r.Role, SessionID: r.SessionID, Client: r.Client, Model: r.Model, Effort: r.Effort,
		Outcome: r.Outcome, Reason: r.Reason,
		Tokens: countTokens(r.Tokens), Cost: costOrNil(r.CostMicro), DurationMs: r.DurationMs, Turns: r.Turns,
		APICalls: r.APICalls, ContextPeak: r.ContextPeak}
}

// DescribeStart is the document of an iteration that has only begun.
func DescribeStart(e journal.Entry) ShowDoc {
	d := ShowDoc{EntryDoc: Describe(e), Phase: e.Event.Phase, Prompt: e.Event.Start.PromptTokens,
		Sandbox: e.Event.Start.Sandbox, Dropped: e.Event.Start.Dropped}
	d.fill()
	return d
}

// fill makes every list a list.
func (d *ShowDoc) fill() {
	d.Checks, d.Files, d.PutBack, d.Notices = List(d.Checks), List(d.Files), List(d.PutBack), List(d.Notices)
	d.Criteria, d.Dropped, d.Agents = List(d.Criteria), List(d.Dropped), List(d.Agents)
	d.Passes = List(d.Passes)
}

// Show puts an iteration together; evidence is null when it was pruned.
func (r Reader) Show(ctx context.Context, s state.State, e journal.Entry) (ShowDoc, error) {
	res := e.Event.Result
	d := ShowDoc{EntryDoc: Describe(e), Phase: e.Event.Phase, Partial: res.Partial, Rung: res.Rung, Step: res.Step,
		Detail:  res.Detail,
		Handoff: res.Handoff, Checks: res.Checks,
		Files: res.Files, PutBack: res.PutBack, Notices: res.Notices, Criteria: res.Criteria, Reproduction: res.Reproduction,
		Dropped: res.Dropped, Prompt: res.PromptTokens, Sandbox: res.Sandbox, Passes: res.Passes}
	for _, run := range res.Runs {
		d.Agents = append(d.Agents, describeRun(run))
	}
	d.fill()
	at, err := r.Evidence(ctx, s, e)
	if err != nil {
		return d, err
	}
	if at.IsZero() {
		d.Evidence = nil
	}
	return d, nil
}

// Print writes an iteration for people.
func (d ShowDoc) Print(p Printer, e journal.Entry) {
	r := e.Event.Result
	code := "33"
	if d.Verdict == state.Keep {
		code = "32"
	}
	head := p.Paint("1", fmt.Sprintf("iteration %d", d.Iteration))
	if d.Task != "" {
		head += fmt.Sprintf(": %s %s, attempt %d", d.Task, r.Title, max(1, d.Attempt))
		if d.Step != "" {
			head += " with " + d.Step
		}
	} else {
		head += ": " + string(d.Phase)
	}
	verdict := string(d.Verdict)
	if d.Partial {
		verdict += ", a step and not finished"
	}
	verdict = p.Paint(code, verdict)
	if d.Reason != "" {
		verdict += ": " + d.Reason
	}
	if d.Detail != "" && !strings.Contains(d.Reason, d.Detail) {
		verdict += " (" + d.Detail + ")"
	}
	p.Say("%s\n%s\n", head, verdict)
	for _, reason := range r.Reasons {
		if why := Why(reason); why != "" {
			p.Say("  %s\n", p.Paint("2", why))
		}
	}
	p.Say("\n")
	p.Table(d.rows(r.CostMicro))
	d.printLists(p)
}

// rows are the facts of an iteration, by name.
func (d ShowDoc) rows(micro *int64) (rows [][]string) {
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{"  " + name, fmt.Sprintf(format, args...)})
	}
	ended := Moment(d.Time)
	if d.DurationMs > 0 { // of an iteration that died with its process nobody knows it
		ended += ", after " + Duration(d.DurationMs)
	}
	row("ended", "%s", ended)
	if d.Agent != "" {
		line := d.Agent + ": " + d.Outcome
		if d.Turns > 0 {
			line += ", " + Plural(d.Turns, "turn")
		}
		row("agent", "%s", line)
	}
	if d.Tokens.Total > 0 {
		cost := "unknown cost"
		if micro != nil {
			cost = "$" + USD(*micro)
		}
		row("used", "%s, %s tokens", cost, Thousands(d.Tokens.Total))
	}
	if d.Prompt > 0 {
		line := fmt.Sprintf("%d tokens", d.Prompt)
		if len(d.Dropped) > 0 {
			line += "; left out: " + strings.Join(d.Dropped, ", ")
		}
		row("prompt", "%s", line)
	}
	if d.Commit != "" {
		row("commit", "%s", d.Commit)
	}
	if d.Evidence != nil {
		row("evidence", "%s", *d.Evidence)
	} else {
		row("evidence", "pruned")
	}
	if d.Sandbox != "" {
		row("sandbox", "%s", SandboxLine(d.Sandbox, nil))
	}
	row("entry", "%s", d.Entry)
	return rows
}

// printLists writes agents, checks, files and the rest, as far as there are any.
func (d ShowDoc) printLists(p Printer) {
	if len(d.Agents) > 1 {
		p.Say("\nagents\n")
		var rows [][]string
		for _, g := range d.Agents {
			rows = append(rows, []string{"  " + g.Role, g.Model, g.Outcome, g.Reason, Duration(g.DurationMs),
				Thousands(g.Tokens.Total) + " tokens"})
		}
		p.Table(rows)
	}
	if len(d.Checks) > 0 {
		p.Say("\nchecks\n")
		for _, k := range d.Checks {
			p.check(k)
		}
	}
	if len(d.Criteria) > 0 {
		p.Say("\ncriteria\n")
		for _, k := range d.Criteria {
			p.Say("  %-8s  %s\n", k.Mark, k.Text)
		}
	}
	if len(d.Files) > 0 {
		p.Say("\nfiles\n")
		for i, f := range d.Files {
			if i == 30 {
				p.Say("  and %d more: git ralph diff %d --stat\n", len(d.Files)-i, d.Iteration)
				break
			}
			p.Say("  %-10s %s\n", f.Kind, f.Path)
		}
	}
	for _, x := range d.Passes {
		p.Say("\nfindings of %s\n", x.Name)
		found := strings.TrimRight(x.Findings, "\n")
		if found == "" {
			found = "none"
		}
		p.Indented(found+"\n", "  ")
	}
	for _, x := range []struct {
		name string
		list []string
	}{{"put back", d.PutBack}, {"notices", d.Notices}} {
		if len(x.list) > 0 {
			p.Say("\n%s\n", x.name)
			for _, s := range x.list {
				p.Say("  %s\n", s)
			}
		}
	}
	if d.Handoff != nil {
		p.Say("\n")
		p.Handoff(*d.Handoff)
	}
}

// check writes what a check said.
func (p Printer) check(k state.CheckRun) {
	mark, code, word := "✓", "32", ""
	switch {
	case k.Skipped != "":
		mark, code, word = "·", "33", "skipped, "+k.Skipped
	case k.AlreadyRed:
		mark, code, word = "·", "33", "already red"
	case k.Tolerated:
		mark, code, word = "·", "33", "failed, and may"
	case k.TimedOut:
		mark, code, word = "✗", "31", "timeout"
	case k.Limit != "":
		mark, code, word = "✗", "31", "limit: "+k.Limit
	case k.NoTests:
		mark, code, word = "✗", "31", "no test ran"
	case !k.Passed:
		mark, code, word = "✗", "31", "exit "+strconv.Itoa(k.ExitCode)
	case k.Flaky:
		word = "flaky: red, then green in a fresh checkout"
	}
	name := k.Name
	if k.Kind == "step" {
		name = "step " + name
	}
	if k.Command != k.Name && k.Command != "" {
		name += "  " + p.Paint("2", text.Clip(k.Command, 60))
	}
	line := name + "  " + Duration(k.DurationMs)
	if k.Tests != nil {
		line += "  " + Plural(*k.Tests, "test")
	}
	if word != "" {
		line += "  " + p.Paint(code, word)
	}
	p.Say("  %s %s\n", p.Paint(code, mark), line)
	if !k.Passed && k.Output != "" {
		p.Indented(strings.TrimRight(k.Output, "\n")+"\n", "      ")
	}
}
