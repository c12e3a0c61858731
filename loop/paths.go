package loop

import (
	"fmt"
	"slices"

	"git-ralph/gitstate/object"
)

// maxListed is how many entries of trees a loop remembers.
const maxListed = 100_000

// treeLists are trees as they were read, by id.
type treeLists map[object.ID][]object.TreeEntry

// pathsOf lists the files of a tree. It reads only trees that were not in the last
// listing, because the content of a tree id never changes and few trees differ.
func (l *Loop) pathsOf(tree object.ID) ([]string, error) {
	w := treeWalk{read: l.Repo.Store.ReadTree, known: l.listed, met: treeLists{}}
	if err := w.walk(tree, "", nil); err != nil {
		return nil, err
	}
	if l.listed = w.met; w.entries > maxListed {
		l.listed = nil
	}
	slices.Sort(w.paths)
	return w.paths, nil
}

// treeWalk lists a tree with what is below it.
type treeWalk struct {
	read       func(object.ID) ([]object.TreeEntry, error)
	known, met treeLists
	entries    int
	paths      []string
}

// walk adds the files of a tree that lies in the trees above. A damaged one may
// claim to hold one of those.
func (w *treeWalk) walk(tree object.ID, prefix string, above []object.ID) error {
	if slices.Contains(above, tree) {
		return fmt.Errorf("read tree %s: it holds itself", tree)
	}
	list, ok := w.met[tree]
	if !ok {
		list, ok = w.known[tree]
	}
	if !ok {
		var err error
		if list, err = w.read(tree); err != nil {
			return err
		}
	}
	if w.entries <= maxListed {
		w.met[tree] = list
	}
	w.entries += len(list)
	above = append(above, tree)
	for _, e := range list {
		if e.Mode != object.ModeDir {
			w.paths = append(w.paths, prefix+e.Name)
		} else if err := w.walk(e.ID, prefix+e.Name+"/", above); err != nil {
			return err
		}
	}
	return nil
}
