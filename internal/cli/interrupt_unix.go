//go:build !windows

package cli

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// interruptSelf is what Ctrl-C does outside of the live view.
func interruptSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGINT) }

// outputGone reports whether nobody reads any more what we print.
func outputGone() bool {
	fds := []unix.PollFd{{Fd: 1}, {Fd: 2}}
	if _, err := unix.Poll(fds, 0); err != nil {
		return false
	}
	return (fds[0].Revents|fds[1].Revents)&(unix.POLLERR|unix.POLLHUP) != 0
}
