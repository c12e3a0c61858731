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
	"git-ralph/internal/proc"
	"git-ralph/plan"
)

// Entry is one commit of the journal with its event.
type Entry struct {
	ID     object.ID
	Commit object.CommitData
	Event  state.Event
}

// Read reads one entry's event.
func (j *Journal) Read(id object.ID) (Entry, error) { return j.read(id, false) }

func (j *Journal) read(id object.ID, brief bool) (Entry, error) {
	e := Entry{ID: id}
	var err error
	if e.Commit, err = j.Repo.Store.ReadCommit(id); err != nil {
		return e, damaged(id, err)
	}
	root, err := j.Repo.Store.ReadTree(e.Commit.Tree)
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
	list, err := j.Repo.Store.ReadTree(tree)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.Name == name && t.Mode != object.ModeDir {
			files[prefix+name], err = j.Repo.Store.ReadType(t.ID, object.Blob)
			return err
		}
	}
	return nil
}

// Walk calls f with entries from the newest on, along first parents, until f
// returns false. ErrNone when there is no journal.
func (j *Journal) Walk(ctx context.Context, f func(Entry) (bool, error)) error {
	return j.walk(ctx, false, f)
}

// WalkBrief is Walk without the payload files of the events: tasks of a plan
// change are only named, and a result has no handoff. An import of a thousand
// tasks costs no more to look at than a pause.
func (j *Journal) WalkBrief(ctx context.Context, f func(Entry) (bool, error)) error {
	return j.walk(ctx, true, f)
}

func (j *Journal) walk(ctx context.Context, brief bool, f func(Entry) (bool, error)) error {
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
	return j.walkFrom(ctx, id, true, f)
}

