package acp

import (
	"bytes"
	"strings"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

type pipe struct{ *bytes.Buffer }

func (pipe) Close() error { return nil }

// say plays a client's lines to a session without a process. It returns the lines
// that the client was sent.
func say(t *testing.T, lines ...string) (told []string, s *conversation) {
	t.Helper()
	req := session.Request{Phase: "building", Prompt: "PROMPT", System: "SYSTEM", Self: "/bin/git-ralph",
		ToolSpecs: []session.ToolSpec{{Name: "ralph_submit_handoff"}},
		Judge: func(u session.ToolUse) session.Permission {
			refused := strings.Contains(string(u.Input), "git commit") || strings.Contains(string(u.Input), `secret"`)
			return session.Permission{Allow: !refused, Reason: "REASON"}
		}}
	var out bytes.Buffer
	s = &conversation{Session: client.NewSession(req, nil, nil, 0), calls: map[string]*call{}}
	s.Out = client.NewOutbox(pipe{&out})
	for _, l := range lines {
		s.Line([]byte(l), false)
	}
	s.Out.Close()
	<-s.Out.Done()
	return strings.Split(strings.TrimSpace(out.String()), "\n"), s
}

const beginning = `{"id":"ralph-session","result":{"sessionId":"s-1"}}`

func TestPermissions(t *testing.T) {
	const options = `[{"optionId":"always","kind":"allow_always"},{"optionId":"yes","kind":"allow_once"},` +
		`{"optionId":"no","kind":"reject_once"}]`
	rows := []struct{ why, call, options, want string }{
		{"a command", `"kind":"execute","title":"x","rawInput":{"command":"go test"}`, options, `"yes"`},
		{"a command that is refused",
			`"kind":"execute","title":"x","rawInput":{"command":"git commit"}`, options, `"no"`},
		{"a title instead of arguments", `"kind":"execute","title":"git commit -m x"`, options, `"no"`},
		{"words instead of a command",
			`"kind":"execute","rawInput":{"command":["bash","-c","git commit"]}`, options, `"no"`},
		{"no command at all", `"kind":"execute"`, options, `"no"`},
		{"a file by its place", `"kind":"edit","locations":[{"path":"/p/a.go"}]`, options, `"yes"`},
		{"one of two files is protected",
			`"kind":"edit","locations":[{"path":"/p/a"},{"path":"/p/secret"}]`, options, `"no"`},
		{"a file by its difference", `"kind":"delete","content":[{"type":"diff","path":"/p/secret"}]`, options, `"no"`},
		{"a file by its arguments", `"kind":"move","rawInput":{"new_path":"/p/secret"}`, options, `"no"`},
		{"no file at all", `"kind":"edit","title":"all of them"`, options, `"no"`},
		{"one of two files is not read",
			`"kind":"read","locations":[{"path":"/p/secret"},{"path":"/p/a"}]`, options, `"no"`},
		{"one of two folders is not searched",
			`"kind":"search","locations":[{"path":"/p/secret"},{"path":"/p/a"}]`, options, `"no"`},
		{"files that are read", `"kind":"read","locations":[{"path":"/p/b"},{"path":"/p/a"}]`, options, `"yes"`},
		{"one of our tools", `"kind":"other","title":"ralph_submit_handoff (ralph MCP Server)"`, options, `"yes"`},
		{"one of our tools after its server",
			`"kind":"other","title":"mcp__ralph__ralph_submit_handoff"`, options, `"yes"`},
		{"one of our tools after a word for tools", `"title":"Tool: ralph/ralph_submit_handoff"`, options, `"yes"`},
		{"one of our tools with arguments",
			`"title":"ralph: ralph_submit_handoff: {\"summary\":\"x\"}"`, options, `"yes"`},
		{"one of our tools by the id alone",
			`"kind":"other","toolCallId":"ralph_submit_handoff-17","title":"submit"`, options, `"yes"`},
		{"our name among the arguments of another tool",
			`"kind":"other","title":"launch: ralph_submit_handoff"`, options, `"no"`},
		{"a tool whose name beginning as ours", `"kind":"other","title":"ralph_submit_handoff_and_more"`, options, `"no"`},
		{"our name in a command", `"kind":"execute","title":"git commit -m ralph_submit_handoff"`, options, `"no"`},
		{"a tool that nobody knows", `"kind":"other","title":"launch"`, options, `"no"`},
		{"an allowance for good is not given", `"kind":"think"`,
			`[{"optionId":"always","kind":"allow_always"}]`, `"cancelled"`},
		{"nothing to refuse with", `"kind":"other"`, `[{"optionId":"yes","kind":"allow_once"}]`, `"cancelled"`},
	}
	for _, r := range rows {
		told, _ := say(t, beginning, `{"id":7,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{`+
			`"toolCallId":"c1",`+r.call+`},"options":`+r.options+`}}`)
		if last := told[len(told)-1]; !strings.Contains(last, `"id":7`) || !strings.Contains(last, r.want) {
			t.Errorf("%s: %s, want %s", r.why, last, r.want)
		}
	}
	for _, method := range []string{"fs/write_text_file", "fs/read_text_file", "terminal/create", "something/new"} {
		told, _ := say(t, beginning, `{"id":7,"method":"`+method+`","params":{"path":"/p/x","content":"x"}}`)
		if last := told[len(told)-1]; !strings.Contains(last, "-32601") {
			t.Errorf("%s: %s", method, last)
		}
	}
}

// The protocol's refusal has no reason: the model gets it with the next prompt.
func TestReasonsAreTold(t *testing.T) {
	denied := `{"id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c1","kind":"execute",` +
		`"title":"git commit"},"options":[{"optionId":"no","kind":"reject_once"}]}}`
	end := `{"id":"ralph-prompt","result":{"stopReason":"end_turn"}}`
	told, s := say(t, beginning, denied, end)
	if last := told[len(told)-1]; !strings.Contains(last, "session/prompt") || !strings.Contains(last, "REASON") {
		t.Errorf("told %q", told)
	}
	if s.First != nil {
		t.Errorf("ended: %+v", s.First)
	}
	if told, s = say(t, beginning, denied, end, end, end); s.First == nil || s.First.Kind != session.Completed ||
		len(told) != 3 {
		t.Errorf("told %q, ended %+v", told, s.First)
	}
}

func TestEndings(t *testing.T) {
	rows := []struct {
		why, line string
		want      session.OutcomeKind
	}{
		{"the end of its work", `"result":{"stopReason":"end_turn"}`, session.Completed},
		{"no tokens left", `"result":{"stopReason":"max_tokens"}`, session.ContextLimit},
		{"the client's limit of turns", `"result":{"stopReason":"max_turn_requests"}`, session.MaxTurns},
		{"a model that refuses", `"result":{"stopReason":"refusal"}`, session.ProtocolError},
		{"an interrupt that is not ours", `"result":{"stopReason":"cancelled"}`, session.Crashed},
		{"a reason that nobody knows", `"result":{"stopReason":"tired"}`, session.ProtocolError},
		{"no reason", `"result":{}`, session.ProtocolError},
		{"no login", `"error":{"code":-32000,"message":"Authentication required"}`, session.AuthFailed},
		{"a status as the code", `"error":{"code":429,"message":"slow down"}`, session.RateLimited},
		{"the provider's words", `"error":{"code":-32603,"message":"Internal error","data":{"details":"prompt is too long"}}`,
			session.ContextLimit},
		{"something else", `"error":{"code":-32603,"message":"Internal error"}`, session.ProtocolError},
	}
	for _, r := range rows {
		_, s := say(t, beginning, `{"id":"ralph-prompt",`+r.line+`}`)
		if s.First == nil || s.First.Kind != r.want {
			t.Errorf("%s: %+v, want %s", r.why, s.First, r.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, l := range []string{beginning, `{"id":"ralph-prompt","result":{"stopReason":"end_turn"}}`,
		`{"id":1,"method":"x"}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":-1,"size":1e99,` +
			`"cost":{"amount":1e300,"currency":"USD"}}}}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"a","kind":7,` +
			`"status":"completed"}}}`,
		`{"id":"ralph-prompt","result":{"usage":{"inputTokens":-5e18,"totalTokens":1e300}}}`} {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, s := say(t, beginning, string(bytes.ReplaceAll(data, []byte("\n"), nil)))
		if s.usage.Total() < 0 {
			t.Errorf("usage %+v", s.usage)
		}
	})
}

// A text and refusals without an end cost no memory without an end.
func TestFloodsAreBounded(t *testing.T) {
	longest := 0
	s := &conversation{calls: map[string]*call{}, Session: client.NewSession(session.Request{
		Judge: func(session.ToolUse) session.Permission {
			return session.Permission{Reason: strings.Repeat("no ", 300)}
		}},
		func(e session.AgentEvent) { longest = max(longest, len(e.Text)) }, nil, 0)}
	s.Out = client.NewOutbox(pipe{&bytes.Buffer{}})
	piece := []byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{` +
		`"type":"text","text":"` + strings.Repeat("ä", 2048) + `"}}}}`)
	ask := []byte(`{"id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c1",` +
		`"kind":"execute","title":"x"}}}`)
	for range 2*client.MaxLine/4096 + 1 {
		s.Line(piece, false)
	}
	for range 2 * maxDenied {
		s.Line(ask, false)
	}
	s.Out.Close()
	<-s.Out.Done()
	if longest > client.MaxLine || longest < client.MaxLine-4 {
		t.Errorf("a text of %d bytes", longest)
	}
	if n := len(s.denied); n != maxDenied {
		t.Errorf("%d reasons wait to be told", n)
	}
}
