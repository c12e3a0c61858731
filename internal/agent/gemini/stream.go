package gemini

import (
	"encoding/json"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// line is a line of the client. Fields of other types stay empty.
type line struct {
	Type    string          `json:"type"`
	Session string          `json:"session_id"`
	Model   string          `json:"model"`
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Tool    string          `json:"tool_name"`
	ID      string          `json:"tool_id"`
	Input   json.RawMessage `json:"parameters"`
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Error   struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats stats `json:"stats"`
	// Of an answer that refuses a request, which the client tries again by itself.
	// Code is also the exit status of the hook.
	Code    int               `json:"code"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
}

// stats are those of a session. The input includes what was cached.
type stats struct {
	Input  float64          `json:"input_tokens"`
	Output float64          `json:"output_tokens"`
	Cached float64          `json:"cached"`
	Total  float64          `json:"total_tokens"`
	Models map[string]stats `json:"models"`
}

type call struct {
	tool  string
	input json.RawMessage
}

// maxTracked bounds what is remembered of a client that says too much.
const maxTracked = 10_000

// window is the context of the models that the client offers.
const window = 1_048_576

// stream follows what the client prints.
type stream struct {
	req                     session.Request
	session, model, version string
	open                    map[string]call
	allowed                 map[string]int // calls by tool that the hook let through and that have not ended
	text                    client.Said    // the model's, until something else comes
	usage                   session.Usage
	result                  *line
	failed                  string // an error that is not the result
	refused                 int    // requests in a row that the provider refused
}

// Line takes one line.
func (t *stream) Line(s *client.Prompts, data []byte) {
	var l line
	if client.Tolerant(json.Unmarshal(data, &l)) != nil {
		return
	}
	if l.Type != "message" || l.Role != "assistant" {
		t.said(s)
	}
	if l.Type == "ralph_refused" {
		t.refused++
		s.Retried(client.Failure{Status: l.Code, Message: l.Message, Body: l.Body, Headers: l.Headers}, t.refused,
			time.Time{})
		return
	}
	t.refused = 0
	if l.Type == "ralph_asked" {
		if l.Code == 0 && len(t.allowed) < maxTracked {
			t.allowed[l.Tool]++
		}
		return
	}
	switch l.Type {
	case "init":
		t.session, t.model, t.result, t.failed = client.Line(l.Session, 100), client.Line(l.Model, 100), nil, ""
		s.Event(session.AgentEvent{Kind: session.EventSession, Text: t.session, Model: t.model, Version: t.version})
	case "message":
		if l.Role == "assistant" {
			t.text.Add(l.Content)
		}
	case "tool_use":
		if len(t.open) < maxTracked {
			t.open[l.ID] = call{l.Tool, l.Input}
		}
		s.Open(l.ID)
		s.Event(session.AgentEvent{Kind: session.EventToolCall, Tool: client.Line(l.Tool, 100), Text: client.Brief(l.Input),
			Path: client.Path(l.Input)})
	case "tool_result":
		c := t.open[l.ID]
		delete(t.open, l.ID)
		s.Close(l.ID)
		if why, blocked := strings.CutPrefix(l.Error.Message, "Tool execution blocked: "); blocked && l.Status == "error" {
			s.Event(session.AgentEvent{Kind: session.EventDenied, Tool: client.Line(c.tool, 100), Text: strings.TrimSpace(why)})
		} else {
			t.ended(s, c, l.Status == "success")
		}
		s.Event(session.AgentEvent{Kind: session.EventToolDone, Tool: client.Line(c.tool, 100)})
	case "error":
		t.failed = client.Line(strings.TrimSpace(l.Message+" "+l.Error.Message), 300)
		s.Event(session.AgentEvent{Kind: session.EventWarning, Text: t.failed})
	case "result":
		t.result = &l
		t.count(s, l.Stats)
	}
}

// ended is told of a call that was not blocked. One that ran must be one that the
// hook was asked about and let through.
func (t *stream) ended(s *client.Prompts, c call, ran bool) {
	asked := t.allowed[c.tool] > 0
	if asked {
		t.allowed[c.tool]--
	}
	if !ran || c.tool == "" {
		return
	}
	s.Checked(c.tool, c.input)
	if !asked {
		s.Stop(session.ProtocolError,
			time.Time{}, "a call ran without being judged: the client did not ask the hook about %s",
			client.Line(c.tool, 100))
	}
}

// said reports a text of the model as a whole.
func (t *stream) said(s *client.Prompts) {
	if text := t.text.Take(); text != "" {
		s.Event(session.AgentEvent{Kind: session.EventText, Text: text})
	}
}

// count takes the figures of a prompt. The client has them at its end only.
func (t *stream) count(s *client.Prompts, st stats) {
	u := session.Usage{CacheRead: client.Count(st.Cached), Output: client.Count(st.Output)}
	u.Input = max(0, client.Count(st.Input)-u.CacheRead)
	if extra := client.Count(st.Total) - client.Count(st.Input) - u.Output; extra > 0 {
		u.Output += extra // thoughts and prompts of tools
	}
	if u.Total() == 0 {
		return
	}
	u.ContextWindow, u.Turns, u.APICalls = window, 1, 1
	t.usage = client.AddUsage(t.usage, u)
	s.Event(session.AgentEvent{Kind: session.EventUsage, Usage: u, Model: t.model})
}

// End says how a prompt ended: by the result line alone, because the client
// exits with 0 when it is interrupted.
func (t *stream) End(exit proc.Exit, stderr string, now time.Time) client.Ending {
	r := t.result
	switch {
	case r == nil && exit.Code == 41:
		return client.Ending{Kind: session.AuthFailed, Detail: lastLine(stderr)}
	case r == nil && exit.Code == 0 && t.session != "":
		// We did not send this interrupt. It must cost an attempt.
		return client.Ending{Kind: session.Crashed, Detail: "the client ended without a result"}
	case r == nil:
		return client.EndedEarly(exit, stderr, t.session != "", now)
	case r.Status == "success" && (!client.ToolsReached(t.req) ||
		len(t.req.ToolSpecs) > 0 && strings.Contains(stderr, "MCP issues detected")):
		return client.Ending{Kind: session.ProtocolError, Detail: client.ToolsMissing}
	case r.Status == "success":
		if kind, detail := client.Outcome(exit); kind != session.Completed {
			return client.Ending{Kind: kind, Detail: detail + " after its result"}
		}
		return client.Ending{Kind: session.Completed}
	case r.Error.Type == "FatalTurnLimitedError" || exit.Code == 53:
		return client.Ending{Kind: session.MaxTurns, Detail: client.Line(r.Error.Message, 300)}
	case r.Error.Type == "FatalAuthenticationError":
		return client.Ending{Kind: session.AuthFailed, Detail: client.Line(r.Error.Message, 300)}
	}
	return client.Failure{Message: r.Error.Message}.Ending(now)
}

func lastLine(text string) string {
	why := ""
	for l := range strings.Lines(text) {
		if l = client.Line(l, 300); l != "" {
			why = l
		}
	}
	return why
}

// Result is what is known so far.
func (t *stream) Result() session.Result {
	return session.Result{Usage: t.usage, Model: t.model, Client: strings.TrimSpace("gemini " + t.version),
		SessionID: t.session}
}
