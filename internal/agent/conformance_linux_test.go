package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/netns"
	"git-ralph/fixtures/ram"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// The promises of every driver are tested with the real client against a scripted
// model. A run needs the client's binary, but no key and no network.

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "git-ralph" {
		os.Exit(self(os.Args))
	}
	netns.Main()
	ram.Beside()
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("the real clients are tried without -short and -race")
	}
	var found []dialect
	for _, d := range append(dialects, acpDialects()...) {
		t.Run(d.name()+" is installed", func(t *testing.T) {
			d.pinned = d.binary(t)
			found = append(found, d)
		})
	}
	if len(found) == 0 || netns.Isolate(t, "TestConformance", long.Env()...) {
		return
	}
	for i, d := range found {
		t.Run(d.name(), func(t *testing.T) {
			t.Parallel()
			must, may := d.trials()
			// Each client begins at another promise, so that a sample has all of them with one client or another.
			from := i % len(may)
			for _, c := range append(must, long.Sample(t, append(may[from:len(may):len(may)], may[:from]...), 9)...) {
				t.Run(c.why, func(t *testing.T) { t.Parallel(); c.test(t) })
			}
		})
	}
}

// trial is a promise, a refusal or a failure that is tried with one client.
type trial struct {
	why  string
	test func(*testing.T)
}

// trials are the tests that a client always gets, and those of which a sample is enough.
func (d dialect) trials() (must, may []trial) {
	for _, p := range promises {
		c := trial{p.name, func(t *testing.T) { p.test(d, t) }}
		switch {
		case !p.holds(d):
		case p.always:
			must = append(must, c)
		default:
			may = append(may, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.refused)) {
		must = append(must, trial{"refuses " + filepath.Base(name),
			func(t *testing.T) { d.refuses(t, name, d.refused[name]) }})
	}
	for _, f := range d.failures {
		may = append(may, trial{f.why, func(t *testing.T) { d.failure(t, f) }})
	}
	return must, may
}

// run is one run of a client and what came of it.
type run struct {
	d          dialect
	dir, root  string
	model      *fakemodel.Server
	req        session.Request
	transcript bytes.Buffer

	connected atomic.Bool // a client is connected to the server of our tools

	mu     sync.Mutex
	events []session.AgentEvent
	calls  []string
}

func (d dialect) setUp(t *testing.T, script func(dir string) fakemodel.Script) *run {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{d: d, root: root, dir: filepath.Join(root, "project")}
	home, handoff := filepath.Join(root, "home"), filepath.Join(root, "handoff")
	for _, dir := range []string{r.dir, filepath.Join(home, "tmp"), handoff} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Furnish(home); err != nil {
		t.Fatal(err)
	}
	r.git(t, "init", "-q", "-b", "main")
	r.git(t, "commit", "-q", "--allow-empty", "-m", "start")
	r.model = fakemodel.Start(t, script(r.dir))
	group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("test-%d", time.Now().UnixNano()),
		Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	r.req = session.Request{Role: session.RoleCoding, Phase: "building", TaskID: "T-1", EventID: "01event", Iteration: 1,
		Attempt: 1,
		Prompt:  "do the task", System: "THE SYSTEM ADDITION", Model: d.Model, Dir: r.dir, Start: group.Start,
		Transcript: &r.transcript,
		// a machine at work is slow
		HandoffFile: filepath.Join(handoff, "handoff.json"), Timeout: 10 * time.Minute, Idle: 3 * time.Minute,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "TERM=dumb",
			"LANG=C.UTF-8"}}
	for k, v := range d.Env(r.model.URL) {
		r.req.Env = append(r.req.Env, k+"="+v)
	}
	r.req.Self, r.req.ToolsConnected = r.serveSelf(t), r.connected.Load
	r.req.Judge = func(u session.ToolUse) session.Permission {
		if strings.Contains(string(u.Input), "git commit") || strings.Contains(string(u.Input), "secret.txt") {
			return session.Permission{Reason: "commits are made by the loop"}
		}
		return session.Permission{Allow: true}
	}
	r.req.ToolSpecs = []session.ToolSpec{
		{Name: "ralph_mark_task_complete", Description: "Report the task as complete.",
			Schema: json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string"}},"required":["task_id"]}`)},
		{Name: "ralph_submit_handoff", Description: "Submit the handoff.", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	r.req.CallTool = func(_ context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, name)
		if strings.Contains(string(args), "T-9") {
			return nil, errors.New("T-9 is not the task of this iteration")
		}
		return json.RawMessage(`{"recorded":true}`), nil
	}
	return r
}

func (r *run) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=t", "-c",
		"user.email=t@example.invalid"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// play runs the client.
func (r *run) play(t *testing.T, ctx context.Context, on func(session.AgentEvent)) session.Result {
	t.Helper()
	a, err := New(r.d.Driver, r.d.options())
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(ctx, r.req, func(e session.AgentEvent) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		if on != nil {
			on(e)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r.keep(t)
	for line := range strings.Lines(r.transcript.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the transcript has a line that is no JSON: %.200s", line)
		}
	}
	return res
}

// recordVariable names a folder where the runs are kept as recordings.
const recordVariable = "RALPH_TEST_RECORD"

func (r *run) keep(t *testing.T) {
	dir := os.Getenv(recordVariable)
	if dir == "" {
		return
	}
	_, name, _ := strings.Cut(t.Name(), "/")
	dir = filepath.Join(dir, strings.ReplaceAll(name, "_", "-"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(r.transcript.String(), r.root, "/lab")
	if err := os.WriteFile(filepath.Join(dir, "stdout.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// said are the texts of the events of one kind.
func (r *run) said(kind session.AgentEventKind) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		if e.Kind == kind {
			out = append(out, e.Text)
		}
	}
	return out
}

func (r *run) want(t *testing.T, res session.Result, kind session.OutcomeKind, detail string) {
	t.Helper()
	if res.Outcome != kind || !strings.Contains(res.Detail, detail) {
		t.Errorf("%s %q, want %s with %q\ntranscript:\n%s", res.Outcome, res.Detail, kind, detail, r.transcript.String())
	}
}

func (r *run) leaked() bool {
	_, err := os.Stat(filepath.Join(r.dir, "LEAKED"))
	return err == nil
}

func tools(calls ...fakemodel.Tool) fakemodel.Step { return fakemodel.Step{Tools: calls} }
