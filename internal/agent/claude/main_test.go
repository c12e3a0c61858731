package claude

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"git-ralph/fixtures/netns"
	"git-ralph/internal/agent/client"
)

// playVariable makes the test binary play another program: a client that
// behaves in one particular way, or an MCP server.
const playVariable = "RALPH_TEST_PLAY"

func TestMain(m *testing.M) {
	if name := os.Getenv(playVariable); name != "" {
		os.Exit(play(name))
	}
	netns.Main()
	os.Exit(m.Run())
}

// actor is a client that says what its play tells it to.
type actor struct {
	in  *bufio.Reader
	out *bufio.Writer
}

func (a *actor) say(lines ...string) {
	for _, l := range lines {
		a.out.WriteString(l)
		a.out.WriteByte('\n')
	}
	a.out.Flush()
}

// hear reads one line; ok is false at the end of the input.
func (a *actor) hear() (m map[string]any, ok bool) {
	l, err := a.in.ReadBytes('\n')
	if err != nil || json.Unmarshal(l, &m) != nil {
		return nil, false
	}
	return m, true
}

// The client's usual lines.
const (
	initAnswer = `{"type":"control_response","response":{"subtype":"success","request_id":"ralph-initialize",` +
		`"response":{"hooks_applied":true,"hook_on_failure_supported":true,"claude_code_version":"2.1.329"}}}`
	initLine = `{"session_id":"s-1","model":"m-1","permissionMode":"bypassPermissions",` +
		`"claude_code_version":"2.1.329","subtype":"init","type":"system"}`
	goodResult = `{"subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,` +
		`"total_cost_usd":0.5,"modelUsage":{"m-1":{"inputTokens":10,"outputTokens":5,"contextWindow":1000}},` +
		`"result":"done","type":"result"}`
	bashCall = `{"type":"assistant","message":{"id":"m1","model":"m-1","content":[{"type":"tool_use","id":"t1",` +
		`"name":"Bash","input":{"command":"true"}}],"usage":{"input_tokens":10}}}`
	bashDone = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`
	bashHook = `{"type":"control_request","request_id":"q1","request":{"subtype":"hook_callback",` +
		`"callback_id":"ralph-pre-tool-use","input":{"hook_event_name":"PreToolUse","tool_name":"Bash",` +
		`"tool_input":{"command":"%s"},"tool_use_id":"t1"}}}`
)

func play(name string) int {
	a := &actor{bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)}
	if name == "mcp" {
		return a.mcpServer()
	}
	if name == "version" || len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println(os.Getenv("RALPH_TEST_VERSION") + " (Claude Code)")
		return 0
	}
	switch name {
	case "leave":
		return 0
	case "complain":
		fmt.Fprintln(os.Stderr, "\nerror: unknown option '--tools'\nmore")
		return 1
	case "mute":
		for {
			if _, ok := a.hear(); !ok {
				return 0
			}
		}
	case "deaf": // talks and never listens
		question := strings.Replace(fmt.Sprintf(bashHook, "x"), `"hook_callback"`, `"something_new"`, 1)
		for {
			a.say(question)
		}
	}
	a.hear() // initialize
	switch name {
	case "old":
		a.say(`{"type":"control_response","response":{"subtype":"success","request_id":"ralph-initialize",` +
			`"response":{"hooks_applied":true}}}`)
	case "hookless":
		a.say(`{"type":"control_response","response":{"subtype":"success","request_id":"ralph-initialize",` +
			`"response":{"hook_on_failure_supported":true}}}`)
	case "refuses":
		a.say(`{"type":"control_response","response":{"subtype":"error","request_id":"ralph-initialize","error":"no"}}`)
	default:
		a.say(initAnswer)
	}
	if m, ok := a.hear(); !ok {
		return 0
	} else if m["type"] == "user" && (name == "old" || name == "hookless" || name == "refuses") {
		os.WriteFile("prompted", nil, 0o644) // an unguarded client was given work
	}
	a.say(initLine)
	switch name {
	case "unjudged":
		a.say(bashCall, bashDone)
	case "disobedient":
		a.say(bashCall, fmt.Sprintf(bashHook, "git commit"))
		a.hear()
		a.say(bashDone)
	case "huge":
		a.say(fmt.Sprintf(bashHook, strings.Repeat("x", client.MaxLine)))
		m, _ := a.hear()
		b, _ := json.Marshal(m)
		os.WriteFile("answer", b, 0o644)
	case "flood":
		junk := `{"type":"junk","text":"` + strings.Repeat("x", 1<<20) + `"}`
		lines := 200
		if underRace {
			lines = 20
		}
		for range lines {
			a.say(junk, strings.Repeat("y", 100))
		}
	case "alarm":
		a.say(`{"type":"system","subtype":"informational","tag":"hook_no_verdict","content":"nobody looked"}`)
	case "policy":
		a.say(strings.Replace(initLine, "bypassPermissions", "default", 1))
	case "toolless":
		a.say(strings.Replace(initLine, `"session_id"`, `"mcp_servers":[{"name":"ralph","status":"failed"}],"session_id"`, 1))
	case "retrying":
		for i := 1; i < 1000; i++ {
			a.say(fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":%d,"max_retries":1000,"retry_delay_ms":1,`+
				`"error_status":529,"error":"overloaded"}`, i))
		}
	case "patient":
		a.say(`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":4,"retry_delay_ms":3600000,` +
			`"error_status":429,"error":"rate_limit"}`)
	case "asks":
		for i, r := range []string{
			`{"subtype":"hook_callback","callback_id":"another","input":{"hook_event_name":"PreToolUse"}}`,
			`{"subtype":"something_new"}`,
			`{"subtype":"mcp_message","server_name":"other","message":{}}`,
			`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"git commit"},"tool_use_id":"t2"}`,
			`{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t3"}`,
			`{"subtype":"hook_callback","callback_id":"ralph-pre-tool-use","input":{"hook_event_name":"PreToolUse",` +
				`"tool_name":"CronCreate","tool_input":{},"tool_use_id":"t4"}}`,
			`{"subtype":"hook_callback","callback_id":"ralph-pre-tool-use","input":{"hook_event_name":"PreToolUse",` +
				`"tool_name":"Read","tool_input":{},"tool_use_id":"t5"}}`,
			`{"subtype":"hook_callback","callback_id":"ralph-pre-tool-use","input":"no object"}`,
		} {
			a.say(fmt.Sprintf(`{"request":%s,"request_id":"q%d","type":"control_request"}`, r, i))
		}
		a.say(`{"type":"control_request","request_id":"q8"}`)
		var heard []string
		for range 9 {
			m, _ := a.hear()
			b, _ := json.Marshal(m["response"])
			heard = append(heard, string(b))
		}
		os.WriteFile("answer", []byte(strings.Join(heard, "\n")), 0o644)
	case "vanishes":
		return 3
	}
	a.say(goodResult)
	switch name {
	case "bad-status":
		return 3
	case "lingers":
		ignoreTerm()
		select {}
	}
	for {
		if _, ok := a.hear(); !ok {
			return 0
		}
		if name == "again-fails" {
			a.say(`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":529,` +
				`"result":"Overloaded"}`)
			continue
		}
		a.say(goodResult)
	}
}

// mcpServer has one tool, which tells its environment.
func (a *actor) mcpServer() int {
	for {
		m, ok := a.hear()
		if !ok {
			return 0
		}
		if m["id"] == nil {
			continue
		}
		var result any = map[string]any{}
		switch m["method"] {
		case "initialize":
			params, _ := m["params"].(map[string]any)
			result = map[string]any{"protocolVersion": params["protocolVersion"],
				"capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo":   map[string]any{"name": "notes", "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": []any{map[string]any{"name": "env", "description": "d",
				"inputSchema": map[string]any{"type": "object"}}}}
		case "tools/call":
			text := fmt.Sprintf("token=[%s] key=[%s]", os.Getenv("NOTES_TOKEN"), os.Getenv("ANTHROPIC_API_KEY"))
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		}
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m["id"], "result": result})
		a.say(string(b))
	}
}
