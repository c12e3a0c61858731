package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// chunk is how many entries are read in one conversation with git. It bounds the
// memory of a walk.
const chunk = 256

// walkMany continues a walk at entry id. If git cannot list the history, it
// returns the entry at which it stopped, so that the walk can continue one by one
// and name the damaged one. more is false when f ended the walk or failed.
func (j *Journal) walkMany(ctx context.Context, id object.ID, brief detail, f func(Entry) (bool, error)) (at object.ID,
	more bool, err error) {
	at = id
	var ended error
	more = true
	err = j.list(ctx, id.String(), func(ids []object.ID) (bool, error) {
		entries, err := j.readEntries(ids, brief, j.Repo.Store.ReadManyOf)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if ok, err := f(e); err != nil || !ok {
				more, ended = false, err
				return false, nil
			}
			at = e.parent()
		}
		return true, ctx.Err()
	}, "--first-parent")
	if !more {
		return at, false, ended
	}
	return at, ctx.Err() == nil, err
}

// list gives f the commits of `git rev-list` in chunks until it returns false.
func (j *Journal) list(ctx context.Context, tip string, f func(ids []object.ID) (bool, error),
	options ...string) error {
	var ids []object.ID
	var own error // of f
	err := j.Repo.Git.Lines(ctx, func(line string) (bool, error) {
		id, err := object.ParseID(line)
		if err != nil {
			return false, fmt.Errorf("list the journal: %w", err)
		}
		if ids = append(ids, id); len(ids) < chunk {
			return true, nil
		}
		full := ids
		ids = nil
		var more bool
		more, own = f(full)
		return more, own
	}, slices.Concat(object.LittleMemory, []string{"rev-list"}, options, []string{tip})...)
	switch {
	case own != nil:
		return own
	case err != nil:
		return fmt.Errorf("list the journal: %w", err)
	case len(ids) > 0:
		_, err = f(ids)
	}
	return err
}

// reader reads many objects of a type, in the order of ids.
type reader func(t object.Type, ids []object.ID) ([][]byte, error)

// readEntries reads entries in the order of ids, in a few round trips to git. It
// fails as a whole; the caller then reads them one by one to find the damaged
// one. It does not use go-git's decoders, with which a walk of 20,000 entries
// takes a sixth longer.
func (j *Journal) readEntries(ids []object.ID, brief detail, read reader) ([]Entry, error) {
	out := make([]Entry, len(ids))
	trees := make([]object.ID, len(ids))
	commits, err := read(object.Commit, ids)
	if err != nil {
		return nil, err
	}
	for i, data := range commits {
		out[i].ID = ids[i]
		if out[i].Commit, err = object.DecodeCommit(data); err != nil {
			return nil, fmt.Errorf("read entry %s: %w", ids[i], err)
		}
		trees[i] = out[i].Commit.Tree
	}
	roots, err := read(object.Tree, trees)
	if err != nil {
		return nil, err
	}
	var folders []part
	for i, data := range roots {
		if out[i].root, err = object.DecodeTree(data); err != nil {
			return nil, fmt.Errorf("read entry %s: %w", ids[i], err)
		}
		for _, t := range out[i].root {
			if t.Name == "event" && t.Mode == object.ModeDir {
				folders = append(folders, part{i, "event/", t.ID})
			}
		}
	}
	var blobs []part
	for len(folders) > 0 {
		if folders, err = openFolders(folders, brief, read, &blobs); err != nil {
			return nil, err
		}
	}
	contents, err := read(object.Blob, partIDs(blobs))
	if err != nil {
		return nil, err
	}
	files := make([]state.Files, len(ids))
	for k, b := range blobs {
		if files[b.entry] == nil {
			files[b.entry] = state.Files{}
		}
		files[b.entry][b.path] = contents[k]
		out[b.entry].blobs = append(out[b.entry].blobs, b.id)
	}
	decode := state.DecodeEvent
	if brief {
		decode = state.DecodeBrief
	}
	for i := range out {
		if out[i].Event, err = decode(files[i]); err != nil {
			return nil, fmt.Errorf("read entry %s: %w", ids[i], err)
		}
	}
	return out, nil
}

// deepest bounds how deep a file of an event may lie: a damaged tree may claim to
// hold itself.
const deepest = 8

// part is a file or a folder below event/ of one of many entries.
type part struct {
	entry int
	path  string
	id    object.ID
}

func partIDs(parts []part) []object.ID {
	ids := make([]object.ID, len(parts))
	for i, p := range parts {
		ids[i] = p.id
	}
	return ids
}

// openFolders reads folders, adds their files to blobs and returns the folders
// in them. Brief leaves out all but the event itself.
func openFolders(folders []part, brief detail, read reader, blobs *[]part) ([]part, error) {
	contents, err := read(object.Tree, partIDs(folders))
	if err != nil {
		return nil, err
	}
	var inner []part
	had := len(*blobs)
	for i, f := range folders {
		list, err := object.DecodeTree(contents[i])
		if err != nil {
			return nil, fmt.Errorf("read tree %s: %w", f.id, err)
		}
		for _, t := range list {
			switch p := (part{f.entry, f.path + t.Name, t.ID}); {
			case strings.Count(p.path, "/") > deepest:
				return nil, fmt.Errorf("read tree %s: it lies too deep", f.id)
			case brief == briefly && p.path != "event/event.json":
			case t.Mode == object.ModeDir:
				p.path += "/"
				inner = append(inner, p)
			default:
				*blobs = append(*blobs, p)
			}
		}
		if len(inner)+len(*blobs)-had > gitstate.MostRecords { // of all entries together
			return nil, fmt.Errorf("read tree %s: it holds too much", f.id)
		}
	}
	return inner, nil
}
