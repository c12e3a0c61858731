package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
)

// The real Codex works through a task inside of the sandbox: it writes, is
// denied a commit, completes the task and hands over by our tools.
func TestCodexWorksThroughATask(t *testing.T) {
	t.Parallel()
	patch, err := json.Marshal("*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n")
	if err != nil {
		t.Fatal(err)
	}
	usage := &fakemodel.Usage{In: 1000, Out: 50}
	p, model := codexProject(t, fakemodel.Script{
		{Text: "I write the file.", Tools: []fakemodel.Tool{{Name: "apply_patch", Input: patch}}, Usage: usage},
		{Tools: []fakemodel.Tool{call("exec_command",
			map[string]any{"cmd": "cat hello.txt && git ralph tool ralph_get_plan_summary"})}, Usage: usage},
		{Tools: []fakemodel.Tool{call("exec_command", map[string]any{"cmd": "git add -A && git commit -m mine"})},
			Usage: usage},
		{Tools: []fakemodel.Tool{call("ralph_mark_task_complete",
			map[string]any{"task_id": "T-001", "verification_notes": "the file is there"})}, Usage: usage},
		{Tools: []fakemodel.Tool{call("ralph_submit_handoff", handoffOf("T-001"))}, Usage: usage},
		{Text: "Done.", Usage: usage},
	}, "")
	p.must(t, "add", "say hello")
	if r := p.run(t, nil, "start"); r.code != 8 || !strings.Contains(r.err, "codex login") {
		t.Errorf("without a login: exit %d\n%s", r.code, r.err)
	}
	p.Env = append(p.Env, "OPENAI_API_KEY=test-key")
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
	turns := model.Turns()
	last := string(turns[len(turns)-1].Body)
	for _, want := range []string{"T-001", "say hello", `hello\n{`, "git ralph denied the last call"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model did not see %q in %s", want, last[strings.Index(last, "function_call_output"):][:900])
		}
	}
	if strings.Contains(last, "test-key") {
		t.Error("the model saw the key")
	}
}
