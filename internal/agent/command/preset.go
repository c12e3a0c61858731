package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// A Preset is the command line of a client that has no driver of its own, as its
// public documentation describes it. Their calls are not judged, and only the shims
// and the sandbox keep them from git. Tried with the real client: the whole of qwen
// 0.15.10; one command, a wrong key and a limit with copilot 1.0.102; the flags of
// amp (September 2026) against its own help. The others are as their documentation has them.
type Preset struct {
	Name    string
	Program string
	Install string
	// Stdin says that the client reads its prompt there, File that it reads the
	// prompt's file; else the prompt is an argument.
	Stdin, File bool
	// JSON says that it prints lines of JSON with assistant messages and a result.
	JSON bool
	// PerMessage says that it reports tokens with each message, not at the end, and
	// that its input tokens include those of the cache.
	PerMessage bool
	// Errors say on plain lines at the end of its output why it could not work.
	Errors []ErrorLine

	argv func(run) []string
	env  func(run) []string // besides the usual; nil = none
}

// run is what a command line is made of.
type run struct{ prompt, file, model string }

// withModel adds --model, when one is set.
func withModel(argv []string, model string) []string {
	if model == "" {
		return argv
	}
	return append(argv, "--model", model)
}

// maxArgument is the longest prompt that is passed as an argument; Linux refuses
// more than 128 KiB.
const maxArgument = 120 << 10

// Presets are all of them, by name.
func Presets() []Preset {
	return []Preset{
		{Name: "aider", Program: "aider", Install: "python -m pip install aider-install && aider-install", File: true,
			Errors: aiderErrors,
			argv: func(r run) []string {
				return withModel([]string{"--message-file", r.file, "--yes-always", "--no-auto-commits", "--no-dirty-commits",
					"--no-gitignore", "--no-check-update"}, r.model)
			}},
		{Name: "amp", Program: "amp", Install: "npm install -g @sourcegraph/amp", Stdin: true, JSON: true, PerMessage: true,
			argv: func(run) []string { return []string{"--dangerously-allow-all", "--stream-json", "-x"} }},
		{Name: "copilot", Program: "copilot", Install: "npm install -g @github/copilot", JSON: true,
			Errors: copilotErrors,
			argv: func(r run) []string {
				return withModel([]string{"-p", r.prompt, "--allow-all-tools", "--no-ask-user", "--no-auto-update",
					"--output-format", "json"}, r.model)
			}},
		{Name: "cursor", Program: "cursor-agent", Install: "curl https://cursor.com/install -fsS | bash", JSON: true,
			argv: func(r run) []string {
				return append(withModel([]string{"-p", "--force", "--output-format", "stream-json"}, r.model), r.prompt)
			}},
		{Name: "goose", Program: "goose", Install: "see the installation page of goose", Stdin: true,
			Errors: gooseErrors,
			argv:   func(run) []string { return []string{"run", "--no-session", "-i", "-"} },
			env: func(r run) []string {
				if r.model == "" {
					return []string{"GOOSE_MODE=auto"}
				}
				return []string{"GOOSE_MODE=auto", "GOOSE_MODEL=" + r.model}
			}},
		{Name: "qwen", Program: "qwen", Install: "npm install -g @qwen-code/qwen-code", Stdin: true, JSON: true,
			argv: func(r run) []string {
				return withModel([]string{"--yolo", "--output-format", "stream-json"}, r.model)
			}},
	}
}

// PresetOf is the preset of that name.
func PresetOf(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// Probe looks for the client's program. What it does is not known.
func (p Preset) Probe(env []string) client.Info {
	path := proc.Look(p.Program, env)
	if path == "" {
		return client.Info{Problem: fmt.Sprintf("%s was not found (%q is not on PATH)", p.Name, p.Program), Hint: p.Install}
	}
	return client.Info{Found: true, Path: path, Supported: true,
		Warning: "the preset " + p.Name + " is experimental: it follows what the client documents",
		Hint:    "only the sandbox and the shims keep its commands from git"}
}

// command is the whole command line and what the client gets on its input.
func (p Preset) command(req session.Request) (argv, env []string, stdin string, err error) {
	prompt := req.Prompt
	if req.System != "" {
		prompt = req.System + "\n\n" + prompt
	}
	r := run{prompt, req.PromptFile, req.Model}
	if p.Stdin {
		stdin = prompt
	} else if !p.File && len(prompt) > maxArgument {
		return nil, nil, "", fmt.Errorf("the prompt has %d bytes, and %s takes %d as an argument", len(prompt), p.Name,
			maxArgument)
	}
	if p.env != nil {
		env = p.env(r)
	}
	return append([]string{p.Program}, p.argv(r)...), env, stdin, nil
}

// streamLine is a line of the clients that print JSON.
type streamLine struct {
	Type    string `json:"type"`
	Message struct {
		Content []struct {
			Type  string          `json:"type"`
			Text  string          `json:"text"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		} `json:"content"`
		Usage tokens `json:"usage"`
	} `json:"message"`
	IsError bool `json:"is_error"`
	// Result and Error are texts; qwen's error is an object with a message.
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Model  string          `json:"model"`
	Usage  tokens          `json:"usage"`
	// CostUSD is nil when it is not said.
	CostUSD *float64 `json:"total_cost_usd"`

	// Subtype and Call are of a call of cursor: its only field is named after the tool.
	Subtype string `json:"subtype"`
	Call    map[string]struct {
		Args json.RawMessage `json:"args"`
	} `json:"tool_call"`
	// Data is what lines of copilot have.
	Data struct {
		Content   string          `json:"content"`
		Tool      string          `json:"toolName"`
		Arguments json.RawMessage `json:"arguments"`
		Message   string          `json:"message"`
		Status    int             `json:"statusCode"`
	} `json:"data"`
}

// tokens have other names with cursor.
type tokens struct {
	Input       float64 `json:"input_tokens"`
	Output      float64 `json:"output_tokens"`
	CacheRead   float64 `json:"cache_read_input_tokens"`
	CacheWrite  float64 `json:"cache_creation_input_tokens"`
	InputC      float64 `json:"inputTokens"`
	OutputC     float64 `json:"outputTokens"`
	CacheReadC  float64 `json:"cacheReadTokens"`
	CacheWriteC float64 `json:"cacheWriteTokens"`
}

// line is the usage of the plain contract, nil = none.
func (t tokens) line(model string, cost *float64) map[string]any {
	in, out := t.Input+t.InputC, t.Output+t.OutputC
	if in+out <= 0 && cost == nil {
		return nil
	}
	line := map[string]any{"type": "usage", "input_tokens": in, "output_tokens": out, "model": model,
		"cache_read_tokens": t.CacheRead + t.CacheReadC, "cache_write_tokens": t.CacheWrite + t.CacheWriteC}
	if cost != nil {
		line["cost_usd"] = *cost
	}
	return line
}

// translate says in the plain contract what a line of JSON says.
func (p Preset) translate(data []byte, clock proc.Clock) [][]byte {
	var l streamLine
	if len(data) == 0 || data[0] != '{' || client.Tolerant(json.Unmarshal(data, &l)) != nil {
		return nil
	}
	var out [][]byte
	say := func(line map[string]any) {
		if b, err := json.Marshal(line); err == nil && line != nil {
			out = append(out, b)
		}
	}
	fail := func(f client.Failure) {
		e := f.Ending(clock.Now())
		line := map[string]any{"type": "error", "kind": string(e.Kind), "message": e.Detail}
		if !e.Until.IsZero() {
			line["until"] = e.Until.Unix()
		}
		say(line)
	}
	switch l.Type {
	case "assistant":
		for _, c := range l.Message.Content {
			switch {
			case c.Type == "text" && c.Text != "":
				say(map[string]any{"type": "text", "text": c.Text})
			case c.Type == "tool_use":
				say(map[string]any{"type": "tool", "name": c.Name, "text": client.Brief(c.Input)})
			}
		}
		if u := l.Message.Usage; p.PerMessage {
			u.Input -= min(u.Input, u.CacheRead+u.CacheWrite)
			say(u.line(l.Model, nil))
		}
	case "tool_call":
		for name, c := range l.Call {
			if l.Subtype == "started" {
				say(map[string]any{"type": "tool", "name": strings.TrimSuffix(name, "ToolCall"), "text": client.Brief(c.Args)})
			}
		}
	case "assistant.message":
		if l.Data.Content != "" {
			say(map[string]any{"type": "text", "text": l.Data.Content})
		}
	case "tool.execution_start":
		say(map[string]any{"type": "tool", "name": l.Data.Tool, "text": client.Brief(l.Data.Arguments)})
	case "session.error":
		fail(client.Failure{Status: l.Data.Status, Message: l.Data.Message})
	case "result":
		say(l.Usage.line(l.Model, l.CostUSD))
		if l.IsError {
			fail(client.Failure{Message: strings.TrimSpace(said(l.Result) + " " + said(l.Error))})
		}
	}
	return out
}

// said is a text, or the message of an object.
func said(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	return object.Message
}
