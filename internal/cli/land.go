package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/checks"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
)

// LandCmd is `git ralph land`.
type LandCmd struct {
	DryRun bool     `help:"Print what would come over; run no check, change nothing."`
	Config []string `placeholder:"FILE" sep:"none" help:"Further settings over ralph.toml; may be repeated."`
	Trust  bool     `help:"Trust the ralph.toml of this repository for this call."`
	JSON   bool     `name:"json" help:"Print what landed as JSON."`
}

// Help says more.
func (LandCmd) Help() string {
	return "Brings the work of git ralph start --worktree over: the commits of ralph/BRANCH are put on BRANCH, " +
		"every check runs once more on the result in a fresh checkout, and only when all are green BRANCH, " +
		"its files and its journal move. A conflict or a red check changes nothing."
}

// Run lands.
func (c *LandCmd) Run(a *App) error {
	if c.Trust {
		a.Env = append(a.Env, "RALPH_TRUST=1")
	}
	a.wantsLinked = true
	l, err := a.landHome()
	if err != nil {
		return err
	}
	set, err := a.Settings(nil, c.Config)
	if err != nil {
		return err
	}
	if !c.DryRun {
		if err := a.askTrust(a.Ctx, set, c.JSON); err != nil {
			return err
		}
	}
	ctx, cancel := a.interrupts()
	defer cancel()
	lander, follower, done, err := c.lander(ctx, a, set, l)
	if err != nil {
		return err
	}
	defer done()
	lander.Told = func(p loop.Landing) bool {
		if !c.JSON {
			c.tell(a, l, p)
		}
		return !c.DryRun
	}
	p, err := lander.Run(ctx)
	switch {
	case errors.Is(err, recovery.ErrDeclined):
		err = nil
	case errors.Is(err, context.Canceled):
		return &ExitError{Code: 130}
	case err != nil:
		return err
	default:
		if err := lander.Follow(ctx, follower, p); err != nil {
			a.warn("%s did not follow: %v", l.Root, err)
		}
		if !c.JSON && p.From != p.To {
			a.printf("%s is at %s now\n", l.Of, p.To.String()[:12])
		}
	}
	if err == nil && c.JSON {
		err = a.printJSON(c.doc(l, p))
	}
	return err
}

// lander opens both worktrees, takes their locks and repairs what dead runs left.
func (c *LandCmd) lander(ctx context.Context, a *App, set *config.Resolved, l gitstate.Linked) (*loop.Lander,
	*recovery.Follower, func(), error) {
	fail := func(err error) (*loop.Lander, *recovery.Follower, func(), error) { return nil, nil, nil, err }
	j := a.journal
	if _, err := j.Repo.RepairLinked(l); err != nil {
		return fail(err)
	}
	linked, err := gitstate.Open(ctx, l.Root, a.Env)
	if err != nil {
		return fail(fmt.Errorf("open the linked worktree: %w", err))
	}
	a.closeFunctions = append(a.closeFunctions, func() { linked.Close() })
	lj, err := journal.Open(ctx, linked, l.Branch)
	if err != nil {
		return fail(err)
	}
	free, err := lockAll(func() (*gitstate.Lock, error) { return linked.LockBranch(l.Branch) }, linked.LockWorktree,
		func() (*gitstate.Lock, error) { return j.Repo.LockBranch(j.Branch) }, j.Repo.LockWorktree)
	if err != nil {
		return fail(err)
	}
	ready := func() (*loop.Lander, *recovery.Follower, error) {
		if err := inTheWay(worktree.Unfinished(filesOf(j.Repo))); err != nil {
			return nil, nil, err // the landing would come between it and its end
		}
		e, err := a.engine(set)
		if err != nil {
			return nil, nil, err
		}
		le, err := a.engineOf(linked, set)
		if err != nil {
			return nil, nil, err
		}
		if !c.DryRun {
			if err := errors.Join(a.recoverRun(j, e, set), a.recoverRun(lj, le, set)); err != nil {
				return nil, nil, err
			}
		}
		sandbox, err := a.sandbox(ctx, set, consent(c.JSON))
		if err != nil {
			return nil, nil, err
		}
		lp := &loop.Loop{Engine: e, Prover: checks.NewProver(checkSettings(set), sleep), Settings: a.loopSettings(set),
			Host: session.Host{Repo: j.Repo, Journal: j, Sandbox: sandbox, Log: a.warn, Now: j.Now, Sleep: sleep},
			Fail: a.failpoint()}
		if b, ok := sandbox.(*boundary); ok {
			lp.RunBase = b.runs
		}
		if !c.JSON {
			lp.Emit = func(e session.Live) { a.printf("  %s\n", e.Message) }
		}
		return &loop.Lander{Loop: lp, Linked: lj, Root: l.Root},
			&recovery.Follower{Repo: linked, Journal: lj, Engine: le, Of: l.Of, Log: a.warn, Fail: a.failpoint()}, nil
	}
	lander, follower, err := ready()
	if err != nil {
		free()
		return fail(err)
	}
	return lander, follower, free, nil
}

