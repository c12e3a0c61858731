package claude

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
	"testing"
	"time"

	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// lab runs the client in throw-away projects.
type lab struct{ client string }

// experiment is one run of the client and what came of it.
type experiment struct {
	dir        string
	model      *fakemodel.Server
	req        session.Request
	group      *proc.Group
	transcript bytes.Buffer

	mu     sync.Mutex
	events []session.AgentEvent
	calls  []string
}

func (l lab) experiment(t *testing.T, env map[string]string, script func(dir string) fakemodel.Script) *experiment {
	t.Helper()
	root := t.TempDir()
	e := &experiment{dir: filepath.Join(root, "project")}
	home := filepath.Join(root, "home")
	for _, d := range []string{e.dir, filepath.Join(home, "tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e.git(t, "init", "-q", "-b", "main")
	e.git(t, "commit", "-q", "--allow-empty", "-m", "start")
	e.model = fakemodel.Start(t, script(e.dir))
	group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("test-%d", time.Now().UnixNano()),
		Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	e.group = group
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": home, "TMPDIR": filepath.Join(home, "tmp"), "TERM": "dumb", "LANG": "C.UTF-8",
		"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": e.model.URL, "CLAUDE_CODE_MAX_RETRIES": "1",
	}
	maps.Copy(vars, env)
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		if vars[k] != "" {
			e.req.Env = append(e.req.Env, k+"="+vars[k])
		}
	}
	r := &e.req
	r.Role, r.Phase, r.TaskID, r.EventID, r.Iteration, r.Attempt = session.RoleCoding, "building", "T-1", "01event", 1, 1
	r.Prompt, r.Model, r.Dir, r.Start, r.Transcript = "do the task", "claude-sonnet-4-5", e.dir, group.Start, &e.transcript
	r.Timeout, r.Idle = time.Minute, 30*time.Second
	r.Judge = func(u session.ToolUse) session.Permission {
		if strings.Contains(string(u.Input), "git commit") {
			return session.Permission{Reason: "commits are made by the loop"}
		}
		return session.Permission{Allow: true}
	}
	r.ToolSpecs = []session.ToolSpec{
		{Name: "ralph_mark_task_complete", Description: "Report the task as complete.",
			Schema: json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string"}},"required":["task_id"]}`)},
		{Name: "ralph_submit_handoff", Description: "Submit the handoff.", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	r.CallTool = func(_ context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.calls = append(e.calls, name+" "+string(args))
		if strings.Contains(string(args), "T-9") {
			return nil, errors.New("T-9 is not the task of this iteration")
		}
		return json.RawMessage(`{"recorded":true}`), nil
	}
	return e
}

func (e *experiment) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", e.dir, "-c", "user.name=t", "-c", "user.email=t@example.invalid"},
		args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (e *experiment) run(t *testing.T, l lab, ctx context.Context, on func(session.AgentEvent)) session.Result {
	t.Helper()
	a := &Agent{Path: l.client, Grace: 3 * time.Second}
	res, err := a.Run(ctx, e.req, func(ev session.AgentEvent) {
		e.mu.Lock()
		e.events = append(e.events, ev)
		e.mu.Unlock()
		if on != nil {
			on(ev)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("%s %q, %d requests", res.Outcome, res.Detail, len(e.model.Requests()))
	}
	return res
}

// said are the texts of the events of one kind.
func (e *experiment) said(kind session.AgentEventKind) []string {
	var out []string
	for _, ev := range e.events {
		if ev.Kind == kind {
			out = append(out, strings.TrimSpace(ev.Tool+" "+ev.Text))
		}
	}
	return out
}

func (e *experiment) wantOutcome(t *testing.T, res session.Result, kind session.OutcomeKind, detail string) {
	t.Helper()
	if res.Outcome != kind || !strings.Contains(res.Detail, detail) {
		t.Errorf("%s %q, want %s with %q\ntranscript:\n%s", res.Outcome, res.Detail, kind, detail, e.transcript.String())
	}
}

func bash(command string) fakemodel.Step {
	input, _ := json.Marshal(map[string]string{"command": command, "description": "x"})
	return fakemodel.Step{Tools: []fakemodel.Tool{{Name: "Bash", Input: input}}}
}

func call(name, input string) fakemodel.Step {
	return fakemodel.Step{Tools: []fakemodel.Tool{{Name: name, Input: json.RawMessage(input)}}}
}
