package e2e

import (
	"strings"
	"testing"
)

// TestLongRunsAreTidied: a run packs its loose objects by the rule that the user
// gave git, and not at all where they switched that off.
func TestLongRunsAreTidied(t *testing.T) {
	settings := "[guard]\nsandbox = \"off\"\n[loop]\nmax_attempts = 0\n[breaker]\nfailures = 0\nstagnation = 0\n[evidence]\nkeep = 5\n[validation]\nbaseline = \"off\"\n"
	rows := []struct {
		why, auto string
		packed    bool
	}{
		{"the user's threshold is passed", "100", true},
		{"the user switched it off", "0", false},
	}
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "echo \"$RALPH_ITERATION\" > out.txt\nexit 1\n", settings, nil)
			p.Git("config", "gc.auto", row.auto)
			p.must(t, "add", "the first thing", "--verify", "true")
			// git looks at one of 256 folders of objects: a few more than enough.
			if r := p.run(t, nil, "start", "--max-iterations", "60"); r.code != 4 || strings.Contains(r.err, "tidy") || strings.Contains(r.err, "pruned") {
				t.Fatalf("exit %d\n%s", r.code, r.err)
			}
			if got := strings.Contains(p.Git("count-objects", "-v"), "in-pack: 0"); got == row.packed {
				t.Errorf("packed: %v\n%s", !got, p.Git("count-objects", "-v"))
			}
			p.sound(t)
		})
	}
}
