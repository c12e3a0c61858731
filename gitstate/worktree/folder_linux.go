package worktree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// linuxDisk uses system calls relative to an open folder. openat2 refuses
// symbolic links in every component in one call; where it is missing (before
// Linux 5.6, or under an old seccomp filter) the components are opened one by one.
type linuxDisk struct {
	root  int
	quick bool        // lstat cannot wait: see local
	slow  atomic.Bool // no openat2
	bufs  sync.Pool   // *[]byte for getdents
}

func openDisk(path string) (disk, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &linuxDisk{root: fd, quick: local(fd)}, nil
}

func (d *linuxDisk) close() error { return unix.Close(d.root) }

// pathChunk keeps a path below PATH_MAX; deeper ones are walked in pieces.
const pathChunk = 4000

func (d *linuxDisk) open(path string) (folder, error) {
	fd, err := d.openFD(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &linuxFolder{fd, d}, nil
}

func (d *linuxDisk) openFD(path string) (int, error) {
	at, own := d.root, false
	for {
		head, tail := path, ""
		if len(path) > pathChunk {
			i := strings.LastIndexByte(path[:pathChunk], '/')
			if i < 0 {
				return -1, unix.ENAMETOOLONG
			}
			head, tail = path[:i], path[i+1:]
		}
		fd, err := d.openat(at, head)
		if own {
			unix.Close(at)
		}
		if err != nil || tail == "" {
			return fd, err
		}
		at, own, path = fd, true, tail
	}
}

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

func (d *linuxDisk) openat(at int, path string) (int, error) {
	if path == "" {
		path = "."
	}
	if !d.slow.Load() {
		how := unix.OpenHow{Flags: openFolder,
			Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH}
		for {
			fd, err := unix.Openat2(at, path, &how)
			switch err {
			case unix.EINTR, unix.EAGAIN:
				continue
			case unix.ENOSYS, unix.EPERM, unix.E2BIG:
				d.slow.Store(true)
			case unix.ELOOP:
				return -1, unix.ENOTDIR
			default:
				return fd, err
			}
			break
		}
	}
	cur, own := at, false
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		fd, err := unix.Openat(cur, name, openFolder, 0)
		for err == unix.EINTR {
			fd, err = unix.Openat(cur, name, openFolder, 0)
		}
		if own {
			unix.Close(cur)
		}
		if err == unix.ELOOP {
			err = unix.ENOTDIR
		}
		if err != nil {
			return -1, err
		}
		cur, own = fd, true
	}
	return cur, nil
}

// lstat uses the whole path, which saves opening folders that are known to be
// unchanged. A leading component can be a link only if the tree changes right now.
// Then the result is of another file and does not match the known one, so the file is
// opened, which refuses the link.
func (d *linuxDisk) lstat(dir, name string) (stat, error) {
	if len(dir)+len(name) > pathChunk {
		if name == "" {
			dir, name = split(dir)
		}
		fd, err := d.openFD(dir)
		if err != nil {
			return stat{}, err
		}
		defer unix.Close(fd)
		return lstatAt(fd, name)
	}
	if name == "" {
		dir, name = "", dir
	}
	if name == "" {
		name = "."
	}
	if d.quick {
		return quickLstat(d.root, dir, name)
	}
	return lstatAt(d.root, join(dir, name))
}

func lstatAt(fd int, name string) (stat, error) {
	var u unix.Stat_t
	for {
		err := unix.Fstatat(fd, name, &u, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			return fromUnix(&u), nil
		}
		if err != unix.EINTR {
			return stat{}, err
		}
	}
}

func fromUnix(u *unix.Stat_t) stat {
	st := stat{perm: u.Mode & 0o7777, size: u.Size, ino: u.Ino, uid: u.Uid, gid: u.Gid, dev: uint64(u.Dev),
		mtime: u.Mtim.Nano(), ctime: u.Ctim.Nano()}
	switch u.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		st.kind = kindFile
	case unix.S_IFDIR:
		st.kind = kindDir
	case unix.S_IFLNK:
		st.kind = kindLink
	case unix.S_IFIFO:
		st.kind = kindFIFO
	case unix.S_IFSOCK:
		st.kind = kindSocket
	default:
		st.kind = kindDevice
	}
	return st
}

type linuxFolder struct {
	fd   int
	disk *linuxDisk
}

func (f *linuxFolder) close() error { return unix.Close(f.fd) }

func (f *linuxFolder) stat() (stat, error) {
	var u unix.Stat_t
	if err := unix.Fstat(f.fd, &u); err != nil {
		return stat{}, err
	}
	return fromUnix(&u), nil
}

func (f *linuxFolder) sync() error {
	err := unix.Fsync(f.fd)
	for err == unix.EINTR {
		err = unix.Fsync(f.fd)
	}
	return err
}

