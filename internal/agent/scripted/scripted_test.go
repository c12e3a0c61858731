//go:build unix

package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/fakeclock"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
	"git-ralph/plan/exchange"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(Main(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// stage is a run of one script in an empty folder.
type stage struct {
	req        session.Request
	group      *proc.Group
	transcript bytes.Buffer
	events     []string
	calls      []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()),
		Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	s := &stage{group: group}
	s.req = session.Request{Phase: "building", TaskID: "T-1", Attempt: 1, Iteration: 3, Dir: t.TempDir(),
		HandoffFile: filepath.Join(t.TempDir(), "handoff.json"),
		Env:         []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Start: group.Start,
		Transcript: &s.transcript,
		Judge: func(u session.ToolUse) session.Permission {
			var in struct {
				Command string `json:"command"`
			}
			json.Unmarshal(u.Input, &in)
			switch {
			case strings.Contains(in.Command, "git commit"):
				return session.Permission{Reason: "commits are made by the loop"}
			case strings.HasPrefix(in.Command, "pytest"):
				return session.Permission{Allow: true, Updated: json.RawMessage(`{"command":"echo rewritten >rewritten"}`)}
			}
			return session.Permission{Allow: true}
		},
		CallTool: func(_ context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
			s.calls = append(s.calls, name+" "+string(args))
			if strings.Contains(string(args), "wrong") {
				return nil, errors.New("refused")
			}
			return json.RawMessage(`{"ok":true}`), nil
		},
	}
	return s
}

func (s *stage) run(t *testing.T, script string) session.Result {
	t.Helper()
	parsed, err := ParseScript("test.toml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{Script: parsed, Self: self, Grace: 200 * time.Millisecond}
	res, err := a.Run(t.Context(), s.req, func(e session.AgentEvent) {
		s.events = append(s.events, strings.TrimSpace(string(e.Kind)+" "+e.Tool+" "+e.Text))
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func steps(list string) string { return "[[play]]\nsteps = [" + list + "]\n" }

// Every step does what it says, judged like a client's call.
func TestSteps(t *testing.T) {
	s := newStage(t)
	s.req.ToolSpecs = []session.ToolSpec{{Name: "ralph_append_learning"}}
	res := s.run(t, steps(`
	{ text = "task ${RALPH_TASK_ID}" },
	{ write = "a/b.sh", content = "echo 1\n", mode = "755" },
	{ append = "a/b.sh", content = "echo 2\n" },
	{ write = "gone", content = "x" }, { delete = "gone" },
	{ chmod = "a/b.sh", mode = "700" },
	{ symlink = "link", to = "a/b.sh" },
	{ run = "sh a/b.sh >out; exit 4" },
	{ run = "pytest -q" },
	{ run = "git commit -m x" },
	{ sleep = "1ms" },
	{ usage = { input = 10, output = 5, cost_usd = 0.5, context = 77 } },
	{ usage = { input = 1 } },
	{ tool = "ralph_append_learning", args = { learning = "of ${RALPH_TASK_ID}" } },
	{ tool = "ralph_append_learning", args = { learning = "wrong" } },
	{ tool = "ralph_ask_user", args = { question = "?" } },
	{ handoff = { summary = "did it", freeform = "for ${RALPH_TASK_ID}" } },
	{ delete = "a/b.sh/impossible" },
	{ write = "last", content = "1" }`))
	if res.Outcome != session.Completed || res.Usage.Input != 11 || *res.Usage.CostMicroUSD != 500_000 ||
		res.Usage.ContextTokens != 77 {
		t.Errorf("%+v", res)
	}
	for name, want := range map[string]string{"a/b.sh": "echo 1\necho 2\n", "out": "1\n2\n", "rewritten": "rewritten\n",
		"last": "1"} {
		if b, err := os.ReadFile(filepath.Join(s.req.Dir, name)); string(b) != want {
			t.Errorf("%s: %q (%v), want %q", name, b, err, want)
		}
	}
	if st, err := os.Stat(filepath.Join(s.req.Dir, "a/b.sh")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode: %v, %v", st.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(s.req.Dir, "link")); err != nil || to != "a/b.sh" {
		t.Errorf("link: %q, %v", to, err)
	}
	if _, err := os.Stat(filepath.Join(s.req.Dir, "gone")); err == nil {
		t.Error("gone is still there")
	}
	if want := []string{`ralph_append_learning {"learning":"of T-1"}`,
		`ralph_append_learning {"learning":"wrong"}`}; !slices.Equal(s.calls, want) {
		t.Errorf("calls %q: a tool that is not offered must not be reached", s.calls)
	}
	var handoff map[string]any
	b, err := os.ReadFile(s.req.HandoffFile)
	if err != nil || json.Unmarshal(b, &handoff) != nil {
		t.Fatalf("handoff: %v", err)
	}
	for _, field := range []string{"task_completed", "deviations", "bugs_encountered", "architectural_notes",
		"unfinished_business", "recommendations",
		"files_touched", "plan_amendments", "tests_added", "constraints_discovered", "summary", "freeform"} {
		if handoff[field] == nil {
			t.Errorf("the handoff lacks %s", field)
		}
	}
	if d := cmp.Diff(map[string]any{"task_id": "T-1", "summary": "did it", "fully_complete": true},
		handoff["task_completed"]); d != "" {
		t.Errorf("task_completed (-want +got):\n%s", d)
	}
	for _, want := range []string{"text  task T-1", "denied Bash commits are made by the loop",
		"tool_call Bash git commit -m x", "text  the step failed: denied: commits are made by the loop"} {
		if !slices.Contains(s.events, want) {
			t.Errorf("no event %q in %q", want, s.events)
		}
	}
	for line := range strings.Lines(s.transcript.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the transcript has %q", line)
		}
	}
	if !strings.Contains(s.transcript.String(), `"exit_code":4`) || !strings.Contains(s.transcript.String(),
		"the tool is not offered in this run") {
		t.Errorf("the transcript lacks results:\n%s", s.transcript.String())
	}
}

// Every bad end is recognised.
func TestEnds(t *testing.T) {
	rows := []struct {
		why, steps string
		edit       func(*session.Request)
		kind       session.OutcomeKind
		detail     string
	}{
		{"nothing to do", ``, nil, session.Completed, ""},
		{"a status", `{ exit = 3 }, { write = "after" , content = "x" }`, nil, session.Crashed, "exit 3"},
		{"status 0 ends it early", `{ exit = 0 }, { write = "after", content = "x" }`, nil, session.Completed, ""},
		{"a signal", `{ signal = 9 }, { write = "after", content = "x" }`, nil, session.Crashed, "signal 9"},
		{"deaf silence", `{ hang = "deaf" }`, func(r *session.Request) { r.Idle = 300 * time.Millisecond }, session.Hang,
			"idle 300ms"},
		{"polite silence", `{ hang = "polite" }`, func(r *session.Request) { r.Idle = 300 * time.Millisecond }, session.Hang,
			"idle 300ms"},
		{"the wall clock ends it", `{ run = "sleep 60" }`, func(r *session.Request) { r.Timeout = 400 * time.Millisecond },
			session.Hang, "wall 400ms"},
		{"a flood in one line", `{ flood = 30000000 }, { text = "after" }`, nil, session.Completed, ""},
	}
	for _, r := range rows {
		s := newStage(t)
		if r.edit != nil {
			r.edit(&s.req)
		}
		res := s.run(t, steps(r.steps))
		if res.Outcome != r.kind || res.Detail != r.detail {
			t.Errorf("%s: %s %q, want %s %q", r.why, res.Outcome, res.Detail, r.kind, r.detail)
		}
		if _, err := os.Stat(filepath.Join(s.req.Dir, "after")); err == nil {
			t.Errorf("%s: steps after the end were played", r.why)
		}
		if n := s.transcript.Len(); n > 1<<20 {
			t.Errorf("%s: a transcript of %d bytes", r.why, n)
		}
	}
}

// A command that takes an hour is work, not silence; when it is over, silence
// counts again.
func TestSilentCommand(t *testing.T) {
	for _, after := range []struct {
		steps string
		kind  session.OutcomeKind
	}{{``, session.Completed}, {`, { run = "touch ended" }, { hang = "polite" }`, session.Hang}} {
		s := newStage(t)
		s.req.Idle = time.Minute
		script, err := ParseScript("x", []byte(steps(`{ run = "touch started; while [ ! -e go ]; do sleep 0.02; done" }`+
			after.steps)))
		if err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		clock := &fakeclock.Clock{}
		limits := clock.Clock()
		file := func(name string) string { return filepath.Join(s.req.Dir, name) }
		appears := func(name string) {
			for t.Context().Err() == nil {
				if _, err := os.Stat(file(name)); err == nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
		go func() {
			appears("started")
			clock.Advance(time.Hour)
			os.WriteFile(file("go"), nil, 0o644)
			if after.kind == session.Hang {
				appears("ended")
				for t.Context().Err() == nil { // the harness has yet to hear of the call's end
					clock.Advance(time.Minute)
					time.Sleep(5 * time.Millisecond)
				}
			}
		}()
		a := &Agent{Script: script, Self: self, Grace: 100 * time.Millisecond, Clock: &limits}
		res, err := a.Run(t.Context(), s.req, nil)
		if err != nil || res.Outcome != after.kind {
			t.Errorf("%q: %s %q (%v), want %s", after.steps, res.Outcome, res.Detail, err, after.kind)
		}
	}
}

// A forked process really leaves its parent, and ends with the group.
func TestFork(t *testing.T) {
	s := newStage(t)
	s.run(t, steps(`{ fork = "echo $$ >pid; exec sleep 600" }, { run = "while [ ! -s pid ]; do sleep 0.05; done" }`))
	b, err := os.ReadFile(filepath.Join(s.req.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(b))
	if err := exec.Command("kill", "-0", pid).Run(); err != nil {
		t.Errorf("process %s did not outlive the player: %v", pid, err)
	}
	if err := s.group.Close(); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", "-0", pid).Run(); err == nil {
		t.Errorf("process %s outlived the group", pid)
	}
}

func TestFollowUp(t *testing.T) {
	s := newStage(t)
	asked := 0
	s.req.FollowUp = func(r session.Result) (string, bool) { asked++; return "hand over", asked < 3 }
	s.run(t, "[[play]]\nsteps = [{ append = \"log\", content = \"first \" }]\nagain = [{ append = \"log\", content = "+
		"\"again \" }]\n")
	b, _ := os.ReadFile(filepath.Join(s.req.Dir, "log"))
	if string(b) != "first again again " || asked != 3 {
		t.Errorf("%q, asked %d times", b, asked)
	}
}

func TestChoose(t *testing.T) {
	script, err := ParseScript("x", []byte(`
[[play]]
task = "A"
attempt = 2
steps = [{ text = "A2" }]
[[play]]
task = "A"
steps = [{ text = "A" }]
[[play]]
role = "planning"
steps = [{ text = "plan" }]
[[play]]
iteration = 9
steps = [{ text = "nine" }]
`))
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		req  session.Request
		want string
	}{
		{session.Request{TaskID: "A", Attempt: 1}, "A"},
		{session.Request{TaskID: "A", Attempt: 2}, "A2"},
		{session.Request{TaskID: "A", Attempt: 3}, "A"},
		{session.Request{Role: session.RolePlanning}, "plan"},
		{session.Request{TaskID: "B", Iteration: 9}, "nine"},
		{session.Request{TaskID: "B", Iteration: 8}, ""},
	}
	for _, r := range rows {
		p, ok := script.Choose(r.req)
		got := ""
		if ok {
			got = p.Steps[0].Text
		}
		if got != r.want {
			t.Errorf("%+v: %q, want %q", r.req, got, r.want)
		}
	}
}

// Mistakes are reported all at once, with their place.
func TestParseScript(t *testing.T) {
	rows := []struct{ why, in, want string }{
		{"nothing", "", "x.toml: there is no [[play]]"},
		{"broken TOML", "[[play", "x.toml:1:"},
		{"an unknown key", "[[play]]\ntsk = 1\n", `x.toml:2: unknown key "play.tsk"`},
		{"steps that are wrong", steps(`{}, { text = "a", run = "b" }, { write = "f", mode = "9" }, { sleep = "5" },` +
			` { hang = "x" }, { symlink = "l" }, { exit = 300 }`),
			"x.toml: play 1, steps 1: does nothing\nx.toml: play 1, steps 2: does more than one thing: text, run\n" +
				"x.toml: play 1, steps 3: mode \"9\" is no octal number such as 755\nx.toml: play 1, steps 4: sleep \"5\" is no " +
				"duration such as 200ms\n" +
				"x.toml: play 1, steps 5: hang is \"deaf\" or \"polite\", not \"x\"\nx.toml: play 1, steps 6: symlink lacks " +
				"to\nx.toml: play 1, steps 7: exit is out of range"},
	}
	for _, r := range rows {
		_, err := ParseScript("x.toml", []byte(r.in))
		if err == nil || !strings.HasPrefix(err.Error(), r.want) {
			t.Errorf("%s: %v\nwant %s", r.why, err, r.want)
		}
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add(DemoScript())
	f.Add([]byte(steps(`{ exit = 1 }`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScript("x", data)
		if err == nil && len(s.Plays) == 0 {
			t.Error("a script without plays was accepted")
		}
	})
}

// Playing the demo from beginning to end, with the project's own check as the
// judge: all is green except the one attempt that is wrong on purpose.
func TestDemo(t *testing.T) {
	planText, err := DemoPlan()
	if err != nil {
		t.Fatal(err)
	}
	imported, err := exchange.Import("plan.toml", planText, exchange.Options{Format: exchange.FormatTOML})
	if err != nil || len(imported.Warnings) > 0 || len(imported.Lost) > 0 {
		t.Fatal(err, imported.Warnings, imported.Lost)
	}
	files, err := DemoFiles()
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	for name, data := range files {
		path := filepath.Join(s.req.Dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sh := func(command string) (bool, string) {
		out := proc.NewHeadTail(1 << 16)
		exit, err := proc.Run(t.Context(), proc.Command{Argv: []string{"sh", "-c", command}, Dir: s.req.Dir, Env: s.req.Env,
			Stdout: out, Stderr: out})
		if err != nil {
			t.Fatal(err)
		}
		return exit.Success(), out.String()
	}
	if green, out := sh("sh test.sh"); !green {
		t.Fatalf("the project is red before anything happened:\n%s", out)
	}
	s.req.ToolSpecs = []session.ToolSpec{{Name: "ralph_append_learning"}, {Name: "ralph_mark_task_complete"},
		{Name: handoffTool}}
	for _, task := range imported.Plan.Tasks {
		for attempt := 1; attempt <= 2; attempt++ {
			s.req.TaskID, s.req.Attempt = string(task.ID), attempt
			s.calls = nil
			if res := s.run(t, string(DemoScript())); res.Outcome != session.Completed {
				t.Fatalf("%s: %+v", task.ID, res)
			}
			green, out := sh("sh test.sh")
			for _, v := range task.Verify {
				ok, more := sh(v)
				green = green && ok
				out += more
			}
			wrong := task.ID == "T-002" && attempt == 1
			if green == wrong {
				t.Errorf("%s, attempt %d: green %v\n%s", task.ID, attempt, green, out)
			}
			if n := len(s.calls); n == 0 || !strings.HasPrefix(s.calls[n-1], handoffTool) || !strings.Contains(s.calls[n-1],
				`"fully_complete":true`) {
				t.Errorf("%s: calls %q", task.ID, s.calls)
			}
			if !wrong {
				break
			}
		}
	}
	if !slices.Contains(s.events, "denied Bash commits are made by the loop") {
		t.Error("the demo shows no denied commit")
	}
}
