package codex

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// credentials are the variables that let the client in. Its commands do not get
// them: shell_environment_policy takes them away.
var credentials = []string{"OPENAI_API_KEY", "CODEX_API_KEY"}

// Credentials are the names of the environment variables that the client needs
// to authenticate, and that nothing else should get.
func Credentials() []string { return slices.Clone(credentials) }

// CredentialFile is the file of the client's login, relative to HOME.
const CredentialFile = ".codex/auth.json"

// SessionFolder is where sessions lie that a later run may go on in, relative to HOME.
const SessionFolder = ".cache/git-ralph/codex-sessions"

// rules make the client ask about commands that it takes for harmless and
// would run unasked. Other commands that run unasked are judged when the
// client reports them.
const rules = `prefix_rule(pattern=[["base64", "cat", "cd", "cut", "echo", "expr", "false", "find", "git", "grep",` +
	` "head", "id", "ls", ` +
	`"nl", "numfmt", "paste", "pwd", "rev", "rg", "sed", "seq", "stat", "tac", "tail", "tr", "true", "uname", "uniq",` +
	` "wc", "which", ` +
	`"whoami"]], decision="prompt")`

// homeScript makes the client's home folder and execs what follows. It runs
// inside the sandbox, because only there the request's paths are valid. A login
// that the client renews goes through the link. The client refuses to put its
// helpers, which its own sandbox may need, into a home below the temporary
// folder. If the run's folder lies there, the client gets a temporary folder
// beside its home.
//
// Sessions that a later run may continue lie in a folder that stays.
const homeScript = `set -eu; umask 077; login=$2; rules=$3; sessions=$4; mkdir -p "$1/home/rules"
dir=$(cd -P "$1" && pwd); tmp=$(cd -P "${TMPDIR:-/tmp}" 2>/dev/null && pwd) || tmp=$dir; shift 4
case $dir/ in "${tmp%/}"/*) TMPDIR=$dir/tmp; mkdir -p "$TMPDIR"; export TMPDIR ;; esac
CODEX_HOME=$dir/home; export CODEX_HOME
printf '%s\n' "$rules" >"$CODEX_HOME/rules/default.rules"
if [ -e "$login" ] && [ ! -e "$CODEX_HOME/auth.json" ]; then ln -s "$login" "$CODEX_HOME/auth.json"; fi
if [ -n "$sessions" ] && [ ! -e "$CODEX_HOME/sessions" ]; then mkdir -p "$sessions"; ln -s "$sessions" "$CODEX_HOME/sessions"; fi
exec "$@"`

// home is the beginning of a command line that gives the client a home folder
// of its own.
func home(req session.Request, env []string) []string {
	dir := client.Get(env, "TMPDIR")
	if dir == "" {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "git-ralph-codex-"+req.EventID)
	if req.HandoffFile != "" {
		dir = filepath.Join(filepath.Dir(req.HandoffFile), "codex")
	}
	login := filepath.Join(client.Get(env, "HOME"), CredentialFile)
	sessions := ""
	if req.KeepSession {
		sessions = filepath.Join(client.Get(env, "HOME"), SessionFolder)
	}
	return []string{"/bin/sh", "-c", homeScript, "codex", dir, login, rules, sessions}
}

// disabled are features of the client that reach out, ask people, or run what
// nobody judges.
var disabled = []string{"apps", "plugins", "remote_plugin", "multi_agent", "goals", "hooks", "image_generation",
	"tool_suggest",
	"skill_search", "skill_mcp_dependency_install", "unified_exec_tty", "unbounded_connection_retries", "shell_snapshot",
	"browser_use",
	"computer_use", "memories", "sleep_tool", "instant_interrupt"}

// maxRetries is how often the client itself tries a request again; the loop
// waits longer, and knows why.
const maxRetries = "2"

// provider is the name of the provider for keys; a login of ChatGPT uses the
// client's own.
const provider = "ralph"

// argv is the command line. The user's config.toml has no effect, because the
// home folder is our own. The project's own settings are not trusted.
func argv(path string, req session.Request, env []string) []string {
	args := append(home(req, env), path, "app-server")
	set := func(key, value string) { args = append(args, "-c", key+"="+value) }
	set("analytics.enabled", "false")
	set("check_for_update_on_startup", "false")
	set("project_doc_max_bytes", "0") // the prompt has the project's instructions already
	set("allow_login_shell", "false") // a profile would put other programs before our shims
	set("web_search", strconv.Quote(webSearch(req)))
	if req.Effort != "" {
		set("model_reasoning_effort", strconv.Quote(req.Effort))
	}
	set("projects."+strconv.Quote(req.Dir)+".trust_level", `"untrusted"`)
	var names []string
	for _, name := range credentials {
		names = append(names, strconv.Quote(name))
	}
	set("shell_environment_policy.exclude", "["+strings.Join(names, ", ")+"]")
	set("shell_environment_policy.ignore_default_excludes", "true") // the loop has cleaned it, and our own token is needed
	if name := keyVariable(env); name != "" {
		url := client.Get(env, "OPENAI_BASE_URL")
		if url == "" {
			url = "https://api.openai.com/v1"
		}
		set("model_provider", strconv.Quote(provider))
		set("model_providers."+provider, `{name="OpenAI", base_url=`+strconv.Quote(url)+`, env_key="`+name+
			`", wire_api="responses", request_max_retries=`+
			maxRetries+`, stream_max_retries=`+maxRetries+`}`)
	}
	for _, f := range disabled {
		args = append(args, "--disable", f)
	}
	return args
}

// keyVariable is the variable that holds a key, "" = there is none.
func keyVariable(env []string) string {
	for _, name := range credentials {
		if client.Get(env, name) != "" {
			return name
		}
	}
	return ""
}

func webSearch(req session.Request) string {
	if slices.Contains(client.Tools(req), "WebSearch") {
		return "cached"
	}
	return "disabled"
}

// environ is the client's environment: the request's without what changes the
// client's behaviour from outside.
func environ(req session.Request) []string {
	env := slices.DeleteFunc(client.Environ(req), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "CODEX_") && name != "CODEX_API_KEY" && name != "CODEX_CA_CERTIFICATE"
	})
	return client.Set(env, "RUST_LOG=error", "NO_COLOR=1")
}

// find is the client's own program, "" = none. What npm puts on PATH is a script
// that starts it; killing the script would leave the client alive.
func find(path string, env []string) string {
	if path == "" {
		path = "codex"
	}
	found := proc.Look(path, env)
	if found == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil || filepath.Base(real) != "codex.js" {
		return found
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	system := map[string]string{"linux": "linux", "darwin": "darwin"}[runtime.GOOS]
	module := filepath.Dir(filepath.Dir(real)) // …/@openai/codex
	for _, scope := range []string{filepath.Join(module, "node_modules", "@openai"), filepath.Dir(module)} {
		matches, _ := filepath.Glob(filepath.Join(scope, "codex-"+system+"-"+arch, "vendor", "*", "bin", "codex"))
		for _, m := range matches {
			if st, err := os.Stat(m); err == nil && st.Mode().IsRegular() {
				return m
			}
		}
	}
	return found
}
