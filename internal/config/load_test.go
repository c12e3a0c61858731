package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/proc"
)

// file is a ralph.toml with that text.
func file(text string) []File { return []File{{Name: FileName, Data: []byte(text)}} }

func mustLoad(t *testing.T, src Sources) *Resolved {
	t.Helper()
	r, err := Load(src)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return r
}

func TestDefaultsAreValid(t *testing.T) {
	// setDefaults silently omits a default that its own setting refuses. This test
	// finds it.
	var walk func(*spec)
	walk = func(parent *spec) {
		for _, s := range parent.fields {
			walk(s)
			if s.preset == "" {
				continue
			}
			plain := *s
			plain.pointer = false
			n, err := fromPreset(&plain)
			if err == nil {
				err = assign(&plain, n, reflect.New(typeOf(s.kind)).Elem())
			}
			if err != nil {
				t.Errorf("%s: default %q %v", s.key, s.preset, err)
			}
		}
	}
	walk(schema())
	d := Default()
	if d.Agent.Timeout != 20*time.Minute || d.Limits.SessionUSD != 50_000_000 || d.Worktree.MaxFile != 50_000_000 {
		t.Errorf("defaults in their units: timeout %v, session %d micro-dollars, max_file %d bytes",
			d.Agent.Timeout, d.Limits.SessionUSD, d.Worktree.MaxFile)
	}
	r := mustLoad(t, Sources{})
	if diff := cmp.Diff(d, r.Settings); diff != "" {
		t.Errorf("no source is not the defaults (-want +got):\n%s", diff)
	}
}

func TestNamesAreUnambiguous(t *testing.T) {
	norms, envs := map[string]string{}, map[string]string{}
	schema().leaves(func(s *spec) {
		if other := norms[norm(s.key)]; other != "" {
			t.Errorf("git config cannot tell %s from %s", s.key, other)
		}
		if other := envs[envName(s.key)]; other != "" {
			t.Errorf("the environment cannot tell %s from %s", s.key, other)
		}
		norms[norm(s.key)], envs[envName(s.key)] = s.key, s.key
		if s.help == "" {
			t.Errorf("%s has no help", s.key)
		}
	})
	for _, name := range notSettings() {
		if envs[name] != "" {
			t.Errorf("%s means %s and something else", name, envs[name])
		}
	}
	for _, old := range oldNames() {
		if specAt(strings.Split(old.key, ".")) == nil {
			t.Errorf("%s leads to %s, which is no setting", old.env, old.key)
		}
		if key := envs[old.env]; key != "" && key != old.key {
			t.Errorf("%s is an old name of %s and the derived one of %s", old.env, old.key, key)
		}
	}
}

func TestLayers(t *testing.T) {
	type layer = Sources
	full := func() layer {
		return layer{
			Files: []File{{FileName, []byte("[loop]\nmax_iterations = 11\n")},
				{"ci.toml", []byte("[loop]\nmax_iterations = 12\n")}},
			Git:   proc.Config{{Key: "ralph.loop.maxiterations", Value: "13"}},
			Run:   map[string]string{"loop.max_iterations": "14"},
			Env:   map[string]string{"RALPH_LOOP_MAX_ITERATIONS": "15"},
			Flags: map[string]string{"loop.max_iterations": "16"},
		}
	}
	tests := []struct {
		why    string
		change func(*layer)
		want   int
		origin string
	}{
		{"a flag is what the user typed just now", func(s *layer) {}, 16, "--max-iterations"},
		{"the environment is of this call", func(s *layer) { s.Flags = nil }, 15, "RALPH_LOOP_MAX_ITERATIONS"},
		{"an override of this run beats what is configured", func(s *layer) { s.Flags, s.Env = nil, nil }, 14,
			"git ralph set"},
		{"git config is this clone's", func(s *layer) { s.Flags, s.Env, s.Run = nil, nil, nil }, 13,
			"git config ralph.loop.maxiterations"},
		{"a --config file is added over ralph.toml", func(s *layer) {
			s.Flags, s.Env, s.Run, s.Git = nil, nil, nil,
				nil
		}, 12, "ci.toml:2"},
		{"ralph.toml beats the default", func(s *layer) { *s = layer{Files: s.Files[:1]} }, 11, "ralph.toml:2"},
		{"without any source", func(s *layer) { *s = layer{} }, 100, "default"},
		{"an empty variable counts as unset", func(s *layer) {
			s.Flags = nil
			s.Env =
				map[string]string{"RALPH_LOOP_MAX_ITERATIONS": ""}
		}, 14, "git ralph set"},
	}
	for _, tt := range tests {
		src := full()
		tt.change(&src)
		r := mustLoad(t, src)
		if r.Loop.MaxIterations != tt.want || r.Origin["loop.max_iterations"].String() != tt.origin {
			t.Errorf("%s: got %d from %s, want %d from %s", tt.why,
				r.Loop.MaxIterations, r.Origin["loop.max_iterations"], tt.want, tt.origin)
		}
		if len(r.Warnings) > 0 {
			t.Errorf("%s: warnings %q", tt.why, r.Warnings)
		}
	}
}

