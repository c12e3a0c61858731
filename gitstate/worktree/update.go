package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree/index"
	"git-ralph/internal/stable"
)

// IndexConflict says that the index entry of a path matches neither side of the
// change to record: a user or another program wrote it.
type IndexConflict struct {
	Path string
	Have Side // zero = nothing, or an unmerged path
}

func (c *IndexConflict) Error() string {
	if c.Have.ID.IsZero() {
		return fmt.Sprintf("the index has no plain entry for %q", c.Path)
	}
	return fmt.Sprintf("the index has %s at %q, which is neither the old nor the new state", c.Have.ID, c.Path)
}

// UpdateIndex writes the user's index into lock (the caller's open, empty
// index.lock) and flushes it. Only paths that differ between the trees (or
// commits) from and to are set to their new side. It does not rename. Flags of
// entries survive. If an entry is neither the old nor the new side, it returns
// an *IndexConflict and writes nothing. It sets the stat data of a path only if
// its file matches the entry, so that git status is clean for it and never
// wrong.
func (e *Engine) UpdateIndex(ctx context.Context, lock *os.File, from, to object.ID) error {
	changes, err := e.difference(from, to)
	if err == nil {
		_, err = e.updateIndex(ctx, lock, changes, refuseConflicts)
	}
	if err != nil {
		return fmt.Errorf("update the index: %w", err)
	}
	return nil
}