func (f *linuxFolder) list(each func(dirent) error) error {
	buf, _ := f.disk.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
		*buf = make([]byte, 32<<10)
	}
	defer f.disk.bufs.Put(buf)
	for {
		n, err := unix.Getdents(f.fd, *buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		for b := (*buf)[:n]; len(b) > 19; {
			// struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name.
			size := int(binary.NativeEndian.Uint16(b[16:]))
			if size < 20 || size > len(b) {
				return errors.New("the system returned a damaged folder")
			}
			name := b[19:size]
			if nul := bytes.IndexByte(name, 0); nul >= 0 {
				name = name[:nul]
			}
			k, ino := direntKind(b[18]), binary.NativeEndian.Uint64(b)
			b = b[size:]
			if string(name) == "." || string(name) == ".." {
				continue
			}
			if err := each(dirent{name, k, ino}); err != nil {
				return err
			}
		}
	}
}

func direntKind(t byte) kind {
	switch t {
	case unix.DT_REG:
		return kindFile
	case unix.DT_DIR:
		return kindDir
	case unix.DT_LNK:
		return kindLink
	case unix.DT_FIFO:
		return kindFIFO
	case unix.DT_SOCK:
		return kindSocket
	case unix.DT_BLK, unix.DT_CHR:
		return kindDevice
	}
	return kindUnknown
}

func (f *linuxFolder) lstat(name string) (stat, error) {
	if f.disk.quick {
		return quickLstat(f.fd, "", name)
	}
	return lstatAt(f.fd, name)
}

func (f *linuxFolder) openFile(name string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	fd, err := unix.Openat(f.fd, name, flags, 0)
	for err == unix.EINTR {
		fd, err = unix.Openat(f.fd, name, flags, 0)
	}
	if err == unix.ELOOP || err == unix.ENXIO {
		return nil, errNotRegular
	}
	if err != nil {
		return nil, err
	}
	var u unix.Stat_t
	if err := unix.Fstat(fd, &u); err != nil || u.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, errNotRegular
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (f *linuxFolder) readlink(name string) (string, error) {
	for size := 256; ; size *= 2 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(f.fd, name, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

func (f *linuxFolder) create(name string, perm uint32) (*os.File, error) {
	fd, err := unix.Openat(f.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (f *linuxFolder) symlink(target, name string) error {
	return unix.Symlinkat(target, f.fd, name)
}

func (f *linuxFolder) rename(from, to string) error {
	return unix.Renameat(f.fd, from, f.fd, to)
}

func (f *linuxFolder) renameNew(from, to string) error {
	return renameNoReplace(f.fd, from, f.fd, to)
}

// renameNoReplace is a rename that never goes over anything. A file system
// without it is asked first, which leaves a moment between the two.
func renameNoReplace(fd int, from string, toFD int, to string) error {
	err := unix.Renameat2(fd, from, toFD, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if _, err := lstatAt(toFD, to); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(fd, from, toFD, to)
}

func (f *linuxFolder) exchange(a, b string) error {
	err := unix.Renameat2(f.fd, a, f.fd, b, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return errors.ErrUnsupported
	}
	return err
}

func (f *linuxFolder) moveTo(to folder, name, newName string) error {
	t, ok := to.(*linuxFolder)
	if !ok {
		return errors.ErrUnsupported
	}
	return renameNoReplace(f.fd, name, t.fd, newName)
}

// moveOut moves a name out of the worktree.
func (f *linuxFolder) moveOut(name, to string) error {
	return renameNoReplace(f.fd, name, unix.AT_FDCWD, to)
}

// bringIn is the way back.
func (f *linuxFolder) bringIn(from, name string) error {
	return renameNoReplace(unix.AT_FDCWD, from, f.fd, name)
}

func (f *linuxFolder) remove(name string) error { return unix.Unlinkat(f.fd, name, 0) }

func (f *linuxFolder) rmdir(name string) error {
	return unix.Unlinkat(f.fd, name, unix.AT_REMOVEDIR)
}

func (f *linuxFolder) mkdir(name string, perm uint32) error { return unix.Mkdirat(f.fd, name, perm) }

// chmod goes through /proc so that a file that nobody may read can be changed
// and a link that has just taken the name is not followed.
func (f *linuxFolder) chmod(name string, perm uint32) error {
	fd, err := unix.Openat(f.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var u unix.Stat_t
	if err := unix.Fstat(fd, &u); err != nil {
		return err
	}
	if u.Mode&unix.S_IFMT == unix.S_IFLNK {
		return errors.New("a symbolic link has no mode")
	}
	err = unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), perm)
	if errors.Is(err, unix.ENOENT) {
		// No /proc: the name was no link a moment ago. In a folder that nobody
		// else can write, fchmodat is safe too.
		err = unix.Fchmodat(f.fd, name, perm, 0)
	}
	return err
}

// isNotDir reports whether err means that no such path can exist: a leading
// component is no folder, or a name is longer than the file system takes.
func isNotDir(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENAMETOOLONG)
}
