package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
	"git-ralph/plan"
)

// LogCmd is `git ralph log`.
type LogCmd struct {
	Number    int      `short:"n" name:"max-count" placeholder:"N" help:"At most N entries."`
	Task      string   `complete:"tasks" placeholder:"ID" help:"Only what concerns a task."`
	Event     []string `complete:"events" sep:"," placeholder:"TYPE" help:"Only events of these types, such as iteration."`
	Iteration *int     `complete:"iterations" placeholder:"N" help:"Only what belongs to an iteration."`
	Verdict   string   `complete:"=keep,reject" placeholder:"keep|reject" help:"Only iterations that ended so."`
	Since     string   `placeholder:"TIME" help:"Only what is newer: 2h, 3d, yesterday, 2026-11-22."`
	Stat      bool     `help:"Show which files each attempt changed, and how much."`
	Patch     bool     `short:"p" help:"Show what each attempt and entry changed: files, prompt, plan, tasks, settings, memory."`
	JSON      bool     `name:"json" help:"Print one object a line."`
}

// Help says more.
func (LogCmd) Help() string {
	return "The same history as commits: git log ralph/heads/BRANCH. A task's life: git log ralph/heads/BRANCH -- " +
		"tasks/ID.toml."
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
		return a.noJournalHere(j)
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
	out := a.printer()
	n := 0
	err = a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if !filter.takes(e.Event) {
			return true, nil
		}
		n++
		if c.JSON {
			if err := a.printLine(view.Describe(e)); err != nil {
				return false, err
			}
		} else {
			out.Table([][]string{out.LogRow(e)})
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
	f := logFilter{events: map[state.EventType]bool{}, verdict: state.Verdict(strings.ToLower(c.Verdict))}
	if c.Iteration != nil {
		if f.iteration = *c.Iteration; f.iteration < 1 {
			return f, usage("git ralph log --event iteration lists them", "iterations are counted from 1, not %d", f.iteration)
		}
	}
	for _, t := range trimmed(c.Event) {
		kind := state.EventType(strings.ToLower(t))
		if !slices.Contains(view.Events, kind) {
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
	if err := a.entryDifference(e); err != nil {
		return err
	}
	return a.promptDifference(now, e)
}

// eventTypes lists them.
func eventTypes() string {
	var out []string
	for _, e := range view.Events {
		out = append(out, string(e))
	}
	return strings.Join(out, ", ")
}
