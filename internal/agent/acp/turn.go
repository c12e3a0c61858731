package acp

import (
	"encoding/json"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// servers are the MCP servers of the session: our own.
func (s *conversation) servers() []object {
	servers := []object{}
	if len(s.Request.ToolSpecs) == 0 {
		return servers
	}
	variables := []object{}
	for _, kv := range s.env {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "RALPH_") {
			variables = append(variables, object{"name": name, "value": value})
		}
	}
	return append(servers, object{"name": "ralph", "command": s.Request.Self, "args": []string{"mcp"}, "env": variables})
}

// choose asks for the model of the request, in one of the two ways that clients
// offer, and begins.
func (s *conversation) choose(r answer) {
	if r.Models != nil {
		s.model = client.Line(r.Models.Current, 100)
	}
	option := ""
	for _, o := range r.Options {
		if o.Category == "model" || o.ID == "model" {
			s.model, option = client.Line(o.Current, 100), o.ID
		}
	}
	switch want := s.Request.Model; {
	case want == "" || want == s.model:
		s.begin()
	case option != "":
		s.Out.Send(request(modelID, "session/set_config_option",
			object{"sessionId": r.Session, "configId": option, "value": want}))
	case r.Models != nil:
		s.Out.Send(request(modelID, "session/set_model", object{"sessionId": r.Session, "modelId": want}))
	default:
		s.Warn("the client lets nobody choose a model: %s has no effect, unless agent.command passes on $RALPH_RUN_MODEL",
			client.Line(want, 100))
		s.begin()
	}
}

// begin gives the client its work.
func (s *conversation) begin() {
	s.Event(session.AgentEvent{Kind: session.EventSession, Text: client.Line(s.id, 100), Model: s.model,
		Version: s.version})
	s.Started()
	text := s.Request.Prompt
	if s.Request.System != "" { // the protocol has no place for it
		text = s.Request.System + "\n\n" + text
	}
	s.prompt(text)
}

func (s *conversation) prompt(text string) bool {
	s.asking = true
	return s.Out.Send(request(promptID, "session/prompt",
		object{"sessionId": s.id, "prompt": []object{{"type": "text", "text": text}}}))
}

// maxTold is how often the model is told in a run why calls were denied.
const maxTold = 5

// turnEnded handles the answer to a prompt. A refusal of the protocol has no
// room for a reason, and some clients end the turn with it. So the model gets
// the reasons as a further prompt.
func (s *conversation) turnEnded(l line) {
	s.Watch.CloseAll()
	s.count(used(l.Result, s.context, s.window))
	e := s.classify(l)
	if len(s.denied) > 0 && e.Kind == session.Completed && s.First == nil && s.told < maxTold && !s.Interrupted() {
		text := "git ralph denied calls of yours:\n- " + strings.Join(s.denied, "\n- ") +
			"\nWhat the task still needs, do in another way. If it is done, say so."
		s.denied, s.told = nil, s.told+1
		s.Transcript.Prompt(text)
		if s.prompt(text) {
			return
		}
	}
	if s.First != nil && s.First.Kind == session.MaxTurns { // we ended the turn
		e = *s.First
	}
	s.TurnEnded(e, e.Kind != session.MaxTurns, s, s.prompt)
}

// count adds what was used.
func (s *conversation) count(u session.Usage) {
	if u.Total() == 0 && u.CostMicroUSD == nil {
		return
	}
	s.usage = client.AddUsage(s.usage, u)
	s.Event(session.AgentEvent{Kind: session.EventUsage, Usage: u, Model: s.model})
}

// used is what a prompt used. Clients say so in a field of the protocol, or in one
// of their own.
func used(r answer, context, window int64) session.Usage {
	u := session.Usage{ContextTokens: context, ContextWindow: window}
	if t := r.Usage; t != nil {
		u.Input, u.Output = client.Count(t.Input), client.Count(t.Output)
		u.CacheRead, u.CacheWrite = client.Count(t.CacheRead), client.Count(t.CacheWrite)
		u.Output += min(client.Count(t.Thought), max(0, client.Count(t.Total)-u.Total()))
	} else {
		u.Input, u.Output = client.Count(r.Meta.Quota.Tokens.Input), client.Count(r.Meta.Quota.Tokens.Output)
	}
	if u.Total() > 0 {
		u.Turns, u.APICalls = 1, 1
	}
	return u
}

// classify says what the end of a turn means.
func (s *conversation) classify(l line) client.Ending {
	if l.Error != nil {
		return refusal("the prompt", *l.Error, s.Clock.Now())
	}
	switch l.Result.Stop {
	case "end_turn":
		if !client.ToolsReached(s.Request) {
			return client.Ending{Kind: session.ProtocolError, Detail: client.ToolsMissing}
		}
		return client.Ending{Kind: session.Completed}
	case "max_tokens":
		return client.Ending{Kind: session.ContextLimit, Detail: "the model has no tokens left"}
	case "max_turn_requests":
		return client.Ending{Kind: session.MaxTurns, Detail: "the client's own limit of turns"}
	case "refusal":
		return client.Ending{Kind: session.ProtocolError, Detail: "the model refused to go on"}
	case "cancelled":
		// We did not send this interrupt. It must cost an attempt.
		return client.Ending{Kind: session.Crashed, Detail: "interrupted from outside"}
	}
	return client.Ending{Kind: session.ProtocolError, Detail: "the turn ended with " + client.Line(l.Result.Stop, 100)}
}

// refusal says what an error of the client means. A missing login has its own
// code. For failures of the provider, some clients pass the status on as the code.
func refusal(of string, f failure, now time.Time) client.Ending {
	status := 0
	if f.Code >= 400 && f.Code < 600 {
		status = f.Code
	}
	detail := client.Line(f.Message, 300)
	if f.Code == codeAuth {
		return client.Ending{Kind: session.AuthFailed, Detail: strings.TrimSpace("the client is not logged in: " + detail)}
	}
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	if client.Tolerant(json.Unmarshal(f.Data, &data)) == nil {
		detail = client.Line(strings.TrimSpace(f.Message+" "+data.Details+" "+data.Message), 300)
	}
	e := client.Failure{Status: status, Message: detail, Body: string(f.Data)}.Ending(now)
	if e.Kind == session.ProtocolError {
		e.Detail = "the client refused " + of + ": " + detail
	}
	return e
}

// Result is what is known so far.
func (s *conversation) Result() session.Result {
	return session.Result{Usage: s.usage, Model: s.model,
		Client: strings.Join(strings.Fields("acp "+s.name+" "+s.version), " "), SessionID: client.Line(s.id, 100)}
}
