package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/internal/stable"
	"git-ralph/notes"
	"git-ralph/plan"
)

// An iteration's verdict runs the tests of its own checkpoint. A test that one
// iteration only loosens still passes there, and the next iteration only has the
// loose test. So before the work counts as complete, the tests of the journal's
// base commit are run as they were, on the final tree.
//
// Two kinds of later changes to these tests are kept: commits of users on the
// branch, and changes by tasks that were allowed to change tests. All other
// changes by iterations are undone.

// oldTests begins the reason of a run in which such a test fails.
const oldTests = "old_tests: "

// BaseTestsRequest is how a branch changed since its journal began.
type BaseTestsRequest struct {
	// Files have the version wanted for tests, and the present one.
	WeakenRequest
	// AtBase makes a fresh checkout of the commit at which the journal begins.
	AtBase func(run func(ProofRequest) error) error
}

// baseTests names the tests that fail as they were.
func (l *Loop) baseTests(ctx context.Context, tip object.ID, s state.State) ([]string, error) {
	if !l.Settings.TestGuard || l.Settings.Fresh == "never" || tip.IsZero() {
		return nil, nil
	}
	base, err := l.base(ctx, tip, s)
	if err != nil || base.IsZero() || base == tip {
		return nil, err
	}
	names, err := l.testsOf(ctx, base, tip, s)
	if err == nil && len(names) == 0 {
		names, err = l.madeTests(ctx, base, tip, s)
	}
	for _, n := range names {
		l.emit("check", s, "", nil, "old tests, %s: fails as it was", notes.OneLine(n, 200))
	}
	return names, err
}

// testsOf names the tests that fail now as they were at a commit of the branch.
func (l *Loop) testsOf(ctx context.Context, base, tip object.ID, s state.State) ([]string, error) {
	req, err := l.sinceBase(ctx, base, tip, s)
	if err != nil || len(req.Files) == 0 {
		return nil, err
	}
	req.InCheckout = func(over []ChangedFile, run func(ProofRequest) error) error {
		return l.orSetup(ctx, l.inFresh(ctx, fresh{commit: tip, over: over}, run))
	}
	req.AtBase = func(run func(ProofRequest) error) error {
		return l.orSetup(ctx, l.inFresh(ctx, fresh{commit: base}, run))
	}
	return l.Prover.BaseTests(ctx, req)
}

// orSetup logs a failed set-up and returns nil: it shows nothing.
func (l *Loop) orSetup(ctx context.Context, err error) error {
	var setup *setupError
	if errors.As(err, &setup) && ctx.Err() == nil {
		l.Log("%v", setup)
		return nil
	}
	return err
}

// base is the commit at which the journal begins, or what is left of it in the
// branch after a rebase. A later start does not move it.
func (l *Loop) base(ctx context.Context, tip object.ID, s state.State) (object.ID, error) {
	base, err := object.ParseID(s.Journal.Base)
	if err != nil || !l.Repo.Store.Has(base) {
		return object.Zero, nil // the branch began without a commit
	}
	out, err := l.Repo.Git.Run(ctx, "merge-base", base.String(), tip.String())
	if err != nil {
		return object.Zero, nil //nolint:nilerr // no common history: git exits with 1
	}
	return object.ParseID(strings.TrimSpace(string(out)))
}

// sinceBase compares the tests as they should be with the tip of the branch.
func (l *Loop) sinceBase(ctx context.Context, base, tip object.ID, s state.State) (BaseTestsRequest, error) {
	req := BaseTestsRequest{WeakenRequest: WeakenRequest{Tasks: s.Plan.Tasks}}
	history, err := l.touched(ctx, base, tip, s)
	if err != nil {
		return req, err
	}
	tree, err := l.Repo.TreeOf(base)
	if err != nil {
		return req, err
	}
	read := l.contentAt
	for path, steps := range history {
		if !slices.ContainsFunc(steps, func(c branchCommit) bool { return !c.trusted }) {
			continue // only trusted commits changed it
		}
		f := ChangedFile{Path: path}
		if f.Before, err = read(base, path); err == nil {
			f.After, err = read(tip, path)
		}
		for _, c := range steps {
			var was, is []byte
			if err == nil && c.trusted {
				if was, err = read(c.parent, path); err == nil {
					is, err = read(c.id, path)
				}
				if err == nil {
					f.Before, err = l.apply(ctx, f.Before, was, is)
				}
			}
		}
		if err != nil {
			return req, err
		}
		if !bytes.Equal(f.Before, f.After) || (f.Before == nil) != (f.After == nil) {
			req.Files = append(req.Files, f)
		}
	}
	stable.Sort(req.Files, func(a, b ChangedFile) int { return strings.Compare(a.Path, b.Path) })
	req.Paths, err = l.pathsOf(tree)
	req.Lookup = func(path string) ([]byte, bool) {
		data, err := read(base, path)
		return data, err == nil && data != nil
	}
	return req, err
}

