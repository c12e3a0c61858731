//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// killer ends a process and its group. It is used with Process.mu held.
type killer struct{ pid int }

// newKiller prepares c to lead a session of its own: no terminal can send it
// signals, and its group has its pid.
func newKiller(c *exec.Cmd) (*killer, error) {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setsid = true
	dieWithParent(c.SysProcAttr)
	return &killer{}, nil
}

func (k *killer) started(p *os.Process) error { k.pid = p.Pid; return nil }

func (k *killer) signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v: not known here", sig)
	}
	if err := syscall.Kill(-k.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d to group %d: %w", int(s), k.pid, err)
	}
	return nil
}

func (k *killer) release() {}

func exitOf(st *os.ProcessState) Exit {
	if st == nil {
		return Exit{Code: -1}
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return Exit{Code: st.ExitCode()}
}

// readNow reads what is in the pipe without waiting for more.
func readNow(f *os.File, b []byte) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	var n int
	conn.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), b)
			if err != syscall.EINTR {
				return true
			}
		}
	})
	return n
}
