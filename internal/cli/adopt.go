package cli

import (
	"maps"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// AdoptCmd is `git ralph adopt`.
type AdoptCmd struct {
	Journal string `arg:"" optional:"" help:"The journal to take: the branch it was of, or its id. Without one, the present one, or the only one without a branch."`
	JSON    bool   `name:"json" help:"Print what was adopted as JSON."`
}

// Help says more.
func (AdoptCmd) Help() string {
	return "After the branch was moved by hand (reset, rebase), adopt makes the journal go on from the branch as it is: " +
		"done tasks stay done. " +
		"After a branch was renamed, deleted or made again, adopt takes over the journal that it left behind; one in its " +
		"place is archived, never lost."
}

// orphan is a journal whose branch is gone.
type orphan struct {
	name string // of the branch, or "" when it is archived
	ref  string
	snap *journal.Snapshot
}

func (o orphan) label() string {
	if o.name != "" {
		return o.name
	}
	return o.snap.State.Journal.ID
}

// Run adopts.
func (c *AdoptCmd) Run(a *App) error {
	j, err := a.Journal()
	if err != nil {
		return err
	}
	tip, err := j.Tip(a.Ctx)
	if err != nil {
		return err
	}
	if c.Journal == "" && !tip.IsZero() {
		return c.present(a, j)
	}
	if forked, err := c.fromLinked(a, j); forked || err != nil {
		return err
	}
	all, err := a.orphans(j)
	if err != nil {
		return err
	}
	chosen, err := c.choose(a, j, all)
	if err != nil {
		return err
	}
	return c.take(a, j, tip, chosen)
}

// present goes on from the branch as it is.
func (c *AdoptCmd) present(a *App, j *journal.Journal) error {
	done, err := a.exclusive()
	if err != nil {
		return err
	}
	defer done()
	if _, err := a.writable(); err != nil {
		return err
	}
	snap, err := j.Load(a.Ctx)
	if err != nil {
		return err
	}
	return c.record(a, j, snap.State, "")
}

// record notes which kept commit is the newest that the branch has.
func (c *AdoptCmd) record(a *App, j *journal.Journal, s state.State, from string) error {
	at, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return err
	}
	in, err := recovery.FindKept(a.Ctx, j.Repo, s, at)
	if err != nil {
		return err
	}
	op := state.Operator{Command: "adopt", ID: from, Branch: j.Branch}
	if k := s.Run.LastKeep; k != nil {
		if commit, ok := in.Has(k.Commit, k.EventID); ok {
			same := *k
			same.Commit = commit
			op.Kept = &same
		} else if op.Kept, err = newestKept(a, j, in); err != nil {
			return err
		}
		if op.Kept != nil && *op.Kept == *k && from == "" {
			return c.tell(a, j, nil, unchanged)
		}
	} else if from == "" {
		return c.tell(a, j, nil, unchanged)
	}
	if _, err := j.Record(a.Ctx, operator(op)); err != nil {
		return err
	}
	return c.tell(a, j, &op, adopted)
}

func newestKept(a *App, j *journal.Journal, in *recovery.KeptCommits) (k *state.Kept, err error) {
	err = j.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if r := e.Event.Result; r != nil && r.Landed {
			if commit, ok := in.Has(r.Commit, e.Event.ID); ok {
				k = &state.Kept{EventID: e.Event.ID, Iteration: e.Event.Iteration, Parent: r.Parent, Commit: commit,
					Evidence: r.Evidence}
			}
		}
		return k == nil, nil
	})
	return k, err
}

// adoption says whether the journal was changed.
type adoption bool

const (
	adopted   adoption = true
	unchanged adoption = false
)

func (c *AdoptCmd) tell(a *App, j *journal.Journal, op *state.Operator, changed adoption) error {
	if c.JSON {
		d := map[string]any{"branch": j.Branch, "changed": bool(changed), "from": "", "last_kept": nil}
		if op != nil {
			d["from"] = op.ID
			if op.Kept != nil {
				d["last_kept"] = map[string]any{"iteration": op.Kept.Iteration, "commit": op.Kept.Commit}
			}
		}
		return a.printJSON(d)
	}
	if changed == unchanged {
		a.printf("%s and its journal belong together already\n", j.Branch)
		return nil
	}
	if op.ID != "" {
		a.printf("%s has the journal of %s now\n", j.Branch, op.ID)
	}
	if op.Kept != nil {
		a.printf("the newest kept commit in %s is that of iteration %d, %s\n", j.Branch, op.Kept.Iteration,
			op.Kept.Commit[:12])
	} else {
		a.printf("%s has no kept commit\n", j.Branch)
	}
	a.printf("next: git ralph start; git ralph retry ID reopens a task whose work is gone\n")
	return nil
}

