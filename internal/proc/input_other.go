//go:build !linux

package proc

import "os"

// Input is a file with this content for a process to read, and a function that
// removes it when the process was started. Where an open file can be removed,
// it is gone before the process has it.
func Input(b []byte) (*os.File, func(), error) {
	f, err := os.CreateTemp("", "git-ralph-input-")
	if err != nil {
		return nil, nil, err
	}
	name := f.Name()
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(name)
		return nil, nil, err
	}
	r, err := os.Open(name)
	os.Remove(name)
	if err != nil {
		return nil, nil, err
	}
	return r, func() { r.Close(); os.Remove(name) }, nil
}
