//go:build !windows

package cli

import (
	"os"
	"syscall"
)

// interruptSelf is what Ctrl-C does outside of the live view.
func interruptSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGINT) }
