//go:build unix

package scripted

import (
	"os"
	"syscall"
	"time"
)

// die ends this process by a signal, as a crash would.
func die(sig int) error {
	if err := syscall.Kill(os.Getpid(), syscall.Signal(sig)); err != nil {
		return err
	}
	// A signal that does not end a process leaves it alive, and one that does
	// may take a moment.
	time.Sleep(time.Second)
	return nil
}

func politeSignals() []os.Signal { return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} }
