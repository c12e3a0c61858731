package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"git-ralph/internal/proc"
)

// keepHome makes the folders of spec.HomeUpper ready for one sandbox and locks
// them: two overlays over the same folders would destroy each other's files.
// The lock ends with the returned file, which is nil when there is nothing to
// lock.
//
// The overlay is mounted volatile: without that, each end of a sandbox would
// write out everything that the whole file system still holds in memory. The
// price is that after a crash of the machine its files cannot be trusted, so
// that what was kept is dropped when the machine has been started anew.
//
// Where there is no overlay, a copy of what earlier commands left takes the
// place of the layer in between.
func keepHome(spec Spec) (*os.File, error) {
	if spec.Home == "" || spec.HomeUpper == "" {
		return nil, nil
	}
	st, err := os.Stat(spec.Home)
	if err != nil {
		return nil, fmt.Errorf("prepare the home folder: %w", err)
	}
	if err := os.MkdirAll(spec.HomeUpper, 0o700); err != nil {
		return nil, fmt.Errorf("prepare the home folder: %w", err)
	}
	if spec.Mechanism == Landlock || spec.HomeMode == HomeCopy {
		home := filepath.Join(spec.HomeUpper, "home")
		if err := makeLike(home, st); err != nil || spec.HomeLower == "" {
			return nil, err
		}
		if err := copyAll(filepath.Join(spec.HomeLower, "home"), home); err != nil {
			return nil, fmt.Errorf("prepare the home folder: %w", err)
		}
		return nil, nil
	}
	if spec.HomeMode != HomeOverlay {
		return nil, nil
	}
	lock, err := os.OpenFile(filepath.Join(spec.HomeUpper, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("prepare the home folder: %w", err)
	}
	if err := lockedUpper(spec.HomeUpper, lock, st); err != nil {
		lock.Close()
		return nil, fmt.Errorf("prepare the home folder: %w", err)
	}
	return lock, nil
}

func lockedUpper(dir string, lock *os.File, home os.FileInfo) error {
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if err == unix.EWOULDBLOCK {
			return fmt.Errorf("%q is in use by another sandbox", dir)
		}
		return fmt.Errorf("lock %q: %w", dir, err)
	}
	upper := filepath.Join(dir, "upper")
	if !bootedSince(dir) {
		if err := RemoveHomeUpper(upper); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "boot"), []byte(proc.Self().BootID+"\n"), 0o600); err != nil {
			return err
		}
	}
	return makeLike(upper, home)
}

// readyWork makes the overlay's own folder for one more sandbox, with the lock of keepHome.
func readyWork(work string) error {
	if err := clearWork(work); err != nil {
		return fmt.Errorf("prepare the home folder: %w", err)
	}
	if err := os.Mkdir(work, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("prepare the home folder: %w", err)
	}
	return nil
}

// clearWork removes what an overlay left in its work folder: the mark of a
// volatile mount, which forbids mounting it again. The folders around it must
// be made accessible first. After an orderly end nothing else is there.
func clearWork(work string) error {
	inner := filepath.Join(work, "work")
	if _, err := os.Lstat(inner); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	parts := []string{inner, filepath.Join(inner, "incompat"), filepath.Join(inner, "incompat", "volatile")}
	if os.Getuid() != 0 {
		for _, d := range parts {
			os.Chmod(d, 0o700)
		}
	}
	unix.Unlink(filepath.Join(parts[2], "dirty"))
	for _, d := range slices.Backward(parts) {
		if unix.Rmdir(d) != nil {
			return RemoveHomeUpper(work)
		}
	}
	return nil
}

// makeLike makes a folder with the mode of the home folder, which is what the
// command sees of it.
func makeLike(dir string, home os.FileInfo) error {
	if st, err := os.Lstat(dir); err == nil && st.IsDir() && st.Mode().Perm() == home.Mode().Perm() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, home.Mode().Perm())
}

// bootedSince says whether what dir keeps was written since the machine was
// started.
func bootedSince(dir string) bool {
	then, err := os.ReadFile(filepath.Join(dir, "boot"))
	return err == nil && strings.TrimSpace(string(then)) == proc.Self().BootID
}

// HomeKept says whether dir, the HomeUpper of earlier commands, holds anything
// that a later one may rely on.
func HomeKept(dir string, r Report) bool {
	part := "home"
	if r.Mechanism == Namespaces && r.HomeMode == HomeOverlay {
		if part = "upper"; !bootedSince(dir) {
			return false
		}
	}
	st, err := os.Lstat(filepath.Join(dir, part))
	return err == nil && st.IsDir()
}

// discardPrefix begins the name of a folder for one command, or of a layer for
// one proof. The pid of its maker follows: when that process has ended, nobody
// needs the folder.
const discardPrefix = "once-"

// OnceHome names a folder inside dir that belongs to this process alone.
func OnceHome(dir, name string) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d-%s", discardPrefix, os.Getpid(), name))
}

// ownHome makes the folder of a command whose writes are not kept, and drops a
// lower layer that holds nothing.
func ownHome(spec *Spec) (made string, err error) {
	if spec.Home == "" || spec.HomeUpper == "" || spec.HomeMode == HomeReadOnly && spec.Mechanism == Namespaces {
		return "", nil
	}
	if spec.HomeLower != "" && !HomeKept(spec.HomeLower, Report{Mechanism: spec.Mechanism, HomeMode: spec.HomeMode}) {
		spec.HomeLower = ""
	}
	if !spec.HomeDiscard {
		return "", nil
	}
	if err := os.MkdirAll(spec.HomeUpper, 0o700); err != nil {
		return "", fmt.Errorf("prepare the home folder: %w", err)
	}
	if made, err = os.MkdirTemp(spec.HomeUpper, fmt.Sprintf("%s%d-", discardPrefix, os.Getpid())); err != nil {
		return "", fmt.Errorf("prepare the home folder: %w", err)
	}
	spec.HomeUpper = made
	return made, nil
}

// SweepHomes removes the folders inside dir whose process has ended without
// removing them.
func SweepHomes(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return // nothing was ever kept there
	}
	for _, e := range list {
		rest, ok := strings.CutPrefix(e.Name(), discardPrefix)
		number, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(number); ok && err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			RemoveHomeUpper(filepath.Join(dir, e.Name()))
		}
	}
}

// copyAll copies folders, regular files and links from one folder to another
// one. Nothing that a link leads to is followed on the way.
func copyAll(from, to string) error {
	in, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close()
	return fs.WalkDir(in.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case st.IsDir():
			err = out.Mkdir(name, st.Mode().Perm()|0o700)
		case st.Mode()&fs.ModeSymlink != 0:
			var to string
			if to, err = in.Readlink(name); err == nil {
				err = out.Symlink(to, name)
			}
		case st.Mode().IsRegular():
			err = copyFile(in, out, name, st.Mode().Perm())
		}
		return err
	})
}

func copyFile(in, out *os.Root, name string, perm fs.FileMode) error {
	r, err := in.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := out.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
