//go:build unix

package session

import (
	"os"
	"syscall"
)

// openNoFollow opens a regular file without following a link that took its
// place, and without waiting when it is a FIFO.
func openNoFollow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
