package claude

import (
	"context"
	"encoding/json"
	"sync"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// serverName is how the client knows our tools: mcp__ralph__ralph_….
const serverName = "ralph"

// toolServer serves the ralph_* tools to the client in this process: MCP
// messages (JSON-RPC) inside of the control protocol.
type toolServer struct {
	specs []session.ToolSpec
	call  func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)

	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	wg     sync.WaitGroup
	mu     sync.Mutex
	open   map[string]context.CancelFunc // calls in work, by id of the control request
}

// maxCalls is how many calls are worked on at a time; further ones wait.
const maxCalls = 16

func newToolServer(ctx context.Context, req session.Request) *toolServer {
	t := &toolServer{specs: req.ToolSpecs, call: req.CallTool, slots: make(chan struct{}, maxCalls),
		open: map[string]context.CancelFunc{}}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// close ends all calls and waits for them.
func (t *toolServer) close() {
	t.cancel()
	t.wg.Wait()
}

// rpc is a JSON-RPC message of the client.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Name            string          `json:"name"`
		Arguments       json.RawMessage `json:"arguments"`
	} `json:"params"`
}

// JSON-RPC's own error codes.
const (
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
)

// serve answers one message through reply, at once or, for a call, when it is
// done. A notification is answered too: the control protocol wants an answer to
// every request.
func (t *toolServer) serve(id string, raw json.RawMessage, reply func(mcpResponse object)) {
	var m rpc
	if client.Tolerant(json.Unmarshal(raw, &m)) != nil {
		reply(rpcError(nil, codeInvalidRequest, "not a JSON-RPC message"))
		return
	}
	switch m.Method {
	case "initialize":
		version := m.Params.ProtocolVersion
		if version == "" {
			version = "2025-06-18"
		}
		reply(rpcResult(m.ID, object{"protocolVersion": version, "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": serverName, "version": "1"}}))
	case "tools/list":
		tools := make([]object, 0, len(t.specs))
		for _, s := range t.specs {
			schema := s.Schema
			if len(schema) == 0 {
				schema = json.RawMessage(`{"type":"object"}`)
			}
			tools = append(tools, object{"name": s.Name, "description": s.Description, "inputSchema": schema,
				"_meta": object{"anthropic/alwaysLoad": true}})
		}
		reply(rpcResult(m.ID, object{"tools": tools}))
	case "tools/call":
		t.start(id, m, reply)
	default:
		if len(m.ID) == 0 || m.Method == "ping" { // a notification: any answer will do
			reply(rpcResult(m.ID, object{}))
			return
		}
		reply(rpcError(m.ID, codeNoMethod, "unknown method"))
	}
}

// start works on a call in a goroutine: a question to a person may take hours,
// and the client goes on asking other things meanwhile.
func (t *toolServer) start(id string, m rpc, reply func(object)) {
	known := false
	for _, s := range t.specs {
		known = known || s.Name == m.Params.Name
	}
	if !known || t.call == nil {
		reply(rpcError(m.ID, codeInvalidParams, "unknown tool"))
		return
	}
	args := m.Params.Arguments
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	ctx, cancel := context.WithCancel(t.ctx)
	t.mu.Lock()
	t.open[id] = cancel
	t.mu.Unlock()
	t.wg.Go(func() {
		defer func() {
			cancel()
			t.mu.Lock()
			delete(t.open, id)
			t.mu.Unlock()
		}()
		select {
		case t.slots <- struct{}{}:
			defer func() { <-t.slots }()
		case <-ctx.Done():
			reply(rpcResult(m.ID, toolResult(nil, ctx.Err())))
			return
		}
		answer, err := t.call(ctx, m.Params.Name, args)
		reply(rpcResult(m.ID, toolResult(answer, err)))
	})
}

// abort ends the call of a control request that the client has given up.
func (t *toolServer) abort(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.open[id]; cancel != nil {
		cancel()
	}
}

// toolResult is what the model sees: the answer as text, and a refusal marked
// as an error, so that it reads it and does something else.
func toolResult(answer json.RawMessage, err error) object {
	text := string(answer)
	if err != nil {
		if text == "" || text == "null" {
			text = err.Error()
		}
		return object{"content": []object{{"type": "text", "text": text}}, "isError": true}
	}
	result := object{"content": []object{{"type": "text", "text": text}}}
	var structured map[string]json.RawMessage
	if json.Unmarshal(answer, &structured) == nil && structured != nil {
		result["structuredContent"] = structured
	}
	return result
}

func rpcResult(id json.RawMessage, result object) object {
	return object{"jsonrpc": "2.0", "id": rpcID(id), "result": result}
}

func rpcError(id json.RawMessage, code int, message string) object {
	return object{"jsonrpc": "2.0", "id": rpcID(id), "error": object{"code": code, "message": message}}
}

func rpcID(id json.RawMessage) any {
	if len(id) == 0 {
		return 0 // what the client's own library answers to a notification
	}
	return id
}
