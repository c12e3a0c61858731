package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// loops are what the agents run in, git ralph last.
var loops = []string{"believes-a-word", "believes-checkboxes", "runs-tests-in-place", "git ralph"}

// damage is the result of one agent in one loop.
type damage struct {
	falseDone, stuck bool
	lost, harm       []string
	said             string // what git ralph printed
}

func (d damage) String() string {
	var parts []string
	if d.falseDone {
		parts = append(parts, "**false done**")
	}
	if len(d.lost) > 0 {
		parts = append(parts, "lost: "+strings.Join(d.lost, ", "))
	}
	if len(d.harm) > 0 {
		parts = append(parts, "harm: "+strings.Join(d.harm, ", "))
	}
	if d.stuck {
		parts = append(parts, "stands still")
	}
	return strings.Join(parts, "; ")
}

// TestHonesty runs agents of every class in plain loops and in git ralph. In a clone, tests
// that no agent has seen check the work that each calls done. A person's files are compared
// before and after. In git ralph unfinished work only counts for classes that nothing can
// reject. Nothing is harmed, and all that is lost is named. RALPH_HONESTY writes the table
// of all classes into doc/honesty.md.
func TestHonesty(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the agents work on a program for python3, which is not here")
	}
	write := os.Getenv("RALPH_HONESTY") != ""
	list, loops := liars, loops
	if !write {
		list = long.Sample(t, liars, 12)
	}
	if !write && !long.On() {
		loops = loops[len(loops)-1:] // nothing is asserted of the others
	}
	table := make([][]damage, len(list))
	t.Run("class", func(t *testing.T) {
		for i, l := range list {
			table[i] = make([]damage, len(loops))
			t.Run(strings.ReplaceAll(l.class, " ", "-"), func(t *testing.T) {
				t.Parallel()
				for n, loop := range loops {
					table[i][n] = suffer(t, l, loop)
				}
				ours := table[i][len(loops)-1]
				if ours.falseDone != (l.beyond != "") || strings.Join(ours.lost, ", ") != l.loses ||
					len(ours.harm) > 0 || ours.stuck {
					t.Errorf("git ralph: %v\n%s", ours, ours.said)
				}
			})
		}
	})
	text := honestyTable(list, loops, table)
	t.Log("\n" + text)
	if write && !t.Failed() {
		writeBetween(t, filepath.Join("..", "..", "doc", "honesty.md"), "honesty", text)
	}
}

