package e2e

import (
	"fmt"
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
)

const ralphTool = "mcp__ralph__ralph_"

func bash(command string) fakemodel.Tool {
	return call("Bash", map[string]any{"command": command, "description": "work"})
}

// full is the use of a window of 200,000 tokens, in percent.
func full(percent int) *fakemodel.Usage { return &fakemodel.Usage{In: percent * 2000, Out: 50} }

// unfinished is the handoff of a session that was asked to hand over.
func unfinished(task, text string) map[string]any {
	h := handoffOf(task)
	h["task_completed"] = map[string]any{"task_id": task, "summary": "half of it", "fully_complete": false}
	h["summary"], h["freeform"] = "half of it", text
	h["constraints_discovered"] = []any{map[string]any{"constraint": "The file must end in a newline.",
		"impact": "tools break"}}
	return h
}

func finishTask(task string) fakemodel.Script {
	return fakemodel.Script{
		{Tools: []fakemodel.Tool{call(ralphTool+"mark_task_complete", map[string]any{"task_id": task,
			"verification_notes": "it is there"})}},
		{Tools: []fakemodel.Tool{call(ralphTool+"submit_handoff", handoffOf(task))}},
		{Text: "Done."},
	}
}

// TestClaudeCodeHandsOver: at 60 % of the window the client is asked for a
// handoff, and a fresh session goes on in the same iteration.
func TestClaudeCodeHandsOver(t *testing.T) {
	t.Parallel()
	p, model := claudeProject(t, append(fakemodel.Script{
		{Text: "I begin.", Tools: []fakemodel.Tool{bash("echo one > one.txt")}, Usage: full(30)},
		{Tools: []fakemodel.Tool{bash("echo two > two.txt")}, Usage: full(62)},
		{Tools: []fakemodel.Tool{bash("echo late > late.txt")}, Usage: full(63)},
		{Tools: []fakemodel.Tool{call(ralphTool+"submit_handoff", unfinished("T-001",
			"one.txt is written and two.txt is not. Write two.txt next, in the same way."))}, Usage: full(64)},
		{Text: "Handed over.", Usage: full(64)},
		{Text: "I go on.", Tools: []fakemodel.Tool{bash("echo two > two.txt")}, Usage: full(10)},
	}, finishTask("T-001")...), "")
	p.must(t, "add", "write two files")
	r := p.run(t, nil, "start", "-v")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Read("one.txt") + p.Read("two.txt") + p.Read("late.txt"); got != "one\ntwo\n" {
		t.Errorf("the files are %q", got)
	}
	s := p.shown(t, 1)
	if len(s.Agents) != 2 || s.Agents[0].Reason != "context_budget" || s.Agents[1].Reason != "end" {
		t.Errorf("the sessions: %+v", s.Agents)
	}
	if got := strings.Join(p.contextEvents(t), ", "); got != "window context_budget" {
		t.Errorf("context events: %s", got)
	}
	second := p.evidenceFile(t, 1, "prompt.2.md")
	for _, want := range []string{"### This iteration so far", "Write two.txt next", "The file must end in a newline."} {
		if !strings.Contains(second, want) {
			t.Errorf("the prompt of the second session lacks %q:\n%s", want, second)
		}
	}
	if p.evidenceFile(t, 1, "transcript.2.jsonl") == "" || !strings.Contains(p.evidenceFile(t, 1, "handoff.1.json"),
		"half of it") {
		t.Error("the evidence lacks the second transcript or the first handoff")
	}
	asked := false
	for _, q := range model.Turns() {
		asked = asked || strings.Contains(string(q.Body), "62 %") && strings.Contains(string(q.Body), "ralph_submit_handoff")
	}
	if !asked {
		t.Error("nobody asked the model to hand over")
	}
	if got := p.must(t, "knowledge", "list"); !strings.Contains(got, "must end in a newline") {
		t.Errorf("what the first session learned is lost:\n%s", got)
	}
	if got := p.must(t, "stats", "--json"); !strings.Contains(got, `"above_60":1`) &&
		!strings.Contains(got, `"above_60": 1`) {
		t.Errorf("the zone was not counted:\n%s", got)
	}
	p.sound(t)
}

