package worktree

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// kind is what a name in a folder is.
type kind uint8

const (
	kindNone kind = iota
	kindFile
	kindLink
	kindDir
	kindFIFO
	kindSocket
	kindDevice
	kindUnknown // the file system does not say: ask
)

func (k kind) String() string {
	return [...]string{"nothing", "file", "symlink", "folder", "fifo", "socket", "device", "unknown"}[k]
}

// stat is what one lstat says. Times are nanoseconds since 1970; ctime and ino
// are 0 where the system has none.
type stat struct {
	kind         kind
	perm         uint32 // 0o7777
	size         int64
	mtime, ctime int64
	ino          uint64
	uid, gid     uint32
	dev          uint64
}

// dirent is one name of a folder. The name is only valid until the next list.
type dirent struct {
	name []byte
	kind kind
	ino  uint64 // 0 where the listing does not say
}

// disk reaches the files of one worktree. Paths are relative to its root, with
// slashes; "" is the root. No call follows a symbolic link in any component,
// whatever changes in the tree while it runs.
type disk interface {
	open(path string) (folder, error)
	lstat(dir, name string) (stat, error) // of name in dir; of dir itself when name is ""
	close() error
}

// folder is an open folder. It stays the same folder when its name moves. A
// folder is used by one goroutine.
type folder interface {
	stat() (stat, error)
	list(func(dirent) error) error
	lstat(name string) (stat, error)
	openFile(name string) (*os.File, error) // regular files only, never blocks
	readlink(name string) (string, error)
	create(name string, perm uint32) (*os.File, error) // must not exist
	symlink(target, name string) error
	rename(from, to string) error
	renameNew(from, to string) error              // fs.ErrExist when to is there
	exchange(a, b string) error                   // both names exist and are exchanged
	moveTo(to folder, name, newName string) error // into another folder; fs.ErrExist when newName is there
	remove(name string) error
	rmdir(name string) error
	mkdir(name string, perm uint32) error
	chmod(name string, perm uint32) error // of a file or folder, never through a link
	sync() error                          // makes its names permanent, where the system does that for folders
	close() error
}

// errNotRegular is what openFile says of everything that is not a file.
var errNotRegular = errors.New("not a regular file")

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }

// split takes a path apart into folder and name.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func modeKind(m fs.FileMode) kind {
	switch {
	case m.IsRegular():
		return kindFile
	case m&fs.ModeSymlink != 0:
		return kindLink
	case m.IsDir():
		return kindDir
	case m&fs.ModeNamedPipe != 0:
		return kindFIFO
	case m&fs.ModeSocket != 0:
		return kindSocket
	}
	return kindDevice
}

// permOf turns Go's mode bits into Unix ones and back.
func permOf(m fs.FileMode) uint32 {
	p := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		p |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		p |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		p |= 0o1000
	}
	return p
}

func fileMode(perm uint32) fs.FileMode {
	m := fs.FileMode(perm & 0o777)
	if perm&0o4000 != 0 {
		m |= fs.ModeSetuid
	}
	if perm&0o2000 != 0 {
		m |= fs.ModeSetgid
	}
	if perm&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}
