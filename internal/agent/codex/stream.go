package codex

import (
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// stream follows what the client prints and turns it into events. It is pure:
// the same lines give the same events and the same end.
type stream struct {
	model, version string

	items   map[string]item // begun and not ended
	working bool            // a call was made since the last count of tokens
	turns   int             // prompts that were sent
	calls   int             // requests to the model
	usage   session.Usage
	before  session.Usage // what the client counted in the session before this run
	failure *turnError    // the newest error that the client does not try again
	limits  *rateLimits   // the newest figures of the account
}

// isCall says whether an item is the work of a tool.
func isCall(kind string) bool {
	switch kind {
	case "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch", "imageView",
		"collabAgentToolCall", "imageGeneration":
		return true
	}
	return false
}

// read takes one notification and returns what happened.
func (s *stream) read(l line) []session.AgentEvent {
	p := l.Params
	switch l.Method {
	case "item/started":
		if p.Item != nil && isCall(p.Item.Type) {
			s.working = true
			if len(s.items) < maxTracked {
				s.items[p.Item.ID] = *p.Item
			}
			return []session.AgentEvent{p.Item.begun()}
		}
	case "item/completed":
		return s.completed(p.Item)
	case "thread/tokenUsage/updated":
		return s.tokens(p.TokenUsage)
	case "account/rateLimits/updated":
		s.limits = p.RateLimits
	case "error":
		if p.Failure == nil {
			return nil
		}
		if p.WillRetry {
			return []session.AgentEvent{{Kind: session.EventRetry, Text: client.Line(p.Failure.Message, 300)}}
		}
		s.failure = p.Failure
		return []session.AgentEvent{{Kind: session.EventWarning, Text: client.Line(p.Failure.Message, 300)}}
	case "model/rerouted":
		if p.ToModel != "" {
			s.model = client.Line(p.ToModel, 100)
		}
	case "warning":
		return []session.AgentEvent{{Kind: session.EventWarning, Text: client.Line(p.Message, 500)}}
	}
	return nil
}

func (s *stream) completed(it *item) []session.AgentEvent {
	switch {
	case it == nil:
		return nil
	case it.Type == "agentMessage" && it.Text != "":
		return []session.AgentEvent{{Kind: session.EventText, Text: it.Text}}
	case isCall(it.Type):
		delete(s.items, it.ID)
		return []session.AgentEvent{{Kind: session.EventToolDone, Tool: it.name()}}
	}
	return nil
}

// name is what the model calls the tool.
func (it item) name() string {
	switch it.Type {
	case "commandExecution":
		return "exec_command"
	case "fileChange":
		return "apply_patch"
	case "mcpToolCall":
		return client.Line("mcp__"+it.Server+"__"+it.Tool, 100)
	case "dynamicToolCall":
		return client.Line(it.Tool, 100)
	case "webSearch":
		return "web_search"
	case "imageView":
		return "view_image"
	}
	return client.Line(it.Type, 100)
}

// begun is the event of a call.
func (it item) begun() session.AgentEvent {
	e := session.AgentEvent{Kind: session.EventToolCall, Tool: it.name()}
	switch it.Type {
	case "commandExecution":
		e.Text = client.Line(inner(it), 120)
	case "fileChange":
		var paths []string
		for _, c := range it.Changes {
			paths = append(paths, c.Path)
		}
		if len(paths) > 0 {
			e.Path = paths[0]
		}
		e.Text = client.Line(strings.Join(paths, " "), 120)
	case "webSearch":
		e.Text = client.Line(it.Query, 120)
	default:
		e.Text = client.Brief(it.Args)
	}
	return e
}

// inner is a command without the shell that runs it, for people.
func inner(it item) string {
	if len(it.Actions) == 1 && it.Actions[0].Command != "" {
		return it.Actions[0].Command
	}
	return it.Command
}

// tokens counts a request to the model. The client's total grows over the
// thread; what is new is an increment. Its input includes what was cached.
func (s *stream) tokens(u *tokenUsage) []session.AgentEvent {
	if u == nil {
		return nil
	}
	now := session.Usage{Output: client.Count(u.Total.Output), CacheRead: client.Count(u.Total.CacheRead),
		CacheWrite: client.Count(u.Total.CacheWrite)}
	now.Input = max(0, client.Count(u.Total.Input)-now.CacheRead-now.CacheWrite)
	now.Input, now.Output = now.Input-s.before.Input, now.Output-s.before.Output
	now.CacheRead, now.CacheWrite = now.CacheRead-s.before.CacheRead, now.CacheWrite-s.before.CacheWrite
	inc := session.Usage{Input: max(0, now.Input-s.usage.Input), Output: max(0, now.Output-s.usage.Output),
		CacheRead: max(0, now.CacheRead-s.usage.CacheRead), CacheWrite: max(0, now.CacheWrite-s.usage.CacheWrite),
		ContextTokens: client.Count(u.Last.Input), ContextWindow: client.Count(u.Window), Turns: 1, APICalls: 1}
	if inc.Total() == 0 {
		return nil
	}
	s.calls++
	s.usage = client.AddUsage(s.usage, inc)
	event := session.AgentEvent{Kind: session.EventUsage, Usage: inc, Model: s.model}
	return []session.AgentEvent{event}
}
