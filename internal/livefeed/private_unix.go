//go:build unix

package livefeed

import (
	"fmt"
	"os"
	"syscall"
)

// private reports whether a folder is this user's alone: nobody else may put a
// socket there that pretends to be a loop. closeFolder takes the others' rights away.
func private(dir string, fix openFolder) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.IsDir() || int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user", dir)
	}
	if st.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if fix {
		return os.Chmod(dir, 0o700)
	}
	return fmt.Errorf("%s is open to other users", dir)
}
