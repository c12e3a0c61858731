package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ownStreams checks the descriptors that the command inherits: none may lead
// into the file systems outside. A descriptor keeps to the mount where it was
// opened, which is writable and may have set-user-id programs. Pipes, sockets
// and sealed anonymous files are allowed; /dev/null is opened again inside.
// Any other descriptor is a mistake of the caller, and the command does not
// start.
func ownStreams(n int, mechanism Mechanism) error {
	for fd := range n {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fmt.Errorf("look at descriptor %d: %w", fd, err)
		}
		ok := false
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFSOCK:
			ok = true
		case unix.S_IFIFO: // one with a name lies in some folder
			var fs unix.Statfs_t
			ok = unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PIPEFS_MAGIC
		case unix.S_IFREG:
			const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
			seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
			ok = err == nil && seals&sealed == sealed
		case unix.S_IFCHR:
			if ok = uint64(st.Rdev) == unix.Mkdev(1, 3); ok && mechanism == Namespaces {
				if err := nullInside(fd); err != nil {
					return fmt.Errorf("open /dev/null for descriptor %d: %w", fd, err)
				}
			}
		}
		if !ok {
			return fmt.Errorf("descriptor %d leads to a file outside of the sandbox", fd)
		}
	}
	return nil
}

// nullInside puts the sandbox's /dev/null in the place of the one outside.
func nullInside(fd int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	null, err := unix.Open("/dev/null", flags&unix.O_ACCMODE|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	return unix.Dup3(null, fd, 0)
}
