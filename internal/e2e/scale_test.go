package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/history"
	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// scaled is a repository with a long journal, a bare remote that has all of it, and
// what was measured there.
type scaled struct {
	*repo.Repo
	t       testing.TB
	bin     string
	remote  string
	entries int
	cells   map[string]string
	names   []string
}

// scaledRepo makes a journal of so many entries and tasks.
func scaledRepo(t testing.TB, bin string, entries, tasks int) *scaled {
	t.Helper()
	r := repo.New(t, map[string]string{"README": "hello\n",
		"ralph.toml": "[agent]\ndriver = \"command\"\ncommand = [\"true\"]\n" + endless})
	r.Git("config", "gc.auto", "0")
	began := time.Now()
	history.Make(t, r, history.Options{Iterations: entries / 2, Tasks: tasks})
	s := &scaled{Repo: r, t: t, bin: bin, remote: filepath.Join(r.Dir, "..", "remote.git"), entries: entries,
		cells: map[string]string{}}
	s.Env = append(s.Env, "RALPH_TRUST=1", "XDG_RUNTIME_DIR="+filepath.Join(r.Dir, "..", "home"))
	s.put("the journal is made", fmt.Sprintf("%.1f s", time.Since(began).Seconds()))
	r.Git("init", "-q", "-b", "main", "--bare", s.remote)
	r.Git("remote", "add", "origin", s.remote)
	r.Git("push", "-q", "origin", "main")
	return s
}

func (s *scaled) put(name, value string) {
	s.names = append(s.names, name)
	s.cells[name] = value
}

// cost is the CPU time, memory and loose objects of a command.
type cost struct {
	cpu     time.Duration // of all its processes
	memory  int64         // of the largest one, in bytes
	objects int           // that it left loose
	bytes   int64
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s, %d MB", c.cpu.Seconds(), c.memory>>20)
}

// measure runs git ralph in a folder and counts the loose objects that it adds to
// repository.
func (s *scaled) measure(dir, repository string, code int, args ...string) cost {
	s.t.Helper()
	objects, bytes := loose(s.t, repository)
	c := s.metered(dir, code, append([]string{s.bin}, args...)...)
	now, size := loose(s.t, repository)
	c.objects, c.bytes = now-objects, size-bytes
	return c
}

