//go:build !linux

package worktree

import (
	"errors"
	"syscall"
)

func openDisk(path string) (disk, error) { return openRootDisk(path) }

// isNotDir reports whether err means that no such path can exist: a leading
// component is no folder, or a name is longer than the file system takes.
func isNotDir(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
