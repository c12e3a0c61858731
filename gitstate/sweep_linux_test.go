package gitstate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

func openRepo(t *testing.T) (*Repo, object.ID) {
	t.Helper()
	r := repo.New(t, nil)
	g, err := Open(context.Background(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	tip, err := g.ReadRef(context.Background(), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	return g, tip
}

// TestKilledUpdateRef kills git while it holds the locks of a transaction: the
// next one gets through, whoever makes it.
func TestKilledUpdateRef(t *testing.T) {
	r, tip := openRepo(t)
	ups := []RefUpdate{{Name: "refs/ralph/heads/main", New: tip}, {Name: "refs/ralph/local/a/b", New: tip}}
	tx, err := r.PrepareRefs("", ups...)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(tx.c.child.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err == nil {
		t.Fatal("a killed git committed")
	}
	for _, u := range ups {
		if _, err := r.Anchor(u.Name, tip); err != nil {
			t.Errorf("after the kill: %v", err)
		}
	}
	for _, l := range r.Locks() {
		t.Errorf("left behind: %s: %q", l.Path, l.Why)
	}
}

// TestLockThatGitCannotRemove: a lock that is still there after its transaction is removed, and one that
// somebody else has made in its place meanwhile is not.
func TestLockThatGitCannotRemove(t *testing.T) {
	t.Parallel()
	r, tip := openRepo(t)
	for _, c := range []struct {
		why  string
		back func(aside, lock string) error
		left bool
	}{
		{"the same file is git's", os.Link, false},
		{"another file is another git's", func(_, lock string) error { return os.WriteFile(lock, nil, 0o644) }, true},
		{"the inode may be the same, the time is not", func(aside, lock string) error {
			return errors.Join(os.Chtimes(aside, time.Time{}, time.Now().Add(time.Second)), os.Link(aside, lock))
		}, true},
	} {
		tx, err := r.PrepareRefs("", RefUpdate{Name: "refs/ralph/heads/main", New: tip})
		if err != nil {
			t.Fatal(err)
		}
		lock := r.refLock("refs/ralph/heads/main")
		aside := filepath.Join(t.TempDir(), "aside")
		if err := os.Link(lock, aside); err != nil {
			t.Fatal(err)
		}
		if err := tx.c.say("abort\n", "abort: ok"); err != nil {
			t.Fatal(err)
		}
		if err := c.back(aside, lock); err != nil {
			t.Fatal(err)
		}
		if err := tx.done(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(lock); (err == nil) != c.left {
			t.Errorf("%s: the lock: %v", c.why, err)
		}
		os.Remove(lock)
	}
}

// TestLocksThatStay: what cannot be said to be a dead process's is left, and a
// lock older than the machine's start goes.
func TestLocksThatStay(t *testing.T) {
	t.Parallel()
	r, tip := openRepo(t)
	if err := r.EnsureDir(); err != nil {
		t.Fatal(err)
	}
	lock := func(name string, at time.Time) string {
		path := filepath.Join(r.CommonDir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	now := time.Now()
	strange := lock("refs/heads/main.lock", now.Add(-5*time.Second))
	old := lock("packed-refs.lock", bootTime().Add(-time.Hour))
	live, err := r.PrepareRefs("", RefUpdate{Name: "refs/ralph/heads/main", New: tip})
	if err != nil {
		t.Fatal(err)
	}
	gone, left, err := r.SweepLocks()
	if err != nil || len(gone) != 1 || gone[0] != old {
		t.Errorf("removed %v, want %s: %v", gone, old, err)
	}
	if len(left) != 2 {
		t.Errorf("left %v, want that of a stranger and that of the transaction", left)
	}
	if err := live.Commit(); err != nil {
		t.Errorf("the living transaction: %v", err)
	}
	// A writer of ours that died names what was made since it began, not what
	// lay there before.
	dead := deadWriter(t, r)
	young := lock("refs/ralph/evidence/x.lock", now.Add(-2*time.Second))
	gone, left, err = r.SweepLocks()
	if err != nil || len(gone) != 1 || gone[0] != young || len(left) != 1 || left[0].Path != strange {
		t.Errorf("removed %v, left %v: %v", gone, left, err)
	}
	os.Remove(strange)
	if _, _, err := r.SweepLocks(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note of the dead writer stays: %v", err)
	}
}

// deadWriter leaves the note of a process that is gone, begun three seconds ago.
func deadWriter(t *testing.T, r *Repo) string {
	t.Helper()
	w, err := proc.NewWriter(r.writersDir(), "git commit")
	if err != nil {
		t.Fatal(err)
	}
	w.Since = time.Now().Add(-3 * time.Second)
	w.Owner.Pid = 1 << 30
	w.WorksBy(1 << 30)
	if err := w.Save(); err != nil {
		t.Fatal(err)
	}
	w.Leave()
	for path, note := range proc.ReadWriters(r.writersDir()) {
		if note.Dead() {
			return path
		}
	}
	t.Fatal("no note of a dead writer")
	return ""
}

// TestHungGit: a git that answers nothing is ended and named.
func TestHungGit(t *testing.T) {
	t.Parallel()
	r, tip := openRepo(t)
	r.Git.Patience = 300 * time.Millisecond
	tx, err := r.PrepareRefs("", RefUpdate{Name: "refs/ralph/heads/main", New: tip})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(tx.c.child.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var hung *proc.HungError
	if err := tx.Commit(); !errors.As(err, &hung) {
		t.Fatalf("a stopped git: %v", err)
	}
	if err := r.UpdateRefs("", RefUpdate{Name: "refs/ralph/other", New: tip}); err != nil {
		t.Errorf("after it: %v", err)
	}
	if _, err := r.Git.Run(context.Background(), "-c", "alias.wait=!sleep 100", "wait"); !errors.As(err, &hung) {
		t.Errorf("a git that sleeps: %v", err)
	}
}