// metered runs a command under a process that reports its cost.
func (s *scaled) metered(dir string, code int, argv ...string) cost {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	report := filepath.Join(s.t.TempDir(), "report")
	cmd := exec.Command(self, argv...)
	cmd.Dir, cmd.Env = dir, append(s.Env, meterTo+"="+report)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		s.t.Fatalf("%s: %v\n%.2000s", strings.Join(argv, " "), err, out)
	}
	var c cost
	data, err := os.ReadFile(report)
	if err == nil {
		_, err = fmt.Sscan(string(data), &c.cpu, &c.memory)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// meterTo names a file. With it, this test binary runs the command in its arguments
// and writes its cost there. A forked process counts its parent's memory as its
// own, and a test has more memory than what it measures.
const meterTo = "RALPH_TEST_METER"

func meter(report string) int {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = []string{"BE_GIT_RALPH=1"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, meterTo+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err := os.WriteFile(report, fmt.Appendln(nil, int64(took), peak(cmd.ProcessState)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// here measures a command in the repository and puts it into the table.
func (s *scaled) here(name string, args ...string) cost {
	s.t.Helper()
	c := s.measure(s.Dir, filepath.Join(s.Dir, ".git"), 0, args...)
	s.put(name, c.String())
	return c
}

// loose counts the loose objects of a repository and their bytes.
func loose(t testing.TB, repository string) (n int, bytes int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(repository, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && len(d.Name()) == 38 {
			if info, err := d.Info(); err == nil {
				n, bytes = n+1, bytes+info.Size()
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, bytes
}

// appends measures an entry that changes no task and one that does.
func (s *scaled) appends() (plain, task cost) {
	s.here("the first append", "inject", "go on")
	plain = s.here("append", "inject", "go on with the second thing")
	task = s.here("append, a task changes", "skip", "T-004")
	s.put("objects and bytes of an entry", fmt.Sprintf("%d, %d", plain.objects, plain.bytes))
	s.put("the same where a task changes", fmt.Sprintf("%d, %d", task.objects, task.bytes))
	return plain, task
}

// shares pushes the journal, then one more entry. It returns the objects and
// bytes that this one brought to the remote.
func (s *scaled) shares() cost {
	s.here("the first push", "push", "origin")
	s.measure(s.Dir, s.remote, 0, "inject", "the third thing")
	c := s.measure(s.Dir, s.remote, 0, "push", "origin")
	s.put("push of one more entry", c.String())
	s.put("objects and bytes that it sends", fmt.Sprintf("%d, %d", c.objects, c.bytes))
	return c
}

// resumes clones the remote, pulls the journal and runs one iteration.
func (s *scaled) resumes() {
	dir := filepath.Join(s.Dir, "..", "clone")
	began := time.Now()
	s.put("git clone, without the journal", s.metered(s.Dir, 0, "git", "clone", "-q", s.remote, dir).String())
	for key, value := range map[string]string{"user.name": "A U Thor", "user.email": "author@example.com"} {
		set := exec.Command("git", "-C", dir, "config", key, value)
		set.Env = s.Env
		if out, err := set.CombinedOutput(); err != nil {
			s.t.Fatalf("git config: %v\n%s", err, out)
		}
	}
	pull := s.measure(dir, filepath.Join(dir, ".git"), 0, "pull", "origin")
	s.put("pull in the clone", pull.String())
	s.put("one iteration in the clone", s.measure(dir, filepath.Join(dir, ".git"), 4, "start", "--unchecked",
		"--max-iterations", "1").String())
	s.put("clone, pull and go on, by the clock", fmt.Sprintf("%.1f s", time.Since(began).Seconds()))
	s.put("`show` in the clone", s.measure(dir, filepath.Join(dir, ".git"), 0, "show", "77").String())
}

// reads measures the reading commands.
func (s *scaled) reads() {
	for _, c := range [][]string{{"status"}, {"log", "-n", "20"}, {"tasks"}, {"prompt"}} {
		s.here("`"+strings.Join(c, " ")+"`", c...)
	}
	s.here("`show` of an old iteration, the first time", "show", "77")
	s.here("`show` of an old iteration", "show", "77")
	for _, c := range [][]string{{"history"}, {"stats"}, {"log", "--json"}, {"fsck"}} {
		cost := s.here("`"+strings.Join(c, " ")+"`", c...)
		s.put("`"+strings.Join(c, " ")+"`, an entry", fmt.Sprintf("%.0f µs", float64(cost.cpu.Microseconds())/
			float64(s.entries)))
	}
	st, err := exec.Command("du", "-sm", filepath.Join(s.Dir, ".git")).Output()
	if err == nil {
		s.put("the repository", strings.Fields(string(st))[0]+" MB")
	}
}

// TestScale: an entry costs the same objects and bytes, locally and in a push,
// however long the journal. RALPH_SCALE=1000,10000,100000 measures everything at
// those lengths with 5,000 tasks and writes doc/scale.md; `just scale` does that.
func TestScale(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, f := range strings.Split(os.Getenv("RALPH_SCALE"), ",") {
		if n, err := strconv.Atoi(f); err == nil {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) > 0 {
		measureScale(t, bin, sizes)
		return
	}
	long.Only(t, "it compares a long journal with a short one")
	t.Parallel()
	early, late := scaledRepo(t, bin, 50, 80), scaledRepo(t, bin, long.Number(t, 200, 2000), 80)
	var costs [2][3]cost
	for i, s := range []*scaled{early, late} {
		plain, task := s.appends()
		costs[i] = [3]cost{plain, task, s.shares()}
	}
	for i, why := range []string{"an entry", "an entry in which a task changes", "an entry that is pushed"} {
		a, b := costs[0][i], costs[1][i]
		if a.objects != b.objects || a.objects == 0 || b.bytes > a.bytes+a.bytes/20 {
			t.Errorf("%s: %d objects of %d bytes after %d entries, %d of %d after %d", why, a.objects, a.bytes,
				early.entries, b.objects, b.bytes, late.entries)
		}
	}
}

func measureScale(t *testing.T, bin string, sizes []int) {
	const tasks = 5000
	var all []*scaled
	for _, n := range sizes {
		s := scaledRepo(t, bin, n, tasks)
		s.appends()
		s.reads()
		s.shares()
		s.resumes()
		for _, name := range s.names {
			t.Logf("%d entries: %s: %s", n, name, s.cells[name])
		}
		all = append(all, s)
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, s := range all {
		fmt.Fprintf(&b, " %d entries |", s.entries)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, name := range all[0].names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, s := range all {
			fmt.Fprintf(&b, " %s |", s.cells[name])
		}
		b.WriteString("\n")
	}
	writeFigures(t, "scale.md", b.String())
}
