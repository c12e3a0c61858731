package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// stage runs a client that plays name.
func stage(t *testing.T, name string) (*Agent, session.Request) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	req := session.Request{Phase: "building", Prompt: "the prompt", Dir: t.TempDir(), Start: proc.Start,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), playVariable + "=" + name, "SystemRoot=" +
			os.Getenv("SystemRoot")},
		Judge: func(u session.ToolUse) session.Permission {
			return session.Permission{Allow: !strings.Contains(string(u.Input), "git commit"), Reason: "no"}
		}}
	return &Agent{Path: self, Grace: 100 * time.Millisecond}, req
}

// hasty is a clock on which one fixed limit passes at once.
func hasty(limit time.Duration) *proc.Clock {
	return &proc.Clock{Now: time.Now, AfterFunc: func(d time.Duration, f func()) func() bool {
		if d == limit {
			d = 0
		}
		return time.AfterFunc(d, f).Stop
	}}
}

// However a client misbehaves, the run ends and says what was wrong.
func TestClients(t *testing.T) {
	hour := time.Now().Add(30 * time.Minute)
	rows := []struct {
		play, why string
		kind      session.OutcomeKind
		detail    string
	}{
		{"good", "the usual", session.Completed, ""},
		{"leave", "ends at once", session.ProtocolError, "the client ended without a result"},
		{"complain", "a command line that it does not know", session.ProtocolError,
			"the client did not start: error: unknown option '--tools'"},
		{"mute", "never answers initialize", session.ProtocolError, "no answer to initialize within 2m"},
		{"old", "runs what nobody could judge", session.ProtocolError,
			"the client cannot block a call whose judgement failed (it is too old)"},
		{"hookless", "does not take our hook", session.ProtocolError,
			"the client did not take our hook, so calls would run unjudged"},
		{"refuses", "refuses the protocol", session.ProtocolError, "the client refused initialize: no"},
		{"unjudged", "runs a call without asking", session.ProtocolError, "a call of Bash ran without being judged"},
		{"disobedient", "asks, and runs the denied call", session.ProtocolError, "a denied call of Bash ran"},
		{"alarm", "says that nobody looked", session.ProtocolError, "a tool call was not judged: nobody looked"},
		{"policy", "a policy forbids our permission mode", session.PermissionDenied,
			"a policy of this machine makes the client run in permission mode default"},
		{"retrying", "tries its provider again without end", session.Overloaded, "attempt 21 of 1000: overloaded (529)"},
		{"patient", "would wait for an hour", session.RateLimited, "attempt 1 of 4: rate_limit (429)"},
		{"vanishes", "dies in the middle", session.Crashed, "exit 3"},
		{"bad-status", "a good result and a bad status", session.Crashed, "exit 3 after its result"},
		{"lingers", "does not end after its result", session.Completed, ""},
		{"again-fails", "the further prompt fails: the work stays done", session.Completed, ""},
	}
	for _, r := range rows {
		t.Run(r.play, func(t *testing.T) {
			agent, req := stage(t, r.play)
			if limit, ok := map[string]time.Duration{"mute": client.StartLimit, "lingers": client.EndLimit}[r.play]; ok {
				agent.Clock = hasty(limit)
			}
			asked := 0
			req.FollowUp = func(session.Result) (string, bool) {
				asked++
				return "once more", r.play == "again-fails" && asked == 1
			}
			var warnings []string
			res, err := agent.Run(t.Context(), req, func(e session.AgentEvent) {
				if e.Kind == session.EventWarning {
					warnings = append(warnings, e.Text)
				}
			})
			if err != nil || res.Outcome != r.kind || res.Detail != r.detail {
				t.Errorf("%s: %s %q (%v), want %s %q", r.why, res.Outcome, res.Detail, err, r.kind, r.detail)
			}
			if _, err := os.Stat(filepath.Join(req.Dir, "prompted")); err == nil {
				t.Error("the client got the prompt")
			}
			if r.play == "patient" && res.Until.Before(hour) {
				t.Errorf("until %v", res.Until)
			}
			if (r.play == "lingers" || r.play == "again-fails") && len(warnings) != 1 {
				t.Errorf("warnings %q", warnings)
			}
			if r.kind == session.Completed && (res.Usage.Input < 10 || res.SessionID != "s-1" ||
				res.Client != "claude 2.1.329") {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestToolServerFailed(t *testing.T) {
	agent, req := stage(t, "toolless")
	req.ToolSpecs = []session.ToolSpec{{Name: "ralph_x"}}
	if res, err := agent.Run(t.Context(), req, nil); err != nil || res.Outcome != session.ProtocolError ||
		!strings.Contains(res.Detail, "ralph tools") {
		t.Errorf("%s %q (%v)", res.Outcome, res.Detail, err)
	}
}

// A call whose arguments are too long to be judged is denied, not lost.
func TestHugeCall(t *testing.T) {
	agent, req := stage(t, "huge")
	if res, err := agent.Run(t.Context(), req, nil); err != nil || res.Outcome != session.Completed {
		t.Errorf("%s %q (%v)", res.Outcome, res.Detail, err)
	}
	b, err := os.ReadFile(filepath.Join(req.Dir, "answer"))
	if err != nil || !strings.Contains(string(b), `"permissionDecision":"deny"`) || !strings.Contains(string(b),
		`"request_id":"q1"`) {
		t.Errorf("the answer: %s, %v", b, err)
	}
}

// Every question of the client gets an answer, and none is allowed by mistake.
func TestAnswers(t *testing.T) {
	agent, req := stage(t, "asks")
	if res, err := agent.Run(t.Context(), req, nil); err != nil || res.Outcome != session.Completed {
		t.Fatalf("%s %q (%v)", res.Outcome, res.Detail, err)
	}
	b, err := os.ReadFile(filepath.Join(req.Dir, "answer"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"error":"not a hook of ours","request_id":"q0","subtype":"error"}`,
		`{"error":"not supported","request_id":"q1","subtype":"error"}`,
		`{"error":"unknown server","request_id":"q2","subtype":"error"}`,
		`{"request_id":"q3","response":{"behavior":"deny","message":"no"},"subtype":"success"}`,
		`{"request_id":"q4","response":{"behavior":"allow","updatedInput":{"command":"ls"}},"subtype":"success"}`,
		`{"request_id":"q5","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",` +
			`"permissionDecisionReason":"CronCreate is not offered in this run; use Read, Write, Edit, Bash, Glob, Grep,` +
			` Task, TaskCreate, TaskGet, TaskList, TaskUpdate, WebSearch, WebFetch, NotebookEdit"}},"subtype":"success"}`,
		`{"request_id":"q6","response":{},"subtype":"success"}`,
		`{"error":"not a hook of ours","request_id":"q7","subtype":"error"}`,
		`{"error":"a request without a body","request_id":"q8","subtype":"error"}`,
	}
	if d := cmp.Diff(want, strings.Split(string(b), "\n")); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

// 200 MB of output cost neither memory nor the result.
func TestFlood(t *testing.T) {
	agent, req := stage(t, "flood")
	record := proc.NewHeadTail(1 << 20)
	req.Transcript = record
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res, err := agent.Run(t.Context(), req, nil)
	runtime.ReadMemStats(&after)
	if err != nil || res.Outcome != session.Completed {
		t.Errorf("%s %q (%v)", res.Outcome, res.Detail, err)
	}
	if grown := int64(after.Sys) - int64(before.Sys); grown > 48<<20 && !underRace {
		t.Errorf("the process grew by %d MB", grown>>20)
	}
}

// A client that never reads its input is ended by the wall clock at the latest.
func TestDeaf(t *testing.T) {
	agent, req := stage(t, "deaf")
	req.Timeout = 300 * time.Millisecond
	if res, err := agent.Run(t.Context(), req, nil); err != nil || res.Outcome != session.Hang {
		t.Errorf("%s %q (%v)", res.Outcome, res.Detail, err)
	}
}

func TestCancelBeforeTheAnswer(t *testing.T) {
	agent, req := stage(t, "mute")
	agent.Clock = hasty(client.InterruptLimit)
	ctx, cancel := context.WithCancel(t.Context())
	req.Start = func(c context.Context, cmd proc.Command) (*proc.Process, error) {
		p, err := proc.Start(c, cmd)
		cancel()
		return p, err
	}
	if res, err := agent.Run(ctx, req, nil); err != nil || res.Outcome != session.Interrupted {
		t.Errorf("%s %q (%v)", res.Outcome, res.Detail, err)
	}
}

func TestCannotRun(t *testing.T) {
	rows := []struct {
		why  string
		edit func(*Agent, *session.Request)
		want string
	}{
		{"no guard, no run", func(_ *Agent, r *session.Request) { r.Judge = nil }, "nobody judges"},
		{"no client", func(a *Agent, r *session.Request) { a.Path = ""; r.Env = []string{"PATH=/nowhere"} }, "not found"},
		{"a system addition that no command line takes", func(_ *Agent, r *session.Request) {
			r.System = strings.Repeat("x",
				maxArgument+1)
		}, "--append-system-prompt has"},
		{"a zero byte", func(_ *Agent, r *session.Request) { r.Model = "a\x00b" }, "zero byte"},
		{"a server with our name", func(_ *Agent, r *session.Request) {
			r.MCP = map[string]session.MCPServer{"ralph": {
				URL: "x"}}
		}, `cannot be called "ralph"`},
		{"a server that is nothing", func(_ *Agent, r *session.Request) { r.MCP = map[string]session.MCPServer{"x": {}} },
			"neither command nor url"},
	}
	for _, r := range rows {
		agent, req := stage(t, "good")
		r.edit(agent, &req)
		if _, err := agent.Run(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %q", r.why, err, r.want)
		}
	}
}

func TestArgv(t *testing.T) {
	req := session.Request{Phase: "discovery", Model: "m", FallbackModel: "f", MaxTurns: 7, MaxCostMicroUSD: 2_500_000,
		System:        "s",
		HandoffSchema: json.RawMessage(`{"type":"object"}`), ToolSpecs: []session.ToolSpec{{Name: "ralph_submit_handoff"}},
		MCP: map[string]session.MCPServer{"docs": {Command: []string{"npx", "docs"},
			Env: map[string]string{"KEY": "secret"}}}}
	args, err := argv(req, "id")
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{
		{"--tools", "Read,Glob,Grep,WebSearch,WebFetch,Write,Task"}, {"--setting-sources", ""}, {"--permission-mode",
			"bypassPermissions"},
		{"--model", "m"}, {"--fallback-model", "f"}, {"--max-turns", "7"}, {"--max-budget-usd", "2.500000"},
		{"--append-system-prompt", "s"},
		{"--session-id", "id"}, {"--mcp-config", `{"mcpServers":{"docs":{"args":["docs"],"command":"npx",` +
			`"env":{"KEY":"${RALPH_MCP_docs_KEY}"},"type":"stdio"}}}`},
	} {
		if i := slices.Index(args, pair[0]); i < 0 || args[i+1] != pair[1] {
			t.Errorf("%s %q is missing in %q", pair[0], pair[1], args)
		}
	}
	if joined := strings.Join(args, " "); strings.Contains(joined, "--bare") || strings.Contains(joined, "secret") ||
		strings.Contains(joined, "--json-schema") {
		t.Errorf("argv %q", args)
	}
	req.ToolSpecs = nil
	if args, _ = argv(req, "id"); !slices.Contains(args, "--json-schema") {
		t.Error("without our tool the schema is the only way to a handoff")
	}
}

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin:/usr/bin", "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_OAUTH_TOKEN=o", "CLAUDE_CODE_SIMPLE=1",
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli",
		"IS_SANDBOX=1", "CLAUDE_CODE_MAX_RETRIES=7", "ENABLE_TOOL_SEARCH=true", "CLAUDE_CODE_USE_BEDROCK=1"}
	env := environ(session.Request{Env: base, Idle: time.Minute}, false)
	want := map[string]string{
		"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "o", "CLAUDE_CODE_USE_BEDROCK": "1", // the user's login
		"CLAUDE_CODE_SIMPLE": "", "CLAUDECODE": "", "CLAUDE_CODE_ENTRYPOINT": "", "IS_SANDBOX": "", // foreign or harmful
		"CLAUDE_CODE_MAX_RETRIES": "7", "ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
		"CLAUDE_STREAM_IDLE_TIMEOUT_MS": "30000", "API_TIMEOUT_MS": "30000", "RALPH_PHASE": "",
	}
	for name, value := range want {
		got := ""
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				got = v
			}
		}
		if got != value {
			t.Errorf("%s=%q, want %q", name, got, value)
		}
	}
	if !slices.Contains(environ(session.Request{}, true), "IS_SANDBOX=1") {
		t.Error("root needs IS_SANDBOX")
	}
}

// Our tools, as the client asks for them.
func TestToolServer(t *testing.T) {
	req := session.Request{
		ToolSpecs: []session.ToolSpec{{Name: "ralph_a", Description: "A",
			Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, {Name: "ralph_b"}},
		CallTool: func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
			switch string(args) {
			case `{"fail":1}`:
				return nil, errors.New("refused")
			case `{"wait":1}`:
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return json.RawMessage(`{"name":"` + name + `","args":` + string(args) + `}`), nil
		},
	}
	server := newToolServer(t.Context(), req)
	defer server.close()
	rows := []struct{ why, in, want string }{
		{"the version that the client speaks", `{"jsonrpc":"2.0","id":0,"method":"initialize",` +
			`"params":{"protocolVersion":"2025-11-25"}}`,
			`{"id":0,"jsonrpc":"2.0","result":{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25",` +
				`"serverInfo":{"name":"ralph","version":"1"}}}`},
		{"a notification wants an answer of the control protocol", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"id":0,"jsonrpc":"2.0","result":{}}`},
		{"ping", `{"id":"p","method":"ping"}`, `{"id":"p","jsonrpc":"2.0","result":{}}`},
		{"the list", `{"id":1,"method":"tools/list"}`, `{"id":1,"jsonrpc":"2.0",` +
			`"result":{"tools":[{"_meta":{"anthropic/alwaysLoad":true},"description":"A","inputSchema":{"type":"object",` +
			`"properties":{}},"name":"ralph_a"},{"_meta":{"anthropic/alwaysLoad":true},"description":"",` +
			`"inputSchema":{"type":"object"},"name":"ralph_b"}]}}`},
		{"a call", `{"id":2,"method":"tools/call","params":{"name":"ralph_a","arguments":{"x":1}}}`,
			`{"id":2,"jsonrpc":"2.0","result":{"content":[{"text":"{\"name\":\"ralph_a\",\"args\":{\"x\":1}}",` +
				`"type":"text"}],"structuredContent":{"args":{"x":1},"name":"ralph_a"}}}`},
		{"a call without arguments", `{"id":3,"method":"tools/call","params":{"name":"ralph_b"}}`,
			`{"id":3,"jsonrpc":"2.0","result":{"content":[{"text":"{\"name\":\"ralph_b\",\"args\":{}}","type":"text"}],` +
				`"structuredContent":{"args":{},"name":"ralph_b"}}}`},
		{"a refusal is an answer that the model reads", `{"id":4,"method":"tools/call","params":{"name":"ralph_a",` +
			`"arguments":{"fail":1}}}`, `{"id":4,"jsonrpc":"2.0","result":{"content":[{"text":"refused","type":"text"}],` +
			`"isError":true}}`},
		{"a tool that is not offered", `{"id":5,"method":"tools/call","params":{"name":"ralph_c"}}`,
			`{"error":{"code":-32602,"message":"unknown tool"},"id":5,"jsonrpc":"2.0"}`},
		{"a method that we do not have", `{"id":6,"method":"resources/list"}`,
			`{"error":{"code":-32601,"message":"unknown method"},"id":6,"jsonrpc":"2.0"}`},
		{"rubbish", `[1,2]`, `{"error":{"code":-32600,"message":"not a JSON-RPC message"},"id":0,"jsonrpc":"2.0"}`},
	}
	for _, r := range rows {
		got := make(chan string, 1)
		server.serve("r", json.RawMessage(r.in), func(o object) {
			b, _ := json.Marshal(o)
			got <- string(b)
		})
		if g := <-got; g != r.want {
			t.Errorf("%s:\n got %s\nwant %s", r.why, g, r.want)
		}
	}
	// A call that the client cancels ends.
	done := make(chan object, 1)
	server.serve("long", json.RawMessage(`{"id":7,"method":"tools/call","params":{"name":"ralph_a",`+
		`"arguments":{"wait":1}}}`), func(o object) { done <- o })
	server.abort("long")
	<-done
}

func TestVersions(t *testing.T) {
	rows := []struct {
		a, b string
		want int
	}{{"2.1.329", "2.1.329", 0}, {"2.1.197", "2.1.329", -1}, {"2.10.0", "2.9.9", 1}, {"3.0", "2.9.9", 1},
		{"x", "0.0.0", 0}}
	for _, r := range rows {
		if got := client.CompareVersions(r.a, r.b); got != r.want {
			t.Errorf("%s and %s: %d", r.a, r.b, got)
		}
	}
}

// A client is probed before it gets any work.
func TestProbe(t *testing.T) {
	rows := []struct {
		why, play, version, path string
		supported                bool
		problem, warning         string
	}{
		{"the tested version", "good", TestedVersion, "", true, "", ""},
		{"a newer one works, with a warning", "good", "2.2.0", "", true, "", "newer than"},
		{"one known to fail open", "good", "2.1.197", "", false, "too old", ""},
		{"one whose handshake says so", "old", "2.1.250", "", false, "cannot block a call", ""},
		{"one that says nothing", "leave", "2.1.329", "", false, "no answer to initialize", ""},
		{"one that complains", "complain", "2.1.329", "", false, "unknown option", ""},
		{"no version at all", "good", "", "", false, "does not say which version", ""},
		{"not there", "good", "", "no-such-client", false, "was not found", ""},
	}
	for _, r := range rows {
		agent, req := stage(t, r.play)
		if r.path != "" {
			agent.Path = r.path
		}
		info, err := Probe(t.Context(), agent.Path, append(req.Env, "RALPH_TEST_VERSION="+r.version,
			"ANTHROPIC_API_KEY=test"))
		if err != nil || info.Supported != r.supported || !strings.Contains(info.Problem, r.problem) ||
			!strings.Contains(info.Warning, r.warning) ||
			(info.Problem == "") != (r.problem == "") || (info.Warning == "") != (r.warning == "") ||
			(info.Hint == "") != (r.supported && r.warning == "") {
			t.Errorf("%s: %+v, %v", r.why, info, err)
		}
	}
}

// A client without a login is found before its first run, if that can be seen.
func TestLogin(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, CredentialFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, system, want string
		env               []string
	}{
		{"nothing", "linux", "no", nil},
		{"nothing, where a keychain may have it", "darwin", "unknown", nil},
		{"a key", "linux", "yes", []string{"ANTHROPIC_API_KEY=x"}},
		{"an empty key", "linux", "no", []string{"ANTHROPIC_API_KEY="}},
		{"a token", "linux", "yes", []string{"CLAUDE_CODE_OAUTH_TOKEN=x"}},
		{"another provider", "linux", "unknown", []string{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_ACCESS_KEY_ID=x"}},
		{"keys of another provider alone", "linux", "no", []string{"AWS_ACCESS_KEY_ID=x"}},
		{"a login", "linux", "yes", []string{"HOME=" + home}},
	} {
		if got := login(c.env, c.system); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}

// No line of a client makes the driver panic, and none makes it allow a call.
func FuzzLine(f *testing.F) {
	for _, l := range []string{initAnswer, initLine, goodResult, bashCall, bashDone, bashHook,
		`{"type":"user","message":"x"}`, `{"type":"result","modelUsage":{"a":{"inputTokens":1e400}}}`,
		`{"type":"control_request","request_id":1,"request":[]}`, `{"type":"assistant","message":{"content":"text"}}`,
		`{"type":"system","subtype":"api_retry","retry_delay_ms":1e300}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":-1e99}}`,
		`{"type":"system","subtype":"permission_denied","message":"m"}`} {
		f.Add([]byte(l), false)
	}
	f.Add([]byte(`{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback"`), true)
	f.Fuzz(func(t *testing.T, data []byte, cut bool) {
		var sent bytes.Buffer
		s := offline(func(session.AgentEvent) {})
		s.Out = client.NewOutbox(closer{&sent})
		s.tools = newToolServer(t.Context(), session.Request{})
		s.Request.Phase = "building"
		s.Request.Judge = func(session.ToolUse) session.Permission { return session.Permission{Reason: "no"} }
		for range 2 {
			s.Line(bytes.ReplaceAll(data, []byte("\n"), nil), cut)
		}
		s.Out.Close()
		<-s.Out.Done()
		s.tools.close()
		if strings.Contains(sent.String(), `"behavior":"allow"`) || strings.Contains(sent.String(),
			`"permissionDecision":"allow"`) {
			t.Errorf("allowed by %q: %s", data, sent.String())
		}
		if u := s.stream.reported; u.Total() < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

type closer struct{ *bytes.Buffer }

func (closer) Close() error { return nil }
