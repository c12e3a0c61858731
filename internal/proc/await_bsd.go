//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has no counterpart here: SweepEvent finds what survives a
// killed loop.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitEnd blocks until the child has died and leaves it unreaped, so that its
// pid, and with it the number of its group, cannot be given to anybody else.
func awaitEnd(pid int) bool {
	kq, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(kq)
	var ev [1]unix.Kevent_t
	unix.SetKevent(&ev[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	ev[0].Fflags = unix.NOTE_EXIT
	for {
		_, err := unix.Kevent(kq, ev[:], nil, nil)
		if err == unix.ESRCH {
			return true // dead already
		}
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false
		}
		break
	}
	for {
		n, err := unix.Kevent(kq, nil, ev[:], nil)
		if err != unix.EINTR {
			return err == nil && n == 1
		}
	}
}
