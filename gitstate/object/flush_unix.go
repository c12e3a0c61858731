//go:build unix

package object

import (
	"os"
)

// flushDir makes names in a folder permanent.
func flushDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
