package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// TestLongRunsAreTidied: a run packs its loose objects at the user's gc.auto
// threshold, and never if that is 0.
func TestLongRunsAreTidied(t *testing.T) {
	t.Parallel()
	long.Only(t, "it makes many iterations")
	settings :=
		"[guard]\nsandbox = \"off\"\n[loop]\nmax_attempts = 0\n[breaker]\nfailures = 0\nstagnation = 0\n[evidence]\nkeep = " +
			"5\n[validation]\nbaseline = \"off\"\n"
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
			// git samples one of 256 object folders: a few more than enough.
			looseObjects(t, p, 2000)
			p.must(t, "add", "the first thing", "--verify", "true")
			if r := p.run(t, nil, "start", "--max-iterations", "3"); r.code != 4 || strings.Contains(r.err, "tidy") ||
				strings.Contains(r.err, "pruned") {
				t.Fatalf("exit %d\n%s", r.code, r.err)
			}
			if got := strings.Contains(p.Git("count-objects", "-v"), "in-pack: 0"); got == row.packed {
				t.Errorf("packed: %v\n%s", !got, p.Git("count-objects", "-v"))
			}
			p.sound(t)
		})
	}
}

// looseObjects puts n small objects into the repository, each in a file of its own.
func looseObjects(t *testing.T, p *project, n int) {
	t.Helper()
	dir := t.TempDir()
	var paths strings.Builder
	for i := range n {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
		paths.WriteString(path + "\n")
	}
	c := exec.Command("git", "hash-object", "-w", "--stdin-paths")
	c.Dir, c.Env, c.Stdin = p.Dir, p.Env, strings.NewReader(paths.String())
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git hash-object: %v\n%s", err, out)
	}
}

// TestRunsLeaveLittle: thirty iterations leave at most one and a half times the
// bytes of a loop that only commits the same files.
func TestRunsLeaveLittle(t *testing.T) {
	long.Only(t, "thirty iterations take long")
	t.Parallel()
	const work = "seq 1 200 | sed \"s/^/$N line /\" > f$N.txt\n"
	p := newProject(t, "N=$RALPH_ITERATION\n"+work+doTask,
		"[guard]\nsandbox = \"off\"\n[validation]\nfresh = \"never\"\n", nil)
	var plan strings.Builder
	for i := range 30 {
		fmt.Fprintf(&plan, "- [ ] task %d\n", i)
	}
	p.Write("../plan.md", plan.String())
	p.must(t, "import", "../plan.md")
	p.must(t, "start", "--unchecked")
	ours := diskUse(t, filepath.Join(p.Dir, ".git"))

	plain := repo.New(t, map[string]string{"README": "x\n"})
	script := exec.Command("sh", "-ec", "for N in $(seq 30); do\n"+work+
		"echo $N > out-T-$N.txt; git add -A; git commit -qm \"iteration $N\"; done")
	script.Dir, script.Env = plain.Dir, plain.Env
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if theirs := diskUse(t, filepath.Join(plain.Dir, ".git")); 2*ours > 3*theirs {
		t.Errorf("%d KiB, a plain loop %d KiB", ours, theirs)
	}
	p.sound(t)
}

// diskUse is the space that a folder takes on the disk, in KiB.
func diskUse(t *testing.T, dir string) int {
	t.Helper()
	out, err := exec.Command("du", "-sk", dir).Output()
	if err != nil {
		t.Skipf("du: %v", err)
	}
	n, err := strconv.Atoi(strings.Fields(string(out))[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
