//go:build linux

package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate/object"
)

// started is a place with a checkpoint.
func started(t *testing.T, setup string, o Options) (*place, *Engine, *Checkpoint) {
	t.Helper()
	p := newPlace(t)
	p.script(baseRepo + setup)
	p.open("", "")
	e := p.engine(o)
	cp, err := e.Checkpoint(context.Background())
	if err == nil {
		err = p.repo.Store.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, e, cp
}

// TestChurnDuringScan: files come and go during the scan of the worktree. The
// checkpoint succeeds. Afterwards a restore is exact.
func TestChurnDuringScan(t *testing.T) {
	p, e, _ := started(t, "for i in $(seq 200); do new s/f$i; done; commit", Options{})
	stop := make(chan bool)
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := filepath.Join(p.root, "s", fmt.Sprintf("churn%d-%d", w, i%7))
				_ = os.WriteFile(name, bytes.Repeat([]byte("x"), i%5000), 0o644)
				_ = os.Mkdir(name+"d", 0o755)
				_ = os.WriteFile(name+"d/f", nil, 0o644)
				_ = os.Remove(name)
				_ = os.RemoveAll(name + "d")
			}
		})
	}
	for i := range 40 {
		if _, err := e.Checkpoint(context.Background()); err != nil {
			t.Errorf("checkpoint %d: %v", i, err)
		}
	}
	close(stop)
	wg.Wait()
	before := state(t, p.root, "")
	cp, err := e.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	tree, _, err := p.oracle(p.repo.IndexPath())
	if err != nil || tree != cp.Tree.String() {
		t.Errorf("the tree is %s, git says %s (%v)", cp.Tree, tree, err)
	}
	p.script("rm -r s; new s/f1 other")
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Error(err)
	}
	if d := different(before, state(t, p.root, "")); d != "" {
		t.Error(d)
	}
}

