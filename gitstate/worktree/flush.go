package worktree

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"git-ralph/gitstate/object"
)

// Flush makes the contents and names of files permanent, those that are files:
// what an entry calls kept or restored is on the disk before the entry is.
func (e *Engine) Flush(paths []string) error {
	var dirs []string
	err := object.FlushFiles(e.repo.Root, len(paths), func(i int) (*os.File, error) {
		dir, name := split(paths[i])
		d, err := e.disk.open(dir)
		if absent(err) || permission(err) || errors.Is(err, errNotRegular) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer d.close()
		f, err := d.openFile(name)
		if absent(err) || permission(err) || errors.Is(err, errNotRegular) {
			return nil, nil
		}
		return f, err
	})
	if err == nil && !object.Journalled(e.repo.Root) {
		for _, p := range paths {
			dir, _ := split(p)
			dirs = append(dirs, e.repo.Root+"/"+dir)
		}
		slices.Sort(dirs)
		err = object.FlushFolders(slices.Compact(dirs)...)
	}
	if err != nil {
		return fmt.Errorf("flush the worktree: %w", err)
	}
	return nil
}
