package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/notes"
	"git-ralph/plan"
)

// ShowCmd is `git ralph show`.
type ShowCmd struct {
	What       string `complete:"iterations or tasks" arg:"" optional:"" help:"The number of an iteration (the newest one), or the id of a task."`
	Prompt     bool   `help:"Print the prompt that the agent read."`
	Transcript bool   `help:"Print what the agent did, as lines of JSON."`
	Output     string `placeholder:"CHECK" help:"Print the whole output of a check."`
	JSON       bool   `name:"json" help:"Print an object for each iteration of that number."`
}

// Help says more.
func (ShowCmd) Help() string {
	return "Prompt, transcript and outputs come from the iteration's evidence, which is pruned after evidence.keep " +
		"iterations; the journal's part stays."
}

// showDoc is `show --json`.
type showDoc struct {
	entryDoc
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
	Agents       []agentDoc         `json:"agents"`
	Passes       []state.PassResult `json:"passes"`
}

// agentDoc is one agent session inside an iteration.
type agentDoc struct {
	Role        string       `json:"role"`
	SessionID   string       `json:"session_id"`
	Client      string       `json:"client"`
	Model       string       `json:"model"`
	Effort      string       `json:"effort,omitempty"`
	Outcome     string       `json:"outcome"`
	Reason      string       `json:"reason"`
	Tokens      tokensDoc    `json:"tokens"`
	Cost        *json.Number `json:"cost_usd"`
	DurationMs  int64        `json:"duration_ms"`
	Turns       int          `json:"turns"`
	APICalls    int          `json:"api_calls"`
	ContextPeak int          `json:"context_peak"`
}

func describeRun(r state.AgentRun) agentDoc {
	return agentDoc{Role: r.Role, SessionID: r.SessionID, Client: r.Client, Model: r.Model, Effort: r.Effort,
		Outcome: r.Outcome, Reason: r.Reason,
		Tokens: countTokens(r.Tokens), Cost: costOrNil(r.CostMicro), DurationMs: r.DurationMs, Turns: r.Turns,
		APICalls: r.APICalls, ContextPeak: r.ContextPeak}
}

// Run shows an iteration or a task.
func (c *ShowCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	n, err := strconv.Atoi(c.What)
	if c.What == "" {
		if n = s.Run.Iteration; n == 0 {
			return gitstate.Hint(1, "git ralph start begins the first", "there is no iteration yet")
		}
	} else if err != nil {
		return c.task(a, s)
	}
	found, err := a.iterations(n)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return c.unfinished(a, s, n)
	}
	if c.Prompt || c.Transcript || c.Output != "" {
		return c.evidence(a, s, found)
	}
	if !c.JSON {
		defer a.page()()
	}
	for i, e := range found {
		d, err := a.showDoc(s, e)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := a.printJSON(d); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.printf("\n%s\n\n", a.colour(a.Out, "2", "the same number, given by another machine:"))
		}
		a.showText(e, d)
	}
	return nil
}

// iterations finds the ends of iteration n; none is an error unless it is in
// work now.
func (a *App) iterations(n int) ([]journal.Entry, error) {
	if n <= 0 {
		return nil, usage("iterations are numbered from 1", "%d is no number of an iteration", n)
	}
	return a.journal.Iterations(a.Ctx, n)
}

// noIteration says that there is no iteration n.
func noIteration(s state.State, n int) error {
	hint := fmt.Sprintf("the newest is %d; git ralph log --event iteration lists them", s.Run.Iteration)
	if s.Run.Iteration == 0 {
		hint = "git ralph start begins the first"
	}
	return gitstate.Hint(1, hint, "there is no iteration %d", n)
}

// unfinished shows an iteration that has only begun.
func (c *ShowCmd) unfinished(a *App, s state.State, n int) error {
	starts, err := a.journal.Starts(a.Ctx, n)
	if err != nil {
		return err
	}
	if len(starts) == 0 {
		return noIteration(s, n)
	}
	e := starts[0]
	if c.JSON {
		return a.printJSON(describeStart(e))
	}
	a.printf("%s\n", a.colour(a.Out, "1", subject(e)))
	a.printf("begun %s and not ended yet\n", entryTime(e.Event.Time))
	return nil
}

