package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// besideProver does something after the checks of the first attempt.
type besideProver struct {
	filesProver
	do func()
}

func (p *besideProver) Prove(ctx context.Context, req ProofRequest) (ProofReport, error) {
	rep, err := p.filesProver.Prove(ctx, req)
	if p.do != nil {
		p.do()
		p.do = nil
	}
	return rep, err
}

// TestMeanwhile: what a person does to git while the agent works behind a
// boundary belongs to the person. The work goes on top or is kept beside it.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	commit := func(file, text string) func(r *rig) {
		return func(r *rig) {
			r.write(file, text)
			r.repo.Git("add", file)
			r.repo.Git("commit", "-qm", "mine")
		}
	}
	for _, c := range []struct {
		why    string
		person func(r *rig)
		late   bool // while the checks run
		box    string

		end  string // of the first iteration
		work string // work.txt afterwards
		says string
	}{
		{"a commit elsewhere", commit("mine.txt", "mine\n"), false, "namespaces", "keep", "1", "landed on top of"},
		{"the same change", commit("work.txt", "1"), false, "namespaces", "keep", "1", "landed on top of"},
		{"a commit of the same path", commit("work.txt", "mine\n"), true, "namespaces", "reject: branch_moved", "mine\n", ""},
		{"a commit of a path below it", func(r *rig) {
			os.Remove(filepath.Join(r.repo.Dir, "work.txt"))
			commit("work.txt/mine", "mine\n")(r)
		}, true, "namespaces", "reject: branch_moved", "", ""},
		{"a commit elsewhere while the checks run", commit("mine.txt", "mine\n"), true, "namespaces", "keep", "1",
			"landed on top of"},
		{"a commit that is red with it", commit("broken", ""), true, "namespaces", "reject: branch_moved", "", ""},
		{"another branch", func(r *rig) { r.repo.Git("switch", "-qc", "other") }, false, "namespaces",
			"reject: tampered: refs", "1", ""},
		{"a branch behind the boundary of Landlock", func(r *rig) { r.repo.Git("branch", "mine") }, false, "landlock", "keep",
			"1",
			"changed by somebody else meanwhile"},
		{"the mode of a hook", func(r *rig) {
			if err := os.Chmod(filepath.Join(r.repo.Dir, ".git/hooks/pre-push"), 0o600); err != nil {
				r.t.Error(err)
			}
		}, false, "landlock", "reject: tampered: hooks", "", ""},
		{"a staged file", func(r *rig) { r.write("mine.txt", "x"); r.repo.Git("add", "mine.txt") }, false, "namespaces",
			"keep", "1",
			"staged"},
		{"our own refs are deleted", func(r *rig) {
			r.repo.Git("update-ref", "-d", "refs/ralph/heads/main")
			r.repo.Git("pack-refs", "--all")
		}, false, "off", "reject: tampered: refs", "1", ""},
		{"a setting that runs something", func(r *rig) { r.repo.Git("config", "core.fsmonitor", "./x") }, false, "off",
			"reject: tampered: config", "", ""},
		{"another git directory", func(r *rig) {
			r.repo.Git("init", "-q", "../evil")
			for _, args := range [][2]string{{".git", "../aside.git"}, {"../evil/.git", ".git"}} {
				if err := os.Rename(filepath.Join(r.repo.Dir, args[0]), filepath.Join(r.repo.Dir, args[1])); err != nil {
					r.t.Error(err)
				}
			}
		}, false, "off", "reject: tampered: git directory", "", ""},
		{"an index that cannot be read", func(r *rig) { r.write(".git/index", "no index") }, false, "off", "keep", "1",
			"the index was damaged and was built again"},
		{"a folder in place of the index", func(r *rig) {
			os.Remove(filepath.Join(r.repo.Dir, ".git/index"))
			r.write(".git/index/x", "")
		}, false, "off", "keep", "1", "the index was not a regular file and was built again"},
		{"the same path is staged while the checks run", func(r *rig) {
			r.write("work.txt", "mine\n")
			r.repo.Git("add", "work.txt")
		}, true, "namespaces", "keep", "", "not landed"},
		{"another git holds the index while the checks run", func(r *rig) {
			r.Patience = 20 * time.Millisecond
			r.write(".git/index.lock", "")
		}, true, "namespaces", "keep", "", "not landed: another git command holds"},
		{"the task is skipped while the checks run", func(r *rig) {
			e := state.Event{Type: state.EvTask, TaskSet: &state.TaskChange{Action: "skip", IDs: []plan.TaskID{"A"},
				Status: plan.Skipped, Reason: "not wanted"}}
			if _, err := r.Journal.Record(r.background(), e); err != nil {
				r.t.Error(err)
			}
		}, true, "namespaces", "keep", "", "not landed: the task was changed meanwhile"},
		{"a lock that nobody holds", func(r *rig) {
			r.write(".git/refs/heads/main.lock", "")
			old := time.Now().Add(-time.Minute) // a younger one may belong to an unknown program
			if err := os.Chtimes(filepath.Join(r.repo.Dir, ".git/refs/heads/main.lock"), old, old); err != nil {
				r.t.Error(err)
			}
		}, false, "off", "keep", "1", "a lock that no process held was removed"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				if len(r.results()) > 0 {
					return completed() // only the first iteration is tested
				}
				r.write("work.txt", "1")
				if !c.late {
					c.person(r)
				}
				b.done(req)
				return completed()
			}, plan.Task{ID: "A"})
			r.write(".git/hooks/pre-push", "#!/bin/sh\n")
			if err := os.Chmod(filepath.Join(r.repo.Dir, ".git/hooks/pre-push"), 0o755); err != nil {
				t.Fatal(err)
			}
			r.Sandbox = noSandbox(c.box)
			r.Settings.Limits.MaxAttempts, r.Settings.Fresh, r.Settings.BaselineMode = 1, "never", "off"
			if c.late {
				r.Prover = &besideProver{do: func() { c.person(r) }}
			}
			r.run(RunOptions{Build: true})
			list := r.results()
			if len(list) == 0 {
				t.Fatalf("nothing ended:\n%s", strings.Join(r.said, "\n"))
			}
			got := verdictLine(Verdict{Verdict: list[0].Verdict, Partial: list[0].Partial, Reasons: list[0].Reasons})
			if got != c.end || !strings.Contains(strings.Join(list[0].Notices, "\n"), c.says) {
				t.Errorf("%s, %q\n%s", got, list[0].Notices, strings.Join(r.said, "\n"))
			}
			staged := strings.Contains(c.why, "staged")
			if got := r.repo.Git("status", "--porcelain"); c.late && got != "" && !staged {
				t.Errorf("git status says %s", got)
			}
			if got := r.repo.Read("work.txt"); got != c.work {
				t.Errorf("work.txt: %q, want %q; %q", got, c.work, list[0].Notices)
			}
		})
	}
}
