package recovery

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
)

// TestRecoveryAfterAMove: a folder that was moved since the crash is restored like any
// other; the checkpoint is the only copy of a person's untracked file.
func TestRecoveryAfterAMove(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	if err := os.Mkdir(filepath.Join(elsewhere, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why, was, head, want string
	}{
		{"it was moved", filepath.Join(elsewhere, "gone"), "refs/heads/main", "mine\n"},
		{"another worktree's, which is still there", elsewhere, "refs/heads/main", "the agent's\n"},
		{"a removed worker's", filepath.Join(elsewhere, "gone"), "refs/heads/ralph/worker-1", "the agent's\n"},
	} {
		t.Run(row.why, func(t *testing.T) {
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
			engine, err := worktree.New(worktree.Repo{Root: open.Root, GitDir: open.GitDir, CommonDir: open.CommonDir,
				Git: open.Git, Store: open.Store}, worktree.Options{Aside: filepath.Join(open.Dir(), "aside")})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			r.Write("notes.txt", "mine\n")
			place := Place{Repo: open, Engine: engine, Log: t.Logf, Now: time.Now}
			rec := &Record{Place: place, Journal: "j", Event: "it", Number: 1}
			if rec.Before, err = engine.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
			if err := rec.Hold(ctx, rec.Before.Tip, time.Now()); err != nil {
				t.Fatal(err)
			}
			start := &state.Start{IterationID: "it", Branch: "main", Tip: object.Hex(rec.Before.Tip), HeadRef: row.head,
				Worktree: row.was, PID: 1 << 22, BootID: "another"}
			for _, e := range []state.Event{
				{Type: state.EvInit, Init: &state.Init{JournalID: "j", Branch: "main"}},
				{Type: state.EvStart, Phase: state.Building, Iteration: 1, Start: start},
			} {
				if _, err := j.Record(ctx, e); err != nil {
					t.Fatal(err)
				}
			}
			r.Write("notes.txt", "the agent's\n")
			if err := (&Recovery{Place: place, Journal: j}).Run(ctx); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(r.Dir, "notes.txt"))
			if err != nil || string(got) != row.want {
				t.Errorf("the file is %q, %v", got, err)
			}
			evidence, err := open.EvidenceOf(ctx, "j", "it", "")
			if err != nil || evidence.IsZero() == (row.want == "mine\n") {
				t.Errorf("the evidence is %s, %v", evidence, err)
			}
		})
	}
}
