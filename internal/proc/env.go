package proc

import (
	"path"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// SecretNames are further patterns of variables with secrets. They apply
// whatever the settings deny; the settings can allow exceptions.
func SecretNames() []string {
	return strings.Fields(`*SECRET* *PASSWORD* *PASSWD* *PASSPHRASE* *TOKEN *TOKEN_* *CREDENTIAL* *APIKEY* *API_KEY* *PRIVATEKEY* *WEBHOOK* *COOKIE*
		KEY KEYS *_KEY *_KEYS *_KEY_* ACCESS_KEY* PASS PASS_* *_PASS *_PASS_* *_PWD PGPASS* PAT *_PAT *_PAT_* AUTH AUTH_* *_AUTH *_AUTH_*
		DSN *_DSN *_DSN_* JWT JWT_* *_JWT *_JWT_* BEARER* *_BEARER* SESSION CREDS *_CREDS *_CREDS_* *CONNECTION_STRING*
		DATABASE_URL *_DATABASE_URL DB_URL *_DB_URL MONGO*_URI MONGO*_URL REDIS*_URL REDIS*_URI AMQP*_URL POSTGRES*_URL MYSQL*_URL`)
}

// secretAddress is a URL with a password in it.
var secretAddress = lazyregexp.New(`://[^/\s@]*:[^/\s@]+@`)

// hasPassword says whether the value of a variable is a URL with a password.
// Proxies keep theirs: without it there is no network.
func hasPassword(name, value string) bool {
	return strings.Contains(value, "@") && !strings.HasSuffix(name, "_PROXY") && secretAddress().MatchString(value)
}

// agentGitVars are the GIT_* variables that an agent may inherit: they say who
// the user is and how TLS is verified, and redirect nothing.
var agentGitVars = map[string]bool{
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true,
	"GIT_COMMITTER_NAME": true, "GIT_COMMITTER_EMAIL": true,
	"GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true,
}

// sessionVars lead to agents, helpers, buses and displays of the user's
// session, which act with the user's rights outside any sandbox.
var sessionVars = map[string]bool{
	"SSH_AUTH_SOCK": true, "SSH_AGENT_PID": true, "SSH_ASKPASS": true, "SSH_ASKPASS_REQUIRE": true,
	"GPG_AGENT_INFO": true, "GPG_TTY": true, "SUDO_ASKPASS": true,
	"DBUS_SESSION_BUS_ADDRESS": true, "XDG_RUNTIME_DIR": true, "GNOME_KEYRING_CONTROL": true,
	"DISPLAY": true, "WAYLAND_DISPLAY": true, "XAUTHORITY": true,
	"TMUX": true, "TMUX_PANE": true, "STY": true,
	"VSCODE_GIT_IPC_HANDLE": true, "VSCODE_GIT_ASKPASS_NODE": true,
	"VSCODE_GIT_ASKPASS_MAIN": true, "VSCODE_GIT_ASKPASS_EXTRA_ARGS": true,
	"DOCKER_HOST": true, "CONTAINER_HOST": true, "KUBECONFIG": true, "PODMAN_SOCK": true,
	"NOTIFY_SOCKET": true,
}

// CleanEnv is base (os.Environ form) without variables that redirect git, that
// lead out into the user's session, whose names match a pattern of deny, or
// whose values are URLs with a password.
// Patterns are globs (* ? []), compared without regard to case. A name that
// matches allow stays: the user's word. A name in keep, which is literal, stays
// too: what the client needs to authenticate; callers leave it out for tools,
// checks and steps. Order is kept; of a repeated name the last one counts.
func CleanEnv(base, deny, allow, keep []string) []string {
	kept := make(map[string]bool, len(keep))
	for _, name := range keep {
		kept[strings.ToUpper(name)] = true
	}
	last := make(map[string]int, len(base))
	for i, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	out := make([]string, 0, len(base))
	for i, kv := range base {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" || last[name] != i {
			continue
		}
		upper := strings.ToUpper(name)
		if kept[upper] || matchAny(allow, upper) || !restricted(upper, deny) && !hasPassword(upper, value) {
			out = append(out, kv)
		}
	}
	return out
}

func restricted(name string, deny []string) bool {
	return strings.HasPrefix(name, "GIT_") && !agentGitVars[name] ||
		sessionVars[name] || matchAny(deny, name)
}

// matchAny compares an upper-case name with patterns; a malformed pattern is
// taken literally.
func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		p = strings.ToUpper(p)
		if ok, err := path.Match(p, name); ok || err != nil && p == name {
			return true
		}
	}
	return false
}

// AgentGitEnv are variables for the git of an agent, of checks and of steps:
// it never asks, takes no lock for a refresh of the index, and has no
// credential helper, whatever is configured.
func AgentGitEnv() []string {
	return []string{
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_ASKPASS=",
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=credential.helper",
		"GIT_CONFIG_VALUE_0=",
	}
}

// SetEnv is env with name set to value, once.
func SetEnv(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}

// Getenv is the value of name in env; the last one counts.
func Getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
