package journal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// Entry is one commit of the journal with its event.
type Entry struct {
	ID     object.ID
	Commit object.CommitData
	Event  state.Event

	// Where many entries were read at once: the tree's entries, and the blobs
	// below event/ that were read.
	root  []object.TreeEntry
	blobs []object.ID
}

// Read reads one entry's event.
func (j *Journal) Read(id object.ID) (Entry, error) { return j.read(id, inFull) }

// detail is how much of an entry is read: briefly leaves out the payload files of its event.
type detail bool

const (
	briefly detail = true
	inFull  detail = false
)

func (j *Journal) read(id object.ID, brief detail) (Entry, error) {
	e := Entry{ID: id}
	var err error
	if e.Commit, err = j.Repo.Store.Records().ReadCommit(id); err != nil {
		return e, damaged(id, err)
	}
	root, err := j.Repo.Store.Records().ReadTree(e.Commit.Tree)
	if err != nil {
		return e, damaged(id, err)
	}
	files := state.Files{}
	for _, t := range root {
		if t.Name != "event" || t.Mode != object.ModeDir {
			continue
		}
		if brief {
			err = j.readFile(files, t.ID, "event.json", "event/")
		} else {
			err = j.readDir(files, t.ID, "event/")
		}
		if err != nil {
			return e, damaged(id, err)
		}
	}
	if brief {
		e.Event, err = state.DecodeBrief(files)
	} else {
		e.Event, err = state.DecodeEvent(files)
	}
	if err != nil {
		return e, damaged(id, err)
	}
	return e, nil
}

// readFile reads one file of a folder, if it is there.
func (j *Journal) readFile(files state.Files, tree object.ID, name, prefix string) error {
	list, err := j.Repo.Store.Records().ReadTree(tree)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Name == name && t.Mode != object.ModeDir {
			blobs, err := j.Repo.Store.ReadMany([]object.ID{t.ID})
			if err == nil {
				files[prefix+name] = blobs[0]
			}
			return err
		}
	}
	return nil
}

// Walk calls f with entries from the newest on, along first parents, until f
// returns false. ErrNone when there is no journal.
func (j *Journal) Walk(ctx context.Context, f func(Entry) (bool, error)) error {
	return j.walk(ctx, inFull, f)
}

// WalkBrief is Walk without the payload files of the events: tasks of a plan
// change are only named, and a result has no handoff. An import of a thousand
// tasks costs no more to look at than a pause.
func (j *Journal) WalkBrief(ctx context.Context, f func(Entry) (bool, error)) error {
	return j.walk(ctx, briefly, f)
}

func (j *Journal) walk(ctx context.Context, brief detail, f func(Entry) (bool, error)) error {
	id, err := j.Tip(ctx)
	if err != nil {
		return err
	}
	if id.IsZero() {
		return ErrNone
	}
	return j.walkFrom(ctx, id, brief, f)
}

// WalkFrom is WalkBrief from any entry on.
func (j *Journal) WalkFrom(ctx context.Context, id object.ID, f func(Entry) (bool, error)) error {
	return j.walkFrom(ctx, id, briefly, f)
}

// singly is how many entries a walk reads one by one before it asks for many at
// once: most walks end soon, and two processes take longer than these.
const singly = 24

func (j *Journal) walkFrom(ctx context.Context, id object.ID, brief detail, f func(Entry) (bool, error)) error {
	f = j.withMerged(ctx, brief, f)
	for n := 0; !id.IsZero(); n++ {
		if n == singly {
			last, more, err := j.walkMany(ctx, id, brief, f)
			if err == nil || !more {
				return err
			}
			if id = last; id.IsZero() {
				return err
			}
		}
		e, err := j.read(id, brief)
		if err != nil {
			return err
		}
		if more, err := f(e); err != nil || !more {
			return err
		}
		id = e.parent()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// withMerged calls f after a merge with the entries that it has joined, too.
func (j *Journal) withMerged(ctx context.Context, brief detail, f func(Entry) (bool, error)) func(Entry) (bool, error) {
	var all func(Entry) (bool, error)
	all = func(e Entry) (bool, error) {
		more, err := f(e)
		if err != nil || !more || e.Event.Merge == nil || len(e.Commit.Parents) != 2 {
			return more, err
		}
		err = j.between(ctx, e.Commit.Parents[1], e.Commit.Parents[0], brief, func(e Entry) error {
			ok, err := all(e)
			if err == nil && !ok {
				more, err = false, errEnough
			}
			return err
		}, "--first-parent")
		if errors.Is(err, errEnough) {
			err = nil
		}
		return more, err
	}
	return all
}

var errEnough = errors.New("enough")

// parent is the entry before it, Zero for the first one.
func (e Entry) parent() object.ID {
	if len(e.Commit.Parents) == 0 {
		return object.Zero
	}
	return e.Commit.Parents[0]
}

// Readable says whether there is a journal and this program knows its format,
// without reading its state.
func (j *Journal) Readable(ctx context.Context) error {
	tip, err := j.Tip(ctx)
	if err != nil {
		return err
	}
	if tip.IsZero() {
		return ErrNone
	}
	c, err := j.Repo.Store.Records().ReadCommit(tip)
	if err != nil {
		return damaged(tip, err)
	}
	files := state.Files{}
	if err := j.readFile(files, c.Tree, "format", ""); err != nil {
		return damaged(tip, err)
	}
	return asFormat(tip, state.CheckFormat(files))
}

// Iterations finds the entries that ended iteration n, newest first: more than
// one when machines that were offline gave the same number.
func (j *Journal) Iterations(ctx context.Context, n int) ([]Entry, error) {
	return j.lookUp(ctx, state.EvIteration, strconv.Itoa(n), "")
}

// Starts finds the entries that began iteration n.
func (j *Journal) Starts(ctx context.Context, n int) ([]Entry, error) {
	return j.lookUp(ctx, state.EvStart, strconv.Itoa(n), "")
}

// Find returns the entry of an iteration by its number and event id.
func (j *Journal) Find(ctx context.Context, n int, eventID string) (Entry, error) {
	all, err := j.Iterations(ctx, n)
	if err != nil {
		return Entry{}, err
	}
	for _, e := range all {
		if e.Event.ID == eventID {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("iteration %d (%s) is not in the journal", n, eventID)
}

// Others lists the branches of this repository that have a journal.
func Others(ctx context.Context, repo *gitstate.Repo) (map[string]object.ID, error) {
	refs, err := repo.ListRefs(ctx, "refs/ralph/heads/")
	if err != nil {
		return nil, err
	}
	out := map[string]object.ID{}
	for name, id := range refs {
		out[strings.TrimPrefix(name, "refs/ralph/heads/")] = id
	}
	return out, nil
}

// TaskIterations finds the ends of all iterations on a task, newest first.
func (j *Journal) TaskIterations(ctx context.Context, id plan.TaskID) ([]Entry, error) {
	return j.lookUp(ctx, state.EvIteration, "", string(id))
}
