package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// WeakenRequest is a change with access to both its sides.
type WeakenRequest struct {
	Files []ChangedFile
	// Paths are all paths of the checkpoint.
	Paths []string
	// Task is the one in work. Tasks are all of the plan, whose proofs must not
	// become weaker either.
	Task  *plan.Task
	Tasks []plan.Task
	// Ran are the checks as they ran on the attempt; Baseline is what was known
	// of them before.
	Ran      []state.CheckRun
	Baseline []state.CheckState
	// Lookup reads a file of the checkpoint that may not be part of the change.
	Lookup func(path string) ([]byte, bool)
	// AtBeginning reads a file of the commit at which the journal begins: the tests of then
	// are run once more at the end. nil = that is not known.
	AtBeginning func(path string) ([]byte, bool)
	// InCheckout makes a fresh checkout of the attempt, puts files over it (a nil
	// After removes) and calls run there.
	InCheckout func(over []ChangedFile, run func(ProofRequest) error) error
}

// WeakenReport is what a change did to the tests.
type WeakenReport struct {
	Findings []string // each of them rejects
	Notes    []string // for a person to look at
}

// weakened says what the attempt did to the tests.
func (l *Loop) weakened(ctx context.Context, it *attempt, runs []state.CheckRun) (WeakenReport, error) {
	files, err := l.changedFiles(it.after.Changes)
	if err != nil {
		return WeakenReport{}, err
	}
	base, err := l.Repo.TreeOf(it.tip)
	if err != nil {
		return WeakenReport{}, err
	}
	paths, err := l.pathsOf(base)
	if err != nil {
		return WeakenReport{}, err
	}
	return l.Prover.Weakened(ctx, WeakenRequest{Files: files, Paths: paths, Task: &it.task,
		Tasks: it.state.Plan.Tasks,
		Ran:   runs, Baseline: it.state.Baseline,
		Lookup: func(path string) ([]byte, bool) { return l.fileOf(base, path) },
		AtBeginning: func(path string) ([]byte, bool) {
			commit, err := l.base(ctx, it.tip, it.state)
			if err != nil || commit.IsZero() {
				return nil, false
			}
			tree, err := l.Repo.TreeOf(commit)
			if err != nil {
				return nil, false
			}
			return l.fileOf(tree, path)
		},
		InCheckout: func(over []ChangedFile, run func(ProofRequest) error) error {
			return l.inCheckout(ctx, it, over, run)
		}})
}

// permission names the command by which a person permits what the test guard
// rejected; "" when it rejected nothing.
func permission(it *attempt) string {
	if len(it.facts.Checks.Weakened) == 0 || it.task.ID == "" {
		return ""
	}
	return "when the tests are meant to change: git ralph retry " + string(it.task.ID) + " --allow-test-changes"
}

func (l *Loop) inCheckout(ctx context.Context, it *attempt, over []ChangedFile, run func(ProofRequest) error) error {
	sig := object.Ours(it.started)
	commit, err := l.Repo.Store.WriteCommit(object.CommitData{Tree: it.after.Keep, Author: sig, Committer: sig,
		Message: "the attempt\n"})
	if err == nil {
		err = l.Repo.Store.Sync()
	}
	if err != nil {
		return fmt.Errorf("check the attempt out: %w", err)
	}
	req := l.proofRequest(it.Ready, nil)
	err = l.inFresh(ctx, fresh{commit: commit, over: over, env: req.Env}, func(at ProofRequest) error {
		at.Task, at.Baseline = req.Task, req.Baseline
		return run(at)
	})
	var setup *setupError
	if errors.As(err, &setup) && ctx.Err() == nil {
		l.Log("%v", setup)
		return nil // what could not be run shows nothing
	}
	return err
}

// putOver writes files into a checkout, never through a link that leads out.
func putOver(dir string, over []ChangedFile) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("put test files over a checkout: %w", err)
	}
	defer root.Close()
	for _, f := range over {
		name := filepath.FromSlash(f.Path)
		mode := fs.FileMode(0o644)
		if st, err := root.Lstat(name); bytes.HasPrefix(f.After, []byte("#!")) || err == nil && st.Mode()&0o100 != 0 {
			mode = 0o755
		}
		err := root.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil && f.After != nil {
			if err = root.MkdirAll(filepath.Dir(name), 0o755); err == nil {
				err = root.WriteFile(name, f.After, mode)
			}
		}
		if err != nil {
			return fmt.Errorf("put test files over a checkout: %w", err)
		}
	}
	return nil
}
