package gitstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"git-ralph/internal/proc"
)

// IndexLock is git's index.lock, for a change of the index that is no keep.
type IndexLock struct {
	f           *os.File
	path, index string
	note        *proc.Writer
}

// LockIndex takes index.lock; an *IndexLockedError when others hold it until
// the deadline.
func (r *Repo) LockIndex(wait time.Duration) (*IndexLock, error) {
	l := &IndexLock{index: filepath.Join(r.GitDir, "index")}
	l.path = l.index + ".lock"
	deadline := time.Now().Add(wait)
	note, err := r.noteIndex()
	if err != nil {
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	fail := func(err error) (*IndexLock, error) {
		note.Done()
		return nil, err
	}
	for {
		mode := fs.FileMode(0o666)
		if st, err := os.Stat(l.index); err == nil {
			mode = st.Mode().Perm()
		}
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			if st, err := f.Stat(); err == nil {
				note.Locks = map[string]uint64{l.path: inode(st)}
				note.Save()
			}
			l.f, l.note = f, note
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return fail(fmt.Errorf("lock the index: %w", err))
		}
		if gone, _, _ := r.SweepLocks(); len(gone) > 0 {
			continue
		}
		if time.Now().After(deadline) {
			return fail(&IndexLockedError{l.path})
		}
		time.Sleep(Jitter())
	}
}

// File is where the new index is written.
func (l *IndexLock) File() *os.File { return l.f }

// Commit puts the new index in place.
func (l *IndexLock) Commit() error {
	err := errors.Join(l.f.Sync(), l.f.Close())
	if err == nil {
		err = os.Rename(l.path, l.index)
	}
	l.f = nil
	defer l.note.Done()
	if err != nil {
		os.Remove(l.path)
		return fmt.Errorf("put the index in place: %w", err)
	}
	return nil
}

// Release gives the lock back when Commit was not called.
func (l *IndexLock) Release() {
	if l.f == nil {
		return
	}
	l.f.Close()
	os.Remove(l.path)
	l.note.Done()
	l.f = nil
}

// noteIndex leaves the note of a process that is about to lock the index.
func (r *Repo) noteIndex() (*proc.Writer, error) {
	if err := r.EnsureDir(); err != nil {
		return nil, err
	}
	return proc.NewWriter(r.writersDir(), "the index")
}
