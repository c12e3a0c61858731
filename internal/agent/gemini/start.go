package gemini

import (
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

type object = map[string]any

//go:embed preload.cjs
var preload string

// credentials are the variables that let the client in. Its commands do not get
// them: environmentVariableRedaction takes them away.
var credentials = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}

// Credentials are the names of the environment variables that the client needs
// to authenticate, and that nothing else should get.
func Credentials() []string { return slices.Clone(credentials) }

// CredentialFile is the file of the client's login, relative to HOME.
const CredentialFile = ".gemini/oauth_creds.json"

// systemFile is what the client takes for the user's memory, so that it becomes
// part of the system prompt. The project's GEMINI.md does not, because the
// prompt has the project's instructions already.
const systemFile = "git-ralph-system.md"

// home is the folder of the run.
func home(req session.Request, env []string, hook []string) (client.Home, error) {
	b, err := json.Marshal(settings(req, env, hook))
	return client.Home{Login: CredentialFile, LoginTo: ".gemini/oauth_creds.json", Files: [][2]string{
		{".gemini/settings.json", string(b)}, {".gemini/" + systemFile, req.System}, {"preload.cjs", preload}}}, err
}

// hookMillis is how long the client waits for a verdict.
const hookMillis = 60_000

// settings is the client's whole configuration. The hook refuses unless a
// verdict allows the call.
func settings(req session.Request, env []string, hook []string) object {
	words := make([]string, len(hook))
	for i, w := range hook {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	auth := "oauth-personal"
	if keyed(env) {
		auth = "gemini-api-key"
	}
	var ours []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "RALPH_") {
			ours = append(ours, name)
		}
	}
	s := object{
		"privacy": object{"usageStatisticsEnabled": false}, "telemetry": object{"enabled": false},
		"general": object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
			"checkpointing": object{"enabled": false}},
		"security": object{"auth": object{"selectedType": auth}, "folderTrust": object{"enabled": false},
			"environmentVariableRedaction": object{"enabled": true, "blocked": credentials, "allowed": ours}},
		"context": object{"fileName": []string{systemFile}},
		"tools":   object{"exclude": excluded(client.Tools(req)), "sandbox": false},
		"skills":  object{"enabled": false},
		"hooks": object{"BeforeTool": []object{{"matcher": "*", "hooks": []object{{"name": "git-ralph", "type": "command",
			"command": strings.Join(words, " ") + " || exit 2", "timeout": hookMillis}}}}},
	}
	if req.MaxTurns > 0 {
		s["model"] = object{"maxSessionTurns": req.MaxTurns}
	}
	if len(req.ToolSpecs) > 0 {
		s["mcpServers"] = object{"ralph": object{"command": req.Self, "args": []string{"mcp"}, "trust": true,
			"timeout": 24 * 3600 * 1000, "env": passed(env)}}
	}
	return s
}

// passed are variables that the client withholds from the servers it starts
// because of their names.
func passed(env []string) object {
	out := object{}
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "RALPH_") {
			out[name] = value
		}
	}
	return out
}

// toolNames are the client's names of canonical tools. Those without one are
// never offered: they switch modes, start other agents or ask a person.
var toolNames = map[string][]string{
	"Read": {"read_file", "read_many_files", "list_directory"}, "Glob": {"glob"}, "Grep": {"grep_search",
		"search_file_content"},
	"Write": {"write_file"}, "Edit": {"replace"}, "Bash": {"run_shell_command", "list_background_processes",
		"read_background_output"},
	"WebSearch": {"google_web_search"}, "WebFetch": {"web_fetch"}, "Todo": {"write_todos"},
	"": {"ask_user", "enter_plan_mode", "exit_plan_mode", "invoke_agent", "activate_skill", "save_memory", "update_topic"},
}

// excluded are the client's tools that a phase does not have. A list of those
// that it has would leave out our own.
func excluded(canonical []string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(toolNames)) {
		if !slices.Contains(canonical, name) {
			out = append(out, toolNames[name]...)
		}
	}
	return out
}

func keyed(env []string) bool {
	return slices.ContainsFunc(credentials, func(name string) bool { return client.Get(env, name) != "" })
}

// environ is the client's environment: the request's without what changes the
// client's behaviour from outside.
func environ(req session.Request, dir string) []string {
	env := slices.DeleteFunc(client.Environ(req), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GEMINI_") && name != "GEMINI_API_KEY" || name == "NODE_OPTIONS" || name == "CI"
	})
	return client.Set(env, "GEMINI_CLI_HOME="+dir, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true",
		"NO_COLOR=1")
}

// find is the beginning of the client's command line, nil = none. The client is
// a program for Node.
func find(path string, env []string) []string {
	if path == "" {
		path = "gemini"
	}
	found := proc.Look(path, env)
	if found == "" && strings.HasSuffix(path, ".js") {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			found = path
		}
	}
	node := proc.Look("node", env)
	if found == "" || node == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return nil
	}
	return []string{node, "--no-warnings", started(real)}
}

var scriptPath = lazyregexp.New(`(?:\$basedir|\$\{basedir\})?/[^\s"'$]+\.[cm]?js\b`)

// started is the program for Node that a script of a shell starts, as pnpm makes one for each
// program that it installs; anything else is the program itself.
func started(path string) string {
	head := make([]byte, 16<<10)
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	n, _ := io.ReadFull(f, head)
	text := string(head[:n])
	first, _, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(first, "#!") || strings.Contains(first, "node") {
		return path
	}
	for _, found := range scriptPath().FindAllString(text, -1) {
		for _, name := range []string{"$basedir", "${basedir}"} {
			if rest, ok := strings.CutPrefix(found, name); ok {
				found = filepath.Join(filepath.Dir(path), filepath.FromSlash(rest))
			}
		}
		if st, err := os.Stat(found); err == nil && st.Mode().IsRegular() {
			return found
		}
	}
	return path
}
