package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestFsckNamesTheNewestReadableEntry: if the tip is gone or lost an object, fsck
// does not give up the whole journal.
func TestFsckNamesTheNewestReadableEntry(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the damage")
	for _, row := range []struct{ why, object, from string }{
		{"a file of the state", "refs/ralph/heads/main:run.toml", "its history"},
		{"the event", "refs/ralph/heads/main:event/event.json", "its history"},
		{"the tree", "refs/ralph/heads/main^{tree}", "its history"},
		{"the entry itself", "refs/ralph/heads/main", "the log of its ref"},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, check, nil)
			p.must(t, "add", "one")
			p.must(t, "add", "two")
			before := p.Git("rev-parse", "refs/ralph/heads/main")
			p.must(t, "pause")
			tip := p.Git("rev-parse", "refs/ralph/heads/main")
			id := p.Git("rev-parse", row.object)
			for _, dir := range []string{id[:2], filepath.Join("ralph", id[:2])} { // and the copy that survives a gc
				if err := os.Remove(filepath.Join(p.Dir, ".git", "objects", dir, id[2:])); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			if err := os.RemoveAll(filepath.Join(p.Dir, ".git", "objects", "ralph")); err != nil {
				t.Fatal(err)
			}
			r := p.run(t, nil, "fsck")
			want := "git update-ref refs/ralph/heads/main " + before + " " + tip
			if r.code != 1 || !strings.Contains(r.out, want) || !strings.Contains(r.out, row.from) {
				t.Fatalf("exit %d\n%s%s\nwanted: %s", r.code, r.out, r.err, want)
			}
			p.Git(strings.Fields(want)[1:]...)
			if out := p.must(t, "tasks"); !strings.Contains(out, "two") {
				t.Errorf("%s", out)
			}
			p.must(t, "fsck")
		})
	}
}

// TestCheckoutsOfKilledRunsGo: a run killed in its last proof leaves a
// checkout. The next start removes it and git's record of it.
func TestCheckoutsOfKilledRunsGo(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, "[guard]\nsandbox = \"off\"\n[[checks]]\nname = \"test\"\nrun = \"case $PWD in "+
		"*/checkouts/*) : > \\\"$O/in\\\"; [ -e \\\"$O/go\\\" ] || sleep 600;; esac\"\n", nil)
	outer := filepath.Dir(p.Dir)
	p.Env = append(p.Env, "O="+outer)
	p.must(t, "add", "a thing")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "start")
	c.Dir, c.Env = p.Dir, p.Env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the check runs in its checkout", func() bool { return exists(filepath.Join(outer, "in")) })
	c.Process.Kill()
	c.Wait()
	if n := strings.Count(p.Git("worktree", "list"), "checkouts"); n != 1 {
		t.Fatalf("%d checkouts are known after the kill", n)
	}
	if err := os.WriteFile(filepath.Join(outer, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(t, "start")
	if list := p.Git("worktree", "list"); strings.Contains(list, "checkouts") {
		t.Errorf("left behind:\n%s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(outer, "home", ".cache", "git-ralph", "checkouts", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFoldersOfKilledRunsGo: gc names and removes the temporary folders of a
// killed run. Those of a living one stay.
func TestFoldersOfKilledRunsGo(t *testing.T) {
	t.Parallel()
	p := newProject(t, ": > \"$O/in\"\nwhile [ ! -e \"$O/go\" ]; do sleep 0.05; done\n",
		check+"[guard]\nsandbox = \"off\"\n", nil)
	outer := filepath.Dir(p.Dir)
	tmp := filepath.Join(outer, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "O="+outer, "TMPDIR="+tmp, "XDG_RUNTIME_DIR=")
	p.must(t, "add", "a thing")
	c := exec.Command(self(t), "start")
	c.Dir, c.Env = p.Dir, p.Env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the agent works", func() bool { return exists(filepath.Join(outer, "in")) })
	folders := func() []string {
		list, _ := filepath.Glob(filepath.Join(tmp, "git-ralph-*"))
		return list
	}
	living := folders()
	if len(living) == 0 {
		t.Fatal("the run has no folder")
	}
	p.must(t, "status")
	c.Process.Kill()
	c.Wait()
	if out := p.must(t, "gc", "--dry-run"); !strings.Contains(out, living[0]) {
		t.Errorf("gc --dry-run does not name %s:\n%s", living[0], out)
	}
	if len(folders()) == 0 {
		t.Error("gc --dry-run removed them")
	}
	p.must(t, "gc")
	if left := folders(); len(left) > 0 {
		t.Errorf("gc left %v", left)
	}
	if err := os.WriteFile(filepath.Join(outer, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
