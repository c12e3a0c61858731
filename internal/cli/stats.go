package cli

import "git-ralph/internal/view"

// StatsCmd is `git ralph stats`.
type StatsCmd struct {
	JSON bool `name:"json" help:"Print one object."`
}

// Help says more.
func (StatsCmd) Help() string {
	return "Figures over the whole journal: how much is done, how iterations ended and why, what tasks, phases, roles " +
		"and models took, how often a claim of success was false, how full the context windows were, what was expected " +
		"of tasks and what they took, and how often a person had to step in."
}

// Run counts.
func (c *StatsCmd) Run(a *App) error {
	brief()
	snap, err := a.Load()
	if err != nil {
		return err
	}
	d, err := view.Stats(a.Ctx, a.journal, snap.State)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(d)
	}
	if d.Iterations == 0 {
		a.printf("no iteration has ended yet: git ralph start\n")
		return nil
	}
	defer a.page()()
	d.Print(a.printer())
	return nil
}
