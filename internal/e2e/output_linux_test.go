package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestOutputInTheWorktree: start writes its output to a file in the worktree. The file is not restored,
// which would lose output. The agent cannot change it, and no commit has it. It survives the recovery of a
// killed start.
func TestOutputInTheWorktree(t *testing.T) {
	t.Parallel()
	agent := "echo hack >> logs/night.log\nrm -f logs/night.log\necho x >> a\n" +
		"test \"$RALPH_ITERATION\" = 1 || echo '{\"fully_complete\": true}' > \"$RALPH_HANDOFF_FILE\"\n"
	for _, row := range long.Sample(t, []struct{ why, line string }{
		{"its standard output", "git-ralph start > logs/night.log 2>&1"},
		{"a file that is written on", "git-ralph start >> logs/night.log 2>&1"},
		{"tee in its pipeline", "git-ralph start 2>&1 | tee logs/night.log"},
	}, 3) {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, agent, check, map[string]string{"a": "a\n"})
			p.must(t, "add", "the first thing")
			p.Write("logs/night.log", "the night before\n")
			c := exec.Command("sh", "-c", row.line)
			c.Dir, c.Env = p.Dir, append(append([]string{}, p.Env...), "PATH="+p.bin+":"+os.Getenv("PATH"))
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s%s", err, out, p.Read("logs/night.log"))
			}
			text := p.Read("logs/night.log")
			for _, want := range []string{"session 1 begins", "reject: not_claimed", "  keep", "next: git log"} {
				if !strings.Contains(text, want) {
					t.Errorf("the output lacks %q:\n%s", want, text)
				}
			}
			if strings.Contains(text, "hack") || strings.Contains(text, "the night before") != strings.Contains(row.line, ">>") {
				t.Errorf("the output is\n%s", text)
			}
			if out := p.Git("status", "--porcelain"); strings.TrimSpace(out) != "?? logs/" {
				t.Errorf("git status: %q", out)
			}
		})
	}
	t.Run("a start that was killed", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "echo x >> a\ntest \"$RALPH_ITERATION\" != 1 || exec tail -f /dev/null\n"+
			"echo '{\"fully_complete\": true}' > \"$RALPH_HANDOFF_FILE\"\n", check, map[string]string{"a": "a\n"})
		p.must(t, "add", "the first thing")
		p.Write("night.log", "")
		f, err := os.OpenFile(filepath.Join(p.Dir, "night.log"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(self, "start")
		c.Dir, c.Env, c.Stdout = p.Dir, p.Env, f
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the agent", func() bool { return strings.HasPrefix(p.Read("a"), "a\nx") })
		c.Process.Kill()
		c.Wait()
		if r := p.run(t, nil, "status"); r.code != 0 {
			t.Errorf("status: exit %d\n%s", r.code, r.err)
		}
		if r := p.run(t, nil, "start"); r.code != 0 {
			t.Errorf("start: exit %d\n%s%s", r.code, r.out, r.err)
		}
		if text := p.Read("night.log"); !strings.Contains(text, "iteration 1: T-001") {
			t.Errorf("the output of the start that was killed is %q", text)
		}
	})
}
