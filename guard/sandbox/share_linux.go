package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// keepLayer prepares the folders of spec.ShareLayer for one sandbox and locks them
// as keepHome does. While another sandbox holds them, this one sees their contents
// and writes to a folder, apart, that goes when it ends.
//
// A share is left out when its place in the worktree is not a plain folder: an
// agent has put something else there, which the command then finds.
func keepLayer(spec *Spec) (lock *os.File, apart string, err error) {
	if len(spec.Shares) == 0 {
		return nil, "", nil
	}
	defer func() {
		if err != nil {
			lock.Close() // nil is no matter
			lock, err = nil, fmt.Errorf("share a folder: %w", err)
		}
	}()
	layer := spec.ShareLayer
	if err := os.MkdirAll(layer, 0o700); err != nil {
		return nil, "", err
	}
	if lock, err = os.OpenFile(filepath.Join(layer, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, "", err
	}
	switch err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
	case unix.EWOULDBLOCK:
		lock.Close()
		if apart, err = os.MkdirTemp(layer, fmt.Sprintf("%s%d-", discardPrefix, os.Getpid())); err != nil {
			return nil, "", err
		}
		layer, lock = apart, nil
	default:
		return lock, "", err
	}
	shares := slices.Clone(spec.Shares)
	for i := range shares {
		if err := shares[i].ready(*spec, filepath.Join(layer, strconv.Itoa(i)), apart == ""); err != nil {
			return lock, apart, err
		}
		if apart != "" {
			shares[i].Under = filepath.Join(spec.ShareLayer, strconv.Itoa(i), "upper")
		}
	}
	spec.Shares = slices.DeleteFunc(shares, func(s Share) bool { return !shareFolder(spec.Worktree, s.Target) })
	return lock, apart, nil
}

// ready makes dir the folder of what is written to the share. A kept one starts
// with the files that must differ from Lower.
func (s *Share) ready(spec Spec, dir string, kept bool) error {
	lower, err := os.Stat(s.Lower)
	if err != nil {
		return err
	}
	if !lower.IsDir() {
		return fmt.Errorf("%q is no folder", s.Lower)
	}
	s.Upper = dir
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	fresh := kept && !bootedSince(dir)
	if fresh {
		if err := RemoveHomeUpper(dir); err != nil {
			return err
		}
	} else if err := clearWork(work); err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	if err := makeLike(upper, lower); err != nil || !fresh {
		return err
	}
	if err := lead(s.Lower, upper, spec.ShareFrom, spec.Worktree); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "boot"), []byte(proc.Self().BootID+"\n"), 0o600)
}

// shareFolder makes the folder in the worktree where a share is shown, and says
// whether it is one: no link on the way, nothing else in its place.
func shareFolder(worktree, target string) bool {
	rel, err := filepath.Rel(worktree, target)
	if err != nil {
		return false
	}
	root, err := os.OpenRoot(worktree)
	if err != nil {
		return false
	}
	defer root.Close()
	root.MkdirAll(rel, 0o755)
	for p := rel; p != "."; p = filepath.Dir(p) {
		if st, err := root.Lstat(p); err != nil || !st.IsDir() {
			return false
		}
	}
	return true
}

// maxLed is the size of the files of a virtual environment that are rewritten.
const maxLed = 1 << 20

