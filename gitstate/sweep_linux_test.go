package gitstate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// TestKilledUpdateRef kills git while it holds the locks of a transaction. The next
// transaction succeeds, whoever makes it.
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

// TestLockThatGitCannotRemove: a lock that outlives its transaction is removed. A lock that somebody
// else has made in its place meanwhile is not.
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

// TestLocksOfGit: a lock that a killed git left on any file is removed, in the repository and in
// a linked worktree, and the blocked command works again. Another program's lock stays.
func TestLocksOfGit(t *testing.T) {
	t.Parallel()
	r, _ := openRepo(t)
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-c", "rerere.enabled=false"}, args...)...)
		cmd.Dir, cmd.Env = r.Root, r.Git.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %q: %w: %s", args, err, out)
		}
		return nil
	}
	linked := filepath.Join(t.TempDir(), "linked")
	must(t, git("worktree", "add", "-q", "-b", "other", linked), git("config", "extensions.worktreeConfig", "true"),
		git("repack", "-q", "-a", "-d"))
	beside := func(args ...string) []string { return append([]string{"-C", linked}, args...) }
	old := bootTime().Add(-time.Hour)
	lay := func(name string) string {
		path := filepath.Join(r.CommonDir, filepath.FromSlash(name)+".lock")
		must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644), os.Chtimes(path, old, old))
		return path
	}
	for name, stopped := range map[string][]string{
		"index":                         {"read-tree", "HEAD"},
		"HEAD":                          {"symbolic-ref", "HEAD", "refs/heads/main"},
		"ORIG_HEAD":                     {"update-ref", "ORIG_HEAD", "HEAD"},
		"CHERRY_PICK_HEAD":              {"update-ref", "CHERRY_PICK_HEAD", "HEAD"},
		"config":                        {"config", "some.thing", "1"},
		"config.worktree":               {"config", "--worktree", "some.thing", "1"},
		"packed-refs":                   {"pack-refs", "--all"},
		"info/sparse-checkout":          {"sparse-checkout", "init"},
		"objects/info/commit-graph":     {"commit-graph", "write", "--reachable"},
		"objects/pack/multi-pack-index": {"multi-pack-index", "write"},
		"refs/heads/new":                {"branch", "-f", "new"},
		"logs/refs/heads/main":          nil,
		"MERGE_RR":                      nil,
		"shallow":                       nil,
		"gc.pid":                        nil,
		"objects/info/commit-graphs/commit-graph-chain": nil, // git takes it only for new commits
		"worktrees/linked/index":                        beside("read-tree", "HEAD"),
		"worktrees/linked/HEAD":                         beside("symbolic-ref", "HEAD", "refs/heads/other"),
		"worktrees/linked/ORIG_HEAD":                    beside("update-ref", "ORIG_HEAD", "HEAD"),
		"worktrees/linked/config.worktree":              beside("config", "--worktree", "some.thing", "1"),
		"worktrees/linked/refs/bisect/bad":              beside("update-ref", "refs/bisect/bad", "HEAD"),
		"worktrees/linked/info/sparse-checkout":         beside("sparse-checkout", "init"),
	} {
		lock := lay(name)
		if stopped != nil && git(stopped...) == nil {
			t.Errorf("git %q works although %s is locked", stopped, name)
		}
		gone, left, err := r.SweepLocks()
		if err != nil || len(left) != 0 || !slices.Equal(gone, []string{lock}) {
			t.Errorf("%s: removed %v, left %v: %v", name, gone, left, err)
		}
		if stopped != nil {
			must(t, git(stopped...))
		}
	}
	for _, name := range []string{"other-program", "lfs/cache", "index.mine", "worktrees/linked/tool"} {
		lock := lay(name)
		if gone, _, err := r.SweepLocks(); err != nil || len(gone) != 0 {
			t.Errorf("%s: removed %v: %v", name, gone, err)
		}
		must(t, os.Remove(lock))
	}
}

// TestLocksThatStay: a lock stays unless its process is known to be dead. A lock
// older than the last boot is removed.
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
	busy := func() (busy bool) {
		for _, l := range r.Locks() {
			busy = busy || l.Path == strange && l.Busy()
		}
		return busy
	}
	if busy() {
		t.Error("no git is at work, and the lock of a stranger counts as that of one")
	}
	// This git is no child of ours. It answers, and reads on until its input ends.
	git := exec.Command("sh", "-c", "git hash-object --stdin-paths; exit")
	git.Dir = r.Root
	input, ierr := git.StdinPipe()
	output, oerr := git.StdoutPipe()
	must(t, ierr, oerr, git.Start())
	fmt.Fprintln(input, "/dev/null")
	if _, err := output.Read(make([]byte, 1)); err != nil || !busy() {
		t.Error("a git is at work, and a lock counts as a fault: ", err)
	}
	input.Close()
	if err := git.Wait(); err != nil || busy() {
		t.Error("a git has ended, and a lock counts as its own: ", err)
	}
	if err := live.Commit(); err != nil {
		t.Errorf("the living transaction: %v", err)
	}
	// The note of our dead writer explains the locks made since it began, not
	// earlier ones.
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

