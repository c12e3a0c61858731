package claude

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// stream follows what the client prints and turns it into events. It is pure:
// the same lines give the same events and the same end.
type stream struct {
	session, model, version, mode string
	toolServer                    string // status of our tool server, "" = not mentioned

	open map[string]string // tool calls without a result: id → name
	subs map[string]string // sub-agents at work, by the call that began them

	calls    map[string]*apiTokens // tokens of the newest messages, by message id
	order    []string              // of calls, oldest first
	current  map[string]string     // newest message id of each parent
	reported session.Usage         // sum of the increments so far
	totals   session.Usage         // what the client itself counts, at results
	counted  bool                  // totals are known

	before session.Usage // what the client counted in the session before this run

	limit     *rateLimit // the newest rejection
	errorKind string     // "error" of the newest synthetic message
}

// maxTracked bounds the messages and calls that are remembered at a time. Only
// those in flight matter: one main loop and a few subagents.
const maxTracked = 1000

func newStream() *stream {
	return &stream{open: map[string]string{}, subs: map[string]string{}, calls: map[string]*apiTokens{},
		current: map[string]string{}}
}

// read takes one line and returns what happened. Control lines are not its
// business.
func (s *stream) read(l line) []session.AgentEvent {
	switch l.Type {
	case "assistant":
		return s.assistant(l)
	case "user":
		return s.user(l)
	case "stream_event":
		return s.partial(l)
	case "system":
		return s.system(l)
	case "rate_limit_event":
		return s.rateLimited(l)
	case "result":
		return s.result(l)
	}
	return nil
}

func (s *stream) assistant(l line) (out []session.AgentEvent) {
	if l.Message == nil {
		return nil
	}
	synthetic := l.Message.Model == "<synthetic>" // the client's own words about an error
	if synthetic && l.Error != "" {
		s.errorKind = l.Error
	}
	for _, b := range l.Message.Content {
		switch b.Type {
		case "text":
			if b.Text != "" {
				out = append(out, session.AgentEvent{Kind: session.EventText, Text: b.Text, Agent: s.subs[l.Parent]})
			}
		case "tool_use":
			if len(s.open) < maxTracked {
				s.open[b.ID] = b.Name
				if name := subagent(b.Input); name != "" {
					s.subs[b.ID] = name
				}
			}
			out = append(out, session.AgentEvent{Kind: session.EventToolCall, Tool: client.Line(b.Name, 100),
				Text: client.Brief(b.Input), Path: client.Path(b.Input), Agent: s.subs[l.Parent]})
		}
	}
	if !synthetic && l.Message.Usage != nil {
		if l.Parent == "" && l.Message.Model != "" {
			s.model = client.Line(l.Message.Model, 100)
		}
		out = append(out, s.tokens(l.Message.ID, l.Parent, *l.Message.Usage)...)
	}
	return out
}

// subagent is the name of the sub-agent that a call with such an input begins,
// "" when it begins none.
func subagent(input json.RawMessage) string {
	var in struct {
		Type        string `json:"subagent_type"`
		Description string `json:"description"`
	}
	if json.Unmarshal(input, &in) != nil || in.Type == "" {
		return ""
	}
	return client.Line(strings.TrimSpace(in.Type+" "+in.Description), 60)
}

func (s *stream) user(l line) (out []session.AgentEvent) {
	if l.Message == nil {
		return nil
	}
	for _, b := range l.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		out = append(out, session.AgentEvent{Kind: session.EventToolDone, Tool: client.Line(s.open[b.ToolUseID], 100),
			Agent: s.subs[b.ToolUseID]})
		delete(s.open, b.ToolUseID)
		delete(s.subs, b.ToolUseID)
	}
	return out
}

// partial reads the provider's own events, of which only the tokens interest:
// the text comes again as a whole.
func (s *stream) partial(l line) []session.AgentEvent {
	if l.Event == nil {
		return nil
	}
	switch l.Event.Type {
	case "message_start":
		if m := l.Event.Message; m != nil && m.Usage != nil {
			s.current[l.Parent] = m.ID
			return s.tokens(m.ID, l.Parent, *m.Usage)
		}
	case "message_delta":
		id := l.APIMessageID
		if id == "" {
			id = s.current[l.Parent]
		}
		if l.Event.Usage != nil {
			return s.tokens(id, l.Parent, *l.Event.Usage)
		}
	}
	return nil
}

// tokens counts a message's usage. It is told several times, growing, so only
// what is new is an increment. The window is that of the main conversation.
func (s *stream) tokens(id, parent string, u apiTokens) []session.AgentEvent {
	if id == "" {
		return nil
	}
	var inc session.Usage
	known := s.calls[id]
	if known == nil {
		known = &apiTokens{}
		s.calls[id] = known
		s.order = append(s.order, id)
		inc.APICalls = 1
		if len(s.order) > maxTracked {
			delete(s.calls, s.order[0])
			s.order = s.order[1:]
		}
		if len(s.current) > maxTracked {
			clear(s.current)
		}
	}
	grow := func(have *float64, now float64) int64 {
		if !(now > *have) {
			return 0
		}
		d := tokenCount(now) - tokenCount(*have)
		*have = now
		return d
	}
	inc.Input = grow(&known.Input, u.Input)
	inc.Output = grow(&known.Output, u.Output)
	inc.CacheRead = grow(&known.CacheRead, u.CacheRead)
	inc.CacheWrite = grow(&known.CacheWrite, u.CacheWrite)
	if parent == "" {
		inc.ContextTokens = tokenCount(known.Input) + tokenCount(known.CacheRead) + tokenCount(known.CacheWrite)
	}
	if inc == (session.Usage{ContextTokens: s.reported.ContextTokens}) || inc == (session.Usage{}) {
		return nil
	}
	return s.report(inc)
}

