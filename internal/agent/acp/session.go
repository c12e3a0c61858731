package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

// maxTracked bounds the calls that are remembered, maxDenied the reasons that the model is
// told at a time.
const (
	maxTracked = 10_000
	maxDenied  = 100
)

// conversation is one running client. Its lines are handled one after the other on the
// goroutine that reads them.
type conversation struct {
	*client.Session
	env []string

	// Only the reading goroutine uses these until reading is over.
	name, version, model string
	calls                map[string]*call
	ended                int         // calls that have ended
	text                 client.Said // the model's, until something else comes
	usage                session.Usage
	cost                 float64  // of the session, in dollars
	context, window      int64    // the present use of the window, and its size
	denied               []string // reasons that the model was not told yet
	told                 int      // prompts that told it
	asking               bool     // a prompt has no answer yet

	mu sync.Mutex
	id string // of the session
}

// Begin makes the handshake.
func (s *conversation) Begin() { s.Out.Send(hello()) }

// Interrupt asks the client to end its turn.
func (s *conversation) Interrupt() {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	if id != "" {
		s.Out.Send(object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": id}})
	}
}

// Line handles one line of the client.
func (s *conversation) Line(data []byte, cut bool) {
	var l line
	if client.Tolerant(json.Unmarshal(data, &l)) != nil {
		s.Unread(data, cut)
		return
	}
	l.Params.Call.cut = cut
	if !strings.HasSuffix(l.Params.Update.Kind, "_chunk") { // told again as a whole
		s.said()
	}
	s.Transcript.JSON(data)
	switch {
	case l.Method == "session/update" && len(l.ID) == 0:
		s.observe(l.Params, data, cut)
	case l.Method == "":
		s.answered(l)
	case len(l.ID) > 0:
		s.asked(l)
	}
}

// asked answers a request of the client. What is not known is refused.
func (s *conversation) asked(l line) {
	if l.Method != "session/request_permission" {
		s.Out.Send(object{"jsonrpc": "2.0", "id": l.ID,
			"error": object{"code": codeNoMethod, "message": "not offered by git ralph"}})
		return
	}
	c := s.call(l.Params.Call)
	perm := s.judge(c)
	c.asked, c.allowed = true, perm.Allow
	s.begun(c)
	if !perm.Allow {
		defer s.over(c)
		if perm.Reason == "" {
			perm.Reason = "denied by git ralph"
		}
		if len(s.denied) < maxDenied {
			s.denied = append(s.denied, c.name()+": "+perm.Reason)
		}
		s.Event(session.AgentEvent{Kind: session.EventDenied, Tool: c.name(), Text: perm.Reason})
	}
	outcome := object{"outcome": "cancelled"} // where the client has no such option
	kinds := []string{"reject_once", "reject_always"}
	if perm.Allow {
		kinds = []string{"allow_once"} // never for good: the next call is judged as well
	}
	for _, kind := range kinds {
		for _, o := range l.Params.Options {
			if o.Kind == kind && outcome["optionId"] == nil {
				outcome = object{"outcome": "selected", "optionId": o.ID}
			}
		}
	}
	s.Out.Send(object{"jsonrpc": "2.0", "id": l.ID, "result": object{"outcome": outcome}})
}

// call is what is known of a call, with what the client says now.
func (s *conversation) call(u call) *call {
	c := s.calls[u.ID]
	if c == nil {
		c = &call{ID: u.ID}
		if len(s.calls) < maxTracked {
			s.calls[u.ID] = c
		}
	}
	c.merge(u)
	return c
}

// name is what people are shown as the tool.
func (c *call) name() string {
	if c.Kind == "" || c.Kind == "other" {
		return client.Line(c.Title, 100)
	}
	return client.Line(c.Kind, 100)
}

// judge decides about a call by what it is. One that nobody can tell is refused.
func (s *conversation) judge(c *call) session.Permission {
	if c.cut {
		return session.Permission{Reason: client.TooLong}
	}
	if s.ours(c) {
		return session.Permission{Allow: true}
	}
	switch c.Kind {
	case "execute":
		command := c.command()
		if command == "" {
			return session.Permission{Reason: "the command is not known"}
		}
		return s.put("Bash", object{"command": command})
	case "edit", "delete", "move":
		paths := c.paths()
		if len(paths) == 0 {
			return session.Permission{Reason: "the files of this call are not known"}
		}
		return s.putEach("Edit", "file_path", paths)
	case "read":
		return s.putEach("Read", "file_path", orNone(c.paths()))
	case "search":
		return s.putEach("Grep", "path", orNone(c.paths()))
	case "fetch":
		return s.put("WebFetch", object{"url": c.Title})
	case "think":
		return session.Permission{Allow: true}
	}
	return session.Permission{Reason: "a call of this kind cannot be judged: " + c.name()}
}

// ours says whether the call is one of our own tools, which the harness judges
// itself.
func (s *conversation) ours(c *call) bool {
	if c.Kind != "" && c.Kind != "other" {
		return false
	}
	return slices.ContainsFunc(s.Request.ToolSpecs, func(t session.ToolSpec) bool {
		return begins(c.Title, t.Name) || begins(c.ID, t.Name)
	})
}

// begins says whether a title or id begins with the name of one of our tools. Clients put a
// word for tools and the server's name before it, or the server's name behind it. What
// comes later are arguments, which the model chooses.
func begins(title, name string) bool {
	before, after, found := strings.Cut(title, name)
	return found && beforeName().MatchString(before) && !wordByte().MatchString(after)
}

var (
	beforeName = lazyregexp.New(`(?i)^(?:(?:mcp|tool|server|ralph)[_:./ -]+)*$`)
	wordByte   = lazyregexp.New(`^\w`)
)

// orNone: a client that reads without saying what is judged as reading nothing in
// particular. What must not be read is out of its reach anyway.
func orNone(paths []string) []string {
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// putEach allows a call if it may have each of its files.
func (s *conversation) putEach(tool, field string, paths []string) session.Permission {
	for _, path := range paths {
		if p := s.put(tool, object{field: path}); !p.Allow {
			return p
		}
	}
	return session.Permission{Allow: true}
}

func (s *conversation) put(tool string, input object) session.Permission {
	b, err := json.Marshal(input)
	if err != nil {
		return session.Permission{Reason: "the arguments cannot be read"}
	}
	return s.Request.Judge(session.ToolUse{Tool: tool, Input: b})
}

// observe follows what the client reports.
func (s *conversation) observe(p params, data []byte, cut bool) {
	switch u := p.Update; u.Kind {
	case "agent_message_chunk":
		s.text.Add(u.text())
	case "tool_call", "tool_call_update":
		var of struct {
			Params struct {
				Update call `json:"update"`
			} `json:"params"`
		}
		if client.Tolerant(json.Unmarshal(data, &of)) == nil && of.Params.Update.ID != "" {
			of.Params.Update.cut = cut && len(of.Params.Update.Input) > client.MaxText
			s.progress(s.call(of.Params.Update))
		}
	case "usage_update":
		s.context, s.window = client.Count(u.Used), client.Count(u.Size)
		if u.Cost != nil && u.Cost.Currency == "USD" && u.Cost.Amount > s.cost && u.Cost.Amount < 1e6 {
			s.count(session.Usage{CostMicroUSD: micro(u.Cost.Amount - s.cost)})
			s.cost = u.Cost.Amount
		}
	case "current_model_update":
		s.model = client.Line(u.Model, 100)
	}
}

func micro(usd float64) *int64 {
	m := client.MicroUSD(usd)
	return &m
}

// begun reports the beginning of a call, over its end, once each.
func (s *conversation) begun(c *call) {
	if c.told {
		return
	}
	c.told = true
	s.Watch.Open(c.ID)
	e := session.AgentEvent{Kind: session.EventToolCall, Tool: c.name(), Text: client.Line(c.Title, 120)}
	if paths := c.paths(); len(paths) > 0 && c.Kind != "execute" {
		e.Path = paths[0]
	}
	s.Event(e)
}

func (s *conversation) over(c *call) {
	if c.closed {
		return
	}
	c.closed = true
	s.Watch.Close(c.ID)
	s.Event(session.AgentEvent{Kind: session.EventToolDone, Tool: c.name()})
	if s.ended++; s.Request.MaxTurns > 0 && s.ended >= s.Request.MaxTurns && s.First == nil {
		s.First = &client.Ending{Kind: session.MaxTurns, Detail: fmt.Sprintf("%d calls of tools", s.ended)}
		s.Interrupt()
	}
}

// progress follows a call. One that ran must be one that was allowed, or that would be.
func (s *conversation) progress(c *call) {
	ended := c.Status == "completed" || c.Status == "failed"
	if c.Status != "pending" {
		s.begun(c)
	}
	if !ended {
		return
	}
	s.over(c)
	if c.Status != "completed" || c.checked {
		return
	}
	c.checked = true
	switch {
	case c.asked && !c.allowed:
		s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "a denied call ran: " + client.Line(c.Title, 100)})
	case !c.asked && slices.Contains([]string{"execute", "edit", "delete", "move"}, c.Kind) && !s.judge(c).Allow:
		s.Stop(client.Ending{Kind: session.ProtocolError,
			Detail: "a call ran without being judged: " + client.Line(c.Title, 100)})
	}
	c.Input, c.Content = nil, nil
}

