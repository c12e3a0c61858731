package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		return nil, makeLike(filepath.Join(spec.HomeUpper, "home"), st)
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
	upper, work, boot := filepath.Join(dir, "upper"), filepath.Join(dir, "work"), filepath.Join(dir, "boot")
	now := proc.Self().BootID
	then, err := os.ReadFile(boot)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if strings.TrimSpace(string(then)) != now {
		if err := RemoveHomeUpper(upper); err != nil {
			return err
		}
		if err := os.WriteFile(boot, []byte(now+"\n"), 0o600); err != nil {
			return err
		}
	}
	if err := clearWork(work); err != nil {
		return err
	}
	if err := os.Mkdir(work, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return makeLike(upper, home)
}

// clearWork takes from the overlay's own folder what an overlay left there: the
// mark of a volatile one, which forbids to mount it again, in folders that let
// nobody in, not even for removal. After an orderly end that is all there is.
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
