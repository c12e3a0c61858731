package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// hang is a command that never ends. It starts a second process in its own
// session. env can also empty that process's environment.
func hang(env string) string {
	return env + `setsid sh -c 'sh -c \"echo \\$\\$ >pid; : >in; exec sleep 600\" & exit 0'; sleep 600`
}

// TestCommandsOfKilledRunsEnd: without a sandbox, commands of a killed run end with
// it, also one outside of an iteration and one that left its session and emptied its
// environment. If the keeper was killed too, the next command that writes ends what
// still carries the mark.
func TestCommandsOfKilledRunsEnd(t *testing.T) {
	t.Parallel()
	const emptied = `env -i PATH=\"$PATH\" `
	for _, row := range long.Sample(t, []struct {
		why, env string
		setup    bool
		proof    bool // only in the fresh checkout
		alone    bool // the keeper lives
	}{
		{why: "the last proof", proof: true},
		{why: "the setup", setup: true},
		{why: "the baseline"},
		{why: "the last proof, kept", proof: true, env: emptied, alone: true},
		{why: "the baseline, kept", env: emptied, alone: true},
	}, 2) {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			run := "cd " + outer + "; " + hang(row.env)
			settings := "[[checks]]\nname = \"test\"\nrun = \"" + run + "\"\n"
			if row.setup {
				settings = "[project]\nsetup = [\"" + run + "\"]\n" + check
			}
			if row.proof {
				settings = "[[checks]]\nname = \"test\"\nrun = \"case $PWD in */checkouts/*) " + run + ";; esac\"\n"
			}
			p := newProject(t, doTask, settings+"\n[guard]\nsandbox = \"off\"\n", nil)
			p.must(t, "add", "a thing")
			c := exec.Command(self(t), "start")
			c.Dir, c.Env = p.Dir, p.Env
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the command runs", func() bool { return exists(filepath.Join(outer, "in")) })
			if !row.alone {
				c.Process.Signal(syscall.SIGSTOP) // else it would end the orphans
				killKeepers(t, p)
			}
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
			if row.alone {
				waitFor(t, "what was left running has ended", func() bool { return !left.Alive() })
				return
			}
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

// killKeepers kills the parents of the commands that a project runs now.
func killKeepers(t *testing.T, p *project) {
	t.Helper()
	n := 0
	for _, environ := range processesOf(p) {
		dir := filepath.Dir(environ)
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && strings.Contains(string(line), "\x00sandbox\x00keep\x00") {
			syscall.Kill(pid, syscall.SIGKILL)
			n++
		}
	}
	if n == 0 {
		t.Fatal("no command has a keeper")
	}
}
