//go:build !linux && !darwin

package proc

import "errors"

// FreeSpace is not known on this system.
func FreeSpace(string) (bytes, files, total int64, err error) { return 0, 0, 0, errors.ErrUnsupported }
