package cli

import (
	"context"
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/notes"
)

// ValidateCmd is `git ralph validate`.
type ValidateCmd struct {
	RunFlags
	Report bool `help:"Print the last report and run nothing."`
}

// Help says more.
func (ValidateCmd) Help() string {
	return "Runs the checks in a fresh checkout and lets an agent judge each acceptance criterion of specs/*.md, with " +
		"evidence. What it changes is put back. " +
		"A criterion that was not reported, or with evidence that the harness could not check itself, counts as failed; " +
		"what failed becomes tasks."
}

// Run runs the validation phase alone, or prints the last report.
func (c *ValidateCmd) Run(a *App) error {
	if c.Report {
		return c.report(a)
	}
	if err := a.enterLinked(&c.RunFlags, mayBeginJournal); err != nil {
		return err
	}
	if err := a.begun(); err != nil {
		return err
	}
	end, ran, err := a.launch(launch{flags: &c.RunFlags,
		before: func(s state.State, set *config.Resolved) (bool, error) {
			if s.Run.Phase != state.Validation { // a report that waits for approval may be made anew
				return false, a.waiting(s, set, c.Yes)
			} else if s.Run.PauseAsked {
				return true, a.waiting(s, set, c.Yes)
			}
			return false, nil
		},
		run: func(ctx context.Context, l *loop.Loop, _ state.State) (loop.End, error) {
			return l.Run(ctx, loop.RunOptions{Phase: state.Validation, Only: true})
		}})
	if err != nil || !ran {
		return err
	}
	r := end.State.Report
	if !c.JSON {
		if r != nil {
			a.printf("\n%s", reportMarkdown(*r))
		}
		a.summary(end)
	}
	if end.Status == state.Ready && (r == nil || !r.Passed) {
		return &ExitError{Code: 1} // what failed has become tasks
	}
	return endError(end)
}

func (c *ValidateCmd) report(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	r := snap.State.Report
	if r == nil {
		return gitstate.Hint(1, "git ralph validate makes one", "there is no report yet")
	}
	if c.JSON {
		return a.printJSON(reportDoc(*r))
	}
	defer a.page()()
	a.printf("%s", reportMarkdown(*r))
	return nil
}

// reportDoc is a report whose lists are never null.
func reportDoc(r state.Report) state.Report {
	r.Checks, r.Specs, r.Tasks = view.List(r.Checks), append([]state.ReportSpec{}, r.Specs...), view.List(r.Tasks)
	for i := range r.Specs {
		r.Specs[i].Criteria = view.List(r.Specs[i].Criteria)
	}
	return r
}

// reportMarkdown is a report for people and for pull requests.
func reportMarkdown(r state.Report) string {
	var b strings.Builder
	word := "failed"
	if r.Passed {
		word = "passed"
	}
	fmt.Fprintf(&b, "# Validation %s\n\n", word)
	if unmet := r.Unmet(); unmet != "" {
		fmt.Fprintf(&b, "A person accepted it: %s.\n\n", unmet)
	}
	if r.Commit != "" {
		fmt.Fprintf(&b, "Commit %s", r.Commit[:min(12, len(r.Commit))])
		if r.Iteration > 0 {
			fmt.Fprintf(&b, ", iteration %d", r.Iteration)
		}
		fmt.Fprintf(&b, ", %s\n\n", r.Time.UTC().Format("2006-01-02 15:04 MST"))
	}
	if len(r.Checks) > 0 {
		b.WriteString("## Checks\n\n")
		for _, c := range r.Checks {
			fmt.Fprintf(&b, "- [%s] %s", box(c.Passed), notes.OneLine(c.Name, 200))
			if c.Tolerated {
				b.WriteString(": failed, and may")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	if n := r.Count(); n.All() > 0 {
		fmt.Fprintf(&b, "Criteria: %s\n\n", n)
	}
	for _, sp := range r.Specs {
		fmt.Fprintf(&b, "## %s (%s)\n\n", notes.OneLine(sp.Title, 200), sp.File)
		for _, c := range sp.Criteria {
			fmt.Fprintf(&b, "- [%s] %s\n", box(c.Verdict == "pass"), notes.OneLine(c.Text, 1000))
			if c.Evidence != "" {
				fmt.Fprintf(&b, "  - %s: %s", c.Verdict, notes.OneLine(c.Evidence, 1000))
				if c.Mark != "" {
					fmt.Fprintf(&b, " (%s)", c.Mark)
				}
				b.WriteString("\n")
			}
			if c.Said != "" {
				fmt.Fprintf(&b, "  - the judge's words: %s\n", notes.OneLine(c.Said, 1000))
			}
		}
		b.WriteString("\n")
	}
	if len(r.Tasks) > 0 {
		b.WriteString("## Unfinished tasks\n\n")
		for _, t := range r.Tasks {
			fmt.Fprintf(&b, "- %s: %s", t.ID, t.Status)
			if t.Reason != "" {
				fmt.Fprintf(&b, ", %s", notes.OneLine(t.Reason, 300))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	if v := r.Approved; v != nil {
		word := "Approved"
		if !v.Approved {
			word = "Rejected"
		}
		fmt.Fprintf(&b, "%s on %s", word, v.Time.UTC().Format("2006-01-02"))
		if v.Reason != "" {
			fmt.Fprintf(&b, ": %s", notes.OneLine(v.Reason, 1000))
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func box(ok bool) string {
	if ok {
		return "x"
	}
	return " "
}
