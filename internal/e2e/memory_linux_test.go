package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// memoryGroup makes a control group with little memory and returns the file to
// join it by.
func memoryGroup(t *testing.T, bytes string) string {
	t.Helper()
	for _, g := range []struct{ root, limit string }{
		{"/sys/fs/cgroup", "memory.max"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
	} {
		dir := filepath.Join(g.root, "git-ralph-test-"+filepath.Base(t.TempDir())+time.Now().Format("150405.000000"))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		limit, err := os.OpenFile(filepath.Join(dir, g.limit), os.O_WRONLY, 0) // a plain folder has none
		if err != nil {
			continue
		}
		_, err = limit.WriteString(bytes)
		if limit.Close(); err == nil {
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	t.Skip("no group with a limit of memory can be made here")
	return ""
}

// TestMemoryEnds: an agent or a check that runs out of memory is rejected with that
// reason, and the loop goes on. The test is not parallel: the kernel counts OOM kills for
// the whole machine, so another killed agent would count as well.
func TestMemoryEnds(t *testing.T) {
	long.Only(t, "it uses up memory")
	const glutton = `python3 -c "x = b'x' * 10**9"`
	for _, r := range []struct{ name, agent, check, said string }{
		{"an agent", "echo x > half; exec " + glutton + "\n", check, "limit: memory"},
		{"a check", doTask, "[[checks]]\nname = \"test\"\nrun = '''test ! -e out-T-001.txt || { " + glutton +
			"; exit 3; }'''\n",
			"checks: test (limit: memory)"},
	} {
		t.Run(r.name, func(t *testing.T) {
			group := memoryGroup(t, "400000000")
			p := newProject(t, r.agent, r.check+"[loop]\nmax_attempts = 1\n", nil)
			p.must(t, "add", "a thing")
			c := exec.Command("sh", "-c", `echo $$ > "$1" && exec "$2" start`, "sh", group, self(t))
			c.Dir, c.Env = p.Dir, p.Env
			out, err := c.CombinedOutput()
			if err == nil || !strings.Contains(string(out), r.said) {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := p.must(t, "show", "1"); !strings.Contains(got, r.said) {
				t.Errorf("show 1:\n%s", got)
			}
			if got := p.Git("status", "--porcelain"); got != "" {
				t.Errorf("not restored: %s", got)
			}
		})
	}
}
