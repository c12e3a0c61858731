package cli

import (
	"git-ralph/gitstate"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
)

// ConfigCmd is `git ralph config`.
type ConfigCmd struct {
	Key     string   `complete:"settings" arg:"" optional:"" help:"One setting, or a table of them, in any spelling that git config takes."`
	Value   string   `arg:"" optional:"" hidden:""`
	Changed bool     `help:"Only settings that differ from the default."`
	Default bool     `help:"Print a ralph.toml with every setting commented out."`
	Config  []string `placeholder:"FILE" sep:"none" help:"Further settings over ralph.toml; may be repeated."`
	JSON    bool     `name:"json" help:"Print {key, value, origin, default}, an array of them without KEY and of a table."`
}

// Help says more.
func (ConfigCmd) Help() string {
	return "A higher place wins: the default, ralph.toml, each --config FILE, git config ralph.*, git ralph set, the " +
		"environment (RALPH_LOOP_MODE), flags."
}

// Run lists the settings.
func (c *ConfigCmd) Run(a *App) error {
	if c.Value != "" {
		return usage("git config ralph."+c.Key+" VALUE for yourself, ralph.toml for the project, git ralph set for the run",
			"git ralph config shows settings and changes none")
	}
	if c.Default {
		_, err := a.Out.Write(config.Document())
		return err
	}
	set, err := a.Settings(nil, c.Config)
	if err != nil {
		return err
	}
	if !a.trusted(set) {
		a.warn("the %s of this repository is not trusted yet: git ralph trust", config.FileName)
	}
	if c.Key != "" {
		e, err := set.Lookup(c.Key)
		if under := set.Under(c.Key); err != nil && len(under) > 0 {
			return a.listSettings(under, c)
		}
		if err != nil {
			return &gitstate.HintError{Err: err, Hint: hintOf(err), Code: 2}
		}
		if c.JSON {
			return a.printJSON(e)
		}
		a.printf("%s\n", e.Text())
		a.printer().Table([][]string{{"  from", e.Origin.String()}, {"  is", view.OrDash(e.Help)}})
		return nil
	}
	return a.listSettings(set.List(), c)
}

// listSettings prints settings with where each comes from.
func (a *App) listSettings(entries []config.Entry, c *ConfigCmd) error {
	if c.Changed {
		var kept []config.Entry
		for _, e := range entries {
			if e.Origin.Layer != config.LayerDefault {
				kept = append(kept, e)
			}
		}
		entries = kept
	}
	if c.JSON {
		return a.printJSON(view.List(entries))
	}
	defer a.page()()
	var rows [][]string
	for _, e := range entries {
		origin := e.Origin.String()
		if e.Origin.Layer == config.LayerDefault {
			origin = a.colour(a.Out, "2", origin)
		}
		rows = append(rows, []string{e.Text(), origin})
	}
	if len(rows) == 0 {
		a.printf("every setting has its default\n")
	}
	a.printer().Table(rows)
	return nil
}
