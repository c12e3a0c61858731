package e2e

import (
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate/object"
)

// TestRestoreAndDiff: restore brings back the worktree of a rejected attempt,
// into a clean tree or a new branch, never over a person's changes. diff shows
// its changes with git's own options.
func TestRestoreAndDiff(t *testing.T) {
	t.Parallel()
	p := newProject(t, "echo words changed here > a.txt; echo new > n.txt; rm gone.txt\n", "[loop]\nmax_attempts = 1\n",
		map[string]string{"a.txt": "words were here\n", "gone.txt": "g\n", "other/b.txt": "b\n"})
	p.must(t, "add", "change things", "--verify", "true")
	if r := p.run(t, nil, "start"); r.code != 3 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Git("status", "--porcelain"); got != "" {
		t.Fatalf("the attempt is still there: %s", got)
	}
	if got := p.must(t, "diff", "1", "--stat"); !strings.Contains(got, "3 files changed") {
		t.Errorf("diff --stat:\n%s", got)
	}
	if got := p.must(t, "diff", "1", "--word-diff", "--", "a.txt"); !strings.Contains(got, "[-were-]{+changed+}") ||
		strings.Contains(got, "n.txt") {
		t.Errorf("diff --word-diff:\n%s", got)
	}

	p.Write("a.txt", "mine\n")
	if r := p.run(t, nil, "restore", "1"); r.code == 0 || p.Read("a.txt") != "mine\n" || p.Read("n.txt") != "" {
		t.Errorf("over a person's change: exit %d, %q\n%s%s", r.code, p.Read("a.txt"), r.out, r.err)
	}
	before := p.Git("rev-parse", "HEAD")
	p.must(t, "restore", "1", "--branch=tried")
	if got := p.Git("diff", "--name-status", "main", "tried"); !strings.Contains(got, "M\ta.txt") ||
		!strings.Contains(got, "D\tgone.txt") || !strings.Contains(got, "A\tn.txt") {
		t.Errorf("the branch has:\n%s", got)
	}
	if p.Git("rev-parse", "HEAD") != before || p.Read("a.txt") != "mine\n" {
		t.Error("making a branch moved something else")
	}
	p.Git("checkout", "-q", "a.txt")
	p.must(t, "restore", "1")
	if p.Read("a.txt") != "words changed here\n" || p.Read("n.txt") != "new\n" || p.Read("gone.txt") != "" ||
		p.Read("other/b.txt") != "b\n" {
		t.Errorf("restored: %q %q %q", p.Read("a.txt"), p.Read("n.txt"), p.Read("gone.txt"))
	}
	if got := p.Git("diff", "--cached", "--name-only"); got != "" {
		t.Errorf("staged: %s", got)
	}
}

// TestForeignTrees: evidence from elsewhere has paths that git refuses. They
// are named, and nothing is written or removed.
func TestForeignTrees(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the trees")
	p := newProject(t, "echo new > n.txt\n", "[loop]\nmax_attempts = 1\n", nil)
	p.must(t, "add", "change things", "--verify", "false")
	if r := p.run(t, nil, "start"); r.code != 3 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	name := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/evidence")
	commit := p.Git("rev-parse", name)
	raw := func(entries ...object.TreeEntry) object.ID {
		p.Write("../tree", string(object.EncodeTree(entries)))
		id, err := object.ParseID(p.Git("hash-object", "-t", "tree", "-w", "--literally", "../tree"))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	p.Write("../hook", "#!/bin/sh\ntouch \"$HOME/owned\"\n")
	blob, err := object.ParseID(p.Git("hash-object", "-w", "../hook"))
	if err != nil {
		t.Fatal(err)
	}
	hooks := raw(object.TreeEntry{Name: "hooks", Mode: object.ModeDir,
		ID: raw(object.TreeEntry{Name: "post-checkout", Mode: object.ModeExecutable, ID: blob})})
	for _, e := range []object.TreeEntry{
		{Name: ".git", Mode: object.ModeDir, ID: hooks}, {Name: ".GIT", Mode: object.ModeDir, ID: hooks},
		{Name: "git~1", Mode: object.ModeDir, ID: hooks}, {Name: ".g\u200cit", Mode: object.ModeDir, ID: hooks},
		{Name: ".git ", Mode: object.ModeDir, ID: hooks}, {Name: `.git\hooks\x`, Mode: object.ModeRegular, ID: blob},
		{Name: "..", Mode: object.ModeDir, ID: hooks}, {Name: "a/b", Mode: object.ModeRegular, ID: blob},
		{Name: ".gitmodules", Mode: object.ModeSymlink, ID: blob},
	} {
		tree := raw(object.TreeEntry{Name: "aaa.txt", Mode: object.ModeRegular, ID: blob}, e)
		top := raw(object.TreeEntry{Name: "worktree", Mode: object.ModeDir, ID: tree},
			object.TreeEntry{Name: "prompt.md", Mode: object.ModeRegular, ID: blob})
		p.Git("update-ref", name, p.Git("commit-tree", top.String(), "-m", "evidence", "-p", commit+"^1"))
		for _, args := range [][]string{{"restore", "1"}, {"restore", "1", "--before"}} {
			r := p.run(t, nil, args...)
			if len(args) == 2 && (r.code == 0 || !strings.Contains(r.err, "git refuses")) {
				t.Errorf("%q: exit %d\n%s%s", e.Name, r.code, r.out, r.err)
			}
			if p.Read("aaa.txt") != "" || p.Read(".git/hooks/post-checkout") != "" || p.Git("status", "--porcelain") != "" {
				t.Fatalf("%q: something was written", e.Name)
			}
		}
		if r := p.run(t, nil, "fsck"); r.code != 1 || !strings.Contains(r.out, "git refuses") {
			t.Errorf("fsck does not name %q: exit %d\n%s%s", e.Name, r.code, r.out, r.err)
		}
	}
}
