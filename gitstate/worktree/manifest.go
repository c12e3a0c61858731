package worktree

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"git-ralph/gitstate/ignore"
	"git-ralph/gitstate/object"
)

// The stored checkpoint is one tree:
//
//	before/    the checkpoint's tree
//	index/     the index as a tree, only when it is another one
//	kept/      blobs of what before/ does not hold: ignored files, bytes on disk
//	           that differ from the tree's (conversions, hidden changes)
//	manifest   what no tree can say, one fact a line, names quoted as in Go
//
// A line of the manifest is a word and its values:
//
//	git-ralph-checkpoint 1                       format
//	head REF | head -                            what HEAD named
//	tip ID                                       the commit; zeros on an unborn branch
//	before ID, index ID                          trees; zeros = none
//	modes FILE EXEC DIR                          permissions of everything not named below
//	rules TEXT                                   core.excludesFile, then info/exclude
//	file CLASS MODE ID KIND PERM FORM RAW BITS PATH SIZE MTIME INODE
//	dir PERM PATH                                a folder that the tree does not imply, or with another mode
//	extra WHAT KIND MARK SIZE PATH INODE [PERM MTIME CTIME]
//	                                             what is there and was left alone; of a large ignored file more
//	stage N MODE ID PATH, bits FLAGS PATH        the index
const manifestFormat = "git-ralph-checkpoint 1"

// Store writes the checkpoint into the object database and returns the tree for
// the commit that anchors it. The caller makes the commit and the ref, and calls
// the store's Sync between the two: nothing is permanent before.
func (c *Checkpoint) Store(ctx context.Context) (object.ID, error) {
	id, err := c.store(ctx)
	if err != nil {
		return id, fmt.Errorf("store the checkpoint: %w", err)
	}
	return id, nil
}

func (c *Checkpoint) store(context.Context) (object.ID, error) {
	e, s := c.e, c.e.repo.Store
	kept := map[object.ID]bool{}
	text := c.manifest(kept)
	list := []object.TreeEntry{{Name: "before", Mode: object.ModeDir, ID: c.Tree}}
	if c.Index.Tree != c.Tree && c.Index.Tree != object.EmptyTree {
		list = append(list, object.TreeEntry{Name: "index", Mode: object.ModeDir, ID: c.Index.Tree})
	}
	if len(kept) > 0 {
		var names []object.TreeEntry
		for id := range kept {
			if err := e.keepBlob(c.root, id); err != nil {
				return object.Zero, err
			}
			names = append(names, object.TreeEntry{Name: id.String(), Mode: object.ModeRegular, ID: id})
		}
		id, err := s.WriteTree(names)
		if err != nil {
			return object.Zero, err
		}
		list = append(list, object.TreeEntry{Name: "kept", Mode: object.ModeDir, ID: id})
	}
	if c.Tree == object.EmptyTree {
		if _, err := s.WriteTree(nil); err != nil {
			return object.Zero, err
		}
	}
	e.fail("store manifest")
	id, err := s.Write(object.Blob, text)
	if err != nil {
		return object.Zero, err
	}
	list = append(list, object.TreeEntry{Name: "manifest", Mode: object.ModeRegular, ID: id})
	return s.WriteTree(list)
}

// keepBlob makes sure that a blob which an earlier checkpoint stored has not
// been pruned since.
func (e *Engine) keepBlob(_ *node, id object.ID) error {
	if e.repo.Store.Freshen(id) {
		return nil
	}
	t, data, err := e.repo.Store.Read(id)
	if err != nil {
		return err
	}
	_, err = e.repo.Store.Write(t, data)
	return err
}

