package claude

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// conversation is one running client. Its lines are handled one after the other on
// the goroutine that reads them; tool calls and the limits have their own.
type conversation struct {
	*client.Session
	stream *stream
	tools  *toolServer

	// Only the reading goroutine uses these until reading is over.
	judged     map[string]verdict // of calls in flight, by tool_use_id
	structured json.RawMessage
	ready      bool // the client has answered initialize
	shaken     handshake
}

// verdict is what we said about a call.
type verdict struct{ allow bool }

func newConversation(ctx context.Context, common *client.Session) *conversation {
	common.Awaited = "answer to initialize"
	return &conversation{Session: common, stream: newStream(), tools: newToolServer(ctx, common.Request),
		judged: map[string]verdict{}}
}

// Begin makes the handshake.
func (s *conversation) Begin() { s.Out.Send(initialize(ownTools(len(s.Request.ToolSpecs) > 0))) }

// Interrupt asks for the end of the turn, which is a result line with the costs.
func (s *conversation) Interrupt() {
	s.Out.Send(object{"type": "control_request", "request_id": interruptID, "request": object{"subtype": "interrupt"}})
}

// Line handles one line of the client.
func (s *conversation) Line(data []byte, cut bool) {
	l, ok := parse(data)
	if !ok {
		s.Unread(data, cut)
		return
	}
	switch l.Type {
	case "control_request":
		s.control(l, cut)
	case "control_response":
		s.answered(l)
	case "control_cancel_request":
		s.tools.abort(l.RequestID)
	case "stream_event": // told again as a whole
		s.tell(l)
	default:
		s.Transcript.JSON(data)
		s.observe(l)
	}
}

// observe follows what the client reports about itself.
func (s *conversation) observe(l line) {
	switch l.Type {
	case "assistant":
		if l.Message != nil {
			for _, b := range l.Message.Content {
				if b.Type == "tool_use" {
					s.Watch.Open(b.ID)
				}
			}
		}
	case "user":
		s.toolsEnded(l)
	case "system":
		if l.Subtype == "informational" && (l.Tag == "hook_no_verdict" || l.Tag == "hook_callback_failed") {
			s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "a tool call was not judged: " +
				client.Line(l.Content, 200)})
		}
	}
	s.tell(l)
	switch {
	case l.Type == "system" && l.Subtype == "init":
		s.checkInit()
	case l.Type == "system" && l.Subtype == "api_retry":
		s.checkRetry(l)
	case l.Type == "result":
		s.Watch.CloseAll()
		clear(s.judged)
		s.turnEnded(l)
	}
}

func (s *conversation) tell(l line) {
	for _, e := range s.stream.read(l) {
		s.Event(e)
	}
}

// toolsEnded checks that no call ran without permission. It is the guard's last
// defence that sees the client: whatever switched our hook off, the first result
// shows it.
func (s *conversation) toolsEnded(l line) {
	if l.Message == nil {
		return
	}
	for _, b := range l.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		s.Watch.Close(b.ToolUseID)
		v, ok := s.judged[b.ToolUseID]
		delete(s.judged, b.ToolUseID)
		if b.IsError {
			continue // refused, or failed before it began
		}
		name := client.Line(s.stream.open[b.ToolUseID], 100)
		switch {
		case !ok:
			s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "a call of " + name + " ran without being judged"})
		case !v.allow:
			s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "a denied call of " + name + " ran"})
		}
	}
}

// checkInit looks at what the client says about its own set-up.
func (s *conversation) checkInit() {
	if mode := s.stream.mode; mode != "" && mode != "bypassPermissions" {
		s.Stop(client.Ending{Kind: session.PermissionDenied,
			Detail: "a policy of this machine makes the client run in permission mode " + client.Line(mode, 50)})
	}
	if len(s.Request.ToolSpecs) > 0 && s.stream.toolServer == "failed" {
		s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "the client could not connect to the ralph tools"})
	}
}

// longestRetry is how long the client may wait before it asks its provider
// again. Beyond that the loop waits: it says so, and until when.
const longestRetry = 2 * time.Minute

func (s *conversation) checkRetry(l line) {
	wait := time.Duration(min(max(l.RetryDelayMS, 0), 1e9)) * time.Millisecond
	limit := max(maxRetries, min(l.MaxRetries, 20)) // a user's own setting counts
	if l.Attempt <= limit && wait <= longestRetry {
		return
	}
	e := retryFailure(l)
	if wait > longestRetry {
		e.Until = s.Clock.Now().Add(wait)
	}
	s.Stop(e)
}

// turnEnded decides after each result whether the session goes on.
func (s *conversation) turnEnded(l line) {
	e := s.stream.classify(l, s.Clock.Now())
	if len(l.Structured) > 0 && string(l.Structured) != "null" {
		s.structured = l.Structured
	}
	s.TurnEnded(e, true, s, func(prompt string) bool { return s.Out.Send(userLine(prompt)) })
}

// Result is what is known so far.
func (s *conversation) Result() session.Result {
	version := s.shaken.Version
	if version == "" {
		version = s.stream.version
	}
	return session.Result{Usage: s.stream.reported, Structured: s.structured, Model: s.stream.model,
		Client: strings.TrimSpace("claude " + client.Line(version, 50)), SessionID: s.stream.session}
}
