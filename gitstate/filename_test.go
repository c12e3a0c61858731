package gitstate

import (
	"strings"
	"testing"

	"git-ralph/fixtures/repo"
)

// TestFileNames: git takes a branch name of 250 bytes of any script, and so do our files.
func TestFileNames(t *testing.T) {
	t.Parallel()
	r := repo.New(t, nil)
	open, err := Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for name, want := range map[string]string{"main": "main", "team/x": "team%2Fx", "ж": "%D0%B6"} {
		if got := FileName(name); got != want {
			t.Errorf("%s is %s", name, got)
		}
	}
	long := "задача/" + strings.Repeat("длинное-имя-", 10)
	seen := map[string]bool{}
	for _, name := range []string{long, long + "1", long + "2", strings.Repeat("part/", 200), strings.Repeat("名", 80)} {
		if FileName(name) == "" || seen[FileName(name)] {
			t.Errorf("%s is %s, which another one is too", name, FileName(name))
		}
		seen[FileName(name)] = true
		lock, err := open.LockBranch(name)
		if err != nil {
			t.Fatal(err)
		}
		if h, held := open.BranchHolder(name); !held || h.Pid == 0 {
			t.Errorf("%s is held by %v", name, h)
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
}
