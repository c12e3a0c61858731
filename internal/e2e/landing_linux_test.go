package e2e

import (
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestLandKilled ends a landing with SIGKILL at every step. Landing again gives the undisturbed result.
func TestLandKilled(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills a landing at every step")
	steps := []string{"keep:objects", "keep:intent", "keep:index-lock", "keep:index-written", "keep:refs-prepared",
		"keep:refs-committed", "keep:index-renamed", "keep:note", "keep:intent-removed", "land:proved", "land:moved",
		"follow:noted", "follow:refs", "follow:files", "follow:index"}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
			p.must(t, "add", "the first thing")
			p.must(t, "add", "the second thing")
			p.must(t, "start", "--worktree")
			p.Write("mine", "by hand\n")
			p.Git("add", "mine")
			p.Git("commit", "-qm", "by hand")
			if r := p.run(t, []string{"RALPH_FAILPOINT=" + step}, "land"); r.code != -1 {
				t.Fatalf("it was not reached: exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.must(t, "land")
			if got := p.Git("status", "--porcelain"); got != "" {
				t.Errorf("the worktree is not clean:\n%s", got)
			}
			got := p.Git("log", "--format=%s")
			for _, want := range []string{"T-001 ", "T-002 ", "by hand"} {
				if strings.Count(got, want) != 1 {
					t.Errorf("%q is in the branch %d times:\n%s", want, strings.Count(got, want), got)
				}
			}
			p.Read("out-T-002.txt")
			if got := p.tasks(t); got != "T-001 done, T-002 done" {
				t.Error(got)
			}
			if p.ref("main") != p.ref("ralph/main") || p.ref("ralph/heads/main") != p.ref("ralph/heads/ralph/main") {
				t.Error("the linked worktree did not follow")
			}
			p.sound(t)
			p.must(t, "add", "one more thing")
			p.must(t, "start", "--worktree")
			p.must(t, "land")
			p.Read("out-T-003.txt")
			p.sound(t)
		})
	}
}

// TestLandFromTheLinkedWorktree: land works from either worktree. A linked branch
// with a person's merge lands by a merge.
func TestLandFromTheLinkedWorktree(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies where a landing begins")
	p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
	p.must(t, "add", "the first thing")
	p.must(t, "start", "--worktree")
	commit := func(name string) {
		p.Write(name, "by hand\n")
		p.Git("add", name)
		p.Git("commit", "-qm", "add "+name)
	}
	commit("mine")
	dir := p.linkedDir(t)
	p.in(dir).Git("merge", "-q", "--no-edit", "main")
	commit("more")
	if out := p.in(dir).must(t, "land"); !strings.Contains(out, "by a merge") {
		t.Error(out)
	}
	if got := p.Git("status", "--porcelain"); got != "" {
		t.Errorf("the worktree is not clean:\n%s", got)
	}
	p.Read("out-T-001.txt")
	p.Read("more")
	p.sound(t)
	p.in(dir).Read("more")

	// Both journals have new entries: the person's change comes after the work.
	p.must(t, "add", "the second thing")
	p.must(t, "start", "--worktree")
	p.must(t, "add", "the third thing")
	if out := p.must(t, "land"); !strings.Contains(out, "is applied after that of ralph/main: 1 change\n") {
		t.Error(out)
	}
	if got := p.must(t, "tasks", "--json"); strings.Count(got, "\"status\": \"done\"") != 2 ||
		!strings.Contains(got, "the third thing") {
		t.Errorf("the plan after both: %s", got)
	}
	p.sound(t)
	p.in(dir).sound(t)

	// If agents worked on both branches, land refuses.
	p.must(t, "start", "--worktree")
	p.must(t, "add", "the fourth thing")
	if r := p.run(t, nil, "start", "--once"); r.code != 4 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	before := p.ref("main")
	if r := p.run(t, nil, "land"); r.code != 1 || !strings.Contains(r.err, "have diverged") || p.ref("main") != before {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
