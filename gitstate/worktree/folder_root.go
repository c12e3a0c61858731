package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// rootDisk reaches a worktree through os.Root: slower than the system calls of
// disk_linux.go, the same promises, and every system has it.
type rootDisk struct{ root *os.Root }

func openRootDisk(path string) (disk, error) {
	r, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &rootDisk{r}, nil
}

func (d *rootDisk) close() error { return d.root.Close() }

// open goes down one component at a time: os.Root alone would follow a link
// that stays inside.
func (d *rootDisk) open(path string) (folder, error) {
	r, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for rest := path; rest != ""; {
		var name string
		name, rest = cutPath(rest)
		next, err := openPlain(r, name)
		r.Close()
		if err != nil {
			return nil, fmt.Errorf("open %q: %w", path, err)
		}
		r = next
	}
	return &rootFolder{r}, nil
}

func cutPath(path string) (first, rest string) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

func openPlain(r *os.Root, name string) (*os.Root, error) {
	before, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, syscall.ENOTDIR
	}
	next, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// The name may have become a link in between: what is open must be what was seen.
	after, err := next.Stat(".")
	if permission(err) {
		next.Close() // it is there, and may not be entered
		return nil, err
	}
	if err != nil || !os.SameFile(before, after) {
		next.Close()
		return nil, syscall.ENOTDIR
	}
	return next, nil
}

func (d *rootDisk) lstat(dir, name string) (stat, error) {
	if name == "" {
		dir, name = split(dir)
	}
	f, err := d.open(dir)
	if err != nil {
		return stat{}, err
	}
	defer f.close()
	if name == "" {
		return f.stat()
	}
	return f.lstat(name)
}

type rootFolder struct{ r *os.Root }

func (f *rootFolder) close() error { return f.r.Close() }

func (f *rootFolder) stat() (stat, error) {
	fi, err := f.r.Stat(".")
	if err != nil {
		return stat{}, err
	}
	return infoStat(fi), nil
}

func (f *rootFolder) list(each func(dirent) error) error {
	d, err := f.r.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(512)
		for _, e := range entries {
			if err := each(dirent{name: []byte(e.Name()), kind: modeKind(e.Type())}); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (f *rootFolder) lstat(name string) (stat, error) {
	fi, err := f.r.Lstat(name)
	if err != nil {
		return stat{}, err
	}
	return infoStat(fi), nil
}

func infoStat(fi fs.FileInfo) stat {
	st := stat{kind: modeKind(fi.Mode()), perm: permOf(fi.Mode()), size: fi.Size(), mtime: fi.ModTime().UnixNano()}
	fillSys(&st, fi)
	return st
}

func (f *rootFolder) sync() error {
	if runtime.GOOS == "windows" {
		return nil
	}
	self, err := f.r.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	return self.Sync()
}

func (f *rootFolder) openFile(name string) (*os.File, error) {
	before, err := f.r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := f.r.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	after, err := file.Stat()
	if err != nil || !os.SameFile(before, after) {
		file.Close()
		return nil, errNotRegular
	}
	return file, nil
}

func (f *rootFolder) readlink(name string) (string, error) {
	t, err := f.r.Readlink(name)
	return filepath.ToSlash(t), err
}

func (f *rootFolder) create(name string, perm uint32) (*os.File, error) {
	return f.r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode(perm).Perm())
}

func (f *rootFolder) symlink(target, name string) error { return f.r.Symlink(target, name) }
func (f *rootFolder) rename(from, to string) error      { return f.r.Rename(from, to) }

func (f *rootFolder) exchange(a, b string) error { return errors.ErrUnsupported }

func (f *rootFolder) renameNew(from, to string) error {
	if _, err := f.r.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return f.r.Rename(from, to)
}

func (f *rootFolder) moveTo(folder, string, string) error { return errors.ErrUnsupported }

func (f *rootFolder) remove(name string) error {
	fi, err := f.r.Lstat(name)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		return syscall.EISDIR
	}
	return f.r.Remove(name)
}

func (f *rootFolder) rmdir(name string) error {
	fi, err := f.r.Lstat(name)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return syscall.ENOTDIR
	}
	return f.r.Remove(name)
}

func (f *rootFolder) mkdir(name string, perm uint32) error {
	return f.r.Mkdir(name, fileMode(perm).Perm())
}

func (f *rootFolder) chmod(name string, perm uint32) error {
	fi, err := f.r.Lstat(name)
	if err != nil {
		return err
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		return errors.New("a symbolic link has no mode")
	}
	return f.r.Chmod(name, fileMode(perm))
}
