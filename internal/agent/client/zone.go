//go:build !windows

package client

import "time"

// loadZone reads a zone from what the system knows: the table of all zones would be
// 450 KB of the program, and where there is none, a limit without a time is waited
// for all the same.
func loadZone(name string) (*time.Location, error) { return time.LoadLocation(name) }
