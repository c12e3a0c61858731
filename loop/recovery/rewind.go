package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/refusal"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Rewinder takes work back: one revert commit on the branch and one entry in
// the journal. The caller holds the locks of branch and worktree and has
// recovered. All fields but Fail are required.
type Rewinder struct {
	Repo    *gitstate.Repo
	Journal *journal.Journal
	Engine  *worktree.Engine
	Prefix  string // of the commit's subject
	Sign    bool
	// Ask is told what would be taken back, before anything is written; false
	// ends the rewind. nil = go on.
	Ask  func(state.Rewind) bool
	Log  func(format string, args ...any)
	Fail func(step string)
}

// ErrDeclined says that a person did not want it. Nothing was changed.
var ErrDeclined = errors.New("declined")

// Run goes back to what the branch was after iteration n; 0 = before the first.
// Commits of people stay. journal.ErrNothing: nothing was kept after n.
func (r *Rewinder) Run(ctx context.Context, n int) (state.Rewind, error) {
	none := state.Rewind{}
	snap, err := r.Journal.Load(ctx)
	if err != nil {
		return none, err
	}
	if n < 0 || n > snap.State.Run.Iteration {
		return none, refusal.New(refusal.NoIteration, "there is no iteration %d", n)
	}
	branch, tip, err := r.Repo.Head(ctx)
	if err != nil {
		return none, err
	}
	kept, last, at, err := r.keptAfter(ctx, n)
	if err != nil {
		return none, err
	}
	if len(kept) == 0 {
		return none, journal.ErrNothing
	}
	in, err := FindKept(ctx, r.Repo, snap.State, tip)
	if err != nil {
		return none, err
	}
	c, found, err := revertible(snap.State, n, kept, last, in)
	if err != nil {
		return none, err
	}
	base, err := r.Repo.TreeOf(tip)
	if err != nil {
		return none, err
	}
	tree, err := r.reverted(ctx, base, found)
	if err != nil {
		return none, err
	}
	if r.Ask != nil && !r.Ask(c) {
		return c, ErrDeclined
	}
	if c.Told, err = r.told(snap.State, kept, at, c); err != nil {
		return none, err
	}
	e := state.Event{Type: state.EvRewind, Rewind: &c}
	r.Journal.Stamp(&e)
	if tree == base {
		_, err := r.Journal.Record(ctx, e)
		return c, err
	}
	conflicts, err := r.Engine.CheckoutConflicts(ctx, base, tree)
	if err != nil {
		return none, err
	}
	if len(conflicts) > 0 {
		return none, refusal.New(refusal.FilesInTheWay, "these files have changes of yours, or are in the way: %s",
			text.List(conflicts))
	}
	commit, err := r.commit(ctx, tree, tip, e)
	if err != nil {
		return none, err
	}
	c.Commit, c.Parent = commit.String(), tip.String()
	return c, r.move(ctx, e, branch, tip, commit, fmt.Sprintf("ralph: rewind to iteration %d", n))
}

// revertible finds the commits of the iterations after n, and the last one before.
func revertible(s state.State, n int, kept, last []journal.Entry, in *KeptCommits) (c state.Rewind,
	found []keptCommit, err error) {
	c.To = n
	for _, e := range kept {
		res := e.Event.Result
		k, ok := in.find(res.Commit, e.Event.ID)
		if !ok {
			c.NotFound = append(c.NotFound, e.Event.Iteration)
		} else if !slices.ContainsFunc(found, func(f keptCommit) bool { return f.id == k.id }) {
			found = append(found, k)
			c.Reverted = append(c.Reverted, e.Event.Iteration)
		} else {
			c.Reverted = append(c.Reverted, e.Event.Iteration)
		}
		if t := e.Event.Task; t != "" && !slices.Contains(c.Tasks, t) && stillDone(s, t) {
			c.Tasks = append(c.Tasks, t)
		}
	}
	for _, e := range last {
		if k, ok := in.find(e.Event.Result.Commit, e.Event.ID); ok {
			if slices.ContainsFunc(found, func(f keptCommit) bool { return f.id == k.id }) {
				return c, nil, refusal.New(refusal.SharedCommit, "the commit %s holds iteration %d as well as later ones",
					k.id.String()[:12],
					e.Event.Iteration)
			}
			c.LastKept = &state.Kept{EventID: e.Event.ID, Iteration: e.Event.Iteration, Parent: e.Event.Result.Parent,
				Commit: k.id.String(), Evidence: e.Event.Result.Evidence}
			break
		}
	}
	return c, found, nil
}

