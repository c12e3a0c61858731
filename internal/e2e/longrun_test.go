package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// samplesOf names the file for the resource samples of the test binary run as the
// program. TestMain starts them.
const samplesOf = "RALPH_TEST_SAMPLES"

// writeSamples appends a line for each sample to a file, as long as the program runs: seconds,
// iterations so far, goroutines, KB of live heap, KB resident, descriptors, child processes.
func writeSamples(path string) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	began, last := time.Now(), -1
	for ; ; time.Sleep(20 * time.Millisecond) {
		st, _ := os.Stat(path + ".iterations")
		if st == nil || int(st.Size()) == last {
			continue
		}
		last = int(st.Size())
		if last%sampledEvery() != 1 && sampledEvery() > 1 {
			continue
		}
		runtime.GC() // so that only live objects count
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fds, _ := os.ReadDir("/proc/self/fd")
		kids, _ := filepath.Glob("/proc/self/task/*/children")
		children := 0
		for _, k := range kids {
			data, _ := os.ReadFile(k)
			children += len(strings.Fields(string(data)))
		}
		fmt.Fprintf(f, "%.1f %d %d %d %d %d %d\n", time.Since(began).Seconds(), last, runtime.NumGoroutine(),
			m.HeapAlloc>>10, residentKB(), len(fds), children)
	}
}

// sampledEvery is how many iterations lie between two samples.
func sampledEvery() int {
	n, err := strconv.Atoi(os.Getenv(samplesOf + "_EVERY"))
	if err != nil {
		return 1
	}
	return max(n, 1)
}

func residentKB() int {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// mixedAgent plays the agents of a night. Most attempts are good. Others break the
// check, crash, are killed, hit a limit, flood, change nothing, do not say that they
// are done or do a part. It writes one byte at each start.
const mixedAgent = `printf x >> "$SAMPLES.iterations"
part=true
case $((RALPH_ITERATION % 20)) in
3) echo x > broken;;
5) echo half > half; exit 3;;
7) echo half > half; kill -9 $$;;
9) echo '{"type":"limit","reason":"rate_limit","until":'$(($(date +%s)+1))'}'; exit 1;;
11) head -c 3000000 /dev/zero | tr '\0' x | fold -w 200;;
13) exit 0;;
15) echo x > "out-$RALPH_TASK_ID.txt"; exit 0;;
17) part=false;;
19) i=0; while [ $i -lt 300 ]; do echo $i > "many-$i"; i=$((i+1)); done; echo x > broken;;
esac
echo '{"type":"usage","input_tokens":9000,"output_tokens":700,"cost_usd":0.01}'
mkdir -p "src/$((RALPH_ITERATION % 50))"
echo "$RALPH_ITERATION $RALPH_TASK_ID" > "src/$((RALPH_ITERATION % 50))/$RALPH_TASK_ID.txt"
cat > "$RALPH_HANDOFF_FILE" <<END
{"task_completed":{"task_id":"$RALPH_TASK_ID","summary":"wrote the file","fully_complete":$part},
"summary":"wrote the file of iteration $RALPH_ITERATION","freeform":"The file was written as the task asked; nothing else was touched on the way.",
"deviations":[],"bugs_encountered":[],"architectural_notes":["files of iteration $RALPH_ITERATION lie in src"],"unfinished_business":[],
"recommendations":[],"files_touched":[],"plan_amendments":[],"tests_added":[],"constraints_discovered":[]}
END
`

const longRunHead = `# A long run

Written by ` + "`just long-run`" + `, which anybody can repeat. One process works through many iterations. Of every
twenty attempts eleven are good. The others break the check, crash, are killed, are limited, print 3 MB, change nothing,
forget to say that the work is done, do a part of it, or leave 300 files and a broken check. The sandbox is on, and the check runs
after each attempt.`

// sample is what the program used at one moment.
type sample struct {
	seconds                                               float64
	iterations, goroutines, heap, resident, fds, children int
	disk                                                  int // KB of the git directory
}

// TestLongRun runs RALPH_LONG_RUN iterations of every kind in one process, for at most
// RALPH_LONG_RUN_MINUTES: memory, descriptors, goroutines and processes do not grow.
// With RALPH_LONG_RUN, which `just long-run` sets, it writes the figures to doc/.
func TestLongRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process uses is read from /proc")
	}
	t.Parallel()
	iterations := 120
	asked, err := strconv.Atoi(os.Getenv("RALPH_LONG_RUN"))
	if err == nil {
		iterations = asked
	} else {
		long.Only(t, "120 iterations")
	}
	minutes, err := strconv.Atoi(os.Getenv("RALPH_LONG_RUN_MINUTES"))
	if err != nil {
		minutes = 24 * 60
	}
	outer := t.TempDir()
	p := newProject(t, mixedAgent, fmt.Sprintf("[loop]\nmax_iterations = %d\nmax_attempts = 4\n[breaker]\nfailures = 0\n"+
		"stagnation = 0\n[guard]\nwritable = [%q]\n", iterations, outer)+check, nil)
	var plan strings.Builder
	for n := range iterations {
		fmt.Fprintf(&plan, "- [ ] the thing number %d\n", n+1)
	}
	file := filepath.Join(outer, "plan.md")
	if err := os.WriteFile(file, []byte(plan.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must(t, "import", file)
	w := watched{project: p, outer: outer, every: max(1, iterations/200), minutes: minutes}
	list := w.watch(t)
	if left := processesOf(p); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	p.sound(t)
	if asked > 0 {
		report{"long-run", longRunHead, "`TestLongRun` does the same with fewer iterations and fails when memory, " +
			"goroutines, descriptors or processes grow."}.write(t, p, list)
	}
}

// watched is a long run of `start` in a process of its own. Each iteration adds one byte to
// the file noted.
type watched struct {
	*project
	outer   string // a folder outside of the repository for what the run leaves beside it
	every   int    // how many iterations lie between two samples
	minutes int    // after which it is stopped
}

func (w watched) samples() string { return filepath.Join(w.outer, "at") }

func (w watched) noted() string { return w.samples() + ".iterations" }

// watch starts the run, waits for its end and returns what it used. It fails the test when
// goroutines, descriptors, child processes or live heap grow.
func (w watched) watch(t *testing.T) []sample {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "start")
	c.Dir, c.Env = w.Dir, append(w.Env, "SAMPLES="+w.samples(), samplesOf+"="+w.samples(),
		samplesOf+"_EVERY="+strconv.Itoa(w.every))
	log, err := os.Create(filepath.Join(w.outer, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	disk := map[int]int{} // KB of the git directory, by iterations
	over := time.After(time.Duration(w.minutes) * time.Minute)
	want := 4
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-over:
			want = 6
			w.must(t, "stop")
		case <-time.After(2 * time.Second):
		}
		if list := readSamples(t, w.samples()); len(list) > 0 {
			if n := list[len(list)-1].iterations; disk[n] == 0 {
				disk[n] = diskKB(filepath.Join(w.Dir, ".git"))
			}
		}
	}
	said, _ := os.ReadFile(log.Name())
	if code := c.ProcessState.ExitCode(); code != want {
		t.Fatalf("exit %d\n%s", code, tail(string(said), 4000))
	}
	list := readSamples(t, w.samples())
	for i := range list {
		list[i].disk = disk[list[i].iterations]
	}
	if len(list) < 10 {
		t.Fatalf("only %d samples\n%s", len(list), tail(string(said), 4000))
	}
	flat(t, list)
	return list
}

