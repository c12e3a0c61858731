package guard

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// The canonical names of tools. Drivers map them to what their clients call them.
const (
	ToolRead      = "Read"
	ToolGlob      = "Glob"
	ToolGrep      = "Grep"
	ToolWrite     = "Write"
	ToolEdit      = "Edit"
	ToolNotebook  = "NotebookEdit"
	ToolBash      = "Bash"
	ToolTask      = "Task"
	ToolTodo      = "Todo"
	ToolWebSearch = "WebSearch"
	ToolWebFetch  = "WebFetch"
	ToolAskUser   = "AskUser"
)

// PhaseTools returns the canonical tools of a phase (discovery, planning,
// building, validation); nil for a phase it does not know, which a caller must
// not take for "all".
func PhaseTools(phase string) []string {
	switch phase {
	case "discovery":
		return []string{ToolRead, ToolGlob, ToolGrep, ToolWebSearch, ToolWebFetch, ToolWrite, ToolTask, ToolAskUser}
	case "planning":
		return []string{ToolRead, ToolGlob, ToolGrep, ToolWebSearch, ToolWebFetch, ToolTask}
	case "building":
		return []string{ToolRead, ToolWrite, ToolEdit, ToolBash, ToolGlob, ToolGrep, ToolTask, ToolTodo, ToolWebSearch,
			ToolWebFetch, ToolNotebook}
	case "validation":
		return []string{ToolRead, ToolGlob, ToolGrep, ToolBash, ToolTask, ToolWebFetch}
	}
	return nil
}

// ForPhase returns a copy of the policy with the tools of a phase, and with
// the only place where the phase may write: specs/** in discovery. An unknown
// phase gets no tools at all.
func (p *Policy) ForPhase(phase string) *Policy {
	c := *p
	c.Tools = PhaseTools(phase)
	if c.Tools == nil {
		c.Tools = []string{}
	}
	c.WriteOnly = nil
	if phase == "discovery" {
		c.WriteOnly = []string{"specs/**"}
	}
	return &c
}

// canonicalTool maps a client's tool name to the canonical one. "" means
// harmless in every phase (bookkeeping of the client), "?" unknown.
func canonicalTool(tool string) string {
	switch tool {
	case "Bash", "BashOutput", "KillBash", "KillShell", "Monitor", "TaskOutput", "exec_command", "write_stdin", "shell",
		"local_shell", "shell_command", "unified_exec", "run_shell_command", "list_background_processes",
		"read_background_output", "bash":
		return ToolBash
	case "Read", "LS", "read_file", "read_many_files", "list_directory", "read", "list", "view_image",
		"ListMcpResourcesTool", "ReadMcpResourceTool", "list_mcp_resources", "list_mcp_resource_templates",
		"read_mcp_resource", "NotebookRead", "lsp":
		return ToolRead
	case "Glob", "glob":
		return ToolGlob
	case "Grep", "grep", "grep_search", "search_file_content":
		return ToolGrep
	case "Write", "write_file", "write":
		return ToolWrite
	case "Edit", "MultiEdit", "replace", "edit", "apply_patch", "patch", "multiedit":
		return ToolEdit
	case "NotebookEdit":
		return ToolNotebook
	case "WebSearch", "google_web_search", "web_search", "websearch", "codesearch":
		return ToolWebSearch
	case "WebFetch", "web_fetch", "webfetch":
		return ToolWebFetch
	case "Task", "Agent", "task", "invoke_agent", "ListAgents", "SendMessage", "ReportFindings", "spawn_agent",
		"send_input", "wait_agent", "close_agent", "TaskStop":
		return ToolTask
	case "TodoWrite", "TodoRead", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "todowrite", "todoread",
		"write_todos", "update_plan", "update_topic", "get_goal", "create_goal", "update_goal":
		return ToolTodo
	case "AskUserQuestion", "request_user_input", "ask_user", "question":
		return ToolAskUser
	case "ToolSearch", "tool_search", "StructuredOutput", "Skill", "skill", "activate_skill", "EnterPlanMode",
		"ExitPlanMode", "enter_plan_mode", "exit_plan_mode", "DeferredToolPlaceholder", "invalid":
		return ""
	}
	return "?"
}

