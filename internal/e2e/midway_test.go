package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestInAPersonsMidst: commands leave a person's unfinished work alone, and the message says
// what to do. Each row leaves the repository as it was.
func TestInAPersonsMidst(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, check, map[string]string{"specs/one.md": "# One\n", "a": "a\n", ".gitignore": "x.log\n"})
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	p.run(t, nil, "start", "--max-iterations", "1")
	p.run(t, nil, "start", "--worktree", "--max-iterations", "1")
	p.Git("checkout", "-q", "-b", "side", "HEAD~1")
	p.Write("a", "theirs\n")
	p.Git("commit", "-qam", "theirs")
	p.Git("checkout", "-q", "main")
	p.Write("a", "mine\n")
	p.Git("commit", "-qam", "mine")
	lock := filepath.Join(p.Dir, ".git", "index.lock")
	toml := p.Read("ralph.toml")
	undo := func() {
		p.Try("cherry-pick", "--abort")
		p.Try("merge", "--abort")
		p.Git("reset", "-q", "--hard")
	}
	for _, row := range []struct {
		why   string
		state func()
		args  []string
		code  int
		says  string
		not   string // what it does not say
	}{
		{"a landing in a cherry-pick", func() { p.Try("cherry-pick", "side") }, []string{"land"}, 8,
			"a cherry-pick is in progress\nhint: finish it with `git cherry-pick --continue`", ""},
		{"a landing in a merge", func() { p.Try("merge", "side") }, []string{"land"}, 8,
			"a merge is in progress\nhint: ", ""},
		{"a reset in a merge", func() { p.Try("merge", "side") }, []string{"reset", "--yes"}, 8,
			"a merge is in progress", ""},
		{"a landing beside another git", func() { putFile(t, lock, "") }, []string{"land"}, 1,
			"hint: try again when it is done", ""},
		{"a rewind over changes", func() { p.Write("a", "new\n") }, []string{"rewind", "0", "--yes"}, 8,
			"hint: commit or stash them; git ralph rewind takes back only what is committed", "--dirty"},
		{"a restore beside changes", func() { p.Write("test.sh", "true\n") }, []string{"restore", "1"}, 0,
			"which were not touched: test.sh\ngit restore -- PATH takes one file back", "git clean"},
		{"settings behind a link", func() {
			if err := os.Rename(filepath.Join(p.Dir, "ralph.toml"), outside(p, "toml")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../toml", filepath.Join(p.Dir, "ralph.toml")); err != nil {
				t.Fatal(err)
			}
		}, []string{"start"}, 8, "is a symbolic link\nhint: put the file itself there", ""},
	} {
		row.state()
		refs, state := p.Git("for-each-ref"), p.Git("status", "--porcelain", "--untracked-files=no")
		r := p.run(t, nil, row.args...)
		if said := r.out + r.err; r.code != row.code || !strings.Contains(said, row.says) ||
			row.not != "" && strings.Contains(said, row.not) {
			t.Errorf("%s: exit %d, expected %d and %q, not %q\n%s", row.why, r.code, row.code, row.says, row.not, said)
		}
		if now := p.Git("for-each-ref"); now != refs {
			t.Errorf("%s: refs were\n%s\nand are\n%s", row.why, refs, now)
		}
		if now := p.Git("status", "--porcelain", "--untracked-files=no"); now != state && row.code != 0 {
			t.Errorf("%s: git status was\n%s\nand is\n%s", row.why, state, now)
		}
		os.Remove(lock)
		undo()
	}
	if got := p.Read("ralph.toml"); got != toml {
		t.Errorf("ralph.toml is %q", got)
	}
}

// TestShallowJournal: a clone has only the newest entries. The message names a working
// command for the others.
func TestShallowJournal(t *testing.T) {
	t.Parallel()
	long.Only(t, "a shallow clone")
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing")
	p.run(t, nil, "start")
	clone := filepath.Join(filepath.Dir(p.Dir), "clone")
	p.Git("clone", "-q", "--depth", "1", "file://"+p.Dir, clone)
	here := *p
	r := *p.Repo
	r.Dir, here.Repo = clone, &r
	here.Git("fetch", "-q", "--depth", "1", "origin", "refs/ralph/*:refs/ralph/*")
	for _, args := range [][]string{{"restore", "1"}, {"fsck"}} {
		got := here.run(t, nil, args...)
		if got.code != 1 || !strings.Contains(got.err, "git fetch --unshallow REMOTE 'refs/ralph/*:refs/ralph/*'") {
			t.Errorf("%v: exit %d\n%s%s", args, got.code, got.out, got.err)
		}
	}
	here.Git("fetch", "-q", "--unshallow", "origin", "refs/ralph/*:refs/ralph/*", "refs/notes/*:refs/notes/*")
	here.must(t, "fsck")
}
