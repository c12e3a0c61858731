package recovery

import (
	"regexp"
	"testing"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
)

// TestRedactSparesTheLogs: what only the log of a person's ref leads to, such as an older
// stash, stays whole; what nothing else leads to goes.
func TestRedactSparesTheLogs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r, open, _ := withJournal(t)
	r.Git("config", "maintenance.auto", "false")
	r.Write("stashed", "secret-1\n")
	r.Write("lost", "secret-2\n")
	r.Git("add", "stashed")
	r.Git("stash", "-q")
	r.Write("README", "newer\n")
	r.Git("stash", "-q")
	r.Write("reset", "secret-3\n")
	r.Git("add", "reset")
	r.Git("commit", "-q", "-m", "given up")
	r.Git("reset", "-q", "--hard", "HEAD~")
	edits := map[string]*object.TreeEntry{}
	for name, text := range map[string]string{"stashed": "secret-1\n", "lost": "secret-2\n", "reset": "secret-3\n"} {
		id, err := open.Store.Write(object.Blob, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		edits["worktree/"+name] = &object.TreeEntry{Mode: object.ModeRegular, ID: id}
	}
	tree, err := open.EditTree(object.EmptyTree, edits)
	if err != nil {
		t.Fatal(err)
	}
	us := object.Ours(time.Now())
	at, err := open.Store.WriteCommit(object.CommitData{Tree: tree, Author: us, Committer: us, Message: "evidence\n"})
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Store.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := open.UpdateRefs("", gitstate.RefUpdate{Name: gitstate.EvidenceRef("j", "e"), New: at}); err != nil {
		t.Fatal(err)
	}
	red := Redactor{Repo: open, Pattern: regexp.MustCompile("secret-[0-9]"), Now: time.Now,
		Open: func(branch string) (*journal.Journal, error) { return journal.Open(ctx, open, branch) }}
	found, err := red.Find(ctx)
	if err != nil || len(found.Evidence) != 1 {
		t.Fatalf("%+v %v", found, err)
	}
	if err := red.Apply(ctx, &found); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"stashed": true, "reset": true, "lost": false} {
		if got := open.Store.Has(edits["worktree/"+name].ID); got != want {
			t.Errorf("what was in %s is there: %v", name, got)
		}
	}
	r.Git("fsck", "--strict")
	r.Git("gc", "-q")
}
