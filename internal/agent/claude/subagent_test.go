package claude

import (
	"testing"

	"git-ralph/loop/session"
)

// TestSubAgentsAreNamed: a sub-agent's messages and calls have its name, from the
// call that starts it to that call's result.
func TestSubAgentsAreNamed(t *testing.T) {
	s := newStream()
	read := func(text string) []session.AgentEvent {
		t.Helper()
		l, ok := parse([]byte(text))
		if !ok {
			t.Fatalf("no line: %s", text)
		}
		return s.read(l)
	}
	for _, x := range []struct {
		line, agent string
		kind        session.AgentEventKind
	}{
		{`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"call1","name":"Task",` +
			`"input":{"subagent_type":"Explore","description":"the parser","prompt":"look"}}]}}`, "", session.EventToolCall},
		{`{"type":"assistant","parent_tool_use_id":"call1","message":{"id":"m2","content":[{"type":"tool_use",` +
			`"id":"call2","name":"Grep","input":{"pattern":"quote"}}]}}`, "Explore the parser", session.EventToolCall},
		{`{"type":"user","parent_tool_use_id":"call1","message":{"content":[{"type":"tool_result",` +
			`"tool_use_id":"call2","content":"x"}]}}`, "", session.EventToolDone},
		{`{"type":"assistant","parent_tool_use_id":"call1","message":{"id":"m3","content":[{"type":"text",` +
			`"text":"found"}]}}`, "Explore the parser", session.EventText},
		{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call1","content":"x"}]}}`,
			"Explore the parser", session.EventToolDone},
		{`{"type":"assistant","message":{"id":"m4","content":[{"type":"text","text":"so"}]}}`, "", session.EventText},
	} {
		events := read(x.line)
		if len(events) != 1 || events[0].Kind != x.kind || events[0].Agent != x.agent {
			t.Errorf("%s\ngives %+v, want one %s of %q", x.line, events, x.kind, x.agent)
		}
	}
	if len(s.subs) != 0 {
		t.Errorf("remembered for good: %v", s.subs)
	}
}
