package gitstate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"git-ralph/gitstate/object"
)

// MoveRefAside gives a ref that cannot be used another value, Zero = none. What
// it held is kept in a file below Dir, whose path is returned: either the value
// and the name, or the file of the ref itself when it holds no value.
func (r *Repo) MoveRefAside(ctx context.Context, name string, to object.ID) (kept string, err error) {
	dir := filepath.Join(r.Dir(), "damaged")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("move the ref %s aside: %w", name, err)
	}
	kept = filepath.Join(dir, FileName(name)+"-"+NewID(time.Now()))
	if err := r.moveFolderAside(name, kept+".folder"); err != nil {
		return "", fmt.Errorf("move the ref %s aside: %w", name, err)
	}
	at, err := r.ReadRef(ctx, name)
	if err == nil {
		err = WriteFile(kept, []byte(at.String()+" "+name+"\n"), 0o600)
	} else if err = os.Rename(filepath.Join(r.CommonDir, filepath.FromSlash(name)), kept); err == nil {
		at, err = r.ReadRef(ctx, name) // packed-refs may hold one that is older
	}
	if err == nil && at != to {
		err = r.UpdateRefs("ralph: a damaged ref was moved aside", RefUpdate{Name: name, Old: at, New: to})
	}
	if err != nil {
		return "", fmt.Errorf("move the ref %s aside: %w", name, err)
	}
	return kept, nil
}

// moveFolderAside moves a folder that lies where one of our refs has its file, which
// no git process that we start makes, with everything in it.
func (r *Repo) moveFolderAside(name, to string) error {
	path := filepath.Join(r.CommonDir, filepath.FromSlash(name))
	if st, err := os.Lstat(path); err != nil || !st.IsDir() {
		return nil
	}
	return os.Rename(path, to)
}

// RestoreRef points one of our refs to an object, whatever is at its name. A
// folder or a damaged ref is moved aside.
func (r *Repo) RestoreRef(ctx context.Context, name string, old, to object.ID) error {
	dir := filepath.Join(r.Dir(), "damaged")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	kept := filepath.Join(dir, FileName(name)+"-"+NewID(time.Now()))
	if err := r.moveFolderAside(name, kept+".folder"); err != nil {
		return err
	}
	if _, err := r.ReadRef(ctx, name); err != nil {
		if err := os.Rename(filepath.Join(r.CommonDir, filepath.FromSlash(name)), kept); err != nil {
			return err
		}
		if old, err = r.ReadRef(ctx, name); err != nil { // packed-refs may hold one that is older
			return err
		}
	}
	if old == to {
		return nil
	}
	return r.UpdateRefs("ralph: made again after it was deleted", RefUpdate{Name: name, Old: old, New: to})
}
