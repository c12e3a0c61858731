package journal

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// clone is a second machine: a clone of r with its journal.
func clone(t *testing.T, r *repo.Repo) *repo.Repo {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	if out, err := exec.Command("git", "clone", "-q", r.Dir, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := &repo.Repo{T: t, Dir: dir, Env: r.Env}
	c.Git("config", "user.name", "Sam")
	c.Git("config", "user.email", "sam@example.com")
	return c
}

func addTask(t *testing.T, j *Journal, title string) {
	t.Helper()
	if _, err := j.Append(context.Background(), func(s state.State) (state.Event, error) {
		task := plan.Task{ID: plan.NextID(s.Plan), Title: title, Status: plan.Pending, Priority: 1}
		return state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "add", Upsert: []plan.Task{task}}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// fetched brings the journal's objects of one repository to another.
func fetched(t *testing.T, to, from *repo.Repo) object.ID {
	t.Helper()
	to.Git("fetch", "-q", "--no-write-fetch-head", from.Dir, "refs/ralph/heads/main")
	id, err := object.ParseID(from.Git("rev-parse", "refs/ralph/heads/main"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestJoin: a clone takes the journal over, follows it, and joins the new entries
// of both. Both machines make the same entry of the same tips.
func TestJoin(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	ann := open(t, r)
	begin(t, ann)
	addTask(t, ann, "one")
	c := clone(t, r)
	bob := open(t, c)
	join := func(j *Journal, theirs object.ID, want Joined) *Snapshot {
		t.Helper()
		how, snap, err := j.Join(ctx, theirs)
		if err != nil || how != want {
			t.Fatalf("joined as %d, want %d: %v", how, want, err)
		}
		return snap
	}
	join(bob, fetched(t, c, r), Forward)
	join(bob, fetched(t, c, r), Same)
	addTask(t, bob, "by bob")
	join(bob, fetched(t, c, r), Ahead)
	addTask(t, ann, "by ann")
	atAnn, atBob := fetched(t, c, r), fetched(t, r, c)
	here := join(bob, atAnn, Merged)
	if got := c.Git("log", "--format=%P", "-1", "refs/ralph/heads/main"); got != atAnn.String()+" "+atBob.String() {
		t.Errorf("the parents are %s", got)
	}
	var titles []string
	for _, x := range here.State.Plan.Tasks {
		titles = append(titles, string(x.ID)+" "+x.Title)
	}
	if got := strings.Join(titles, ", "); got != "T-001 one, T-002 by ann, T-003 by bob" {
		t.Errorf("the plan is %s", got)
	}
	// The same two tips on the other machine.
	other := &Journal{Repo: ann.Repo, Branch: "main", Actor: ann.Actor, Now: ann.Now, Deadline: ann.Deadline}
	r.Git("update-ref", "refs/ralph/heads/main", atBob.String())
	there, err := other.merge(ctx, snapshot(t, other, atAnn), snapshot(t, other, atBob))
	if err != nil || there.Tip != here.Tip {
		t.Errorf("the other machine makes %s of them, this one %s: %v", there.Tip, here.Tip, err)
	}
	r.Git("update-ref", "refs/ralph/heads/main", atAnn.String())
	join(ann, fetched(t, r, c), Forward)
	for _, j := range []*Journal{ann, bob} {
		if c, err := j.Check(ctx, nil); err != nil || len(c.Faults) > 0 {
			t.Errorf("fsck: %v %v", c.Faults, err)
		}
		if fresh, err := openAgain(t, j).Load(ctx); err != nil || len(fresh.State.Plan.Tasks) != 3 {
			t.Errorf("read again: %v", err)
		}
	}
	var walked []string
	if err := bob.WalkBrief(ctx, func(e Entry) (bool, error) {
		walked = append(walked, string(e.Event.Type))
		return true, nil
	}); err != nil || strings.Join(walked, " ") != "merge plan plan plan init" {
		t.Errorf("the walk goes %v: %v", walked, err)
	}
	// Entries can follow a merge, and it can be joined like any other entry.
	addTask(t, ann, "more by ann")
	addTask(t, bob, "more by bob")
	join(bob, fetched(t, c, r), Merged)
	if c, err := bob.Check(ctx, nil); err != nil || len(c.Faults) > 0 {
		t.Errorf("fsck: %v %v", c.Faults, err)
	}

	r2 := repo.New(t, nil)
	begin(t, open(t, r2))
	var apart *ApartError
	if _, _, err := ann.Join(ctx, fetched(t, r, r2)); !errors.As(err, &apart) {
		t.Errorf("journals that were begun apart: %v", err)
	}
	if _, _, err := ann.Join(ctx, commitOf(t, r)); err == nil {
		t.Error("a commit that is no entry was joined")
	}
}

func snapshot(t *testing.T, j *Journal, at object.ID) *Snapshot {
	t.Helper()
	s, err := j.At(at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openAgain(t *testing.T, j *Journal) *Journal {
	t.Helper()
	again, err := Open(context.Background(), j.Repo, j.Branch)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func commitOf(t *testing.T, r *repo.Repo) object.ID {
	t.Helper()
	id, err := object.ParseID(r.Git("rev-parse", gitstate.BranchRef("main")))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestRecordedCommandsAfterAMerge: the commands of the line that was fetched are in
// question, although the newest entry that was looked at is on the other line.
func TestRecordedCommandsAfterAMerge(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	ann := open(t, r)
	begin(t, ann)
	c := clone(t, r)
	bob := open(t, c)
	if _, _, err := bob.Join(ctx, fetched(t, c, r)); err != nil {
		t.Fatal(err)
	}
	ran := func(j *Journal, command string) {
		t.Helper()
		e := state.Event{Type: state.EvIteration, Phase: state.Building, Iteration: 1, Result: &state.Result{
			Verdict: state.Reject, Outcome: "completed", Checks: []state.CheckRun{{Name: "test", Command: command}}}}
		if _, err := j.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	ran(ann, "of ann")
	ran(bob, "of bob")
	want := func(why, commands string) {
		t.Helper()
		list, err := bob.RecordedCommands(ctx)
		var got []string
		for _, c := range list {
			got = append(got, c.Text)
		}
		if err != nil || strings.Join(got, ", ") != commands {
			t.Errorf("%s: %q, %v; want %q", why, got, err, commands)
		}
	}
	want("nothing was looked at", "of bob")
	if err := bob.Looked(ctx); err != nil {
		t.Fatal(err)
	}
	want("all was looked at", "")
	if how, _, err := bob.Join(ctx, fetched(t, c, r)); err != nil || how != Merged {
		t.Fatalf("joined as %d: %v", how, err)
	}
	want("what came with the other line", "of ann")
	if err := bob.Looked(ctx); err != nil {
		t.Fatal(err)
	}
	want("that was looked at too", "")
}
