package notes

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
)

// Union is the tree of the notes of both. Where both have one for an object, the
// parts that only ours has stand behind those of theirs, so that joining the same
// two again changes nothing.
func Union(store TreeStore, theirs, ours object.ID) (object.ID, error) {
	if theirs == ours {
		return theirs, nil
	}
	a, err := OpenNotes(store, theirs)
	if err != nil {
		return object.Zero, err
	}
	b, err := OpenNotes(store, ours)
	if err != nil {
		return object.Zero, err
	}
	if err := b.each(b.root, 0, func(l *noteLeaf) error { return a.join(l) }); err != nil {
		return object.Zero, fmt.Errorf("join the notes: %w", err)
	}
	return a.Write()
}

// each calls f with every note.
func (t *NotesTree) each(node *noteNode, n int, f func(*noteLeaf) error) error {
	for i := range node.child {
		for {
			folder, ok := node.child[i].(*noteFolder)
			if !ok {
				break
			}
			node.child[i] = nil
			if err := t.load(folder, node, n); err != nil {
				return err
			}
		}
		var err error
		switch c := node.child[i].(type) {
		case *noteNode:
			err = t.each(c, n+1, f)
		case *noteLeaf:
			err = f(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *NotesTree) join(l *noteLeaf) error {
	blob, has, err := t.Get(l.key)
	if err != nil {
		return err
	}
	if !has {
		return t.Set(l.key, l.blob)
	}
	if blob == l.blob {
		return nil
	}
	var parts [2][]string
	for i, id := range []object.ID{blob, l.blob} {
		data, err := t.store.ReadType(id, object.Blob)
		if err != nil {
			return err
		}
		parts[i] = strings.Split(strings.TrimSpace(string(data)), "\n\n")
	}
	all := parts[0]
	for _, p := range parts[1] {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	id, err := t.store.Write(object.Blob, []byte(strings.Join(all, "\n\n")+"\n"))
	if err != nil {
		return err
	}
	return t.Set(l.key, id)
}
