package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// worked is a project in which two tasks were kept.
func worked(t *testing.T) *project {
	t.Helper()
	return workedBy(t, doTask)
}

// workedBy is worked with another agent.
func workedBy(t *testing.T, agent string) *project {
	t.Helper()
	p := newProject(t, agent, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	p.must(t, "start")
	return p
}

// tasks are the states of all tasks in order.
func (p *project) tasks(t *testing.T) string {
	t.Helper()
	var all []struct{ ID, Status string }
	if err := json.Unmarshal([]byte(p.must(t, "tasks", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range all {
		out = append(out, x.ID+" "+x.Status)
	}
	return strings.Join(out, ", ")
}

// diverged runs start, which must exit with 8 and name both commands.
func (p *project) diverged(t *testing.T) {
	t.Helper()
	p.must(t, "add", "one more thing")
	before := possessions(p.Repo)
	r := p.run(t, nil, "start")
	if r.code != 8 || !strings.Contains(r.err, "is not in") || !strings.Contains(r.err, "git ralph adopt") ||
		!strings.Contains(r.err, "git ralph rewind") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if possessions(p.Repo) != before {
		t.Error("the refusal changed something")
	}
}

// TestResetAfterKeep: the branch was moved back by hand. Nothing is guessed.
func TestResetAfterKeep(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what a reset meets")
	t.Run("adopt", func(t *testing.T) {
		t.Parallel()
		p := worked(t)
		p.Git("reset", "-q", "--hard", "HEAD~1")
		p.diverged(t)
		p.must(t, "adopt")
		if got := p.tasks(t); got != "T-001 done, T-002 done, T-003 pending" {
			t.Errorf("adopt takes the branch as it is: %s", got)
		}
		if out := p.must(t, "adopt"); !strings.Contains(out, "belong together already") {
			t.Errorf("adopt again: %s", out)
		}
		p.must(t, "start")
		p.sound(t)
	})
	t.Run("rewind", func(t *testing.T) {
		t.Parallel()
		p := worked(t)
		p.Git("reset", "-q", "--hard", "HEAD~1")
		p.diverged(t)
		p.must(t, "rewind", "1")
		if got := p.tasks(t); got != "T-001 done, T-002 pending, T-003 pending" {
			t.Errorf("rewind opens the task whose commit is gone: %s", got)
		}
		p.must(t, "start")
		if got := p.Read("out-T-002.txt"); got != "T-002\n" {
			t.Errorf("done again: %q", got)
		}
		p.sound(t)
	})
	t.Run("rebased", func(t *testing.T) {
		t.Parallel()
		p := worked(t)
		// The commits have new hashes and the same event ids: no reason to stop.
		p.Git("-c", "sequence.editor=true", "rebase", "-q", "--force-rebase", "HEAD~2")
		p.must(t, "add", "one more thing")
		p.must(t, "start")
		p.must(t, "rewind", "0")
		if got := p.Git("ls-files", "out-*"); got != "" {
			t.Errorf("still there: %s", got)
		}
		p.sound(t)
	})
}

// TestRewind takes work back by one commit and one entry.
func TestRewind(t *testing.T) {
	t.Parallel()
	long.Only(t, "the package loop rewinds")
	p := worked(t)
	var was, is struct {
		Iteration int
		Session   int
	}
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &was); err != nil {
		t.Fatal(err)
	}
	p.Write("human.txt", "mine\n")
	p.Git("add", "human.txt")
	p.Git("commit", "-qm", "by hand")
	entries, commits := p.Git("rev-list", "--count", "ralph/heads/main"), p.Git("rev-list", "--count", "HEAD")

	// A person's changes are never overwritten.
	p.Write("README", "changed\n")
	if r := p.run(t, nil, "rewind", "1"); r.code != 8 || !strings.Contains(r.err, "README") {
		t.Errorf("with changes: exit %d\n%s", r.code, r.err)
	}
	p.Git("checkout", "-q", "README")

	p.must(t, "rewind", "1")
	if got := p.Read("out-T-001.txt") + p.Read("human.txt") + p.Read("out-T-002.txt"); got != "T-001\nmine\n" {
		t.Errorf("the files hold %q", got)
	}
	if got := p.tasks(t); got != "T-001 done, T-002 pending" {
		t.Errorf("tasks: %s", got)
	}
	if a, b := p.Git("rev-list", "--count", "ralph/heads/main~1"), p.Git("rev-list", "--count",
		"HEAD~1"); a != entries || b != commits {
		t.Errorf("not one entry and one commit: %s after %s, %s after %s", a, entries, b, commits)
	}
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &is); err != nil || is != was {
		t.Errorf("counters went from %v to %v", was, is)
	}
	if got := p.Git("log", "-1", "--format=%s %an"); got != "ralph: rewind to iteration 1 A U Thor" {
		t.Errorf("the commit is %q", got)
	}
	p.sound(t)
	if out := p.must(t, "rewind", "1"); !strings.Contains(out, "nothing was kept") {
		t.Errorf("again: %s", out)
	}
	if r := p.run(t, nil, "rewind", "2"); r.code != 1 || !strings.Contains(r.err, "was itself taken back") {
		t.Errorf("to what was taken back: exit %d\n%s", r.code, r.err)
	}

	// The run continues from there, and the new work can be rewound as well.
	p.must(t, "start")
	if got := p.Read("out-T-002.txt"); got != "T-002\n" {
		t.Errorf("done again: %q", got)
	}
	p.must(t, "rewind", "0")
	if got := p.Git("ls-files", "out-*", "human.txt"); got != "human.txt" {
		t.Errorf("left: %s", got)
	}
	if got := p.tasks(t); got != "T-001 pending, T-002 pending" {
		t.Errorf("tasks: %s", got)
	}
	p.sound(t)

	// A commit of somebody else on the same lines is a conflict, and nothing moves.
	p.must(t, "start")
	p.Write("out-T-001.txt", "by hand\n")
	p.Git("commit", "-qam", "by hand")
	before := possessions(p.Repo)
	if r := p.run(t, nil, "rewind", "0"); r.code != 1 || !strings.Contains(r.err, "out-T-001.txt") ||
		!strings.Contains(r.err, "hint: git revert") {
		t.Errorf("a conflict: exit %d\n%s", r.code, r.err)
	}
	if possessions(p.Repo) != before {
		t.Error("the refusal changed something")
	}
}

// TestRewindKilledAnywhere: a killed rewind is finished or was never begun, not
// half done.
func TestRewindKilledAnywhere(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills a rewind at every step")
	steps := []string{"keep:objects", "keep:intent", "keep:index-lock", "keep:index-written",
		"keep:refs-prepared", "keep:refs-committed",
		"keep:index-renamed", "restore write", "restore remove", "keep:note"}
	for _, step := range steps {
		t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
			t.Parallel()
			// The rewind removes a new file and reverts a changed one.
			p := workedBy(t, "[ $RALPH_TASK_ID = T-001 ] || echo more >> README\n"+doTask)
			p.Write("out-T-001.txt", "changed\n")
			p.Git("commit", "-qam", "Change the first")
			if r := p.run(t, []string{"RALPH_FAILPOINT=" + step}, "rewind", "1"); r.code != -1 {
				t.Fatalf("it was not reached: exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.must(t, "add", "any command that writes")
			if p.Git("rev-parse", "HEAD^") != p.Git("rev-parse", "HEAD@{1}") {
				t.Errorf("the branch is neither before nor after:\n%s", p.Git("log", "--oneline"))
			}
			p.must(t, "rewind", "1")
			if got := p.Read("out-T-001.txt") + p.Read("out-T-002.txt") + p.Read("README"); got != "changed\nhello\n" {
				t.Errorf("the files hold %q", got)
			}
			p.sound(t)
		})
	}
}

// TestBranchesComeAndGo: a journal outlives its branch, and adopt is offered.
func TestBranchesComeAndGo(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the branches")
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		p := worked(t)
		p.Git("branch", "-m", "main", "feature/trunk")
		r := p.run(t, nil, "status")
		if r.code != 1 || !strings.Contains(r.err, "has no journal") || !strings.Contains(r.err, "git ralph adopt") ||
			!strings.Contains(r.err, "main") {
			t.Errorf("exit %d\n%s", r.code, r.err)
		}
		p.must(t, "adopt", "main")
		if got := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/heads",
			"refs/ralph/archive"); got != "refs/ralph/heads/feature/trunk" {
			t.Errorf("refs: %s", got)
		}
		p.must(t, "add", "one more thing")
		p.must(t, "start")
		p.sound(t)
	})
	t.Run("made again", func(t *testing.T) {
		t.Parallel()
		p := worked(t)
		p.Git("switch", "-qc", "other", "HEAD~2")
		p.Git("branch", "-qD", "main")
		p.Git("switch", "-qc", "main")
		p.diverged(t)
		p.must(t, "adopt")
		p.must(t, "start")
		p.sound(t)
	})
	t.Run("in the way", func(t *testing.T) {
		t.Parallel()
		p := worked(t)
		id := p.Git("show", "ralph/heads/main:journal.toml")
		// main/next cannot exist while refs/ralph/heads/main is a file.
		p.Git("branch", "-m", "main", "tmp")
		p.Git("branch", "-m", "tmp", "main/next")
		p.must(t, "add", "a task of the new branch")
		archived := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/archive")
		if archived == "" || !strings.Contains(id, strings.TrimPrefix(archived, "refs/ralph/archive/")) {
			t.Fatalf("archived: %q of %s", archived, id)
		}
		// It can replace the new journal, which is archived then.
		p.must(t, "adopt", strings.TrimPrefix(archived, "refs/ralph/archive/"))
		if got := p.tasks(t); got != "T-001 done, T-002 done" {
			t.Errorf("tasks: %s", got)
		}
		if got := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/archive"); got == archived ||
			strings.Count(got, "\n") != 0 {
			t.Errorf("archived: %s", got)
		}
		p.sound(t)
	})
}

