package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/view"
)

// RestoreCmd is `git ralph restore`.
type RestoreCmd struct {
	Number int      `complete:"iterations" arg:"" name:"n" help:"The iteration."`
	Paths  []string `complete:"files" arg:"" optional:"" name:"path" help:"Only these files or folders; also what was yours, changed back at the end of the iteration or moved aside."`
	Before bool     `help:"What the iteration started from instead of what it left."`
	Branch string   `placeholder:"NAME" help:"Make a branch of it instead of changing the worktree."`
	JSON   bool     `name:"json" help:"Print what was done as JSON."`

	yours []string // tracked files that had changes before
}

// Help says more.
func (RestoreCmd) Help() string {
	return "Files of the worktree become what the attempt left; nothing is staged or committed, so git diff shows it " +
		"and git restore . takes it back. " +
		"Files that have changes of yours are never overwritten: a path that is named comes back, and what lies in its " +
		"place is moved aside."
}

// Run brings an attempt back.
func (c *RestoreCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	if len(c.Paths) > 0 && (c.Before || c.Branch != "") {
		return usage("git ralph restore N -- PATH", "paths go with neither --before nor --branch")
	}
	if c.Branch != "" {
		e, err := a.reader().Iteration(a.Ctx, s, c.Number)
		if err != nil {
			return err
		}
		return c.branch(a, s, e)
	}
	lock, err := a.journal.Repo.LockWorktree()
	if err != nil {
		return err
	}
	defer lock.Release()
	j, err := a.writable()
	if err != nil {
		return err
	}
	e, err := a.reader().Iteration(a.Ctx, s, c.Number)
	if err != nil {
		return err
	}
	if c.Before {
		if done, err := c.checkpoint(a, j, s, e); done || err != nil {
			return err
		}
	}
	before, after, err := a.reader().Attempt(a.Ctx, s, e)
	if err != nil {
		return err
	}
	if c.Before {
		return c.files(a, before, nil)
	}
	found, err := a.found(s, e)
	if err != nil {
		return err
	}
	if len(c.Paths) > 0 {
		return c.paths(a, before, after, found)
	}
	return c.files(a, after, found)
}

// checkpoint restores the stored checkpoint of an iteration whose worktree was
// left alone after a crash: modes, empty folders and ignored files, too.
func (c *RestoreCmd) checkpoint(a *App, j *journal.Journal, s state.State, e journal.Entry) (bool, error) {
	at, err := j.Repo.ReadRef(a.Ctx, gitstate.LocalRef(s.Journal.ID, e.Event.ID))
	if err != nil || at.IsZero() {
		return false, err
	}
	tree, err := j.Repo.TreeOf(at)
	if err != nil {
		return true, err
	}
	set, err := a.Settings(nil, nil)
	if err != nil {
		return true, err
	}
	engine, err := a.engine(set)
	if err != nil {
		return true, err
	}
	cp, err := engine.Load(a.Ctx, tree)
	if err != nil {
		return true, fmt.Errorf("read the checkpoint: %w", err)
	}
	// The files there are the attempt, which the evidence holds, or a person's
	// later changes, which are moved aside. Commits since then stay.
	keep := worktree.Keeper{Event: e.Event.ID}
	capture, err := engine.Capture(a.Ctx, cp)
	if err != nil {
		return true, fmt.Errorf("look at what is there: %w", err)
	}
	if _, after, err := a.reader().Attempt(a.Ctx, s, e); err == nil && after == capture.Tree {
		keep.Known = capture
	}
	head, err := a.repo.HeadCommit(a.Ctx)
	if err != nil {
		return true, err
	}
	report, err := engine.RestoreOn(a.Ctx, cp, head, keep)
	if err != nil {
		return true, err
	}
	return true, c.tell(a, report)
}