// said reports a text of the model as a whole.
func (s *conversation) said() {
	if text := s.text.Take(); text != "" {
		s.Event(session.AgentEvent{Kind: session.EventText, Text: text})
	}
}

// answered handles the answer to one of our requests.
func (s *conversation) answered(l line) {
	var id string
	if json.Unmarshal(l.ID, &id) != nil {
		return
	}
	if l.Error != nil && id != promptID {
		s.Stop(refusal(strings.TrimPrefix(id, "ralph-"), *l.Error, s.Clock.Now()))
		return
	}
	switch r := l.Result; id {
	case initializeID:
		if r.Version != 1 {
			s.Stop(client.Ending{Kind: session.ProtocolError, Detail: otherVersion(r.Version).Error()})
			return
		}
		s.name, s.version = client.Line(r.Agent.Name, 50), client.Line(r.Agent.Version, 50)
		s.Out.Send(request(sessionID, "session/new", object{"cwd": s.Request.Dir, "mcpServers": s.servers()}))
	case sessionID:
		if s.id != "" || r.Session == "" {
			return
		}
		s.mu.Lock()
		s.id = r.Session
		s.mu.Unlock()
		s.choose(r)
	case modelID:
		s.model = s.Request.Model
		s.begin()
	case promptID:
		if s.asking { // one answer to one prompt
			s.asking = false
			s.turnEnded(l)
		}
	}
}
