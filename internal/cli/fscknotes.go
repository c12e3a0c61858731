package cli

import (
	"context"
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/notes"
)

// ending is what the end of an iteration says about refs and notes.
type ending struct {
	entry             object.ID
	event             string
	iteration         int
	evidence, commit  string
	landed, untouched bool
	note              object.ID // the blob that its note should be
}

func newEnding(e journal.Entry) ending {
	r := e.Event.Result
	out := ending{entry: e.ID, event: e.Event.ID, iteration: e.Event.Iteration, evidence: r.Evidence,
		commit: r.Commit, landed: r.Landed, untouched: r.Untouched}
	if r.Commit != "" && r.Landed {
		out.note = object.Sum(object.Blob, []byte(state.Note(e.Event)))
	}
	return out
}

// end handles the end of an iteration. Its note is checked, and the end is kept
// only if a ref asks for it later: a long history has many more ends than refs.
func (c *checkup) end(e ending) {
	if _, named := c.ends[e.event]; named {
		c.ends[e.event] = e
	}
	c.notes.add(e)
}

// listRefs lists our refs and prepares the ends of the iterations that they name.
// It runs before the journal is read. So each iteration has its entry or is in
// work, and refs that a running loop makes later are ignored.
func (c *checkup) listRefs(ctx context.Context) error {
	_, c.alive = c.a.reader().Holder(c.a.Ctx, c.j.Branch)
	var err error
	if c.all, err = c.j.Repo.ListRefs(ctx, "refs/ralph/"); err != nil {
		return err
	}
	for name := range c.all {
		for _, prefix := range []string{gitstate.EvidencePrefix, gitstate.LocalPrefix} {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				_, event, _ := strings.Cut(rest, "/")
				event, _, _ = strings.Cut(event, ".")
				c.ends[event] = ending{}
			}
		}
	}
	snap, err := c.j.Load(ctx)
	if err != nil {
		return nil // what is wrong with the newest entry is said by others
	}
	c.id = snap.State.Journal.ID
	if c.forks, err = c.a.forkEvents(c.j, c.id); err != nil && !c.torn {
		return err
	}
	c.atWork = map[string]bool{}
	for _, cur := range snap.State.InWork() {
		c.atWork[cur.EventID] = true
	}
	return nil
}

// openNotes prepares the comparison of the notes. Its findings are reported after
// those about the journal and the refs.
func (c *checkup) openNotes(ctx context.Context) error {
	before := c.doc.Faults
	c.doc.Faults = nil
	book, err := c.book(ctx)
	c.found, c.doc.Faults = c.doc.Faults, before
	if err == nil && book != nil {
		c.notes = &noteCheck{store: c.j.Repo.Store, book: book}
	}
	return err
}

// noteCheck compares the notes of kept commits with what their entries make of
// them, many at once.
type noteCheck struct {
	store   *object.Store
	book    *notes.NotesTree
	commits []object.ID // that wait to be looked at
	ends    []ending
	sound   int // commits with a note
	wrong   []wrongNote
	err     error
}

// wrongNote is a note that is missing or differs.
type wrongNote struct {
	ending
	commit object.ID
	there  bool
}

func (n *noteCheck) add(e ending) {
	commit, err := object.ParseID(e.commit)
	if n == nil || err != nil || !e.landed {
		return
	}
	n.commits, n.ends = append(n.commits, commit), append(n.ends, e)
	if len(n.commits) == 512 {
		n.look()
	}
}

// look compares those that wait.
func (n *noteCheck) look() {
	if n == nil || n.err != nil {
		return
	}
	there := n.store.HasMany(n.commits)
	for i, commit := range n.commits {
		if !there[i] {
			continue // rewritten by a rebase and collected since
		}
		blob, ok, err := n.book.Get(commit)
		if err != nil {
			n.err = err
			return
		}
		if ok {
			n.sound++
		}
		if !ok || blob != n.ends[i].note {
			n.wrong = append(n.wrong, wrongNote{n.ends[i], commit, ok})
		}
	}
	n.commits, n.ends = n.commits[:0], n.ends[:0]
}

// ofNotes says what is wrong with the notes, and writes those again.
func (c *checkup) ofNotes(context.Context) error {
	c.doc.Faults = append(c.doc.Faults, c.found...)
	if c.notes == nil || c.notes.err != nil {
		return c.notes.failure()
	}
	c.doc.Notes = c.notes.sound
	first, texts := len(c.doc.Faults), map[object.ID]string{}
	for _, w := range c.notes.wrong {
		what := "has no note"
		if w.there {
			what = "has another note than its entry makes"
		}
		c.fault("notes", object.Zero, "git ralph fsck --repair writes it again", "commit %s of iteration %d %s",
			w.commit.String()[:12], w.iteration, what)
		if c.repair {
			whole, err := c.j.Read(w.entry)
			if err != nil {
				return err
			}
			texts[w.commit] = state.Note(endOf(whole.Event, w.event))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	if err := recovery.WriteNotes(c.j.Repo, texts); err != nil {
		return fmt.Errorf("write the notes: %w", err)
	}
	for i := range c.doc.Faults[first:] {
		c.doc.Faults[first+i].Repaired = true
	}
	return nil
}

// endOf is the end of an iteration in its entry, which may be a merge that joined it.
func endOf(e state.Event, id string) state.Event {
	if e.Merge != nil {
		for _, again := range e.Merge.Again {
			if again.ID == id {
				return again
			}
		}
	}
	return e
}

func (n *noteCheck) failure() error {
	if n == nil {
		return nil
	}
	return n.err
}
