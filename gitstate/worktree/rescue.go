package worktree

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate/object"
)

// Keeper says how to save contents that a restore removes and that are in no
// object: a user may have just written them. What Save does not store is moved
// aside by a rename. Without Save and without Options.Aside they are removed.
type Keeper struct {
	// Known is what will be kept in any case: its tree's contents are safe.
	Known *Capture
	// Event names the folder in Options.Aside.
	Event string
	// Save is called once, before anything is touched, with what was written to
	// the object store. When it returns, that must be reachable. nil = move
	// everything aside.
	Save func([]Saved) error
}

// Saved is a path whose contents a restore took out of the worktree.
type Saved struct {
	Path  string
	Mode  object.Mode // as git would have it
	Perm  uint32      // all permission bits; 0 = ID is a blob as git has it, and Mode says enough
	ID    object.ID   // the bytes as they lay on disk; zero when they were moved aside
	Was   object.ID   // the bytes on disk that replaced them; zero = nothing
	Aside string      // where they lie now; "" when they were stored
}

// What one restore stores as objects at most; the rest is moved aside.
const (
	maxSavedFiles = 5000
	maxSavedBytes = 256 << 20
)

// spared is the known state of contents that a step would destroy.
type spared struct {
	was  file // as the scan saw it; present says whether there was anything
	had  bool
	safe bool // the contents are kept elsewhere, or there are none
}

// same reports whether the name is still what the scan saw. The change time does
// not count: a rename sets it.
func (s *spared) same(st stat) bool {
	return s.had && st.kind == s.was.kind && st.size == s.was.size && st.mtime == s.was.mtime && st.ino == s.was.ino
}

func (r *restorer) guarded() bool { return r.keep.Save != nil || r.e.opts.Aside != "" }

// spare finds out which contents the planned steps would destroy, and stores
// those that are not safe, as far as it can.
func (r *restorer) spare() error {
	if !r.guarded() {
		return nil
	}
	if r.known == nil {
		r.known = map[string]Side{}
		if k := r.keep.Known; k != nil {
			for _, c := range k.Changes {
				r.known[c.Path] = c.New
			}
		}
	}
	store := r.keep.Save != nil && !r.saved
	var disk *room
	if store {
		disk = roomFor(r.e.repo.CommonDir)
	}
	var list []Saved
	var size int64
	one := func(path string, s *spared) {
		if s.safe = r.isSafe(path, s); s.safe || !store || len(list) >= maxSavedFiles || !disk.take(s.was.size) {
			return
		}
		x, n, ok := r.store(path, s, maxSavedBytes-size)
		if s.safe = ok; ok && r.known[path] != (Side{Mode: x.Mode, ID: x.ID}) { // else the same bytes are kept already
			list, size = append(list, x), size+n
		}
	}
	for i := range r.removes {
		if !r.removes[i].dir {
			one(r.removes[i].path, &r.removes[i].spared)
		}
	}
	for i := range r.writes {
		n := len(list)
		one(r.writes[i].path, &r.writes[i].spared)
		if len(list) > n {
			list[n].Was = r.writes[i].want.raw
		}
	}
	if store {
		r.saved = true
		r.report.Saved = append(r.report.Saved, list...)
		return r.keep.Save(list)
	}
	return nil
}

// isSafe reports whether nothing is lost when path is removed.
func (r *restorer) isSafe(path string, s *spared) bool {
	if !s.had || s.was.kind > kindDir || s.was.kind == kindDir {
		return true
	}
	k, ok := r.known[path]
	if !ok || k.ID.IsZero() {
		return false
	}
	if s.was.raw == k.ID {
		return true
	}
	c := r.keep.Known.root.fileAt(path)
	return c != nil && !c.has(bitRacy|bitLarge) && s.same(stat{kind: c.kind, size: c.size, mtime: c.mtime, ino: c.ino}) &&
		c.id == k.ID && (c.raw == k.ID || c.form == formCRLF)
}

