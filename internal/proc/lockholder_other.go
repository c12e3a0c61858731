//go:build !linux

package proc

import "os"

// LockHolder names a living process that may hold one of git's lock files. Nothing
// is known about it here.
func LockHolder(string, os.FileInfo, ...string) string { return "a process that cannot be looked at" }
