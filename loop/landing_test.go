package loop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// linked makes a linked worktree of the rig's branch with the same tasks.
func (r *rig) linked(play client) *rig {
	t := r.t
	t.Helper()
	ctx := context.Background()
	tip, err := r.Journal.Tip(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Repo.MakeLinked(ctx, "main", r.Repo.LinkedPlace(t.TempDir(), "main"), tip, r.repo.Env, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitstate.Open(ctx, l.Root, r.repo.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := journal.Open(ctx, g, l.Branch)
	if err != nil {
		t.Fatal(err)
	}
	out := &rig{t: t, repo: &repo.Repo{T: t, Dir: l.Root, Env: r.repo.Env}}
	j.Now = out.now
	out.over(g, j, play)
	return out
}

func (r *rig) follower(l *rig) *recovery.Follower {
	return &recovery.Follower{Repo: l.Repo, Journal: l.Journal, Engine: l.Engine, Of: "main", Log: l.log,
		Fail: func(step string) { l.fail(step) }}
}

// writes writes a file named after each task.
func writes(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
	r.write(req.TaskID+".txt", req.TaskID+"\n")
	b.done(req)
	return completed()
}

// TestLand: the work of a linked worktree lands, or the refusal says why not.
func TestLand(t *testing.T) {
	t.Parallel()
	commit := func(r *rig, file, text string) {
		r.write(file, text)
		r.repo.Git("add", file)
		r.repo.Git("commit", "-qm", "by a person: "+file)
	}
	for _, c := range long.Sample(t, []struct {
		why    string
		before func(main, linked *rig)
		kind   refusal.Kind // of the refusal; 0 = it lands
		says   string       // of the refusal
		log    string       // of the branch, newest first
	}{
		{why: "the branch stands still: the same commits", log: "ralph[2]: B task B|ralph[1]: A task A|first"},
		{why: "a commit of a person: on top of it", before: func(m, _ *rig) { commit(m, "mine.txt", "mine\n") },
			log: "ralph[2]: B task B|ralph[1]: A task A|by a person: mine.txt|first"},
		{why: "a merge in the linked branch: by a merge", before: func(m, l *rig) {
			commit(m, "mine.txt", "mine\n")
			l.repo.Git("merge", "-q", "--no-edit", "main")
			commit(m, "more.txt", "more\n")
		}, log: "Merge branch 'ralph/main'"},
		{why: "the work is there already", before: func(m, _ *rig) { m.repo.Git("merge", "-q", "--ff-only", "ralph/main") },
			log: "ralph[2]: B task B|ralph[1]: A task A|first"},
		{why: "the same change was made by a person", before: func(m, l *rig) {
			m.repo.Git("cherry-pick", l.repo.Git("rev-parse", "HEAD~1"))
		}, log: "ralph[2]: B task B|ralph[1]: A task A|first"},
		{why: "the same lines", before: func(m, _ *rig) { commit(m, "A.txt", "mine\n") }, kind: refusal.LandConflict,
			says: "A.txt"},
		{why: "the same lines in a merge", before: func(m, l *rig) {
			commit(m, "mine.txt", "mine\n")
			l.repo.Git("merge", "-q", "--no-edit", "main")
			commit(m, "B.txt", "mine\n")
		}, kind: refusal.LandConflict, says: "B.txt"},
		{why: "a file in the way", before: func(m, _ *rig) { m.write("B.txt", "mine\n") }, kind: refusal.FilesInTheWay,
			says: "B.txt"},
		{why: "red together", before: func(m, _ *rig) { commit(m, "broken", "") }, kind: refusal.LandRed,
			says: "checks: test"},
		{why: "a person has added a task", before: func(m, _ *rig) { m.add("C") }, log: "ralph[2]: B task B|ralph[1]"},
		{why: "agents have worked on both", before: func(m, _ *rig) {
			m.add("C")
			if end := m.run(RunOptions{Build: true}); end.Status != state.Complete {
				m.t.Fatalf("ended %s: %s", end.Status, end.Reason)
			}
		}, kind: refusal.JournalsApart, says: "have diverged"},
		{why: "the branch is gone", before: func(m, l *rig) {
			l.repo.Git("checkout", "-q", "--detach")
			m.repo.Git("branch", "-q", "-D", "ralph/main")
		}, kind: refusal.LandMoved, says: "is gone"},
	}, 2) {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			m := newRig(t, writes, plan.Task{ID: "A"}, plan.Task{ID: "B"})
			l := m.linked(writes)
			if end := l.run(RunOptions{Build: true}); end.Status != state.Complete {
				t.Fatalf("ended %s: %s\n%s", end.Status, end.Reason, strings.Join(l.said, "\n"))
			}
			if c.before != nil {
				c.before(m, l)
			}
			lander := &Lander{Loop: m.Loop, Linked: l.Journal, Root: l.repo.Dir}
			p, err := lander.Run(ctx)
			if c.says != "" {
				var refused *refusal.Error
				if !errors.As(err, &refused) || refused.Kind != c.kind || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v\n%s", err, strings.Join(m.said, "\n"))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(m.repo.Git("log", "--format=%s"), "\n", "|"); !strings.HasPrefix(got, c.log) {
				t.Errorf("the branch has %s", got)
			}
			s, err := m.load()
			if err != nil || s.Plan.Counts().Done != 2 {
				t.Errorf("%v: the journal has %+v", err, s.Plan.Counts())
			}
			if got := m.repo.Git("status", "--porcelain"); got != "" || m.repo.Read("A.txt") != "A\n" {
				t.Errorf("git status says %s", got)
			}
			if !p.Merge && m.repo.Git("log", "--notes=ralph", "-1", "--format=%N") == "" {
				t.Error("the newest commit has no note")
			}
			if err := lander.Follow(ctx, m.follower(l), p); err != nil {
				t.Fatal(err)
			}
			if got := l.repo.Git("rev-parse", "HEAD"); got != m.repo.Git("rev-parse", "HEAD") {
				t.Error("the linked branch did not follow")
			}
			if again, err := lander.Run(ctx); err != nil || len(again.Commits) > 0 {
				t.Errorf("landing again: %v, %+v", err, again)
			}
		})
	}
}

// add puts a task into the plan, as a person does.
func (r *rig) add(id plan.TaskID) {
	r.t.Helper()
	if _, err := r.Journal.Record(context.Background(), state.Event{Type: state.EvPlan, Plan: &state.PlanChange{
		Reason: "add", Upsert: []plan.Task{{ID: id, Title: "task " + string(id), Status: plan.Pending}}}}); err != nil {
		r.t.Fatal(err)
	}
}

// TestLandDeclined: nothing is changed when a person says no.
func TestLandDeclined(t *testing.T) {
	t.Parallel()
	m := newRig(t, writes, plan.Task{ID: "A"})
	l := m.linked(writes)
	l.run(RunOptions{Build: true})
	tip := m.repo.Git("rev-parse", "HEAD")
	told := 0
	_, err := (&Lander{Loop: m.Loop, Linked: l.Journal, Root: l.repo.Dir,
		Told: func(p Landing) bool { told = len(p.Commits); return false }}).Run(context.Background())
	if !errors.Is(err, recovery.ErrDeclined) || told != 1 || m.repo.Git("rev-parse", "HEAD") != tip {
		t.Errorf("%v, %d commits were told", err, told)
	}
}

// TestFollow: a linked worktree follows its branch. After a crash at any step
// the next run finishes it.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, step := range append([]string{""}, recovery.FollowSteps...) {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			m := newRig(t, writes, plan.Task{ID: "A"})
			l := m.linked(writes)
			m.repo.Write("a.txt", "newer\n")
			m.repo.Write("more/new.txt", "new\n")
			m.repo.Git("rm", "-q", "old_test.txt")
			m.repo.Git("add", "-A")
			m.repo.Git("commit", "-qm", "by a person")
			run := func() error { return m.follower(l).Run(context.Background()) }
			if there := l.dies(step, run); !there && step != "" {
				t.Fatal("the step was never reached")
			}
			if err := run(); err != nil {
				t.Fatal(err)
			}
			if l.repo.Read("a.txt") != "newer\n" || l.repo.Read("more/new.txt") != "new\n" ||
				exists(l.repo.Dir, "old_test.txt") {
				t.Error("the files did not follow")
			}
			if got := l.repo.Git("status", "--porcelain"); got != "" {
				t.Errorf("git status says %s", got)
			}
		})
	}
}

