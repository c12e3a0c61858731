package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"git-ralph/loop/session"
)

// The test program plays git-ralph when a client starts it: as the hook that judges
// calls, and as the server of our tools. Both ask the test over loopback.

type asked struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

type answered struct {
	Answer json.RawMessage `json:"answer"`
	Error  string          `json:"error"`
}

// serveSelf answers the programs that the client starts, and returns the path of
// their executable.
func (r *run) serveSelf(t *testing.T) string {
	t.Helper()
	handle := func(w http.ResponseWriter, req *http.Request) {
		var q asked
		json.NewDecoder(req.Body).Decode(&q)
		var out any
		switch req.URL.Path {
		case "/judge":
			out = r.req.Judge(session.ToolUse{Tool: q.Tool, Input: q.Args})
		case "/tools":
			out = r.req.ToolSpecs
		case "/connected":
			r.connected.Store(true)
		case "/call":
			a := answered{}
			answer, err := r.req.CallTool(req.Context(), q.Tool, q.Args)
			if a.Answer = answer; err != nil {
				a.Error = err.Error()
			}
			out = a
		}
		json.NewEncoder(w).Encode(out)
	}
	s := httptest.NewServer(http.HandlerFunc(handle))
	t.Cleanup(s.Close)
	bin := filepath.Join(r.root, "run", "bin")
	exe, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(bin, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(r.root, "run", "url"), []byte(s.URL), 0o644)
	}
	self := filepath.Join(bin, "git-ralph")
	if err == nil {
		err = os.Link(exe, self)
	}
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// self is git-ralph hook CLIENT and git-ralph mcp.
func self(args []string) int {
	url, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(args[0])), "url"))
	ask := func(what string, q asked, answer any) error {
		b, err := json.Marshal(q)
		if err != nil {
			return err
		}
		resp, err := http.Post(string(url)+what, "application/json", bytes.NewReader(b))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(answer)
	}
	switch {
	case err != nil:
	case len(args) == 3 && args[1] == "hook":
		var ev struct {
			Tool  string          `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		}
		var p session.Permission
		data, _ := io.ReadAll(os.Stdin)
		if err = json.Unmarshal(data, &ev); err == nil {
			err = ask("/judge", asked{ev.Tool, ev.Input}, &p)
		}
		if err == nil && !p.Allow {
			b, _ := json.Marshal(map[string]string{"decision": "deny", "reason": p.Reason})
			fmt.Println(string(b))
			err = fmt.Errorf("%s", p.Reason)
		}
	case len(args) == 2 && args[1] == "mcp":
		var specs []session.ToolSpec
		if err = ask("/tools", asked{}, &specs); err != nil {
			break
		}
		server := sdk.NewServer(&sdk.Implementation{Name: "git-ralph"}, &sdk.ServerOptions{
			InitializedHandler: func(context.Context, *sdk.InitializedRequest) { ask("/connected", asked{}, new(any)) }})
		for _, s := range specs {
			server.AddTool(&sdk.Tool{Name: s.Name, Description: s.Description, InputSchema: s.Schema},
				func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					var a answered
					if err := ask("/call", asked{req.Params.Name, req.Params.Arguments}, &a); err != nil {
						return nil, err
					}
					text := string(a.Answer)
					if a.Error != "" {
						text = a.Error
					}
					return &sdk.CallToolResult{IsError: a.Error != "", Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
				})
		}
		err = server.Run(context.Background(), &sdk.StdioTransport{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}
