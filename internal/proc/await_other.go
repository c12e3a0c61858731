//go:build unix && !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package proc

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}

// awaitEnd cannot wait without reaping here.
func awaitEnd(int) bool { return false }
