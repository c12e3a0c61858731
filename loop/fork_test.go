package loop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// TestFork: a new branch starts from the state after an iteration.
func TestFork(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, writes, plan.Task{ID: "A"}, plan.Task{ID: "B"})
	first := r.repo.Git("rev-parse", "HEAD")
	r.run(RunOptions{Build: true})
	for n, want := range []struct {
		commit string
		done   int
	}{{first, 0}, {r.repo.Git("rev-parse", "HEAD~1"), 1}, {r.repo.Git("rev-parse", "HEAD"), 2}} {
		p, err := recovery.FindFork(ctx, r.Journal, n)
		if err != nil || p.Commit.String() != want.commit {
			t.Fatalf("after %d: %v, %s", n, err, p.Commit)
		}
		to, err := journal.Open(ctx, r.Repo, "other"+string(rune('0'+n)))
		if err != nil {
			t.Fatal(err)
		}
		to.Now = r.now
		s, err := recovery.Fork(ctx, r.Journal, to, p)
		if err != nil || s.Plan.Counts().Done != want.done || s.Journal.Origins[0].Iteration != n {
			t.Errorf("after %d: %v, %+v", n, err, s.Plan.Counts())
		}
		var refused *refusal.Error
		if _, err := recovery.Fork(ctx, r.Journal, to, p); !errors.As(err, &refused) || refused.Kind != refusal.BranchThere {
			t.Errorf("once more: %v", err)
		}
	}
	var refused *refusal.Error
	if _, err := recovery.FindFork(ctx, r.Journal, 7); !errors.As(err, &refused) || refused.Kind != refusal.NoIteration {
		t.Errorf("an iteration that never was: %v", err)
	}
}

func (r *rig) rewinder() *recovery.Rewinder {
	return &recovery.Rewinder{Repo: r.Repo, Journal: r.Journal, Engine: r.Engine, Log: r.log}
}

// TestRewindAround: people's commits stay if they changed other lines.
func TestRewindAround(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		play  client
		after func(r *rig)
		kind  refusal.Kind
		says  string
	}{
		{"a commit of a person after the work", writes, func(r *rig) {
			r.write("mine.txt", "mine\n")
			r.repo.Git("add", "mine.txt")
			r.repo.Git("commit", "-qm", "mine")
		}, 0, ""},
		{"one that changed what the work had made", writes, func(r *rig) {
			r.write("B.txt", "mine\n")
			r.repo.Git("commit", "-qam", "mine")
		}, refusal.LinesChanged, "B.txt"},
		{"a file of a person in the way", writes, func(r *rig) { r.write("B.txt", "mine, not committed\n") },
			refusal.FilesInTheWay,
			"B.txt"},
		{"both tasks in one commit", writes, func(r *rig) {
			both := r.repo.Git("log", "--format=%B", "-2")
			r.repo.Git("reset", "-q", "--soft", "HEAD~2")
			r.repo.Git("commit", "-q", "-m", both)
		}, refusal.SharedCommit, "as well as later ones"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.play, plan.Task{ID: "A"}, plan.Task{ID: "B"})
			r.run(RunOptions{Build: true})
			c.after(r)
			_, err := r.rewinder().Run(context.Background(), 1)
			var refused *refusal.Error
			switch {
			case c.says == "" && err != nil:
				t.Fatal(err)
			case c.says == "":
				if exists(r.repo.Dir, "B.txt") || r.repo.Read("mine.txt") != "mine\n" || r.repo.Read("A.txt") != "A\n" {
					t.Error("the files are not those of iteration 1 and of the person")
				}
			case !errors.As(err, &refused) || refused.Kind != c.kind || !strings.Contains(err.Error(), c.says):
				t.Errorf("%v", err)
			}
		})
	}
}

// TestRewindAsked: nothing is written when a person says no.
func TestRewindAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, writes, plan.Task{ID: "A"})
	r.run(RunOptions{Build: true})
	tip := r.repo.Git("rev-parse", "HEAD")
	rw := r.rewinder()
	rw.Ask = func(w state.Rewind) bool { return len(w.Reverted) != 1 }
	if _, err := rw.Run(context.Background(), 0); !errors.Is(err, recovery.ErrDeclined) || r.repo.Git("rev-parse",
		"HEAD") != tip {
		t.Errorf("%v", err)
	}
	if _, err := r.rewinder().Run(context.Background(), 1); !errors.Is(err, journal.ErrNothing) {
		t.Errorf("nothing was kept after it: %v", err)
	}
}

// TestResetOfAPlan: a commit removes the specs. Without specs no commit is
// needed.
func TestResetOfAPlan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, writes, plan.Task{ID: "A"})
	r.repo.Write("specs/a.md", "# a\n")
	r.repo.Git("add", "-A")
	r.repo.Git("commit", "-qm", "a spec")
	r.write("specs/a.md", "# changed\n")
	var refused *refusal.Error
	if err := r.rewinder().Reset(ctx, []string{"specs/a.md"}, []plan.TaskID{"A"}); !errors.As(err, &refused) ||
		refused.Kind != refusal.SpecsChanged {
		t.Errorf("a changed spec: %v", err)
	}
	r.repo.Git("checkout", "-q", "specs/a.md")
	for _, specs := range [][]string{{"specs/a.md"}, nil} {
		if err := r.rewinder().Reset(ctx, specs, []plan.TaskID{"A"}); err != nil {
			t.Fatal(err)
		}
	}
	if exists(r.repo.Dir, "specs/a.md") || !strings.HasPrefix(r.repo.Git("log", "-1", "--format=%s"), "Remove the specs") {
		t.Error("the spec is still there")
	}
	if got := r.repo.Git("status", "--porcelain"); got != "" {
		t.Errorf("git status says %s", got)
	}
}

// TestRewindTwice: rewound work is not rewound again, and a partial step of a
// task is forgotten with it.
func TestRewindTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		if req.TaskID == "B" && !exists(r.repo.Dir, "half.txt") {
			r.write("half.txt", "1")
			b.say(func(c *session.Collected) { c.Handoff = handoff("B", false) })
			return completed()
		}
		return writes(r, req, b, tell)
	}, plan.Task{ID: "A"}, plan.Task{ID: "B"})
	r.run(RunOptions{Build: true})
	var refused *refusal.Error
	if _, err := r.rewinder().Run(ctx, 9); !errors.As(err, &refused) || refused.Kind != refusal.NoIteration {
		t.Errorf("an iteration that never was: %v", err)
	}
	w, err := r.rewinder().Run(ctx, 1)
	if err != nil || len(w.Reverted) != 2 || exists(r.repo.Dir, "half.txt") {
		t.Fatalf("%v: %+v", err, w)
	}
	if _, err := r.rewinder().Run(ctx, 2); !errors.As(err, &refused) || refused.Kind != refusal.TakenBack {
		t.Errorf("to what was taken back: %v", err)
	}
	if w, err = r.rewinder().Run(ctx, 0); err != nil || len(w.Reverted) != 1 || exists(r.repo.Dir, "A.txt") {
		t.Errorf("%v: %+v", err, w)
	}
	if s := r.state(); s.Plan.Counts().Done != 0 || s.Plan.Tasks[1].Partial != 0 {
		t.Errorf("%+v", s.Plan.Tasks)
	}
	if end := r.run(RunOptions{Build: true}); end.Status != state.Complete {
		t.Errorf("%s: %s", end.Status, end.Reason)
	}
}