func TestFileValues(t *testing.T) {
	r := mustLoad(t, Sources{
		Env: map[string]string{"REGION": "eu", "TOKEN7": "s3cret", "EMPTY": ""},
		Files: file(`
project = {goal = "for ${REGION}, not $${REGION}", setup = ["echo ${HOME}"]}
[agent]
command = ["sh", "agent.sh", ""]
max_turns = 0x10
timeout = "1d12h"
roles.coding.max_turns = 7
roles.context-prep = {model = "small${EMPTY}", tools = []}
[mcp."my server"]
url = "https://${REGION}.example"
env = {TOKEN = "${TOKEN7}"}
[limits]
iteration_usd = 0.1
session_usd = 1e2
[worktree]
max_file = 1_048_576
[index]
novelty = 1
[pricing."claude-sonnet-4.5"]
input = 3
cache_read = 0.075
`)})
	if got, want := r.Project.Goal, "for eu, not ${REGION}"; got != want {
		t.Errorf("goal = %q, want %q", got, want)
	}
	if got := r.Project.Setup[0]; got != "echo ${HOME}" {
		t.Errorf("setup = %q: a command is the shell's to expand", got)
	}
	seven := 7
	day := 36 * time.Hour
	want := Default()
	want.Project = r.Project
	want.Agent.Command = []string{"sh", "agent.sh", ""}
	want.Agent.MaxTurns, want.Agent.Timeout = 16, day
	want.Agent.Roles = map[string]Role{"coding": {MaxTurns: &seven}, "context-prep": {Model: "small", Tools: []string{}}}
	want.MCP = map[string]MCPServer{"my server": {URL: "https://eu.example", Env: map[string]string{"TOKEN": "s3cret"}}}
	want.Limits.IterationUSD, want.Limits.SessionUSD = 100_000, 100_000_000
	want.Worktree.MaxFile = 1 << 20
	want.Index.Novelty = 1
	want.Pricing = map[string]Price{"claude-sonnet-4.5": {Input: 3_000_000, CacheRead: 75_000}}
	if diff := cmp.Diff(want, r.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for _, e := range r.List() {
		if strings.Contains(e.Text(), "s3cret") {
			t.Errorf("the list shows a secret: %s", e.Text())
		}
	}
}

func TestNamedTablesMergeByName(t *testing.T) {
	base := "[[checks]]\nname = \"test\"\nrun = \"go test ./...\"\ntimeout = \"1m\"\n" +
		"[[checks]]\nname = \"lint\"\nrun = \"golangci-lint run\"\n" +
		"[[steps]]\nname = \"fmt\"\nrun = \"gofmt -w .\"\nenabled = true\nbreaker = {threshold = 3}\n" +
		"[mcp.docs]\ncommand = [\"docs\"]\n"
	over := "[[checks]]\nname = \"race\"\nrun = \"go test -race ./...\"\n" +
		"[[checks]]\nname = \"test\"\nrun = \"go test -short ./...\"\n" +
		"[[steps]]\nname = \"fmt\"\nenabled = false\n[steps.breaker]\nreset_after = \"5m\"\n[mcp.docs]\nenv = {A = \"b\"}\n"
	r := mustLoad(t, Sources{Files: []File{{FileName, []byte(base)}, {"ci.toml", []byte(over)}}})
	want := []Check{
		{Name: "test", Run: "go test -short ./...", Kind: "test", Timeout: time.Minute, When: "each"},
		{Name: "lint", Run: "golangci-lint run", Kind: "lint", Timeout: 10 * time.Minute, When: "each"},
		{Name: "race", Run: "go test -race ./...", Kind: "test", Timeout: 10 * time.Minute, When: "each"},
	}
	if diff := cmp.Diff(want, r.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	step := r.Steps[0]
	if len(r.Steps) != 1 || step.Enabled || step.Run != "gofmt -w ." || step.Breaker != (StepBreaker{3, 5 * time.Minute}) {
		t.Errorf("steps = %+v", r.Steps)
	}
	if diff := cmp.Diff(MCPServer{Command: []string{"docs"}, Env: map[string]string{"A": "b"}},
		r.MCP["docs"]); diff != "" {
		t.Errorf("mcp.docs (-want +got):\n%s", diff)
	}
	if got := r.Origin["checks.test.run"].String() + " " +
		r.Origin["checks.test.timeout"].String(); got != "ci.toml:6 ralph.toml:4" {
		t.Errorf("origins = %s", got)
	}
}

func TestGuessKind(t *testing.T) {
	tests := []struct{ command, want, why string }{
		{"shellcheck *.sh", "lint", "a lint word"},
		{"npx eslint .", "lint", "inside a longer word"},
		{"golangci-lint run", "lint", "inside a longer word"},
		{"flake8", "lint", "a lint word"},
		{"uv run mypy .", "typecheck", ""},
		{"npx tsc --noEmit", "typecheck", ""},
		{"vue-tsc", "typecheck", "a word of its own after a hyphen"},
		{"go vet ./...", "typecheck", ""},
		{"sh velvet.sh", "test", "vet within another word is chance"},
		{"cargo fmt --check", "format", ""},
		{"prettier --check .", "format", ""},
		{"npm run format", "format", ""},
		{"pylint --format=json", "lint", "lint is tried before format"},
		{"sh print-information.sh", "test", "format within another word is chance"},
		{"go test ./...", "test", ""},
		{"cargo clippy", "test", "what is unknown must pass"},
		{"", "test", "what is unknown must pass"},
	}
	for _, tt := range tests {
		if got := GuessKind(tt.command); got != tt.want {
			t.Errorf("GuessKind(%q) = %s, want %s (%s)", tt.command, got, tt.want, tt.why)
		}
	}
}

func TestWarnsOfWhatDoesNotRun(t *testing.T) {
	r := mustLoad(t, Sources{Files: file(
		"[[steps]]\nname = \"fmt\"\nrun = \"gofmt -w .\"\n[[passes]]\nname = \"review\"\nenabled = false\n")})
	want := []string{"ralph.toml:1: steps.fmt.enabled is not set, so it does not run; write enabled = true or false"}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestRole(t *testing.T) {
	src := Sources{Files: file(`
[agent]
model = "base"
fallback_model = "spare"
[agent.roles.coding]
model = "coder"
[agent.roles.planning]
model = "thinker"
max_turns = 3
driver = "codex"
timeout = "0s"
[agent.roles.review]
mcp = ["docs"]
[mcp.docs]
url = "https://docs.example"
[[passes]]
name = "review"
enabled = true
model = "reviewer"
tools = ["Read"]
`)}
	r := mustLoad(t, src)
	base := RoleSettings{Driver: "claude", Model: "base", FallbackModel: "spare", MaxTurns: 50,
		Timeout: 20 * time.Minute, IdleTimeout: 5 * time.Minute}
	with := func(change func(*RoleSettings)) RoleSettings { s := base; change(&s); return s }
	tests := []struct {
		role, why string
		want      RoleSettings
	}{
		{"validation", "nothing of its own", base},
		{"coding", "its own model", with(func(s *RoleSettings) { s.Model = "coder" })},
		{"planning", "zero is a value of its own", with(func(s *RoleSettings) {
			s.Model, s.MaxTurns, s.Driver, s.Timeout = "thinker", 3, "codex", 0
		})},
		{"indexer", "index.max_turns", with(func(s *RoleSettings) { s.MaxTurns = 10 })},
		{"review", "the pass, then its role", with(func(s *RoleSettings) {
			s.Model, s.MaxTurns, s.Tools, s.MCP = "reviewer", 5, []string{"Read"}, []string{"docs"}
		})},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, r.Role(tt.role)); diff != "" {
			t.Errorf("%s (%s) (-want +got):\n%s", tt.role, tt.why, diff)
		}
	}
	src.Flags = map[string]string{"agent.model": "typed"}
	r = mustLoad(t, src)
	if got := r.Role("coding").Model; got != "typed" {
		t.Errorf("coding with --model uses %q", got)
	}
	if got := r.Role("planning").Model; got != "thinker" {
		t.Errorf("planning with --model uses %q: the flag means the coding agent", got)
	}
}

func TestToolchainCommands(t *testing.T) {
	got := Toolchain{Preset: "python-uv", Typecheck: "uv run pyright"}.Commands()
	want := Toolchain{Preset: "python-uv", Test: "uv run pytest", Lint: "uv run ruff check .",
		Typecheck: "uv run pyright", Add: "uv add", Sync: "uv sync"}
	if got != want {
		t.Errorf("Commands() = %+v, want %+v", got, want)
	}
	for _, name := range schema().child("toolchain").child("preset").enum {
		c := Toolchain{Preset: name}.Commands()
		if full := c.Test != "" && c.Lint != "" && c.Typecheck != "" && c.Add != "" &&
			c.Sync != ""; full != (name != "none") {
			t.Errorf("preset %s: %+v", name, c)
		}
	}
}

func TestTrust(t *testing.T) {
	hash := TrustHash([]byte("abc"))
	if hash != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("TrustHash is not the sha256: %s", hash)
	}
	git := proc.Config{{Key: "ralph.trust", Value: "other"}, {Key: "ralph.loop.mode", Value: hash},
		{Key: "ralph.trust", Value: " " + strings.ToUpper(hash)}}
	if !IsTrusted(hash, TrustValues(git)) {
		t.Error("a hash among the values is not trusted")
	}
	if IsTrusted(hash, TrustValues(git[:2])) || IsTrusted("", []string{""}) {
		t.Error("a hash that is not there is trusted")
	}
}

func TestPreflight(t *testing.T) {
	tests := []struct{ why, text, want string }{
		{"the defaults need nothing", "", ""},
		{"a command", "[agent]\ndriver = \"command\"\ncommand = [\"sh\"]\n", ""},
		{"no command", "[agent]\ndriver = \"command\"\n",
			"the driver is command, and agent.command is empty (agent.driver comes from ralph.toml:2)"},
		{"no command for a role", "[agent.roles.planning]\ndriver = \"command\"\n",
			"the driver is command, and agent.command is empty (agent.roles.planning.driver comes from ralph.toml:2)"},
		{"no fallback", "[agent]\non_limit = \"fallback\"\n",
			"a limit is to be met by the fallback, and there is none (agent.on_limit comes from ralph.toml:2)"},
		{"a fallback", "[agent]\non_limit = \"fallback\"\nfallback_model = \"x\"\n", ""},
	}
	for _, tt := range tests {
		got := ""
		if err := mustLoad(t, Sources{Files: file(tt.text)}).Preflight(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
}
