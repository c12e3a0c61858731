package gitstate

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/object"
)

// readFetched notes when each worktree last fetched something.
func (s *Snapshot) readFetched() {
	s.fetched = map[string]time.Time{}
	linked, _ := linkedDirs(s.common)
	for _, dir := range append(linked, s.common) {
		path := filepath.Join(dir, "FETCH_HEAD")
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			s.fetched[path] = st.ModTime()
		}
	}
}

// tipsSince are the commits that were fetched between two snapshots.
func (s *Snapshot) tipsSince(now *Snapshot) (tips []object.ID) {
	for path, at := range now.fetched {
		if s.fetched[path].Equal(at) {
			continue
		}
		data, err := readPlain(path, maxKept)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if id, err := object.ParseID(line[:min(len(line), 40)]); err == nil {
				tips = append(tips, id)
			}
		}
	}
	return tips
}

// IsShallow reports whether a difference is one of the list of commits whose parents are
// not there, which git keeps in the file "shallow".
func (r *Repo) IsShallow(d Difference) bool {
	return d.Kind == "info" && d.Name == filepath.Join(r.CommonDir, "shallow")
}

// Fetched separates the changes that a fetch made to the list of shallow commits from all
// others. It reports whether a fetch explains the whole difference d. If only a part, s takes
// that part over: restored without it, objects would seem to be missing.
func (r *Repo) Fetched(ctx context.Context, s, now *Snapshot, d Difference) bool {
	key := d.Kind + ":" + d.Name
	was, is := s.Files[key], now.Files[key]
	if is.Mode != 0 && (!is.Mode.IsRegular() || is.Data == nil) || was.Mode != 0 && was.Data == nil {
		return false
	}
	before, after := strings.Fields(string(was.Data)), strings.Fields(string(is.Data))
	tips := s.tipsSince(now)
	want := slices.DeleteFunc(slices.Clone(before), func(id string) bool {
		return !slices.Contains(after, id) && r.whole(id)
	})
	for _, id := range after {
		if !slices.Contains(before, id) && (r.lacksParent(id) || r.reaches(ctx, tips, id)) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	slices.Sort(after)
	if slices.Equal(want, after) {
		return true
	}
	if len(want) == 0 {
		delete(s.Files, key)
		return false
	}
	data := []byte(strings.Join(want, "\n") + "\n")
	if was.Mode == 0 {
		was.Mode = fs.FileMode(0o644)
	}
	s.Files[key] = FileState{Mode: was.Mode, Sum: sha256.Sum256(data), Data: data}
	return false
}

// parents are those of a commit, as its object names them.
func (r *Repo) parents(name string) (parents []object.ID, ok bool) {
	id, err := object.ParseID(name)
	if err != nil || !r.Store.Has(id) {
		return nil, false
	}
	c, err := r.Store.ReadCommit(id)
	return c.Parents, err == nil
}

// lacksParent reports whether a commit is there and one of its parents is not.
func (r *Repo) lacksParent(name string) bool {
	parents, ok := r.parents(name)
	return ok && slices.ContainsFunc(parents, func(p object.ID) bool { return !r.Store.Has(p) })
}

// whole reports whether nothing of a commit and its parents is missing.
func (r *Repo) whole(name string) bool {
	parents, ok := r.parents(name)
	return ok && !slices.ContainsFunc(parents, func(p object.ID) bool { return !r.Store.Has(p) })
}

// reaches reports whether a commit is in the history of one that was fetched.
func (r *Repo) reaches(ctx context.Context, tips []object.ID, name string) bool {
	id, err := object.ParseID(name)
	return err == nil && slices.ContainsFunc(tips, func(tip object.ID) bool {
		in, err := r.IsAncestor(ctx, id, tip)
		return err == nil && in
	})
}