// orphans lists the journals that no branch claims.
func (a *App) orphans(j *journal.Journal) ([]orphan, error) {
	heads, err := journal.Others(a.Ctx, j.Repo)
	if err != nil {
		return nil, err
	}
	var out []orphan
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		if at, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(name)); err != nil {
			return nil, err
		} else if !at.IsZero() || name == j.Branch {
			continue
		}
		snap, err := j.At(heads[name])
		if err != nil {
			return nil, err
		}
		out = append(out, orphan{name, gitstate.JournalRef(name), snap})
	}
	archived, err := j.Repo.ListRefs(a.Ctx, gitstate.ArchivePrefix)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(archived)) {
		snap, err := j.At(archived[ref])
		if err != nil {
			return nil, err
		}
		out = append(out, orphan{"", ref, snap})
	}
	return out, nil
}

// choose finds the journal that is meant.
func (c *AdoptCmd) choose(a *App, j *journal.Journal, all []orphan) (orphan, error) {
	var fit, names []string
	var found []orphan
	for _, o := range all {
		s := o.snap.State
		names = append(names, o.label()+" (of "+s.Journal.Branch+", "+view.Plural(s.Run.Iteration, "iteration")+")")
		if c.Journal == "" || c.Journal == o.name || c.Journal == s.Journal.ID || c.Journal == s.Journal.Branch {
			fit, found = append(fit, o.label()), append(found, o)
		}
	}
	switch {
	case len(all) == 0:
		return orphan{}, gitstate.Hint(1, "git ralph init begins a journal on "+j.Branch,
			"there is no journal without a branch")
	case len(found) == 0:
		if at, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(c.Journal)); err == nil && !at.IsZero() {
			return orphan{}, gitstate.Hint(1, "git switch "+c.Journal+" works with it there",
				"the journal of %s has its branch", c.Journal)
		}
		return orphan{}, gitstate.Hint(1, "without a branch: "+strings.Join(names, "; "),
			"there is no journal %q without a branch", c.Journal)
	case len(found) > 1:
		return orphan{}, gitstate.Hint(1, "git ralph adopt NAME, one of: "+strings.Join(names, "; "),
			"several journals match: %s", strings.Join(fit, ", "))
	}
	return found[0], nil
}

// take moves a journal under the present branch's name. At every moment some
// ref holds each of the journals: a crash between two steps loses nothing.
func (c *AdoptCmd) take(a *App, j *journal.Journal, tip object.ID, o orphan) error {
	done, err := a.exclusive()
	if err != nil {
		return err
	}
	defer done()
	s, id := o.snap.State, o.snap.State.Journal.ID
	archive := o.ref
	if !tip.IsZero() {
		if now, err := j.At(tip); err != nil {
			return err
		} else if now.State.Journal.ID == id {
			return c.goOn(a, j, tip, o)
		}
	}
	if o.name != "" {
		archive = gitstate.ArchiveRef(id)
		lock, err := j.Repo.LockBranch(o.name)
		if err != nil {
			return err
		}
		defer lock.Release()
		if archive, err = j.Repo.Anchor(archive, o.snap.Tip); err != nil {
			return err
		}
		if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: o.ref, Old: o.snap.Tip}); err != nil {
			return err
		}
	}
	if !tip.IsZero() {
		now, err := j.At(tip)
		if err != nil {
			return err
		}
		ref, err := j.Repo.Anchor(gitstate.ArchiveRef(now.State.Journal.ID), tip)
		if err != nil {
			return err
		}
		if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: tip}); err != nil {
			return err
		}
		a.warn("the old journal of %s is in %s", j.Branch, ref)
	}
	err = j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), New: o.snap.Tip},
		gitstate.RefUpdate{Name: archive, Old: o.snap.Tip})
	if err != nil {
		return gitstate.Hint(1, "git ralph adopt "+id+" tries again", "the journal is in %s now: %w", archive, err)
	}
	return c.record(a, j, s, o.label())
}
