//go:build !linux

package gitstate

import "time"

// bootTime is not known here.
func bootTime() time.Time { return time.Time{} }
