package recovery

import (
	"context"
	"errors"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/notes"
)

// WriteNote sets the note of one commit.
func WriteNote(repo *gitstate.Repo, commit object.ID, text string) error {
	return WriteNotes(repo, map[object.ID]string{commit: text})
}

// NotesDraft is a commit with notes of several commits, for the notes ref as it is now.
type NotesDraft struct {
	repo      *gitstate.Repo
	texts     map[object.ID]string
	old, next object.ID
	err       error
}

// DraftNotes makes the commit. Nothing leads to it yet.
func DraftNotes(repo *gitstate.Repo, texts map[object.ID]string) *NotesDraft {
	d := &NotesDraft{repo: repo, texts: texts}
	if d.old, d.err = repo.ReadRef(context.Background(), gitstate.NotesRef); d.err == nil {
		d.next, d.err = notesCommit(repo, d.old, texts)
	}
	return d
}

// WriteNotes sets the notes of several commits in one commit on the notes ref.
func WriteNotes(repo *gitstate.Repo, texts map[object.ID]string) error {
	return DraftNotes(repo, texts).Write()
}

// Write moves the notes ref by compare-and-swap. When it has moved since the draft, the
// commit is made again.
func (d *NotesDraft) Write() error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		if d.err != nil || d.next == d.old {
			return d.err
		}
		err := d.repo.Store.Sync()
		if err == nil {
			err = d.repo.Store.EnsureAll() // a prune since the draft
		}
		if err != nil {
			return err
		}
		err = d.repo.UpdateRefs("", gitstate.RefUpdate{Name: gitstate.NotesRef, Old: d.old, New: d.next})
		if err == nil || !errors.Is(err, gitstate.ErrRefMoved) && !errors.Is(err, gitstate.ErrRefLocked) ||
			time.Now().After(deadline) {
			return err
		}
		time.Sleep(gitstate.Jitter())
		d = DraftNotes(d.repo, d.texts)
	}
}

func notesCommit(repo *gitstate.Repo, old object.ID, texts map[object.ID]string) (object.ID, error) {
	var parents []object.ID
	base := object.Zero
	if !old.IsZero() {
		c, err := repo.Store.Records().ReadCommit(old)
		if err != nil {
			return object.Zero, err
		}
		parents, base = []object.ID{old}, c.Tree
	}
	tree, err := notes.OpenNotes(repo.Store.Records(), base)
	if err != nil {
		return object.Zero, err
	}
	for commit, text := range texts {
		blob, err := repo.Store.Write(object.Blob, []byte(text))
		if err != nil {
			return object.Zero, err
		}
		if err := tree.Set(commit, blob); err != nil {
			return object.Zero, err
		}
	}
	id, err := tree.Write()
	if err != nil || id == base {
		return old, err
	}
	sig := object.Ours(time.Now())
	return repo.Store.WriteCommit(object.CommitData{Tree: id, Parents: parents, Author: sig, Committer: sig,
		Message: "Notes added by git ralph\n"})
}
