//go:build !unix

package config

// FIFOs have no names in the file system here. Links are found by the check
// before the file is opened.
const (
	openNonblock = 0
	openNofollow = 0
)
