package recovery

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/refusal"
)

// TestFinishWithoutTheBranch: a keep that was cut short, and whose branch a person has
// removed since, is for a person to decide about. It stops no command twice.
func TestFinishWithoutTheBranch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := repo.New(t, nil)
	open, err := gitstate.Open(ctx, r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	j, err := journal.Open(ctx, open, "main")
	if err != nil {
		t.Fatal(err)
	}
	parent := r.Git("rev-parse", "HEAD")
	commit := r.Git("commit-tree", "-p", "HEAD", "-m", "kept", "HEAD^{tree}")
	result := &state.Result{Verdict: state.Keep, Landed: true, Parent: parent, Commit: commit}
	for _, e := range []state.Event{
		{Type: state.EvInit, Init: &state.Init{JournalID: "j", Branch: "main"}},
		{ID: "it", Type: state.EvIteration, Phase: state.Building, Iteration: 1, Result: result},
	} {
		if _, err := j.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(gitstate.Intent{Identity: proc.Identity{Pid: 1 << 22, BootID: "another"}, EventID: "it",
		Journal: j.Ref(), Branch: gitstate.BranchRef("main"), Parent: parent, Commit: commit})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(open.Dir(), "intent"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := gitstate.RefUpdate{Name: gitstate.BranchRef("main"), Old: mustID(t, parent)}
	if err := open.UpdateRefs("", gone); err != nil {
		t.Fatal(err)
	}
	rec := Recovery{Place: Place{Repo: open, Log: t.Logf, Now: time.Now}, Journal: j}
	var refused *refusal.Error
	if err := rec.Run(ctx); !errors.As(err, &refused) || refused.Kind != refusal.Diverged {
		t.Errorf("the first command says %v", err)
	}
	if err := rec.Run(ctx); err != nil {
		t.Errorf("the second command says %v", err)
	}
	snap, err := j.Load(ctx)
	if err != nil || snap.State.Run.Status != state.NeedsReview || snap.State.Run.Reason != "diverged" {
		t.Errorf("the run is %s, %s: %v", snap.State.Run.Status, snap.State.Run.Reason, err)
	}
}

func mustID(t *testing.T, hash string) object.ID {
	t.Helper()
	id, err := object.ParseID(hash)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
