//go:build unix

package checks

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/proc"
)

func runner(t *testing.T) *Runner {
	t.Helper()
	return &Runner{Start: proc.Start, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "CI=1"},
		Grace: 50 * time.Millisecond}
}

func TestRun(t *testing.T) {
	r := runner(t)
	r.MaxOutput = 1000
	var started, done []string
	r.Started = func(c Check) { started = append(started, c.Name) }
	r.Done = func(res Result) { done = append(done, res.Name) }
	results, err := r.Run(context.Background(), []Check{
		{Name: "green", Run: "echo out; echo err >&2"},
		{Name: "red", Run: "echo no; exit 3", Kind: Lint},
		{Name: "signal", Run: "kill -9 $$"},
		{Name: "missing", Run: "no-such-program-here"},
		{Name: "stdin", Run: "read x && echo got"},
		{Name: "env", Run: "echo $CI; test -z \"$HOME\"; pwd"},
		{Name: "flood", Run: "head -c 100000 /dev/zero | tr '\\0' x"},
		{Name: "green again", Run: "echo out; echo err >&2", Kind: Criterion},
	})
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		Name   string
		Kind   Kind
		Code   int
		Passed bool
	}
	var got []short
	for _, res := range results {
		got = append(got, short{res.Name, res.Kind, res.ExitCode, res.Passed})
	}
	want := []short{{"green", Test, 0, true}, {"red", Lint, 3, false}, {"signal", Test, 137, false},
		{"missing", Test, 127, false},
		{"stdin", Test, 1, false}, {"env", Test, 0, true}, {"flood", Test, 0, true}, {"green again", Criterion, 0, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if out := string(results[0].Output); out != "out\nerr\n" {
		t.Errorf("output = %q", out)
	}
	dir, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if out := string(results[5].Output); out != "1\n"+dir+"\n" && out != "1\n"+r.Dir+"\n" {
		t.Errorf("environment = %q", out)
	}
	if f := results[6]; f.OutputBytes != 100000 || len(f.Output) > 1200 {
		t.Errorf("a flood: %d bytes counted, %d kept", f.OutputBytes, len(f.Output))
	}
	// A criterion that names a check takes its result instead of running again.
	if len(started) != 7 || len(done) != 7 {
		t.Errorf("started %v, done %v", started, done)
	}
}

// TestSharedResult: a criterion with the command of a check takes its result, but must have run
// tests where the check need not.
func TestSharedResult(t *testing.T) {
	r := runner(t)
	const empty = `printf '?   \tx/a\t[no test files]\n'`
	results, err := r.Run(context.Background(), []Check{{Name: "test", Run: empty, Kind: Test},
		{Name: "test", Run: empty, Kind: Criterion}, {Name: "test", Run: empty, Kind: Test}})
	if err != nil {
		t.Fatal(err)
	}
	if c := results[1]; !results[0].Passed || c.Passed || !c.NoTests || !results[2].Passed {
		t.Errorf("%+v", results)
	}
}

func TestRunTimeout(t *testing.T) {
	r := runner(t)
	r.FlakyReruns = 3
	held := hold(t, r.Dir)
	// The child ignores TERM and keeps the output open. Neither may matter.
	results, err := r.Run(context.Background(), []Check{
		{Name: "slow", Run: "(trap '' TERM; while :; do sleep 1; done) 3>held & wait", Timeout: 300 * time.Millisecond},
		{Name: "next", Run: "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	slow := results[0]
	if !slow.TimedOut || slow.Passed || slow.Attempts != 1 {
		t.Errorf("slow = %+v", slow)
	}
	if slow.State() != "timeout" {
		t.Errorf("State = %q", slow.State())
	}
	if !results[1].Passed {
		t.Errorf("the check behind a timeout = %+v", results[1])
	}
	held()
}

// hold makes a FIFO called held in dir. The returned function returns when no
// process has it open for writing.
func hold(t *testing.T, dir string) func() {
	t.Helper()
	name := filepath.Join(dir, "held")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func() {
		t.Helper()
		// The limit only turns a hang into a message.
		if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(f); err != nil {
			t.Errorf("a process is still there: %v", err)
		}
	}
}

func TestRunLeavesNothingInTheGroup(t *testing.T) {
	r := runner(t)
	held := hold(t, r.Dir)
	results, err := r.Run(context.Background(), []Check{{Name: "server", Run: "sleep 600 3>held & exec 4>held"}})
	if err != nil || !results[0].Passed {
		t.Fatalf("%+v, %v", results, err)
	}
	held()
}

// scope logs when it is opened and closed, once a command.
type scope struct {
	log *[]string
}

func (s scope) Start(ctx context.Context, cmd proc.Command) (*proc.Process, error) {
	*s.log = append(*s.log, "start")
	return proc.Start(ctx, cmd)
}

func (s scope) Close() error {
	*s.log = append(*s.log, "close")
	return nil
}

func TestRunScopes(t *testing.T) {
	r := runner(t)
	var log []string
	r.Start = nil
	r.Open = func() (Scope, error) { log = append(log, "open"); return scope{&log}, nil }
	if _, err := r.Run(context.Background(), []Check{{Name: "a", Run: "true"}, {Name: "b", Run: "false"}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"open", "start", "close", "open", "start", "close"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	r.Open = func() (Scope, error) { return nil, errors.New("no namespaces") }
	results, err := r.Run(context.Background(), []Check{{Name: "a", Run: "true"}})
	if err != nil || results[0].Passed || !strings.Contains(results[0].Problem, "no namespaces") {
		t.Errorf("without a scope nothing may pass: %+v, %v", results, err)
	}
}

func TestRunFlaky(t *testing.T) {
	r := runner(t)
	r.FlakyReruns = 2
	r.Again = r.Once
	results, err := r.Run(context.Background(), []Check{
		{Name: "third time", Run: "echo x >>n; echo try $(wc -l <n); test $(wc -l <n) -ge 3"},
		{Name: "never", Run: "echo x >>m; false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	first := results[0]
	if !first.Passed || !first.Flaky || first.Attempts != 3 {
		t.Errorf("third time = %+v", first)
	}
	if !strings.HasPrefix(string(first.Output), "try") || strings.Contains(string(first.Output), "3") {
		t.Errorf("the output of a failed attempt is what helps: %q", first.Output)
	}
	if never := results[1]; never.Passed || never.Flaky || never.Attempts != 3 {
		t.Errorf("never = %+v", never)
	}
	r.Again = nil
	results, err = r.Run(context.Background(), []Check{{Name: "no clean start",
		Run: "echo x >>k; test $(wc -l <k) -ge 2"}})
	if err != nil || results[0].Passed || results[0].Attempts != 1 {
		t.Errorf("without a clean start it is not run again: %+v, %v", results, err)
	}
}

func TestRunInterrupted(t *testing.T) {
	r := runner(t)
	ctx, cancel := context.WithCancel(context.Background())
	r.Started = func(c Check) {
		if c.Name == "second" {
			cancel()
		}
	}
	results, err := r.Run(ctx, []Check{{Name: "first", Run: "true"}, {Name: "second", Run: "sleep 600"},
		{Name: "third", Run: "true"}})
	if !errors.Is(err, context.Canceled) || len(results) != 1 {
		t.Errorf("results %v, error %v: an interrupted check must not count as red", results, err)
	}
}

func TestRunNoShell(t *testing.T) {
	r := runner(t)
	r.Shell = []string{filepath.Join(r.Dir, "nothing"), "-c"}
	results, err := r.Run(context.Background(), []Check{{Name: "a", Run: "true"}})
	if err != nil || results[0].Passed || results[0].Problem == "" || results[0].ExitCode != -1 {
		t.Errorf("results %+v, error %v", results, err)
	}
}

func TestSetup(t *testing.T) {
	r := runner(t)
	results, err := r.Setup(context.Background(), []string{"echo a >f", "cat f; exit 4", "echo never >g"}, 0)
	if err == nil || err.Error() != "setup \"cat f; exit 4\": exit code 4\n  a" {
		t.Errorf("error = %v", err)
	}
	if len(results) != 2 || string(results[1].Output) != "a\n" {
		t.Errorf("results = %+v", results)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "g")); err == nil {
		t.Error("a command ran behind one that failed")
	}
	if _, err := r.Setup(context.Background(), []string{"true"}, time.Minute); err != nil {
		t.Error(err)
	}
}

func TestSteps(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := runner(t)
	r.Now = func() time.Time { return now }
	var waited []time.Duration
	wait := func(_ context.Context, d time.Duration) error { waited = append(waited, d); return nil }
	steps := []Step{
		{Name: "gen", When: Before, Run: "touch before", Enabled: true},
		{Name: "off", Run: "touch off"},
		{Name: "second try", Run: "echo x >>n; test $(wc -l <n) -ge 2", Enabled: true, Retries: 1, RetryDelay: time.Second},
		{Name: "may fail", Run: "exit 5", Enabled: true, ContinueOnError: true,
			Breaker: StepBreaker{Threshold: 1, ResetAfter: time.Hour}},
		{Name: "must not", Run: "exit 6", Enabled: true},
		{Name: "behind", Run: "touch behind", Enabled: true},
	}
	states := map[string]StepState{"other": {Failures: 1}, "second try": {Failures: 2}}
	reports, next, goOn, err := r.Steps(context.Background(), steps, After, states, wait)
	if err != nil {
		t.Fatal(err)
	}
	if goOn {
		t.Error("a failed step lets the iteration go on")
	}
	type short struct {
		Name  string
		Kind  MoveKind
		Tries int
	}
	var got []short
	for _, rep := range reports {
		got = append(got, short{rep.Name, rep.End.Kind, rep.Tries})
	}
	want := []short{{"off", Skip, 0}, {"second try", Pass, 2}, {"may fail", Forgive, 1}, {"must not", Fail, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	wantStates := map[string]StepState{"other": {Failures: 1}, "may fail": {Failures: 1, OpenedAt: now},
		"must not": {Failures: 1}}
	if diff := cmp.Diff(wantStates, next); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if states["second try"].Failures != 2 {
		t.Error("the given states were changed")
	}
	if !cmp.Equal(waited, []time.Duration{time.Second}) {
		t.Errorf("waited %v", waited)
	}
	reports, _, goOn, err = r.Steps(context.Background(), steps, Before, next, wait)
	if err != nil || !goOn || len(reports) != 1 {
		t.Errorf("before: %+v, %v, %v", reports, goOn, err)
	}
	stop := errors.New("stop")
	_, _, goOn, err = r.Steps(context.Background(), []Step{{Name: "x", Run: "false", Enabled: true, Retries: 1,
		RetryDelay: 1}}, After, nil,
		func(context.Context, time.Duration) error { return stop })
	if goOn || !errors.Is(err, stop) {
		t.Errorf("a wait that ends early: %v, %v", goOn, err)
	}
}
