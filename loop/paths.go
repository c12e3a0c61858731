package loop

import (
	"fmt"
	"slices"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
)

// listing is the newest list of the files of a tree, sorted.
type listing struct {
	tree  object.ID
	paths []string
}

// A loop remembers the paths of a tree with at most maxListed files, and follows at most
// maxFollowed changes of names from there to the next tree.
const (
	maxListed   = 100_000
	maxFollowed = 1000
)

// pathsOf lists the files of a tree. After the first time it reads only what differs from
// the tree before. The caller does not change the list.
func (l *Loop) pathsOf(tree object.ID) ([]string, error) {
	paths, ok := l.follow(tree)
	if !ok {
		var err error
		if paths, err = walk(l.Repo.Store.ReadTree, nil, tree, "", nil); err != nil {
			return nil, err
		}
		slices.Sort(paths)
	}
	l.listed = listing{}
	if paths = slices.Clip(paths); len(paths) <= maxListed {
		l.listed = listing{tree, paths}
	}
	return paths, nil
}

// follow makes the list from the one before. ok = false says that reading the whole tree
// is the shorter way.
func (l *Loop) follow(tree object.ID) (paths []string, ok bool) {
	if l.listed.tree.IsZero() {
		return nil, false
	}
	changes, err := worktree.DiffTrees(l.Repo.Store, l.listed.tree, tree)
	if err != nil {
		return nil, false
	}
	changes = slices.DeleteFunc(changes, func(c worktree.Change) bool { return c.Old.ID.IsZero() == c.New.ID.IsZero() })
	if len(changes) > maxFollowed {
		return nil, false
	}
	paths = l.listed.paths
	if len(changes) > 0 {
		paths = slices.Clone(paths)
	}
	for _, c := range changes {
		i, has := slices.BinarySearch(paths, c.Path)
		switch {
		case has && c.New.ID.IsZero():
			paths = slices.Delete(paths, i, i+1)
		case !has && c.Old.ID.IsZero():
			paths = slices.Insert(paths, i, c.Path)
		default:
			return nil, false
		}
	}
	return paths, true
}

// walk adds the files of a tree that lies in the trees above. A damaged one may claim to
// hold one of those.
func walk(read func(object.ID) ([]object.TreeEntry, error), paths []string, tree object.ID, prefix string,
	above []object.ID) ([]string, error) {
	if slices.Contains(above, tree) {
		return nil, fmt.Errorf("read tree %s: it holds itself", tree)
	}
	list, err := read(tree)
	above = append(above, tree)
	for _, e := range list {
		switch {
		case err != nil:
		case e.Mode != object.ModeDir:
			paths = append(paths, prefix+e.Name)
		default:
			paths, err = walk(read, paths, e.ID, prefix+e.Name+"/", above)
		}
	}
	return paths, err
}