// store writes the bytes at path to the object store. It is not done for what
// is too large, may not be read, or has a name that no tree may have.
func (r *restorer) store(path string, s *spared, room int64) (Saved, int64, bool) {
	_, name := split(path)
	max := r.e.opts.MaxFile
	if object.CheckEntry(object.TreeEntry{Name: name, Mode: object.ModeRegular}) != nil || s.was.size > room ||
		max > 0 && s.was.size > max {
		return Saved{}, 0, false
	}
	x := Saved{Path: path, Mode: object.ModeRegular}
	var size int64
	err := r.inFolder(path, func(d folder, name string) error {
		st, err := d.lstat(name)
		if err != nil {
			return err
		}
		if st.kind == kindLink {
			target, err := d.readlink(name)
			if err == nil {
				x.Mode = object.ModeSymlink
				x.ID, err = r.e.repo.Store.Write(object.Blob, []byte(target))
			}
			s.was.setStat(st, 0)
			return err
		}
		in, err := d.openFile(name)
		if err != nil {
			return err
		}
		defer in.Close()
		fi, err := in.Stat()
		if err != nil {
			return err
		}
		st = infoStat(fi)
		if size = st.size; size > room || max > 0 && size > max {
			return errNotRegular
		}
		if st.perm&0o100 != 0 {
			x.Mode = object.ModeExecutable
		}
		x.Perm = st.perm
		x.ID, err = r.e.repo.Store.WriteFrom(object.Blob, size, in)
		s.was.setStat(st, 0)
		return err
	})
	return x, size, err == nil
}

// letGo removes a name whose contents are safe. It moves it aside if they are
// not safe or have changed since the scan.
func (r *restorer) letGo(d folder, name, path string, s *spared) error {
	if r.guarded() {
		st, err := d.lstat(name)
		if absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !(s.safe && s.same(st)) && st.kind <= kindDir {
			return r.setAside(d, name, path)
		}
	}
	err := d.remove(name)
	if absent(err) {
		return nil
	}
	return err
}

