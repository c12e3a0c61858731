//go:build !linux

package worktree

import (
	"errors"
	"syscall"
)

func openDisk(path string) (disk, error) { return openRootDisk(path) }

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
