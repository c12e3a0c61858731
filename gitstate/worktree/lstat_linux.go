//go:build amd64 || arm64

package worktree

import (
	"bytes"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// local reports whether the file system at fd answers from this machine's memory
// or disk. On one that asks another machine, or a process, an lstat may take
// for ever, and Go has to know that the thread is gone. What is mounted further
// below is not asked about: one that hangs there holds up a scan in any case.
func local(fd int) bool {
	var s unix.Statfs_t
	if unix.Fstatfs(fd, &s) != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}

// quickLstat is lstat of dir/name below fd, where dir may be empty. A scan does
// little else, once a file, and the call itself takes hardly a microsecond: it
// puts the name together on the stack and does not tell Go's scheduler about a
// call that will not wait, which saves a fifth of it.
func quickLstat(fd int, dir, name string) (stat, error) {
	var room [256]byte
	b := room[:0]
	if len(dir)+len(name)+2 > len(room) {
		b = make([]byte, 0, len(dir)+len(name)+2)
	}
	if dir != "" {
		b = append(append(b, dir...), '/')
	}
	b = append(append(b, name...), 0)
	if bytes.IndexByte(b, 0) != len(b)-1 {
		return stat{}, unix.EINVAL
	}
	var u unix.Stat_t
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(unsafe.Pointer(&u)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		runtime.KeepAlive(b)
		switch errno {
		case 0:
			return fromUnix(&u), nil
		case unix.EINTR:
		default:
			return stat{}, errno
		}
	}
}
