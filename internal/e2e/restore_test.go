package e2e

import (
	"strings"
	"testing"
)

// TestRestoreAndDiff: the worktree of a rejected attempt comes back, into a clean
// tree or a branch of its own, never over what a person has changed; and its
// changes can be looked at with git's own options.
func TestRestoreAndDiff(t *testing.T) {
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
	if got := p.must(t, "diff", "1", "--word-diff", "--", "a.txt"); !strings.Contains(got, "[-were-]{+changed+}") || strings.Contains(got, "n.txt") {
		t.Errorf("diff --word-diff:\n%s", got)
	}

	p.Write("a.txt", "mine\n")
	if r := p.run(t, nil, "restore", "1"); r.code == 0 || p.Read("a.txt") != "mine\n" || p.Read("n.txt") != "" {
		t.Errorf("over a person's change: exit %d, %q\n%s%s", r.code, p.Read("a.txt"), r.out, r.err)
	}
	before := p.Git("rev-parse", "HEAD")
	p.must(t, "restore", "1", "--branch=tried")
	if got := p.Git("diff", "--name-status", "main", "tried"); !strings.Contains(got, "M\ta.txt") || !strings.Contains(got, "D\tgone.txt") || !strings.Contains(got, "A\tn.txt") {
		t.Errorf("the branch has:\n%s", got)
	}
	if p.Git("rev-parse", "HEAD") != before || p.Read("a.txt") != "mine\n" {
		t.Error("making a branch moved something else")
	}
	p.Git("checkout", "-q", "a.txt")
	p.must(t, "restore", "1")
	if p.Read("a.txt") != "words changed here\n" || p.Read("n.txt") != "new\n" || p.Read("gone.txt") != "" || p.Read("other/b.txt") != "b\n" {
		t.Errorf("restored: %q %q %q", p.Read("a.txt"), p.Read("n.txt"), p.Read("gone.txt"))
	}
	if got := p.Git("diff", "--cached", "--name-only"); got != "" {
		t.Errorf("staged: %s", got)
	}
}
