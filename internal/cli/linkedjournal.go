package cli

import (
	"errors"
	"fmt"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop"
)

// linkedDoc is the run in the other one of a branch and its linked worktree.
type linkedDoc struct {
	Of        string       `json:"of"` // the branch that the linked worktree was made for
	Branch    string       `json:"branch"`
	Worktree  string       `json:"worktree"`
	Status    state.Status `json:"status"`
	Iteration int          `json:"iteration"`
	Running   *runningDoc  `json:"running"`
	Ahead     int          `json:"ahead"`  // commits that only the linked branch has
	Behind    int          `json:"behind"` // commits that only its origin has
	here      bool
}

// linkedStatus is what there is to say of the linked worktree of j's branch,
// nil when there is none.
func (a *App) linkedStatus(j *journal.Journal) (*linkedDoc, error) {
	l, here := j.Repo.LinkedHere()
	if !here {
		var ok bool
		var err error
		if l, ok, err = j.Repo.LinkedOf(j.Branch); err != nil || !ok {
			return nil, err
		}
	}
	d := &linkedDoc{Of: l.Of, Branch: l.Branch, Worktree: l.Root, here: here}
	holder, alive := a.holder(j, l.Branch) // before the journal, as for the branch itself
	snap, err := (&journal.Journal{Repo: j.Repo, Branch: l.Branch}).Load(a.Ctx)
	if errors.Is(err, journal.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := snap.State.Run
	d.Status, d.Iteration = r.Status, r.Iteration
	if alive {
		d.Running = &runningDoc{PID: holder.Pid, Host: holder.Host, Since: holder.Since}
	} else if r.Status == state.Running || r.Status == state.Waiting {
		d.Status = state.Interrupted
	}
	gap, _, err := a.linkedGap(l)
	d.Ahead, d.Behind = gap.Ahead, gap.Behind
	return d, err
}

// rows are the lines of status.
func (d *linkedDoc) rows(branch string, now time.Time) [][]string {
	if d == nil {
		return nil
	}
	if d.here {
		return [][]string{{"  worktree", fmt.Sprintf("linked, for %s: %s that it does not have", d.Of,
			plural(d.Ahead, "commit"))}}
	}
	what := fmt.Sprintf("%s, iteration %d", d.Status, d.Iteration)
	if d.Running != nil {
		what += fmt.Sprintf(", process %d since %s", d.Running.PID, ago(d.Running.Since, now))
	}
	return [][]string{{"  beside it", fmt.Sprintf("%s in %s: %s; %s that %s does not have", d.Branch, d.Worktree, what,
		plural(d.Ahead, "commit"), branch)},
		{"", "git ralph -C " + text.Shell(d.Worktree) + " status"}}
}

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

// fromLinked takes over the journal of the branch's linked worktree when that
// is the one meant: the branch's own goes on there.
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

// goOn moves a journal on to another one with the same id that went on from
// it. Two that went on apart are not joined. The caller holds the locks.
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
			return c.tell(a, j, nil, false)
		}
		return gitstate.Hint(1, fmt.Sprintf(
			"git log %s..%s shows what only the other one has; its tasks: git ralph -C its worktree export",
			tip.String()[:12], o.snap.Tip.String()[:12]),
			"the journals of %s and of %s have diverged", j.Branch, o.label())
	}
	if o.ref == "" {
		err := loop.CheckJournal(a.Ctx, j.Repo, j, o.snap.State)
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
		return c.tell(a, j, nil, false)
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
	return c.tell(a, j, &state.Operator{ID: o.label(), Kept: o.snap.State.Run.LastKeep}, true)
}
