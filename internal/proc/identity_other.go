//go:build unix && !linux && !darwin

package proc

import "syscall"

func bootID() string { return "" }

// startTime is not known here; a process that takes a signal exists.
func startTime(pid int) (uint64, bool) {
	err := syscall.Kill(pid, 0)
	return 0, err == nil || err == syscall.EPERM
}
