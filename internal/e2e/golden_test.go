package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGoldenJournals: journals of earlier versions are readable, sound and can
// be continued.
func TestGoldenJournals(t *testing.T) {
	t.Parallel()
	bundles, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "golden", "*.bundle"))
	if err != nil || len(bundles) == 0 {
		t.Fatalf("no journals: %v", err)
	}
	for _, bundle := range bundles {
		t.Run(filepath.Base(bundle), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, check, nil)
			path, err := filepath.Abs(bundle)
			if err != nil {
				t.Fatal(err)
			}
			p.Git("fetch", "-q", path, "+refs/ralph/*:refs/ralph/*", "+refs/notes/ralph:refs/notes/ralph",
				"+refs/heads/main:refs/heads/golden")
			p.Git("reset", "-q", "--hard", "golden")
			want, err := os.ReadFile(strings.TrimSuffix(path, ".bundle") + ".tasks")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), p.must(t, "tasks")); d != "" {
				t.Errorf("tasks: %s", d)
			}
			for _, args := range []string{"fsck", "status", "status --json", "log", "log --json", "history", "stats", "show 1",
				"show 2", "diff 1", "knowledge", "prompt T-002"} {
				p.must(t, strings.Fields(args)...)
			}
			p.must(t, "add", "one more")
			if out := p.must(t, "tasks"); !strings.Contains(out, "one more") {
				t.Errorf("%s", out)
			}
			p.must(t, "fsck")
		})
	}
}
