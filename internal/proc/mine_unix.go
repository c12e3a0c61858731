//go:build unix

package proc

import (
	"os"
	"syscall"
)

// mine says whether a file belongs to this user.
func mine(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
