package loop

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

type died struct{ step string }

// dies runs f, which dies at a step. It reports whether f reached the step.
func (r *rig) dies(step string, f func() error) (there bool) {
	r.t.Helper()
	r.Fail = func(s string) {
		if s == step {
			panic(died{s})
		}
	}
	defer func() {
		r.Fail = nil
		if p := recover(); p != nil {
			if _, there = p.(died); !there {
				panic(p)
			}
		}
	}()
	if err := f(); err != nil {
		r.t.Fatalf("before %s: %v", step, err)
	}
	return false
}

func (r *rig) recovery() *recovery.Recovery {
	p := r.place()
	p.Fail = func(step string) { r.fail(step) }
	return &recovery.Recovery{Journal: r.Journal, Place: p}
}

func (r *rig) recover() {
	r.t.Helper()
	if err := r.recovery().Run(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// redOnce breaks the check at its first attempt and is good at the second.
func redOnce(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
	r.write("work.txt", "1")
	if len(r.results()) == 0 {
		r.write("broken", "")
	}
	b.done(req)
	return completed()
}

// TestDiedAtEveryStep: a process dies at any step of a kept iteration, of a
// rejected one, or of the recovery. The next run finishes the work.
func TestDiedAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range long.Sample(t, slices.Concat(Steps, recovery.RecoverySteps), 4) {
		if step == "recover:index" || step == "recover:note" {
			continue // TestDiedAfterTheCommitPoint
		}
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redOnce, plan.Task{ID: "A"})
			run := func() error { _, err := r.Run(context.Background(), RunOptions{Build: true}); return err }
			there := r.dies(step, run)
			if !there { // a step of the recovery, after the loop died
				r = newRig(t, redOnce, plan.Task{ID: "A"})
				r.dies("iteration:agent-ended", run)
				there = r.dies(step, func() error { return r.recovery().Run(context.Background()) })
			}
			if !there {
				t.Fatal("the step was never reached")
			}
			r.recover()
			r.recover() // which finds nothing to do
			if end := r.run(RunOptions{Build: true}); end.Status != state.Complete {
				t.Errorf("ended %s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
			}
			if r.repo.Read("work.txt") != "1" || exists(r.repo.Dir, "broken") {
				t.Error("the files are not those of the work")
			}
			if n := strings.Count(r.repo.Git("log", "--format=%s"), "task A"); n != 1 {
				t.Errorf("%d commits of one task", n)
			}
			if got := r.repo.Git("status", "--porcelain"); got != "" {
				t.Errorf("git status says %s", got)
			}
			if got := r.repo.Git("log", "--notes=ralph", "-1", "--format=%N"); got == "" {
				t.Error("the commit has no note")
			}
		})
	}
}

// TestDiedAndMovedSince: what a person did after the crash is not undone.
func TestDiedAndMovedSince(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		person func(r *rig)
		says   string
	}{
		{"a commit", func(r *rig) { r.repo.Git("commit", "-q", "--allow-empty", "-m", "mine") }, "the branch was moved"},
		{"another branch", func(r *rig) { r.repo.Git("switch", "-qc", "other") }, "HEAD was moved to other"},
		{"a detached HEAD", func(r *rig) { r.repo.Git("checkout", "-q", "--detach") }, "HEAD was detached"},
		{"a staged file", func(r *rig) { r.write("mine.txt", "x"); r.repo.Git("add", "mine.txt") }, "something was staged"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redOnce, plan.Task{ID: "A"})
			r.dies("iteration:agent-ended", func() error {
				_, err := r.Run(context.Background(), RunOptions{Build: true})
				return err
			})
			c.person(r)
			r.recover()
			list := r.results()
			if len(list) != 1 || !list[0].Untouched || !r.told(c.says) {
				t.Errorf("%+v\n%s", list, strings.Join(r.said, "\n"))
			}
			if r.repo.Read("work.txt") != "1" {
				t.Error("a file was touched")
			}
			if got := r.repo.Git("show", list[0].Evidence+":worktree/work.txt"); got != "1" {
				t.Errorf("the evidence holds %q", got)
			}
		})
	}
}

// keptHalf is a rig whose process died in its only keep after moving the
// journal. Branch and index are still behind.
func keptHalf(t *testing.T) *rig {
	r := newRig(t, redOnce, plan.Task{ID: "A"})
	r.run(RunOptions{Build: true})
	s, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	k := s.Run.LastKeep
	data, err := json.Marshal(gitstate.Intent{Identity: proc.Identity{Pid: 1 << 30}, EventID: k.EventID,
		Journal: r.Journal.Ref(),
		Branch:  gitstate.BranchRef("main"), Parent: k.Parent, Commit: k.Commit})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.Repo.Dir(), "intent"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	r.repo.Git("update-ref", "-d", "refs/notes/ralph")
	r.repo.Git("reset", "-q", k.Parent)
	return r
}

// TestDiedAfterTheCommitPoint: if the journal was moved, the keep is finished.
func TestDiedAfterTheCommitPoint(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"", "recover:index", "recover:note"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := keptHalf(t)
			if there := r.dies(step, func() error { return r.recovery().Run(context.Background()) }); !there && step != "" {
				t.Fatal("the step was never reached")
			}
			r.recover()
			if got := r.repo.Git("log", "--notes=ralph", "-1", "--format=%s %N"); !strings.HasPrefix(got,
				"ralph[2]: A task A ") ||
				len(got) < 40 {
				t.Errorf("the branch ends with %s", got)
			}
			if got := r.repo.Git("status", "--porcelain"); got != "" || !r.told("finished keeping iteration 2") {
				t.Errorf("git status says %s, people were told %q", got, r.said)
			}
		})
	}
}

// TestDiedAndDiverged: if the branch is neither before nor after the kept
// commit, a person has to decide.
func TestDiedAndDiverged(t *testing.T) {
	t.Parallel()
	r := keptHalf(t)
	r.repo.Git("commit", "-q", "--allow-empty", "-m", "another way")
	err := r.recovery().Run(context.Background())
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Kind != refusal.Diverged {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "neither before nor after") {
		t.Error(err)
	}
	s, err := r.load()
	if err != nil || s.Run.Status != state.NeedsReview {
		t.Errorf("%v: %s", err, s.Run.Status)
	}
	if err := recovery.CheckJournal(context.Background(), r.Repo, r.Journal, s); err == nil {
		t.Error("journal and branch seem to belong together")
	}
}
