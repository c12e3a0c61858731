package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/agent/opencode"
)

// A Dialect is how a scripted model talks to a client: what its tool calls look
// like, and how the client finds it.
type Dialect struct {
	Driver string
	Model  string
	// Env leads the client to the model at url and lets it in there.
	Env   func(url string) map[string]string
	Shell func(command string) fakemodel.Tool
	Write func(path, text string) fakemodel.Tool
	Ralph string // prefix of our tools
	// Files are what the client needs in its home folder, with their texts, so that it
	// asks nobody but the model.
	Files [][2]string
}

// Furnish writes the files that the client needs into its home folder.
func (d Dialect) Furnish(home string) error {
	for _, f := range d.Files {
		path := filepath.Join(home, f[0])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("furnish the home folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			return fmt.Errorf("furnish the home folder: %w", err)
		}
	}
	return nil
}

// ACPDialectOf is the dialect of a client that is driven by the Agent Client
// Protocol and calls itself name, false for one whose model is not known.
func ACPDialectOf(name string) (Dialect, bool) {
	driver := strings.TrimSuffix(strings.ToLower(name), "-cli")
	if driver != "gemini" && driver != "opencode" {
		return Dialect{}, false
	}
	d, _ := DialectOf(driver)
	d.Driver = "acp"
	if driver == "opencode" {
		d.Files = opencode.Installed(".config")
	}
	env := d.Env
	d.Env = func(url string) map[string]string {
		m := env(url)
		if driver == "gemini" {
			m["GEMINI_CLI_TRUST_WORKSPACE"] = "true" // else it starts no MCP server
			return m
		}
		// As it comes it asks about nothing, and it takes no address from the environment.
		config, err := json.Marshal(map[string]any{"permission": map[string]string{"edit": "ask", "bash": "ask"},
			"provider": map[string]any{"anthropic": map[string]any{"options": map[string]string{"baseURL": url + "/v1"}}}})
		if err != nil {
			config = []byte("{}")
		}
		return map[string]string{"ANTHROPIC_API_KEY": m["ANTHROPIC_API_KEY"], "OPENCODE_CONFIG_CONTENT": string(config),
			"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
	}
	return d, true
}

// Tool is a call of one of our tools.
func (d Dialect) Tool(name, args string) fakemodel.Tool {
	return fakemodel.Tool{Name: d.Ralph + name, Input: json.RawMessage(args)}
}

// DialectOf is the dialect of a driver's client, false for drivers that have no
// client of their own.
func DialectOf(driver string) (Dialect, bool) {
	call := func(name string, fields map[string]string) fakemodel.Tool {
		b, err := json.Marshal(fields)
		if err != nil {
			b = []byte("{}")
		}
		return fakemodel.Tool{Name: name, Input: b}
	}
	d := Dialect{Driver: driver}
	switch driver {
	case "claude":
		d.Model, d.Ralph = "claude-sonnet-4-5", "mcp__ralph__"
		d.Env = func(url string) map[string]string {
			return map[string]string{"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": url,
				"CLAUDE_CODE_MAX_RETRIES": "1", "API_TIMEOUT_MS": "600000"}
		}
		d.Shell = func(c string) fakemodel.Tool {
			return call("Bash", map[string]string{"command": c, "description": "x"})
		}
		d.Write = func(path, text string) fakemodel.Tool {
			return call("Write", map[string]string{"file_path": path, "content": text})
		}
	case "codex":
		d.Model = "gpt-5.5"
		d.Env = func(url string) map[string]string {
			return map[string]string{"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": url + "/v1"}
		}
		d.Shell = func(c string) fakemodel.Tool { return call("exec_command", map[string]string{"cmd": c}) }
		d.Write = func(path, text string) fakemodel.Tool {
			patch, err := json.Marshal("*** Begin Patch\n*** Add File: " + filepath.Base(path) + "\n+" +
				strings.TrimSuffix(text, "\n") + "\n*** End Patch\n")
			if err != nil {
				patch = []byte(`""`)
			}
			return fakemodel.Tool{Name: "apply_patch", Input: patch}
		}
	case "gemini":
		d.Model, d.Ralph = "gemini-2.5-pro", "mcp_ralph_"
		d.Env = func(url string) map[string]string {
			return map[string]string{"GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": url}
		}
		d.Shell = func(c string) fakemodel.Tool {
			return call("run_shell_command", map[string]string{"command": c, "description": "x"})
		}
		d.Write = func(path, text string) fakemodel.Tool {
			return call("write_file", map[string]string{"file_path": path, "content": text})
		}
	case "opencode":
		d.Model, d.Ralph = "anthropic/claude-sonnet-4-5", "ralph_"
		d.Env = func(url string) map[string]string {
			return map[string]string{"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": url}
		}
		d.Shell = func(c string) fakemodel.Tool {
			return call("bash", map[string]string{"command": c, "description": "x"})
		}
		d.Write = func(path, text string) fakemodel.Tool {
			return call("write", map[string]string{"filePath": path, "content": text})
		}
	default:
		return d, false
	}
	return d, true
}
