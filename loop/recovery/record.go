// Package recovery owns what lets an iteration be undone and survive the death of its
// process: its record (checkpoint, evidence, what restores found), the end of iterations
// whose process died, and rewinding, following, pruning and redacting by that record. It
// stores the checkpoint under refs/ralph/local, evidence as one commit an iteration, and the
// notes of kept commits.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
	"git-ralph/notes"
)

// Place is where iterations are recorded and restored. Fail may be nil.
type Place struct {
	Repo   *gitstate.Repo
	Engine *worktree.Engine
	Log    func(format string, args ...any)
	Now    func() time.Time
	Fail   func(step string) // told where a write stands; tests end the process there
}

func (p Place) fail(step string) {
	if p.Fail != nil {
		p.Fail(step)
	}
}

// Record is what has to outlive an iteration, whatever becomes of it: its checkpoint,
// the evidence as it is gathered, and what restores took out of the worktree.
type Record struct {
	Place
	Journal string // its id
	Event   string // id of the iteration's event, evidence and checkpoint
	Number  int
	Before  *worktree.Checkpoint

	Anchor     object.ID // the commit on the checkpoint's ref; it holds what restores found until the evidence is written
	FoundIndex object.ID // index entries that were put back, as a tree
	evidence   evidenceFiles
	found      []worktree.Saved // what restores took out of the worktree and stored
	spoiled    []worktree.Saved // large ignored files that changed, as they were
	first      object.ID        // tree of the first of two tries, Zero = there was one
	more       bool             // some of it is in no evidence that was written before
	back       []string         // what restores changed back and kept
	own        []string         // files of the user that restores put back
}

// evidenceFiles are the files of an evidence commit besides worktree/.
type evidenceFiles map[string][]byte

// Add puts a file into the evidence.
func (r *Record) Add(path string, data []byte) {
	if r.evidence == nil {
		r.evidence = evidenceFiles{}
	}
	if data == nil {
		data = []byte{}
	}
	r.evidence[path] = data
}

// AddOutputs adds the whole outputs of checks and steps.
func (r *Record) AddOutputs(outputs map[string][]byte) {
	for name, output := range outputs {
		r.Add("checks/"+name, output)
	}
}

// Trial is a copy that gathers evidence of its own.
func (r *Record) Trial() *Record {
	c := *r
	c.evidence = maps.Clone(r.evidence)
	return &c
}

// TakeFound takes over what restores of a trial found, and leaves its evidence.
func (r *Record) TakeFound(trial *Record) {
	files := r.evidence
	*r = *trial
	r.evidence = files
}

// EvidenceRef is the ref of the iteration's evidence.
func (r *Record) EvidenceRef() string { return gitstate.EvidenceRef(r.Journal, r.Event) }

func (r *Record) localRef() string { return gitstate.LocalRef(r.Journal, r.Event) }

// Hold stores the checkpoint under its ref, so that a restart can restore what the
// agent has not yet touched at this moment.
func (r *Record) Hold(ctx context.Context, tip object.ID, started time.Time) error {
	tree, err := r.Before.Store(ctx)
	if err != nil {
		return fmt.Errorf("store the checkpoint: %w", err)
	}
	var parents []object.ID
	if !tip.IsZero() {
		parents = []object.ID{tip}
	}
	sig := object.Ours(started)
	commit, err := r.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents, Author: sig, Committer: sig,
		Message: fmt.Sprintf("checkpoint before iteration %d\n", r.Number)})
	if err == nil {
		err = r.Repo.Store.Sync()
	}
	if err != nil {
		return fmt.Errorf("store the checkpoint: %w", err)
	}
	r.fail("checkpoint:objects")
	r.Anchor = commit
	if err := r.Repo.MoveRef(r.localRef(), commit); err != nil {
		return fmt.Errorf("anchor the checkpoint: %w", err)
	}
	r.fail("checkpoint:ref")
	return nil
}

// Drop lets the checkpoint go.
func (r *Record) Drop() {
	if err := r.Repo.UpdateRefs("", gitstate.RefUpdate{Name: r.localRef(), Old: r.Anchor}); err != nil &&
		!errors.Is(err, gitstate.ErrRefMoved) {
		r.Log("the ref of the checkpoint could not be removed: %v", err)
	}
	r.fail("checkpoint:dropped")
}

