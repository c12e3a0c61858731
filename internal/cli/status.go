package cli

import (
	"cmp"
	"errors"

	"git-ralph/gitstate/journal"
	"git-ralph/internal/config"
)

// StatusCmd is `git ralph status`.
type StatusCmd struct {
	JSON bool `name:"json" help:"Print one object; its keys are documented."`
}

// Help says more.
func (StatusCmd) Help() string {
	return "With -v the last ten iterations, too. It takes no lock and changes nothing, also while a loop is running."
}

// Run prints the status.
func (c *StatusCmd) Run(a *App) error {
	brief()
	j, err := a.Journal()
	if err != nil {
		return err
	}
	r := a.reader()
	d, s, err := r.Status(a.Ctx)
	if errors.Is(err, journal.ErrNone) {
		return a.noJournalHere(j)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(d)
	}
	return r.PrintStatus(a.Ctx, a.printer(), d, s, a.Verbose > 0)
}

// noJournalHere is noJournal, and asks the remotes whether one of them has a
// journal of this branch: a fresh clone does not bring it.
func (a *App) noJournalHere(j *journal.Journal) error {
	if err := a.lostJournal(j, 1); err != nil {
		return err
	}
	err := a.noJournal(j)
	if _, ok := adviceOf(err); !ok {
		return err
	}
	return cmp.Or(a.journalThere(j, 1), err)
}

// settingsQuietly are the settings, under the overrides of a run, for commands
// that only tell.
func (a *App) settingsQuietly(overrides map[string]string) (*config.Resolved, error) {
	src, err := a.sources(nil, overrides)
	if err != nil {
		return nil, err
	}
	return config.Load(src)
}