// files moves the worktree from the branch's tip to a tree, and brings what was
// found besides.
func (c *RestoreCmd) files(a *App, to object.ID, found []worktree.Saved) error {
	head, err := a.repo.HeadCommit(a.Ctx)
	if err != nil {
		return err
	}
	from, err := a.repo.TreeOf(head)
	if err != nil {
		return err
	}
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	engine, err := a.engine(set)
	if err != nil {
		return err
	}
	c.yours, err = dirty(a.Ctx, a.repo)
	if err != nil {
		return err
	}
	report, err := engine.Checkout(a.Ctx, from, to)
	var re *worktree.RestoreError
	if errors.As(err, &re) {
		var names []string
		for _, f := range re.Failures {
			names = append(names, f.Path)
		}
		shown := strings.Join(names[:min(len(names), 10)], ", ")
		return gitstate.Hint(1,
			"git stash --include-untracked, or commit them; or --branch NAME, which leaves the worktree alone",
			"nothing was changed, because these files have changes: %s", shown)
	}
	if err != nil {
		return err
	}
	ready, later := unclaimed(a, found, report.Restored)
	if len(ready) > 0 {
		more, err := engine.Bring(a.Ctx, ready, gitstate.NewID(time.Now()))
		report.Restored = append(report.Restored, more.Restored...)
		report.Saved = append(report.Saved, more.Saved...)
		if err != nil {
			return err
		}
	}
	if err := c.tell(a, report); err != nil || c.JSON {
		return err
	}
	if len(later) > 0 {
		a.printf("left out, because your files are in their place: %s\n", strings.Join(later[:min(len(later), 10)], ", "))
		a.printf("git ralph restore %d -- PATH brings one anyway and moves yours aside\n", c.Number)
	}
	return nil
}

func (c *RestoreCmd) tell(a *App, r worktree.Report) error {
	if c.JSON {
		return a.printJSON(map[string]any{"iteration": c.Number, "before": c.Before, "restored": view.List(r.Restored),
			"removed": view.List(r.Removed)})
	}
	what := "left"
	if c.Before {
		what = "started from"
	}
	if len(r.Restored)+len(r.Removed) == 0 {
		a.printf("the worktree is what iteration %d %s already\n", c.Number, what)
		return nil
	}
	a.printf("the worktree is what iteration %d %s: %s written, %d removed\n", c.Number, what,
		view.Plural(len(r.Restored), "file"), len(r.Removed))
	c.tellAside(a, r)
	if len(c.yours) > 0 {
		a.printf("git diff shows it together with your own changes, which were not touched: %s\n", some(c.yours))
		a.printf("git restore -- PATH takes one file back; git restore . would take yours back, too\n")
		return nil
	}
	a.printf("git diff shows it; git restore . && git clean -i takes it back\n")
	return nil
}

// branch makes a commit of the attempt on top of where it started, and a
// branch of that.
func (c *RestoreCmd) branch(a *App, s state.State, e journal.Entry) error {
	if err := a.branchName(c.Branch); err != nil {
		return err
	}
	ref := gitstate.BranchRef(c.Branch)
	if at, err := a.repo.ReadRef(a.Ctx, ref); err != nil {
		return err
	} else if !at.IsZero() {
		return gitstate.Hint(1, "choose another name, or git branch -D "+c.Branch, "the branch %s exists", c.Branch)
	}
	before, after, err := a.reader().Attempt(a.Ctx, s, e)
	if err != nil {
		return err
	}
	parent := e.Event.Result.Parent
	if parent == "" {
		if ev, err := a.reader().Evidence(a.Ctx, s, e); err == nil && !ev.IsZero() {
			if commit, err := a.repo.Store.ReadCommit(ev); err == nil && len(commit.Parents) > 0 {
				parent = commit.Parents[0].String()
			}
		}
	}
	tip := parent
	if !c.Before || tip == "" {
		if c.Before {
			after = before
		}
		args := []string{after.String()}
		if parent != "" {
			args = append(args, "-p", parent)
		}
		if s := a.gitBool("commit.gpgsign"); !s {
			args = append(args, "--no-gpg-sign")
		}
		title := fmt.Sprintf("what iteration %d left", c.Number)
		if e.Event.Task != "" {
			title += ": " + string(e.Event.Task) + " " + e.Event.Result.Title
		}
		msg := fmt.Sprintf("%s\n\nRalph-Iteration: %d\nRalph-Event-Id: %s\n", title, c.Number, e.Event.ID)
		id, err := a.repo.CommitTree(a.Ctx, msg, args...)
		if err != nil {
			return fmt.Errorf("make the commit: %w", err)
		}
		tip = id.String()
	}
	id, err := object.ParseID(tip)
	if err != nil {
		return err
	}
	if err := a.repo.UpdateRefs("ralph: restore iteration "+fmt.Sprint(c.Number),
		gitstate.RefUpdate{Name: ref, New: id}); err != nil {
		return fmt.Errorf("make the branch %s: %w", c.Branch, err)
	}
	if c.JSON {
		return a.printJSON(map[string]any{"iteration": c.Number, "before": c.Before, "branch": c.Branch, "commit": tip})
	}
	a.printf("%s is at %s: git switch %s\n", c.Branch, tip[:12], c.Branch)
	return nil
}
