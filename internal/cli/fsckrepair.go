package cli

import (
	"context"
	"fmt"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/internal/view"
	"git-ralph/notes"
)

// tip checks the ref of the journal. With --repair an unreadable ref is moved
// aside, and a missing one is recreated at the newest entry.
func (c *checkup) tip(ctx context.Context) error {
	tip, err := c.j.Tip(ctx)
	if err == nil && !tip.IsZero() {
		return nil
	}
	if !c.repair {
		if err != nil {
			return gitstate.Hint(1, "git ralph fsck --repair moves it aside and goes back to the newest entry there is",
				"%v", err)
		}
		return c.a.noJournalHere(c.j)
	}
	find := c.j.Lost
	if err != nil {
		find = c.j.Elsewhere
	}
	id, from := find(ctx)
	if id.IsZero() && err == nil {
		return c.a.noJournalHere(c.j)
	}
	kept, merr := c.j.Repo.MoveRefAside(ctx, c.j.Ref(), id)
	if merr != nil {
		return merr
	}
	if id.IsZero() {
		return gitstate.Hint(1, "another clone may have the journal: git ralph pull",
			"%v; it was moved to %s, and no entry was found", err, kept)
	}
	what := "the ref of the journal is gone"
	if err != nil {
		what = err.Error()
	}
	c.fault("journal", id, "", "%s; it is now the newest entry that was found, in %s; what it was is %s", what, from,
		kept).Repaired = true
	return nil
}

// salvage names the newest entry that can be read when the tip cannot, so that
// nothing but what is damaged is given up.
func (c *checkup) salvage(ctx context.Context) error {
	tip, err := c.j.Tip(ctx)
	if err != nil {
		return err
	}
	if c.j.Whole(tip) {
		return nil
	}
	c.torn = true
	id, from := c.j.Salvage(ctx)
	if id.IsZero() {
		return nil
	}
	e, err := c.j.Read(id)
	if err != nil {
		return err
	}
	f := c.fault("journal", tip, fmt.Sprintf("git ralph fsck --repair, or "+
		"git update-ref %s %s %s goes back to it; what came after it is then only in the log of the ref", c.j.Ref(), id, tip),
		"the newest entry cannot be read; the newest one that can is %s, %s, found in %s", id.String()[:12],
		view.Subject(e), from)
	if c.repair {
		kept, err := c.j.Repo.MoveRefAside(ctx, c.j.Ref(), id)
		if err != nil {
			return err
		}
		f.Repaired, c.torn = true, false
		f.Problem += "; the journal continues from there, and " + kept + " has what it was"
	}
	return nil
}

// dropLocal handles the checkpoint of an ended iteration. If the worktree was
// left alone, the checkpoint is the only way back and stays.
func (c *checkup) dropLocal(name, event string, id object.ID) {
	end := c.ends[event]
	known := !end.entry.IsZero()
	if known && end.untouched {
		return
	}
	f := c.fault("refs", object.Zero, "git ralph fsck --repair drops it",
		"%s is the checkpoint of an iteration that is over", name)
	if c.repair && known {
		if err := c.j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: name, Old: id}); err != nil {
			f.Hint = err.Error()
			return
		}
		f.Repaired = true
	} else if !known {
		f.Hint = "git ralph start recovers it"
	}
}

// wrongEvidence deals with a ref that is not the evidence that its entry names.
func (c *checkup) wrongEvidence(ctx context.Context, name, named string) error {
	id, err := object.ParseID(named)
	there := err == nil && c.j.Repo.Store.Has(id)
	hint := "git ralph fsck --repair puts it back"
	if !there {
		hint = "another clone may have it: git ls-remote REMOTE " + name
	}
	f := c.fault("refs", object.Zero, hint, "%s is not the evidence that its entry names", name)
	if !c.repair || !there {
		return nil
	}
	kept, err := c.j.Repo.MoveRefAside(ctx, name, id)
	if err != nil {
		return err
	}
	f.Repaired = true
	f.Problem += "; it is again, and " + kept + " has what it was"
	return nil
}

// book opens the notes; nil when they cannot be read. With --repair broken ones
// are moved aside and all notes are written again.
func (c *checkup) book(ctx context.Context) (*notes.NotesTree, error) {
	store, tree := c.j.Repo.Store.Records(), object.Zero
	at, err := c.j.Repo.ReadRef(ctx, gitstate.NotesRef)
	if err == nil && !at.IsZero() {
		var commit object.CommitData
		if commit, err = store.ReadCommit(at); err == nil {
			tree = commit.Tree
		}
	}
	var book *notes.NotesTree
	if err == nil {
		book, err = notes.OpenNotes(store, tree)
	}
	if err == nil {
		return book, nil
	}
	f := c.fault("notes", object.Zero, "git ralph fsck --repair moves them aside and writes them again",
		"the notes cannot be read: %v", err)
	if !c.repair {
		return nil, nil
	}
	kept, err := c.j.Repo.MoveRefAside(ctx, gitstate.NotesRef, object.Zero)
	if err != nil {
		return nil, err
	}
	f.Repaired = true
	f.Problem += "; moved to " + kept
	return notes.OpenNotes(store, object.Zero)
}