func (s *stream) report(inc session.Usage) []session.AgentEvent {
	s.reported = client.AddUsage(s.reported, inc)
	return []session.AgentEvent{{Kind: session.EventUsage, Usage: inc, Model: s.model}}
}

// result takes over the client's own totals. They are cumulative over the
// process and include subagents and side requests.
func (s *stream) result(l line) []session.AgentEvent {
	clear(s.open)
	var t, inc session.Usage
	window, mainWindow := int64(0), int64(0)
	for name, m := range l.ModelUsage {
		t.Input += tokenCount(m.Input)
		t.Output += tokenCount(m.Output)
		t.CacheRead += tokenCount(m.CacheRead)
		t.CacheWrite += tokenCount(m.CacheWrite)
		window = max(window, tokenCount(m.ContextWindow))
		if name == s.model {
			mainWindow = tokenCount(m.ContextWindow)
		}
	}
	if mainWindow > 0 {
		window = mainWindow
	}
	t.Input, t.Output = max(0, t.Input-s.before.Input), max(0, t.Output-s.before.Output)
	t.CacheRead, t.CacheWrite = max(0, t.CacheRead-s.before.CacheRead), max(0, t.CacheWrite-s.before.CacheWrite)
	if l.TotalCostUSD != nil {
		cost := client.MicroUSD(*l.TotalCostUSD)
		if s.before.CostMicroUSD != nil {
			cost = max(0, cost-*s.before.CostMicroUSD)
		}
		delta := cost
		if s.reported.CostMicroUSD != nil {
			delta -= *s.reported.CostMicroUSD
		}
		delta = max(delta, 0)
		t.CostMicroUSD, inc.CostMicroUSD = &cost, &delta
	}
	turns := min(max(l.NumTurns, 0), 1e6)
	inc.Turns = turns
	inc.Input = max(0, t.Input-s.reported.Input)
	inc.Output = max(0, t.Output-s.reported.Output)
	inc.CacheRead = max(0, t.CacheRead-s.reported.CacheRead)
	inc.CacheWrite = max(0, t.CacheWrite-s.reported.CacheWrite)
	inc.ContextWindow = window
	out := s.report(inc)
	t.Turns, t.APICalls = s.reported.Turns, s.reported.APICalls
	t.ContextTokens, t.ContextWindow = s.reported.ContextTokens, s.reported.ContextWindow
	s.totals, s.counted = t, true
	return out
}

func (s *stream) system(l line) []session.AgentEvent {
	switch l.Subtype {
	case "init":
		first := s.session == ""
		s.session, s.version, s.mode = client.Line(l.SessionID, 100), client.Line(l.Version, 50), l.PermissionMode
		if l.Model != "" {
			s.model = client.Line(l.Model, 100)
		}
		for _, m := range l.MCPServers {
			if m.Name == serverName {
				s.toolServer = m.Status
			}
		}
		if first { // one line a turn
			return []session.AgentEvent{{Kind: session.EventSession, Text: s.session, Model: s.model, Version: s.version}}
		}
	case "api_retry":
		return []session.AgentEvent{{Kind: session.EventRetry, Text: retryText(l)}}
	case "permission_denied":
		return []session.AgentEvent{{Kind: session.EventDenied, Tool: client.Line(l.ToolName, 100),
			Text: client.Line(l.plain(), 500)}}
	case "model_fallback":
		return []session.AgentEvent{{Kind: session.EventWarning, Text: client.Line(l.Content, 500)}}
	case "informational":
		return []session.AgentEvent{{Kind: session.EventWarning, Text: client.Line(l.Content, 500)}}
	}
	return nil
}

// plain is the text of a line whose "message" is a text, not an object.
func (l line) plain() string {
	if l.Content != "" || l.Message == nil {
		return l.Content
	}
	for _, b := range l.Message.Content {
		return b.Text
	}
	return ""
}

func retryText(l line) string {
	text := fmt.Sprintf("attempt %d of %d", l.Attempt, l.MaxRetries)
	if l.Error != "" && l.Error != "unknown" {
		text += ": " + client.Line(l.Error, 100)
	}
	if l.ErrorStatus != 0 {
		text += fmt.Sprintf(" (%d)", l.ErrorStatus)
	}
	return text
}

func (s *stream) rateLimited(l line) []session.AgentEvent {
	r := l.RateLimit
	if r == nil {
		return nil
	}
	kind := client.Line(r.Type, 50)
	if r.Status == "rejected" {
		s.limit = r
		return []session.AgentEvent{{Kind: session.EventLimit, Text: kind + " limit reached", Until: epoch(r.ResetsAt)}}
	}
	if r.Utilization > 0 {
		return []session.AgentEvent{{Kind: session.EventWarning, Text: fmt.Sprintf("%.0f %% of the %s limit are used",
			r.Utilization*100, kind), Until: epoch(r.ResetsAt)}}
	}
	return nil
}

// epoch is seconds since 1970 as a time; what lies outside of the 21st century
// is no time that anybody should wait for.
func epoch(seconds float64) time.Time {
	if !(seconds > 946_684_800 && seconds < 4_102_444_800) {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// tokenCount is a count as the client wrote it; nonsense is 0.
func tokenCount(f float64) int64 {
	if !(f > 0) {
		return 0
	}
	return int64(math.Min(f, 1e12))
}
