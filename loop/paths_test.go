package loop

import (
	"slices"
	"testing"

	"git-ralph/gitstate/object"
)

// TestTreesAreReadOnce: a tree that the list before has read is not read again. A
// tree in two folders is read once. The walk of a tree that holds itself ends.
func TestTreesAreReadOnce(t *testing.T) {
	id := func(b byte) (id object.ID) { id[0] = b; return id }
	file := func(name string) object.TreeEntry { return object.TreeEntry{Name: name, Mode: object.ModeRegular} }
	folder := func(name string, b byte) object.TreeEntry {
		return object.TreeEntry{Name: name, Mode: object.ModeDir, ID: id(b)}
	}
	trees := treeLists{
		id(1): {file("a"), folder("b", 3), folder("c", 3)},
		id(2): {file("a"), folder("b", 3), file("d")},
		id(3): {file("x")},
		id(4): {folder("again", 5)},
		id(5): {folder("round", 4)},
	}
	var known treeLists
	for _, row := range []struct {
		tree        byte
		paths, read string
		why         string
	}{
		{1, "a b/x c/x ", "13", "the first list reads each tree once"},
		{1, "a b/x c/x ", "", "the same tree"},
		{2, "a b/x d ", "2", "the folder is that of the list before"},
		{1, "a b/x c/x ", "1", "only the last list is remembered"},
		{4, "", "45", "a tree in itself"},
	} {
		read := ""
		w := treeWalk{known: known, met: treeLists{}, read: func(of object.ID) ([]object.TreeEntry, error) {
			read += string('0' + of[0])
			return trees[of], nil
		}}
		err := w.walk(id(row.tree), "", nil)
		got := ""
		slices.Sort(w.paths)
		for _, p := range w.paths {
			got += p + " "
		}
		if got != row.paths || read != row.read || (err != nil) != (row.paths == "") {
			t.Errorf("%s: %q, read %q, error %v", row.why, got, read, err)
		}
		known = w.met
	}
}
