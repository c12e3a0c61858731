package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/internal/mcp"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// runOf opens the tools of a building run on T-001.
func runOf(t *testing.T) session.Toolbox {
	t.Helper()
	task := plan.Task{ID: "T-001", Title: "login", Status: plan.InProgress, Criteria: []string{"it logs in"}}
	box, err := mcp.Open(session.Scope{Role: session.RoleCoding, Phase: state.Building, Iteration: 1, Attempt: 1,
		Task:  &task,
		State: state.State{Plan: plan.Plan{Tasks: []plan.Task{task}}}, RunDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

// said returns a command line's output and exit status.
func said(t *testing.T, env []string, in string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	app := &App{Ctx: t.Context(), In: strings.NewReader(in), Out: &out, Err: &errs, Env: env}
	code = app.Run(args)
	return code, out.String(), errs.String()
}

// TestTool: answers and refusals are JSON on standard output. Standard error is
// only for other messages.
func TestTool(t *testing.T) {
	box := runOf(t)
	for _, tt := range []struct {
		in     string
		args   []string
		code   int
		stdout string
		why    string
	}{
		{"", []string{"ralph_mark_task_complete", `{"task_id":"T-001"}`}, 0,
			`{"task_id":"T-001","completion_percentage":100,"remaining_tasks":0}` + "\n", "an answer"},
		{" {\"task_id\": \"T-001\"}\n", []string{"ralph_mark_task_in_progress", "-"}, 0,
			`{"task_id":"T-001","status":"in_progress"}` + "\n", "from standard input"},
		{"{}", []string{"ralph_mark_task_in_progress"}, 1,
			`{"error":"task_id is missing","hint":"use ralph_mark_task_in_progress {task_id}"}` + "\n",
			"standard input is not read unasked"},
		{"", []string{"ralph_mark_task_complete", `{"task_id":"T-002"}`}, 1,
			`{"error":"\"T-002\" is not the task of this iteration",`, "a refusal"},
		{"", []string{"ralph_mark_task_complete", `{"task_id":`}, 1, `{"error":"the arguments are not valid JSON",`,
			"broken arguments"},
		{strings.Repeat("x", mcp.MaxRequest+9), []string{"ralph_update_memory", "-"}, 1,
			`{"error":"the arguments have 1048577 bytes,`, "too much"},
		{"", []string{"ralph_add_task", `{}`}, 1,
			`{"error":"ralph_add_task is not available to the role coding in the phase building",`, "of another phase"},
		{"", []string{"rm"}, 1, `{"error":"there is no tool \"rm\"",`, "no such tool"},
	} {
		code, stdout, stderr := said(t, box.Env(), tt.in, append([]string{"tool"}, tt.args...)...)
		if code != tt.code || !strings.HasPrefix(stdout, tt.stdout) || strings.Count(stdout, "\n") != 1 || stderr != "" {
			t.Errorf("%s: code %d, stdout %q, stderr %q; want %d, %q", tt.why, code, stdout, stderr, tt.code, tt.stdout)
		}
	}
	if got := box.Collected(); got.Complete == nil || !got.InProgress {
		t.Errorf("collected %+v", got)
	}
}

func TestToolLists(t *testing.T) {
	box := runOf(t)
	code, stdout, stderr := said(t, box.Env(), "", "tool")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "ralph_get_next_task") ||
		strings.Contains(stdout, "ralph_add_task") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, _ = said(t, box.Env(), "", "tool", "--json")
	var list []struct {
		Name   string
		Schema map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &list); code != 0 || err != nil || len(list) != len(box.Specs()) ||
		list[0].Schema["type"] != "object" {
		t.Errorf("code %d, %v: %s", code, err, stdout)
	}
}

func TestToolOutsideOfARun(t *testing.T) {
	over := runOf(t)
	env := over.Env()
	over.Close()
	for _, args := range [][]string{{"tool"}, {"tool", "ralph_get_next_task"}, {"mcp"}} {
		for _, tt := range []struct {
			env  []string
			want string
		}{{nil, "there is no running iteration here"}, {env, "the run does not answer"}} {
			code, stdout, stderr := said(t, tt.env, "", args...)
			if code != 1 || stdout != "" || !strings.Contains(stderr, tt.want) || !strings.Contains(stderr, "\nhint: ") {
				t.Errorf("%v: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
			}
		}
	}
}

// TestMcp: the command ends well when its client closes standard input.
func TestMcp(t *testing.T) {
	box := runOf(t)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	app := &App{Ctx: t.Context(), In: in, Out: out, Err: io.Discard, Env: box.Env()}
	done := make(chan int)
	go func() { done <- app.Run([]string{"mcp"}) }()
	dec := json.NewDecoder(answers)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ralph_mark_task_complete",` +
			`"arguments":{"task_id":"T-001"}}}`,
	} {
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
		var got struct{ Result, Error json.RawMessage }
		if err := dec.Decode(&got); err != nil || got.Result == nil {
			t.Fatalf("%s: %s, %v", line, got.Error, err)
		}
	}
	client.Close()
	if code := <-done; code != 0 || box.Collected().Complete == nil {
		t.Errorf("code %d, collected %+v", code, box.Collected())
	}
}