// TestClaudeCodeAtTheEndOfItsWindow: a client that does not hand over is ended
// at 80 %. A prompt that the provider calls too long has the same effect.
// Neither is a failure of the task.
func TestClaudeCodeAtTheEndOfItsWindow(t *testing.T) {
	t.Parallel()
	overflow := fakemodel.Step{Status: 400, ErrorType: "invalid_request_error",
		Message: "prompt is too long: 210000 tokens > 200000 maximum"}
	rows := []struct {
		why    string
		script fakemodel.Script
	}{
		{"it goes on calling tools", fakemodel.Script{
			{Tools: []fakemodel.Tool{bash("echo one > one.txt")}, Usage: full(65)},
			{Tools: []fakemodel.Tool{bash("echo a")}, Usage: full(70)},
			{Tools: []fakemodel.Tool{bash("echo b")}, Usage: full(85)},
			{Text: "never said", Stall: true}}},
		{"the provider refuses the prompt", fakemodel.Script{overflow}},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			p, model := claudeProject(t, append(r.script, append(fakemodel.Script{
				{Text: "I go on.", Tools: []fakemodel.Tool{bash("echo two > two.txt; echo one > one.txt")},
					Usage: full(10)}}, finishTask("T-001")...)...), "")
			p.must(t, "add", "write two files")
			res := p.run(t, nil, "start", "-v")
			if res.code != 0 {
				t.Fatalf("exit %d, %d requests\n%s%s", res.code, len(model.Turns()), res.out, res.err)
			}
			s := p.shown(t, 1)
			if len(s.Agents) != 2 || s.Agents[0].Reason != "context_budget" || s.Agents[0].Outcome != "context_limit" ||
				s.Verdict != "keep" {
				t.Errorf("%s, %+v", s.Verdict, s.Agents)
			}
			if got := p.evidenceFile(t, 1, "prompt.2.md"); !strings.Contains(got, "### This iteration so far") {
				t.Errorf("the second session was told nothing of the first:\n%s", got)
			}
			p.sound(t)
		})
	}
}

// With no session left the iteration is judged as it stands.
func TestClaudeCodeWithoutASessionLeft(t *testing.T) {
	t.Parallel()
	p, _ := claudeProject(t, fakemodel.Script{
		{Tools: []fakemodel.Tool{bash("echo one > one.txt")}, Usage: full(30)},
		{Tools: []fakemodel.Tool{bash("echo b")}, Usage: full(85)},
		{Text: "never said", Stall: true},
	}, "[loop]\nmax_handoffs = 0\nmax_attempts = 1\n")
	p.must(t, "add", "write a file")
	r := p.run(t, nil, "start", "--once")
	s := p.shown(t, 1)
	if r.code != 3 || s.Verdict != "reject" || !strings.Contains(s.Reason, "not_claimed") || len(s.Agents) != 1 {
		t.Errorf("exit %d, %+v\n%s%s", r.code, s, r.out, r.err)
	}
	p.sound(t)
}

// TestClaudeCodeIsAskedByAPerson: `handoff --now` does what a full window does.
func TestClaudeCodeIsAskedByAPerson(t *testing.T) {
	t.Parallel()
	p, _ := claudeProject(t, append(fakemodel.Script{
		{Tools: []fakemodel.Tool{bash("echo one > one.txt; while [ ! -e go.flag ]; do sleep 0.05; done")}},
		{Tools: []fakemodel.Tool{bash("echo late > late.txt")}, Repeat: 1},
		{Text: "I stop here."},
		{Tools: []fakemodel.Tool{call(ralphTool+"submit_handoff", unfinished("T-001",
			"one.txt is written and two.txt is not. Write two.txt next, in the same way."))}},
		{Text: "Handed over."},
		{Tools: []fakemodel.Tool{bash("echo two > two.txt")}},
	}, finishTask("T-001")...), "")
	p.Write(".gitignore", "*.flag\n")
	p.Git("add", "-A")
	p.Git("commit", "-qm", "ignore flags")
	p.must(t, "add", "write two files")
	done := make(chan result)
	go func() { done <- p.run(t, nil, "start", "-v") }()
	for p.Read("one.txt") == "" {
		select {
		case r := <-done:
			t.Fatalf("it ended: exit %d\n%s%s", r.code, r.out, r.err)
		default:
		}
	}
	p.must(t, "handoff", "--now")
	waitFor(t, "the handoff is asked for", func() bool { return p.run(t, nil, "handoff", "--now").code == 0 })
	p.Write("go.flag", "")
	r := <-done
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	s := p.shown(t, 1)
	if len(s.Agents) != 2 || s.Agents[0].Reason != "manual" {
		t.Errorf("the sessions: %+v\n%s", s.Agents, r.out)
	}
	p.sound(t)
}

