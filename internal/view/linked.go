package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
)

// LinkedDoc is the run in the other one of a branch and its linked worktree.
type LinkedDoc struct {
	Of        string       `json:"of"` // the branch that the linked worktree was made for
	Branch    string       `json:"branch"`
	Worktree  string       `json:"worktree"`
	Status    state.Status `json:"status"`
	Iteration int          `json:"iteration"`
	Running   *RunningDoc  `json:"running"`
	Ahead     int          `json:"ahead"`  // commits that only the linked branch has
	Behind    int          `json:"behind"` // commits that only its origin has
	here      bool
}

// linked is what there is to say of the linked worktree of j's branch,
// nil when there is none.
func (r Reader) linked(ctx context.Context) (*LinkedDoc, error) {
	j := r.Journal
	l, here := j.Repo.LinkedHere()
	if !here {
		var ok bool
		var err error
		if l, ok, err = j.Repo.LinkedOf(j.Branch); err != nil || !ok {
			return nil, err
		}
	}
	d := &LinkedDoc{Of: l.Of, Branch: l.Branch, Worktree: l.Root, here: here}
	holder, alive := r.Holder(ctx, l.Branch) // before the journal, as for the branch itself
	snap, err := (&journal.Journal{Repo: j.Repo, Branch: l.Branch}).Load(ctx)
	if errors.Is(err, journal.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run := snap.State.Run
	d.Status, d.Iteration = run.Status, run.Iteration
	if alive {
		d.Running = &RunningDoc{PID: holder.Pid, Host: holder.Host, Since: holder.Since}
	} else if run.Status == state.Running || run.Status == state.Waiting {
		d.Status = state.Interrupted
	}
	gap, _, err := r.Gap(ctx, l)
	d.Ahead, d.Behind = gap.Ahead, gap.Behind
	return d, err
}

// rows are the lines of status.
func (d *LinkedDoc) rows(branch string, now time.Time) [][]string {
	if d == nil {
		return nil
	}
	if d.here {
		return [][]string{{"  worktree", fmt.Sprintf("linked, for %s: %s that it does not have", d.Of,
			Plural(d.Ahead, "commit"))}}
	}
	what := fmt.Sprintf("%s, iteration %d", d.Status, d.Iteration)
	if d.Running != nil {
		what += fmt.Sprintf(", process %d since %s", d.Running.PID, Ago(d.Running.Since, now))
	}
	return [][]string{{"  beside it", fmt.Sprintf("%s in %s: %s; %s that %s does not have", d.Branch, d.Worktree, what,
		Plural(d.Ahead, "commit"), branch)},
		{"", "git ralph -C " + text.Shell(d.Worktree) + " status"}}
}

// Gap compares the linked branch with its origin, and its journal with the
// origin's.
func (r Reader) Gap(ctx context.Context, l gitstate.Linked) (code, words recovery.Gap, err error) {
	if code, err = r.gapOf(ctx, gitstate.BranchRef(l.Branch), gitstate.BranchRef(l.Of)); err != nil {
		return code, words, err
	}
	words, err = r.gapOf(ctx, gitstate.JournalRef(l.Branch), gitstate.JournalRef(l.Of))
	return code, words, err
}

// gapOf compares two refs, which need not exist. If a ref moves meanwhile and
// git gc removes what it named, gapOf looks again.
func (r Reader) gapOf(ctx context.Context, mine, theirs string) (recovery.Gap, error) {
	repo := r.Journal.Repo
	var last [2]object.ID
	var failed error
	for {
		var ids [2]object.ID
		for i, name := range []string{mine, theirs} {
			var err error
			if ids[i], err = repo.ReadRef(ctx, name); err != nil {
				return recovery.Gap{}, err
			}
		}
		if ids[0].IsZero() || ids[1].IsZero() {
			return recovery.Gap{}, nil
		}
		if failed != nil && ids == last {
			return recovery.Gap{}, failed // nothing moved: it is not there
		}
		gap, err := recovery.GapOf(ctx, repo, ids[0], ids[1])
		if err == nil {
			return gap, nil
		}
		last, failed = ids, err
	}
}
