package opencode

import (
	"encoding/json"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// line is a line of the client or of our plugin. Fields of other types stay empty.
type line struct {
	Type    string   `json:"type"`
	Session string   `json:"sessionID"`
	Part    part     `json:"part"`
	Error   *failure `json:"error"`

	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Reason  string          `json:"reason"`
	Verdict bool            `json:"verdict"`
	Model   string          `json:"model"`
	Version string          `json:"version"`
	Message string          `json:"message"`
	Window  float64         `json:"window"`
	Attempt int             `json:"attempt"`
	Next    float64         `json:"next"` // milliseconds since 1970
	// Status, Body and Headers are those of the answer that makes the client try again.
	Status  int               `json:"status"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
}

type part struct {
	ID     string `json:"id"`
	CallID string `json:"callID"`
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Own    string `json:"sessionID"`
	State  struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Error  string          `json:"error"`
	} `json:"state"`
	Tokens struct {
		Input     float64 `json:"input"`
		Output    float64 `json:"output"`
		Reasoning float64 `json:"reasoning"`
		Cache     struct {
			Read  float64 `json:"read"`
			Write float64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
	Cost float64 `json:"cost"`
}

type failure struct {
	Name string `json:"name"`
	Data struct {
		Message string            `json:"message"`
		Status  int               `json:"statusCode"`
		Headers map[string]string `json:"responseHeaders"`
		Body    string            `json:"responseBody"`
	} `json:"data"`
}

// maxTracked bounds what is remembered of a client that says too much.
const maxTracked = 10_000

// stream follows what the client prints.
type stream struct {
	req                     session.Request
	session, model, version string
	window                  int64
	ready                   bool            // the plugin is in force
	judged                  map[string]bool // calls that the guard allowed
	begun                   map[string]bool // calls that were reported
	counted                 map[string]bool // requests to the model
	calls                   int             // of this session alone
	usage                   session.Usage
	stop                    string // why the newest step ended
	failed                  *failure
}

func newStream(req session.Request) *stream {
	return &stream{req: req, judged: map[string]bool{}, begun: map[string]bool{}, counted: map[string]bool{}}
}

// Line takes one line.
func (t *stream) Line(s *client.Prompts, data []byte) {
	var l line
	if client.Tolerant(json.Unmarshal(data, &l)) != nil {
		return
	}
	if l.Session != "" && t.session == "" {
		t.session = client.Line(l.Session, 100)
		s.Event(session.AgentEvent{Kind: session.EventSession, Text: t.session, Model: t.model, Version: t.version})
	}
	switch l.Type {
	case "ralph_ready":
		t.ready = true
	case "ralph_session":
		if l.Version != "" {
			t.version = client.Line(l.Version, 40)
		}
	case "ralph_model":
		t.model, t.window = client.Line(l.Model, 100), client.Count(l.Window)
	case "ralph_running":
		t.begin(s, l.Call, l.Tool, l.Input)
	case "ralph_judged":
		if len(t.judged) < maxTracked {
			t.judged[l.Call] = true
		}
	case "ralph_denied":
		s.Event(session.AgentEvent{Kind: session.EventDenied, Tool: client.Line(l.Tool, 100), Text: l.Reason})
		if !l.Verdict {
			s.Stop(session.ProtocolError, time.Time{}, "the guard gave no verdict: %s", client.Line(l.Reason, 200))
		}
	case "ralph_retry":
		t.retry(s, l)
	case "ralph_usage", "step_finish":
		t.step(s, l)
	case "step_start":
		t.stop, t.failed = "", nil
		if !t.ready {
			s.Stop(session.ProtocolError, time.Time{}, "the client works without our plugin: its tool calls would not be judged")
		}
	case "text":
		s.Event(session.AgentEvent{Kind: session.EventText, Text: l.Part.Text})
	case "tool_use":
		t.done(s, l.Part)
	case "error":
		t.failed = l.Error
	}
}

func (t *stream) begin(s *client.Prompts, id, tool string, input json.RawMessage) {
	if t.begun[id] || len(t.begun) >= maxTracked {
		return
	}
	t.begun[id] = true
	s.Open(id)
	s.Event(session.AgentEvent{Kind: session.EventToolCall, Tool: client.Line(tool, 100), Text: client.Brief(input),
		Path: client.Path(input)})
}

func (t *stream) done(s *client.Prompts, p part) {
	t.begin(s, p.CallID, p.Tool, p.State.Input)
	s.Close(p.CallID)
	s.Event(session.AgentEvent{Kind: session.EventToolDone, Tool: client.Line(p.Tool, 100)})
	if p.State.Status == "completed" && !t.judged[p.CallID] {
		s.Checked(p.Tool, p.State.Input)
	}
}

// step counts a request to the model, of a sub-agent too. The client reports
// its own twice: by itself and through the plugin.
func (t *stream) step(s *client.Prompts, l line) {
	p := l.Part
	own := l.Type == "step_finish"
	if own {
		t.stop = p.Reason
	}
	if !t.counted[p.ID] {
		if len(t.counted) >= maxTracked {
			clear(t.counted) // the two reports of a request follow each other
		}
		t.counted[p.ID] = true
		u := session.Usage{Input: client.Count(p.Tokens.Input), Output: client.Count(p.Tokens.Output) +
			client.Count(p.Tokens.Reasoning),
			CacheRead: client.Count(p.Tokens.Cache.Read), CacheWrite: client.Count(p.Tokens.Cache.Write), Turns: 1, APICalls: 1}
		if own || p.Own == t.session {
			u.ContextTokens, u.ContextWindow = u.Total(), t.window
		}
		if p.Cost > 0 { // 0 is what it says of a model whose price it does not know
			cost := client.MicroUSD(p.Cost)
			u.CostMicroUSD = &cost
		}
		t.usage = client.AddUsage(t.usage, u)
		s.Event(session.AgentEvent{Kind: session.EventUsage, Usage: u, Model: t.model})
	}
	if own {
		if t.calls++; t.req.MaxTurns > 0 && t.calls >= t.req.MaxTurns && p.Reason == "tool-calls" {
			s.Stop(session.MaxTurns, time.Time{}, "%d requests to the model", t.calls)
		}
	}
}

func (t *stream) retry(s *client.Prompts, l line) {
	until := time.Time{}
	if l.Next > 0 && l.Next < 1e14 {
		until = time.UnixMilli(int64(l.Next)).UTC()
	}
	s.Retried(client.Failure{Status: l.Status, Message: l.Message, Body: l.Body, Headers: l.Headers}, l.Attempt, until)
}

// End says how a prompt ended. The client prints no last event: the last step
// must have ended for a reason that is the model's.
func (t *stream) End(exit proc.Exit, stderr string, now time.Time) client.Ending {
	kind, detail := client.Outcome(exit)
	switch {
	case t.failed != nil:
		f := t.failed
		if f.Name == "ContextOverflowError" {
			return client.Ending{Kind: session.ContextLimit, Detail: client.Line(f.Data.Message, 300)}
		}
		if strings.HasPrefix(f.Name, "ProviderAuth") || strings.HasPrefix(f.Name, "ProviderModelNotFound") ||
			strings.HasPrefix(f.Name, "ProviderInit") {
			return client.Ending{Kind: session.AuthFailed, Detail: client.Line(strings.TrimSpace(f.Name+" "+f.Data.Message),
				300)}
		}
		return client.Failure{Status: f.Data.Status, Message: f.Data.Message, Body: f.Data.Body,
			Headers: f.Data.Headers}.Ending(now)
	case t.stop == "tool-calls" && kind == session.Completed:
		return client.Ending{Kind: session.PermissionDenied, Detail: "the client ended at a question for permission that " +
			"nobody answers"}
	case t.stop == "" || t.stop == "tool-calls":
		return client.EndedEarly(exit, stderr, t.session != "", now)
	case t.stop == "content-filter" || t.stop == "error":
		return client.Ending{Kind: session.ProtocolError, Detail: "the model's answer ended with " + t.stop}
	case kind != session.Completed:
		return client.Ending{Kind: kind, Detail: detail + " after its result"}
	case !client.ToolsReached(t.req):
		return client.Ending{Kind: session.ProtocolError, Detail: client.ToolsMissing}
	}
	return client.Ending{Kind: session.Completed}
}

// Result is what is known so far.
func (t *stream) Result() session.Result {
	return session.Result{Usage: t.usage, Model: t.model, Client: strings.TrimSpace("opencode " + t.version),
		SessionID: t.session}
}
