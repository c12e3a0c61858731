package e2e

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// screen is a terminal of tmux, which shows what a person would see: a live view
// writes only what changed, so its bytes cannot be searched for text.
type screen struct {
	t      *testing.T
	socket string
}

// onScreen runs one command of the program in a terminal of that many columns.
// Its exit code is shown afterwards.
func (p *project) onScreen(t *testing.T, columns int, env []string, args ...string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	s := &screen{t, filepath.Join(t.TempDir(), "tmux")}
	argv := append([]string{"-S", s.socket, "-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "24",
		"-c", p.Dir,
		"sh", "-c", `trap : INT; "$@"; echo "ended with $?"; exec cat`, "sh", "env", "-i"}, p.Env...)
	argv = append(append(argv, "TERM=tmux-256color"), env...)
	argv = append(append(argv, self(t)), args...)
	if out, err := exec.Command("tmux", argv...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	return s
}

func (s *screen) text() string {
	out, err := exec.Command("tmux", "-S", s.socket, "capture-pane", "-p").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

// until waits until the screen shows a text.
func (s *screen) until(text string) string {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		now := s.text()
		if strings.Contains(now, text) {
			return now
		}
		if time.Now().After(end) {
			s.t.Fatalf("the screen does not show %q:\n%s", text, now)
		}
	}
}

// untilLine waits until something on the screen fits an expression.
func (s *screen) untilLine(expression string) {
	s.t.Helper()
	fits := regexp.MustCompile(expression)
	for end := time.Now().Add(2 * time.Minute); !fits.MatchString(s.text()); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("nothing on the screen fits %q:\n%s", expression, s.text())
		}
	}
}

// keys are what a person presses, by tmux's names.
func (s *screen) keys(keys ...string) {
	s.t.Helper()
	if out, err := exec.Command("tmux",
		append([]string{"-S", s.socket, "send-keys"}, keys...)...).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// untilGo is an agent that says something and then works until a file is there.
const untilGo = "echo looking around\nwhile [ ! -e go ]; do sleep 0.1; done\nrm -f go\n" + doTask

// TestLiveView: on a terminal a run shows what it does now, and keys steer it as
// the commands of the same name do.
func TestLiveView(t *testing.T) {
	t.Parallel()
	p := newProject(t, untilGo,
		"[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go\n"})
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	x := p.onScreen(t, 80, nil, "start")
	x.until("T-001 the first thing")
	x.until("looking around")
	x.until("0 of 2 tasks")
	x.keys("n")
	x.until("note for the agent")
	x.keys("use the standard library", "Enter")
	x.until("the note is added")
	x.keys("t")
	x.until("· T-002")
	x.keys("s")
	x.until("stopping after this iteration")
	p.Write("go", "")
	if end := x.until("ended with"); !strings.Contains(end, "ended with 6") || strings.Contains(end, "? help") {
		t.Errorf("a stop ended so:\n%s", end)
	}
	if log := p.must(t, "log", "-v"); !strings.Contains(log, "use the standard library") {
		t.Errorf("the log does not have the note:\n%s", log)
	}

	// After leaving the view the run goes on and prints lines. A narrow terminal
	// does not wrap the view.
	x = p.onScreen(t, 40, nil, "start")
	x.until("looking around")
	for line := range strings.Lines(x.until("q leave")) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	x.keys("q")
	p.Write("go", "")
	if end := x.until("ended with"); !strings.Contains(end, "ended with 0") || !strings.Contains(end, "2 of 2 done") {
		t.Errorf("after leaving the view:\n%s", end)
	}
}

// TestLiveViewOfWorkers: start and watch show a line for each worker with what its
// agent does.
func TestLiveViewOfWorkers(t *testing.T) {
	t.Parallel()
	long.Only(t, "several workers are shown")
	p := newProject(t, "echo looking around $RALPH_TASK_ID\n"+waits+doTask, "[guard]\nsandbox = \"off\"\n"+check, nil)
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	watch := p.onScreen(t, 120, nil, "watch")
	watch.until("0 of 2 tasks")
	x := p.onScreen(t, 120, nil, "start", "--workers", "2")
	for _, s := range []*screen{x, watch} {
		s.untilLine(`\[\d\] \w+ T-001 the first thing +looking around T-001`)
		s.untilLine(`\[\d\] \w+ T-002 the second thing +looking around T-002`)
	}
	x.keys("k")
	x.until("several tasks are running")
	x.keys("p")
	x.until("pausing after this iteration")
	x.keys("p")
	x.until("going on")
	goOn(t, p)
	if end := x.until("ended with"); !strings.Contains(end, "ended with 0") {
		t.Errorf("the end:\n%s", end)
	}
	watch.until("2 of 2 tasks")
	watch.keys("q")
	watch.until("ended with 0")
}

