package cli

import (
	"errors"
	"fmt"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
)

// forkEvents are the iterations that only other journals with this id know.
func (a *App) forkEvents(j *journal.Journal, id string) (map[string]bool, error) {
	forks, err := journal.Forks(a.Ctx, j.Repo, id)
	if err != nil {
		return nil, err
	}
	events := map[string]bool{}
	for _, f := range forks {
		if f.Branch == j.Branch {
			continue
		}
		if c := f.State.Run.Current; c != nil {
			events[c.EventID] = true
		}
		events[f.State.Run.Untouched] = true
		err := j.WalkFrom(a.Ctx, f.Tip, func(e journal.Entry) (bool, error) {
			if e.Event.Result != nil {
				events[e.Event.ID] = true
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	// What the journal knows itself is compared with its own entries.
	err = j.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		delete(events, e.Event.ID)
		return len(events) > 0, nil
	})
	return events, err
}

// fromLinked takes over the journal of the branch's linked worktree if that
// one is meant: the branch's journal continues with it.
func (c *AdoptCmd) fromLinked(a *App, j *journal.Journal) (bool, error) {
	if c.Journal != gitstate.LinkedBranch(j.Branch) {
		return false, nil
	}
	at, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(c.Journal))
	if err != nil || at.IsZero() {
		return false, err // an orphan like any other
	}
	fork, err := j.Repo.ReadRef(a.Ctx, gitstate.JournalRef(c.Journal))
	if err != nil || fork.IsZero() {
		return false, err
	}
	tip, err := j.Tip(a.Ctx)
	if err != nil || tip.IsZero() {
		return false, err
	}
	snap, err := j.At(fork)
	if err != nil {
		return true, err
	}
	if now, err := j.At(tip); err != nil || now.State.Journal.ID != snap.State.Journal.ID {
		return false, err
	}
	held, err := j.Repo.LockBranch(c.Journal)
	if err != nil {
		return true, err
	}
	defer held.Release()
	done, err := a.exclusive()
	if err != nil {
		return true, err
	}
	defer done()
	return true, c.goOn(a, j, tip, orphan{name: c.Journal, snap: snap})
}

// goOn fast-forwards a journal to another one with the same id. Diverged
// journals are not joined. The caller holds the locks.
func (c *AdoptCmd) goOn(a *App, j *journal.Journal, tip object.ID, o orphan) error {
	code, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return err
	}
	newer, err := j.Repo.IsAncestor(a.Ctx, tip, o.snap.Tip)
	if err != nil {
		return err
	}
	if !newer {
		older, err := j.Repo.IsAncestor(a.Ctx, o.snap.Tip, tip)
		if err != nil {
			return err
		}
		if older {
			return c.tell(a, j, nil, unchanged)
		}
		return gitstate.Hint(1, fmt.Sprintf(
			"git log %s..%s shows what only the other one has; its tasks: git ralph -C its worktree export",
			tip.String()[:12], o.snap.Tip.String()[:12]),
			"the journals of %s and of %s have diverged", j.Branch, o.label())
	}
	if o.ref == "" {
		err := recovery.CheckJournal(a.Ctx, j.Repo, j, o.snap.State)
		if _, ok := adviceOf(err); ok {
			return gitstate.Hint(1, "git merge --ff-only "+o.name+", then again", "%s does not have the work of %s yet",
				j.Branch, o.name)
		} else if err != nil {
			return err
		}
	}
	ups := []gitstate.RefUpdate{{Name: j.Ref(), Old: tip, New: o.snap.Tip}}
	if tip == o.snap.Tip {
		ups = nil
	}
	if o.ref != "" {
		ups = append(ups, gitstate.RefUpdate{Name: o.ref, Old: o.snap.Tip})
	}
	if len(ups) == 0 {
		return c.tell(a, j, nil, unchanged)
	}
	if err := j.Repo.UpdateRefs("", ups...); err != nil {
		return fmt.Errorf("take over the journal of %s: %w", o.label(), err)
	}
	if k := o.snap.State.Run.LastKeep; o.ref != "" || k == nil || k.Commit == "" {
		return c.record(a, j, o.snap.State, o.label())
	} else if id, err := object.ParseID(k.Commit); err != nil {
		return err
	} else if same, err := j.Repo.IsAncestor(a.Ctx, id, code); err != nil || !same {
		return errors.Join(err, c.record(a, j, o.snap.State, o.label())) // squashed or rebased
	}
	return c.tell(a, j, &state.Operator{ID: o.label(), Kept: o.snap.State.Run.LastKeep}, adopted)
}