// TestUnusualPlaces: a start from a subfolder works on the whole tree, a
// linked worktree has a branch and a journal of its own, an unborn branch gets
// its first commit.
func TestUnusualPlaces(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the places")
	t.Run("subfolder", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"sub/deep/file": "x\n"})
		p.must(t, "add", "the first thing")
		p.must(t, "-C", "sub/deep", "start")
		if got := p.Git("ls-files", "out-*"); got != "out-T-001.txt" {
			t.Errorf("committed: %s", got)
		}
		p.sound(t)
	})
	t.Run("linked worktree", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n", nil)
		p.must(t, "add", "a task of main")
		linked := filepath.Join(filepath.Dir(p.Dir), "linked")
		p.Git("worktree", "add", "-q", "-b", "team/login", linked)
		main := p.Dir
		p.Dir = linked
		p.must(t, "add", "a task of the branch")
		p.must(t, "start")
		if got := p.Git("log", "-1", "--format=%s"); got != "ralph[1]: T-001 a task of the branch" {
			t.Errorf("the branch has %s", got)
		}
		p.sound(t)
		p.Dir = main
		if got := p.tasks(t); got != "T-001 pending" {
			t.Errorf("main has %s", got)
		}
		if got := p.Git("for-each-ref", "--format=%(refname)",
			"refs/ralph/heads"); got != "refs/ralph/heads/main\nrefs/ralph/heads/team/login" {
			t.Errorf("journals: %s", got)
		}
		p.sound(t)
	})
	t.Run("unborn branch", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n", nil)
		p.Git("switch", "-q", "--orphan", "fresh/start")
		p.Write("agent.sh", doTask)
		p.Write("test.sh", "true\n")
		p.Write("ralph.toml", "[agent]\ndriver = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n"+
			"[guard]\nsandbox = \"off\"\n[validation]\nfresh = \"never\"\n"+check)
		p.must(t, "trust")
		p.must(t, "add", "the first thing")
		p.must(t, "start")
		if got := p.Git("ls-files"); got != "out-T-001.txt" {
			t.Errorf("committed: %s", got)
		}
		if got := p.Git("rev-list", "--count", "HEAD"); got != "1" {
			t.Errorf("%s commits", got)
		}
		for _, name := range []string{"agent.sh", "test.sh", "ralph.toml"} {
			if err := os.Remove(filepath.Join(p.Dir, name)); err != nil {
				t.Error(err)
			}
		}
		p.sound(t)
	})
}
