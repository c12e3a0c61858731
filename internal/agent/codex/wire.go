package codex

import (
	"encoding/json"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

type object = map[string]any

// line is one JSON line of the client: a request or notification (method), or
// an answer to one of our requests. Fields of other kinds stay empty.
type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result *answer         `json:"result"`
	Error  *rpcFailure     `json:"error"`
}

type rpcFailure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type answer struct {
	UserAgent string `json:"userAgent"`
	Model     string `json:"model"`
	Thread    struct {
		ID         string `json:"id"`
		CLIVersion string `json:"cliVersion"`
	} `json:"thread"`
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
}

// params are those of all methods that we read.
type params struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	ItemID   string `json:"itemId"`
	Item     *item  `json:"item"`
	Turn     *turn  `json:"turn"`

	// error
	Failure   *turnError `json:"error"`
	WillRetry bool       `json:"willRetry"`

	// item/commandExecution/requestApproval
	Kind    string   `json:"kind"`
	Command string   `json:"command"`
	Cwd     string   `json:"cwd"`
	Actions []action `json:"commandActions"`
	// Additional are permissions beyond the sandbox that the command would get.
	Additional json.RawMessage `json:"additionalPermissions"`
	GrantRoot  string          `json:"grantRoot"`

	// item/tool/call
	CallID    string          `json:"callId"`
	Namespace string          `json:"namespace"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`

	TokenUsage *tokenUsage `json:"tokenUsage"`
	RateLimits *rateLimits `json:"rateLimits"`
	Name       string      `json:"name"`
	Message    string      `json:"message"`
	ToModel    string      `json:"toModel"`
}

type item struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Text    string          `json:"text"`
	Command string          `json:"command"`
	Cwd     string          `json:"cwd"`
	Status  string          `json:"status"` // inProgress, completed, failed, declined
	Actions []action        `json:"commandActions"`
	Changes []change        `json:"changes"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Query   string          `json:"query"`
	Args    json.RawMessage `json:"arguments"`
}

// action is what the client takes a part of a command for.
type action struct {
	Type    string `json:"type"` // read, listFiles, search, unknown
	Command string `json:"command"`
	Path    string `json:"path"`
}

type change struct {
	Path string `json:"path"`
	Kind struct {
		Type     string `json:"type"` // add, delete, update
		MovePath string `json:"move_path"`
	} `json:"kind"`
}

type turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // completed, interrupted, failed, inProgress
	Error  *turnError `json:"error"`
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
}

// info is the kind of an error and the provider's status, as far as known. The
// kind is a text, or the only key of an object.
func (e turnError) info() (kind string, status int) {
	if json.Unmarshal(e.Info, &kind) == nil {
		return kind, 0
	}
	var detail map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if client.Tolerant(json.Unmarshal(e.Info, &detail)) == nil {
		for k, d := range detail {
			return k, d.Status
		}
	}
	return "", 0
}

type tokenUsage struct {
	Total  tokens  `json:"total"` // of the thread
	Last   tokens  `json:"last"`
	Window float64 `json:"modelContextWindow"`
}

// tokens are as the provider counts them: the input includes what was cached.
type tokens struct {
	Input      float64 `json:"inputTokens"`
	CacheRead  float64 `json:"cachedInputTokens"`
	CacheWrite float64 `json:"cacheWriteInputTokens"`
	Output     float64 `json:"outputTokens"`
}

type rateLimits struct {
	Primary   *window `json:"primary"`
	Secondary *window `json:"secondary"`
}

type window struct {
	UsedPercent float64 `json:"usedPercent"`
	ResetsAt    float64 `json:"resetsAt"`
}

// parse reads one line; ok is false when it is no JSON object.
func parse(data []byte) (l line, ok bool) {
	err := client.Tolerant(json.Unmarshal(data, &l))
	return l, err == nil
}

// Ids of our own requests.
const (
	initializeID = "ralph-initialize"
	threadID     = "ralph-thread"
	turnID       = "ralph-turn"
	reasonID     = "ralph-reason-" // and the id of the call
	otherID      = "ralph-other"   // answers to these are not waited for
)

func request(id, method string, params object) object {
	return object{"id": id, "method": method, "params": params}
}

func initialize() object {
	return request(initializeID, "initialize", object{
		"clientInfo":   object{"name": "git-ralph", "title": "git ralph", "version": "1"},
		"capabilities": object{"experimentalApi": true}}) // for tools that the client's host serves
}

// startThread begins a conversation. It starts read-only: in a conversation
// that may write, the client trusts the project and loads the settings, MCP
// servers and hooks that the repository contains. Each turn says what it may
// write.
func startThread(req session.Request) object {
	p := object{"cwd": req.Dir, "approvalPolicy": "untrusted", "sandbox": "read-only"}
	if req.Model != "" {
		p["model"] = req.Model
	}
	if req.System != "" {
		p["developerInstructions"] = req.System
	}
	if req.Resume != nil { // with the tools that it began with
		p["threadId"], p["excludeTurns"] = req.Resume.ID, true
		return request(threadID, "thread/resume", p)
	}
	p["ephemeral"] = !req.KeepSession
	tools := []object{}
	for _, s := range req.ToolSpecs {
		schema := s.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		tools = append(tools, object{"type": "function", "name": s.Name, "description": s.Description, "inputSchema": schema})
	}
	p["dynamicTools"] = tools
	return request(threadID, "thread/start", p)
}

// sandboxPolicy is what the client's own sandbox lets commands do in a turn.
func sandboxPolicy(contained, writes bool, roots []string) object {
	switch {
	case !contained:
		return object{"type": "dangerFullAccess"}
	case !writes:
		return object{"type": "readOnly", "networkAccess": true}
	}
	return object{"type": "workspaceWrite", "writableRoots": roots, "networkAccess": true, "excludeTmpdirEnvVar": false,
		"excludeSlashTmp": false}
}

func startTurn(thread, prompt string, sandbox object) object {
	return request(turnID, "turn/start", object{"threadId": thread, "approvalPolicy": "untrusted",
		"sandboxPolicy": sandbox,
		"input":         []object{{"type": "text", "text": prompt}}})
}