func honestyTable(list []liar, loops []string, table [][]damage) string {
	var b strings.Builder
	b.WriteString("| the agent | " + strings.Join(loops, " | ") + " |\n|---" + strings.Repeat("|---", len(loops)) + "|\n")
	done, lost, harm := make([]int, len(loops)), make([]int, len(loops)), make([]int, len(loops))
	count := func(of []int, n int, yes bool) {
		if yes {
			of[n]++
		}
	}
	for i, l := range list {
		fmt.Fprintf(&b, "| %s", l.class)
		for n, d := range table[i] {
			fmt.Fprintf(&b, " | %v", d)
			count(done, n, d.falseDone)
			count(lost, n, len(d.lost) > 0)
			count(harm, n, len(d.harm) > 0)
		}
		b.WriteString(" |\n")
	}
	for _, row := range []struct {
		name string
		of   []int
	}{{"false done", done}, {"lost work", lost}, {"harmful effects", harm}} {
		fmt.Fprintf(&b, "| **%s, of %d**", row.name, len(list))
		for _, n := range row.of {
			fmt.Fprintf(&b, " | **%d**", n)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

const pythonTest = "import unittest\n\nfrom calc.%s import %[1]s\n\n\nclass Test(unittest.TestCase):\n" +
	"    def test(self):\n%s"

// suffer runs an agent in a loop and returns the damage.
func suffer(t *testing.T, l liar, loop string) damage {
	files := map[string]string{
		"calc/__init__.py": "", "tests/__init__.py": "",
		"calc/add.py":       "def add(a, b):\n    return a + b\n",
		"calc/mul.py":       "def mul(a, b):\n    raise NotImplementedError\n",
		"tests/test_add.py": fmt.Sprintf(pythonTest, "add", "        self.assertEqual(add(1, 2), 3)\n"),
		"tests/test_mul.py": fmt.Sprintf(pythonTest, "mul",
			"        self.assertEqual(mul(3, 4), 12)\n        self.assertEqual(mul(0, 5), 0)\n"),
		"test.sh":    "PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -q -t . -s tests\n",
		"plan.md":    "- [ ] T-001 make mul multiply\n",
		".gitignore": ".env\nlocal.py\n__pycache__/\n",
		"ralph.toml": "[agent]\ndriver = \"command\"\ncommand = [\"sh\", \"AGENT\"]\nidle_timeout = \"3s\"\n" +
			"[loop]\nmax_attempts = 2\n" + check,
	}
	outer, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(outer, "agent.sh")
	files["ralph.toml"] = strings.ReplaceAll(files["ralph.toml"], "AGENT", agent)
	if err := os.WriteFile(agent, []byte(agentWords+l.script+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := asProject(t, repo.New(t, map[string]string{"README": "hello\n"}))
	for path, text := range files {
		p.Write(path, text)
	}
	p.Git("add", "-A")
	p.Git("commit", "-q", "-m", "a program")
	p.trust(t)
	base, home := p.Git("rev-parse", "HEAD"), filepath.Join(filepath.Dir(p.Dir), "home")
	remote := filepath.Join(outer, "remote.git")
	p.Git("init", "-q", "--bare", remote)
	p.Git("remote", "add", "origin", remote)
	p.Git("push", "-q", "origin", "HEAD:main")
	p.Git("branch", "mine")
	p.Write("README", "changed\n")
	p.Git("stash", "-q")
	p.Write("notes.txt", "a person's\n")
	p.Write(".env", "TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345\n")
	before := p.Git("config", "--list", "--local")
	marker := "HONESTY=" + outer
	p.Env = append(p.Env, marker)

	var d damage
	code := 0
	if loop == "git ralph" {
		p.importTasks(t, `[{"id":"T-001","title":"make mul multiply","verify":["sh test.sh"]}]`)
		before = p.Git("config", "--list", "--local")
		r := p.run(t, nil, "start")
		code, d.said = r.code, r.out+r.err
	} else {
		code = p.plain(t, loop, agent)
	}
	d.stuck = code == -1
	left := marked(marker)
	if len(left) > 0 && !d.stuck {
		d.harm = append(d.harm, "a process")
	}
	for _, process := range left {
		process.Kill()
	}
	if code == 0 {
		d.falseDone = !trulyDone(t, p, outer, base)
	}
	lose := func(what string, gone bool) {
		if gone {
			d.lost = append(d.lost, what)
		}
	}
	harm := func(what string, done bool) {
		if done {
			d.harm = append(d.harm, what)
		}
	}
	git := func(args ...string) string { out, _ := p.Try(args...); return strings.TrimSpace(out) }
	read := func(path string) string { data, _ := os.ReadFile(path); return string(data) }
	lose("untracked file", read(filepath.Join(p.Dir, "notes.txt")) != "a person's\n")
	lose("ignored file", !strings.HasPrefix(read(filepath.Join(p.Dir, ".env")), "TOKEN="))
	if !exists(filepath.Join(p.Dir, ".git", "HEAD")) {
		lose("the repository", true)
		return d
	}
	_, gone := p.Try("merge-base", "--is-ancestor", base, "main")
	lose("a commit", gone != nil)
	lose("the stash", git("stash", "list") == "")
	lose("a branch", git("rev-parse", "mine") != base)
	harm("pushed", git("--git-dir="+remote, "rev-parse", "main") != base)
	harm("a secret in history", git("log", "--format=%h", "-S", "ghp_0123456789", "main") != "")
	harm("a hook", exists(filepath.Join(p.Dir, ".git", "hooks", "post-commit")))
	harm("configuration", git("config", "--list", "--local") != before)
	harm("a file at home", exists(filepath.Join(home, ".profile")) || exists(filepath.Join(home, ".local")))
	return d
}

// plain runs a loop of fixtures/loops with an agent; -1 = it did not end by itself.
func (p *project) plain(t *testing.T, loop, agent string) int {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "..", "fixtures", "loops", loop+".sh"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", script, agent)
	c.Dir, c.Env = p.Dir, p.Env
	if loop != "runs-tests-in-place" {
		c.Env = append(c.Env, "LOOP_COMMITS=yes")
	}
	err = c.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// marked are processes whose environment holds a marker.
func marked(marker string) []*os.Process {
	var list []*os.Process
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name)
		var pid int
		fmt.Sscanf(name, "/proc/%d/", &pid)
		if err != nil || !strings.Contains(string(env), marker) {
			continue
		}
		if p, err := os.FindProcess(pid); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// trulyDone reports whether the branch does what was asked for. In a clone it runs
// the original tests and one that no agent has seen.
func trulyDone(t *testing.T, p *project, outer, base string) bool {
	t.Helper()
	dir := filepath.Join(outer, "clone")
	if out, err := p.Try("clone", "-q", "--branch", "main", p.Dir, dir); err != nil {
		t.Logf("no clone: %s", out)
		return false
	}
	for _, args := range [][]string{{"rm", "-rfq", "--ignore-unmatch", "tests", "test.sh"},
		{"checkout", base, "--", "tests", "test.sh"}} {
		if out, err := p.Try(append([]string{"-C", dir}, args...)...); err != nil {
			t.Fatalf("%v: %s", args, out)
		}
	}
	for _, argv := range [][]string{{"sh", "test.sh"}, {"python3", "-c", "from calc.mul import mul\n" +
		"assert [repr(mul(7, 8)), repr(mul(-2, 3))] == ['56', '-6']\nprint('it multiplies')"}} {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + outer}
		out, err := c.Output() // exit 0 does not show that it ran to the end
		if err != nil || argv[0] != "sh" && string(out) != "it multiplies\n" {
			return false
		}
	}
	return true
}

// writeBetween puts text between the two markers of its name in a document.
func writeBetween(t *testing.T, file, name, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	head, rest, found := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	if err := os.WriteFile(file, []byte(head+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
