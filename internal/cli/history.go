package cli

import (
	"context"
	"errors"

	"git-ralph/internal/view"
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

// Run lists the agent sessions.
func (c *HistoryCmd) Run(a *App) error {
	brief()
	if c.Number < 0 {
		return usage("git ralph history -n 20", "-n %d is negative", c.Number)
	}
	if _, err := a.Load(); err != nil {
		return err
	}
	found, err := view.History(a.Ctx, a.journal, c.Role, c.Number)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
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
	a.printer().History(found)
	return nil
}
