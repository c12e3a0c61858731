//go:build unix

package gitstate

import (
	"io/fs"
	"syscall"
)

// owner is whom a file belongs to.
func owner(st fs.FileInfo) (uid, gid int) {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Gid)
	}
	return -1, -1
}
