//go:build linux

package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/long"
)

// faultyDisk fails the n-th call that reaches the worktree.
type faultyDisk struct {
	disk
	mu   sync.Mutex
	left int // 0 = never
	err  error
	seen int    // calls
	at   string // the call that failed
}

func (d *faultyDisk) next(call, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen++
	if d.left > 0 && d.seen == d.left {
		d.at = fmt.Sprintf("%s %q", call, name)
		return &fs.PathError{Op: call, Path: name, Err: d.err}
	}
	return nil
}

func (d *faultyDisk) open(path string) (folder, error) {
	if err := d.next("open", path); err != nil {
		return nil, err
	}
	f, err := d.disk.open(path)
	if err != nil {
		return nil, err
	}
	return &faultyFolder{f, d}, nil
}

func (d *faultyDisk) lstat(dir, name string) (stat, error) {
	if err := d.next("lstat", join(dir, name)); err != nil {
		return stat{}, err
	}
	return d.disk.lstat(dir, name)
}

type faultyFolder struct {
	folder
	d *faultyDisk
}

func (f *faultyFolder) stat() (stat, error) {
	if err := f.d.next("fstat", ""); err != nil {
		return stat{}, err
	}
	return f.folder.stat()
}

func (f *faultyFolder) list(each func(dirent) error) error {
	if err := f.d.next("getdents", ""); err != nil {
		return err
	}
	return f.folder.list(each)
}

func (f *faultyFolder) lstat(name string) (stat, error) {
	if err := f.d.next("lstatat", name); err != nil {
		return stat{}, err
	}
	return f.folder.lstat(name)
}

func (f *faultyFolder) openFile(name string) (*os.File, error) {
	if err := f.d.next("openat", name); err != nil {
		return nil, err
	}
	return f.folder.openFile(name)
}

func (f *faultyFolder) readlink(name string) (string, error) {
	if err := f.d.next("readlink", name); err != nil {
		return "", err
	}
	return f.folder.readlink(name)
}

func (f *faultyFolder) create(name string, perm uint32) (*os.File, error) {
	if err := f.d.next("create", name); err != nil {
		return nil, err
	}
	return f.folder.create(name, perm)
}

func (f *faultyFolder) symlink(target, name string) error {
	if err := f.d.next("symlink", name); err != nil {
		return err
	}
	return f.folder.symlink(target, name)
}

func (f *faultyFolder) rename(from, to string) error {
	if err := f.d.next("rename", to); err != nil {
		return err
	}
	return f.folder.rename(from, to)
}

func (f *faultyFolder) remove(name string) error {
	if err := f.d.next("unlink", name); err != nil {
		return err
	}
	return f.folder.remove(name)
}

func (f *faultyFolder) rmdir(name string) error {
	if err := f.d.next("rmdir", name); err != nil {
		return err
	}
	return f.folder.rmdir(name)
}

func (f *faultyFolder) mkdir(name string, perm uint32) error {
	if err := f.d.next("mkdir", name); err != nil {
		return err
	}
	return f.folder.mkdir(name, perm)
}

func (f *faultyFolder) chmod(name string, perm uint32) error {
	if err := f.d.next("chmod", name); err != nil {
		return err
	}
	return f.folder.chmod(name, perm)
}

// TestEveryCallFails lets the n-th call that reaches the worktree fail, for every n, with the errors of a broken
// disk and of a stranger's folder. The short form takes a sample, another one for each error. A checkpoint or a
// capture then fails or is right. A restore reports its failure or is exact. Earlier files are intact, and the next
// restore is exact.
func TestEveryCallFails(t *testing.T) {
	const setup = "new u; chmod 600 d/x.txt; mkdir -p e1/e2; chmod 700 e1; ln -s a.txt l; echo .env > .gitignore; new " +
		".env S; new many/1; commit; new mine/own"
	const edit = usualEdits + "rm -r e1 u mine; rm -r many; new many file; chmod 644 d/x.txt; new z/2/3; rm l; new l; " +
		"new .env T"
	ctx := context.Background()
	for i, fault := range []error{unix.EIO, unix.EACCES, unix.ENOSPC, unix.EMFILE} {
		t.Run(fault.Error(), func(t *testing.T) {
			t.Parallel()
			p, e, cp := started(t, setup, Options{Workers: 1})
			before := state(t, p.root, "")
			calls := func(n int, f func() error) (*faultyDisk, error) {
				bad := &faultyDisk{disk: e.disk, left: n, err: fault}
				e.disk = bad
				err := f()
				e.disk = bad.disk
				return bad, err
			}
			step, total := long.Number(t, 31, 1), 0
			// The checkpoint, first in its process, and the restore after an edit.
			for n := 1 + i%step; ; n += step {
				e.last, e.index = nil, nil
				var got *Checkpoint
				bad, err := calls(n, func() (err error) { got, err = e.Checkpoint(ctx); return err })
				if bad.at == "" {
					break
				}
				total++
				// An unreadable untracked file is left alone and named. Unreadable
				// ignore rules do not apply, as in git.
				allowed := err == nil && errors.Is(fault, fs.ErrPermission) &&
					(len(got.Unreadable) > 0 || bad.at == `openat ".gitignore"`)
				if err == nil && got.Tree != cp.Tree && !allowed {
					t.Errorf("call %d, %s: the checkpoint is silently another one", n, bad.at)
				}
				if d := different(before, state(t, p.root, "")); d != "" {
					t.Fatalf("call %d, %s: the checkpoint changed the worktree:\n%s", n, bad.at, d)
				}
			}
			e.last, e.index = nil, nil
			cp, err := e.Checkpoint(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for n := 1 + i%step; ; n += step {
				p.script("umask 022\n" + edit)
				bad, err := calls(n, func() error { _, err := e.Restore(ctx, cp); return err })
				if d := different(before, state(t, p.root, "")); d != "" && err == nil {
					t.Errorf("call %d, %s: the restore is silently not exact:\n%s", n, bad.at, d)
				}
				if _, err := e.Restore(ctx, cp); err != nil {
					t.Errorf("call %d, %s: the next restore: %v", n, bad.at, err)
				}
				if d := different(before, state(t, p.root, "")); d != "" {
					t.Fatalf("call %d, %s: the next restore is not exact:\n%s", n, bad.at, d)
				}
				if bad.at == "" {
					break
				}
				total++
			}
			t.Logf("%d calls failed, one at a time", total)
		})
	}
}
