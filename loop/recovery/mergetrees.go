package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// MergeTrees is a three-way merge of trees by git's own merge; conflicts are the
// paths that do not join. git merges commits, so that each tree gets one that
// nothing points to.
func MergeTrees(ctx context.Context, repo *gitstate.Repo, base, ours, theirs object.ID) (
	tree object.ID, conflicts []string, err error) {
	switch {
	case ours == base, ours == theirs:
		return theirs, nil, nil
	case theirs == base:
		return ours, nil, nil
	}
	sig := object.Ours(time.Unix(0, 0).UTC())
	commit := func(tree object.ID, parents ...object.ID) (object.ID, error) {
		if tree == object.EmptyTree {
			if _, err := repo.Store.Write(object.Tree, nil); err != nil {
				return object.Zero, err
			}
		}
		return repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents, Author: sig, Committer: sig,
			Message: "merge\n"})
	}
	b, err := commit(base)
	var x, y object.ID
	if err == nil {
		x, err = commit(ours, b)
	}
	if err == nil {
		y, err = commit(theirs, b)
	}
	if err == nil {
		err = repo.Store.Sync()
	}
	if err != nil {
		return object.Zero, nil, fmt.Errorf("prepare a merge: %w", err)
	}
	for try := 0; ; try++ {
		tree, conflicts, err = mergeCommits(ctx, repo, x, y)
		if err != nil || len(conflicts) > 0 {
			return tree, conflicts, err
		}
		// No ref leads to what git has written, and a prune beside us may have taken it already.
		err = repo.Store.HoldTree(tree, ours, theirs, base)
		if err == nil || try == 20 || !errors.Is(err, object.ErrNotFound) {
			return tree, nil, err
		}
		if err := repo.Store.EnsureAll(); err != nil {
			return object.Zero, nil, err
		}
	}
}

func mergeCommits(ctx context.Context, repo *gitstate.Repo, x, y object.ID) (
	tree object.ID, conflicts []string, err error) {
	out, err := repo.Git.Run(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", x.String(),
		y.String())
	if code := proc.ExitCode(err); code == 1 {
		for i, f := range bytes.Split(bytes.TrimRight(out, "\x00"), []byte{0}) {
			if i > 0 && len(f) > 0 {
				conflicts = append(conflicts, string(f))
			}
		}
		return object.Zero, conflicts, nil
	} else if err != nil {
		return object.Zero, nil, fmt.Errorf("merge two trees: %w", err)
	}
	tree, err = object.ParseID(string(bytes.TrimSpace(bytes.TrimRight(out, "\x00\n"))))
	return tree, nil, err
}
