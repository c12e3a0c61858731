package claude

import (
	"encoding/json"

	"git-ralph/internal/agent/client"
)

// line is one JSON line of the client, with the fields that we read. The order
// of keys is not fixed and most lines carry much more. A field of an unexpected
// type is left empty: one odd field must not hide the others.
type line struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`

	// control_request, control_response, control_cancel_request
	RequestID string          `json:"request_id"`
	Request   *controlRequest `json:"request"`
	Response  *controlAnswer  `json:"response"`

	// assistant, user, stream_event. A call of a subagent has the id of the
	// call that started the subagent as its parent.
	Message        *message        `json:"message"`
	Parent         string          `json:"parent_tool_use_id"`
	Event          *streamEvent    `json:"event"`
	APIMessageID   string          `json:"api_message_id"`
	Error          string          `json:"error"`
	ErrorStatus    int             `json:"error_status"`
	Attempt        int             `json:"attempt"`
	MaxRetries     int             `json:"max_retries"`
	RetryDelayMS   float64         `json:"retry_delay_ms"`
	ToolName       string          `json:"tool_name"`
	ToolUseID      string          `json:"tool_use_id"`
	Content        string          `json:"content"`
	Tag            string          `json:"tag"`
	RateLimit      *rateLimit      `json:"rate_limit_info"`
	SessionID      string          `json:"session_id"`
	Model          string          `json:"model"`
	Version        string          `json:"claude_code_version"`
	PermissionMode string          `json:"permissionMode"`
	MCPServers     []mcpStatus     `json:"mcp_servers"`
	Structured     json.RawMessage `json:"structured_output"`

	// result
	IsError        bool                  `json:"is_error"`
	Result         string                `json:"result"`
	Errors         []string              `json:"errors"`
	NumTurns       int                   `json:"num_turns"`
	TerminalReason string                `json:"terminal_reason"`
	APIErrorStatus int                   `json:"api_error_status"`
	APIErrorType   string                `json:"api_error_type"`
	APIError       string                `json:"api_error"`
	TotalCostUSD   *float64              `json:"total_cost_usd"`
	ModelUsage     map[string]modelUsage `json:"modelUsage"`
}

type mcpStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

type rateLimit struct {
	Status      string  `json:"status"` // allowed_warning, rejected
	ResetsAt    float64 `json:"resetsAt"`
	Type        string  `json:"rateLimitType"`
	Utilization float64 `json:"utilization"`
}

type modelUsage struct {
	Input         float64 `json:"inputTokens"`
	Output        float64 `json:"outputTokens"`
	CacheRead     float64 `json:"cacheReadInputTokens"`
	CacheWrite    float64 `json:"cacheCreationInputTokens"`
	ContextWindow float64 `json:"contextWindow"`
}

type message struct {
	ID      string     `json:"id"`
	Model   string     `json:"model"`
	Content blocks     `json:"content"`
	Usage   *apiTokens `json:"usage"`
}

// UnmarshalJSON never fails: some lines carry a plain text as their message.
func (m *message) UnmarshalJSON(data []byte) error {
	type plain message
	var p plain
	if err := client.Tolerant(json.Unmarshal(data, &p)); err == nil {
		*m = message(p)
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		m.Content = blocks{{Type: "text", Text: text}}
	}
	return nil
}

type apiTokens struct {
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheRead  float64 `json:"cache_read_input_tokens"`
	CacheWrite float64 `json:"cache_creation_input_tokens"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
}

// blocks are a message's content: a list of blocks, or plain text.
type blocks []block

// UnmarshalJSON never fails: content of another shape has no blocks.
func (b *blocks) UnmarshalJSON(data []byte) error {
	var list []block
	if err := client.Tolerant(json.Unmarshal(data, &list)); err == nil {
		*b = list
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*b = blocks{{Type: "text", Text: text}}
	}
	return nil
}

// streamEvent is an event of the provider as the client passes it on.
type streamEvent struct {
	Type    string     `json:"type"`
	Message *message   `json:"message"`
	Usage   *apiTokens `json:"usage"`
}

type controlRequest struct {
	Subtype    string          `json:"subtype"`
	CallbackID string          `json:"callback_id"`
	Input      json.RawMessage `json:"input"`
	ToolName   string          `json:"tool_name"`
	ToolUseID  string          `json:"tool_use_id"`
	ServerName string          `json:"server_name"`
	Message    json.RawMessage `json:"message"`
}

type controlAnswer struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Error     string          `json:"error"`
	Response  json.RawMessage `json:"response"`
}

// hookInput is what the client says about a call before it runs.
type hookInput struct {
	Event     string          `json:"hook_event_name"`
	ToolName  string          `json:"tool_name"`
	ToolInput json.RawMessage `json:"tool_input"`
	ToolUseID string          `json:"tool_use_id"`

	cut bool // not all of it was read
}

// parse reads one line; ok is false when it is no JSON object.
func parse(data []byte) (l line, ok bool) {
	err := client.Tolerant(json.Unmarshal(data, &l))
	return l, err == nil
}

// object is a JSON object that we write.
type object = map[string]any

// success answers a control request.
func success(id string, response any) object {
	return object{"type": "control_response", "response": object{"subtype": "success", "request_id": id,
		"response": response}}
}

// failure answers a control request that we cannot serve.
func failure(id, reason string) object {
	return object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": reason}}
}

// userLine is a prompt.
func userLine(prompt string) object {
	return object{"type": "user", "message": object{"role": "user", "content": prompt}, "parent_tool_use_id": nil,
		"session_id": ""}
}

// Ids of our own control requests and hooks.
const (
	initializeID = "ralph-initialize"
	interruptID  = "ralph-interrupt"
	preToolUse   = "ralph-pre-tool-use"
)

// hookSeconds is how long the client waits for our verdict before it blocks the
// call. It is ample for a busy machine: a verdict takes microseconds.
const hookSeconds = 60

// ownTools says whether the harness offers tools to the client.
type ownTools bool

const (
	withTools    ownTools = true
	withoutTools ownTools = false
)

// initialize begins the control protocol. onFailure "block" makes the client
// refuse a call when our answer is missing or broken; without it, it would run.
func initialize(tools ownTools) object {
	req := object{"subtype": "initialize", "hooks": object{"PreToolUse": []object{
		{"matcher": "*", "hookCallbackIds": []string{preToolUse}, "timeout": hookSeconds, "onFailure": "block"}}}}
	if tools {
		req["sdkMcpServers"] = []string{serverName}
	}
	return object{"type": "control_request", "request_id": initializeID, "request": req}
}

// handshake is the client's answer to initialize.
type handshake struct {
	HooksApplied       bool   `json:"hooks_applied"`
	OnFailureSupported bool   `json:"hook_on_failure_supported"`
	Version            string `json:"claude_code_version"`
}

// check says why a client that answered so cannot be used, or "".
func (a controlAnswer) check() (h handshake, problem string) {
	if a.Subtype != "success" {
		return h, "the client refused initialize: " + a.Error
	}
	if client.Tolerant(json.Unmarshal(a.Response, &h)) != nil {
		return h, "the client's answer to initialize is no JSON object"
	}
	switch {
	case !h.HooksApplied:
		return h, "the client did not take our hook, so calls would run unjudged"
	case !h.OnFailureSupported:
		return h, "the client cannot block a call whose judgement failed (it is too old)"
	}
	return h, ""
}