// Reset begins a new plan, of which these tasks are no part: one commit that
// removes the specs (none: there are none in the branch) and one entry, both or
// neither.
func (r *Rewinder) Reset(ctx context.Context, specs []string, tasks []plan.TaskID) error {
	e := state.Event{Type: state.EvOperator, Operator: &state.Operator{Command: "reset", Tasks: tasks}}
	if len(specs) == 0 {
		_, err := r.Journal.Record(ctx, e)
		return err
	}
	snap, err := r.Journal.Load(ctx)
	if err != nil {
		return err
	}
	branch, tip, tree, err := r.Without(ctx, specs)
	if err != nil {
		return err
	}
	r.Journal.Stamp(&e)
	msg := fmt.Sprintf("Remove the specs of a plan that was given up\n\nRalph-Event-Id: %s\n", e.ID)
	commit, err := r.commitTree(ctx, tree, tip, msg)
	if err != nil {
		return err
	}
	e.Operator.Kept = &state.Kept{EventID: e.ID, Iteration: snap.State.Run.Iteration, Parent: tip.String(),
		Commit: commit.String(), Rewind: true, Reset: true}
	return r.move(ctx, e, branch, tip, commit, "ralph: reset")
}

// Without is the tree of the branch without some specs; a refusal where the worktree holds
// changes of them that nobody has committed.
func (r *Rewinder) Without(ctx context.Context, specs []string) (branch string, tip, tree object.ID, err error) {
	branch, tip, err = r.Repo.Head(ctx)
	if err != nil {
		return "", tip, tree, err
	}
	base, err := r.Repo.TreeOf(tip)
	if err != nil {
		return "", tip, tree, err
	}
	gone := map[string]*object.TreeEntry{}
	for _, path := range specs {
		gone[path] = nil
	}
	if tree, err = r.Repo.EditTree(base, gone); err != nil {
		return "", tip, tree, err
	}
	conflicts, err := r.Engine.CheckoutConflicts(ctx, base, tree)
	if err == nil && len(conflicts) > 0 {
		err = refusal.New(refusal.SpecsChanged, "these specs have changes of yours: %s", text.List(conflicts))
	}
	return branch, tip, tree, err
}

// stillDone reports whether the task counts as done, so that reverting its work
// opens it again.
func stillDone(s state.State, id plan.TaskID) bool {
	i := s.Plan.Find(id)
	return i >= 0 && s.Plan.Tasks[i].Status == plan.Done
}

// told is what agents are told after the rewind: what was known when the
// iteration to go back to ended, and what people wrote since.
func (r *Rewinder) told(s state.State, taken []journal.Entry, at object.ID, c state.Rewind) (*state.Told, error) {
	t := &state.Told{Withdrawn: notes.SinceIteration(s.Knowledge, c.To)}
	if !at.IsZero() {
		then, err := r.Journal.At(at)
		if err != nil {
			return nil, err
		}
		t.Handoff, t.Recent = then.State.Handoff, then.State.Recent
	}
	for _, e := range taken {
		if i := s.Plan.Find(e.Event.Task); i >= 0 && e.Event.Result.Partial {
			if t.Steps == nil {
				t.Steps = map[plan.TaskID]int{}
			}
			left, ok := t.Steps[e.Event.Task]
			if !ok {
				left = s.Plan.Tasks[i].Partial
			}
			t.Steps[e.Event.Task] = max(0, left-1)
		}
	}
	c.Told = t
	after, _ := state.Apply(s, state.Event{Type: state.EvRewind, Rewind: &c})
	t.Memory = state.MemoryUpTo(after, s.Memory["session"], c.To)
	return t, nil
}

// keptAfter returns the entries of kept iterations after n that no earlier
// rewind reverted, newest first; those up to n that may be the newest kept one;
// and the entry of the newest iteration up to n, kept or not.
func (r *Rewinder) keptAfter(ctx context.Context, n int) (after, upTo []journal.Entry, at object.ID, err error) {
	limit := int(^uint(0) >> 1)
	err = r.Journal.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if ev := e.Event; ev.Result != nil && ev.Iteration <= min(limit, n) && at.IsZero() {
			at = e.ID
		}
		switch ev := e.Event; {
		case ev.Rewind != nil:
			limit = min(limit, ev.Rewind.To)
			if limit < n {
				return false, refusal.New(refusal.TakenBack, "iteration %d was itself taken back, by a rewind to iteration %d", n,
					limit)
			}
		case ev.Result != nil && ev.Result.Landed && ev.Iteration <= limit:
			if ev.Iteration > n {
				after = append(after, e)
			} else {
				upTo = append(upTo, e)
			}
		}
		return len(upTo) < 50, nil
	})
	return after, upTo, at, err
}

