package proc

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// alone takes a program out of this one's console.
func alone(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
