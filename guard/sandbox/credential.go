package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// credentialMax is the size of the largest credential file that is copied back.
const credentialMax = 1 << 20

// ReturnCredential copies a client's login back that the client has renewed in
// its sandbox, and nothing else. rel is the file below the home folder, named
// by the driver; valid refuses contents that are no such login. The file must
// exist in the home folder and be older than the renewed one: a person's new
// login is not overwritten. Whatever the sandbox kept of it is then removed,
// so that the next run starts from the home folder's. No process of the
// sandbox may run any more. It says whether the home folder was changed.
func ReturnCredential(home, upper, rel string, valid func([]byte) error) (changed bool, err error) {
	if !filepath.IsLocal(rel) {
		return false, fmt.Errorf("return the login %q: not a path below the home folder", rel)
	}
	for _, kept := range []string{"upper", "home"} { // overlay, copy
		c, err := returnFrom(filepath.Join(upper, kept), home, rel, valid)
		if err != nil {
			return changed, fmt.Errorf("return the login %q: %w", rel, err)
		}
		changed = changed || c
	}
	return changed, nil
}

func returnFrom(kept, home, rel string, valid func([]byte) error) (bool, error) {
	from, err := os.OpenRoot(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer from.Close()
	st, err := from.Lstat(rel)
	if err != nil {
		return false, nil // nothing there, or behind a link that leads out
	}
	defer from.Remove(rel) // also what stands for a deleted file
	if !st.Mode().IsRegular() || st.Size() > credentialMax {
		return false, nil
	}
	to, err := os.OpenRoot(home)
	if err != nil {
		return false, err
	}
	defer to.Close()
	old, err := to.Stat(rel)
	if err != nil || !old.Mode().IsRegular() || !st.ModTime().After(old.ModTime()) {
		return false, nil
	}
	f, err := from.Open(rel)
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, credentialMax+1))
	if err != nil {
		return false, err
	}
	if before, err := to.ReadFile(rel); err == nil && string(before) == string(data) {
		return false, nil
	}
	if err := valid(data); err != nil {
		return false, nil // left as it was: the home folder's login still counts
	}
	return true, replace(to, rel, data, old.Mode().Perm())
}

// replace writes a file in one step.
func replace(root *os.Root, rel string, data []byte, perm fs.FileMode) error {
	tmp := rel + ".git-ralph"
	root.Remove(tmp) // of a writer that died
	f, err := root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = root.Rename(tmp, rel)
	}
	if err != nil {
		root.Remove(tmp)
	}
	return err
}
