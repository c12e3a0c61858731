package gitstate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"git-ralph/fixtures/repo"
)

// TestBracketsInThePath: the path of a repository is no pattern. What a crash left in a
// linked worktree's git directory is found there as well.
func TestBracketsInThePath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pages[id]")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := repo.In(t, dir)
	r.Git("commit", "-q", "--allow-empty", "-m", "first")
	r.Git("worktree", "add", "-q", filepath.Join(dir, "linked"))
	open, err := Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	linked := filepath.Join(open.CommonDir, "worktrees", "linked")
	lock, orphan := filepath.Join(linked, "index.lock"), filepath.Join(open.GitDir, "index.ralph-4194304-x")
	for _, path := range []string{lock, orphan, filepath.Join(linked, "FETCH_HEAD")} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.ContainsFunc(open.Locks(), func(l LeftLock) bool { return l.Path == lock }) {
		t.Errorf("the lock of the linked worktree is not among %v", open.Locks())
	}
	s, err := open.TakeSnapshot(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, ok := s.fetched[filepath.Join(linked, "FETCH_HEAD")]; !ok {
		t.Errorf("what the linked worktree fetched is not in %v", s.fetched)
	}
	if _, err := open.ReadIntent(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(orphan); err == nil {
		t.Error("the prepared lock of a dead process stays")
	}
}
