package cli

import "os"

// interruptSelf ends the process: Windows has no signal for oneself.
func interruptSelf() error {
	os.Exit(130)
	return nil
}
