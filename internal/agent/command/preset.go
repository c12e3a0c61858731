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
// 0.15.10; the flags of copilot 1.0.102 and amp (September 2026) against their own
// help. The others are as their documentation has them.
type Preset struct {
	Name    string
	Program string
	Install string
	// Stdin says that the client reads its prompt there, File that it reads the
	// prompt's file; else the prompt is an argument.
	Stdin, File bool
	// JSON says that it prints lines of JSON with assistant messages and a result.
	JSON bool
	argv func(run) []string
	env  func(run) []string // besides the usual; nil = none
}

// run is what a command line is made of.
type run struct{ prompt, file, model string }

// withModel is the flag of the model, when one is set.
func withModel(argv []string, flag, model string) []string {
	if model == "" {
		return argv
	}
	return append(argv, flag, model)
}

// maxArgument is the longest prompt that is passed as an argument; Linux refuses
// more than 128 KiB.
const maxArgument = 120 << 10

// Presets are all of them, by name.
func Presets() []Preset {
	return []Preset{
		{Name: "aider", Program: "aider", Install: "python -m pip install aider-install && aider-install", File: true,
			argv: func(r run) []string {
				return withModel([]string{"--message-file", r.file, "--yes-always", "--no-auto-commits", "--no-dirty-commits",
					"--no-gitignore", "--no-check-update"}, "--model", r.model)
			}},
		{Name: "amp", Program: "amp", Install: "npm install -g @sourcegraph/amp", Stdin: true, JSON: true,
			argv: func(run) []string { return []string{"--dangerously-allow-all", "--stream-json", "-x"} }},
		{Name: "copilot", Program: "copilot", Install: "npm install -g @github/copilot",
			argv: func(r run) []string {
				return withModel([]string{"-p", r.prompt, "--allow-all-tools", "--no-ask-user", "--no-auto-update"}, "--model",
					r.model)
			}},
		{Name: "cursor", Program: "cursor-agent", Install: "curl https://cursor.com/install -fsS | bash", JSON: true,
			argv: func(r run) []string {
				return append(withModel([]string{"-p", "--force", "--output-format", "stream-json"}, "--model", r.model), r.prompt)
			}},
		{Name: "goose", Program: "goose", Install: "see the installation page of goose", Stdin: true,
			argv: func(run) []string { return []string{"run", "--no-session", "-i", "-"} },
			env: func(r run) []string {
				if r.model == "" {
					return []string{"GOOSE_MODE=auto"}
				}
				return []string{"GOOSE_MODE=auto", "GOOSE_MODEL=" + r.model}
			}},
		{Name: "qwen", Program: "qwen", Install: "npm install -g @qwen-code/qwen-code", Stdin: true, JSON: true,
			argv: func(r run) []string {
				return withModel([]string{"--yolo", "--output-format", "stream-json"}, "--model", r.model)
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
	} `json:"message"`
	IsError bool `json:"is_error"`
	// Result and Error are texts; qwen's error is an object with a message.
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Model  string          `json:"model"`
	Usage  struct {
		Input      float64 `json:"input_tokens"`
		Output     float64 `json:"output_tokens"`
		CacheRead  float64 `json:"cache_read_input_tokens"`
		CacheWrite float64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
	CostUSD *float64 `json:"total_cost_usd"`
}

// translate says in the plain contract what a line of JSON says.
func translate(data []byte, clock proc.Clock) [][]byte {
	var l streamLine
	if len(data) == 0 || data[0] != '{' || client.Tolerant(json.Unmarshal(data, &l)) != nil {
		return nil
	}
	var out [][]byte
	say := func(line map[string]any) {
		if b, err := json.Marshal(line); err == nil {
			out = append(out, b)
		}
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
	case "result":
		usage := map[string]any{"type": "usage", "input_tokens": l.Usage.Input, "output_tokens": l.Usage.Output,
			"cache_read_tokens": l.Usage.CacheRead, "cache_write_tokens": l.Usage.CacheWrite, "model": l.Model}
		if l.CostUSD != nil {
			usage["cost_usd"] = *l.CostUSD
		}
		if l.Usage.Input+l.Usage.Output > 0 || l.CostUSD != nil {
			say(usage)
		}
		if l.IsError {
			e := client.Failure{Message: strings.TrimSpace(said(l.Result) + " " + said(l.Error))}.Ending(clock.Now())
			line := map[string]any{"type": "error", "kind": string(e.Kind), "message": e.Detail}
			if !e.Until.IsZero() {
				line["until"] = e.Until.Unix()
			}
			say(line)
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
