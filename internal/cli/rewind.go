package cli

import (
	"errors"
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// RewindCmd is `git ralph rewind`.
type RewindCmd struct {
	Number int  `complete:"iterations" arg:"" name:"n" help:"The iteration to go back to; 0 is before the first."`
	DryRun bool `help:"Print what would be taken back; change nothing."`
	Yes    bool `short:"y" help:"Do not ask."`
	JSON   bool `name:"json" help:"Print what was taken back as JSON."`
}

// Help says more.
func (RewindCmd) Help() string {
	return "What was kept after iteration N is taken back by one commit on the branch, and the tasks it finished are " +
		"open again. " +
		"Commits of people stay, nothing is rewritten, and numbers, attempts and spend go on."
}

// Run takes work back.
func (c *RewindCmd) Run(a *App) error {
	if _, err := a.Load(); err != nil {
		return err
	}
	done, err := a.exclusive()
	if err != nil {
		return err
	}
	defer done()
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	e, err := a.engine(set)
	if err != nil {
		return err
	}
	if err := a.recoverRun(a.journal, e, set); err != nil {
		return err
	}
	if _, err := a.repo.Identity(a.Ctx); err != nil {
		return err
	}
	if err := a.unusual(a.Ctx, a.repo, set); err != nil {
		return err
	}
	if files, err := dirty(a.Ctx, a.repo); err != nil {
		return err
	} else if len(files) > 0 {
		return gitstate.Hint(8, "commit or stash them; git ralph rewind takes back only what is committed",
			"tracked files have changes: %s", some(files))
	}
	r := recovery.Rewinder{Repo: a.repo, Journal: a.journal, Engine: e, Prefix: set.Loop.CommitPrefix,
		Sign: a.loopSettings(set).Sign, Log: a.warn, Fail: a.failpoint()}
	if c.DryRun || !c.Yes && terminal(a.In) && terminal(a.Err) {
		r.Ask = func(what state.Rewind) bool { return c.ask(a, what) }
	}
	what, err := r.Run(a.Ctx, c.Number)
	var locked *gitstate.IndexLockedError
	switch {
	case errors.Is(err, recovery.ErrDeclined) && c.DryRun:
		return nil
	case errors.Is(err, recovery.ErrDeclined):
		return &ExitError{Code: 1, Err: errors.New("nothing was changed")}
	case errors.Is(err, journal.ErrNothing):
		what = state.Rewind{To: c.Number}
	case errors.As(err, &locked):
		return gitstate.Hint(1, "try again when it is done", "nothing was changed: %w", err)
	case err != nil:
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]any{"to": what.To, "commit": what.Commit, "reverted": view.List(what.Reverted),
			"not_found": view.List(what.NotFound), "tasks": view.List(what.Tasks)})
	}
	c.tell(a, what)
	return nil
}

// ask says what a rewind takes back, and asks unless nothing shall be done.
func (c *RewindCmd) ask(a *App, what state.Rewind) bool {
	if c.DryRun && c.JSON {
		_ = a.printJSON(map[string]any{"to": what.To, "commit": "", "reverted": view.List(what.Reverted),
			"not_found": view.List(what.NotFound), "tasks": view.List(what.Tasks), "dry_run": true})
		return false
	}
	text := "take back what iteration " + joinNumbers(append(what.Reverted, what.NotFound...)) + " kept, by one commit"
	if len(what.Tasks) > 0 {
		text += ", and open again " + view.JoinIDs(what.Tasks)
	}
	if c.DryRun {
		a.printf("this would %s\n", text)
		return false
	}
	return a.ask(text + "? [y/N] ")
}

func (c *RewindCmd) tell(a *App, what state.Rewind) {
	if len(what.Reverted)+len(what.NotFound) == 0 {
		a.printf("nothing was kept after iteration %d\n", c.Number)
		return
	}
	switch {
	case what.Commit != "":
		a.printf("took back iteration %s in %s\n", joinNumbers(what.Reverted), what.Commit[:12])
	case len(what.Reverted) > 0:
		a.printf("iteration %s left nothing in the branch to take back\n", joinNumbers(what.Reverted))
	}
	if len(what.NotFound) > 0 {
		a.printf("iteration %s is no longer in the branch; the journal records that now\n", joinNumbers(what.NotFound))
	}
	if len(what.Tasks) > 0 {
		a.printf("to be done again: %s\n", view.JoinIDs(what.Tasks))
	}
	a.printf("next: git ralph start\n")
}

func joinNumbers(list []int) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = fmt.Sprint(n)
	}
	return strings.Join(out, ", ")
}

// exclusive takes the branch and the worktree, as a loop does.
func (a *App) exclusive() (done func(), err error) {
	branch, err := a.journal.Repo.LockBranch(a.journal.Branch)
	if err != nil {
		return nil, err
	}
	tree, err := a.journal.Repo.LockWorktree()
	if err != nil {
		branch.Release()
		return nil, err
	}
	return func() { tree.Release(); branch.Release() }, nil
}
