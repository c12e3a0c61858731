package recovery

import (
	"context"
	"fmt"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/refusal"
)

// Finish ends the keep of a dead process, and nothing else. The caller is the only
// one who keeps anything in this worktree.
func (r *Recovery) Finish(ctx context.Context) error {
	intent, err := r.Repo.ReadIntent()
	if err != nil || intent == nil {
		return err
	}
	snap, err := r.Journal.Load(ctx)
	if err != nil {
		return err
	}
	return r.finish(ctx, intent, snap.State)
}

// finish ends a keep that its process did not.
func (r *Recovery) finish(ctx context.Context, intent *gitstate.Intent, s state.State) error {
	if intent == nil || intent.Journal != r.Journal.Ref() {
		return nil
	}
	k := s.Run.LastKeep
	if k == nil || k.EventID != intent.EventID {
		k = r.keptSince(ctx, intent)
	}
	if k != nil {
		if err := r.finishKeep(ctx, *k); err != nil {
			return err
		}
	}
	return r.Repo.ClearIntent()
}

// keptSince is a keep whose process died and that is not the newest any more: other workers or
// machines have kept work on top of it. nil = it is not in the journal, or not in the branch.
func (r *Recovery) keptSince(ctx context.Context, intent *gitstate.Intent) *state.Kept {
	if intent.Iteration == 0 {
		return nil
	}
	e, err := r.Journal.Find(ctx, intent.Iteration, intent.EventID)
	if err != nil || e.Event.Result == nil || e.Event.Result.Commit != intent.Commit {
		return nil
	}
	commit, err := object.ParseID(intent.Commit)
	if err != nil {
		return nil
	}
	at, err := r.Repo.ReadRef(ctx, gitstate.BranchRef(r.Journal.Branch))
	if err != nil || at.IsZero() {
		return nil
	}
	if in, err := r.Repo.IsAncestor(ctx, commit, at); err != nil || !in {
		return nil
	}
	return &state.Kept{EventID: intent.EventID, Iteration: intent.Iteration, Parent: intent.Parent, Commit: intent.Commit}
}

// finishKeep does the remaining steps of a keep whose process died after the
// journal had moved.
func (r *Recovery) finishKeep(ctx context.Context, k state.Kept) error {
	parent := object.Zero
	var err error
	if k.Parent != "" {
		if parent, err = object.ParseID(k.Parent); err != nil {
			return err
		}
	}
	commit, err := object.ParseID(k.Commit)
	if err != nil {
		return err
	}
	ref := gitstate.BranchRef(r.Journal.Branch)
	at, err := r.Repo.ReadRef(ctx, ref)
	if err != nil {
		return err
	}
	if at == parent {
		if err := r.Repo.UpdateRefs("ralph: finish a keep after a crash",
			gitstate.RefUpdate{Name: ref, Old: parent, New: commit}); err != nil {
			return fmt.Errorf("finish the keep: %w", err)
		}
		at = commit
	}
	beyond := false // the branch may be gone
	if !at.IsZero() {
		if beyond, err = r.Repo.IsAncestor(ctx, commit, at); err != nil {
			return err
		}
	}
	if !beyond {
		return r.diverged(ctx, k)
	}
	head, _, err := r.Repo.Head(ctx)
	if err == nil && head == r.Journal.Branch {
		if k.Rewind || k.Brought {
			if err := MoveFiles(ctx, r.Engine, parent, commit, r.Log); err != nil {
				return fmt.Errorf("write the files of %s: %w", k.Commit[:12], err)
			}
		}
		if err := r.repairIndex(ctx, parent, commit); err != nil {
			return fmt.Errorf("finish the keep: %w", err)
		}
	}
	r.fail("recover:index")
	if k.Rewind {
		// A revert carries no handoff.
	} else if e, err := r.Journal.Find(ctx, k.Iteration, k.EventID); err == nil && e.Event.Result != nil &&
		e.Event.Result.Commit == k.Commit {
		if err := WriteNote(r.Repo, commit, state.Note(e.Event)); err != nil {
			r.Log("the note on %s could not be written: %v", k.Commit[:10], err)
		}
	}
	r.fail("recover:note")
	if k.Reset {
		r.Log("finished removing the specs, which a crash had cut short")
	} else if k.Brought {
		r.Log("finished landing %s, which a crash had cut short", k.Commit[:12])
	} else if k.Rewind {
		r.Log("finished going back to iteration %d, which a crash had cut short", k.Iteration)
	} else {
		r.Log("finished keeping iteration %d, which a crash had cut short", k.Iteration)
	}
	return nil
}

// repairIndex sets the paths of a kept commit whose index entry is still the old
// one and whose file is the new one.
func (r *Recovery) repairIndex(ctx context.Context, parent, commit object.ID) error {
	lock, err := r.Repo.LockIndex(10 * time.Second)
	if err != nil {
		return err
	}
	defer lock.Release()
	set, err := r.Engine.RepairIndex(ctx, lock.File(), parent, commit)
	if err != nil || len(set) == 0 {
		return err
	}
	return lock.Commit()
}

func (r *Recovery) diverged(ctx context.Context, k state.Kept) error {
	_, err := r.Journal.Record(ctx, state.Event{Type: state.EvHalt,
		Halt: &state.Halt{Status: state.NeedsReview, Reason: "diverged",
			Detail: fmt.Sprintf("kept commit %s, evidence %s", k.Commit, k.Evidence)}})
	if err == nil {
		err = r.Repo.ClearIntent()
	}
	if err != nil {
		return err
	}
	return refusal.New(refusal.Diverged, "the branch is neither before nor after the kept commit %s",
		k.Commit).About(k.Commit, k.Evidence)
}
