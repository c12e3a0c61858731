package cli

import "os"

// interruptSelf ends the process: Windows has no signal for oneself.
func interruptSelf() error {
	os.Exit(130)
	return nil
}

// outputGone is asked after a signal that Windows does not have.
func outputGone() bool { return true }
