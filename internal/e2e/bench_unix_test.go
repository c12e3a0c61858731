//go:build unix

package e2e

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the highest resident memory of a process that ended and of its
// waited-for children, in bytes.
func peak(s *os.ProcessState) int64 {
	n := s.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "darwin" {
		return n // in bytes there, in KiB elsewhere
	}
	return n << 10
}
