package worktree

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"git-ralph/gitstate/object"
)

// Flush makes the contents and names of those paths that are files permanent,
// so that kept or restored files are on the disk before an entry says so.
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
			dirs = append(dirs, dir)
		}
		slices.Sort(dirs)
		for _, dir := range slices.Compact(dirs) {
			if err = e.flushNames(dir); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("flush the worktree: %w", err)
	}
	return nil
}

// flushNames makes the names in a folder permanent, if it is still there. It is
// opened like everything else here: its path may be longer than the system
// takes, and a part of it may have become a link.
func (e *Engine) flushNames(dir string) error {
	d, err := e.disk.open(dir)
	if absent(err) || permission(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.close()
	return d.sync()
}
