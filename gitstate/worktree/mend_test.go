package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"git-ralph/gitstate/object"
)

// MendIndex is RepairIndex with index.lock taken and renamed, within the
// deadline.
func (e *Engine) MendIndex(ctx context.Context, from, to object.ID, deadline time.Duration) error {
	path := e.repo.IndexPath()
	until := time.Now().Add(deadline)
	var lock *os.File
	for {
		var err error
		if lock, err = os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || time.Now().After(until) {
			return fmt.Errorf("repair the index: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("repair the index: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	set, err := e.RepairIndex(ctx, lock, from, to)
	err = errors.Join(err, lock.Close())
	if err == nil && len(set) > 0 {
		return os.Rename(path+".lock", path)
	}
	return errors.Join(err, os.Remove(path+".lock"))
}

// SameIndex reports whether the user's index has the entries and flags that it had
// at the checkpoint.
func (e *Engine) SameIndex(ctx context.Context, c *Checkpoint) (bool, error) {
	now, err := e.IndexState(ctx)
	if err != nil {
		return false, fmt.Errorf("compare the index: %w", err)
	}
	return now.Equal(c.Index), nil
}
