package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestJournalRefWithoutASandbox: whatever an agent does to the journal's ref, the
// run ends by itself and says so. The journal is intact without a repair.
func TestJournalRefWithoutASandbox(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	const ref = "refs/ralph/heads/main"
	for _, row := range long.Sample(t, []struct {
		why, do string
		code    int
	}{
		{"it leads to a commit of the code", git + " update-ref " + ref + " HEAD", 5},
		{"it leads to an older entry", git + " update-ref " + ref + " " + ref + "~2", 5},
		{"it leads to an older entry and is read there", git + " update-ref " + ref + " " + ref + "~2; sleep 1", 5},
		{"it leads to an older entry and a person adds a task there", git + " update-ref " + ref + " " + ref +
			"~2; env -i HOME=$HOME PATH=/usr/bin:/bin ../bin/git-ralph add 'in between'", 5},
		{"a folder in its place", "rm .git/" + ref + "; mkdir -p .git/" + ref + "/x; echo 1 > .git/" + ref + "/x/y", 5},
		{"something unreadable", "echo garbage > .git/" + ref, 5},
		{"a lock beside it", "touch .git/" + ref + ".lock .git/refs/notes/ralph.lock", 0},
	}, 7) {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "if [ \"$RALPH_ITERATION\" != 1 ]; then "+row.do+"; fi\n"+doTask,
				check+"[guard]\nsandbox = \"off\"\n", nil)
			p.must(t, "add", "the first thing")
			p.must(t, "add", "the second thing")
			r := p.run(t, nil, "start")
			if r.code != row.code || row.code == 5 && !strings.Contains(r.err, ref) {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			if got := p.must(t, "tasks"); !strings.Contains(got, "T-001") || !strings.Contains(got, "T-002") ||
				strings.Contains(row.do, "in between") && !strings.Contains(got, "in between") {
				t.Errorf("tasks:\n%s%s%s", got, r.out, r.err)
			}
			p.must(t, "show", "2")
			if r := p.run(t, nil, "fsck"); r.code != 0 {
				t.Errorf("fsck: exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.must(t, "add", "a third thing")
		})
	}
}
