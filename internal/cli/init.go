package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
)

// InitCmd is `git ralph init`.
type InitCmd struct {
	NoConfig bool `help:"Write no ralph.toml."`
	New      bool `help:"Begin a new journal although a remote has one of this branch."`
	JSON     bool `name:"json" help:"Print the result as JSON."`
}

// Help says more.
func (InitCmd) Help() string {
	return "Idempotent: an existing journal and an existing ralph.toml stay as they are. Nothing is committed. " +
		"A ralph.toml that init has just written is trusted; one that was there already is shown and asked about."
}

// Run begins the journal.
func (c *InitCmd) Run(a *App) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	a.newJournal = c.New
	fresh, err := a.ensureJournal(j)
	if err != nil {
		return err
	}
	file, wrote := filepath.Join(repo.Root, config.FileName), false
	detected := config.Detect(os.DirFS(repo.Root))
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) && !c.NoConfig {
		if err := gitstate.WriteFile(file, config.InitFile(detected), 0o644); err != nil {
			return err
		}
		wrote = true
	}
	if wrote {
		f, err := config.ReadProject(repo.Root)
		if err != nil {
			return err
		}
		if f == nil || !bytes.Equal(f.Data, config.InitFile(detected)) {
			return gitstate.Hint(1, "look at it, then: git ralph trust", "%s was changed while it was written", config.FileName)
		}
		if err := a.trust(doubt{file: f}); err != nil {
			return err
		}
	}
	if !wrote && !c.NoConfig {
		set, err := a.Settings(nil, nil)
		if err != nil {
			return err
		}
		if fresh && !c.JSON {
			a.printf("began the journal of %s\n", j.Branch)
		}
		if err := a.askTrust(a.Ctx, set, c.JSON); err != nil {
			return err
		}
	}
	snap, err := j.Load(a.Ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]any{"journal": snap.State.Journal.ID, "branch": j.Branch, "created": fresh,
			"config": file, "config_written": wrote, "project": detected.Kind, "checks": detected.Checks})
	}
	switch {
	case fresh && (wrote || c.NoConfig):
		a.printf("began the journal of %s\n", j.Branch)
	case !fresh:
		a.printf("%s has a journal already\n", j.Branch)
	}
	if wrote {
		a.printf("wrote %s for a %s project", config.FileName, orNone(string(detected.Kind)))
		if len(detected.Checks) > 0 {
			var names []string
			for _, ck := range detected.Checks {
				names = append(names, ck.Run)
			}
			a.printf(", checks: %s", strings.Join(names, "; "))
		}
		a.printf("\ncommit it: git add %s && git commit -m 'Add %s'\n", config.FileName, config.FileName)
	}
	if wrote {
		for _, n := range detected.Notes {
			a.printf("note: %s\n", n)
		}
	}
	if len(snap.State.Plan.Tasks) == 0 {
		a.printf("\nnext: git ralph import FILE, or git ralph add \"a first task\"; then git ralph start\n")
	} else {
		a.printf("\nnext: git ralph start\n")
	}
	return nil
}

func orNone(kind string) string {
	if kind == "" || kind == "none" {
		return "plain"
	}
	return kind
}

// ensureJournal begins the journal of the branch when there is none. Any
// command that writes calls it.
func (a *App) ensureJournal(j *journal.Journal) (fresh bool, err error) {
	if tip, err := j.Tip(a.Ctx); err != nil || !tip.IsZero() {
		if err != nil {
			return false, err
		}
		_, err = j.Load(a.Ctx)
		return false, err
	}
	if _, _, err := j.Repo.Identity(a.Ctx); err != nil {
		return false, err
	}
	if err := a.noneElsewhere(j); err != nil {
		return false, err
	}
	if err := a.clearName(j); err != nil {
		return false, err
	}
	base, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return false, err
	}
	in := &state.Init{JournalID: gitstate.NewID(j.Now()), Branch: j.Branch}
	if !base.IsZero() {
		in.Base = base.String()
		if in.Knowledge, in.From, err = a.inherit(j, base); err != nil {
			a.warn("the knowledge of another journal could not be taken over: %v", err)
		}
	}
	_, err = j.Append(a.Ctx, func(s state.State) (state.Event, error) {
		if s.Journal.ID != "" {
			return state.Event{}, journal.ErrNothing
		}
		return state.Event{Type: state.EvInit, Init: in}, nil
	})
	if errors.Is(err, journal.ErrNothing) {
		return false, nil
	}
	return err == nil, err
}

// clearName moves journals out of the way whose branch is gone and whose name
// is a prefix of ours, or the other way round: a ref cannot be file and folder.
func (a *App) clearName(j *journal.Journal) error {
	all, err := journal.Others(a.Ctx, j.Repo)
	if err != nil {
		return err
	}
	for name, tip := range all {
		if !strings.HasPrefix(j.Branch, name+"/") && !strings.HasPrefix(name, j.Branch+"/") {
			continue
		}
		branch, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(name))
		if err != nil {
			return err
		}
		if !branch.IsZero() {
			continue // git itself would not have allowed both branches
		}
		snap, err := j.At(tip)
		if err != nil {
			return err
		}
		archive, err := j.Repo.Anchor(gitstate.ArchiveRef(snap.State.Journal.ID), tip)
		if err != nil {
			return err
		}
		if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: gitstate.JournalRef(name), Old: tip}); err != nil {
			return err
		}
		a.warn("the journal of the branch %s, which is gone, was moved to %s", name, archive)
	}
	return nil
}

// FailpointsCmd is `git ralph failpoints`.
type FailpointsCmd struct{}

// Run lists the steps.
func (FailpointsCmd) Run(a *App) error {
	for _, s := range failpoints() {
		fmt.Fprintln(a.Out, s)
	}
	return nil
}

// VersionCmd is `git ralph version`.
type VersionCmd struct{}

// Run prints it.
func (VersionCmd) Run(a *App) error {
	a.printf("git-ralph %s\n", Version)
	return nil
}
