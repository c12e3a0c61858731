//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// alone gives a program a session of its own, which no terminal ends.
func alone(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
