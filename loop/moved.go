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
		if err := l.restoreExceptTheirs(it, tip); err != nil {
			return fmt.Errorf("restore the paths of the attempt: %w", err)
		}
		res := l.result(it, reject("branch_moved"))
		res.Evidence = evidence.String()
		return l.close(it, res)
	}
	if branch != it.branch || tip == it.tip {
		return moved()
	}
	if ok, err := l.Repo.IsAncestor(l.background(), it.tip, tip); err != nil || !ok {
		return errors.Join(err, moved())
	}
	met, err := l.dropTheirs(it, tip)
	if err != nil {
		return err
	}
	if met {
		return moved()
	}
	if it.after.Keep, err = l.rebased(it, tip); err != nil {
		return err
	}
	if err := l.bringTheirs(it, it.tip, tip); err != nil {
		return err
	}
	was, on := it.tip, *it.Ready
	on.tip, on.landing = tip, true
	it.Ready = &on
	it.notice("landed on top of %s, which was committed meanwhile", tip.String()[:12])
	if err := errors.Join(l.prove(ctx, it), l.bringTheirs(it, was, tip)); err != nil {
		return err
	}
	if nv := Judge(it.facts); nv.Verdict != state.Keep {
		return moved()
	}
	if err := l.keep(ctx, it, j); !errors.Is(err, gitstate.ErrBranchMoved) {
		return err
	}
	return moved()
}

// dropTheirs takes out of the attempt what a person committed meanwhile, and
// says whether what is left meets the person's paths.
func (l *Loop) dropTheirs(it *attempt, tip object.ID) (bool, error) {
	theirs, err := l.branchChanges(it.tip, tip)
	if err != nil {
		return false, err
	}
	now := map[string]worktree.Side{}
	above := map[string]bool{}
	for _, c := range theirs {
		now[c.Path] = c.New
		for p := text.Parent(c.Path); p != ""; p = text.Parent(p) {
			above[p] = true
		}
	}
	var ours []worktree.Change
	met := false
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
	it.after.Changes = ours
	return met, nil
}

// restoreExceptTheirs removes the attempt from the worktree after a person has committed:
// paths of that commit become what the commit has, all others are restored from
// the checkpoint.
func (l *Loop) restoreExceptTheirs(it *attempt, tip object.ID) error {
	theirs, err := l.branchChanges(it.tip, tip)
	if err != nil {
		return err
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
	it.notices = recovery.Noted(it.notices, notices...)
	if err != nil {
		return err
	}
	if len(met) == 0 {
		return l.bringTheirs(it, it.tip, tip)
	}
	to, err := l.Repo.TreeOf(tip)
	if err != nil {
		return err
	}
	_, err = l.Engine.Checkout(l.background(), it.after.Tree, to, met...)
	var left *worktree.RestoreError
	if errors.As(err, &left) {
		for _, f := range left.Failures {
			it.notice("changed by somebody else meanwhile, left as it is: %s", f.Path)
		}
		err = nil
	}
	return errors.Join(err, l.bringTheirs(it, it.tip, tip))
}

// bringTheirs writes what a commit of a person changed where the worktree still has
// what was before it: a capture of an earlier moment may have been put back since.
func (l *Loop) bringTheirs(it *attempt, was, tip object.ID) error {
	return recovery.MoveFiles(l.background(), l.Engine, was, tip, it.notice)
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
