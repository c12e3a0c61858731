package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitEnd blocks until the child has died and leaves it unreaped, so that its
// pid, and with it the number of its group, cannot be given to anybody else.
func awaitEnd(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