func (c *Checkpoint) manifest(kept map[object.ID]bool) []byte {
	var b bytes.Buffer
	m := c.e.modes
	head := c.Head
	if head == "" {
		head = "-"
	}
	fmt.Fprintf(&b, "%s\nhead %s\ntip %s\nbefore %s\nindex %s\nmodes %o %o %o\n", manifestFormat,
		strconv.Quote(head), c.Tip, c.Tree, c.Index.Tree, m.file, m.exec, m.dir)
	for _, t := range topTexts(c.root.top) {
		fmt.Fprintf(&b, "rules %s\n", strconv.Quote(t))
	}
	all := oddUntracked | oddIgnored | oddExtra | oddMode | oddEmpty | oddBits
	_ = c.root.walk(all, func(n *node) error {
		if n.present && (n.perm != m.dir || n.odd&oddEmpty != 0) {
			fmt.Fprintf(&b, "dir %o %s\n", n.perm, strconv.Quote(n.path))
		}
		for i := range n.files {
			f := &n.files[i]
			if f.class == tracked && f.form == formBlob && f.bits&^(bitRacy|bitIndex|bitRead|bitSettled) == 0 &&
				f.mode != object.ModeGitlink &&
				(f.kind == kindLink && f.mode == object.ModeSymlink || f.kind == kindFile && f.mode != object.ModeSymlink &&
					f.perm == m.of(f.mode)) {
				continue
			}
			if (f.form == formOwn || f.class == ignored) && f.present() && !f.raw.IsZero() {
				kept[f.raw] = true
			}
			fmt.Fprintf(&b, "file %d %o %s %d %o %d %s %d %s %d %d %d\n", f.class, f.mode, f.id, f.kind, f.perm, f.form, f.raw,
				f.bits&^(bitRacy|bitIndex|bitRead), strconv.Quote(join(n.path, f.name)), f.size, f.mtime, f.ino)
		}
		for i := range n.extras {
			x := &n.extras[i]
			if x.what == extraIgnored && x.mtime == 0 {
				continue // left alone in any case
			}
			fmt.Fprintf(&b, "extra %d %d %s %d %s %d", x.what, x.kind, x.mark, x.size, strconv.Quote(join(n.path, x.name)),
				x.ino)
			if x.mtime != 0 {
				fmt.Fprintf(&b, " %o %d %d", x.perm, x.mtime, x.ctime)
				if !x.mark.IsZero() {
					kept[x.mark] = true
				}
			}
			b.WriteByte('\n')
		}
		return nil
	})
	for _, s := range c.Index.Unmerged {
		fmt.Fprintf(&b, "stage %d %o %s %s\n", s.Stage, s.Mode, s.ID, strconv.Quote(s.Path))
	}
	for _, s := range c.Index.Bits {
		fmt.Fprintf(&b, "bits %d %s\n", s.Flags, strconv.Quote(s.Path))
	}
	return b.Bytes()
}

// topTexts are the sources of rules that no file of the worktree holds.
func topTexts(r *ignore.Rules) []string {
	var out []string
	for ; r != nil; r = r.Parent() {
		out = append(out, r.Source())
	}
	slices.Reverse(out)
	return out
}

// Load reads a stored checkpoint back, from the tree that Store returned. It
// can be restored exactly; files are compared with it by their contents where
// the present index does not prove them unchanged.
func (e *Engine) Load(ctx context.Context, tree object.ID) (*Checkpoint, error) {
	c, err := e.load(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("load the checkpoint %s: %w", tree, err)
	}
	return c, nil
}

func (e *Engine) load(ctx context.Context, tree object.ID) (*Checkpoint, error) {
	s := e.repo.Store
	list, err := s.ReadTree(tree)
	if err != nil {
		return nil, err
	}
	var before, blob object.ID
	for _, x := range list {
		switch x.Name {
		case "before":
			before = x.ID
		case "manifest":
			blob = x.ID
		}
	}
	if before.IsZero() || blob.IsZero() {
		return nil, fmt.Errorf("it is not a checkpoint: before/ or manifest is missing")
	}
	text, err := s.ReadType(blob, object.Blob)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if m.c.Tree != before {
		return nil, fmt.Errorf("manifest: it belongs to the tree %s", m.c.Tree)
	}
	// Times of the present index prove of most files that they are what the
	// tree says; where they do not, contents are compared.
	var hints *node
	if f, key, err := e.readIndex(ctx); err == nil {
		hints = e.nodesOf(f, key.mtime)
	}
	root, err := e.treeNodes(before, "", "", hints, m)
	if err != nil {
		return nil, err
	}
	if root == nil {
		root = &node{perm: unknownPerm}
	}
	root.present = true
	for _, d := range m.dirs {
		if d.path != "" { // the worktree's own folder
			if err := object.CheckPath(d.path, object.ModeDir); err != nil {
				return nil, fmt.Errorf("manifest: %w", err)
			}
		}
		n := root.make(d.path)
		n.present, n.perm = true, d.perm
	}
	for i := range m.files {
		f := m.files[i]
		if err := object.CheckPath(f.name, f.mode); err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		dir, name := split(f.name)
		f.name = name
		root.make(dir).put(f)
	}
	for _, x := range m.extras {
		dir, name := split(x.name)
		x.name = name
		n := root.make(dir)
		n.extras = append(n.extras, x)
	}
	top := rulesOf(m.rules, e.settings.ignoreCase)
	if err := e.finishLoad(root, top, m.modes); err != nil {
		return nil, err
	}
	root.top = top
	c := m.c
	c.e, c.root, c.Files = e, root, root.count
	c.lists()
	return c, nil
}