// contentAt reads a file of a commit; nil = it has none.
func (l *Loop) contentAt(commit object.ID, path string) ([]byte, error) {
	t, err := l.Repo.TreeOf(commit)
	if err != nil {
		return nil, err
	}
	e, ok, err := l.Repo.Lookup(t, path)
	if err != nil || !ok {
		return nil, err
	}
	return l.blob(e.Mode, e.ID)
}

// branchCommit is a commit of the branch since its base.
type branchCommit struct {
	id, parent object.ID
	at         int // its place on the branch's line since the base
	// trusted: made by a user, or by a task that may change tests.
	trusted bool
}

// touched lists, for every path that changed since base, the commits of the
// branch's first-parent line that changed it, oldest first.
func (l *Loop) touched(ctx context.Context, base, tip object.ID, s state.State) (map[string][]branchCommit, error) {
	var v Verification
	made, err := l.history(ctx, &v)
	if err != nil {
		return nil, err
	}
	rng := base.String() + ".." + tip.String()
	said := map[string]rangeCommit{}
	all, err := l.commitsOf(ctx, rng)
	for _, c := range all {
		said[c.id.String()] = c
	}
	if err != nil {
		return nil, err
	}
	out, err := l.Repo.Git.Run(ctx, "rev-list", "--reverse", "--first-parent", rng)
	if err != nil {
		return nil, fmt.Errorf("read the history of the branch: %w", err)
	}
	var line []branchCommit
	var ask strings.Builder
	parent := base
	for _, hash := range strings.Fields(string(out)) {
		id, err := object.ParseID(hash)
		if err != nil {
			return nil, err
		}
		c := branchCommit{id: id, parent: parent, at: len(line), trusted: true}
		for _, e := range said[hash].events {
			if ev, ok := made[e]; ok {
				c.trusted = c.trusted && (ev.Event.Result.TestsReleased || released(s, ev.Event.Task))
			} else if v.redacted { // an iteration from before the journal began anew
				c.trusted = c.trusted && released(s, said[hash].tasks...)
			}
		}
		line = append(line, c)
		fmt.Fprintf(&ask, "%s %s\n", id, parent)
		parent = id
	}
	out, err = l.Repo.Git.RunWith(ctx, strings.NewReader(ask.String()), nil, "diff-tree", "--stdin", "-r", "-z",
		"--no-renames", "--name-only")
	if err != nil {
		return nil, fmt.Errorf("compare the commits of the branch: %w", err)
	}
	// Each commit's paths follow its name. Commits without a change are left out.
	history := map[string][]branchCommit{}
	at := -1
	for _, field := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if i := slices.IndexFunc(line[at+1:], func(c branchCommit) bool { return c.id.String() == field }); i >= 0 {
			at += 1 + i
			continue
		}
		if at >= 0 && field != "" {
			history[field] = append(history[field], line[at])
		}
	}
	return history, nil
}

// released reports whether a user has since allowed the tasks of a commit to change tests.
func released(s state.State, tasks ...plan.TaskID) bool {
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(id plan.TaskID) bool {
		i := s.Plan.Find(id)
		return i < 0 || !s.Plan.Tasks[i].AllowTestChanges
	})
}

// apply applies the change from was to is to file by a three-way merge. On a
// conflict the lines of is win. nil is an absent file.
func (l *Loop) apply(ctx context.Context, file, was, is []byte) ([]byte, error) {
	if file == nil || was == nil || is == nil || bytes.Equal(file, was) {
		return is, nil
	}
	dir, err := proc.TempDir("merge")
	if err != nil {
		return nil, fmt.Errorf("merge a test file: %w", err)
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "-p", "--quiet", "--theirs"}
	for i, data := range [][]byte{file, was, is} {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return nil, fmt.Errorf("merge a test file: %w", err)
		}
		args = append(args, name)
	}
	out, err := l.Repo.Git.Run(ctx, args...)
	if err != nil {
		return is, ctx.Err() // what cannot be merged, such as binary data, is replaced by is
	}
	return out, nil
}
