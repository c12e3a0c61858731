package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
)

// claudeProject is a project whose agent is the real Claude Code, with a
// scripted model on loopback. Nothing leaves the machine: the key is fake and
// the base URL is the model's.
func claudeProject(t *testing.T, script fakemodel.Script, settings string) (*project, *fakemodel.Server) {
	t.Helper()
	client := os.Getenv("RALPH_TEST_CLAUDE")
	if client == "" {
		t.Skip("no Claude Code: npm ci --prefix fixtures/clients --ignore-scripts, then " +
			"RALPH_TEST_CLAUDE=…/claude-code-linux-x64/claude")
	}
	model := fakemodel.Start(t, script)
	p := newProject(t, "exit 1\n", settings+check, nil)
	p.Write("ralph.toml",
		"[agent]\ndriver = \"claude\"\nmodel = \"claude-sonnet-4-5\"\ntimeout = \"9m\"\nidle_timeout = \"5m\"\n"+
			settings+check)
	p.Git("commit", "-qam", "the agent is Claude Code")
	p.must(t, "trust")
	if err := os.Symlink(client, filepath.Join(p.bin, "claude")); err != nil {
		t.Fatal(err)
	}
	for i, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			p.Env[i] = "PATH=" + p.bin + ":" + path
		}
	}
	p.Env = append(p.Env, "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL="+model.URL, "SHELL=/bin/bash")
	return p, model
}

func call(name string, input any) fakemodel.Tool {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return fakemodel.Tool{Name: name, Input: data}
}

func handoffOf(task string) map[string]any {
	none := []any{}
	return map[string]any{"task_completed": map[string]any{"task_id": task, "summary": "wrote hello.txt",
		"fully_complete": true},
		"summary":    "wrote hello.txt",
		"freeform":   "hello.txt says hello. A commit was tried and denied, because the harness commits by itself.",
		"deviations": none, "bugs_encountered": none, "architectural_notes": none, "unfinished_business": none,
		"recommendations": none,
		"files_touched":   none, "plan_amendments": none, "tests_added": none, "constraints_discovered": none}
}

func TestClaudeCodeWorksThroughATask(t *testing.T) {
	t.Parallel()
	usage := &fakemodel.Usage{In: 1000, Out: 50}
	p, model := claudeProject(t, fakemodel.Script{
		{Text: "I write the file.", Tools: []fakemodel.Tool{call("Bash",
			map[string]any{"command": "echo hello > hello.txt", "description": "write"})}, Usage: usage},
		{Tools: []fakemodel.Tool{call("Bash", map[string]any{"command": "git add -A && git commit -m mine",
			"description": "commit"})}, Usage: usage},
		{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_mark_task_complete",
			map[string]any{"task_id": "T-001", "verification_notes": "the file is there"})}, Usage: usage},
		{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_submit_handoff", handoffOf("T-001"))}, Usage: usage},
		{Text: "Done.", Usage: usage},
	}, "")
	p.must(t, "add", "say hello")
	r := p.run(t, nil, "start", "-v")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Git("log", "--format=%s", "-1"); got != "ralph[1]: T-001 say hello" {
		t.Errorf("the newest commit is %q\n%s", got, r.out)
	}
	if got := p.Read("hello.txt"); got != "hello\n" {
		t.Errorf("hello.txt says %q", got)
	}
	if !strings.Contains(r.out, "denied") {
		t.Errorf("nobody said that the commit was denied:\n%s", r.out)
	}
	if len(model.Requests()) < 5 {
		t.Errorf("%d requests reached the model", len(model.Requests()))
	}
	var shown struct {
		Tokens map[string]int64 `json:"tokens"`
		Cost   *float64         `json:"cost_usd"`
		Agent  string           `json:"agent"`
	}
	if err := json.Unmarshal([]byte(p.must(t, "show", "1", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Tokens["input"] != 5000 || shown.Cost == nil || !strings.HasPrefix(shown.Agent, "claude") {
		t.Errorf("show says %+v", shown)
	}
	p.sound(t)
}

func TestClaudeCodeThatLies(t *testing.T) {
	t.Parallel()
	p, _ := claudeProject(t, fakemodel.Script{
		{Tools: []fakemodel.Tool{call("Bash", map[string]any{"command": "echo x > broken", "description": "break it"})}},
		{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_mark_task_complete",
			map[string]any{"task_id": "T-001", "verification_notes": "all tests pass"})}},
		{Text: "All tests pass. The task is complete."},
	}, "")
	p.must(t, "add", "say hello")
	r := p.run(t, nil, "start", "--once")
	if r.code != 4 || !strings.Contains(r.out, "reject: checks: test") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if p.Read("broken") != "" {
		t.Error("the attempt was not taken back")
	}
	p.sound(t)
}