// difference is DiffTrees for commits and trees. It is an error when a path may
// not be written to a worktree.
func (e *Engine) difference(from, to object.ID) ([]Change, error) {
	a, err := e.treeOf(from)
	if err != nil {
		return nil, err
	}
	b, err := e.treeOf(to)
	if err != nil {
		return nil, err
	}
	changes, err := DiffTrees(e.repo.Store, a, b)
	if err != nil {
		return nil, err
	}
	// Either tree may be foreign; one is written, the other removed.
	for _, c := range changes {
		if err := errors.Join(object.CheckPath(c.Path, c.Old.Mode), object.CheckPath(c.Path, c.New.Mode)); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// treeOf is the tree of a commit, or the tree itself. Zero is the empty tree.
func (e *Engine) treeOf(id object.ID) (object.ID, error) {
	if id.IsZero() || id == object.EmptyTree {
		return object.EmptyTree, nil
	}
	t, data, err := e.repo.Store.Read(id)
	if err != nil || t != object.Commit {
		return id, err
	}
	c, err := object.DecodeCommit(data)
	return c.Tree, err
}

// RepairIndex is UpdateIndex after a crash. It sets the paths whose entry is
// the old side and whose file is the new one, and returns them. All others
// stay. When it returns none, lock is empty and must be removed, not renamed.
func (e *Engine) RepairIndex(ctx context.Context, lock *os.File, from, to object.ID) ([]string, error) {
	changes, err := e.difference(from, to)
	var set []string
	if err == nil {
		set, err = e.updateIndex(ctx, lock, changes, repairConflicts)
	}
	if err != nil {
		return nil, fmt.Errorf("repair the index: %w", err)
	}
	return set, nil
}

// conflictRule says what to do with an index entry that is neither side of its
// change.
type conflictRule bool

const (
	repairConflicts conflictRule = true
	refuseConflicts conflictRule = false
)

func (e *Engine) updateIndex(ctx context.Context, lock *os.File, changes []Change, repair conflictRule) ([]string,
	error) {
	f, _, err := e.readIndexRaw(ctx)
	if err != nil {
		return nil, err
	}
	var set []index.Entry
	var remove, done []string
	var applied []Change
	for _, c := range changes {
		have, flags, plain := entryAt(f, c.Path)
		old := c.Old
		if flags&index.IntentToAdd != 0 {
			have, flags = Side{}, flags&^index.IntentToAdd
		}
		switch {
		case plain && have == c.New:
			if c.New.ID.IsZero() {
				if flags == 0 {
					continue
				}
				remove = append(remove, c.Path) // an intent to add a file that is gone
				applied = append(applied, c)
				continue
			}
		case plain && have == old:
		case repair == repairConflicts:
			continue
		default:
			return nil, &IndexConflict{c.Path, have}
		}
		st, same := e.isFile(ctx, c.Path, c.New)
		if repair == repairConflicts && !same {
			continue
		}
		if c.New.ID.IsZero() {
			remove = append(remove, c.Path)
		} else {
			x := index.Entry{Path: c.Path, ID: c.New.ID, Mode: c.New.Mode, Flags: flags}
			if same {
				fillStat(&x, st)
			}
			set = append(set, x)
		}
		done, applied = append(done, c.Path), append(applied, c)
	}
	if repair == repairConflicts && len(set)+len(remove) == 0 {
		return nil, nil
	}
	trees := e.followTrees(f, applied)
	f.Replace(set, remove)
	trees(f)
	return done, e.writeIndex(lock, f)
}

// readIndexRaw is readIndex for an index that is to be written again: sparse
// folders are expanded only when they have to be.
func (e *Engine) readIndexRaw(ctx context.Context) (*index.File, indexKey, error) {
	return e.readIndex(ctx)
}

func (e *Engine) writeIndex(lock *os.File, f *index.File) error {
	// The index names trees: git gc fails on one whose trees are not there.
	if err := e.repo.Store.Sync(); err != nil {
		return err
	}
	e.fail("index write")
	if _, err := lock.Write(f.Encode()); err != nil {
		return fmt.Errorf("write %q: %w", lock.Name(), err)
	}
	e.fail("index sync")
	if err := lock.Sync(); err != nil {
		return fmt.Errorf("flush %q: %w", lock.Name(), err)
	}
	return nil
}

// entryAt is what the index has at path. Plain is false for an unmerged path.
func entryAt(f *index.File, path string) (s Side, flags index.Flags, plain bool) {
	i, ok := f.Find(path, 0)
	if ok {
		x := &f.Entries[i]
		return Side{x.Mode, x.ID}, x.Flags, true
	}
	if i < len(f.Entries) && f.Entries[i].Path == path {
		return Side{}, 0, false
	}
	return Side{}, 0, true
}

func fillStat(x *index.Entry, st stat) {
	x.MtimeSec, x.MtimeNsec = split64(st.mtime)
	x.CtimeSec, x.CtimeNsec = split64(st.ctime)
	x.Dev, x.Ino, x.UID, x.GID, x.Size = uint32(st.dev), uint32(st.ino), st.uid, st.gid, uint32(st.size)
}

func split64(ns int64) (sec, nsec uint32) {
	c := cut(ns)
	return uint32(c / 1e9), uint32(c % 1e9)
}

// isFile reports whether the file at path is the side of a change, and how it
// looks to lstat. A file that cannot be read is not.
func (e *Engine) isFile(ctx context.Context, path string, want Side) (stat, bool) {
	st, err := e.disk.lstat(path, "")
	if want.ID.IsZero() {
		return st, absent(err) || err == nil && st.kind == kindDir
	}
	if err != nil {
		return st, false
	}
	// What the last snapshot proved needs no reading.
	if e.last != nil {
		if f := e.last.fileAt(path); f != nil && f.sameStat(st) && !f.has(bitIndex) && f.present() {
			return st, f.id == want.ID && f.mode == want.Mode && st.kind != kindDir
		}
	}
	known := file{mode: want.Mode}
	if st.kind == kindDir || e.modeOf(&known, st) != want.Mode {
		return st, false
	}
	dir, name := split(path)
	d, err := e.disk.open(dir)
	if err != nil {
		return st, false
	}
	defer d.close()
	if st.kind == kindLink {
		target, err := d.readlink(name)
		return st, err == nil && object.Sum(object.Blob, []byte(target)) == want.ID
	}
	in, err := d.openFile(name)
	if err != nil {
		return st, false
	}
	defer in.Close()
	sum, err := e.sum(in, st.size)
	if err == nil && sum == want.ID {
		return st, true
	}
	if err != nil || !e.conv.mayConvert(e.seen(ctx), path) {
		return st, false
	}
	id, err := e.conv.clean(ctx, path)
	return st, err == nil && id == want.ID
}

// followTrees keeps the cached tree ids of folders. If a folder's cached tree
// is where the changes start, its new tree is their result. Apply the returned
// function after the entries are replaced.
func (e *Engine) followTrees(f *index.File, changes []Change) func(*index.File) {
	if f.Trees == nil || f.Trees.Entries < 0 || f.Trees.Entries != len(f.Entries) {
		return func(*index.File) {}
	}
	// The whole index is known: the tree after the changes follows from it.
	id, err := ApplyChanges(e.repo.Store, f.Trees.ID, changes)
	if err != nil {
		return func(*index.File) {}
	}
	return func(f *index.File) {
		if t := e.cacheOf(f.Trees, f.Entries, "", id, changes); t != nil {
			f.Trees = t
		}
	}
}

// cacheOf is the cache of the tree id, which the entries below dir make up.
// Folders in which nothing changed keep the cache they have.
func (e *Engine) cacheOf(old *index.CacheTree, entries []index.Entry, dir string, id object.ID,
	changes []Change) *index.CacheTree {
	name := dir
	if i := strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/'); i >= 0 {
		name = dir[i+1:]
	}
	t := &index.CacheTree{Name: strings.TrimSuffix(name, "/"), Entries: len(entries), ID: id}
	list, err := e.repo.Store.ReadTree(id)
	if err != nil {
		return nil
	}
	for _, x := range list {
		if x.Mode != object.ModeDir {
			continue
		}
		sub := dir + x.Name + "/"
		var below []Change
		for _, c := range changes {
			if strings.HasPrefix(c.Path, sub) {
				below = append(below, c)
			}
		}
		was := old.Child(x.Name)
		if len(below) == 0 {
			if was == nil || was.ID != x.ID || was.Entries < 0 {
				return nil
			}
			t.Sub = append(t.Sub, was)
			continue
		}
		from := slices.IndexFunc(entries, func(n index.Entry) bool { return strings.HasPrefix(n.Path, sub) })
		if from < 0 {
			return nil
		}
		to := from
		for to < len(entries) && strings.HasPrefix(entries[to].Path, sub) {
			to++
		}
		s := e.cacheOf(was, entries[from:to], sub, x.ID, below)
		if s == nil {
			return nil
		}
		t.Sub = append(t.Sub, s)
	}
	slices.SortFunc(t.Sub, func(a, b *index.CacheTree) int {
		if d := len(a.Name) - len(b.Name); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return t
}

// RestoreIndex writes into lock the user's index with the entries and flags
// that it had at the checkpoint, for when an agent without a sandbox has
// changed them. Entries that did not change keep their stat data. It flushes
// and does not rename.
func (e *Engine) RestoreIndex(ctx context.Context, lock *os.File, want IndexState) error {
	if err := e.restoreIndex(ctx, lock, want); err != nil {
		return fmt.Errorf("restore the index: %w", err)
	}
	return nil
}

func (e *Engine) restoreIndex(ctx context.Context, lock *os.File, want IndexState) error {
	f, _, err := e.readIndex(ctx)
	if err != nil {
		return err
	}
	have, err := stateOf(f, e.repo.Store)
	if err != nil {
		return err
	}
	changes, err := DiffTrees(e.repo.Store, have.Tree, want.Tree)
	if err != nil {
		return err
	}
	flags := map[string]index.Flags{}
	for _, b := range want.Bits {
		flags[b.Path] = b.Flags
	}
	var set []index.Entry
	var remove []string
	touched := map[string]bool{}
	for _, c := range changes {
		touched[c.Path] = true
		if c.New.ID.IsZero() {
			remove = append(remove, c.Path)
			continue
		}
		x := index.Entry{Path: c.Path, ID: c.New.ID, Mode: c.New.Mode}
		if st, same := e.isFile(ctx, c.Path, c.New); same {
			fillStat(&x, st)
		}
		set = append(set, x)
	}
	unmerged := map[string]bool{}
	for _, s := range want.Unmerged {
		unmerged[s.Path] = true
	}
	for _, s := range have.Unmerged {
		if !unmerged[s.Path] && !touched[s.Path] {
			remove = append(remove, s.Path)
		}
	}
	for p := range unmerged {
		remove = append(remove, p)
	}
	for i := range f.Entries {
		x := &f.Entries[i]
		if x.Flags&index.IntentToAdd != 0 && flags[x.Path]&index.IntentToAdd == 0 && !touched[x.Path] {
			remove = append(remove, x.Path)
		}
	}
	for p, fl := range flags {
		if i, ok := f.Find(p, 0); fl&index.IntentToAdd != 0 && (!ok || f.Entries[i].Flags&index.IntentToAdd == 0) {
			set = append(set, index.Entry{Path: p, ID: object.Sum(object.Blob, nil), Mode: object.ModeRegular})
		}
	}
	f.Replace(set, remove)
	if len(want.Unmerged) > 0 {
		for _, s := range want.Unmerged {
			f.Entries = append(f.Entries, index.Entry{Path: s.Path, Stage: s.Stage, Mode: s.Mode, ID: s.ID})
		}
		stable.Sort(f.Entries, func(a, b index.Entry) int {
			if c := strings.Compare(a.Path, b.Path); c != 0 {
				return c
			}
			return int(a.Stage) - int(b.Stage)
		})
	}
	for i := range f.Entries {
		f.Entries[i].Flags = flags[f.Entries[i].Path]
	}
	return e.writeIndex(lock, f)
}

// IndexState is the user's index as entries, for a tamper check. A file that is
// the one of the last checkpoint by its change time, which nobody can set, is not
// read again; one with the same bytes is not taken apart.
func (e *Engine) IndexState(ctx context.Context) (IndexState, error) {
	if e.index != nil && e.index.whole {
		if e.index.key.ctime != 0 && e.sameIndex() {
			return e.index.state, nil
		}
		_, data, done, err := e.readIndexBytes()
		same := err == nil && !e.index.sum.IsZero() && index.Checksum(data) == e.index.sum && index.Intact(data)
		if done(); same {
			return e.index.state, nil
		}
	}
	f, _, err := e.readIndex(ctx)
	if err != nil {
		return IndexState{}, err
	}
	return stateOf(f, e.repo.Store)
}