// treeNodes is the snapshot that a tree describes. Where the index has the
// same folder, its knowledge of times comes along.
func (e *Engine) treeNodes(id object.ID, path, name string, hints *node, m *manifest) (*node, error) {
	if hints != nil && hints.treeOK && hints.tree == id {
		return hinted(hints, m), nil // the index has all of it: no tree has to be read
	}
	list, err := e.repo.Store.ReadTree(id)
	if err != nil {
		return nil, err
	}
	n := &node{path: path, name: name, perm: unknownPerm, tree: id, treeOK: true}
	for _, x := range list {
		if err := object.CheckEntry(x); err != nil {
			return nil, fmt.Errorf("in the folder %q: %w", path, err)
		}
		switch x.Mode {
		case object.ModeDir:
			d, err := e.treeNodes(x.ID, join(path, x.Name), x.Name, hints.dir(x.Name), m)
			if err != nil {
				return nil, err
			}
			n.dirs = append(n.dirs, d)
		default:
			f := file{name: x.Name, id: x.ID, raw: x.ID, mode: x.Mode, kind: kindFile, class: tracked,
				perm: m.modes.of(x.Mode), bits: bitRacy | bitIndex}
			switch x.Mode {
			case object.ModeSymlink:
				f.kind = kindLink
			case object.ModeGitlink:
				f.kind, f.raw = kindDir, object.Zero
			}
			if h := hints.file(x.Name); h != nil && h.id == f.id && h.mode == f.mode {
				f.bits = h.bits & (bitRacy | bitIndex)
				f.size, f.mtime, f.ctime, f.ino = h.size, h.mtime, h.ctime, h.ino
			}
			n.files = append(n.files, f)
		}
	}
	n.sort()
	return n, nil
}

// hinted is the snapshot of a folder whose tree is the index's.
func hinted(h *node, m *manifest) *node {
	n := &node{path: h.path, name: h.name, perm: unknownPerm, tree: h.tree, treeOK: true}
	for _, f := range h.files {
		if !f.inTree() {
			continue
		}
		f.bits &= bitRacy | bitIndex
		f.perm, f.class = m.modes.of(f.mode), tracked
		n.files = append(n.files, f)
	}
	for _, d := range h.dirs {
		n.dirs = append(n.dirs, hinted(d, m))
	}
	return n
}

// unknownPerm marks a folder of which the manifest says nothing.
const unknownPerm = 1 << 31

// make finds or makes the folder at path.
func (n *node) make(path string) *node {
	for path != "" {
		var name string
		name, path = cutPath(path)
		i, ok := findDir(n.dirs, name)
		if !ok {
			n.dirs = slices.Insert(n.dirs, i, &node{path: join(n.path, name), name: name, perm: unknownPerm, treeOK: true})
		}
		n = n.dirs[i]
	}
	return n
}

// put adds a file, or what the manifest says besides of one in the tree.
func (n *node) put(f file) {
	i, ok := findFile(n.files, f.name)
	if !ok {
		f.bits |= bitRacy
		n.files = slices.Insert(n.files, i, f)
		return
	}
	old := &n.files[i]
	if old.raw == f.raw && old.kind == f.kind && f.form == formBlob {
		f.bits |= old.bits & (bitRacy | bitIndex)
		f.size, f.mtime, f.ctime, f.ino = old.size, old.mtime, old.ctime, old.ino
	} else {
		f.bits |= bitRacy
	}
	*old = f
}

// finishLoad settles the ignore rules of every folder from the ignore files of
// the checkpoint, and what nodes say of their subtrees.
func (e *Engine) finishLoad(n *node, rules *ignore.Rules, m modes) error {
	n.rulesKnown, n.rules = true, rules
	if f := n.file(".gitignore"); f != nil && f.mode != object.ModeSymlink && f.mode != object.ModeGitlink &&
		!f.raw.IsZero() && (f.present() || f.has(bitSkip)) {
		data, err := e.rawBytes(join(n.path, f.name), f)
		if err != nil {
			return fmt.Errorf("read %q: %w", join(n.path, f.name), err)
		}
		if l := ignore.Parse(data, n.path, e.settings.ignoreCase); !l.Empty() {
			n.rules, n.rulesFrom = rules.Push(l), object.Sum(object.Blob, data)
		}
	}
	sortExtras(n.extras)
	for _, d := range n.dirs {
		if err := e.finishLoad(d, n.rules, m); err != nil {
			return err
		}
		n.present = n.present || d.present
	}
	n.present = n.present || slices.ContainsFunc(n.files, func(f file) bool { return f.present() })
	if n.perm == unknownPerm {
		n.perm = m.dir
	}
	// The tree is asked for only when the snapshot becomes the base of another.
	n.summarize(m)
	return nil
}

// rawBytes are the bytes on disk of a small file of a checkpoint.
func (e *Engine) rawBytes(path string, f *file) ([]byte, error) {
	var b bytes.Buffer
	err := e.copyRaw(&b, path, f)
	return b.Bytes(), err
}
