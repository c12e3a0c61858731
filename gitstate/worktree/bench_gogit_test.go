//go:build linux

package worktree

import (
	"testing"

	gogit "github.com/go-git/go-git/v5"
)

// goGit measures the same with go-git's worktree. Its Reset removes ignored files,
// so it runs last, and once.
func goGit(tb testing.TB, s series, p *place, edit func(int)) {
	r, err := gogit.PlainOpen(p.root)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := r.Worktree()
	if err != nil {
		tb.Fatal(err)
	}
	edit(0)
	s.time("go-git status", func() { _, err = w.Status() })
	if err != nil {
		tb.Fatal(err)
	}
	s.time("go-git reset", func() { err = w.Reset(&gogit.ResetOptions{Mode: gogit.HardReset}) })
	if err != nil {
		tb.Fatal(err)
	}
}
