package sandbox

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// access is what may be done with the files of a mount.
type access bool

const (
	readWrite access = true
	readOnly  access = false
)

// cloneTree takes a detached copy of the mounts at path. Devices and set-user
// bits do not work in it.
func cloneTree(path string, writable access) (int, error) {
	fd, err := openTree(path)
	if err != nil {
		return -1, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if writable == readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("set the attributes of %q: %w", path, err)
	}
	return fd, nil
}

// newFS makes a file system with options, and a detached mount of it with attributes.
func newFS(kind string, attributes int, options ...string) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", kind, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		if name, value, ok := strings.Cut(o, "="); ok {
			err = unix.FsconfigSetString(fs, name, value)
		} else {
			err = unix.FsconfigSetFlag(fs, o)
		}
		if err != nil {
			return -1, fmt.Errorf("%s: set %s: %w", kind, o, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("%s: create: %w", kind, err)
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return -1, fmt.Errorf("%s: mount: %w", kind, err)
	}
	return tree, nil
}

func openTree(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("clone the mount of %q: %w", path, err)
	}
	return fd, nil
}

func moveTree(fd int, target string) error {
	defer unix.Close(fd)
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	return nil
}

// fdPath names an open file in a way that mount options take literally.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
