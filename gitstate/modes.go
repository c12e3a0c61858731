package gitstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// access is who may do what with a file or folder.
type access struct {
	mode     fs.FileMode // permissions, and the bits of set-user-id, set-group-id and sticky
	uid, gid int         // -1 = not known
}

const accessBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func accessOf(st fs.FileInfo) access {
	a := access{mode: st.Mode() & accessBits}
	a.uid, a.gid = owner(st)
	return a
}

// needs are the mode bits that an owner must have.
func needs(st fs.FileInfo) fs.FileMode {
	if st.IsDir() {
		return 0o700
	}
	return 0o400
}

// fixed reports whether git itself never changes the mode of this folder of the git
// directory. It removes and recreates folders of refs, logs and objects.
func fixed(rel string) bool {
	first, rest, deep := strings.Cut(filepath.ToSlash(rel), "/")
	switch first {
	case "refs", "logs", "ralph":
		return !deep
	case "objects":
		return !deep || rest == "info" || rest == "pack"
	}
	return true
}

// compared reports whether a file is compared by its contents and mode with what it was.
func compared(rel string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return slices.Contains([]string{"config", "config.worktree", "hooks", "info"}, first)
}

// objectFolders says whether the folders of objects are looked at, too.
type objectFolders bool

const (
	withObjects    objectFolders = true
	withoutObjects objectFolders = false
)

// modesOf calls look with each part of a git directory whose mode is checked.
// withObjects includes the folders of loose objects, which may be many.
func modesOf(base string, objects objectFolders, look func(rel string, st fs.FileInfo) error) error {
	var walk func(rel string) error
	walk = func(rel string) error {
		path := filepath.Join(base, rel)
		st, err := os.Lstat(path)
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return ignoreMissing(err)
		}
		if !st.IsDir() && (!st.Mode().IsRegular() || compared(rel)) {
			return nil
		}
		if err := look(rel, st); err != nil || !st.IsDir() {
			return err
		}
		switch slash := filepath.ToSlash(rel); {
		case slash == "ralph", slash == "lfs", slash == "worktrees", strings.HasPrefix(slash, "modules/"):
			return nil
		case strings.HasPrefix(slash, "objects/") && objects == withoutObjects &&
			slash != "objects/info" && slash != "objects/pack":
			return nil
		}
		entries, err := os.ReadDir(path)
		if errors.Is(err, fs.ErrPermission) {
			return nil // another user's; our own got their modes back before
		}
		if err != nil {
			return ignoreMissing(err)
		}
		for _, e := range entries {
			if err := walk(filepath.Join(rel, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(".")
}

// gitDirs are the folder that all worktrees share and, in a linked one, its own.
func (s *Snapshot) gitDirs() []string { return slices.Compact([]string{s.common, s.gitDir}) }

// NoteModes notes what PutBackModes is to put back.
func (s *Snapshot) NoteModes() error {
	s.access = map[string]access{}
	for _, dir := range s.gitDirs() {
		err := modesOf(dir, withoutObjects, func(rel string, st fs.FileInfo) error {
			if st.IsDir() && fixed(rel) || st.Mode()&0o002 != 0 || st.Mode()&needs(st) != needs(st) {
				s.access[filepath.Join(dir, rel)] = accessOf(st)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the modes of the git directory: %w", err)
		}
	}
	return nil
}

// PutBackModes restores modes and owners of folders in the git directory. For files, and
// for folders that git recreates, it only restores the owner's bits and removes new
// world-write permission. NoteModes has noted what they were. It runs before anything is
// read, because a folder without its modes hides everything below. It returns what it
// changed, relative to the git directory.
func (s *Snapshot) PutBackModes() (changed []string, err error) {
	if s.access == nil {
		return nil, errors.New("the modes of the git directory were not noted")
	}
	var errs []error
	for _, p := range s.places {
		st, err := p.open.Stat()
		if err != nil || p.path == s.root && st.Mode()&0o700 == 0o700 {
			continue // the worktree's own folder is the checkpoint's, when it can be entered
		}
		if was := accessOf(p.was); was.mode != accessOf(st).mode {
			errs = append(errs, p.open.Chmod(was.mode))
			changed = append(changed, filepath.Base(p.path))
		}
	}
	for _, dir := range s.gitDirs() {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return changed, errors.Join(append(errs, err)...)
		}
		look := func(rel string, st fs.FileInfo) error {
			ok, err := s.giveBack(root, filepath.Join(dir, rel), rel, st)
			if errs = append(errs, err); ok {
				changed = append(changed, filepath.ToSlash(rel))
			}
			return nil
		}
		errs = append(errs, modesOf(dir, withoutObjects, look))
		if len(changed) > 0 { // then those of objects may have changed
			errs = append(errs, modesOf(dir, withObjects, look))
		}
		root.Close()
	}
	return changed, errors.Join(errs...)
}

// giveBack restores the mode and owner of one file or folder.
func (s *Snapshot) giveBack(root *os.Root, path, rel string, st fs.FileInfo) (changed bool, err error) {
	is := accessOf(st)
	was, known := s.access[path]
	if !known || !st.IsDir() || !fixed(rel) {
		own, everybody := needs(st), s.access[s.common].mode&0o002
		if known {
			own, everybody = own&was.mode, was.mode&0o002
		}
		was = is
		was.mode = is.mode&^0o002 | is.mode&everybody | own
	}
	if was == is {
		return false, nil
	}
	if was.uid != is.uid || was.gid != is.gid {
		err = root.Lchown(rel, was.uid, was.gid)
	}
	// A change of owner clears set-id bits.
	return true, errors.Join(err, root.Chmod(rel, was.mode))
}
