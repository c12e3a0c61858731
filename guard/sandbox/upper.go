package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// HomeUpperDir names the folder for the changes of the home folder for one
// purpose of one repository, and makes its parent: a 0700 folder of the user
// below /var/tmp or the system's temporary folder. It cannot lie in the home
// folder, and so not in most repositories, because an overlay cannot hold its
// own changes. Each purpose (the agent of each worker, checks) needs its own
// key: two sandboxes must not share one at a time, and an agent must not
// influence checks through it.
func HomeUpperDir(home, repository, purpose string) (string, error) {
	sum := sha256.Sum256([]byte(repository + "\x00" + purpose))
	name := hex.EncodeToString(sum[:12])
	var errs []error
	for _, base := range []string{"/var/tmp", os.TempDir()} {
		if home != "" && within(base, home) {
			errs = append(errs, fmt.Errorf("%s lies in the home folder", base))
			continue
		}
		own := filepath.Join(base, "git-ralph-"+strconv.Itoa(os.Getuid()))
		if err := ownFolder(own); err != nil {
			errs = append(errs, err)
			continue
		}
		return filepath.Join(own, name), nil
	}
	return "", fmt.Errorf("find a place for the changes of the home folder: %w", errors.Join(errs...))
}

// ownFolder makes path, or checks that it is a folder of this user that nobody
// else can enter: others may write to its parent.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() || !ownedByUs(st) || st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%q is not a folder of ours alone", path)
	}
	return nil
}

// RemoveHomeUpper removes such a folder. Commands leave folders there that
// their owner may not write or enter, and so does the overlay itself.
func RemoveHomeUpper(dir string) error {
	// WalkDir calls with the folder before it reads it: opened in time.
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			if st, err := d.Info(); err == nil && st.Mode().Perm()&0o700 != 0o700 {
				os.Chmod(path, 0o700)
			}
		}
		return nil // RemoveAll will say what cannot be removed
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the changes of the home folder: %w", err)
	}
	return nil
}
