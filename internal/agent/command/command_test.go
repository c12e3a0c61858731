//go:build unix

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// bench is a project and a group of processes for one run.
type bench struct {
	req        session.Request
	transcript *proc.HeadTail
	events     []session.AgentEvent
	group      *proc.Group
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.CopyFS(work, os.DirFS("../../../fixtures/agents/project")); err != nil {
		t.Fatal(err)
	}
	prompt := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(prompt, []byte(strings.Repeat("the prompt\n", 40_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()),
		Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	b := &bench{transcript: proc.NewHeadTail(1 << 20), group: group}
	b.req = session.Request{
		Role: session.RoleCoding, Phase: "building", TaskID: "T-1", EventID: "01event", Iteration: 4, Attempt: 2,
		Prompt: strings.Repeat("the prompt\n", 40_000), PromptFile: prompt, HandoffFile: filepath.Join(dir, "handoff.json"),
		Dir: work, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Start: group.Start, Transcript: b.transcript,
	}
	return b
}

func (b *bench) run(t *testing.T, argv ...string) session.Result {
	t.Helper()
	a := &Agent{Argv: argv, Grace: 200 * time.Millisecond}
	res, err := a.Run(t.Context(), b.req, func(e session.AgentEvent) { b.events = append(b.events, e) })
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (b *bench) claims(t *testing.T) bool {
	t.Helper()
	data, err := os.ReadFile(b.req.HandoffFile)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	var handoff struct {
		TaskCompleted struct {
			TaskID        string `json:"task_id"`
			FullyComplete bool   `json:"fully_complete"`
		} `json:"task_completed"`
		Freeform string `json:"freeform"`
	}
	if err := json.Unmarshal(data, &handoff); err != nil || handoff.TaskCompleted.TaskID != "T-1" ||
		len(handoff.Freeform) < 50 {
		t.Fatalf("the handoff of the agent: %v\n%s", err, data)
	}
	return handoff.TaskCompleted.FullyComplete
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../fixtures/agents", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The fixture agents end as their headers say, whatever they claim.
func TestFixtures(t *testing.T) {
	rows := []struct {
		why, script, arg string
		idle             time.Duration
		kind             session.OutcomeKind
		detail           string
		claims, green    bool
	}{
		{"good work", "good.sh", "", 0, session.Completed, "", true, true},
		{"an honest failure", "failing.sh", "", 0, session.Completed, "", false, false},
		{"a lie is an ordinary end for the driver", "lying.sh", "", 0, session.Completed, "", true, false},
		{"a claim without a change", "empty.sh", "", 0, session.Completed, "", true, false},
		{"work without a claim", "silent.sh", "", 0, session.Completed, "", false, true},
		{"killed", "crashing.sh", "signal", 0, session.Crashed, "signal 9", true, true},
		{"a bad status", "crashing.sh", "exit", 0, session.Crashed, "exit 3", true, true},
		{"silence that ignores TERM", "hanging.sh", "", 300 * time.Millisecond, session.Hang, "idle 300ms", true, true},
		{"green through an ignored file", "ignored.sh", "", 0, session.Completed, "", true, true},
	}
	for _, r := range rows {
		t.Run(r.script+r.arg, func(t *testing.T) {
			b := newBench(t)
			b.req.Idle = r.idle
			argv := []string{fixture(t, r.script)}
			if r.arg != "" {
				argv = append(argv, r.arg)
			}
			res := b.run(t, argv...)
			if res.Outcome != r.kind || res.Detail != r.detail {
				t.Errorf("%s: %s %q, want %s %q", r.why, res.Outcome, res.Detail, r.kind, r.detail)
			}
			if got := b.claims(t); got != r.claims {
				t.Errorf("%s: claims %v, want %v", r.why, got, r.claims)
			}
			exit, err := proc.Run(t.Context(), proc.Command{Argv: []string{"sh", "test.sh"}, Dir: b.req.Dir, Env: b.req.Env})
			if err != nil || exit.Success() != r.green {
				t.Errorf("%s: check green %v (%v), want %v", r.why, exit.Success(), err, r.green)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	res := b.run(t, fixture(t, "good.sh"))
	if res.Usage.Input != 1200 || res.Usage.Output != 80 || res.Usage.CostMicroUSD == nil ||
		*res.Usage.CostMicroUSD != 4800 {
		t.Errorf("usage %+v", res.Usage)
	}
	if len(b.events) != 2 || b.events[0].Kind != session.EventText || b.events[1].Kind != session.EventUsage {
		t.Errorf("events %+v", b.events)
	}
}

// The contract of the environment and of standard input.
func TestContract(t *testing.T) {
	b := newBench(t)
	b.run(t, "sh", "-c", `cat | wc -c | tr -d ' '; pwd; env | grep ^RALPH_ | sort; echo to stderr >&2`)
	out := b.transcript.String()
	for _, want := range []string{
		`"text":"440000"`, `"text":"` + b.req.Dir + `"`, "RALPH_ROLE=coding", "RALPH_PHASE=building",
		"RALPH_TASK_ID=T-1", "RALPH_ITERATION=4",
		"RALPH_ATTEMPT=2", "RALPH_EVENT_ID=", "RALPH_PROMPT_FILE=" + b.req.PromptFile,
		"RALPH_HANDOFF_FILE=" + b.req.HandoffFile,
		`{"type":"output","stream":"stderr","text":"to stderr"}`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the transcript lacks %s:\n%s", want, out)
		}
	}
}

// An agent that never reads its prompt must not block, however long that is.
func TestPromptIsNotRead(t *testing.T) {
	b := newBench(t)
	b.req.Prompt = strings.Repeat("x", 1<<20)
	for _, script := range []string{"exec <&-; exit 0", "exit 0"} {
		if res := b.run(t, "sh", "-c", script); res.Outcome != session.Completed {
			t.Errorf("%s: %s %s", script, res.Outcome, res.Detail)
		}
	}
}

// 100 MB of output must cost neither memory nor the verdict on the work.
func TestFlood(t *testing.T) {
	b := newBench(t)
	if underRace {
		b.req.Env = append(b.req.Env, "RALPH_FLOOD_MB=10")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res := b.run(t, fixture(t, "flooding.sh"))
	runtime.ReadMemStats(&after)
	if res.Outcome != session.Completed || !b.claims(t) {
		t.Errorf("%s %s", res.Outcome, res.Detail)
	}
	// The heap in use, and all memory ever requested from the system.
	if grown := int64(after.Sys) - int64(before.Sys); grown > 48<<20 && !underRace {
		t.Errorf("100 MB of output made the process grow by %d MB", grown>>20)
	}
	if got := b.transcript.String(); !strings.Contains(got, `"cut":true`) || len(got) > 2<<20 {
		t.Errorf("a transcript of %d bytes, its cut line marked: %v", len(got), strings.Contains(got, `"cut":true`))
	}
}

// An agent's remaining processes end when the group is closed.
func TestForking(t *testing.T) {
	b := newBench(t)
	if res := b.run(t, fixture(t, "forking.sh")); res.Outcome != session.Completed {
		t.Errorf("%s %s", res.Outcome, res.Detail)
	}
	if err := b.group.Close(); err != nil {
		t.Fatal(err)
	}
	late := filepath.Join(b.req.Dir, "late.txt")
	before, err := os.ReadFile(late)
	if err != nil {
		t.Fatal(err)
	}
	// The writer would have written several times while this command runs.
	proc.Run(t.Context(), proc.Command{Argv: []string{"sleep", "0.5"}, Env: b.req.Env})
	after, err := os.ReadFile(late)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("it goes on writing: %d then %d bytes (%v)", len(before), len(after), err)
	}
}

func TestInterrupted(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := &Agent{Argv: []string{"sh", "-c", `echo '{"type":"text","text":"started"}'; exec sleep 60`}, Grace: time.Second}
	res, err := a.Run(ctx, b.req, func(session.AgentEvent) { cancel() })
	if err != nil || res.Outcome != session.Interrupted {
		t.Errorf("%s %s, %v", res.Outcome, res.Detail, err)
	}
}

func TestWallClock(t *testing.T) {
	b := newBench(t)
	b.req.Timeout = 300 * time.Millisecond
	res := b.run(t, "sh", "-c", `while :; do echo sound; sleep 0.05; done`)
	if res.Outcome != session.Hang || res.Detail != "wall 300ms" {
		t.Errorf("%s %q", res.Outcome, res.Detail)
	}
}

func TestCannotStart(t *testing.T) {
	b := newBench(t)
	for _, argv := range [][]string{nil, {"no-such-program-here"}, {"./value.txt"}} {
		a := &Agent{Argv: argv}
		if _, err := a.Run(t.Context(), b.req, nil); err == nil || !strings.HasPrefix(err.Error(), "run the agent: ") {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"agent.sh", "tools/run"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/bin:/usr/bin"}
	sh := proc.Look("sh", env)
	rows := []struct{ why, in, want string }{
		{"a bare name is a program of PATH", "sh", sh},
		{"else a file at the root of the worktree", "agent.sh", filepath.Join(dir, "agent.sh")},
		{"a path is relative to the worktree", "./tools/run", filepath.Join(dir, "tools/run")},
		{"an absolute path stays", "/opt/agent", "/opt/agent"},
		{"what is nowhere stays, starting it says so", "nowhere", "nowhere"},
	}
	for _, r := range rows {
		if got := Resolve([]string{r.in, "arg"}, dir, env); got[0] != r.want || got[1] != "arg" {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
}
