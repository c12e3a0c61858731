package loop

import (
	"context"
	"errors"
	"fmt"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
)

// landOnMoved puts the difference on top of a commit that a person made
// meanwhile, when the paths do not meet and the checks pass again.
func (l *Loop) landOnMoved(ctx context.Context, it *attempt, j Verdict) error {
	branch, tip, err := l.Repo.Head(l.background())
	if err != nil {
		return err
	}
	moved := func() error {
		evidence, err := it.Store(it.tip, it.after.Tree)
		if err != nil {
			return err
		}
		f, err := l.restoreExceptTheirs(it, tip)
		if err != nil {
			return fmt.Errorf("restore the paths of the attempt: %w", err)
		}
		res := l.result(it.with(f), reject("branch_moved"))
		res.Evidence = evidence.String()
		return l.close(it, res)
	}
	if branch != it.branch || tip == it.tip {
		return moved()
	}
	if ok, err := l.Repo.IsAncestor(l.background(), it.tip, tip); err != nil || !ok {
		return errors.Join(err, moved())
	}
	after := *it.after
	ours, met, err := l.dropTheirs(it, tip)
	if err != nil {
		return err
	}
	after.Changes = ours
	it = it.with(findings{})
	if it.after = &after; met {
		return moved()
	}
	if after.Keep, err = l.rebased(it, tip); err != nil {
		return err
	}
	was := it.tip
	f, err := l.bringTheirs(was, tip)
	if err != nil {
		return err
	}
	f.note("landed on top of %s, which was committed meanwhile", tip.String()[:12])
	it = it.onTop(tip, f)
	p, err := l.prove(ctx, it)
	it.prove(p)
	f, berr := l.bringTheirs(was, tip)
	it = it.with(f)
	if err := errors.Join(err, berr); err != nil {
		return err
	}
	if nv := Judge(it.facts); nv.Verdict != state.Keep {
		return moved()
	}
	if it, err = l.keep(ctx, it, j); !errors.Is(err, gitstate.ErrBranchMoved) {
		return err
	}
	return moved()
}

// dropTheirs are the changes of the attempt without those that a person committed
// meanwhile, and whether they meet the person's paths.
func (l *Loop) dropTheirs(it *attempt, tip object.ID) (ours []worktree.Change, met bool, err error) {
	theirs, err := l.branchChanges(it.tip, tip)
	if err != nil {
		return nil, false, err
	}
	now := map[string]worktree.Side{}
	above := map[string]bool{}
	for _, c := range theirs {
		now[c.Path] = c.New
		for p := text.Parent(c.Path); p != ""; p = text.Parent(p) {
			above[p] = true
		}
	}
	for _, c := range it.after.Changes {
		side, both := now[c.Path]
		if both && side == c.New {
			continue
		}
		ours = append(ours, c)
		met = met || both || above[c.Path]
		for p := text.Parent(c.Path); p != ""; p = text.Parent(p) {
			_, under := now[p]
			met = met || under
		}
	}
	return ours, met, nil
}

// restoreExceptTheirs removes the attempt from the worktree after a person has committed:
// paths of that commit become what the commit has, all others are restored from
// the checkpoint.
func (l *Loop) restoreExceptTheirs(it *attempt, tip object.ID) (f findings, err error) {
	theirs, err := l.branchChanges(it.tip, tip)
	if err != nil {
		return f, err
	}
	committed := map[string]bool{}
	for _, c := range theirs {
		committed[c.Path] = true
	}
	var met, others []string
	for _, c := range it.after.Changes {
		if committed[c.Path] {
			met = append(met, c.Path)
		} else {
			others = append(others, c.Path)
		}
	}
	notices, err := it.MakeWay(others, it.after)
	f.notices = notices
	if err != nil {
		return f, err
	}
	if len(met) == 0 {
		brought, err := l.bringTheirs(it.tip, tip)
		f.add(brought)
		return f, err
	}
	to, err := l.Repo.TreeOf(tip)
	if err != nil {
		return f, err
	}
	_, err = l.Engine.Checkout(l.background(), it.after.Tree, to, met...)
	var left *worktree.RestoreError
	if errors.As(err, &left) {
		for _, failed := range left.Failures {
			f.note("changed by somebody else meanwhile, left as it is: %s", failed.Path)
		}
		err = nil
	}
	brought, berr := l.bringTheirs(it.tip, tip)
	f.add(brought)
	return f, errors.Join(err, berr)
}

// bringTheirs updates the files that a user's commit changed where the worktree
// still has their old version, because an earlier capture may have been restored
// since.
func (l *Loop) bringTheirs(was, tip object.ID) (f findings, err error) {
	err = recovery.MoveFiles(l.background(), l.Engine, was, tip, f.note)
	return f, err
}

func (l *Loop) branchChanges(from, to object.ID) ([]worktree.Change, error) {
	a, err := l.Repo.TreeOf(from)
	if err != nil {
		return nil, err
	}
	b, err := l.Repo.TreeOf(to)
	if err != nil {
		return nil, err
	}
	return worktree.DiffTrees(l.Repo.Store, a, b)
}

// rebased is the tree of tip with the attempt's changes.
func (l *Loop) rebased(it *attempt, tip object.ID) (object.ID, error) {
	base, err := l.Repo.TreeOf(tip)
	if err != nil {
		return object.Zero, err
	}
	edits := map[string]*object.TreeEntry{}
	for _, c := range it.after.Changes {
		if c.New.ID.IsZero() {
			edits[c.Path] = nil
		} else {
			edits[c.Path] = &object.TreeEntry{Mode: c.New.Mode, ID: c.New.ID}
		}
	}
	return l.Repo.EditTree(base, edits)
}