// JudgeTool decides about a tool call of a client: whether the phase has the
// tool, and whether its arguments may be carried out. input are the client's
// own arguments as JSON. Anything that is not understood is denied.
func (p *Policy) JudgeTool(tool string, input json.RawMessage) Verdict {
	return p.judgeTool(tool, input, "")
}

func (p *Policy) judgeTool(tool string, input json.RawMessage, cwd string) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = denied(ClassInput, "the guard could not follow this tool call", "use another tool")
		}
	}()
	if server, ok := mcpServer(tool); ok {
		if server == "ralph" || slices.Contains(p.MCP, server) {
			return allowed()
		}
		return denied(ClassTool, "the MCP server of "+clip(tool)+" is not one that this run may use",
			"use the tools of this phase")
	}
	canon := canonicalTool(tool)
	switch {
	case canon == "":
		return allowed()
	case canon == "?":
		return denied(ClassTool, "the tool "+clip(tool)+" is not offered by this harness", "use "+p.offer())
	case p.Tools != nil && !slices.Contains(p.Tools, canon) && !(canon == ToolEdit &&
		slices.Contains(p.Tools, ToolWrite)) && !(canon == ToolTodo && len(p.Tools) > 0):
		return denied(ClassTool, "the tool "+clip(tool)+" is not part of this phase", "use "+p.offer())
	}
	switch canon {
	case ToolBash:
		return p.judgeShellTool(input, cwd)
	case ToolWrite, ToolEdit, ToolNotebook:
		return p.judgeFileTool(tool, input, cwd)
	}
	return allowed()
}

func (p *Policy) offer() string {
	if len(p.Tools) == 0 {
		return "the ralph_* tools"
	}
	return strings.Join(p.Tools, ", ") + ", the ralph_* tools"
}

// mcpServer takes the server out of the name of an MCP tool: mcp__ralph__x
// (Claude, Codex), mcp_ralph_x (Gemini), ralph_ralph_x and ralph_x (opencode).
func mcpServer(tool string) (string, bool) {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		s, _, _ := strings.Cut(rest, "__")
		return s, true
	}
	if rest, ok := strings.CutPrefix(tool, "mcp_"); ok {
		s, _, _ := strings.Cut(rest, "_")
		return s, true
	}
	if strings.HasPrefix(tool, "ralph_") {
		return "ralph", true
	}
	return "", false
}

// judgeShellTool reads the command out of the arguments: a text, or argv.
func (p *Policy) judgeShellTool(input json.RawMessage, cwd string) Verdict {
	var in struct {
		Command json.RawMessage `json:"command"`
		Cmd     json.RawMessage `json:"cmd"`
		Chars   *string         `json:"chars"` // typed into a program that runs
		Workdir string          `json:"workdir"`
		Dir     string          `json:"directory"`
		DirPath string          `json:"dir_path"`
		Cwd     string          `json:"cwd"`
	}
	if err := json.Unmarshal(input, &in); err != nil || ambiguous(input) {
		return denied(ClassInput, "the arguments of the shell tool could not be read", "give the command as text")
	}
	for _, d := range []string{in.Workdir, in.Dir, in.DirPath, in.Cwd} {
		if d != "" {
			sc := newScope(p, slash(cwd))
			sc.chdir(d)
			cwd = sc.cwd()
		}
	}
	// A client takes one of them and ignores the others.
	for _, raw := range []json.RawMessage{in.Command, in.Cmd} {
		if raw != nil && string(raw) != "null" {
			if v := p.judgeCommand(raw, cwd); !v.Allowed() {
				return v
			}
		}
	}
	if in.Chars != nil {
		v := p.JudgeIn(*in.Chars, cwd)
		if v.Class == ClassUnparsable && !strings.Contains(*in.Chars, "git") {
			return allowed() // keys and answers to a program that runs already
		}
		return v
	}
	return allowed() // judged, or it reads output of, or ends, a command that was judged
}

