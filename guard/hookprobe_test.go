package guard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHookProbe: a hook probe's policy refuses and records every tool call, even if
// the run's policy would allow it.
func TestHookProbe(t *testing.T) {
	p := New("/w", "")
	p.HookProbe = &HookProbe{Nonce: "N1", Record: "/c/record"}
	data, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, client, event string
		exit               int
		record             []HookProbeRecord
	}{
		{"a harmless command", "claude",
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"true"}}`, 2,
			[]HookProbeRecord{{"N1", "claude", "PreToolUse", "Bash", true}}},
		{"our own tools", "codex", `{"hook_event_name":"PreToolUse","tool_name":"mcp__ralph__x","tool_input":{}}`, 2,
			[]HookProbeRecord{{"N1", "codex", "PreToolUse", "mcp__ralph__x", true}}},
		{"gemini's event", "gemini",
			`{"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"true"}}`, 2,
			[]HookProbeRecord{{"N1", "gemini", "BeforeTool", "run_shell_command", true}}},
		{"the start of a session is taken down and goes on", "claude",
			`{"hook_event_name":"SessionStart","source":"startup"}`, 0,
			[]HookProbeRecord{{"N1", "claude", "SessionStart", "", false}}},
		{"an unknown event", "claude", `{"hook_event_name":"Odd"}`, 2, []HookProbeRecord{{"N1", "claude", "Odd", "", true}}},
		{"no event", "claude", ``, 2, nil},
		{"an unknown client", "emacs", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, 2, nil},
	} {
		a := HookAnswer(c.client, []byte(c.event), p)
		if a.Exit != c.exit {
			t.Errorf("%s: exit %d", c.why, a.Exit)
		}
		if d := cmp.Diff(c.record, ParseHookProbe(a.Record)); d != "" {
			t.Errorf("%s: record (-want +got):\n%s", c.why, d)
		}
		if n := strings.Count(string(a.Record), "\n"); n > 1 || n != len(c.record) {
			t.Errorf("%s: the record is no line: %q", c.why, a.Record)
		}
		if refusesCall := c.record != nil && c.record[0].Tool != ""; refusesCall &&
			!(strings.Contains(string(a.Stderr), "N1") && strings.Contains(string(a.Stdout), "N1")) {
			t.Errorf("%s: the refusal does not carry the nonce: %s%s", c.why, a.Stdout, a.Stderr)
		}
	}
	if a := HookAnswer("claude", []byte(
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git commit"}}`),
		New("/w", "")); a.Record != nil {
		t.Errorf("a policy of a run has a record: %s", a.Record)
	}
	if got := ParseHookProbe([]byte("{}\nnonsense\n{\"nonce\":\"N1\"\n\n")); got != nil {
		t.Errorf("what is no record counts: %v", got)
	}
}
