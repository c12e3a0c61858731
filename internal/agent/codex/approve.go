package codex

import (
	"encoding/json"
	"errors"
	"slices"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// Codes of JSON-RPC.
const (
	codeNoMethod      = -32601
	codeInvalidParams = -32602
)

// unknownFiles refuses a change when not each of its files is known.
var unknownFiles = session.Permission{Reason: "the files of this change are not known"}

// asked answers a request of the client. What is not known is refused, and what was
// cut, because not all of it was read.
func (s *conversation) asked(l line, cut bool) {
	reply := func(result object) { s.Out.Send(object{"id": l.ID, "result": result}) }
	refuse := func(code int, why string) {
		s.Out.Send(object{"id": l.ID, "error": object{"code": code, "message": why}})
	}
	p := l.Params
	switch l.Method {
	case "item/commandExecution/requestApproval":
		it := item{Type: "commandExecution", ID: p.ItemID}
		var perm session.Permission
		switch {
		case cut:
			perm = session.Permission{Reason: client.TooLong}
		case p.Kind != "" && p.Kind != "command":
			perm = session.Permission{Reason: "input for a running program cannot be judged; give the whole command at once"}
		case len(p.Additional) > 0 && string(p.Additional) != "null":
			perm = session.Permission{Reason: "a command gets no further permissions"}
		default:
			perm = s.judgeItem(it, p.Command, p.Cwd, p.Actions)
		}
		s.decide(p.ItemID, "exec_command", perm, reply)
	case "item/fileChange/requestApproval":
		it, known := s.stream.items[p.ItemID]
		perm := unknownFiles
		switch {
		case p.GrantRoot != "":
			perm = session.Permission{Reason: "no further folder may be written"}
		case known && it.Type == "fileChange":
			perm = s.judgeItem(it, "", "", nil)
		}
		s.decide(p.ItemID, "apply_patch", perm, reply)
	case "item/tool/call":
		if cut {
			reply(toolResult(nil, errors.New(client.TooLong)))
			return
		}
		s.callTool(p, reply, refuse)
	case "mcpServer/elicitation/request":
		reply(object{"action": "decline", "content": nil})
	case "item/tool/requestUserInput":
		reply(object{"answers": object{}})
	default:
		refuse(codeNoMethod, "not offered by git ralph")
	}
}

// decide remembers a verdict and tells it in the client's words. The client's
// refusal has no room for a reason, so the model gets it as a message. The
// message goes first: a later one would cut off the request that the model is
// answering by then.
func (s *conversation) decide(id, tool string, p session.Permission, reply func(object)) {
	if len(s.judged) < maxTracked { // beyond that it is judged again when it has ended
		s.judged[id] = true
	}
	if p.Allow {
		reply(object{"decision": "accept"})
		return
	}
	if p.Reason == "" {
		p.Reason = "denied by git ralph"
	}
	s.Event(session.AgentEvent{Kind: session.EventDenied, Tool: tool, Text: p.Reason})
	if len(s.reasons) >= maxTracked { // a client that never answers is told no reasons
		reply(object{"decision": "decline"})
		return
	}
	s.mu.Lock()
	thread, turn := s.thread, s.turn
	s.mu.Unlock()
	steer := reasonID + id
	s.reasons[steer] = func() { reply(object{"decision": "decline"}) }
	s.Out.Send(request(steer, "turn/steer", object{"threadId": thread, "expectedTurnId": turn,
		"input": []object{{"type": "text", "text": "git ralph denied the last call of " + tool + ": " + p.Reason}}}))
}

// judgeItem decides about a command or the files of a patch. A command cannot
// be changed, only allowed: rewrites of the toolchain do not apply.
func (s *conversation) judgeItem(it item, command, cwd string, actions []action) session.Permission {
	if it.Type == "fileChange" {
		if len(it.Changes) == 0 {
			return unknownFiles
		}
		for _, c := range it.Changes {
			if c.Path == "" {
				return unknownFiles
			}
			for _, path := range []string{c.Path, c.Kind.MovePath} {
				if path == "" {
					continue
				}
				if p := s.judge("Edit", object{"file_path": path}); !p.Allow {
					return p
				}
			}
		}
		return session.Permission{Allow: true}
	}
	if command == "" {
		return session.Permission{Reason: "the command is not known"}
	}
	if slices.Contains(client.Tools(s.Request), "Bash") {
		return s.judge("exec_command", object{"command": command, "cwd": cwd})
	}
	return s.judgeReading(actions)
}

// judgeReading decides about a command in a phase without commands. The
// client can only read files through commands, so commands that only read are
// judged as reading.
func (s *conversation) judgeReading(actions []action) session.Permission {
	tools := map[string]string{"read": "Read", "listFiles": "Glob", "search": "Grep"}
	if len(actions) == 0 {
		return session.Permission{Reason: "commands that do more than read files are not part of this phase"}
	}
	for _, a := range actions {
		tool := tools[a.Type]
		if tool == "" {
			return session.Permission{Reason: "commands that do more than read files are not part of this phase: " +
				client.Line(a.Command, 100)}
		}
		if p := s.judge(tool, object{"path": a.Path, "file_path": a.Path}); !p.Allow {
			return p
		}
	}
	return session.Permission{Allow: true}
}

func (s *conversation) judge(tool string, input object) session.Permission {
	b, err := json.Marshal(input)
	if err != nil {
		return session.Permission{Reason: "the arguments cannot be read"}
	}
	return s.Request.Judge(session.ToolUse{Tool: tool, Input: b})
}

// callTool executes a ralph_* tool in a goroutine: a question to a person may
// take hours, and the client goes on asking other things meanwhile.
func (s *conversation) callTool(p params, reply func(object), refuse func(int, string)) {
	if p.Namespace != "" || !client.HasTool(s.Request, p.Tool) || s.Request.CallTool == nil {
		refuse(codeInvalidParams, "unknown tool")
		return
	}
	args := p.Arguments
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	s.calls.Go(func() {
		answer, err := s.Request.CallTool(s.callCtx, p.Tool, args)
		reply(toolResult(answer, err))
	})
}

// toolResult is what the model sees: the answer as text, and a refusal marked
// as a failure, so that it reads it and does something else.
func toolResult(answer json.RawMessage, err error) object {
	text := string(answer)
	if err != nil && (text == "" || text == "null") {
		text = err.Error()
	}
	return object{"success": err == nil, "contentItems": []object{{"type": "inputText", "text": text}}}
}