// reverted is the tree without the changes of commits, which are given newest
// first. Commits that follow each other go back in one step; a commit of a
// person in between is merged around.
func (r *Rewinder) reverted(ctx context.Context, tree object.ID, commits []keptCommit) (object.ID, error) {
	for len(commits) > 0 {
		n := 1
		for n < len(commits) && commits[n-1].parent == commits[n].id {
			n++
		}
		theirs, err := r.Repo.TreeOf(commits[0].id)
		if err != nil {
			return tree, err
		}
		before, err := r.Repo.TreeOf(commits[n-1].parent)
		if err != nil {
			return tree, err
		}
		if tree == theirs {
			tree = before
		} else if tree, err = r.merge(ctx, theirs, tree, before); err != nil {
			return tree, err
		}
		commits = commits[n:]
	}
	return tree, nil
}

// merge is mergeTrees for a revert.
func (r *Rewinder) merge(ctx context.Context, base, ours, theirs object.ID) (object.ID, error) {
	tree, names, err := MergeTrees(ctx, r.Repo, base, ours, theirs)
	if len(names) > 0 {
		err = refusal.New(refusal.LinesChanged, "a commit of somebody else changed the same lines since: %s",
			text.List(names))
	}
	return tree, err
}

func (r *Rewinder) commit(ctx context.Context, tree, parent object.ID, e state.Event) (object.ID, error) {
	return r.commitTree(ctx, tree, parent,
		fmt.Sprintf("%s: rewind to iteration %d\n\nTakes back what was kept after it: %s.\n\nRalph-Rewind: "+
			"%d\nRalph-Event-Id: %s\n",
			cmp.Or(r.Prefix, "ralph"), e.Rewind.To, numbers(e.Rewind.Reverted), e.Rewind.To, e.ID))
}

func (r *Rewinder) commitTree(ctx context.Context, tree, parent object.ID, msg string) (object.ID, error) {
	if tree == object.EmptyTree {
		if _, err := r.Repo.Store.Write(object.Tree, nil); err != nil {
			return object.Zero, err
		}
	}
	id, err := r.Repo.Commit(ctx, msg, gitstate.Signing(r.Sign), tree, parent)
	if err == nil {
		err = r.Repo.Store.Sync()
	}
	if err != nil {
		return object.Zero, fmt.Errorf("make the revert: %w", err)
	}
	return id, nil
}

func numbers(list []int) string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = fmt.Sprint(n)
	}
	return strings.Join(out, ", ")
}

// move carries out the revert like a keep: the journal's move is the commit
// point. After a crash recovery finishes the rest.
func (r *Rewinder) move(ctx context.Context, e state.Event, branch string, tip, commit object.ID, why string) error {
	var next *journal.Snapshot
	err := r.Repo.Keep(ctx, gitstate.Keep{
		EventID: e.ID, JournalRef: r.Journal.Ref(), BranchRef: gitstate.BranchRef(branch), Parent: tip, Commit: commit,
		Message: why, Deadline: 10 * time.Second, Fail: r.Fail,
		Entry: func() (object.ID, object.ID, error) {
			snap, err := r.Journal.Load(ctx)
			if err != nil {
				return object.Zero, object.Zero, err
			}
			if next, err = r.Journal.Draft(ctx, snap, e); err != nil {
				return object.Zero, object.Zero, err
			}
			return snap.Tip, next.Tip, nil
		},
		WriteIndex: func(lock *os.File) error { return r.Engine.UpdateIndex(ctx, lock, tip, commit) },
		Note:       func() error { return MoveFiles(ctx, r.Engine, tip, commit, r.Log) },
	})
	var late *gitstate.NoteError
	if errors.As(err, &late) {
		return fmt.Errorf("the branch was moved, and its files not all: %w", late.Err)
	}
	if err == nil {
		r.Journal.Moved(next)
	}
	return err
}

// MoveFiles writes the files of a revert that is in the branch already. A file
// that is neither the old nor the new one is a person's: it stays and is named.
func MoveFiles(ctx context.Context, e *worktree.Engine, from, to object.ID, log func(string, ...any)) error {
	report, err := e.FinishCheckout(ctx, from, to)
	if err != nil {
		return err
	}
	if len(report.Left) > 0 {
		log("left as they are: %s", text.List(report.Left))
	}
	return nil
}