// Write makes the evidence commit of an iteration: what the worktree was, the
// prompt, the transcript, the outputs of the checks. Parents are where it started
// and, when kept, the code commit. Nothing leads to it yet.
func (r *Record) Write(tip, attempt, commit object.ID) (object.ID, error) {
	edits := map[string]*object.TreeEntry{"worktree": {Mode: object.ModeDir, ID: attempt}}
	if attempt == object.EmptyTree || attempt.IsZero() {
		delete(edits, "worktree")
	}
	if !r.FoundIndex.IsZero() && r.FoundIndex != object.EmptyTree {
		edits["index"] = &object.TreeEntry{Mode: object.ModeDir, ID: r.FoundIndex}
	}
	found, err := r.foundEdits()
	if err != nil {
		return object.Zero, err
	}
	maps.Copy(edits, found)
	maps.Copy(edits, r.tryEdits())
	for path, data := range r.evidence {
		// Evidence may be shared, and nobody reads ten megabytes for a password.
		if len(data) > 1<<20 {
			// The buffers that a large recording has outgrown are as big as the
			// copies made now.
			runtime.GC()
		}
		text := notes.Redact(string(data))
		id, err := r.Repo.Store.WriteFrom(object.Blob, int64(len(text)), strings.NewReader(text))
		if err != nil {
			return object.Zero, err
		}
		edits[path] = &object.TreeEntry{Mode: object.ModeRegular, ID: id}
	}
	tree, err := r.Repo.EditRecord(object.EmptyTree, edits)
	if err != nil {
		return object.Zero, err
	}
	if tree == object.EmptyTree {
		if _, err := r.Repo.Store.Write(object.Tree, nil); err != nil {
			return object.Zero, err
		}
	}
	var parents []object.ID
	if !tip.IsZero() {
		parents = append(parents, tip)
	}
	if !commit.IsZero() {
		parents = append(parents, commit)
	}
	sig := object.Ours(r.Now())
	return r.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents, Author: sig, Committer: sig,
		Message: fmt.Sprintf("evidence of iteration %d\n\nRalph-Event-Id: %s\n", r.Number, r.Event)})
}

// Store makes the evidence of an attempt that is on no branch reachable.
func (r *Record) Store(tip, tree object.ID) (object.ID, error) {
	// The evidence of a keep that did not land can be used again.
	if first, err := r.stored(); err == nil && !first.IsZero() && !r.more {
		if held, err := r.worktreeOf(first); err == nil && held == tree {
			return first, nil
		}
	}
	evidence, err := r.Write(tip, tree, object.Zero)
	if err == nil {
		err = r.Repo.Store.Sync()
	}
	if err == nil {
		r.fail("reject:objects")
		_, err = r.Repo.Anchor(r.EvidenceRef(), evidence)
	}
	if err != nil {
		return evidence, fmt.Errorf("store the attempt as evidence: %w", err)
	}
	r.fail("reject:evidence")
	return evidence, nil
}

// stored is the evidence that the iteration has already, Zero = none.
func (r *Record) stored() (object.ID, error) {
	return r.Repo.EvidenceOf(context.Background(), r.Journal, r.Event, "")
}

// worktreeOf is the tree of the worktree that an evidence commit holds.
func (r *Record) worktreeOf(evidence object.ID) (object.ID, error) {
	tree, err := r.Repo.TreeOf(evidence)
	if err != nil {
		return object.Zero, err
	}
	held, ok, err := r.Repo.Lookup(tree, "worktree")
	if !ok {
		held.ID = object.EmptyTree
	}
	return held.ID, err
}

// Restore makes the evidence reachable by store, with everything in it that the
// restore will take out of the worktree, and restores the checkpoint.
func (r *Record) Restore(after *worktree.Capture, store func() (object.ID, error)) (evidence object.ID,
	notices []string, err error) {
	report, err := r.Engine.Restore(context.Background(), r.Before, r.keeper(after, func() (serr error) {
		evidence, serr = store()
		return serr
	}))
	return evidence, r.tellRestored(report), err
}

// firstTry is the folder of evidence that holds the first of two tries.
const firstTry = "tries/1/"

// KeepFirst puts what the first try left beside that of the second, and makes it
// reachable.
func (r *Record) KeepFirst(tree object.ID) error {
	for path, data := range r.evidence {
		if !strings.HasPrefix(path, "agents/") && path != "system.md" {
			delete(r.evidence, path)
			r.evidence[firstTry+path] = data
		}
	}
	r.first = tree
	return r.anchorFound()
}

// tryEdits is the entry of a tree for the first try's files.
func (r *Record) tryEdits() map[string]*object.TreeEntry {
	if r.first.IsZero() || r.first == object.EmptyTree {
		return nil
	}
	return map[string]*object.TreeEntry{firstTry + "worktree": {Mode: object.ModeDir, ID: r.first}}
}

// Noted adds lines that are new to a list for people, which is bounded.
func Noted(list []string, lines ...string) []string {
	for _, text := range lines {
		if !slices.Contains(list, text) && len(list) < 200 {
			list = append(list, text)
		}
	}
	return list
}
