package worktree

import (
	"bytes"
	"context"
	"io"
	"sync"

	"git-ralph/gitstate/object"
)

// resolveBySize resolves files by their size alone, without reading them: the index says
// that they are unchanged, and they are as long as their blobs. On the first
// checkpoint of a repository with attributes nearly all files are like that. It
// returns the others.
func (c *converter) resolveBySize(ctx context.Context, work []unsettled, a *attributes) []unsettled {
	var trusted, others []unsettled
	var ids []object.ID
	for _, u := range work {
		if f := u.file(); f.class == tracked && !f.has(bitRead|bitLarge|bitAssume|bitSkip|bitIntent) && f.raw == f.id &&
			a.shrinks(u.path()) {
			trusted, ids = append(trusted, u), append(ids, f.id)
		} else {
			others = append(others, u)
		}
	}
	sizes, err := c.e.repo.Store.Sizes(ctx, ids)
	if err != nil {
		return work // an object that is not there: reading the file may do without it
	}
	for i, u := range trusted {
		if f := u.file(); f.size == sizes[i] {
			f.form = formBlob
			f.bits |= bitSettled
		} else {
			others = append(others, u)
		}
	}
	return others
}

// asTheyAre settles files that were read and have nothing that git could remove:
// no carriage return, and no dollar sign where idents are expanded. The tree has
// their bytes unchanged. It returns the others.
func (c *converter) asTheyAre(work []unsettled, a *attributes) ([]unsettled, error) {
	var others []unsettled
	var mu sync.Mutex
	err := c.each(work, func(u unsettled) error {
		f := u.file()
		plain := false
		if f.has(bitRead) && !f.has(bitLarge|bitAssume|bitSkip) && a.shrinks(u.path()) {
			var err error
			if plain, err = c.without(u, a.reasons["ident"]); err != nil {
				return err
			}
		}
		if !plain {
			mu.Lock()
			others = append(others, u)
			mu.Unlock()
			return nil
		}
		f.id, f.form = f.raw, formBlob
		f.bits |= bitSettled
		return nil
	})
	return others, err
}

// without reports whether the file is still what was read, and has no byte in it
// that a conversion begins with.
func (c *converter) without(u unsettled, ident bool) (bool, error) {
	d, err := c.e.disk.open(u.n.path)
	if err != nil {
		return false, nil // the slow way finds the reason
	}
	defer d.close()
	in, err := d.openFile(u.file().name)
	if err != nil {
		return false, nil
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return false, err
	}
	look := &lookOut{dollar: ident}
	sum := newBlobHash(fi.Size())
	n, err := io.Copy(io.MultiWriter(sum, look), io.LimitReader(in, fi.Size()))
	return err == nil && n == fi.Size() && !look.found && sumOf(sum) == u.file().raw, nil
}

// lookOut looks for bytes that a conversion begins with.
type lookOut struct{ dollar, found bool }

func (l *lookOut) Write(p []byte) (int, error) {
	l.found = l.found || bytes.IndexByte(p, '\r') >= 0 || l.dollar && bytes.IndexByte(p, '$') >= 0
	return len(p), nil
}
