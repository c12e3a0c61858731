package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/guard/sandbox"
	"git-ralph/internal/config"
	"git-ralph/loop/session"
)

func TestKeepLogin(t *testing.T) {
	const old = `{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1,"scopes":["x"],` +
		`"subscriptionType":null}}`
	const renewed = `{"claudeAiOauth":{"accessToken":"b","refreshToken":"s","expiresAt":2,"scopes":["x"],` +
		`"subscriptionType":null}}`
	fallback := func(a *config.Agent) { a.OnLimit, a.FallbackDriver = "fallback", "claude" }
	waiting := func(a *config.Agent) { a.OnLimit, a.FallbackDriver = "wait", "claude" }
	role := func(a *config.Agent) { a.Roles = map[string]config.Role{"planning": {Driver: "claude"}} }
	for _, c := range []struct {
		why, driver, renewed, want string
		also                       func(*config.Agent)
	}{
		{"the client renewed its login", "claude",
			`{"claudeAiOauth":{"accessToken":"b","refreshToken":"s","expiresAt":2,"scopes":["x"],"subscriptionType":"max"}}`,
			`{"claudeAiOauth":{"accessToken":"b","refreshToken":"s","expiresAt":2,"scopes":["x"],` +
				`"subscriptionType":"max"}}`, nil},
		{"another driver has no login file", "command",
			renewed, old, nil},
		{"the fallback renewed its login", "codex", renewed, renewed, fallback},
		{"a fallback that is never used", "codex", renewed, old, waiting},
		{"the client of a role renewed its login", "codex", renewed, renewed, role},
		{"a field more", "claude",
			`{"claudeAiOauth":{"accessToken":"b","refreshToken":"s","expiresAt":2,"scopes":["x"],"subscriptionType":null,` +
				`"apiKeyHelper":"sh x"}}`, old, nil},
		{"a field less", "claude", `{"claudeAiOauth":{"accessToken":"b"}}`, old, nil},
		{"a field emptied", "claude",
			`{"claudeAiOauth":{"accessToken":"","refreshToken":"s","expiresAt":2,"scopes":["x"],` +
				`"subscriptionType":null}}`, old, nil},
		{"another kind of value", "claude",
			`{"claudeAiOauth":{"accessToken":"b","refreshToken":"s","expiresAt":"2","scopes":["x"],"subscriptionType":null}}`,
			old, nil},
		{"no JSON", "claude", `logged out`, old, nil},
		{"something else altogether", "claude", `[]`, old, nil},
	} {
		dir := t.TempDir()
		home, upper := filepath.Join(dir, "home"), filepath.Join(dir, "upper")
		file, inside := filepath.Join(home, ".claude/.credentials.json"),
			filepath.Join(upper, "upper/.claude/.credentials.json")
		for path, text := range map[string]string{file: old, inside: c.renewed} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(inside, later, later); err != nil {
			t.Fatal(err)
		}
		set := &config.Resolved{}
		set.Agent.Driver = c.driver
		if c.also != nil {
			c.also(&set.Agent)
		}
		b := &boundary{report: sandbox.Report{Mechanism: sandbox.Namespaces}, base: sandbox.Spec{Home: home}, set: set,
			uppers: map[bool]string{true: upper}}
		if err := b.KeepLogin(); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
			t.Errorf("%s: the home folder has %s, %v", c.why, got, err)
		}
	}
}

// TestLogins: each client, also that of a role, gets its own login, and no other process
// gets any.
func TestLogins(t *testing.T) {
	a := &App{Env: []string{"PLAIN=1", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o", "GEMINI_API_KEY=g", "OTHER_API_KEY=x"}}
	set := &config.Resolved{}
	set.Commit.Sign = "off"
	set.Agent.Driver, set.Agent.OnLimit, set.Agent.FallbackDriver = "claude", "fallback", "gemini"
	set.Agent.Roles = map[string]config.Role{"planning": {Driver: "codex"}}
	s := a.loopSettings(set)
	for driver, want := range map[string]string{"claude": "ANTHROPIC_API_KEY=a", "gemini": "GEMINI_API_KEY=g",
		"codex": "OPENAI_API_KEY=o", "opencode": ""} {
		if got := strings.Join(s.Logins[driver], " "); got != want {
			t.Errorf("%s has %q, want %q", driver, got, want)
		}
	}
	for who, env := range map[string][]string{"agents": s.AgentEnv, "checks": s.CheckEnv} {
		if text := strings.Join(env, " "); strings.Contains(text, "_API_KEY") || !strings.Contains(text, "PLAIN=1") {
			t.Errorf("all %s have %s", who, text)
		}
	}
	if !slices.Contains(clientEnv(s), "ANTHROPIC_API_KEY=a") {
		t.Error("the client is looked for without its login")
	}
}

func TestLoginsHidden(t *testing.T) {
	const claude, codex = "/home/pat/.claude/.credentials.json", "/home/pat/.codex/auth.json"
	for _, c := range []struct {
		why           string
		use           session.Use
		claude, codex bool
	}{
		{"a check", session.Use{}, true, true},
		{"Claude Code", session.Use{Agent: true, Driver: "claude"}, false, true},
		{"Codex", session.Use{Agent: true, Driver: "codex"}, true, false},
		{"a command of the user's own may start either", session.Use{Agent: true, Driver: "command"}, false, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			got := loginsHidden("/home/pat", c.use)
			if slices.Contains(got, claude) != c.claude || slices.Contains(got, codex) != c.codex {
				t.Errorf("hidden: %q", got)
			}
		})
	}
}