// TestFollowStays: where a person has to act, it says so and moves nothing.
func TestFollowStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		person func(m, l *rig)
		says   string
	}{
		{"both have commits", func(m, l *rig) {
			for _, r := range []*rig{m, l} {
				r.repo.Git("commit", "-q", "--allow-empty", "-m", "mine "+r.repo.Dir)
			}
		}, "has commits that ralph/main does not have"},
		{"a file was changed", func(m, l *rig) {
			m.repo.Git("commit", "-q", "--allow-empty", "-m", "mine")
			l.write("a.txt", "half written\n")
		}, ""},
		{"a submodule", func(m, _ *rig) {
			m.repo.Git("update-index", "--add", "--cacheinfo", "160000,"+m.repo.Git("rev-parse", "HEAD")+",sub")
			m.repo.Git("commit", "-qm", "a submodule")
		}, "changes a submodule"},
		{"both journals have entries", func(m, l *rig) {
			for i, r := range []*rig{m, l} {
				e := state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "add", Upsert: []plan.Task{
					{ID: plan.TaskID("BC"[i : i+1]), Title: "more", Status: plan.Pending}}}}
				if _, err := r.Journal.Record(context.Background(), e); err != nil {
					r.t.Fatal(err)
				}
			}
		}, "tasks added there are not seen here"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			m := newRig(t, writes, plan.Task{ID: "A"})
			l := m.linked(writes)
			c.person(m, l)
			tip := l.repo.Git("rev-parse", "HEAD")
			if err := m.follower(l).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if !l.told(c.says) || l.repo.Git("rev-parse", "HEAD") != tip {
				t.Errorf("told %q", l.said)
			}
		})
	}
}