func (j *Journal) walkFrom(ctx context.Context, id object.ID, brief bool, f func(Entry) (bool, error)) error {
	for !id.IsZero() {
		e, err := j.read(id, brief)
		if err != nil {
			return err
		}
		if more, err := f(e); err != nil || !more {
			return err
		}
		id = object.Zero
		if len(e.Commit.Parents) > 0 {
			id = e.Commit.Parents[0]
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
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
	c, err := j.Repo.Store.ReadCommit(tip)
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
	return j.grep(ctx, "Ralph-Iteration: "+strconv.Itoa(n), func(e Entry) bool {
		return e.Event.Iteration == n && e.Event.Type == state.EvIteration
	})
}

// Starts finds the entries that began iteration n.
func (j *Journal) Starts(ctx context.Context, n int) ([]Entry, error) {
	return j.grep(ctx, "Ralph-Iteration: "+strconv.Itoa(n), func(e Entry) bool {
		return e.Event.Iteration == n && e.Event.Type == state.EvStart
	})
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

// grep lets git search the messages, and trusts event.json alone.
func (j *Journal) grep(ctx context.Context, line string, want func(Entry) bool) ([]Entry, error) {
	tip, err := j.Tip(ctx)
	if err != nil {
		return nil, err
	}
	if tip.IsZero() {
		return nil, ErrNone
	}
	out, err := j.Repo.Git.Run(ctx, "log", "--format=%H", "--grep=^"+line+"$", tip.String())
	if err != nil {
		return nil, fmt.Errorf("search the journal: %w", err)
	}
	var found []Entry
	for hash := range strings.Lines(string(out)) {
		id, err := object.ParseID(strings.TrimSpace(hash))
		if err != nil {
			return nil, err
		}
		e, err := j.Read(id)
		if err != nil {
			return nil, err
		}
		if want(e) {
			found = append(found, e)
		}
	}
	return found, nil
}

// Fault is one thing that fsck found.
type Fault struct {
	Entry   object.ID
	Problem string
}

func (f Fault) String() string {
	if f.Entry.IsZero() {
		return f.Problem
	}
	return f.Entry.String()[:12] + ": " + f.Problem
}

// Check re-applies the whole history, entry by entry, and compares the files
// of every tree with what Apply makes, and the trailers with the event.
func (j *Journal) Check(ctx context.Context, progress func(n int)) ([]Fault, int, error) {
	tip, err := j.Tip(ctx)
	if err != nil {
		return nil, 0, err
	}
	if tip.IsZero() {
		return nil, 0, ErrNone
	}
	out, err := j.Repo.Git.Run(ctx, "rev-list", "--first-parent", "--reverse", tip.String())
	if err != nil {
		var ge *proc.GitError
		if errors.As(err, &ge) {
			return []Fault{{Entry: tip, Problem: "the history cannot be walked: " + err.Error()}}, 0, nil
		}
		return nil, 0, err
	}
	var faults []Fault
	var st state.State
	blobs := map[string]object.ID{} // what the tree should hold
	n := 0
	for hash := range strings.Lines(string(out)) {
		id, err := object.ParseID(strings.TrimSpace(hash))
		if err != nil {
			return faults, n, err
		}
		if err := ctx.Err(); err != nil {
			return faults, n, err
		}
		e, err := j.Read(id)
		if err != nil {
			faults = append(faults, Fault{id, err.Error()})
			// Without this event the rest cannot be derived: go on from its tree.
			if st, blobs, err = j.resync(id); err != nil {
				return append(faults, Fault{id, err.Error()}), n, nil
			}
			continue
		}
		ev := e.Event
		said := ev.Superseded
		ev.Superseded = nil
		next, dropped := state.Apply(st, ev)
		if !sameSuperseded(said, dropped) {
			faults = append(faults, Fault{id, "what the event superseded is not what it says"})
		}
		for path, data := range state.Changes(st, next) {
			if data == nil {
				delete(blobs, path)
			} else {
				blobs[path] = object.Sum(object.Blob, data)
			}
		}
		st = next
		faults = append(faults, j.compare(e, blobs)...)
		faults = append(faults, checkTrailers(e)...)
		n++
		if progress != nil {
			progress(n)
		}
	}
	return faults, n, nil
}

func (j *Journal) resync(id object.ID) (state.State, map[string]object.ID, error) {
	snap, err := j.At(id)
	if err != nil {
		return state.State{}, nil, err
	}
	blobs := map[string]object.ID{}
	list, err := j.Repo.TreeFiles(snap.Tree, "")
	for _, f := range list {
		if !strings.HasPrefix(f.Name, "event/") {
			blobs[f.Name] = f.ID
		}
	}
	return snap.State, blobs, err
}

func (j *Journal) compare(e Entry, want map[string]object.ID) []Fault {
	var faults []Fault
	list, err := j.Repo.TreeFiles(e.Commit.Tree, "")
	if err != nil {
		return []Fault{{e.ID, err.Error()}}
	}
	seen := 0
	for _, f := range list {
		if strings.HasPrefix(f.Name, "event/") {
			continue
		}
		id, ok := want[f.Name]
		switch {
		case !ok:
			faults = append(faults, Fault{e.ID, f.Name + " should not be there"})
		case id != f.ID:
			faults = append(faults, Fault{e.ID, f.Name + " is not what the events make of it"})
		}
		if ok {
			seen++
		}
	}
	if seen < len(want) {
		have := map[string]bool{}
		for _, f := range list {
			have[f.Name] = true
		}
		for path := range want {
			if !have[path] {
				faults = append(faults, Fault{e.ID, path + " is missing"})
			}
		}
	}
	return faults
}

func sameSuperseded(a, b []state.Superseded) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// checkTrailers compares the message's trailers with the event.
func checkTrailers(e Entry) []Fault {
	var faults []Fault
	have := map[string]string{}
	lines := strings.Split(strings.TrimRight(e.Commit.Message, "\n"), "\n")
	for i := len(lines) - 1; i >= 0 && lines[i] != ""; i-- {
		if key, val, ok := strings.Cut(lines[i], ": "); ok && have[key] == "" {
			have[key] = val
		}
	}
	for _, t := range state.Trailers(e.Event) {
		switch t.Key {
		case "Ralph-Event", "Ralph-Event-Id", "Ralph-Task", "Ralph-Verdict", "Ralph-Commit", "Ralph-Iteration":
			if have[t.Key] != t.Value {
				faults = append(faults, Fault{e.ID, fmt.Sprintf("trailer %s says %q, the event %q", t.Key, have[t.Key], t.Value)})
			}
		}
	}
	return faults
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
	return j.grep(ctx, "Ralph-Task: "+string(id), func(e Entry) bool {
		return e.Event.Task == id && e.Event.Type == state.EvIteration
	})
}