// lockAll takes several locks, all or none.
func lockAll(take ...func() (*gitstate.Lock, error)) (free func(), err error) {
	var held []*gitstate.Lock
	free = func() {
		for _, l := range held {
			l.Release()
		}
	}
	for _, t := range take {
		l, err := t()
		if err != nil {
			free()
			return nil, err
		}
		held = append(held, l)
	}
	return free, nil
}

// landHome finds the linked worktree that is meant, and makes the worktree where
// its branch is checked out that of this command, wherever it was typed.
func (a *App) landHome() (gitstate.Linked, error) {
	repo, err := a.Repo()
	if err != nil {
		return gitstate.Linked{}, err
	}
	if l, here := repo.LinkedHere(); here {
		root, err := repo.CheckedOutAt(a.Ctx, l.Of)
		if err != nil {
			return l, err
		}
		if root == "" {
			return l, gitstate.Hint(1, "git switch "+l.Of+" in another worktree, then git ralph land there",
				"%s is not checked out anywhere, so its files could not come along", l.Of)
		}
		home, err := gitstate.Open(a.Ctx, root, a.Env)
		if err != nil {
			return l, err
		}
		a.closeFunctions = append(a.closeFunctions, func() { repo.Close() })
		a.repo, a.journal, a.git = home, nil, nil
		_, err = a.Journal()
		return l, err
	}
	j, err := a.Journal()
	if err != nil {
		return gitstate.Linked{}, err
	}
	l, ok, err := repo.LinkedOf(j.Branch)
	if err == nil && (!ok || !l.There()) {
		err = gitstate.Hint(1, "git ralph start --worktree works in one", "%s has no linked worktree of git ralph", j.Branch)
	}
	return l, err
}

func (c *LandCmd) tell(a *App, l gitstate.Linked, p loop.Landing) {
	if n := len(p.Joined); n > 0 {
		a.printf("what only the journal of %s had is applied after that of %s: %s\n", l.Of, l.Branch,
			view.Plural(n, "change"))
	}
	for _, e := range p.Joined {
		if e.Outcome != "applied" {
			a.printf("  %s %s: %s %s\n", e.Type, e.ID, e.Outcome, e.Reason)
		}
		for _, id := range slices.Sorted(maps.Keys(e.Renamed)) {
			a.printf("  %s is %s now\n", id, e.Renamed[id])
		}
	}
	switch {
	case len(p.Commits) == 0 && p.Entry.IsZero():
		a.printf("%s has everything of %s already\n", l.Of, l.Branch)
		return
	case len(p.Commits) == 0:
		a.printf("%s has the code of %s already; its journal comes over\n", l.Of, l.Branch)
		return
	}
	how := "rebased"
	if p.Merge {
		how = "by a merge"
	} else if p.Commits[0].Is == p.Commits[0].Was {
		how = "as they are"
	}
	a.printf("%s of %s for %s, %s:\n", view.Plural(len(p.Commits), "commit"), l.Branch, l.Of, how)
	for _, x := range p.Commits {
		a.printf("  %s %s\n", x.Was.String()[:12], strings.TrimSpace(x.Title))
	}
}

func (c *LandCmd) doc(l gitstate.Linked, p loop.Landing) map[string]any {
	commits := []map[string]string{}
	for _, x := range p.Commits {
		commits = append(commits, map[string]string{"was": x.Was.String(), "is": x.Is.String(), "title": x.Title})
	}
	return map[string]any{"branch": l.Of, "linked": l.Branch, "from": p.From.String(), "to": p.To.String(),
		"commits": commits, "merge": p.Merge, "journal": !p.Entry.IsZero(), "dry_run": c.DryRun}
}

// engineOf opens the engine of another worktree.
func (a *App) engineOf(repo *gitstate.Repo, set *config.Resolved) (*worktree.Engine, error) {
	was := a.repo
	a.repo = repo
	defer func() { a.repo = was }()
	return a.engine(set)
}
