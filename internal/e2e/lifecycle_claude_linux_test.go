package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
)

// TestClaudeCodeThroughAllPhases: the real client is limited to the tools of
// each phase. It asks a person, plans only by tools and judges with evidence.
func TestClaudeCodeThroughAllPhases(t *testing.T) {
	t.Parallel()
	spec := strings.Replace(loginSpec, "- [ ] logout.txt says bye\n", "", 1)
	tool := func(name string, input map[string]any) fakemodel.Tool {
		return call("mcp__ralph__"+name, input)
	}
	step := func(text string, tools ...fakemodel.Tool) fakemodel.Step {
		return fakemodel.Step{Text: text, Tools: tools, Usage: &fakemodel.Usage{In: 500, Out: 20}}
	}
	handoff := handoffOf("T-001")
	p, _ := claudeProject(t, nil, "[guard]\nprotected = [\"ralph.toml\", \"specs/**\"]\n")
	file := func(name string) string { return filepath.Join(p.Dir, name) }
	// The model starts after the project because its answers name paths there.
	model := fakemodel.Start(t, fakemodel.Script{
		// Discovery: nothing but specs/ may be written.
		step("I ask first.", tool("ralph_ask_user", map[string]any{"question": "Which greeting?"})),
		step("", call("Write", map[string]any{"file_path": file("code.go"), "content": "package main\n"})),
		step("", call("Bash", map[string]any{"command": "echo x > y", "description": "try"})),
		step("", call("Write", map[string]any{"file_path": file("specs/login.md"), "content": "# Login\n"})),
		step("The spec is written."),
		// The spec is incomplete: the client is asked once in its session.
		step("", call("Read", map[string]any{"file_path": file("specs/login.md")})),
		step("", call("Write", map[string]any{"file_path": file("specs/login.md"), "content": spec})),
		step("Now it is."),
		// Planning: the worktree is read-only, tasks come by the tool.
		step("", call("Write", map[string]any{"file_path": file("plan.md"), "content": "- do it\n"})),
		step("", tool("ralph_add_task", map[string]any{"title": "say hello", "description": "write login.txt",
			"criteria": []string{"login.txt says hello"}, "verify": []string{"grep -q hello login.txt"}})),
		step("", tool("ralph_mark_task_complete", map[string]any{"task_id": "T-001", "verification_notes": "done"})),
		step("The plan is made."),
		// Building.
		step("", call("Bash", map[string]any{"command": "echo hello > login.txt", "description": "write"})),
		step("", tool("ralph_mark_task_complete", map[string]any{"task_id": "T-001",
			"verification_notes": "the file is there"})),
		step("", tool("ralph_submit_handoff", handoff)),
		step("Done."),
		// Validation: its changes are undone.
		step("", call("Bash", map[string]any{"command": "cat login.txt; echo spoiled > login.txt", "description": "look"})),
		step("", tool("ralph_report_criterion", map[string]any{"spec": "specs/login.md",
			"criterion": "login.txt says hello", "verdict": "pass", "command": "grep hello login.txt",
			"evidence": "it says hello"})),
		step("Judged."),
	})
	p.Env = append(p.Env, "ANTHROPIC_BASE_URL="+model.URL)
	answers := filepath.Join(filepath.Dir(p.Dir), "answers")
	if err := os.WriteFile(answers, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.run(t, nil, "run", "--yes", "-v", "--answers", answers, "Build a login")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	for _, want := range []string{"discovery → planning", "planning → building", "building → validation",
		"- [x] login.txt says hello", "denied"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("nobody said %q:\n%s", want, r.out)
		}
	}
	if got := p.Read("login.txt") + p.Read("code.go") + p.Read("plan.md") + p.Read("y"); got != "hello\n" {
		t.Errorf("the files say %q", got)
	}
	if got := strings.Join(p.subjects(t)[:2], "|"); got != "ralph[3]: T-001 say hello|ralph[1]: discovery Login" {
		t.Errorf("the log says %s", got)
	}
	if got := p.Read("specs/login.md"); got != spec {
		t.Errorf("the spec says %s", got)
	}
	if !strings.Contains(p.Git("cat-file", "blob", p.evidence(t, 1)+":transcript.jsonl"), "no heading") {
		t.Error("the client was not told what is wrong with its spec")
	}
	p.sound(t)
}
