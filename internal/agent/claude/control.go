package claude

import (
	"encoding/json"
	"fmt"
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// control answers a request of the client. What was cut is refused, because not all
// of it was read.
func (s *conversation) control(l line, cut bool) {
	if l.Request == nil {
		s.Out.Send(failure(l.RequestID, "a request without a body"))
		return
	}
	switch r := l.Request; r.Subtype {
	case "hook_callback":
		var in hookInput
		if client.Tolerant(json.Unmarshal(r.Input, &in)) != nil || in.Event != "PreToolUse" || r.CallbackID != preToolUse {
			s.Out.Send(failure(l.RequestID, "not a hook of ours")) // blocks the call
			return
		}
		if in.ToolUseID == "" {
			in.ToolUseID = r.ToolUseID
		}
		in.cut = cut
		s.Out.Send(success(l.RequestID, hookAnswer(s.judge(in))))
	case "can_use_tool": // asked only where permissions are not bypassed
		p := s.judge(hookInput{ToolName: r.ToolName, ToolInput: r.Input, ToolUseID: r.ToolUseID,
			cut: cut})
		if !p.Allow {
			s.Out.Send(success(l.RequestID, object{"behavior": "deny", "message": p.Reason}))
			return
		}
		input := r.Input
		if p.Updated != nil {
			input = p.Updated
		}
		s.Out.Send(success(l.RequestID, object{"behavior": "allow", "updatedInput": input}))
	case "mcp_message":
		if r.ServerName != serverName {
			s.Out.Send(failure(l.RequestID, "unknown server"))
			return
		}
		if cut {
			s.Out.Send(failure(l.RequestID, client.TooLong))
			return
		}
		s.tools.serve(l.RequestID, r.Message, func(answer object) {
			s.Out.Send(success(l.RequestID, object{"mcp_response": answer}))
		})
	default:
		s.Out.Send(failure(l.RequestID, "not supported"))
	}
}

// judge decides about a call. Our own tools pass, because the harness
// executes and judges them itself. The rest must be offered in this run and
// allowed by the guard.
func (s *conversation) judge(in hookInput) session.Permission {
	p := session.Permission{Allow: true}
	switch {
	case in.cut:
		p = session.Permission{Reason: client.TooLong}
	case strings.HasPrefix(in.ToolName, "mcp__"+serverName+"__"):
	case !allowedTool(s.Request, in.ToolName):
		p = session.Permission{Reason: fmt.Sprintf("%s is not offered in this run; use %s", client.Line(in.ToolName, 100),
			strings.Join(toolNames(client.Tools(s.Request)), ", "))}
	default:
		p = s.Request.Judge(session.ToolUse{Tool: in.ToolName, Input: in.ToolInput})
	}
	if len(s.judged) < maxTracked { // beyond that a call counts as unjudged, which stops the client
		s.judged[in.ToolUseID] = verdict{p.Allow}
	}
	if !p.Allow {
		if p.Reason == "" {
			p.Reason = "denied by git ralph"
		}
		s.Event(session.AgentEvent{Kind: session.EventDenied, Tool: client.Line(in.ToolName, 100), Text: p.Reason})
		return p
	}
	if in.ToolName == "Bash" {
		p.Updated = s.withoutCredentials(in.ToolInput, p.Updated)
	}
	return p
}

// withoutCredentials makes a shell command unset the client's own credentials,
// which its shell inherits. The model sees its own command, not this one.
func (s *conversation) withoutCredentials(input, updated json.RawMessage) json.RawMessage {
	names := []string{}
	for _, name := range credentials {
		if client.Get(s.Request.Env, name) != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return updated
	}
	if updated != nil {
		input = updated
	}
	var fields map[string]json.RawMessage
	var command string
	if json.Unmarshal(input, &fields) != nil || json.Unmarshal(fields["command"], &command) != nil {
		return updated
	}
	text, err := json.Marshal("unset " + strings.Join(names, " ") + "\n" + command)
	if err != nil {
		return updated
	}
	fields["command"] = text
	if out, err := json.Marshal(fields); err == nil {
		return out
	}
	return updated
}

// hookAnswer is a Permission in the client's words. No opinion lets the call
// run, since permissions are bypassed.
func hookAnswer(p session.Permission) object {
	out := object{"hookEventName": "PreToolUse"}
	switch {
	case !p.Allow:
		out["permissionDecision"], out["permissionDecisionReason"] = "deny", p.Reason
	case p.Updated != nil:
		out["permissionDecision"], out["updatedInput"] = "allow", p.Updated
	default:
		return object{}
	}
	return object{"hookSpecificOutput": out}
}

// answered handles the answer to one of our requests. The prompt is sent only
// after initialize: a client that cannot be guarded gets no work.
func (s *conversation) answered(l line) {
	if l.Response == nil || l.Response.RequestID != initializeID || s.ready {
		return
	}
	h, problem := l.Response.check()
	if problem != "" {
		s.Stop(client.Ending{Kind: session.ProtocolError, Detail: problem})
		return
	}
	s.ready, s.shaken = true, h
	s.Started()
	s.Out.Send(userLine(s.Request.Prompt))
}
