package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
)

// sdkSession connects the SDK's own client to `git ralph mcp` as a process.
func sdkSession(t *testing.T, b *Box) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: child(t, "serve", b.Env())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func resultText(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	if len(r.Content) != 1 {
		t.Fatalf("%d contents", len(r.Content))
	}
	c, ok := r.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("content is %T", r.Content[0])
	}
	return c.Text
}

// TestMCP: a client of the SDK sees the tools of the run, calls them, and can
// tell a refusal from an answer.
func TestMCP(t *testing.T) {
	for _, r := range roles() {
		t.Run(r.name, func(t *testing.T) {
			b := opened(t, r.name)
			if b.Connected() {
				t.Error("connected before there was a client")
			}
			s := sdkSession(t, b)
			for deadline := time.Now().Add(time.Minute); !b.Connected(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the run was not told of its client")
				}
			}
			listed, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, tool := range listed.Tools {
				got = append(got, tool.Name)
			}
			for _, spec := range b.Specs() {
				want = append(want, spec.Name)
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("lists %v, want %v", got, want)
			}
			for _, name := range want {
				args := examples()[name]
				if args == "" {
					args = "{}"
				}
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				// The call in process has the same answer, because it is recorded once.
				direct, derr := b.Call(t.Context(), name, json.RawMessage(args))
				if resultText(t, res) != string(direct) && name != "ralph_get_state_summary" &&
					name != "ralph_append_learning" || res.IsError != (derr != nil) {
					t.Errorf("%s: over MCP %s (error %v), in process %s (%v)", name, resultText(t, res), res.IsError, direct, derr)
				}
				if !res.IsError && res.StructuredContent == nil {
					t.Errorf("%s has no structured content", name)
				}
			}
		})
	}
}

func TestMCPRefusals(t *testing.T) {
	b := opened(t, "coding")
	s := sdkSession(t, b)
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "ralph_mark_task_complete",
		Arguments: map[string]any{"task_id": "T-003"}})
	if err != nil || !res.IsError {
		t.Fatalf("another task: %+v, %v", res, err)
	}
	var r Refusal
	if err := json.Unmarshal([]byte(resultText(t, res)), &r); err != nil || r.Message == "" || r.Hint == "" {
		t.Errorf("%s: %v", resultText(t, res), err)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "ralph_add_task",
		Arguments: map[string]any{}}); err == nil {
		t.Error("a tool of another phase is not in the list and yet was called")
	}
	// After the end of the run the model still gets a useful answer.
	b.Close()
	res, err = s.CallTool(t.Context(), &sdk.CallToolParams{Name: "ralph_update_memory",
		Arguments: map[string]any{"content": "late"}})
	if err != nil || !res.IsError || !strings.Contains(resultText(t, res), ErrEnded.Error()) {
		t.Errorf("after the end: %+v, %v", res, err)
	}
}

// TestMCPWhileAQuestionWaits: other calls go through, and cancelling the
// waiting one does not end the session.
func TestMCPWhileAQuestionWaits(t *testing.T) {
	asked := make(chan struct{})
	b := opened(t, "discovery", func(s *session.Scope) {
		s.Ask = func(ctx context.Context, _ state.Question) (string, bool) {
			close(asked)
			<-ctx.Done()
			return "", false
		}
	})
	s := sdkSession(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "ralph_ask_user",
			Arguments: map[string]any{"question": "Which?"}})
		done <- err
	}()
	<-asked
	note := &sdk.CallToolParams{Name: "ralph_update_memory", Arguments: map[string]any{"content": "meanwhile"}}
	if _, err := s.CallTool(t.Context(), note); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call: %v", err)
	}
	if _, err := s.CallTool(t.Context(), note); err != nil {
		t.Error(err)
	}
}

// TestMCPOutsideOfARun: the process ends with the reason instead of serving
// nothing.
func TestMCPOutsideOfARun(t *testing.T) {
	out, err := child(t, "serve", nil).CombinedOutput()
	if err == nil || !strings.Contains(string(out), ErrOutside.Error()) {
		t.Errorf("%s, %v", out, err)
	}
}

// TestMCPLineByLine checks the lines on the pipes, for clients that do not use the
// SDK.
func TestMCPLineByLine(t *testing.T) {
	b := opened(t, "coding")
	cmd := child(t, "serve", b.Env())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	for _, step := range []struct {
		send string
		want []string // nil = a notification, which nothing answers
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"x","version":"1"}}}`,
			[]string{`"id":1`, `"protocolVersion":"2025-06-18"`, `"name":"git-ralph"`, `"tools":{`}},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil},
		{`{"jsonrpc":"2.0","id":"two","method":"tools/list"}`, []string{`"id":"two"`, `"ralph_get_next_task"`,
			`"inputSchema"`}},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ralph_get_next_task"}}`,
			[]string{`"id":3`, `"structuredContent":{"task":{"id":"T-002"`}},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ralph_mark_task_complete",` +
			`"arguments":{"task_id":"T-001"}}}`, []string{`"id":4`, `"isError":true`, `hint`}},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"rm_rf","arguments":{}}}`,
			[]string{`"id":5`, `"error":{`}},
		{`{"jsonrpc":"2.0","id":6,"method":"no/such"}`, []string{`"id":6`, `"error":{`, `-32601`}},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, []string{`"id":7`, `"result":{}`}},
	} {
		if _, err := io.WriteString(in, step.send+"\n"); err != nil {
			t.Fatal(err)
		}
		if step.want == nil {
			continue
		}
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v", step.send, err)
		}
		wantContains(t, step.send, line, step.want...)
	}
	in.Close()
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("more was said: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end of standard input is a normal end: %v", err)
	}
}

// TestMCPGarbage: a client with another protocol only ends its own server.
func TestMCPGarbage(t *testing.T) {
	b := opened(t, "coding")
	for _, garbage := range []string{"hello\n", "\x00\xff\n", `{"jsonrpc":"1.0"}` + "\n",
		strings.Repeat("x", 3*MaxRequest) + "\n", "[]\n", strings.Repeat("[", 100000) + "\n"} {
		cmd := child(t, "serve", b.Env())
		cmd.Stdin = strings.NewReader(garbage)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "panic") || strings.Contains(string(out), "goroutine ") {
			t.Errorf("%.20q: %s, %v", garbage, out, err)
		}
	}
	call(t, b, "ralph_get_next_task", `{}`)
}
