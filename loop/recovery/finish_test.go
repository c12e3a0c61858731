package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// withJournal is a repository with a journal in which nothing has happened.
func withJournal(t *testing.T) (*repo.Repo, *gitstate.Repo, *journal.Journal) {
	t.Helper()
	r := repo.New(t, nil)
	open, err := gitstate.Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { open.Close() })
	j, err := journal.Open(t.Context(), open, "main")
	if err != nil {
		t.Fatal(err)
	}
	begin := state.Event{Type: state.EvInit, Init: &state.Init{JournalID: "j", Branch: "main"}}
	if _, err := j.Record(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	return r, open, j
}

// deadKeep leaves what a process leaves that has died in the middle of a keep.
func deadKeep(t *testing.T, open *gitstate.Repo, i gitstate.Intent) {
	t.Helper()
	i.Identity, i.Branch = proc.Identity{Pid: 1 << 22, BootID: "another"}, gitstate.BranchRef("main")
	data, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(open.Dir(), "intent"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFinishWithoutTheBranch: a keep that was cut short, and whose branch a person has
// removed since, is for a person to decide about. It stops no command twice.
func TestFinishWithoutTheBranch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r, open, j := withJournal(t)
	parent := r.Git("rev-parse", "HEAD")
	commit := r.Git("commit-tree", "-p", "HEAD", "-m", "kept", "HEAD^{tree}")
	result := &state.Result{Verdict: state.Keep, Landed: true, Parent: parent, Commit: commit}
	kept := state.Event{ID: "it", Type: state.EvIteration, Phase: state.Building, Iteration: 1, Result: result}
	if _, err := j.Record(ctx, kept); err != nil {
		t.Fatal(err)
	}
	deadKeep(t, open, gitstate.Intent{EventID: "it", Journal: j.Ref(), Parent: parent, Commit: commit})
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

// TestFinishBelowOthers: a keep was cut short before its note, and another worker or machine has
// kept work on top of it since. It gets its note all the same.
func TestFinishBelowOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r, open, j := withJournal(t)
	var first [2]string // the parent and the commit of the first one
	for n := 1; n <= 2; n++ {
		parent := r.Git("rev-parse", "HEAD")
		commit := r.Git("commit-tree", "-p", parent, "-m", "kept", "HEAD^{tree}")
		r.Git("update-ref", "refs/heads/main", commit)
		if n == 1 {
			first = [2]string{parent, commit}
		}
		result := &state.Result{Verdict: state.Keep, Landed: true, Parent: parent, Commit: commit}
		e := state.Event{ID: fmt.Sprint("it", n), Type: state.EvIteration, Phase: state.Building, Iteration: n,
			Result: result}
		if _, err := j.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("checkout", "-q", "--detach")
	deadKeep(t, open, gitstate.Intent{EventID: "it1", Iteration: 1, Journal: j.Ref(), Parent: first[0], Commit: first[1]})
	rec := Recovery{Place: Place{Repo: open, Log: t.Logf, Now: time.Now}, Journal: j}
	if err := rec.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if note := r.Git("notes", "--ref=ralph", "show", first[1]); !strings.Contains(note, "Ralph-Duration-Ms") {
		t.Errorf("its note is %q", note)
	}
	if left, err := open.ReadIntent(); err != nil || left != nil {
		t.Errorf("the intent is still there: %+v, %v", left, err)
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
