package client

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"git-ralph/loop/session"
)

// PhaseTools are the canonical names of the tools that a phase offers. A phase
// that is not known gets none, so that a new one has to be thought about.
func PhaseTools(phase string) []string {
	switch phase {
	case "discovery":
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Write", "Task", "AskUser"}
	case "planning":
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Task"}
	case "building":
		return []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "Todo", "WebSearch", "WebFetch",
			"NotebookEdit"}
	case "validation":
		return []string{"Read", "Glob", "Grep", "Bash", "Task", "WebFetch"}
	}
	return nil
}

// Tools are the canonical names that a request allows: its own list, else its phase's.
func Tools(req session.Request) []string {
	if req.Tools != nil {
		return req.Tools
	}
	return PhaseTools(req.Phase)
}

// HasTool says whether the harness offers the ralph_* tool name in this run.
func HasTool(req session.Request, name string) bool {
	return slices.ContainsFunc(req.ToolSpecs, func(s session.ToolSpec) bool { return s.Name == name })
}

// ToolsMissing is the detail of a run whose client never reached our tools: it could
// report nothing.
const ToolsMissing = "our tools did not reach the client: its MCP server ralph did not connect"

// ToolsReached says whether the client of a run that offers our tools by git ralph
// mcp has spoken with it. Clients say nothing of one that they cannot start.
func ToolsReached(req session.Request) bool {
	return len(req.ToolSpecs) == 0 || req.ToolsConnected == nil || req.ToolsConnected()
}

// briefMax is the length of a tool call's short form, in characters.
const briefMax = 120

// Brief is a tool call's arguments in one short line for people: the command,
// the path, the pattern, else the JSON.
func Brief(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) == nil {
		for _, key := range []string{"command", "file_path", "notebook_path", "path", "pattern", "query", "url",
			"task_id", "description", "prompt", "question"} {
			var s string
			if json.Unmarshal(fields[key], &s) == nil && s != "" {
				return Line(s, briefMax)
			}
		}
	}
	if len(input) > 8*briefMax {
		input = input[:8*briefMax]
	}
	return Line(string(bytes.TrimSpace(input)), briefMax)
}

// Path is the file that the arguments of a tool call name, "" = none.
func Path(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, key := range []string{"file_path", "notebook_path", "path"} {
		var s string
		if json.Unmarshal(fields[key], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// Line makes text one line of at most limit characters, without control
// characters: what a client says goes to terminals and commit messages.
func Line(text string, limit int) string {
	if len(text) > 8*limit {
		text = text[:8*limit]
	}
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			space = b.Len() > 0
			continue
		}
		if n >= limit-1 {
			b.WriteRune('…')
			break
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
