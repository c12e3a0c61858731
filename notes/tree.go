package notes

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"git-ralph/gitstate/object"
)

// TreeStore is what NotesTree needs of a repository: object.Records.
type TreeStore interface {
	ReadTree(object.ID) ([]object.TreeEntry, error)
	WriteTree([]object.TreeEntry) (object.ID, error)
	ReadType(object.ID, object.Type) ([]byte, error)
	Write(object.Type, []byte) (object.ID, error)
}

// NotesTree is the tree of a notes ref: object names to blobs. It reads every
// mix of fan-out that git reads, loads only the folders it touches, and writes
// the tree that git itself would write, so that our notes and those of
// `git notes` can take turns. Entries that are no notes survive.
//
// The structure is git's (notes.c): a trie of hexadecimal digits whose leaves
// are notes or folders not loaded yet. The fan-out of a folder follows from
// it: two more digits become a folder where all sixteen children of a level
// lead to more than one note.
type NotesTree struct {
	store  TreeStore
	root   *noteNode
	others []otherEntry
	loaded int // folders
}

// mostFolders bounds the folders that are read of one tree. It is as many as a million notes
// have. Somebody else may have pushed the notes: nineteen trees of sixteen lines, one in the
// other, can claim to have more than can be read.
const mostFolders = 256 + 256*256

type noteNode struct{ child [16]any } // nil, *noteNode, *noteLeaf, *noteFolder

type noteLeaf struct {
	key  object.ID
	blob object.ID
}

// noteFolder is a tree not loaded yet, for keys that begin with prefix.
type noteFolder struct {
	prefix []byte
	tree   object.ID
}

type otherEntry struct {
	path string
	mode object.Mode
	id   object.ID
}

// OpenNotes gives access to the notes in tree; object.Zero is an empty one.
func OpenNotes(store TreeStore, tree object.ID) (*NotesTree, error) {
	t := &NotesTree{store: store, root: &noteNode{}}
	if tree == object.Zero {
		return t, nil
	}
	if err := t.load(&noteFolder{tree: tree}, t.root, 0); err != nil {
		return nil, fmt.Errorf("read the notes: %w", err)
	}
	return t, nil
}

// nibble is the n-th hexadecimal digit of a key.
func nibble(key []byte, n int) int {
	b := key[n/2]
	if n%2 == 0 {
		return int(b >> 4)
	}
	return int(b & 15)
}

func (f *noteFolder) holds(key []byte) bool {
	return strings.HasPrefix(string(key), string(f.prefix))
}

// find returns the place where key is or would be, loading the folders on the
// way, with the node it is a child of and that node's level.
func (t *NotesTree) find(node *noteNode, n int, key []byte) (*noteNode, int, *any, error) {
	for {
		place := &node.child[nibble(key, n)]
		switch c := (*place).(type) {
		case *noteNode:
			node, n = c, n+1
			continue
		case *noteFolder:
			if c.holds(key) {
				*place = nil
				if err := t.load(c, node, n); err != nil {
					return nil, 0, nil, err
				}
				continue
			}
		}
		return node, n, place, nil
	}
}

