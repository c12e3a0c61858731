package e2e

import (
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestResetKilledAnywhere: a killed reset is finished or was never begun, not
// half done. The same command again does the rest.
func TestResetKilledAnywhere(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills a reset at every step")
	steps := []string{"keep:objects", "keep:intent", "keep:index-lock", "keep:index-written",
		"keep:refs-prepared", "keep:refs-committed",
		"keep:index-renamed", "restore remove", "keep:note"}
	for _, step := range steps {
		t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, check, map[string]string{"specs/one.md": "# One\n", "specs/two.md": "# Two\n",
				"specs/notes.txt": "no spec\n"})
			p.must(t, "add", "the first thing")
			if r := p.run(t, []string{"RALPH_FAILPOINT=" + step}, "reset", "--yes"); r.code != -1 {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.must(t, "inject", "any command that writes")
			log, specs := p.Git("log", "--format=%s", "refs/ralph/heads/main"), p.Git("ls-files", "specs/*.md")
			if strings.Contains(log, "reset") != (specs == "") {
				t.Errorf("half of it: the branch has %q, the journal\n%s", specs, log)
			}
			p.must(t, "reset", "--yes")
			if got := p.Git("ls-files", "specs") + p.Read("specs/one.md"); got != "specs/notes.txt" {
				t.Errorf("left: %q", got)
			}
			if got := p.must(t, "tasks"); strings.Contains(got, "the first thing") {
				t.Errorf("the plan is still there:\n%s", got)
			}
			p.sound(t)
		})
	}
}