// deadWriter leaves the note of a dead process that began three seconds ago.
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
	r.Git.Patience, r.Git.Grace = 300*time.Millisecond, 100*time.Millisecond
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

// TestHalfMadeCheckout: what git noted of a linked worktree of ours when it was killed goes.
// That of a person, of a living process, and one with a commit stay.
func TestHalfMadeCheckout(t *testing.T) {
	t.Parallel()
	alive := proc.OwnedPrefix("co-") + "x"
	dead := fmt.Sprintf("co-%d-1-%s-x", 1<<22+1, strings.Split(alive, "-")[3])
	zero, ours := object.Zero.String(), linkedReason+" for main"
	for _, c := range []struct {
		why, folder, locked, head string
		stays                     bool
	}{
		{"a fresh checkout", dead, "added with --lock", zero, false},
		{"a linked worktree", "1234567890abcdef", ours, zero, false},
		{"one without a HEAD", dead, "added with --lock", "none", false},
		{"one whose HEAD is empty", dead, "added with --lock", "", false},
		{"one whose HEAD is a link", "1234567890abcdef", ours, "link", true},
		{"a living process's", alive, "added with --lock", zero, true},
		{"a person's", "mine", "initializing", zero, true},
		{"a whole one", dead, "added with --lock", "HEAD", true},
		{"a whole linked one", "1234567890abcdef", ours, "ref: refs/heads/ralph/main", true},
	} {
		for _, atWork := range []bool{false, true} {
			r, tip := openRepo(t)
			must(t, r.EnsureDir())
			deadWriter(t, r)
			if c.head == "HEAD" {
				c.head = tip.String()
			}
			dir := filepath.Join(r.CommonDir, "worktrees", "work")
			must(t, os.MkdirAll(dir, 0o755))
			for name, text := range map[string]string{"HEAD": c.head, "commondir": "../..", "locked": c.locked,
				"gitdir": filepath.Join("/nowhere", c.folder, "work", ".git")} {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			}
			if head := filepath.Join(dir, "HEAD"); c.head == "none" || c.head == "link" {
				must(t, os.Remove(head))
				if c.head == "link" {
					must(t, os.Symlink("refs/heads/main", head))
				}
			}
			if atWork {
				w, err := proc.NewWriter(r.writersDir(), "git worktree")
				must(t, err)
				defer w.Done()
			}
			_, err := r.ReadIntent()
			must(t, err)
			if _, err := os.Stat(dir); (err == nil) != (c.stays || atWork) {
				t.Errorf("%s, a git at work: %v: %v", c.why, atWork, err)
			}
		}
	}
}

// TestReadingWhatIsPruned: a commit that a late prune has removed is put back for whatever git
// is asked about it.
func TestReadingWhatIsPruned(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	writer, tip := openRepo(t)
	at, err := writer.Store.ReadCommit(tip)
	must(t, err)
	id, err := writer.Commit(ctx, "an entry\n", Unsigned, at.Tree, tip)
	must(t, err)
	must(t, writer.Store.Sync(), writer.UpdateRefs("", RefUpdate{Name: "refs/ralph/heads/main", New: id}))
	reader, err := Open(ctx, writer.Root, writer.Git.Env)
	must(t, err)
	t.Cleanup(func() { reader.Close() })
	object := filepath.Join(writer.CommonDir, "objects", id.String()[:2], id.String()[2:])
	for _, args := range [][]string{
		{"merge-base", "--is-ancestor", tip.String(), id.String()},
		{"rev-list", "--count", "--left-right", tip.String() + "..." + id.String()},
		{"diff-tree", "-r", tip.String(), id.String()},
		{"log", "-1", "--format=%s", "refs/ralph/heads/main"},
	} {
		must(t, os.Remove(object))
		if _, err := reader.Git.Run(ctx, args...); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if _, err := os.Stat(object); err != nil {
			t.Fatalf("%v: it is not back: %v", args, err)
		}
	}
	must(t, os.Remove(object))
	if is, err := reader.IsAncestor(ctx, tip, id); err != nil || !is {
		t.Errorf("is it an ancestor: %v, %v", is, err)
	}
	if _, err := reader.Git.Run(ctx, "rev-list", strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that was never there was found")
	}
}
