package journal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

func open(t testing.TB, r *repo.Repo) *Journal {
	t.Helper()
	g, err := gitstate.Open(context.Background(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := Open(context.Background(), g, "main")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func begin(t testing.TB, j *Journal) {
	t.Helper()
	_, err := j.Record(context.Background(),
		state.Event{Type: state.EvInit, Init: &state.Init{JournalID: gitstate.NewID(j.Now()), Branch: "main"}})
	if err != nil {
		t.Fatal(err)
	}
}

func inject(text string) state.Event {
	return state.Event{Type: state.EvOperator, Operator: &state.Operator{Command: "set", Key: "k", Value: text}}
}

// TestNoEventIsLost has eight writers append beside git's own housekeeping. Each
// has its own handle, like a separate process. Every acknowledged event must be in
// history once, and no reader may ever see less than a whole state.
func TestNoEventIsLost(t *testing.T) {
	r := repo.New(t, nil)
	begin(t, open(t, r))
	const writers = 8
	each := long.Number(t, 4, 25)
	var wg, others sync.WaitGroup
	stop := make(chan struct{})
	loop := func(args ...string) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c := exec.Command("git", args...)
				c.Dir, c.Env = r.Dir, r.Env
				c.Run()
			}
		})
	}
	loop("pack-refs", "--all", "--prune")
	loop("gc", "--quiet", "--prune=2.weeks.ago")
	others.Go(func() {
		g := open(t, r)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := g.Load(context.Background()); err != nil {
				t.Errorf("a reader saw: %v", err)
				return
			}
		}
	})
	acked := make([][]string, writers)
	for w := range writers {
		j := open(t, r)
		wg.Go(func() {
			for n := range each {
				e := inject(fmt.Sprintf("%d-%d", w, n))
				j.Stamp(&e)
				if _, err := j.Record(context.Background(), e); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				acked[w] = append(acked[w], e.ID)
			}
		})
	}
	wg.Wait()
	close(stop)
	others.Wait()
	seen := map[string]int{}
	j := open(t, r)
	if err := j.Walk(context.Background(),
		func(e Entry) (bool, error) { seen[e.Event.ID]++; return true, nil }); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, ids := range acked {
		for _, id := range ids {
			total++
			if seen[id] != 1 {
				t.Errorf("event %s is in history %d times", id, seen[id])
			}
		}
	}
	if total != writers*each || len(seen) != total+1 {
		t.Errorf("%d acknowledged, %d in history", total, len(seen)-1)
	}
	c, err := j.Check(context.Background(), nil)
	if err != nil || len(c.Faults) > 0 || c.Entries != len(seen) || !c.Whole {
		t.Errorf("fsck: %+v %v, not %d entries", c, err, len(seen))
	}
	if out, err := r.Try("fsck", "--strict"); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

func TestEntryReadsWellWithPlainGit(t *testing.T) {
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	tk := plan.Task{ID: "T-003", Title: "add the login endpoint", Description: "first line\nsecond line\n",
		Status: plan.Pending, Priority: 1}
	if _, err := j.Record(context.Background(),
		state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "import", Upsert: []plan.Task{tk}}}); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("log", "-1", "--format=%s|%an|%cn",
		"ralph/heads/main"); got != "plan: import T-003 add the login endpoint|A U Thor|git-ralph" {
		t.Errorf("log says %q", got)
	}
	if got := r.Git("log", "--format=%(trailers:key=Ralph-Event,valueonly)", "-1",
		"ralph/heads/main"); strings.TrimSpace(got) != "plan" {
		t.Errorf("git sees the trailer %q", got)
	}
	if got := r.Git("log", "--format=%s", "ralph/heads/main", "--",
		"tasks/T-003.toml"); got != "plan: import T-003 add the login endpoint" {
		t.Errorf("the task's life is %q", got)
	}
	if got := r.Git("show", "ralph/heads/main:tasks/T-003.toml"); !strings.Contains(got, "second line\n") {
		t.Errorf("the task's text is not on lines of its own:\n%s", got)
	}
	if a, b := r.Git("rev-parse", "ralph/heads/main:tasks/T-003.toml"),
		r.Git("rev-parse", "ralph/heads/main:event/tasks/T-003.toml"); a != b {
		t.Errorf("state and payload do not share a blob: %s %s", a, b)
	}
	if got := r.Git("status", "--porcelain"); got != "" {
		t.Errorf("status is not clean: %s", got)
	}
}

func TestNewerFormatIsReadOnly(t *testing.T) {
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	tip, err := j.Tip(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	commit, _, err := j.Repo.WriteEntry(nil,
		gitstate.Draft{Files: map[string][]byte{"format": []byte("2\n")}, Message: "from the future\n"})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Repo.Store.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: tip, New: commit}); err != nil {
		t.Fatal(err)
	}
	fresh := open(t, r)
	if _, err := fresh.Record(context.Background(), inject("x")); err == nil || !strings.Contains(err.Error(), "format") {
		t.Errorf("a newer format was written to: %v", err)
	}
	if now, _ := fresh.Tip(context.Background()); now != commit {
		t.Errorf("the journal moved")
	}
}

func TestFsckNamesWhatIsWrong(t *testing.T) {
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	if _, err := j.Record(context.Background(), inject("one")); err != nil {
		t.Fatal(err)
	}
	snap, err := j.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e := inject("two")
	j.Stamp(&e)
	next, _ := state.Apply(snap.State, e)
	next.Plan.Goal = "smuggled in"
	files := state.Changes(snap.State, next)
	for p, d := range state.EncodeEvent(e) {
		files[p] = d
	}
	commit, _, err := j.Repo.WriteEntry([]object.ID{snap.Tip},
		gitstate.Draft{Files: files, Message: state.Message(e, next)})
	if err == nil {
		err = j.Repo.Store.Sync()
	}
	if err == nil {
		err = j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: snap.Tip, New: commit})
	}
	if err != nil {
		t.Fatal(err)
	}
	checked, err := open(t, r).Check(context.Background(), nil)
	faults := checked.Faults
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Problem, "plan.toml") {
		t.Errorf("fsck says %v, %v", faults, err)
	}
}

// TestOnlyForward: the holder of the branch neither accepts nor extends a journal that was
// moved back. Concurrent appends by it and by others do not mislead it.
func TestOnlyForward(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	j.OnlyForward()
	older := j.Newest()
	var wg sync.WaitGroup
	for _, who := range []*Journal{j, j, open(t, r)} {
		wg.Go(func() {
			for range 5 {
				if _, err := who.Record(ctx, inject("x")); err != nil {
					t.Error(err)
				}
				if _, err := j.Load(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	snap, err := j.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.Git("update-ref", j.Ref(), older.String())
	for range 2 { // the first attempt does not make the old tip the newest
		var back *UnreadableError
		if _, err := j.Record(ctx, inject("y")); !errors.As(err, &back) || back.Cause != Back || back.Entry != snap.Tip {
			t.Errorf("an append to a journal that was moved back: %v", err)
		}
	}
	if got, err := open(t, r).Load(ctx); err != nil || got.Tip != older {
		t.Errorf("a reader: %v, %v", got, err)
	}
}
