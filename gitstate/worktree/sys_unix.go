//go:build linux || darwin

package worktree

import (
	"errors"
	"io/fs"
	"syscall"
)

const nonBlock = syscall.O_NONBLOCK

func fillSys(st *stat, fi fs.FileInfo) {
	s, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	st.ino, st.uid, st.gid, st.dev = uint64(s.Ino), s.Uid, s.Gid, uint64(s.Dev)
	st.ctime = changeTime(s)
}

// isOtherDevice reports whether a rename failed because the two places are on
// different file systems.
func isOtherDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }
