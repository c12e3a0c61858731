package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Answer is what a hook process prints and how it ends.
type Answer struct {
	Stdout []byte
	Stderr []byte
	Exit   int // 0 = go on, 2 = blocked: the only status that every client takes for a refusal
	// Record is a line for the file that the policy's hook probe names; nil
	// without one.
	Record []byte
}

// HookAnswer answers one event of a client's hook (claude, codex, gemini) or
// plugin (opencode). An event that does not precede a tool call gets an empty
// answer. A refusal is given in every form that clients know: exit 2, the
// reason on standard error, and the JSON form on standard output. A nil policy
// and an unknown client, event or tool are refused, because clients run a tool
// when its hook fails in any other way.
func HookAnswer(client string, event []byte, p *Policy) (a Answer) {
	name := "PreToolUse"
	if client == "gemini" {
		name = "BeforeTool"
	}
	defer func() {
		if r := recover(); r != nil {
			a = refusal(client, name, denied(ClassInput, "the guard could not follow this event", "try a simpler tool call"))
		}
	}()
	bad := func(why string) Answer {
		return refusal(client, name, denied(ClassInput, why, "tell the operator: the hook of this run does not work"))
	}
	switch client {
	case "claude", "codex", "gemini", "opencode":
	default:
		return bad("the hook was called for an unknown client")
	}
	if p == nil {
		return bad("the hook has no policy")
	}
	var ev struct {
		Name  string          `json:"hook_event_name"`
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		Cwd   string          `json:"cwd"`
	}
	if err := json.Unmarshal(event, &ev); err != nil {
		return bad("the hook's event is not JSON")
	}
	if p.HookProbe != nil {
		defer func() {
			a.Record = encode(HookProbeRecord{Nonce: p.HookProbe.Nonce, Client: client, Event: ev.Name, Tool: ev.Tool,
				Refused: a.Exit == 2})
		}()
	}
	switch ev.Name {
	case "PreToolUse", "BeforeTool", "PermissionRequest":
	case "PostToolUse", "PostToolUseFailure", "AfterTool", "Stop", "SubagentStop", "SubagentStart", "SessionStart",
		"SessionEnd", "UserPromptSubmit", "Notification", "PreCompact", "PostCompact", "PreCompress", "BeforeAgent",
		"AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection":
		return Answer{}
	default:
		return bad("the hook's event has no known name")
	}
	if ev.Tool == "" || len(ev.Input) == 0 {
		return bad("the hook's event names no tool or no arguments")
	}
	if p.HookProbe != nil {
		return refusal(client, name, p.HookProbe.verdict())
	}
	cwd := ""
	if isAbs(slash(ev.Cwd)) {
		cwd = ev.Cwd
	}
	if v := p.judgeTool(ev.Tool, ev.Input, cwd); !v.Allowed() {
		return refusal(client, name, v)
	}
	if client == "claude" && canonicalTool(ev.Tool) == ToolBash {
		if out, ok := p.RewriteInput(ev.Input, cwd); ok {
			return Answer{Stdout: encode(map[string]any{"hookSpecificOutput": map[string]any{
				"hookEventName": name, "permissionDecision": "allow", "updatedInput": out}})}
		}
	}
	return Answer{}
}

// RewriteInput applies the toolchain's rewrites to the arguments of a shell
// tool. ok is false when nothing changes, or when what came out would be denied.
func (p *Policy) RewriteInput(input json.RawMessage, cwd string) (out json.RawMessage, ok bool) {
	var m map[string]json.RawMessage
	var line string
	if json.Unmarshal(input, &m) != nil || json.Unmarshal(m["command"], &line) != nil {
		return nil, false
	}
	next, changed := p.Rewrite(line)
	if !changed || !p.JudgeIn(next, cwd).Allowed() {
		return nil, false
	}
	b, err := json.Marshal(next)
	if err != nil {
		return nil, false
	}
	m["command"] = b
	return encode(m), true
}

func refusal(client, name string, v Verdict) Answer {
	msg := v.Message()
	var out []byte
	if client == "gemini" {
		out = encode(map[string]any{"decision": "deny", "reason": msg})
	} else {
		out = encode(map[string]any{"hookSpecificOutput": map[string]any{
			"hookEventName": name, "permissionDecision": "deny", "permissionDecisionReason": msg}})
	}
	return Answer{Stdout: out, Stderr: []byte(msg + "\n"), Exit: 2}
}

// encode writes one line of JSON without escaping "<" and "&", which people read.
func encode(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("{}\n")
	}
	return []byte(b.String())
}

// maxLine bounds one question of AnswerJSONL, in bytes.
const maxLine = 4 << 20

// AnswerJSONL reads one {"command":"…"} object a line and answers each line,
// empty and broken ones included, with one Verdict. Other keys are ignored. It
// returns the error of r or w.
func AnswerJSONL(r io.Reader, w io.Writer, p *Policy) error {
	in := bufio.NewReaderSize(r, 64<<10)
	out := bufio.NewWriter(w)
	for n := 1; ; n++ {
		line, tooLong, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read question %d: %w", n, err)
		}
		if len(line) == 0 && err != nil && !tooLong {
			break
		}
		if _, werr := out.Write(encode(p.answer(line, tooLong))); werr != nil {
			return fmt.Errorf("write answer %d: %w", n, werr)
		}
		// Whoever asks line by line waits for each answer.
		if in.Buffered() == 0 {
			if werr := out.Flush(); werr != nil {
				return fmt.Errorf("write answer %d: %w", n, werr)
			}
		}
		if err != nil {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the last answer: %w", err)
	}
	return nil
}

// readLine returns the next line with its end; of a longer one than maxLine
// only that it was too long.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			tooLong, line = true, nil
		} else if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

func (p *Policy) answer(line []byte, tooLong bool) Verdict {
	if tooLong {
		return denied(ClassInput, "the line is longer than 4 MiB", "ask about a shorter command")
	}
	var q struct {
		Command *string `json:"command"`
	}
	if err := json.Unmarshal(line, &q); err != nil || q.Command == nil {
		return denied(ClassInput, `the line is not an object like {"command": "…"}`, "give one such object a line")
	}
	return p.Judge(*q.Command)
}
