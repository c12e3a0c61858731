package recovery

import (
	"context"
	"errors"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/notes"
)

// WriteNote sets the note of one commit by compare-and-swap.
func WriteNote(repo *gitstate.Repo, commit object.ID, text string) error {
	return WriteNotes(repo, map[object.ID]string{commit: text})
}

// WriteNotes sets the notes of several commits in one commit on the notes ref.
func WriteNotes(repo *gitstate.Repo, texts map[object.ID]string) error {
	ctx := context.Background()
	deadline := time.Now().Add(10 * time.Second)
	for {
		old, err := repo.ReadRef(ctx, gitstate.NotesRef)
		if err != nil {
			return err
		}
		next, err := notesCommit(repo, old, texts)
		if err != nil || next == old {
			return err
		}
		err = repo.UpdateRefs("", gitstate.RefUpdate{Name: gitstate.NotesRef, Old: old, New: next})
		if err == nil || !errors.Is(err, gitstate.ErrRefMoved) && !errors.Is(err, gitstate.ErrRefLocked) ||
			time.Now().After(deadline) {
			return err
		}
		time.Sleep(gitstate.Jitter())
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
	c, err := repo.Store.WriteCommit(object.CommitData{Tree: id, Parents: parents, Author: sig, Committer: sig,
		Message: "Notes added by git ralph\n"})
	if err != nil {
		return object.Zero, err
	}
	return c, repo.Store.Sync()
}