// replace gives a file that was written under a temporary name its own. What
// had the name is looked at after the two were exchanged, so that nothing that
// somebody saves at this moment is lost.
func (r *restorer) replace(d folder, tmp, name, path string, s *spared) error {
	if !r.guarded() {
		return d.rename(tmp, name)
	}
	for range 3 {
		err := d.exchange(tmp, name)
		if errors.Is(err, errors.ErrUnsupported) {
			return r.replacePlainly(d, tmp, name, path, s)
		}
		if err == nil {
			return r.letGo(d, tmp, path, s)
		}
		if !absent(err) {
			return err
		}
		if err = d.renameNew(tmp, name); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.New("it keeps changing")
}

// replacePlainly is replace where the system cannot exchange two names.
func (r *restorer) replacePlainly(d folder, tmp, name, path string, s *spared) error {
	if st, err := d.lstat(name); err == nil && !(s.safe && s.same(st)) {
		if err := r.setAside(d, name, path); err != nil {
			return err
		}
	}
	return d.rename(tmp, name)
}

// setAside moves a name of any kind out of the worktree.
func (r *restorer) setAside(d folder, name, path string) error {
	to, err := r.e.takeAside(d, name, path, r.keep.Event)
	if err != nil {
		return fmt.Errorf("move it aside: %w", err)
	}
	r.savedMu.Lock()
	defer r.savedMu.Unlock()
	r.report.Saved = append(r.report.Saved, Saved{Path: path, Aside: to})
	return nil
}

// takeAside moves the name of an open folder to its path below Options.Aside.
func (e *Engine) takeAside(d folder, name, path, event string) (string, error) {
	if e.opts.Aside == "" {
		return "", errors.New("there is no folder for it")
	}
	to, err := asidePlace(filepath.Join(e.opts.Aside, event), path)
	if err != nil {
		return "", err
	}
	if m, ok := d.(interface {
		moveOut(name, to string) error
	}); ok {
		err = m.moveOut(name, to)
	} else {
		dir, _ := split(path)
		err = os.Rename(filepath.Join(e.repo.Root, filepath.FromSlash(join(dir, name))), to)
	}
	if isOtherDevice(err) {
		dir, _ := split(path)
		from := filepath.Join(e.repo.Root, filepath.FromSlash(join(dir, name)))
		err = moveAcross(from, to, func(copied string) error { return os.Rename(copied, to) })
	}
	return to, err
}

// Bring restores saved contents to their paths. A file that is there now is
// moved aside and named in Report.Saved. A path that already has the contents
// is left alone.
func (e *Engine) Bring(ctx context.Context, list []Saved, event string) (Report, error) {
	r := &restorer{e: e, ctx: ctx, locked: map[string]uint32{}, keep: Keeper{Event: event}}
	made := map[string]bool{}
	var paths []string
	for _, x := range list {
		if err := object.CheckPath(x.Path, x.Mode); err != nil && x.Aside == "" {
			r.failed(x.Path, err)
			continue
		}
		paths = append(paths, x.Path)
		if st, same := e.isFile(ctx, x.Path, Side{Mode: x.Mode, ID: x.ID}); x.Aside == "" && same && !x.ID.IsZero() {
			continue
		} else if st.kind == kindDir {
			r.failed(x.Path, errors.New("a folder is in its place"))
			continue
		}
		r.parents(x.Path, made)
		if x.Aside == "" {
			f := e.fileOf(x.Path, Side{Mode: x.Mode, ID: x.ID})
			if x.Perm != 0 {
				f.form, f.perm = formOwn, x.Perm
			} else if err := e.conv.smudged(e.seen(ctx), &f, x.Path); err != nil {
				return r.report, err
			}
			r.writes = append(r.writes, writing{path: x.Path, want: &f})
		}
	}
	r.apply()
	for _, x := range list {
		if x.Aside == "" {
			continue
		}
		err := r.inFolder(x.Path, func(d folder, name string) error {
			if _, err := d.lstat(name); err == nil {
				if err := r.setAside(d, name, x.Path); err != nil {
					return err
				}
			}
			return e.bringIn(d, x.Aside, x.Path)
		})
		if err != nil {
			r.failed(x.Path, err)
			continue
		}
		r.report.Restored = append(r.report.Restored, x.Path)
	}
	r.finish()
	if e.last != nil {
		e.last = forget(e.last, paths)
	}
	if len(r.report.Failures) > 0 {
		return r.report, fmt.Errorf("bring back what was put aside: %w", &RestoreError{r.report.Failures})
	}
	return r.report, nil
}

// bringIn moves what was moved aside to its path, whose folder is open.
func (e *Engine) bringIn(d folder, from, path string) error {
	_, name := split(path)
	var err error
	if m, ok := d.(interface {
		bringIn(from, name string) error
	}); ok {
		err = m.bringIn(from, name)
	} else {
		to := filepath.Join(e.repo.Root, filepath.FromSlash(path))
		if _, serr := os.Lstat(to); serr == nil {
			return fs.ErrExist
		}
		err = os.Rename(from, to)
	}
	if isOtherDevice(err) {
		to := filepath.Join(e.repo.Root, filepath.FromSlash(path))
		return moveAcross(from, to, func(copied string) error { return d.renameNew(filepath.Base(copied), name) })
	}
	return err
}

// asidePlace is a free place for path below dir; its folder exists.
func asidePlace(dir, path string) (string, error) {
	rel := filepath.FromSlash(path)
	if len(path) > 2000 {
		rel = fmt.Sprintf("%x", sha1.Sum([]byte(path)))
	}
	to := filepath.Join(dir, rel)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		// A file that was moved aside before has the place of the folder.
		to = filepath.Join(dir, strings.ReplaceAll(rel, string(filepath.Separator), "%2F"))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
	}
	for i := 1; ; i++ {
		free := to
		if i > 1 {
			free = fmt.Sprintf("%s~%d", to, i)
		}
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		} else if err != nil {
			return "", err
		}
	}
}
