//go:build unix

package proc

import (
	"os"
	"syscall"
)

// interrupt asks a process to end and to tidy up.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