// lead copies into upper the files of lower that lead into the worktree from,
// rewritten to the worktree to: absolute links, the commands of a virtual
// environment and what it imports from the project.
func lead(lower, upper, from, to string) error {
	if from == "" || from == to {
		return nil
	}
	out, err := os.OpenRoot(upper)
	if err != nil {
		return err
	}
	defer out.Close()
	put := func(rel string, write func() error) error {
		if err := likeFolders(out, lower, filepath.Dir(rel)); err != nil {
			return err
		}
		return write()
	}
	return filepath.WalkDir(lower, func(path string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(lower, path)
		if err != nil || rerr != nil || d.IsDir() {
			return nil // what cannot be read is as unreadable for the command
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil || !filepath.IsAbs(link) || !within(link, from) {
				return nil
			}
			return put(rel, func() error { return out.Symlink(text.ReplacePath(link, from, to), rel) })
		case d.Type().IsRegular() && leads(lower, rel):
			st, err := d.Info()
			if err != nil || st.Size() > maxLed {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil || bytes.IndexByte(data, 0) >= 0 || !bytes.Contains(data, []byte(from)) {
				return nil
			}
			there := []byte(text.ReplacePath(string(data), from, to))
			return put(rel, func() error {
				if err := out.WriteFile(rel, there, 0o600); err != nil {
					return err
				}
				return errors.Join(out.Chmod(rel, st.Mode().Perm()), likeOwner(out, rel, st))
			})
		}
		return nil
	})
}

// leads says whether a file of a shared folder may contain the path of its
// worktree: start scripts and files with Python's search path.
func leads(lower, rel string) bool {
	dir, name := filepath.Split(rel)
	switch dir = filepath.Clean(dir); {
	case filepath.Base(dir) == ".bin", name == "pyvenv.cfg":
		return true
	case filepath.Base(dir) == "bin":
		_, err := os.Lstat(filepath.Join(lower, filepath.Dir(dir), "pyvenv.cfg"))
		return err == nil
	case filepath.Base(dir) == "site-packages":
		return strings.HasSuffix(name, ".pth") || strings.HasSuffix(name, ".egg-link") ||
			strings.HasPrefix(name, "__editable__") || strings.HasPrefix(name, "_editable_")
	}
	return false
}

// likeFolders makes a folder and those above it as they are in lower.
func likeFolders(out *os.Root, lower, rel string) error {
	if rel == "." {
		return nil
	}
	if err := likeFolders(out, lower, filepath.Dir(rel)); err != nil {
		return err
	}
	st, err := os.Lstat(filepath.Join(lower, rel))
	if err != nil {
		return err
	}
	if err := out.Mkdir(rel, 0o700); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return errors.Join(out.Chmod(rel, st.Mode().Perm()|0o700), likeOwner(out, rel, st))
}

// likeOwner gives a file of root the owner of its original.
func likeOwner(out *os.Root, rel string, st fs.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || os.Getuid() != 0 {
		return nil
	}
	return out.Lchown(rel, int(sys.Uid), int(sys.Gid))
}

// shares adds the shared folders.
func (m *mounter) shares() error {
	if len(m.spec.Shares) == 0 {
		return nil
	}
	root, err := m.resolve(m.spec.Worktree)
	if err != nil {
		return fmt.Errorf("share a folder: %w", err)
	}
	for _, s := range m.spec.Shares {
		rel, err := filepath.Rel(m.spec.Worktree, s.Target)
		if err != nil {
			return fmt.Errorf("share a folder: %w", err)
		}
		lowers := []string{s.Lower}
		if s.Under != "" {
			lowers = []string{s.Under, s.Lower}
		}
		tree, err := overlay(s.Upper, lowers...)
		if err == nil && m.spec.WorktreeReadOnly {
			err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		}
		if err != nil {
			return fmt.Errorf("share %q: %w", s.Lower, err)
		}
		m.items = append(m.items, item{target: filepath.Join(root.real, rel), rank: rankShare, dir: true, tree: tree,
			what: "share"})
	}
	return nil
}

// TryShare shares a folder once, in a throw-away worktree, with its layer below dir.
// The error says why it cannot be done here.
func TryShare(ctx context.Context, r Report, lower, dir string) error {
	if err := foreign(lower); err != nil {
		return err
	}
	work, err := proc.TempDir("probe")
	if err != nil {
		return fmt.Errorf("try to share %q: %w", lower, err)
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("try to share %q: %w", lower, err)
	}
	layer, err := os.MkdirTemp(dir, "probe-")
	if err != nil {
		return fmt.Errorf("try to share %q: %w", lower, err)
	}
	defer RemoveHomeUpper(layer)
	spec := r.Apply(Spec{Worktree: work, Network: NetworkOpen, ShareLayer: layer,
		Shares: []Share{{Lower: lower, Target: filepath.Join(work, "shared")}}})
	_, err = attempt(ctx, spec)
	return err
}

// foreign finds a file or folder whose owner or group does not exist in the
// sandbox of an ordinary user: nothing could be written over it there.
func foreign(dir string) error {
	if os.Getuid() == 0 {
		return nil // all of them exist
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		s, ok := st.Sys().(*syscall.Stat_t)
		if ok && (int(s.Uid) != os.Getuid() || int(s.Gid) != os.Getgid()) {
			return fmt.Errorf("%q belongs to another user or group", path)
		}
		return nil
	})
}
