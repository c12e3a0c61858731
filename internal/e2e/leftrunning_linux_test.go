package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"git-ralph/internal/proc"
)

// TestCommandsOfKilledRunsEnd: without a sandbox, what a killed run leaves
// running is ended by the next command that writes, also a command that belongs
// to no iteration and one that left its session.
func TestCommandsOfKilledRunsEnd(t *testing.T) {
	t.Parallel()
	const hang = "setsid sh -c 'echo $$ > \\\"$O/pid\\\"; : > \\\"$O/in\\\"; exec sleep 600' & sleep 600"
	for _, row := range []struct{ why, settings string }{
		{"the last proof", "[[checks]]\nname = \"test\"\nrun = \"case $PWD in */checkouts/*) " + hang + ";; esac\"\n"},
		{"the setup", "[project]\nsetup = [\"" + hang + "\"]\n" + check},
		{"the baseline", "[[checks]]\nname = \"test\"\nrun = \"" + hang + "\"\n"},
	} {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, row.settings+"\n[guard]\nsandbox = \"off\"\n", nil)
			outer := filepath.Dir(p.Dir)
			p.Env = append(p.Env, "O="+outer)
			p.must(t, "add", "a thing")
			c := exec.Command(self(t), "start")
			c.Dir, c.Env = p.Dir, p.Env
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the command runs", func() bool { return exists(filepath.Join(outer, "in")) })
			c.Process.Kill()
			c.Wait()
			text, err := os.ReadFile(filepath.Join(outer, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			left := proc.IdentityOf(pid)
			if !left.Alive() {
				t.Fatalf("process %d ended with the run, which proves nothing", pid)
			}
			r := p.run(t, nil, "add", "another thing")
			if r.code != 0 || !strings.Contains(r.err, "that the dead run had left") {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			if left.Alive() {
				t.Errorf("process %d still runs", pid)
			}
			if rest, _ := filepath.Glob(filepath.Join(p.Dir, ".git", "ralph", "running", "*")); len(rest) > 0 {
				t.Errorf("left behind: %v", rest)
			}
		})
	}
}
