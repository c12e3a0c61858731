package worktree

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"git-ralph/gitstate/object"
)

// apply carries out the plan. Every step uses an open folder that was reached
// without following a link, so a folder that is replaced by a link meanwhile is
// harmless.
func (r *restorer) apply() {
	r.moveBack(toSafety)
	for _, p := range r.asides {
		r.moveAside(p)
	}
	r.removeNames()
	for _, d := range r.mkdirs {
		r.e.fail("restore folder")
		if err := r.mkdir(d); err != nil {
			r.failed(d.path, err)
			continue
		}
		r.report.Folders = append(r.report.Folders, d.path)
	}
	r.moveBack(toPlace)
	r.writeAll()
	for _, w := range r.chmods {
		r.e.fail("restore mode")
		if err := r.inFolder(w.path, func(d folder, name string) error { return d.chmod(name, w.want.perm) }); err != nil {
			r.failed(w.path, err)
			continue
		}
		r.restored(w)
	}
	for _, d := range slices.Backward(r.dirModes) {
		r.e.fail("restore mode")
		delete(r.locked, d.path)
		if err := r.e.chmodDir(d.path, d.perm); err != nil {
			r.failed(d.path, err)
			continue
		}
		r.report.Folders = append(r.report.Folders, d.path)
	}
	// Folders made anew get their modes last: they may forbid writing.
	for _, d := range slices.Backward(r.mkdirs) {
		if err := r.e.chmodDir(d.path, d.perm); err != nil && !absent(err) {
			r.failed(d.path, err)
		}
	}
	r.finish()
}

// finish gives folders that were opened up their modes back.
func (r *restorer) finish() {
	paths := make([]string, 0, len(r.locked))
	for p := range r.locked {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range slices.Backward(paths) {
		if err := r.e.chmodDir(p, r.locked[p]); err != nil && !absent(err) {
			r.failed(p, err)
		}
		delete(r.locked, p)
	}
}

// unlock gives the owner the right to look into a folder.
func (e *Engine) unlock(path string) error {
	st, err := e.disk.lstat(path, "")
	if err != nil {
		return err
	}
	if st.kind != kindDir || st.perm&0o700 == 0o700 {
		return fs.ErrPermission
	}
	return e.chmodDir(path, st.perm|0o700)
}

func (e *Engine) chmodDir(path string, perm uint32) error {
	if path == "" {
		d, err := e.disk.open("")
		if err != nil {
			return err
		}
		defer d.close()
		return d.chmod(".", perm)
	}
	dir, name := split(path)
	d, err := e.disk.open(dir)
	if err != nil {
		return err
	}
	defer d.close()
	return d.chmod(name, perm)
}

// inFolder runs f in the folder of path. When the folder's mode forbids it, the
// folder is opened up and f runs again; finish puts the mode back.
func (r *restorer) inFolder(path string, f func(d folder, name string) error) error {
	dir, name := split(path)
	return r.inOpen(dir, func(d folder) error { return f(d, name) })
}

// inOpen is inFolder for many names of one folder. f may run twice and must not
// repeat what it has done.
func (r *restorer) inOpen(dir string, f func(d folder) error) error {
	d, err := r.e.disk.open(dir)
	if permission(err) {
		r.lockedMu.Lock()
		_ = r.e.unlock(dir) // it also fails when another goroutine was faster
		r.lockedMu.Unlock()
		d, err = r.e.disk.open(dir)
	}
	if err != nil {
		return err
	}
	defer d.close()
	err = f(d)
	if !permission(err) {
		return err
	}
	r.lockedMu.Lock()
	defer r.lockedMu.Unlock()
	st, serr := d.stat()
	if serr != nil {
		return err
	}
	if _, ours := r.locked[dir]; !ours {
		if st.perm&0o300 == 0o300 || r.e.chmodDir(dir, st.perm|0o700) != nil {
			return err
		}
		r.locked[dir] = st.perm
	}
	return f(d)
}

// removeNames removes what is new. Names of one folder follow each other in the
// plan, and the folder is opened once for them.
func (r *restorer) removeNames() {
	for list := r.removes; len(list) > 0; {
		dir, _ := split(list[0].path)
		err := r.inOpen(dir, func(d folder) error {
			for len(list) > 0 {
				at, name := split(list[0].path)
				if at != dir {
					break
				}
				r.e.fail("restore remove")
				if err := r.remove(d, name, &list[0]); err != nil {
					return err
				}
				r.report.Removed = append(r.report.Removed, list[0].path)
				list = list[1:]
			}
			return nil
		})
		if err != nil {
			r.failed(list[0].path, err)
			list = list[1:]
		}
	}
}

func (r *restorer) remove(d folder, name string, x *removal) error {
	if !x.dir {
		return r.letGo(d, name, x.path, &x.spared)
	}
	err := d.rmdir(name)
	switch {
	case err == nil, absent(err):
		return nil
	case permission(err):
		return err
	case r.guarded():
		return r.setAside(d, name, x.path) // its contents are unknown
	}
	return r.removeTree(d, name, x.path)
}

// removeTree removes what a scan did not see: ignored things in the way, or
// later ones. Other repositories are moved aside instead.
func (r *restorer) removeTree(parent folder, name, path string) error {
	if r.e.isRepository(path) {
		if r.e.opts.Aside == "" {
			return errors.New("it is another repository")
		}
		r.moveAside(path)
		return nil
	}
	d, err := r.e.disk.open(path)
	if permission(err) && r.e.unlock(path) == nil {
		d, err = r.e.disk.open(path)
	}
	if err != nil {
		return err
	}
	defer d.close()
	type item struct {
		name string
		k    kind
	}
	var items []item
	if err := d.list(func(e dirent) error {
		items = append(items, item{string(e.name), e.kind})
		return nil
	}); err != nil {
		return err
	}
	if st, err := d.stat(); err == nil && st.perm&0o300 != 0o300 {
		if err := parent.chmod(name, st.perm|0o700); err != nil {
			return err
		}
	}
	for _, it := range items {
		k := it.k
		if k == kindUnknown {
			st, err := d.lstat(it.name)
			if err != nil {
				continue
			}
			k = st.kind
		}
		if k == kindDir {
			err = r.removeTree(d, it.name, join(path, it.name))
		} else {
			err = d.remove(it.name)
		}
		if err != nil && !absent(err) {
			return fmt.Errorf("remove %q: %w", join(path, it.name), err)
		}
	}
	return parent.rmdir(name)
}

// mkdir makes a writable folder; its mode is set at the end. A file or link in
// its place is new and is removed.
func (r *restorer) mkdir(n *node) error {
	return r.inFolder(n.path, func(d folder, name string) error {
		err := d.mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			st, serr := d.lstat(name)
			if serr == nil && st.kind == kindDir {
				return d.chmod(name, st.perm|0o700)
			}
			if rerr := r.letGo(d, name, n.path, &spared{}); rerr != nil {
				return rerr
			}
			err = d.mkdir(name, 0o700)
		}
		return err
	})
}

