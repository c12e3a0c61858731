package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestFsckRepairsRefs: a missing, invalid or dangling ref is moved aside, and
// the journal continues from the newest entry there is.
func TestFsckRepairsRefs(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the damage")
	const ref = "refs/ralph/heads/main"
	loose := func(p *project) string { return filepath.Join(p.Dir, ".git", filepath.FromSlash(ref)) }
	lose := func(t *testing.T, p *project, id string) {
		t.Helper()
		for _, dir := range []string{id[:2], filepath.Join("ralph", id[:2])} {
			if err := os.Remove(filepath.Join(p.Dir, ".git", "objects", dir, id[2:])); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(p.Dir, ".git", "objects", "ralph")); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		why    string
		damage func(t *testing.T, p *project)
		says   string
	}{
		{"the newest entry is gone", func(t *testing.T, p *project) { lose(t, p, p.Git("rev-parse", ref)) },
			"the log of its ref"},
		{"an object of its state is gone", func(t *testing.T, p *project) { lose(t, p, p.Git("rev-parse", ref+":run.toml")) },
			"its history"},
		{"the ref is empty, as after a power cut", func(t *testing.T, p *project) {
			if err := os.WriteFile(loose(p), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "the log of its ref"},
		{"the ref holds something else", func(t *testing.T, p *project) {
			if err := os.WriteFile(loose(p), []byte(strings.Repeat("\x00", 41)), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "the log of its ref"},
		{"the ref is gone, its log too", func(t *testing.T, p *project) {
			if err := os.Remove(loose(p)); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(p.Dir, ".git", "logs", "refs", "ralph")); err != nil {
				t.Fatal(err)
			}
		}, "no ref leads to"},
		{"evidence leads to nothing", func(t *testing.T, p *project) {
			path := filepath.Join(p.Dir, ".git", "refs", "ralph", "evidence", "x", "y")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Repeat("1", 40)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "moved to"},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, check, nil)
			p.must(t, "add", "one")
			p.must(t, "add", "two")
			p.must(t, "pause")
			row.damage(t, p)
			if r := p.run(t, nil, "fsck"); r.code != 1 || !strings.Contains(r.out+r.err, "fsck --repair") &&
				!strings.Contains(r.out+r.err, "git update-ref "+ref) {
				t.Errorf("fsck: exit %d\n%s%s", r.code, r.out, r.err)
			}
			r := p.run(t, nil, "fsck", "--repair")
			if r.code != 0 || !strings.Contains(r.out, row.says) {
				t.Fatalf("exit %d\n%s%s\nwanted: %s", r.code, r.out, r.err, row.says)
			}
			if kept, _ := filepath.Glob(filepath.Join(p.Dir, ".git", "ralph", "damaged", "*")); len(kept) != 1 {
				t.Errorf("moved aside: %v", kept)
			}
			p.must(t, "fsck")
			if out := p.must(t, "tasks"); !strings.Contains(out, "two") {
				t.Errorf("%s", out)
			}
			p.must(t, "add", "three")
		})
	}
}
