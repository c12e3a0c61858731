//go:build !unix

package config

// FIFOs have no names in the file system here, and a link is found by the
// look before the file is opened.
const (
	openNonblock = 0
	openNofollow = 0
)