// tempName is the name under which a file is written before it is renamed.
func tempName() string {
	var b [8]byte
	rand.Read(b[:])
	return ".git-ralph-" + hex.EncodeToString(b[:]) + ".tmp"
}

// writers is how many files are written concurrently. A rename over an existing
// file makes ext4 write its bytes at once, so a power cut leaves no empty file.
// While one writer waits for that, another continues.
const writers = 4

// writeAll writes the files, in no order of its own. Those that git has to
// convert are written one after the other.
func (r *restorer) writeAll() {
	errs := make([]error, len(r.writes))
	one := func(i int) {
		w := r.writes[i]
		if errs[i] = r.ctx.Err(); errs[i] == nil {
			errs[i] = r.write(&w)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(writers, len(r.writes)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(r.writes); i = int(next.Add(1)) - 1 {
				if f := r.writes[i].want.form; f == formBlob || f == formOwn {
					one(i)
				}
			}
		})
	}
	wg.Wait()
	for i, w := range r.writes {
		if f := w.want.form; f != formBlob && f != formOwn {
			one(i)
		}
		if errs[i] != nil {
			r.failed(w.path, errs[i])
			continue
		}
		r.restored(w)
	}
	paths := make([]string, len(r.writes))
	for i, w := range r.writes {
		paths[i] = w.path
	}
	if err := r.e.Flush(paths); err != nil {
		r.failed("", err)
	}
}

func (r *restorer) restored(w writing) {
	r.report.Restored = append(r.report.Restored, w.path)
	if w.want.class != tracked {
		r.report.Own = append(r.report.Own, w.path)
	}
}

// write puts a file or link in place: a temporary name, then a rename.
func (r *restorer) write(w *writing) error {
	return r.inFolder(w.path, func(d folder, name string) error {
		if st, err := d.lstat(name); err == nil && st.kind == kindDir {
			return errors.New("a folder is in its place")
		}
		tmp := tempName()
		r.e.fail("restore write")
		if err := r.e.put(d, tmp, w.path, w.want); err != nil {
			_ = d.remove(tmp)
			return err
		}
		r.e.fail("restore rename")
		if err := r.replace(d, tmp, name, w.path, &w.spared); err != nil {
			_ = d.remove(tmp)
			return err
		}
		return nil
	})
}

// put writes the bytes that want stands for under the name tmp.
func (e *Engine) put(d folder, tmp, path string, want *file) error {
	if want.kind == kindLink {
		target, err := e.repo.Store.ReadType(want.raw, object.Blob)
		if err != nil {
			return err
		}
		return d.symlink(string(target), tmp)
	}
	out, err := d.create(tmp, 0o600)
	if err != nil {
		return err
	}
	err = e.copyRaw(out, path, want)
	if err == nil {
		err = out.Chmod(fileMode(want.perm))
	}
	return errors.Join(err, out.Close())
}

// copyRaw writes the bytes on disk that want stands for.
func (e *Engine) copyRaw(out io.Writer, path string, want *file) error {
	id := want.raw
	switch want.form {
	case formCRLF, formFilter:
		return e.conv.copyRaw(out, path, want)
	}
	t, _, in, err := e.repo.Store.Open(id)
	if err != nil {
		return err
	}
	defer in.Close()
	if t != object.Blob {
		return fmt.Errorf("object %s is a %s", id, t)
	}
	buf, _ := e.bufs.Get().(*[]byte)
	if buf == nil {
		b := make([]byte, 64<<10)
		buf = &b
	}
	defer e.bufs.Put(buf)
	_, err = io.CopyBuffer(onlyWriter{out}, in, *buf)
	return err
}

// moveAside takes a repository that the agent made out of the worktree, whole.
func (r *restorer) moveAside(path string) {
	err := r.inFolder(path, func(d folder, name string) error {
		to, err := r.e.takeAside(d, name, path, r.keep.Event)
		if err == nil {
			to, err = filepath.Rel(r.e.opts.Aside, to)
			r.report.Aside = append(r.report.Aside, filepath.ToSlash(to))
		}
		return err
	})
	if err != nil {
		r.failed(path, fmt.Errorf("move the new repository aside: %w", err))
	}
}

// emptyFolder is the fingerprint of a folder without anything in it.
func emptyFolder() object.ID { return sha1.Sum(nil) }
