package gitstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// IndexLock is git's index.lock, for a change of the index that is no keep.
type IndexLock struct {
	f           *os.File
	path, index string
}

// LockIndex takes index.lock; an *IndexLockedError when others hold it until
// the deadline.
func (r *Repo) LockIndex(wait time.Duration) (*IndexLock, error) {
	l := &IndexLock{index: filepath.Join(r.GitDir, "index")}
	l.path = l.index + ".lock"
	deadline := time.Now().Add(wait)
	for {
		mode := fs.FileMode(0o666)
		if st, err := os.Stat(l.index); err == nil {
			mode = st.Mode().Perm()
		}
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			l.f = f
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("lock the index: %w", err)
		}
		if time.Now().After(deadline) {
			return nil, &IndexLockedError{l.path}
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
	l.f = nil
}