// flat checks that a run used no more in its last fifth than in its second.
func flat(t *testing.T, list []sample) {
	t.Helper()
	early, late := list[len(list)/5:2*len(list)/5], list[4*len(list)/5:]
	for _, what := range []struct {
		name  string
		of    func(sample) int
		ratio float64
		more  int
	}{
		{"goroutines", func(s sample) int { return s.goroutines }, 1, 8},
		{"descriptors", func(s sample) int { return s.fds }, 1, 8},
		{"child processes", func(s sample) int { return s.children }, 1, 4},
		{"KB of living heap", func(s sample) int { return s.heap }, 1.5, 4000},
	} {
		before, after := middle(early, what.of), middle(late, what.of)
		t.Logf("%s: %d, at the end %d", what.name, before, after)
		if float64(after) > what.ratio*float64(before)+float64(what.more) {
			t.Errorf("%s grow: from %d to %d", what.name, before, after)
		}
	}
}

func readSamples(t *testing.T, path string) []sample {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var list []sample
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s sample
		if n, _ := fmt.Sscan(lines.Text(), &s.seconds, &s.iterations, &s.goroutines, &s.heap, &s.resident, &s.fds,
			&s.children); n == 7 {
			list = append(list, s)
		}
	}
	return list
}

func diskKB(dir string) int {
	out, err := exec.Command("du", "-sk", dir).Output()
	n := 0
	if err == nil {
		fmt.Sscan(string(out), &n)
	}
	return n
}

// middle is the median of a figure.
func middle(list []sample, of func(sample) int) int {
	var all []int
	for _, s := range list {
		all = append(all, of(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }
