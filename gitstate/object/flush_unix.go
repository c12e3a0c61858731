//go:build unix

package object

import (
	"os"
)

// FlushDir makes names in a folder permanent.
func FlushDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