// load puts the entries of a folder into node, which is at level n.
func (t *NotesTree) load(f *noteFolder, node *noteNode, n int) error {
	if t.loaded++; t.loaded > mostFolders+1 {
		return fmt.Errorf("there are more than %d folders of notes", mostFolders)
	}
	entries, err := t.store.ReadTree(f.tree)
	if err != nil {
		return err
	}
	var zero object.ID
	width := len(zero)
	for _, e := range entries {
		key := append([]byte{}, f.prefix...)
		raw, err := hex.DecodeString(e.Name)
		regular := e.Mode == object.ModeRegular || e.Mode == object.ModeExecutable || e.Mode == 0o100664
		switch {
		case err == nil && regular && len(f.prefix)+len(raw) == width:
			leaf := &noteLeaf{blob: e.ID}
			copy(leaf.key[:], append(key, raw...))
			err = t.insert(node, n, leaf)
		case err == nil && e.Mode == object.ModeDir && len(raw) == 1 && len(f.prefix)+1 < width:
			err = t.insert(node, n, &noteFolder{append(key, raw...), e.ID})
		default:
			t.others = append(t.others, otherEntry{folderPath(f.prefix) + e.Name, e.Mode, e.ID})
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folderPath is the path of a prefix's folder: one folder a byte.
func folderPath(prefix []byte) string {
	var b strings.Builder
	for _, c := range prefix {
		fmt.Fprintf(&b, "%02x/", c)
	}
	return b.String()
}

// insert puts a leaf or a folder below node. A second note for the same object
// is joined to the first, as git does when two fan-outs hold the same object.
func (t *NotesTree) insert(node *noteNode, n int, entry any) error {
	key := keyOf(entry)
	node, n, place, err := t.find(node, n, padded(key))
	if err != nil {
		return err
	}
	switch old := (*place).(type) {
	case nil:
		*place = entry
		return nil
	case *noteLeaf:
		switch e := entry.(type) {
		case *noteLeaf:
			if old.key == e.key {
				return t.concat(old, e)
			}
		case *noteFolder:
			if e.holds(old.key[:]) {
				return t.load(e, node, n)
			}
		}
	case *noteFolder:
		// find has loaded it when it holds the key, unless the new entry is
		// a folder of the same prefix: then both are loaded.
		if e, ok := entry.(*noteFolder); ok && string(e.prefix) == string(old.prefix) {
			*place = nil
			if err := t.load(old, node, n); err != nil {
				return err
			}
			return t.load(e, node, n)
		}
	}
	old := *place
	child := &noteNode{}
	if err := t.insert(child, n+1, old); err != nil {
		return err
	}
	*place = child
	return t.insert(child, n+1, entry)
}

func keyOf(entry any) []byte {
	switch e := entry.(type) {
	case *noteLeaf:
		return e.key[:]
	case *noteFolder:
		return e.prefix
	}
	return nil
}

func padded(key []byte) []byte {
	var id object.ID
	copy(id[:], key)
	return id[:]
}

func (t *NotesTree) concat(old, add *noteLeaf) error {
	if old.blob == add.blob {
		return nil
	}
	a, err := t.store.ReadType(old.blob, object.Blob)
	if err != nil {
		return err
	}
	b, err := t.store.ReadType(add.blob, object.Blob)
	if err != nil {
		return err
	}
	if len(b) == 0 {
		return nil
	}
	if len(a) == 0 {
		old.blob = add.blob
		return nil
	}
	text := strings.TrimSuffix(string(a), "\n") + "\n\n" + string(b)
	old.blob, err = t.store.Write(object.Blob, []byte(text))
	return err
}

// Get returns the blob of an object's note and whether there is one.
func (t *NotesTree) Get(id object.ID) (object.ID, bool, error) {
	_, _, place, err := t.find(t.root, 0, id[:])
	if err != nil {
		return object.Zero, false, fmt.Errorf("read the note of %s: %w", id, err)
	}
	if leaf, ok := (*place).(*noteLeaf); ok && leaf.key == id {
		return leaf.blob, true, nil
	}
	return object.Zero, false, nil
}

// Set gives an object a note in place of the one it has.
func (t *NotesTree) Set(id, blob object.ID) error {
	_, _, place, err := t.find(t.root, 0, id[:])
	if err != nil {
		return fmt.Errorf("write the note of %s: %w", id, err)
	}
	if leaf, ok := (*place).(*noteLeaf); ok && leaf.key == id {
		leaf.blob = blob
		return nil
	}
	if err := t.insert(t.root, 0, &noteLeaf{id, blob}); err != nil {
		return fmt.Errorf("write the note of %s: %w", id, err)
	}
	return nil
}

// fanout is how many folders the notes below node lie in.
func (node *noteNode) fanout(n, fanout int) int {
	if n%2 == 1 || n > 2*fanout {
		return fanout
	}
	for _, c := range node.child {
		switch c.(type) {
		case *noteNode, *noteFolder:
		default:
			return fanout
		}
	}
	return fanout + 1
}

// Write stores the tree and returns its id. Folders that were not touched are
// named again without being read.
func (t *NotesTree) Write() (object.ID, error) {
	var files []otherEntry
	var walk func(node *noteNode, n, fanout int) error
	walk = func(node *noteNode, n, fanout int) error {
		fanout = node.fanout(n, fanout)
		for i := range node.child {
			for {
				f, ok := node.child[i].(*noteFolder)
				if !ok || n <= 2*fanout {
					break
				}
				node.child[i] = nil
				if err := t.load(f, node, n); err != nil {
					return err
				}
			}
			switch c := node.child[i].(type) {
			case *noteNode:
				if err := walk(c, n+1, fanout); err != nil {
					return err
				}
			case *noteFolder:
				files = append(files, otherEntry{strings.TrimSuffix(folderPath(c.prefix), "/"), object.ModeDir, c.tree})
			case *noteLeaf:
				path := folderPath(c.key[:fanout]) + hex.EncodeToString(c.key[fanout:])
				files = append(files, otherEntry{path, object.ModeRegular, c.blob})
			}
		}
		return nil
	}
	if err := walk(t.root, 0, 0); err != nil {
		return object.Zero, fmt.Errorf("write the notes: %w", err)
	}
	files = append(files, t.others...)
	sort.SliceStable(files, func(i, j int) bool { return files[i].path < files[j].path })
	id, err := t.writeFolder(files)
	if err != nil {
		return object.Zero, fmt.Errorf("write the notes: %w", err)
	}
	return id, nil
}

// writeFolder stores the files, whose paths are relative to the folder and
// stand next to each other by their first part.
func (t *NotesTree) writeFolder(files []otherEntry) (object.ID, error) {
	var entries []object.TreeEntry
	for i := 0; i < len(files); {
		dir, _, nested := strings.Cut(files[i].path, "/")
		if !nested {
			entries = append(entries, object.TreeEntry{Name: files[i].path, Mode: files[i].mode, ID: files[i].id})
			i++
			continue
		}
		var below []otherEntry
		for ; i < len(files) && strings.HasPrefix(files[i].path, dir+"/"); i++ {
			f := files[i]
			f.path = f.path[len(dir)+1:]
			below = append(below, f)
		}
		id, err := t.writeFolder(below)
		if err != nil {
			return object.Zero, err
		}
		entries = append(entries, object.TreeEntry{Name: dir, Mode: object.ModeDir, ID: id})
	}
	return t.store.WriteTree(entries)
}
