package journal

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
)

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

// Checked is what Check found.
type Checked struct {
	Tip     object.ID // up to which entry
	Faults  []Fault
	Entries int
	// Whole says that every object reachable from the entries was read and
	// matches its name. Otherwise some were not checked.
	Whole bool
}

// Check re-applies the whole history, entry by entry, and compares the files
// of every tree with what Apply makes, and the trailers with the event. Visit is
// called for every entry that can be read, oldest first; nil = not at all.
func (j *Journal) Check(ctx context.Context, visit func(n int, e Entry)) (Checked, error) {
	tip, err := j.Tip(ctx)
	if err != nil {
		return Checked{}, err
	}
	if tip.IsZero() {
		return Checked{}, ErrNone
	}
	c := check{j: j, want: newWanted(), visit: visit, whole: true}
	chunks, stop := make(chan readAhead, 1), make(chan struct{})
	listed := make(chan error, 1)
	go func() {
		defer close(chunks)
		listed <- j.list(ctx, tip.String(), func(ids []object.ID) (bool, error) {
			entries, err := j.readEntries(ids, inFull, j.Repo.Store.ReadWhole)
			if err != nil { // one of them: chunk finds out which
				entries = nil
			}
			select {
			case chunks <- readAhead{ids, entries}:
				return true, ctx.Err()
			case <-stop:
				return false, nil
			}
		}, "--first-parent", "--reverse")
	}()
	for chunk := range chunks {
		if !c.chunk(chunk) {
			break
		}
	}
	close(stop)
	err = <-listed
	var ge *proc.GitError
	if errors.As(err, &ge) && ctx.Err() == nil {
		c.faults = append(c.faults, Fault{Entry: tip, Problem: "the history cannot be walked: " + err.Error()})
		c.whole, err = false, nil
	}
	return Checked{tip, c.faults, c.n, c.whole}, err
}

// readAhead are entries that were read while those before them are compared.
type readAhead struct {
	ids     []object.ID
	entries []Entry // nil = not all of them can be read
}

// chunk compares entries. It returns false when nothing more can be derived.
func (c *check) chunk(r readAhead) bool {
	for i, id := range r.ids {
		if r.entries != nil {
			c.entry(r.entries[i])
			continue
		}
		c.whole = false
		e, err := c.j.Read(id)
		if err == nil {
			e.root, err = c.j.Repo.Store.Records().ReadTree(e.Commit.Tree)
		}
		if err != nil {
			c.faults = append(c.faults, Fault{id, err.Error()})
			// Without this event the rest cannot be derived: go on from its tree.
			if err := c.resync(id); err != nil {
				c.faults = append(c.faults, Fault{id, err.Error()})
				return false
			}
			continue
		}
		c.entry(e)
	}
	// Objects that these entries share with earlier ones, or with their events,
	// have been read already.
	read := map[object.ID]bool{}
	for _, e := range r.entries {
		for _, id := range e.blobs {
			read[id] = true
		}
	}
	made := slices.DeleteFunc(c.want.made(), func(id object.ID) bool {
		again := read[id]
		read[id] = true
		return again
	})
	for _, err := range c.j.Repo.Store.CheckNames(made) {
		c.whole = c.whole && err == nil
	}
	return true
}

// check is a history that is being re-applied.
type check struct {
	j      *Journal
	st     state.State
	want   wanted
	faults []Fault
	n      int
	whole  bool
	visit  func(n int, e Entry)
}

func (c *check) entry(e Entry) {
	ev := e.Event
	said := ev.Superseded
	ev.Superseded = nil
	next, dropped := state.Apply(c.st, ev)
	if !sameSuperseded(said, dropped) {
		c.faults = append(c.faults, Fault{e.ID, "what the event superseded is not what it says"})
	}
	for path, data := range state.Changes(c.st, next) {
		c.want.set(path, data)
	}
	c.st = next
	c.whole = c.whole && len(e.Commit.Parents) < 2 // of a merged line only the outcome is compared
	if !c.want.is(e.root) {
		c.whole = false
		c.faults = append(c.faults, c.compare(e)...)
	}
	c.faults = append(c.faults, checkTrailers(e)...)
	c.n++
	if c.visit == nil {
		return
	}
	c.visit(c.n, e)
	if m := e.Event.Merge; m != nil {
		for _, again := range m.Again {
			part := e
			part.Event = again
			c.visit(c.n, part)
		}
	}
}

func (c *check) resync(id object.ID) error {
	snap, err := c.j.At(id)
	if err != nil {
		return err
	}
	c.st, c.want = snap.State, newWanted()
	list, err := c.j.Repo.RecordFiles(snap.Tree, "")
	for _, f := range list {
		if !strings.HasPrefix(f.Name, "event/") {
			c.want.setID(f.Name, f.ID)
		}
	}
	return err
}