// TestClaudeCodeInEveryMode: helpers are real clients with their tools, and
// the coding agent reads what they left.
func TestClaudeCodeInEveryMode(t *testing.T) {
	t.Parallel()
	put := func(text string) fakemodel.Tool {
		return call(ralphTool+"put_knowledge", map[string]any{"type": "constraint", "slug": "newline", "text": text,
			"source_iterations": []int{1}})
	}
	work := append(fakemodel.Script{{Tools: []fakemodel.Tool{bash("echo hello > hello.txt")}}}, finishTask("T-001")...)
	prep := fakemodel.Script{
		{Tools: []fakemodel.Tool{call("Write", map[string]any{"file_path": "PREP.md", "content": "mine"})}},
		{Tools: []fakemodel.Tool{call(ralphTool+"submit_prompt",
			map[string]any{"markdown": "## Previous Handoff\n\nNothing was done before. " +
				"hello.txt is all that the task wants."})}},
		{Tools: []fakemodel.Tool{call(ralphTool+"submit_directive", map[string]any{"action": "proceed", "reason": "ready"})}},
		{Text: "Prepared."},
	}
	post := fakemodel.Script{
		{Tools: []fakemodel.Tool{put("Files must end in a newline.")}},
		{Tools: []fakemodel.Tool{call(ralphTool+"submit_directive", map[string]any{"action": "proceed",
			"reason": "all well"})}},
		{Text: "Recorded."},
	}
	index := fakemodel.Script{{Tools: []fakemodel.Tool{put("Files must end in a newline.")}}, {Text: "Recorded."}}
	review := fakemodel.Script{{Text: "hello.txt:1: says hello and not good day"}}
	join := func(parts ...fakemodel.Script) (out fakemodel.Script) {
		for _, part := range parts {
			out = append(out, part...)
		}
		return out
	}
	rows := []struct {
		mode, settings, roles, inPrompt string
		script                          fakemodel.Script
	}{
		{"handoff-only", "", "coding", "## Current Task", work},
		{"handoff-plus-index", "", "indexer coding", "[K-constraint-newline] Files must end in a newline.",
			join(index, work)},
		{"agent-orchestrated", "[[passes]]\nname = \"review\"\nenabled = true\n", "context-prep coding context-post review",
			"hello.txt is all that the task wants.", join(prep, work, post, review)},
	}
	for _, r := range rows {
		t.Run(r.mode, func(t *testing.T) {
			p, model := claudeProject(t, r.script, fmt.Sprintf("[loop]\nmode = %q\n%s", r.mode, r.settings))
			p.importTasks(t, `[{"id":"T-001","title":"say hello","needs_docs":true}]`)
			res := p.run(t, nil, "start", "-v")
			if res.code != 0 {
				t.Fatalf("exit %d, %d requests\n%s%s", res.code, len(model.Turns()), res.out, res.err)
			}
			s := p.shown(t, 1)
			if got := s.roles(); got != r.roles {
				t.Errorf("the agents: %s", got)
			}
			for _, a := range s.Agents {
				if a.Outcome != "completed" || a.Cost == nil {
					t.Errorf("%+v", a)
				}
			}
			if got := p.evidenceFile(t, 1, "prompt.md"); !strings.Contains(got, r.inPrompt) {
				t.Errorf("the prompt lacks %q:\n%s", r.inPrompt, got)
			}
			if p.Read("hello.txt") != "hello\n" || p.Read("PREP.md") != "" {
				t.Error("the files are not those of the coding agent")
			}
			if r.mode == "agent-orchestrated" {
				if len(s.Passes) != 1 || s.Passes[0].Findings != "hello.txt:1: says hello and not good day" {
					t.Errorf("the findings: %+v", s.Passes)
				}
				if got := p.must(t, "knowledge", "list"); !strings.Contains(got, "K-constraint-newline") {
					t.Errorf("knowledge:\n%s", got)
				}
			}
			p.sound(t)
		})
	}
}
