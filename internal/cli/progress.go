package cli

import (
	"git-ralph/internal/view"
)

// ProgressCmd is `git ralph progress`.
type ProgressCmd struct {
	Markdown bool `help:"Print a report in Markdown, with an entry for each iteration."`
	JSON     bool `name:"json" help:"Print one object."`
}

// Run shows how far the plan is.
func (c *ProgressCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	d := view.Progress(s)
	if c.JSON {
		return a.printJSON(d)
	}
	if c.Markdown {
		return a.reader().ProgressMarkdown(a.Ctx, a.printer(), s)
	}
	if d.Tasks.Total == 0 {
		a.printf("the plan is empty: git ralph import FILE, or git ralph add \"a task\"\n")
		return nil
	}
	defer a.page()()
	d.Print(a.printer(), s)
	return nil
}
