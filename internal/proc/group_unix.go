//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's Ctrl-C away from a helper child: we end it
// ourselves, after its work is done.
func ownGroup(c *exec.Cmd) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
}
