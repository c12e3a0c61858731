//go:build linux || darwin

package proc

import "golang.org/x/sys/unix"

// FreeSpace is what an ordinary user can still write on the file system of a
// folder: bytes and files, and how many files it can hold in all. A file system
// without a bound of files says 0 of 0.
func FreeSpace(folder string) (bytes, files, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, 0, 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Ffree), int64(st.Files), nil
}
