package gitstate

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/object"
)

// TestFailedKeepIsFinished: who has moved the refs and could not put the index in place
// finds its own intent, though it lives.
func TestFailedKeepIsFinished(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed on this system")
	}
	ctx := context.Background()
	r, g := watchedRepo(t)
	tip, err := g.ReadRef(ctx, "refs/heads/main")
	must(t, err)
	commit, err := object.ParseID(strings.TrimSpace(r.Git("commit-tree", "-m", "kept", "-p", tip.String(), "HEAD^{tree}")))
	must(t, err)
	index := filepath.Join(r.Dir, ".git/index")
	keep := func(fail func(step string)) error {
		return g.Keep(ctx, Keep{EventID: "event", JournalRef: "refs/ralph/heads/main", BranchRef: "refs/heads/main",
			Parent: tip, Commit: commit, Deadline: 5 * time.Second, Fail: fail,
			Entry: func() (object.ID, object.ID, error) { return object.Zero, commit, nil },
			WriteIndex: func(lock *os.File) error {
				data, err := os.ReadFile(index)
				must(t, err)
				_, err = lock.Write(data)
				return err
			}})
	}
	err = keep(func(step string) {
		if step == "keep:refs-committed" {
			must(t, os.Remove(index+".lock"))
		}
	})
	if err == nil {
		t.Fatal("the index was put in place without its lock")
	}
	in, err := g.ReadIntent()
	must(t, err)
	if in == nil || in.EventID != "event" {
		t.Errorf("its intent: %+v", in)
	}
}