// TestWatch: another terminal shows the same, steers the run, and stays after
// its end.
func TestWatch(t *testing.T) {
	t.Parallel()
	p := newProject(t, untilGo, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go\n"})
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	x := p.onScreen(t, 80, nil, "watch")
	x.until("0 of 2 tasks")
	wide := p.onScreen(t, 200, nil, "watch")
	wide.until("0 of 2 tasks")
	wide.keys("d")
	wide.until("what the agent says and calls is shown")
	ended := make(chan result, 1)
	go func() { ended <- p.run(t, nil, "start") }()
	x.until("looking around")
	// The agent's output comes over the loop's socket, shown as lines on request.
	for shown := 0; shown < 2; {
		shown = strings.Count(wide.until("looking around"), "looking around")
	}
	if s := p.must(t, "status"); !strings.Contains(s, "looking around") {
		t.Errorf("status does not say what the agent does:\n%s", s)
	}
	x.keys("s")
	x.until("stopping after this iteration")
	p.Write("go", "")
	if r := <-ended; r.code != 6 {
		t.Errorf("the run ended with %d: %s%s", r.code, r.out, r.err)
	}
	x.until("iteration 1: keep")
	x.until("1 of 2 tasks")
	x.keys("q")
	x.until("ended with 0")

	// With --json, entries are lines.
	x = p.onScreen(t, 80, nil, "watch", "--json", "-n", "1")
	x.until(`"event":"session"`)
	x.keys("C-c")
	x.until("ended with 0")
}

// TestNoLiveView: a terminal that cannot move its cursor shows only lines, and
// so does RALPH_VIEW=off.
func TestNoLiveView(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		nil)
	for _, env := range [][]string{{"TERM=dumb"}, {"TERM=xterm", "RALPH_VIEW=off"}} {
		p.must(t, "add", "a thing")
		x := p.onTerminal(t, env, "start")
		if code, rest := x.ends(); code != 0 || strings.Contains(rest, "? help") || strings.Contains(rest, "\x1b[K") {
			t.Errorf("%v: exit %d\n%q", env, code, rest)
		}
	}
}

// TestWatchersComeAndGo: a run goes on when a watcher ends, even in the middle of a
// line. A closed output ends it like other programs: git ralph start | head.
func TestWatchersComeAndGo(t *testing.T) {
	t.Parallel()
	long.Only(t, "many watchers")
	agent := "while [ ! -e go ]; do echo looking around, and telling of it; sleep 0.01; done\nrm -f go\n" + doTask
	p := newProject(t, agent, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go\n"})
	p.must(t, "add", "the first thing")
	ended := make(chan result, 1)
	go func() { ended <- p.run(t, nil, "start") }()
	for range 5 {
		c := exec.Command(self(t), "-v", "watch")
		c.Dir, c.Env = p.Dir, p.Env
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "looking around"); {
		}
		c.Process.Kill()
		c.Wait()
	}
	p.Write("go", "")
	if r := <-ended; r.code != 0 {
		t.Errorf("the run ended with %d\n%s%s", r.code, r.out, r.err)
	}
	p.must(t, "add", "the second thing")
	c := exec.Command("sh", "-c", `"$0" start | head -n 1`, self(t))
	c.Dir, c.Env = p.Dir, p.Env
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "session 2 begins") {
		t.Errorf("%v\n%s", err, out)
	}
	waitFor(t, "the run ends when nobody reads it", func() bool {
		return strings.Contains(p.must(t, "status"), "interrupted")
	})
}

// TestLiveViewLeavesWhatIsThere: on a narrow terminal the view does not overwrite earlier output. Lines above the
// view and at the end break between words.
func TestLiveViewLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		nil)
	p.must(t, "add", "write one")
	s := p.onScreen(t, 40, nil, "start")
	s.until("next: git log")
	got := strings.Join(strings.Fields(s.text()), " ")
	for _, want := range []string{"afterwards keep the agent from git",
		"the run works in this folder; to keep working here yourself: git ralph start --worktree", "1 in this session"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not on the screen:\n%s", want, s.text())
		}
	}
}
