package acp

import (
	"encoding/json"
	"strings"

	"git-ralph/internal/agent/client"
)

type object = map[string]any

// line is one JSON line of the client: a request or notification (method), or an
// answer to one of our requests. Fields of other types stay empty.
type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	Result answer          `json:"result"`
	Error  *failure        `json:"error"`
}

type failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// answer is that to each of our requests.
type answer struct {
	Version int `json:"protocolVersion"`
	Agent   struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Session string `json:"sessionId"`
	Models  *struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
	Options []struct {
		ID       string `json:"id"`
		Category string `json:"category"`
		Current  string `json:"currentValue"`
	} `json:"configOptions"`
	Stop  string `json:"stopReason"`
	Usage *usage `json:"usage"`
	Meta  struct {
		Quota struct {
			Tokens struct {
				Input  float64 `json:"input_tokens"`
				Output float64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

// usage is that of a prompt. The input is what was not cached.
type usage struct {
	Input      float64 `json:"inputTokens"`
	Output     float64 `json:"outputTokens"`
	Thought    float64 `json:"thoughtTokens"`
	CacheRead  float64 `json:"cachedReadTokens"`
	CacheWrite float64 `json:"cachedWriteTokens"`
	Total      float64 `json:"totalTokens"`
}

type params struct {
	Session string `json:"sessionId"`
	Update  update `json:"update"`
	Call    call   `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// update is what a client reports. That of a call has the call's fields.
type update struct {
	Kind  string          `json:"sessionUpdate"`
	Text  json.RawMessage `json:"content"` // a text, of a message; of a call a list
	Model string          `json:"currentModelId"`
	Used  float64         `json:"used"`
	Size  float64         `json:"size"`
	Cost  *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// call is a call of a tool, as far as the client has told.
type call struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Status    string          `json:"status"` // pending, in_progress, completed, failed
	Input     json.RawMessage `json:"rawInput"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Content []struct {
		Type string `json:"type"`
		Path string `json:"path"` // of a diff
	} `json:"content"`

	asked, allowed, told, closed, checked bool

	cut bool // not all of it was read
}

// merge takes what an update of the call says anew.
func (c *call) merge(u call) {
	c.cut = c.cut || u.cut
	if u.Title != "" {
		c.Title = u.Title
	}
	if u.Kind != "" {
		c.Kind = u.Kind
	}
	if u.Status != "" {
		c.Status = u.Status
	}
	if len(u.Input) > len("{}") && string(u.Input) != "null" {
		c.Input = u.Input
	}
	if len(u.Locations) > 0 {
		c.Locations = u.Locations
	}
	if len(u.Content) > 0 {
		c.Content = u.Content
	}
}

// paths are the files that the call names.
func (c *call) paths() []string {
	var out []string
	add := func(path string) {
		if path != "" {
			out = append(out, path)
		}
	}
	for _, l := range c.Locations {
		add(l.Path)
	}
	for _, p := range c.Content {
		add(p.Path)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Input, &fields) == nil {
		for _, name := range []string{"file_path", "filePath", "filepath", "path", "abs_path", "old_path", "new_path"} {
			var path string
			if json.Unmarshal(fields[name], &path) == nil {
				add(path)
			}
		}
	}
	return out
}

// command is what an execution runs: the client's own field for it, else its
// title. A list of words is quoted for a shell.
func (c *call) command() string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Input, &fields) == nil {
		for _, name := range []string{"command", "cmd", "script"} {
			var text string
			var words []string
			switch {
			case json.Unmarshal(fields[name], &text) == nil && text != "":
				return text
			case json.Unmarshal(fields[name], &words) == nil && len(words) > 0:
				for i, w := range words {
					words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
				}
				return strings.Join(words, " ")
			}
		}
	}
	return strings.Trim(c.Title, "`")
}

// text is the text of a message's content.
func (u update) text() string {
	var content struct {
		Text string `json:"text"`
	}
	if client.Tolerant(json.Unmarshal(u.Text, &content)) != nil {
		return ""
	}
	return content.Text
}

// Ids of our own requests.
const (
	initializeID = "ralph-initialize"
	sessionID    = "ralph-session"
	modelID      = "ralph-model"
	promptID     = "ralph-prompt"
)

// Codes of JSON-RPC, and that of the protocol for a missing login.
const (
	codeNoMethod = -32601
	codeAuth     = -32000
)

func request(id, method string, params object) object {
	return object{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}
