package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/notes"
)

// commitTitle is the subject of the code commit.
func (l *Loop) commitTitle(it *attempt) string {
	what := strings.TrimSpace(string(it.task.ID) + " " + it.title())
	if it.task.ID == "" {
		what = string(it.phase)
		if it.title() != "" {
			what += " " + it.title()
		}
	}
	return notes.Title(fmt.Sprintf("%s[%d]: %s", cmp.Or(l.Settings.CommitPrefix, "ralph"), it.number, what))
}

// commitMessage is the message of the code commit. Its trailers keep the trace
// through squash and rebase.
func (l *Loop) commitMessage(it *attempt, res *state.Result) string {
	var b strings.Builder
	b.WriteString(l.commitTitle(it) + "\n\n")
	if s := notes.Narrative(res.Summary); s != "" {
		b.WriteString(s + "\n\n")
	}
	if it.task.ID != "" {
		fmt.Fprintf(&b, "Ralph-Task: %s\n", it.task.ID)
	} else {
		fmt.Fprintf(&b, "Ralph-Phase: %s\n", it.phase)
	}
	fmt.Fprintf(&b, "Ralph-Iteration: %d\nRalph-Event-Id: %s\n", it.number, it.id)
	return b.String()
}

// commitCode makes the code commit through git itself: identity, encoding and
// signature are the user's. Nothing points to it yet.
func (l *Loop) commitCode(ctx context.Context, it *attempt, res *state.Result) (object.ID, error) {
	if err := l.Repo.Store.Sync(); err != nil {
		return object.Zero, fmt.Errorf("write the kept work: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	args := []string{"commit-tree", it.after.Keep.String()}
	if !it.tip.IsZero() {
		args = append(args, "-p", it.tip.String())
	}
	if l.Settings.Sign {
		args = append(args, "-S")
	} else {
		args = append(args, "--no-gpg-sign")
	}
	msg := l.commitMessage(it, res)
	if l.Settings.Hooks {
		var err error
		if msg, err = l.Repo.CommitHooks(ctx, it.after.Keep, msg); err != nil {
			return object.Zero, err
		}
	}
	id, err := l.Repo.CommitTree(ctx, msg, args[1:]...)
	if err != nil {
		return object.Zero, fmt.Errorf("make the commit: %w", err)
	}
	return id, nil
}

// TrySigning makes a signature once, before anything is locked: a key that
// wants a passphrase must not hang a run at night.
func (l *Loop) TrySigning(ctx context.Context) error {
	if !l.Settings.Sign {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := l.Repo.Store.Write(object.Tree, nil); err != nil {
		return err
	}
	if err := l.Repo.Store.Sync(); err != nil {
		return err
	}
	_, err := l.Repo.Git.RunWith(ctx, strings.NewReader("try\n"), nil, "commit-tree", object.EmptyTree.String(), "-S",
		"-F", "-")
	if err != nil {
		return refusal.New(refusal.SigningAsks, "commits cannot be signed without a person: %w", err)
	}
	return nil
}

// writeNote puts the handoff next to the code commit.
func (l *Loop) writeNote(it *Ready, res *state.Result, commit object.ID) error {
	return recovery.WriteNote(l.Repo, commit, state.Note(l.event(it, res)))
}

// leaveTheirs takes out of the attempt what a person committed meanwhile, and
// says whether what is left meets the person's paths.
func (l *Loop) leaveTheirs(it *attempt, tip object.ID) (bool, error) {
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

// makeWay removes the attempt from the worktree after a person has committed:
// paths of that commit become what the commit has, all others are restored from
// the checkpoint.
func (l *Loop) makeWay(it *attempt, tip object.ID) error {
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
