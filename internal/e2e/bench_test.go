package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/figures"
	"git-ralph/fixtures/history"
	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// program builds the program as users have it, without cgo.
func program(b testing.TB) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "git-ralph")
	c := exec.Command("go", "build", "-o", bin, "git-ralph")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// series are times of several things, measured in turn, so that other load on
// the machine affects all of them alike.
type series struct {
	b     testing.TB
	names []string
	times map[string][]time.Duration
}

func newSeries(b testing.TB) *series { return &series{b: b, times: map[string][]time.Duration{}} }

func (s *series) add(name string, d time.Duration) {
	if _, ok := s.times[name]; !ok {
		s.names = append(s.names, name)
	}
	s.times[name] = append(s.times[name], d)
}

// run times one command.
func (s *series) run(name, dir string, env []string, argv ...string) {
	s.b.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = dir, env
	began := time.Now()
	out, err := c.CombinedOutput()
	d := time.Since(began)
	if err != nil {
		s.b.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	s.add(name, d)
}

func (s *series) median(name string) time.Duration {
	t := slices.Clone(s.times[name])
	slices.Sort(t)
	return t[len(t)/2]
}

// pair is the ratio of name to base; most is its limit.
type pair struct {
	name, base string
	most       float64
}

// report prints a table of medians and one of ratios.
func (s *series) report(pairs ...pair) {
	fmt.Printf("\n%s\n", s.b.Name())
	for _, n := range s.names {
		fmt.Printf("  %-46s %10s  (median of %d)\n", n, s.median(n).Round(10*time.Microsecond), len(s.times[n]))
	}
	ms := func(name string) float64 { return float64(s.median(name).Microseconds()) / 1000 }
	for _, p := range pairs {
		figures.Put(s.b, figures.Figure{What: p.name, Value: ms(p.name), Unit: "ms", Base: ms(p.base), Against: p.base,
			Most: p.most})
		r := float64(s.median(p.name)) / float64(s.median(p.base))
		word := "ok"
		if r > p.most {
			word = "MORE"
		}
		fmt.Printf("  %-46s %9.2fx of %s, at most %.1fx: %s\n", p.name, r, p.base, p.most, word)
	}
}

// entries is the length of the long journal in iterations of two entries.
func entries() int {
	if long.On() {
		return 50_000
	}
	return 10_000
}

// BenchmarkReading compares reading commands on a long journal and on one of 20
// entries.
func BenchmarkReading(b *testing.B) {
	bin := program(b)
	made := func(iterations, tasks int) *repo.Repo {
		r := repo.New(b, map[string]string{"README": "hello\n",
			"ralph.toml": "[agent]\ndriver = \"command\"\ncommand = [\"true\"]\n"})
		history.Make(b, r, history.Options{Iterations: iterations, Tasks: tasks, Plain: iterations > 20_000})
		// Any command that writes creates the cache that readers use.
		newSeries(b).run("", r.Dir, r.Env, bin, "inject", "go on")
		return r
	}
	shapes := []struct {
		name string
		r    *repo.Repo
	}{{"20 entries", made(8, 8)}, {fmt.Sprintf("%d entries", 2*entries()), made(entries(), 8)},
		{"1000 tasks", made(8, 1000)}}
	s := newSeries(b)
	cmds := [][]string{{"status"}, {"log", "-n", "20"}, {"tasks"}, {"prompt"}}
	for b.Loop() {
		for range 15 {
			for _, c := range cmds {
				for _, x := range shapes {
					s.run(strings.Join(c, " ")+", "+x.name, x.r.Dir, x.r.Env, append([]string{bin}, c...)...)
				}
			}
		}
	}
	var pairs []pair
	for _, c := range cmds {
		name := strings.Join(c, " ") + ", "
		for _, x := range shapes[1:] {
			pairs = append(pairs, pair{name + x.name, name + shapes[0].name, 2})
		}
	}
	s.report(pairs...)
}

// tenThousand is a project with 10,000 tracked files and a journal.
func tenThousand(b *testing.B, bin, settings string, iterations int) *repo.Repo {
	b.Helper()
	files := map[string]string{"ralph.toml": settings, "keep.sh": keepStep}
	for d := range 100 {
		for f := range 100 {
			files[fmt.Sprintf("d%02d/f%02d.txt", d, f)] = fmt.Sprintf("file %d of folder %d\n", f, d)
		}
	}
	r := repo.New(b, files)
	r.Git("config", "gc.auto", "0") // a gc would be measured as part of an iteration
	history.Make(b, r, history.Options{Iterations: iterations, Tasks: 8})
	newSeries(b).run("", r.Dir, r.Env, bin, "trust")
	return r
}

// keepStep is an agent whose every step is kept and leaves its task open.
const keepStep = `echo "$RALPH_ITERATION" > d00/f00.txt
cat > "$RALPH_HANDOFF_FILE" <<END
{"task_completed":{"task_id":"$RALPH_TASK_ID","summary":"a step","fully_complete":false},
"summary":"a step","freeform":"One more step was done as the task asked; nothing else was touched on the way.",
"deviations":[],"bugs_encountered":[],"architectural_notes":[],"unfinished_business":[],"recommendations":[],
"files_touched":[],"plan_amendments":[],"tests_added":[],"constraints_discovered":[]}
END
`

// endless are settings with which only --max-iterations ends a run.
const endless = "[loop]\nmax_attempts = 0\nmax_partial = 0\n[breaker]\nfailures = 0\nstagnation = 0\n[evidence]\n" +
	"keep = 0\n[validation]\nbaseline = \"off\"\n"

// BenchmarkIteration measures an iteration without its agent in a repository of
// 10,000 files. One agent exits at once, one keeps a step, each early and after
// 5,000 iterations. Subtracting runs of two lengths excludes the start of a
// run.
func BenchmarkIteration(b *testing.B) {
	bin := program(b)
	const more = 20
	s := newSeries(b)
	agents := []struct{ name, command string }{{"exits at once", `["true"]`}, {"keeps a step", `["sh", "keep.sh"]`}}
	type shape struct {
		name string
		r    *repo.Repo
	}
	var shapes []shape
	var pairs []pair
	for _, a := range agents {
		settings := "[agent]\ndriver = \"command\"\ncommand = " + a.command + "\n" + endless
		shapes = append(shapes, shape{a.name + ", early", tenThousand(b, bin, settings, 10)},
			shape{a.name + ", after 5000", tenThousand(b, bin, settings, 5000)})
		pairs = append(pairs, pair{a.name + ", early", "git status", 3},
			pair{a.name + ", after 5000", a.name + ", early", 1.2})
	}
	run := func(r *repo.Repo, n int) time.Duration {
		c := exec.Command(bin, "start", "--unchecked", "--max-iterations", fmt.Sprint(n))
		c.Dir, c.Env = r.Dir, r.Env
		began := time.Now()
		out, err := c.CombinedOutput()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != 4 {
			b.Fatalf("start: %v\n%s", err, out)
		}
		return time.Since(began)
	}
	for b.Loop() {
		for range 7 {
			for _, x := range shapes {
				s.run("git status", x.r.Dir, x.r.Env, "git", "status")
				short := run(x.r, 1)
				s.add(x.name, (run(x.r, 1+more)-short)/more)
			}
		}
	}
	s.report(pairs...)
	for _, x := range shapes {
		if strings.HasPrefix(x.name, "exits") {
			figures.Put(b, figures.Figure{What: "overhead of an iteration whose agent " + x.name,
				Value: float64(s.median(x.name).Microseconds()) / 1000, Unit: "ms", Most: 100})
		}
	}
}

// TestBenchmarks writes doc/benchmarks.md from the file of figures, which the benchmarks
// before it fill. `just bench` runs them all.
func TestBenchmarks(t *testing.T) {
	path := os.Getenv(figures.Variable)
	if path == "" {
		t.Skip("there are no figures: just bench measures them")
	}
	list, err := figures.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	table := figures.Table(list)
	writeFigures(t, "benchmarks.md", table)
	fmt.Print("\n", table)
	for _, f := range list {
		if f.Missed() {
			t.Logf("missed: %s", f.What)
		}
	}
}

// BenchmarkFlood measures the memory of a loop whose agent prints 1 GB.
func BenchmarkFlood(b *testing.B) {
	bin := program(b)
	for _, a := range []struct{ name, command string }{
		{"short lines", "yes 'a line of output as a tool prints it, some sixty bytes long' | head -c 1073741824"},
		{"one endless line", "head -c 1073741824 /dev/zero | tr '\\0' x"},
	} {
		b.Run(a.name, func(b *testing.B) {
			r := repo.New(b, map[string]string{"ralph.toml": fmt.Sprintf(
				"[agent]\ndriver = \"command\"\ncommand = [\"sh\", \"-c\", %q]\n%s", a.command, endless)})
			newSeries(b).run("", r.Dir, r.Env, bin, "trust")
			newSeries(b).run("", r.Dir, r.Env, bin, "add", "a task")
			for b.Loop() {
				c := exec.Command(bin, "start", "--unchecked", "--once")
				c.Dir, c.Env = r.Dir, r.Env
				out, err := c.CombinedOutput()
				if c.ProcessState == nil || c.ProcessState.ExitCode() != 4 {
					b.Fatalf("start: %v\n%s", err, out)
				}
				most := peak(c.ProcessState) >> 20
				figures.Put(b, figures.Figure{What: "memory of a loop whose agent prints 1 GB, " + a.name,
					Value: float64(most), Unit: "MB", Most: 64})
				fmt.Printf("\n%s: %d MB at most, to be under 64\n", b.Name(), most)
			}
		})
	}
}