// compare names the files in which an entry's tree is not as wanted.
func (c *check) compare(e Entry) []Fault {
	list, err := c.j.Repo.RecordFiles(e.Commit.Tree, "")
	if err != nil {
		return []Fault{{e.ID, err.Error()}}
	}
	var faults []Fault
	have := map[string]bool{}
	for _, f := range list {
		if strings.HasPrefix(f.Name, "event/") {
			continue
		}
		have[f.Name] = true
		switch id, ok := c.want.blob(f.Name); {
		case !ok:
			faults = append(faults, Fault{e.ID, f.Name + " should not be there"})
		case id != f.ID:
			faults = append(faults, Fault{e.ID, f.Name + " is not what the events make of it"})
		}
	}
	for _, path := range c.want.paths() {
		if !have[path] {
			faults = append(faults, Fault{e.ID, path + " is missing"})
		}
	}
	return faults
}

// wanted is the tree that the events make, without event/: its blobs by folder (""
// for the root) in the order of their names, and the tree ids of the folders that
// did not change since they were asked for.
type wanted struct {
	folders map[string][]object.TreeEntry
	trees   map[string]object.ID
	fresh   *[]object.ID // blobs and trees that came since the last call of made
	odd     *bool        // some name is not valid in git, or is deeper than one folder
}

func newWanted() wanted {
	return wanted{map[string][]object.TreeEntry{"": nil}, map[string]object.ID{}, new([]object.ID), new(bool)}
}

// made returns the objects that are new since its last call.
func (w wanted) made() []object.ID {
	out := *w.fresh
	*w.fresh = nil
	return out
}

// split takes the first folder off a path.
func split(path string) (folder, name string) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// set puts a file into the tree; nil data takes it out.
func (w wanted) set(path string, data []byte) {
	if data != nil {
		id := blobID(data)
		*w.fresh = append(*w.fresh, id)
		w.setID(path, id)
		return
	}
	folder, name := split(path)
	list := w.folders[folder]
	if i, ok := find(list, name); ok {
		w.folders[folder] = slices.Delete(list, i, i+1)
	}
	delete(w.trees, folder)
	if folder != "" && len(w.folders[folder]) == 0 {
		delete(w.folders, folder)
	}
}

func (w wanted) setID(path string, id object.ID) {
	folder, name := split(path)
	e := object.TreeEntry{Mode: object.ModeRegular, Name: name, ID: id}
	list := w.folders[folder]
	i, ok := find(list, name)
	if ok {
		list[i] = e
	} else {
		list = slices.Insert(list, i, e)
		*w.odd = *w.odd || object.CheckEntry(e) != nil ||
			folder != "" && object.CheckEntry(object.TreeEntry{Mode: object.ModeDir, Name: folder}) != nil
	}
	w.folders[folder] = list
	delete(w.trees, folder)
}

// find is where a name stands, or would stand.
func find(list []object.TreeEntry, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(e object.TreeEntry, name string) int {
		return strings.Compare(e.Name, name)
	})
}

func (w wanted) blob(path string) (object.ID, bool) {
	folder, name := split(path)
	list := w.folders[folder]
	if i, ok := find(list, name); ok {
		return list[i].ID, true
	}
	return object.Zero, false
}

// paths lists every file, sorted.
func (w wanted) paths() []string {
	var out []string
	for folder, files := range w.folders {
		for _, e := range files {
			out = append(out, strings.TrimPrefix(folder+"/"+e.Name, "/"))
		}
	}
	slices.Sort(out)
	return out
}

// is says whether a root tree, event/ left out, is the wanted one. It answers
// false too where it cannot tell: see odd.
func (w wanted) is(root []object.TreeEntry) bool {
	n := 0
	if *w.odd {
		return false
	}
	for _, t := range root {
		switch {
		case t.Name == "event":
			continue
		case t.Mode == object.ModeDir:
			if id, ok := w.tree(t.Name); !ok || id != t.ID {
				return false
			}
		default:
			if id, ok := w.blob(t.Name); !ok || id != t.ID || t.Mode != object.ModeRegular {
				return false
			}
		}
		n++
	}
	return n == len(w.folders[""])+len(w.folders)-1
}

// tree is the id of a folder.
func (w wanted) tree(folder string) (object.ID, bool) {
	if id, ok := w.trees[folder]; ok {
		return id, true
	}
	files, ok := w.folders[folder]
	if !ok || folder == "" {
		return object.Zero, false
	}
	data := object.EncodeTree(files)
	h := sha1.New()
	fmt.Fprintf(h, "tree %d\x00", len(data))
	h.Write(data)
	id := object.ID(h.Sum(nil))
	w.trees[folder] = id
	*w.fresh = append(*w.fresh, id)
	return id, true
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