// ambiguous reports whether members of an object differ only in case: to us they
// are one, and the client may take the other one.
func ambiguous(input json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return false // no object
	}
	seen := map[string]bool{}
	for name := range members {
		folded := strings.Map(func(r rune) rune { // as encoding/json compares names
			for {
				next := unicode.SimpleFold(r)
				if next <= r {
					return next
				}
				r = next
			}
		}, name)
		if seen[folded] {
			return true
		}
		seen[folded] = true
	}
	return false
}

// judgeCommand decides about a command line, given as text or as a list of words.
func (p *Policy) judgeCommand(raw json.RawMessage, cwd string) Verdict {
	var line string
	if err := json.Unmarshal(raw, &line); err == nil {
		return p.JudgeIn(line, cwd)
	}
	var argv []string
	if err := json.Unmarshal(raw, &argv); err != nil || len(argv) == 0 {
		return denied(ClassInput, "the command is neither text nor a list of words", "give the command as text")
	}
	return p.JudgeIn(quoteWords(argv), cwd)
}

// judgeFileTool judges every path that the arguments would write.
func (p *Policy) judgeFileTool(tool string, input json.RawMessage, cwd string) Verdict {
	var in struct {
		FilePath     *string `json:"file_path"`
		FilePathC    *string `json:"filePath"`
		NotebookPath *string `json:"notebook_path"`
		AbsolutePath *string `json:"absolute_path"`
		Path         *string `json:"path"`
		Input        *string `json:"input"`
		Patch        *string `json:"patch"`
		PatchText    *string `json:"patchText"`
		Command      *string `json:"command"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		var body string // a freeform tool gets its text alone
		if json.Unmarshal(input, &body) != nil {
			return denied(ClassInput, "the arguments of "+clip(tool)+" could not be read", "name the file to be written")
		}
		in.Input = &body
	}
	if ambiguous(input) {
		return denied(ClassInput, "the arguments of "+clip(tool)+" could not be read", "name the file to be written once")
	}
	judged := false
	for _, s := range []*string{in.FilePath, in.FilePathC, in.NotebookPath, in.AbsolutePath, in.Path} {
		if s == nil {
			continue
		}
		judged = true
		if v := p.judgeWrite(*s, cwd); !v.Allowed() {
			return v
		}
	}
	for _, s := range []*string{in.Input, in.Patch, in.PatchText, in.Command} {
		if s == nil {
			continue
		}
		paths := patchPaths(*s)
		if len(paths) == 0 && !judged {
			return denied(ClassInput, "no file could be found in the patch", "name each file in the patch")
		}
		judged = true
		for _, f := range paths {
			if v := p.judgeWrite(f, cwd); !v.Allowed() {
				return v
			}
		}
	}
	if !judged {
		return denied(ClassInput, "the arguments of "+clip(tool)+" name no file", "name the file to be written")
	}
	return allowed()
}

// patchPaths lists the files that a patch names, in the form of apply_patch
// and in that of diff.
func patchPaths(body string) []string {
	var out []string
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimLeft(line, " \t")
		for _, pre := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ",
			"*** Rename to: "} {
			if f, ok := strings.CutPrefix(trimmed, pre); ok {
				out = append(out, strings.TrimSpace(f))
			}
		}
		for _, pre := range []string{"+++ ", "--- ", "rename to ", "rename from ", "copy to "} {
			f, ok := strings.CutPrefix(line, pre)
			if !ok {
				continue
			}
			f, _, _ = strings.Cut(f, "\t")
			f = strings.TrimSpace(f)
			if f == "/dev/null" || f == "" || strings.HasPrefix(f, "-") {
				continue
			}
			if strings.HasPrefix(f, "a/") || strings.HasPrefix(f, "b/") {
				f = f[2:]
			}
			out = append(out, f)
		}
	}
	return out
}
