package cli

import (
	"strings"

	"git-ralph/gitstate"
	"git-ralph/plan/exchange"
)

// ExportCmd is `git ralph export`.
type ExportCmd struct {
	Format string `complete:"formats" default:"toml" placeholder:"NAME" help:"The format to write (${default})."`
	Output string `complete:"files" short:"o" placeholder:"FILE" help:"Write to a file instead of standard output."`
}

// Help says more.
func (ExportCmd) Help() string {
	return "Formats: " + formatNames() + ". What the format has no place for is named on standard error."
}

// Run writes the plan.
func (c *ExportCmd) Run(a *App) error {
	f, err := exchange.ParseFormat(c.Format)
	if err != nil {
		return usage("git ralph export -h", "%w", err)
	}
	snap, err := a.Load()
	if err != nil {
		return err
	}
	if len(snap.State.Plan.Tasks) == 0 {
		return gitstate.Hint(1, "git ralph import FILE, or git ralph add \"a task\"", "the plan is empty")
	}
	data, lost, err := exchange.Export(f, snap.State.Plan)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(string(data), "\n") {
		data = append(data, '\n')
	}
	if c.Output == "" || c.Output == "-" {
		if _, err := a.raw().Write(data); err != nil {
			return err
		}
	} else if err := gitstate.WriteFile(c.Output, data, 0o644); err != nil {
		return err
	}
	for _, l := range lost {
		if l.Field != "created" || len(l.Tasks) > 0 {
			a.warn("not in the %s: %s", f, l)
		}
	}
	return nil
}
