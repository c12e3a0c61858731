package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"git-ralph/gitstate/object"
)

// Checkout moves the files of the worktree from one tree to another: all paths
// that differ, or only those in paths (files or folders; none = all). A file
// that differs from the first tree is a conflict. Then nothing is written and
// all conflicts are returned in a *RestoreError. The index is not touched;
// UpdateIndex updates it for the same trees.
func (e *Engine) Checkout(ctx context.Context, from, to object.ID, paths ...string) (Report, error) {
	r := &restorer{e: e, ctx: ctx, locked: map[string]uint32{}}
	if len(paths) > 0 {
		r.only = paths
	}
	fail := func(err error) (Report, error) { return r.report, fmt.Errorf("check out %s: %w", to, err) }
	changes, err := e.difference(from, to)
	if err != nil {
		return fail(err)
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return !r.wants(c.Path) })
	expected := map[string]spared{}
	way := e.wayOf(changes)
	for _, c := range changes {
		if c.Old.Mode == object.ModeGitlink || c.New.Mode == object.ModeGitlink {
			r.failed(c.Path, errors.New("it is a submodule"))
			continue
		}
		st, same := e.isFile(ctx, c.Path, c.Old)
		if !same && !e.willGo(c, changes) {
			r.failed(c.Path, errors.New("the file is not what it was expected to be"))
		} else if way.blocked(c) {
			r.failed(c.Path, errors.New("something else is in its place"))
		}
		if same && !c.Old.ID.IsZero() {
			// It equals the first tree, so nothing is lost.
			x := spared{had: true, safe: true}
			x.was.setStat(st, 0)
			expected[c.Path] = x
		}
	}
	if len(r.report.Failures) > 0 {
		return fail(&RestoreError{r.report.Failures})
	}
	if err := r.checkout(changes, expected); err != nil {
		return fail(err)
	}
	if e.last != nil {
		var touched []string
		for _, c := range changes {
			touched = append(touched, c.Path)
		}
		e.last = forget(e.last, touched)
	}
	if len(r.report.Failures) > 0 {
		return fail(&RestoreError{r.report.Failures})
	}
	return r.report, nil
}

// willGo reports whether what is in the way of an added path is removed by the
// same changes: a file that becomes a folder.
func (e *Engine) willGo(c Change, changes []Change) bool {
	if !c.Old.ID.IsZero() {
		return false
	}
	for p := c.Path; p != ""; p, _ = split(p) {
		if slices.ContainsFunc(changes, func(d Change) bool { return d.Path == p && d.Kind == Deleted }) {
			return true
		}
	}
	return false
}

// way finds what lies where a change puts a new file and does not go by the same changes:
// an untracked or ignored file in the place of its folder, or a folder in its own.
type way struct {
	e     *Engine
	gone  map[string]bool // files that are removed
	known map[string]bool // folders that were looked at: whether something else is there
}

func (e *Engine) wayOf(changes []Change) way {
	w := way{e, map[string]bool{}, map[string]bool{}}
	for _, c := range changes {
		if c.New.ID.IsZero() {
			w.gone[c.Path] = true
		}
	}
	return w
}

func (w way) blocked(c Change) bool {
	if !c.Old.ID.IsZero() || c.New.ID.IsZero() {
		return false
	}
	for dir, _ := split(c.Path); dir != ""; dir, _ = split(dir) {
		other, known := w.known[dir]
		if !known {
			st, err := w.e.disk.lstat(dir, "")
			other = err == nil && st.kind != kindDir && !w.gone[dir]
			w.known[dir] = other
		}
		if other {
			return true
		}
	}
	st, err := w.e.disk.lstat(c.Path, "")
	return err == nil && st.kind == kindDir && !w.empties(c.Path, 0)
}

// empties reports whether nothing is left in a folder. An empty one below it would stay.
func (w way) empties(dir string, depth int) bool {
	d, err := w.e.disk.open(dir)
	if err != nil {
		return false
	}
	defer d.close()
	n, all := 0, true
	err = d.list(func(x dirent) error {
		n++
		path, k := join(dir, string(x.name)), x.kind
		if k == kindUnknown {
			if st, err := w.e.disk.lstat(path, ""); err == nil {
				k = st.kind
			}
		}
		if k == kindDir {
			all = all && w.empties(path, depth+1)
		} else {
			all = all && w.gone[path]
		}
		return nil
	})
	return err == nil && all && (n > 0 || depth == 0)
}

func (r *restorer) checkout(changes []Change, expected map[string]spared) error {
	var emptied []string
	for _, c := range changes {
		if c.New.ID.IsZero() {
			r.removes = append(r.removes, removal{path: c.Path, spared: expected[c.Path]})
			if dir, _ := split(c.Path); dir != "" {
				emptied = append(emptied, dir)
			}
			continue
		}
		f := r.e.fileOf(c.Path, c.New)
		if err := r.e.conv.smudged(r.e.seen(r.ctx), &f, c.Path); err != nil {
			return err
		}
		r.writes = append(r.writes, writing{path: c.Path, want: &f, spared: expected[c.Path]})
		if st, err := r.e.disk.lstat(c.Path, ""); err == nil && st.kind == kindDir {
			emptied = append(emptied, c.Path) // it has the place of the file
		}
	}
	writes := r.writes
	r.writes = nil
	r.apply()
	r.removes = nil
	// Folders that became empty go, as git does it.
	slices.Sort(emptied)
	for _, dir := range slices.Backward(slices.Compact(emptied)) {
		for ; dir != ""; dir, _ = split(dir) {
			if r.inFolder(dir, func(d folder, name string) error { return d.rmdir(name) }) != nil {
				break
			}
			r.report.Removed = append(r.report.Removed, dir)
		}
	}
	made := map[string]bool{}
	for _, w := range writes {
		r.parents(w.path, made)
	}
	r.apply()
	r.mkdirs, r.writes = nil, writes
	r.apply()
	r.writes = nil
	return nil
}

// parents plans the folders above path that are not there.
func (r *restorer) parents(path string, made map[string]bool) {
	dir, _ := split(path)
	if dir == "" || made[dir] {
		return
	}
	made[dir] = true
	if st, err := r.e.disk.lstat(dir, ""); err == nil && st.kind == kindDir {
		return
	}
	r.parents(dir, made)
	_, name := split(dir)
	r.mkdirs = append(r.mkdirs, &node{path: dir, name: name, present: true, perm: r.e.modes.dir})
}