// TestSwappedFolderWhileRestoring: a process that is still running replaces a
// folder by a link that leads out of the worktree, over and over. Whatever the
// restore manages, nothing outside changes.
func TestSwappedFolderWhileRestoring(t *testing.T) {
	for _, portable := range []bool{false, true} {
		p, e, cp := started(t, "for i in $(seq 30); do new d/f$i; new d/e/g$i; done; commit", Options{portable: portable})
		outside := filepath.Join(p.dir, "home", "outside")
		for i := range 31 {
			for _, f := range []string{fmt.Sprintf("f%d", i), fmt.Sprintf("e/g%d", i), "agent", "e/agent"} {
				path := filepath.Join(outside, f)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
					os.WriteFile(path, []byte("outside\n"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
		}
		safe := state(t, outside, "")
		stop := make(chan bool)
		var wg sync.WaitGroup
		wg.Go(func() {
			d, aside := filepath.Join(p.root, "d"), filepath.Join(p.root, ".git", "aside")
			for {
				select {
				case <-stop:
					return
				default:
				}
				if os.Rename(d, aside) == nil {
					_ = os.Symlink(outside, d)
					runtime.Gosched()
					_ = os.Remove(d)
					_ = os.Rename(aside, d)
				}
			}
		})
		for range 15 {
			for i := range 30 {
				// This may write through the link: the agent's doing, so it is undone below.
				_ = os.WriteFile(filepath.Join(p.root, "d", fmt.Sprintf("new%d", i)), []byte("agent\n"), 0o644)
				_ = os.Remove(filepath.Join(outside, fmt.Sprintf("new%d", i)))
			}
			_, _ = e.Restore(context.Background(), cp)
			_, _ = e.PutBack(context.Background(), cp, []string{"d/f1", "d/e"})
		}
		close(stop)
		wg.Wait()
		now := state(t, outside, "")
		for path, was := range safe {
			if now[path] != was && path != "." {
				t.Errorf("outside changed: %q was %q, is %q", path, was, now[path])
			}
		}
		_ = os.RemoveAll(filepath.Join(p.root, ".git", "aside"))
		if _, err := e.Restore(context.Background(), cp); err != nil {
			t.Errorf("when it is quiet: %v", err)
		}
	}
}

// TestLargeSparseFile: two sparse gigabytes cost neither memory nor time.
func TestLargeSparseFile(t *testing.T) {
	p, e, _ := started(t, "", Options{MaxFile: 50 << 20})
	big := filepath.Join(p.root, "big")
	if err := errors.Join(os.WriteFile(big, nil, 0o644), os.Truncate(big, 2<<30)); err != nil {
		t.Fatal(err)
	}
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	cp, err := e.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&m1)
	if got := m1.TotalAlloc - m0.TotalAlloc; got > 8<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
	if len(cp.Oversized) != 1 || cp.Oversized[0] != "big" {
		t.Errorf("oversized are %q", cp.Oversized)
	}
	p.script("new a.txt 2; truncate -s 3G bigger")
	got, err := e.Capture(context.Background(), cp)
	if err != nil || len(got.TooLarge) != 1 || got.TooLarge[0] != "bigger" {
		t.Errorf("too large are %v (%v)", got, err)
	}
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(p.root, "bigger")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the agent's large file is still there")
	}
	if st, err := os.Lstat(big); err != nil || st.Size() != 2<<30 {
		t.Error("the person's large file is gone")
	}
}

// TestDeepFolders: 5,000 folders inside each other have a path that no system
// call takes at once.
func TestDeepFolders(t *testing.T) {
	p, e, cp := started(t, "", Options{})
	deep := func(name string, depth int) {
		t.Helper()
		root, err := os.OpenRoot(p.root)
		if err != nil {
			t.Fatal(err)
		}
		for range depth {
			if err := root.Mkdir(name, 0o755); err != nil {
				t.Fatal(err)
			}
			next, err := root.OpenRoot(name)
			if err != nil {
				t.Fatal(err)
			}
			root.Close()
			root = next
		}
		if err := root.WriteFile("f", []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		root.Close()
	}
	// Deeper than PATH_MAX and than any stack of calls should be.
	deep("q", long.Number(t, 2300, 5000))
	if _, err := e.Capture(context.Background(), cp); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(p.root, "q")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the agent's folders are still there")
	}
	// As the user's own files they come back.
	deep("mine", long.Number(t, 900, 3000))
	cp, err := e.Checkpoint(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(p.root, "mine"), filepath.Join(p.dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Fatal(err)
	}
	again, err := e.Checkpoint(context.Background())
	if err != nil || again.Tree != cp.Tree {
		t.Errorf("the deep file did not come back: %v", err)
	}
}

// TestNamesNoDiskTakes: a tree may have a name of 300 bytes, a file system may not.
// The failure is named, and everything else is done.
func TestNamesNoDiskTakes(t *testing.T) {
	p, e, _ := started(t, "", Options{})
	blob, err := p.repo.Store.Write(object.Blob, []byte("x\n"))
	if err != nil {
		t.Fatal(err)
	}
	from, err := e.treeOf(mustID(t, p.ask("rev-parse", "HEAD")))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 300)
	to, err := ApplyChanges(p.repo.Store, from, []Change{{Path: long, New: Side{object.ModeRegular, blob}},
		{Path: "short", New: Side{object.ModeRegular, blob}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Checkout(context.Background(), from, to)
	var re *RestoreError
	if !errors.As(err, &re) || len(re.Failures) != 1 || re.Failures[0].Path != long {
		t.Fatalf("got %v, want one failure", err)
	}
	if _, err := os.Lstat(filepath.Join(p.root, "short")); err != nil {
		t.Error("the other file was not written")
	}
}

func mustID(t *testing.T, s string) object.ID {
	t.Helper()
	id, err := object.ParseID(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestFullDisk: the disk fills up during a checkpoint and during a restore. Both
// report it, nothing fails silently, and with room again the restore is exact.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	p := newPlace(t)
	if err := syscall.Mount("tmpfs", p.root, "tmpfs", 0, "size=6m"); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(p.root, syscall.MNT_DETACH) })
	p.script(
		baseRepo + "for i in $(seq 20); do head -c 60000 /dev/urandom > r$i; done; commit; rm -rf .git/COMMIT_EDITMSG")
	p.open("", "")
	e := p.engine(Options{})
	ctx := context.Background()
	cp, err := e.Checkpoint(ctx)
	if err == nil {
		err = p.repo.Store.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	before := state(t, p.root, "")
	p.script("rm r*; head -c 20000000 /dev/zero > node_modules.log 2>/dev/null || true; mv node_modules.log .git/filler")
	if _, err := e.Restore(ctx, cp); err == nil {
		t.Error("a restore onto a full disk said that all is well")
	} else {
		var re *RestoreError
		if !errors.As(err, &re) || len(re.Failures) < 10 {
			t.Errorf("not all failures are named: %v", err)
		}
	}
	p.script("rm .git/filler; new u; head -c 20000000 /dev/zero > .git/filler 2>/dev/null || true")
	p.script("for i in $(seq 5); do echo $i > u$i || true; done")
	if next, err := e.Checkpoint(ctx); err == nil {
		if _, err = next.Store(ctx); err == nil {
			if err = p.repo.Store.Sync(); err == nil {
				t.Log("the checkpoint found room")
			}
		}
	}
	p.script("rm .git/filler; rm -f u u?")
	if _, err := p.engine(Options{}).Restore(ctx, cp); err != nil {
		t.Error(err)
	}
	if d := different(before, state(t, p.root, "")); d != "" {
		t.Errorf("with room again the restore is not exact:\n%s", d)
	}
}
