package proc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Input is an anonymous file with this content for a process to read, and a
// function that closes it when the process was started. It is sealed: nobody
// can write to it, extend it, or leave it behind.
func Input(b []byte) (*os.File, func(), error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("input", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // older than Linux 6.3
		fd, err = unix.MemfdCreate("input", flags)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("create an anonymous file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "input")
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return nil, nil, err
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return nil, nil, fmt.Errorf("seal an anonymous file: %w", err)
	}
	r, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, nil, err
	}
	return r, func() { r.Close() }, nil
}
