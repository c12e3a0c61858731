package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"git-ralph/gitstate/object"
)

// moveAcross moves a file or folder to a place on another file system: a copy
// under a temporary name beside it, which put gives its own, and only then the
// removal. When it fails before that, nothing is left of the copy.
func moveAcross(from, to string, put func(copied string) error) error {
	tmp := filepath.Join(filepath.Dir(to), tempName())
	err := copyTree(from, tmp, roomFor(filepath.Dir(to)))
	if err == nil {
		err = put(tmp)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if err := object.FlushDir(filepath.Dir(to)); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// copyTree copies files, links and folders with their permissions, as far as
// there is room.
func copyTree(from, to string, disk *room) error {
	var folders []string
	err := filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		fi, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			folders = append(folders, at)
			return os.Mkdir(at, fi.Mode().Perm()|0o700)
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		case fi.Mode().IsRegular():
			if !disk.take(fi.Size()) {
				return fmt.Errorf("copy %s: it would take more than half of what is free: %w", p, syscall.ENOSPC)
			}
			return copyFile(p, at, fi.Mode().Perm())
		}
		return nil // a FIFO, socket or device has no contents
	})
	for _, dir := range folders {
		err = errors.Join(err, object.FlushDir(dir))
	}
	return err
}

func copyFile(from, to string, perm fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
