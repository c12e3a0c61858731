package opencode

import (
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

type object = map[string]any

//go:embed plugin.js
var plugin string

// providers are those of the client whose keys it finds in the environment. It
// knows many more by their login (opencode auth login).
var providers = []struct {
	name, base string
	keys       []string
}{
	{"anthropic", "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}},
	{"openai", "OPENAI_BASE_URL", []string{"OPENAI_API_KEY"}},
	{"google", "", []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"}},
	{"openrouter", "", []string{"OPENROUTER_API_KEY"}},
	{"opencode", "", []string{"OPENCODE_API_KEY"}},
	{"groq", "", []string{"GROQ_API_KEY"}},
	{"mistral", "", []string{"MISTRAL_API_KEY"}},
	{"deepseek", "", []string{"DEEPSEEK_API_KEY"}},
	{"xai", "", []string{"XAI_API_KEY"}},
}

// Credentials are the names of the environment variables that the client needs
// to authenticate, and that nothing else should get.
func Credentials() []string {
	var out []string
	for _, p := range providers {
		out = append(out, p.keys...)
	}
	return out
}

// CredentialFile is the file of the client's logins, relative to HOME.
const CredentialFile = ".local/share/opencode/auth.json"

// configured is the client's package list after it has installed what its
// plugins need. Our plugin needs nothing, but without the list the client
// first goes to the network.
const configured = `{"dependencies":{"@opencode-ai/plugin":"*"},` +
	`"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`

// Installed are files in the folder of the client's settings, whose parent is config:
// with them it fetches nothing.
func Installed(config string) [][2]string {
	return [][2]string{{config + "/opencode/package.json", configured},
		{config + "/opencode/package-lock.json", configured}, {config + "/opencode/node_modules/.keep", ""}}
}

// home is the folder of the run.
func home(req session.Request) client.Home {
	return client.Home{Login: CredentialFile, LoginTo: "data/opencode/auth.json", Files: append(Installed("config"),
		[][2]string{{"plugin.js", plugin}, {"system.md", req.System}}...)}
}

// config is the client's whole configuration. What it may use is listed, and
// everything else is denied; what it uses is put to the guard by the plugin.
func config(req session.Request, env []string, dir string) object {
	permission := object{"*": "deny", "ralph_*": "allow", "external_directory": "allow", "doom_loop": "allow"}
	for _, tool := range client.Tools(req) {
		for _, name := range toolNames[tool] {
			permission[name] = "allow"
		}
	}
	known := object{}
	for _, p := range providers {
		options := object{}
		for _, key := range p.keys {
			if client.Get(env, key) != "" {
				options["apiKey"] = "{env:" + key + "}"
			}
		}
		if base := client.Get(env, p.base); len(options) > 0 && p.base != "" && base != "" {
			options["baseURL"] = versioned(base)
		}
		if len(options) > 0 {
			known[p.name] = object{"options": options}
		}
	}
	c := object{"autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false,
		"compaction": object{"auto": false}, "permission": permission, "provider": known,
		"plugin": []string{(&url.URL{Scheme: "file", Path: filepath.Join(dir, "plugin.js")}).String()}}
	if req.System != "" {
		c["instructions"] = []string{filepath.Join(dir, "system.md")}
	}
	if req.Model != "" {
		c["model"], c["small_model"] = req.Model, req.Model
	}
	if len(req.ToolSpecs) > 0 {
		c["mcp"] = object{"ralph": object{"type": "local", "command": []string{req.Self, "mcp"}, "enabled": true}}
	}
	return c
}

// versioned is a base URL as this client wants it.
func versioned(base string) string {
	base = strings.TrimSuffix(base, "/")
	if strings.HasSuffix(base, "/v1") {
		return base
	}
	return base + "/v1"
}

// toolNames are the client's names of canonical tools.
var toolNames = map[string][]string{
	"Read": {"read", "list"}, "Glob": {"glob"}, "Grep": {"grep"}, "Write": {"edit", "write"}, "Edit": {"edit", "write"},
	"Bash": {"bash"}, "Task": {"task"}, "Todo": {"todowrite", "todoread"}, "WebFetch": {"webfetch"},
	"WebSearch": {"websearch", "codesearch"},
}

// environ is the client's environment: the request's without what changes the
// client's behaviour from outside, and with a place of its own for all its files.
func environ(req session.Request, dir string) ([]string, error) {
	env := slices.DeleteFunc(client.Environ(req), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "OPENCODE") && name != "OPENCODE_API_KEY" || name == "GIT_RALPH_PLUGIN"
	})
	configuration, err := json.Marshal(config(req, env, dir))
	if err != nil {
		return nil, err
	}
	ours, err := json.Marshal(object{"hook": []string{req.Self, "hook", "opencode"}, "secrets": Credentials()})
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	values := map[string]string{"XDG_CONFIG_HOME": at("config"), "XDG_DATA_HOME": at("data"),
		"XDG_STATE_HOME": at("state"),
		"XDG_CACHE_HOME": at("cache"), "OPENCODE_TEST_HOME": at("home"),
		"OPENCODE_CONFIG_CONTENT": string(configuration), "GIT_RALPH_PLUGIN": string(ours), "NO_COLOR": "1"}
	for _, name := range []string{"AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "CLAUDE_CODE",
		"EXTERNAL_SKILLS",
		"PROJECT_CONFIG", "AUTOCOMPACT", "TERMINAL_TITLE", "SHARE"} {
		values["OPENCODE_DISABLE_"+name] = "1"
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = client.Set(env, name+"="+values[name])
	}
	return env, nil
}

// ownPlugins is what the repository in dir has that the client would run in its
// own process, "" = nothing. It does so even when it is told to read no settings
// of the project.
func ownPlugins(dir string) string {
	for _, name := range []string{".opencode/plugin", ".opencode/plugins"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	for _, name := range []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json",
		".opencode/opencode.jsonc"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		st, err := f.Stat()
		var data []byte
		if err == nil && st.Mode().IsRegular() {
			data, err = io.ReadAll(io.LimitReader(f, 1<<20))
		}
		f.Close()
		if err != nil || !st.Mode().IsRegular() || len(data) == 1<<20 || strings.Contains(string(data), "plugin") ||
			strings.Contains(string(data), `\u`) {
			return name
		}
	}
	return ""
}

// find is the client's own program, "" = none. What npm puts on PATH is linked
// to it, or to a script that starts it.
func find(path string, env []string) string {
	if path == "" {
		path = "opencode"
	}
	return proc.Look(path, env)
}
