package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func bind(from, to string) error { return unix.Mount(from, to, "", unix.MS_BIND, "") }

// node is a device that stays usable.
type node struct {
	name string
	dir  bool
	tree int
}

// deviceNodes clones what a private /dev shows: the harmless character devices
// that every program expects, and accelerators that tests may need. Disks,
// memory and terminals of others are left out: root could write them by its
// uid alone.
func deviceNodes() ([]node, error) {
	var out []node
	needed := map[string]bool{"null": true, "zero": true, "urandom": true}
	names := []string{"null", "zero", "full", "random", "urandom", "tty", "kvm", "fuse", "dri", "net/tun"}
	if _, err := os.Lstat("/dev/nvidiactl"); err == nil { // wherever there is any of them
		all, _ := filepath.Glob("/dev/nvidia*") // the pattern is good
		for _, p := range all {
			names = append(names, strings.TrimPrefix(p, "/dev/"))
		}
	}
	for _, name := range names {
		st, err := os.Lstat("/dev/" + name)
		if err != nil || st.Mode()&os.ModeSymlink != 0 {
			if needed[name] {
				return nil, fmt.Errorf("find /dev/%s: %w", name, errors.Join(err, os.ErrNotExist))
			}
			continue
		}
		fd, err := openTree("/dev/" + name)
		if err != nil {
			return nil, err
		}
		// Devices can be written all the same; their mode and owner cannot, which
		// root could otherwise change for the whole machine.
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC,
		}); err != nil {
			return nil, fmt.Errorf("set the attributes of /dev/%s: %w", name, err)
		}
		out = append(out, node{name, st.IsDir(), fd})
	}
	return out, nil
}

// mountDev makes a /dev of the sandbox's own.
func (g ground) mountDev() error {
	if err := moveTree(g.dev, "/dev"); err != nil {
		return fmt.Errorf("mount a private /dev: %w", err)
	}
	for _, n := range g.nodes {
		path := "/dev/" + n.name
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		var err error
		if n.dir {
			err = os.Mkdir(path, 0o755)
		} else {
			err = unix.Mknod(path, unix.S_IFREG|0o644, 0)
		}
		if err == nil {
			err = moveTree(n.tree, path)
		}
		if err != nil {
			return fmt.Errorf("make %s: %w", path, err)
		}
	}
	for _, d := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	if err := moveTree(g.pts, "/dev/pts"); err != nil {
		return fmt.Errorf("mount a private /dev/pts: %w", err)
	}
	for name, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

// procMasks are parts of /proc that root's uid may write without any
// capability. (The list is that of container engines.) The first two protect
// the OOM score of the first process.
var procMasks = []string{"/proc/1/oom_score_adj", "/proc/1/oom_adj", "/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
	"/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"}

// mountProc mounts the /proc of the sandbox and masks it for root. No tree of
// mounts can be taken after it.
func (m *mounter) mountProc() error {
	if m.spec.OwnProc {
		if m.ground.procErr != nil {
			return &procError{m.ground.procErr}
		}
		if err := moveTree(m.ground.proc, "/proc"); err != nil {
			return &procError{err}
		}
	} else if m.ground.procErr == nil {
		unix.Close(m.ground.proc)
	}
	var masks []string
	var trees []int
	if m.root {
		for _, p := range procMasks {
			if _, err := os.Lstat(p); err != nil {
				continue
			}
			fd, err := cloneTree(p, readOnly)
			if err != nil {
				return err
			}
			masks, trees = append(masks, p), append(trees, fd)
		}
	}
	if !m.spec.OwnMounts {
		if err := closeMounts(); err != nil { // before /proc/sys is masked
			return err
		}
	}
	for i, p := range masks {
		if err := moveTree(trees[i], p); err != nil {
			return fmt.Errorf("protect %s: %w", p, err)
		}
	}
	return nil
}

// procError says that a /proc of our own was refused; the probe then tries
// without.
type procError struct{ err error }

func (e *procError) Error() string { return fmt.Sprintf("mount a private /proc: %v", e.err) }

func (e *procError) Unwrap() error { return e.err }