// describeStart is the document of an iteration that has only begun.
func describeStart(e journal.Entry) showDoc {
	d := showDoc{entryDoc: describeEntry(e), Phase: e.Event.Phase, Prompt: e.Event.Start.PromptTokens,
		Sandbox: e.Event.Start.Sandbox, Dropped: e.Event.Start.Dropped}
	d.fill()
	return d
}

// fill makes every list a list.
func (d *showDoc) fill() {
	d.Checks, d.Files, d.PutBack, d.Notices = list(d.Checks), list(d.Files), list(d.PutBack), list(d.Notices)
	d.Criteria, d.Dropped, d.Agents = list(d.Criteria), list(d.Dropped), list(d.Agents)
	d.Passes = list(d.Passes)
}

// showDoc puts an iteration together; evidence is null when it was pruned.
func (a *App) showDoc(s state.State, e journal.Entry) (showDoc, error) {
	r := e.Event.Result
	d := showDoc{entryDoc: describeEntry(e), Phase: e.Event.Phase, Partial: r.Partial, Rung: r.Rung, Step: r.Step,
		Detail:  r.Detail,
		Handoff: r.Handoff, Checks: r.Checks,
		Files: r.Files, PutBack: r.PutBack, Notices: r.Notices, Criteria: r.Criteria, Reproduction: r.Reproduction,
		Dropped: r.Dropped, Prompt: r.PromptTokens, Sandbox: r.Sandbox, Passes: r.Passes}
	for _, run := range r.Runs {
		d.Agents = append(d.Agents, describeRun(run))
	}
	d.fill()
	at, err := a.evidence(s, e)
	if err != nil {
		return d, err
	}
	if at.IsZero() {
		d.Evidence = nil
	}
	return d, nil
}

// showText prints an iteration for people.
func (a *App) showText(e journal.Entry, d showDoc) {
	r := e.Event.Result
	code := "33"
	if d.Verdict == state.Keep {
		code = "32"
	}
	a.printf("%s", a.colour(a.Out, "1", fmt.Sprintf("iteration %d", d.Iteration)))
	if d.Task != "" {
		a.printf(": %s %s, attempt %d", d.Task, r.Title, max(1, d.Attempt))
		if d.Step != "" {
			a.printf(" with %s", d.Step)
		}
	} else {
		a.printf(": %s", d.Phase)
	}
	verdict := string(d.Verdict)
	if d.Partial {
		verdict += ", a step and not finished"
	}
	a.printf("\n%s", a.colour(a.Out, code, verdict))
	if d.Reason != "" {
		a.printf(": %s", d.Reason)
	}
	if d.Detail != "" && !strings.Contains(d.Reason, d.Detail) {
		a.printf(" (%s)", d.Detail)
	}
	a.printf("\n\n")
	var rows [][]string
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{"  " + name, fmt.Sprintf(format, args...)})
	}
	ended := entryTime(d.Time)
	if d.DurationMs > 0 { // of an iteration that died with its process nobody knows it
		ended += ", after " + duration(d.DurationMs)
	}
	row("ended", "%s", ended)
	if d.Agent != "" {
		line := d.Agent + ": " + d.Outcome
		if d.Turns > 0 {
			line += ", " + plural(d.Turns, "turn")
		}
		row("agent", "%s", line)
	}
	if d.Tokens.Total > 0 {
		cost := "unknown cost"
		if r.CostMicro != nil {
			cost = "$" + usd(*r.CostMicro)
		}
		row("used", "%s, %s tokens", cost, thousands(d.Tokens.Total))
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
		row("sandbox", "%s", sandboxLine(d.Sandbox, nil))
	}
	row("entry", "%s", d.Entry)
	table(a.Out, rows)
	if len(d.Agents) > 1 {
		a.printf("\nagents\n")
		rows = nil
		for _, g := range d.Agents {
			rows = append(rows, []string{"  " + g.Role, g.Model, g.Outcome, g.Reason, duration(g.DurationMs),
				thousands(g.Tokens.Total) + " tokens"})
		}
		table(a.Out, rows)
	}
	if len(d.Checks) > 0 {
		a.printf("\nchecks\n")
		for _, k := range d.Checks {
			a.showCheck(k)
		}
	}
	if len(d.Criteria) > 0 {
		a.printf("\ncriteria\n")
		for _, k := range d.Criteria {
			a.printf("  %-8s  %s\n", k.Mark, k.Text)
		}
	}
	if len(d.Files) > 0 {
		a.printf("\nfiles\n")
		for i, f := range d.Files {
			if i == 30 {
				a.printf("  and %d more: git ralph diff %d --stat\n", len(d.Files)-i, d.Iteration)
				break
			}
			a.printf("  %-10s %s\n", f.Kind, f.Path)
		}
	}
	for _, x := range d.Passes {
		a.printf("\nfindings of %s\n", x.Name)
		found := strings.TrimRight(x.Findings, "\n")
		if found == "" {
			found = "none"
		}
		a.indented(found+"\n", "  ")
	}
	for _, x := range []struct {
		name string
		list []string
	}{{"put back", d.PutBack}, {"notices", d.Notices}} {
		if len(x.list) > 0 {
			a.printf("\n%s\n", x.name)
			for _, s := range x.list {
				a.printf("  %s\n", s)
			}
		}
	}
	if d.Handoff != nil {
		a.printf("\n")
		a.handoffText(*d.Handoff)
	}
}

