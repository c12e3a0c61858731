package worktree

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/internal/stable"
)

// writeTrees makes the tree of a snapshot, bottom up, and returns its id.
// Folders whose id is known are not made again; those that this process wrote
// are freshened, so that no gc takes them between two checkpoints.
func (e *Engine) writeTrees(n *node) (object.ID, error) {
	id, err := e.writeTree(n)
	if err == nil && id.IsZero() {
		// An empty worktree has a tree too.
		return e.repo.Store.WriteTree(nil)
	}
	return id, err
}

func (e *Engine) writeTree(n *node) (object.ID, error) {
	if n.treeOK && n.odd&oddOwnTree == 0 {
		return n.tree, nil
	}
	own := false
	list := make([]object.TreeEntry, 0, len(n.files)+len(n.dirs))
	for i := range n.files {
		if f := &n.files[i]; f.inTree() {
			list = append(list, object.TreeEntry{Name: f.name, Mode: f.mode, ID: f.id})
		}
	}
	for _, d := range n.dirs {
		id, err := e.writeTree(d)
		if err != nil {
			return object.Zero, err
		}
		own = own || d.odd&oddOwnTree != 0
		if !id.IsZero() {
			list = append(list, object.TreeEntry{Name: d.name, Mode: object.ModeDir, ID: id})
		}
	}
	id := object.Zero
	if len(list) > 0 {
		e.fail("store tree")
		var err error
		if id, err = e.repo.Store.WriteTree(list); err != nil {
			return id, fmt.Errorf("store the tree of %q: %w", n.path, err)
		}
		own = true
	}
	n.tree, n.treeOK = id, true
	if own {
		n.odd |= oddOwnTree
	}
	return id, nil
}

// ChangeKind is what happened to a path between two trees.
type ChangeKind string

// The kinds of changes.
const (
	Added      ChangeKind = "added"
	Modified   ChangeKind = "modified"
	Deleted    ChangeKind = "deleted"
	TypeChange ChangeKind = "typechange" // file, symbolic link, submodule
	ModeChange ChangeKind = "mode"       // only the executable bit
)

// Side is one end of a change; the zero value means that there is nothing.
type Side struct {
	Mode object.Mode
	ID   object.ID
}

// Change is one path that differs between two trees.
type Change struct {
	Path     string
	Kind     ChangeKind
	Old, New Side
	Size     int64 // bytes of the new contents; -1 when not known
}

func newChange(path string, old, now Side, size int64) Change {
	c := Change{Path: path, Old: old, New: now, Size: size}
	switch {
	case old.ID.IsZero():
		c.Kind = Added
	case now.ID.IsZero():
		c.Kind, c.Size = Deleted, 0
	case old.Mode&0o170000 != now.Mode&0o170000:
		c.Kind = TypeChange
	case old.ID == now.ID:
		c.Kind = ModeChange
	default:
		c.Kind = Modified
	}
	return c
}

// DiffTrees lists what differs between two trees, by path. Renames are not
// looked for. Sizes are not known.
func DiffTrees(store *object.Store, a, b object.ID) ([]Change, error) {
	var out []Change
	if err := diffTrees(store, a, b, "", &out); err != nil {
		return nil, fmt.Errorf("compare trees %s and %s: %w", a, b, err)
	}
	stable.Sort(out, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return out, nil
}

func diffTrees(store *object.Store, a, b object.ID, dir string, out *[]Change) error {
	if a == b {
		return nil
	}
	olds, err := store.ReadTree(a)
	if err != nil {
		return err
	}
	news, err := store.ReadTree(b)
	if err != nil {
		return err
	}
	byName := make(map[string]object.TreeEntry, len(olds))
	for _, o := range olds {
		byName[o.Name] = o
	}
	both := func(name string, o, n object.TreeEntry) error {
		var od, nd object.ID
		var of, nf Side
		if o.Mode == object.ModeDir {
			od = o.ID
		} else {
			of = Side{o.Mode, o.ID}
		}
		if n.Mode == object.ModeDir {
			nd = n.ID
		} else {
			nf = Side{n.Mode, n.ID}
		}
		if of != nf {
			*out = append(*out, newChange(join(dir, name), of, nf, -1))
		}
		return diffTrees(store, od, nd, join(dir, name), out)
	}
	for _, n := range news {
		o := byName[n.Name]
		delete(byName, n.Name)
		if o.Mode == n.Mode && o.ID == n.ID {
			continue
		}
		if err := both(n.Name, o, n); err != nil {
			return err
		}
	}
	for name, o := range byName {
		if err := both(name, o, object.TreeEntry{}); err != nil {
			return err
		}
	}
	return nil
}

// ApplyChanges makes the tree that base becomes when every path of changes has
// its new side. What base has there is not compared.
func ApplyChanges(store *object.Store, base object.ID, changes []Change) (object.ID, error) {
	edits := map[string]Side{}
	for _, c := range changes {
		edits[c.Path] = c.New
	}
	paths := make([]string, 0, len(edits))
	for p := range edits {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	id, err := applyEdits(store, base, "", paths, edits)
	if err != nil {
		return id, fmt.Errorf("change tree %s: %w", base, err)
	}
	if id.IsZero() {
		return store.WriteTree(nil)
	}
	return id, nil
}

// applyEdits handles the sorted paths below dir, all of which begin with it.
func applyEdits(store *object.Store, base object.ID, dir string, paths []string, edits map[string]Side) (object.ID,
	error) {
	if len(paths) == 0 {
		return base, nil
	}
	list, err := store.ReadTree(base)
	if err != nil {
		return object.Zero, err
	}
	at := make(map[string]int, len(list))
	for i, t := range list {
		at[t.Name] = i
	}
	set := func(name string, s Side) {
		i, ok := at[name]
		if !ok {
			at[name] = len(list)
			list = append(list, object.TreeEntry{Name: name, Mode: s.Mode, ID: s.ID})
			return
		}
		list[i].Mode, list[i].ID = s.Mode, s.ID
	}
	below := map[string][]string{}
	var subs []string
	for _, p := range paths {
		rest := p
		if dir != "" {
			rest = p[len(dir)+1:]
		}
		name, _, deeper := strings.Cut(rest, "/")
		if !deeper {
			// Deletions of a file go first: a folder may take its name.
			if s := edits[p]; !s.ID.IsZero() {
				set(name, s)
			} else if i, ok := at[name]; ok && list[i].Mode != object.ModeDir {
				list[i].ID = object.Zero
			}
			continue
		}
		if below[name] == nil {
			subs = append(subs, name)
		}
		below[name] = append(below[name], p)
	}
	for _, name := range subs {
		var sub object.ID
		if i, ok := at[name]; ok && list[i].Mode == object.ModeDir {
			sub = list[i].ID
		}
		id, err := applyEdits(store, sub, join(dir, name), below[name], edits)
		if err != nil {
			return object.Zero, err
		}
		if i, ok := at[name]; ok && list[i].Mode != object.ModeDir && !list[i].ID.IsZero() && id.IsZero() {
			continue // a file has taken the folder's place
		}
		set(name, Side{object.ModeDir, id})
	}
	list = slices.DeleteFunc(list, func(t object.TreeEntry) bool { return t.ID.IsZero() })
	if len(list) == 0 {
		return object.Zero, nil
	}
	return store.WriteTree(list)
}
