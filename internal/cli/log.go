package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// LogCmd is `git ralph log`.
type LogCmd struct {
	Number    int      `short:"n" name:"max-count" placeholder:"N" help:"At most N entries."`
	Task      string   `complete:"tasks" placeholder:"ID" help:"Only what concerns a task."`
	Event     []string `complete:"events" sep:"," placeholder:"TYPE" help:"Only events of these types, such as iteration."`
	Iteration int      `complete:"iterations" placeholder:"N" help:"Only what belongs to an iteration."`
	Verdict   string   `complete:"=keep,reject" placeholder:"keep|reject" help:"Only iterations that ended so."`
	Since     string   `placeholder:"TIME" help:"Only what is newer: 2h, 3d, yesterday, 2026-11-22."`
	Stat      bool     `help:"Show which files each attempt changed, and how much."`
	Patch     bool     `short:"p" help:"Show what each attempt changed, and each entry of the plan, its tasks and what is remembered."`
	JSON      bool     `name:"json" help:"Print one object a line."`
}

// Help says more.
func (LogCmd) Help() string {
	return "The same history as commits: git log ralph/heads/BRANCH. A task's life: git log ralph/heads/BRANCH -- " +
		"tasks/ID.toml."
}

// entryDoc is one line of `log --json` and the head of `show --json`.
type entryDoc struct {
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
	Tokens     tokensDoc       `json:"tokens"`
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

// describeEntry makes the document of one entry.
func describeEntry(e journal.Entry) entryDoc {
	ev := e.Event
	d := entryDoc{Entry: e.ID.String(), Event: ev.Type, Iteration: ev.Iteration, Task: ev.Task, Attempt: ev.Attempt,
		Time: ev.Time.UTC(), By: askedBy(e), Via: ev.Via}
	_, d.Summary, _ = strings.Cut(subject(e), ": ")
	if d.Summary == "" {
		d.Summary = subject(e)
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
	n := dollars(*micro)
	return &n
}

// subject is the first line of an entry's message.
func subject(e journal.Entry) string {
	line, _, _ := strings.Cut(e.Commit.Message, "\n")
	return line
}

// concerns says whether an event has to do with a task.
func concerns(e state.Event, id plan.TaskID) bool {
	if strings.EqualFold(string(e.Task), string(id)) {
		return true
	}
	var ids []plan.TaskID
	switch {
	case e.TaskSet != nil:
		ids = e.TaskSet.IDs
	case e.Plan != nil:
		ids = append(append(ids, e.Plan.IDs...), e.Plan.Remove...)
	case e.Amend != nil:
		ids = []plan.TaskID{e.Amend.TaskID}
	}
	for _, x := range ids {
		if strings.EqualFold(string(x), string(id)) {
			return true
		}
	}
	return false
}

// Run prints the history.
func (c *LogCmd) Run(a *App) error {
	brief()
	if c.Number < 0 {
		return usage("git ralph log -n 20", "-n %d is negative", c.Number)
	}
	if (c.Patch || c.Stat) && c.JSON {
		return usage("git ralph show ENTRY --json has the event of an entry", "-p, --stat and --json do not go together")
	}
	filter, err := c.filter()
	if err != nil {
		return err
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	if err := j.Readable(a.Ctx); errors.Is(err, journal.ErrNone) {
		return a.noJournal(j)
	} else if err != nil {
		return err
	}
	var now state.State
	if c.Task != "" || c.Patch || c.Stat {
		snap, err := a.Load()
		if err != nil {
			return err
		}
		now = snap.State
	}
	if c.Task != "" {
		// A task that left the plan still has a history; a slip has none.
		if ids, err := taskIDs(now.Plan, []string{c.Task}); err != nil {
			a.warn("%v; looking for what concerned it", err)
		} else {
			c.Task = string(ids[0])
		}
	}
	filter.task = plan.TaskID(c.Task)
	defer a.page()()
	n := 0
	err = a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if !filter.takes(e.Event) {
			return true, nil
		}
		n++
		if c.JSON {
			if err := a.printLine(describeEntry(e)); err != nil {
				return false, err
			}
		} else {
			table(a.Out, [][]string{a.logRow(e)})
			if err := c.more(a, now, e); err != nil {
				return false, err
			}
		}
		return c.Number == 0 || n < c.Number, nil
	})
	if errors.Is(err, context.Canceled) {
		return nil // the pager was left
	}
	if err == nil && n == 0 && !c.JSON {
		a.printf("nothing of that kind\n")
	}
	return err
}

// filter reads what was asked for.
func (c *LogCmd) filter() (logFilter, error) {
	f := logFilter{events: map[state.EventType]bool{}, iteration: c.Iteration,
		verdict: state.Verdict(strings.ToLower(c.Verdict))}
	for _, t := range trimmed(c.Event) {
		kind := state.EventType(strings.ToLower(t))
		if !knownEvent(kind) {
			return f, usage("types: "+eventTypes(), "%q is no type of event", t)
		}
		f.events[kind] = true
	}
	if f.verdict != "" && f.verdict != state.Keep && f.verdict != state.Reject {
		return f, usage("--verdict keep or --verdict reject", "%q is no verdict", c.Verdict)
	}
	var err error
	if c.Since != "" {
		f.since, err = parseSince(c.Since, time.Now())
	}
	return f, err
}

// more shows what an entry changed, as far as that was asked for.
func (c *LogCmd) more(a *App, now state.State, e journal.Entry) error {
	if c.Stat {
		return a.workDifference(now, e, "--stat=72")
	}
	if !c.Patch {
		return nil
	}
	if err := a.workDifference(now, e); err != nil {
		return err
	}
	return a.entryDifference(e)
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

// logRow is one entry as people read it: object name, time, what happened, and
// what it took.
func (a *App) logRow(e journal.Entry) []string {
	what, more := subject(e), ""
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
			parts = append(parts, duration(r.DurationMs))
		}
		if r.CostMicro != nil && *r.CostMicro > 0 {
			parts = append(parts, "$"+usd(*r.CostMicro))
		}
		if t := r.Tokens.Total(); t > 0 {
			parts = append(parts, thousands(t)+" tokens")
		}
		more = strings.Join(parts, ", ")
	} else if d := describeEntry(e); d.Reason != "" && !strings.Contains(what, d.Reason) {
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
	return []string{a.colour(a.Out, "33", e.ID.String()[:9]), e.Event.Time.Local().Format("2006-01-02 15:04:05"),
		a.colour(a.Out, code, what), a.colour(a.Out, "2", more)}
}

var events = []state.EventType{state.EvInit, state.EvPhase, state.EvPlan, state.EvAmend, state.EvTask, state.EvStart,
	state.EvIteration,
	state.EvKnowledge, state.EvOperator, state.EvBreaker, state.EvHalt, state.EvSession, state.EvMerge, state.EvRewind,
	state.EvClaim,
	state.EvQuestion, state.EvContext, state.EvStuck, state.EvPass, state.EvBaseline, state.EvReport}

func knownEvent(t state.EventType) bool {
	for _, e := range events {
		if e == t {
			return true
		}
	}
	return false
}

func eventTypes() string {
	var out []string
	for _, e := range events {
		out = append(out, string(e))
	}
	return strings.Join(out, ", ")
}

// entryTime is a moment for people, in their own zone.
func entryTime(t time.Time) string { return fmt.Sprint(t.Local().Format("2006-01-02 15:04:05")) }
