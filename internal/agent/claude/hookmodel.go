package claude

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"git-ralph/internal/agent/client"
)

// hookTrace is what the tool call of a hook probe would leave if it were run.
const hookTrace = "ran"

// hookModel stands in for the provider of a client that is being tried: it
// asks for one tool call that harms nobody, takes down what the client says
// became of it, and ends.
type hookModel struct {
	url    string
	secret string // part of the path: other users of this machine can connect, too
	server *http.Server

	mu     sync.Mutex
	called bool   // a result of the call has come
	told   string // the result
}

const hookCall = "toolu_canary"

func newHookModel() (*hookModel, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("make the canary: %w", err)
	}
	m := &hookModel{secret: "/" + rand.Text()}
	m.url = "http://" + l.Addr().String() + m.secret
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go m.server.Serve(l)
	return m, nil
}

func (m *hookModel) close() { m.server.Close() }

func (m *hookModel) result() (told string, called bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told, m.called
}

// ServeHTTP answers a request for a message; requests without tools are titles
// and the like.
func (m *hookModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != m.secret+"/v1/messages" {
		http.NotFound(w, r)
		return
	}
	var req struct {
		Model    string            `json:"model"`
		Stream   bool              `json:"stream"`
		Tools    []json.RawMessage `json:"tools"`
		Messages []struct {
			Content hookBlocks `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, client.MaxLine)).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done := len(req.Tools) == 0
	m.mu.Lock()
	for _, msg := range req.Messages {
		for _, b := range msg.Content {
			if b.Type == "tool_result" && b.ToolUseID == hookCall {
				done, m.called, m.told = true, true, string(b.Content)
			}
		}
	}
	m.mu.Unlock()
	content, stop := object{"type": "text", "text": "Done."}, "end_turn"
	input := object{"command": "echo >" + hookTrace, "description": "canary"}
	if !done {
		content, stop = object{"type": "tool_use", "id": hookCall, "name": "Bash", "input": input}, "tool_use"
	}
	answer := object{"id": "msg_canary", "type": "message", "role": "assistant", "model": req.Model,
		"content":     []object{content},
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1}}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	delta := object{"type": "text_delta", "text": "Done."}
	if !done {
		b, err := json.Marshal(input)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		content["input"], delta = object{}, object{"type": "input_json_delta", "partial_json": string(b)}
	} else {
		content["text"] = ""
	}
	answer["content"], answer["stop_reason"] = []object{}, nil
	send(w, object{"type": "message_start", "message": answer})
	send(w, object{"type": "content_block_start", "index": 0, "content_block": content})
	send(w, object{"type": "content_block_delta", "index": 0, "delta": delta})
	send(w, object{"type": "content_block_stop", "index": 0})
	send(w, object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": 1}})
	send(w, object{"type": "message_stop"})
}

// send writes one event of a stream.
func send(w io.Writer, event object) {
	if b, err := json.Marshal(event); err == nil {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], b)
	}
}

// hookBlock is a block of what the client sends. The content of a result is a
// text or a list; as JSON it holds the words in either case.
type hookBlock struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

type hookBlocks []hookBlock

// UnmarshalJSON takes a plain text for no blocks.
func (b *hookBlocks) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(strings.TrimSpace(string(data)), `"`) {
		return nil
	}
	var list []hookBlock
	err := json.Unmarshal(data, &list)
	*b = list
	return err
}
