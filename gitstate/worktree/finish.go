package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"git-ralph/gitstate/object"
)

// CheckoutConflicts names the files that prevent a Checkout between two trees,
// because they match neither.
func (e *Engine) CheckoutConflicts(ctx context.Context, from, to object.ID) ([]string, error) {
	_, conflicts, err := e.stillAt(ctx, from, to)
	return conflicts, err
}

// FinishCheckout is Checkout for one that may have begun already. Files that
// match the second tree stay. Files that match neither tree are left and named
// in Report.Left.
func (e *Engine) FinishCheckout(ctx context.Context, from, to object.ID) (Report, error) {
	paths, conflicts, err := e.stillAt(ctx, from, to)
	if err != nil {
		return Report{}, err
	}
	var report Report
	if len(paths) > 0 {
		report, err = e.Checkout(ctx, from, to, paths...)
	}
	report.Left = append(report.Left, conflicts...)
	return report, err
}

// stillAt sorts the paths that differ between two trees: those whose file is
// the first tree's, and those whose file is neither's or that cannot be written.
func (e *Engine) stillAt(ctx context.Context, from, to object.ID) (old, neither []string, err error) {
	changes, err := e.difference(from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	way := e.wayOf(nil)
	for _, removed := range []bool{true, false} { // those first: a new file may take the place of their folder
		for _, c := range changes {
			if c.Old.Mode == object.ModeGitlink || c.New.Mode == object.ModeGitlink {
				return nil, nil, errors.New(c.Path + " is a submodule")
			}
			switch {
			case c.New.ID.IsZero() != removed:
			case way.blocked(c):
				neither = append(neither, c.Path)
			case e.is(ctx, c.Path, c.Old) || e.willGo(c, changes):
				old = append(old, c.Path)
				way.gone[c.Path] = removed
			case !e.is(ctx, c.Path, c.New):
				neither = append(neither, c.Path)
			}
		}
	}
	slices.Sort(old)
	slices.Sort(neither)
	return old, neither, nil
}

func (e *Engine) is(ctx context.Context, path string, want Side) bool {
	_, same := e.isFile(ctx, path, want)
	return same
}
