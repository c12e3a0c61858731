//go:build linux

package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk is a place whose worktree, git directory included, is a file system
// of three megabytes.
func smallDisk(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	if err := unix.Mount("tmpfs", p.root, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(p.root, unix.MNT_DETACH) })
	return p
}

// fill fills the disk up to free bytes.
func (p *place) fill(free int64) {
	p.t.Helper()
	p.script("cat /dev/zero > .git/filler 2>/dev/null || true")
	fi, err := os.Stat(filepath.Join(p.root, ".git", "filler"))
	if err == nil {
		err = os.Truncate(filepath.Join(p.root, ".git", "filler"), max(0, fi.Size()-free))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// saved is an engine and a checkpoint whose objects are on the disk.
func (p *place) saved() (*Engine, *Checkpoint) {
	p.t.Helper()
	e := p.engine(Options{})
	cp, err := e.Checkpoint(context.Background())
	if err == nil {
		err = p.repo.Store.Sync()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return e, cp
}

// TestDiskFullAtAnyPoint: the disk has room for one page, two pages, and so on,
// until there is enough. A restore reports its failure or is exact, and is exact
// when there is room again. A checkpoint fails or is right, and leaves a sound
// object store.
func TestDiskFullAtAnyPoint(t *testing.T) {
	p := smallDisk(t)
	p.script(baseRepo + "for i in $(seq 12); do head -c 9000 /dev/urandom > r$i; done; commit; new d/u; chmod 600 d/u")
	p.open("", "")
	ctx := context.Background()
	e, cp := p.saved()
	before := state(t, p.root, "")
	failed, done := 0, 0
	for free := int64(0); free <= 45; free++ {
		p.script("rm -r d r1 r2; for i in $(seq 3 12); do head -c 40 /dev/zero > r$i; done; new n/m")
		p.fill(free * 4096)
		_, err := e.Restore(ctx, cp)
		var re *RestoreError
		d := different(before, state(t, p.root, ""))
		switch {
		case err == nil && d != "":
			t.Errorf("%d pages: silently not exact:\n%s", free, d)
		case err == nil:
			done++
		case errors.As(err, &re) && len(re.Failures) == 0:
			t.Errorf("%d pages: no failure is named: %v", free, err)
		default:
			failed++
		}
		if left, _ := filepath.Glob(filepath.Join(p.root, "*", ".git-ralph-*")); len(left) > 0 {
			t.Errorf("%d pages: left behind: %q", free, left)
		}
		p.script("rm .git/filler")
		if _, err := e.Restore(ctx, cp); err != nil {
			t.Errorf("%d pages: with room again: %v", free, err)
		}
		if d := different(before, state(t, p.root, "")); d != "" {
			t.Fatalf("%d pages: with room again the restore is not exact:\n%s", free, d)
		}
	}
	if failed == 0 || done == 0 {
		t.Errorf("%d restores failed and %d were exact: the disk was never full, or always", failed, done)
	}

	p.script("for i in $(seq 12); do head -c 5000 /dev/urandom > u$i; done; mkdir -p s/t; new s/t/u")
	with := state(t, p.root, "")
	want, _, err := p.oracle(p.repo.IndexPath())
	if err != nil {
		t.Fatal(err)
	}
	p.script("git prune --expire=now")
	failed, done = 0, 0
	for free := int64(0); free <= 60; free += 2 {
		p.fill(free * 4096)
		e := p.engine(Options{})
		got, err := e.Checkpoint(ctx)
		if err == nil {
			if _, err = got.Store(ctx); err == nil {
				err = p.repo.Store.Sync()
			}
		}
		if err == nil {
			done++
			if got.Tree.String() != want {
				t.Errorf("%d pages: the checkpoint is silently another one", free)
			}
		} else {
			failed++
		}
		p.script("rm .git/filler")
		if out, err := p.gitOut("", "fsck", "--strict", "--no-dangling"); err != nil {
			t.Fatalf("%d pages: %v %s", free, err, out)
		}
		if d := different(with, state(t, p.root, "")); d != "" {
			t.Fatalf("%d pages: the checkpoint changed the worktree:\n%s", free, d)
		}
		p.repo.Store.Close()
		p.open("", "")
		p.script("git prune --expire=now")
	}
	if failed == 0 || done == 0 {
		t.Errorf("%d checkpoints failed and %d were right: the disk was never full, or always", failed, done)
	}
}

// TestReadOnlyDisk: nothing can be written. That is said, and nothing changes.
func TestReadOnlyDisk(t *testing.T) {
	p := smallDisk(t)
	p.script(baseRepo + "new u")
	p.open("", "")
	ctx := context.Background()
	e, cp := p.saved()
	p.script(usualEdits + "rm u; new v")
	if err := unix.Mount("", p.root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	edited := state(t, p.root, "")
	if _, err := p.engine(Options{}).Checkpoint(ctx); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("the checkpoint says %v", err)
	}
	report, err := e.Restore(ctx, cp)
	if err == nil || len(report.Failures) == 0 || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("the restore says %v", err)
	}
	p.want("the worktree", different(edited, state(t, p.root, "")), "")
}