func (a *App) showCheck(k state.CheckRun) {
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
		name += "  " + a.colour(a.Out, "2", text.Clip(k.Command, 60))
	}
	a.printf("  %s %s  %s", a.colour(a.Out, code, mark), name, duration(k.DurationMs))
	if k.Tests != nil {
		a.printf("  %s", plural(*k.Tests, "test"))
	}
	if word != "" {
		a.printf("  %s", a.colour(a.Out, code, word))
	}
	a.printf("\n")
	if !k.Passed && k.Output != "" {
		a.indented(strings.TrimRight(k.Output, "\n")+"\n", "      ")
	}
}

// task shows a task with its iterations.
func (c *ShowCmd) task(a *App, s state.State) error {
	ids, err := taskIDs(s.Plan, []string{c.What})
	if err != nil {
		return err
	}
	t := s.Plan.Tasks[s.Plan.Find(ids[0])]
	if c.JSON {
		return a.printJSON(t)
	}
	defer a.page()()
	mark, code := taskMark(t.Status)
	a.printf("%s %s\n%s %s", a.colour(a.Out, "1", string(t.ID)), t.Title, a.colour(a.Out, code, mark),
		a.colour(a.Out, code, statusWord(t.Status)))
	for _, b := range s.Plan.Blockers() {
		if b.ID == t.ID {
			a.printf(": %s", b.Reason)
		}
	}
	a.printf("\n\n")
	var rows [][]string
	row := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{"  " + name, text})
		}
	}
	row("priority", strconv.Itoa(t.Priority))
	row("depends on", joinIDs(t.DependsOn))
	if t.Attempts > 0 {
		row("attempts", strconv.Itoa(t.Attempts))
	}
	row("model", t.Model)
	row("verify", strings.Join(t.Verify, "; "))
	row("skills", strings.Join(t.Skills, ", "))
	row("spec", t.Spec)
	if t.ActualTokens > 0 {
		row("used", fmt.Sprintf("%s tokens, $%s", thousands(t.ActualTokens), usd(t.CostMicroUSD)))
	}
	table(a.Out, rows)
	for _, x := range []struct{ name, text string }{{"", t.Description}, {"notes", t.Notes},
		{"why the last attempt failed", t.Failure}} {
		if x.text != "" {
			a.printf("\n")
			if x.name != "" {
				a.printf("%s\n", x.name)
			}
			a.indented(strings.TrimRight(x.text, "\n")+"\n", "  ")
		}
	}
	if len(t.Criteria) > 0 {
		a.printf("\ncriteria\n")
		for _, k := range t.Criteria {
			a.printf("  - %s\n", k)
		}
	}
	return c.taskIterations(a, t.ID)
}

// taskIterations lists what was done on a task; git finds the entries, so that
// a long history is not read as a whole.
func (c *ShowCmd) taskIterations(a *App, id plan.TaskID) error {
	list, err := a.journal.TaskIterations(a.Ctx, id)
	if err != nil || len(list) == 0 {
		return err
	}
	a.printf("\niterations\n")
	var rows [][]string
	for _, e := range list {
		rows = append(rows, append([]string{"  " + strconv.Itoa(e.Event.Iteration)}, a.logRow(e)[1:]...))
	}
	table(a.Out, rows)
	return nil
}
