package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/proc"
)

// gitList writes values with real git and reads them back as callers do. It uses
// its own file, so that the machine's configuration does not matter.
func gitList(t *testing.T, args ...[]string) proc.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) []byte {
		cmd := exec.Command("git", append([]string{"config", "-f", path}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git config %q: %v", args, err)
		}
		return out
	}
	for _, a := range args {
		git(a...)
	}
	values, err := proc.ParseConfig(git("--list", "--show-scope", "--show-origin", "-z"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestGitConfig(t *testing.T) {
	tests := []struct {
		why  string
		args [][]string
		key  string
		want string // Entry.Text
	}{
		{"underscores fall away, case as people write it", [][]string{{"ralph.loop.maxIterations", "20"}},
			"loop.max_iterations", "loop.max_iterations = 20"},
		{"a section in capitals", [][]string{{"ralph.Loop.MAXITERATIONS", "20"}}, "loop.max_iterations",
			"loop.max_iterations = 20"},
		{"hyphens, which git allows in names", [][]string{{"ralph.loop.max-iterations", "20"}}, "loop.max_iterations",
			"loop.max_iterations = 20"},
		{"git's suffixes of numbers", [][]string{{"ralph.context.windowTokens", "128k"}}, "context.window_tokens",
			"context.window_tokens = 131072"},
		{"git's words for true", [][]string{{"ralph.agent.ask", "on"}}, "agent.ask", "agent.ask = true"},
		{"the last of several values, as git reads it", [][]string{{"--add", "ralph.loop.mode", "x"},
			{"--add", "ralph.loop.mode", "handoff-plus-index"}}, "loop.mode", `loop.mode = "handoff-plus-index"`},
		{"a list is a repeated key", [][]string{{"--add", "ralph.guard.deny", "curl *"},
			{"--add", "ralph.guard.deny", "wget *"}}, "guard.deny", `guard.deny = ["curl *", "wget *"]`},
		{"an empty value forgets those before it", [][]string{{"--add", "ralph.guard.deny", "a"},
			{"--add", "ralph.guard.deny", ""}, {"--add", "ralph.guard.deny", "b"}}, "guard.deny", `guard.deny = ["b"]`},
		{"an empty list", [][]string{{"ralph.guard.protected", ""}}, "guard.protected", "guard.protected = []"},
		{"one line is an argv", [][]string{{"ralph.agent.command", `sh 'my agent.sh' --x`}}, "agent.command",
			`agent.command = ["sh", "my agent.sh", "--x"]`},
		{"several lines are an argv as they stand", [][]string{{"--add", "ralph.agent.command", "sh"},
			{"--add", "ralph.agent.command", "my agent.sh"}}, "agent.command", `agent.command = ["sh", "my agent.sh"]`},
		{"one glob is one glob, blanks and all", [][]string{{"ralph.guard.protected", "my docs/**"}}, "guard.protected",
			`guard.protected = ["my docs/**"]`},
		{"a pattern that looks like a list", [][]string{{"ralph.guard.protected", "[a-z]*"}}, "guard.protected",
			`guard.protected = ["[a-z]*"]`},
		{"a list written as in ralph.toml", [][]string{{"ralph.guard.protected", `["a", "b"]`}}, "guard.protected",
			`guard.protected = ["a", "b"]`},
		{"a role", [][]string{{"ralph.agent.roles.planning.model", "opus"}}, "agent.roles.planning.model",
			`agent.roles.planning.model = "opus"`},
		{"a role in another case", [][]string{{"ralph.agent.roles.Context-Prep.maxTurns", "3"}},
			"agent.roles.context-prep.max_turns", "agent.roles.context-prep.max_turns = 3"},
		{"a model with dots keeps its name", [][]string{{"ralph.pricing.GPT-4.1.cacheRead", "0.5"}},
			`pricing."GPT-4.1".cache_read`, `pricing."GPT-4.1".cache_read = 0.5`},
		{"a server", [][]string{{"ralph.mcp.context7.command", "npx -y context7"}}, "mcp.context7.command",
			`mcp.context7.command = ["npx", "-y", "context7"]`},
		{"the environment of a server", [][]string{{"--add", "ralph.mcp.c.env", "A=1"},
			{"--add", "ralph.mcp.c.env", "B=x=y"}}, "mcp.c.env", `mcp.c.env = {A = "1", B = "x=y"}`},
		{"a string may be empty", [][]string{{"ralph.agent.model", ""}}, "agent.model", `agent.model = ""`},
		{"a variable", [][]string{{"ralph.agent.model", "m-${WHERE}"}}, "agent.model", `agent.model = "m-here"`},
		{"a list of commands is the shell's", [][]string{{"ralph.project.setup", "echo ${NOWHERE}"}}, "project.setup",
			`project.setup = ["echo ${NOWHERE}"]`},
		{"trust is kept beside the settings", [][]string{{"ralph.trust", "abc"}, {"ralph.loop.delay", "3s"},
			{"user.name", "x"}}, "loop.delay", `loop.delay = "3s"`},
	}
	for _, tt := range tests {
		r, err := Load(Sources{Git: gitList(t, tt.args...), Env: map[string]string{"WHERE": "here"}})
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		e, err := r.Lookup(tt.key)
		if err != nil || e.Text() != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.why, e.Text(), err, tt.want)
		}
		if !strings.HasPrefix(e.Origin.String(), "git config ralph.") {
			t.Errorf("%s: origin %s", tt.why, e.Origin)
		}
	}
}

func TestGitConfigProblems(t *testing.T) {
	tests := []struct {
		why  string
		args [][]string
		want string
	}{
		{"a misspelt key", [][]string{{"ralph.loop.maxIteration", "1"}},
			"git config ralph.loop.maxiteration: unknown key ralph.loop.maxiteration; did you mean ralph.loop.maxIterations?"},
		{"a key without a section", [][]string{{"ralph.mode", "x"}},
			"git config ralph.mode: unknown key ralph.mode; did you mean ralph.loop.mode?"},
		{"a list of tables", [][]string{{"ralph.checks.test.run", "go test"}},
			"git config ralph.checks.test.run: checks is a list of tables, which git config cannot hold"},
		{"a wrong value", [][]string{{"ralph.loop.delay", "30"}},
			`git config ralph.loop.delay: loop.delay must be a duration such as "20m" or "1h30m", not "30"`},
		{"a number that is too large", [][]string{{"ralph.loop.maxAttempts", "9999999999g"}},
			`git config ralph.loop.maxattempts: loop.max_attempts must be a whole number, not "9999999999g"`},
		{"an empty number", [][]string{{"ralph.loop.maxAttempts", ""}},
			`git config ralph.loop.maxattempts: loop.max_attempts is empty`},
		{"a quote without its end", [][]string{{"ralph.agent.command", "sh 'x"}},
			`git config ralph.agent.command: agent.command has a quote that is not closed: "sh 'x"`},
		{"a role that nothing has", [][]string{{"ralph.agent.roles.planing.model", "x"}},
			`git config ralph.agent.roles.planing.model: agent.roles.planing is neither a role nor a pass; did you mean ` +
				`planning?`},
		{"a variable that is not set", [][]string{{"ralph.agent.model", "${NO}"}},
			"git config ralph.agent.model: agent.model uses ${NO}, which is not set in the environment"},
	}
	for _, tt := range tests {
		got := problems(t, Sources{Git: gitList(t, tt.args...)})
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
	// git config cannot write a key without "=", people and templates can.
	if r := mustLoad(t, Sources{Git: proc.Config{{Key: "ralph.agent.ask", Bare: true}}}); !r.Agent.Ask {
		t.Error("a key without a value is not true")
	}
	got := problems(t, Sources{Git: proc.Config{{Key: "ralph.agent.model", Bare: true}}})
	if diff := cmp.Diff([]string{"git config ralph.agent.model: agent.model has no value"}, got); diff != "" {
		t.Errorf("a bare string (-want +got):\n%s", diff)
	}
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		why  string
		env  map[string]string
		key  string
		want string // Entry.Text
		from string
	}{
		{"the derived name", map[string]string{"RALPH_LOOP_MAX_ITERATIONS": "20"}, "loop.max_iterations",
			"loop.max_iterations = 20", "RALPH_LOOP_MAX_ITERATIONS"},
		{"the old name", map[string]string{"RALPH_MAX_ITERATIONS": "21"}, "loop.max_iterations",
			"loop.max_iterations = 21", "RALPH_MAX_ITERATIONS"},
		{"the new name wins", map[string]string{"RALPH_MAX_ITERATIONS": "21", "RALPH_LOOP_MAX_ITERATIONS": "20"},
			"loop.max_iterations", "loop.max_iterations = 20", "RALPH_LOOP_MAX_ITERATIONS"},
		{"an empty new name does not", map[string]string{"RALPH_MAX_ITERATIONS": "21", "RALPH_LOOP_MAX_ITERATIONS": ""},
			"loop.max_iterations", "loop.max_iterations = 21", "RALPH_MAX_ITERATIONS"},
		{"dollars", map[string]string{"RALPH_MAX_COST_USD": "$12.5"}, "limits.total_usd", "limits.total_usd = 12.5",
			"RALPH_MAX_COST_USD"},
		{"percent", map[string]string{"RALPH_CONTEXT_BUDGET_PERCENT": "55%"}, "context.handoff_percent",
			"context.handoff_percent = 55", "RALPH_CONTEXT_BUDGET_PERCENT"},
		{"failures", map[string]string{"RALPH_CIRCUIT_BREAKER_FAILURES": "4"}, "breaker.failures",
			"breaker.failures = 4", "RALPH_CIRCUIT_BREAKER_FAILURES"},
		{"stagnation", map[string]string{"RALPH_CIRCUIT_BREAKER_STAGNATION": "6"}, "breaker.stagnation",
			"breaker.stagnation = 6", "RALPH_CIRCUIT_BREAKER_STAGNATION"},
		{"the model by a variable of another loop", map[string]string{"RALPH_PRIMARY_MODEL": "a"}, "agent.model",
			`agent.model = "a"`, "RALPH_PRIMARY_MODEL"},
		{"the model of the other wins", map[string]string{"RALPH_PRIMARY_MODEL": "a", "RALPH_MODEL": "b"},
			"agent.model", `agent.model = "b"`, "RALPH_MODEL"},
		{"a role's model", map[string]string{"RALPH_PLANNING_MODEL": "p"}, "agent.roles.planning.model",
			`agent.roles.planning.model = "p"`, "RALPH_PLANNING_MODEL"},
		{"a role's model by its derived name", map[string]string{"RALPH_PLANNING_MODEL": "p",
			"RALPH_AGENT_ROLES_PLANNING_MODEL": "q"}, "agent.roles.planning.model", `agent.roles.planning.model = "q"`,
			"RALPH_AGENT_ROLES_PLANNING_MODEL"},
		{"a role with a hyphen", map[string]string{"RALPH_CONTEXT_AGENT_MODEL": "c"}, "agent.roles.context-prep.model",
			`agent.roles.context-prep.model = "c"`, "RALPH_CONTEXT_AGENT_MODEL"},
		{"a role with a hyphen by its derived name", map[string]string{"RALPH_AGENT_ROLES_CONTEXT_PREP_TIMEOUT": "3m"},
			"agent.roles.context-prep.timeout", `agent.roles.context-prep.timeout = "3m"`,
			"RALPH_AGENT_ROLES_CONTEXT_PREP_TIMEOUT"},
		{"the fallback", map[string]string{"RALPH_FALLBACK_MODEL": "f"}, "agent.fallback_model",
			`agent.fallback_model = "f"`, "RALPH_FALLBACK_MODEL"},
		{"the mode", map[string]string{"RALPH_MODE": "agent-orchestrated"}, "loop.mode",
			`loop.mode = "agent-orchestrated"`, "RALPH_MODE"},
		{"the strategy", map[string]string{"RALPH_VALIDATION_STRATEGY": "lenient"}, "validation.strategy",
			`validation.strategy = "lenient"`, "RALPH_VALIDATION_STRATEGY"},
		{"an old name that is the derived one as well", map[string]string{"RALPH_CONTEXT_BUDGET_TOKENS": "9000"},
			"context.budget_tokens", "context.budget_tokens = 9000", "RALPH_CONTEXT_BUDGET_TOKENS"},
		{"the budget of the index mode", map[string]string{"RALPH_CONTEXT_BUDGET_TOKENS_HPI": "17000"},
			"context.index_budget_tokens", "context.index_budget_tokens = 17000", "RALPH_CONTEXT_BUDGET_TOKENS_HPI"},
		{"interval", map[string]string{"RALPH_COMPACTION_INTERVAL": "6"}, "index.interval", "index.interval = 6",
			"RALPH_COMPACTION_INTERVAL"},
		{"bytes", map[string]string{"RALPH_COMPACTION_THRESHOLD_BYTES": "1"}, "index.bytes", "index.bytes = 1",
			"RALPH_COMPACTION_THRESHOLD_BYTES"},
		{"the indexer's turns", map[string]string{"RALPH_COMPACTION_MAX_TURNS": "11"}, "index.max_turns",
			"index.max_turns = 11", "RALPH_COMPACTION_MAX_TURNS"},
		{"novelty", map[string]string{"RALPH_NOVELTY_OVERLAP_THRESHOLD": "0.5"}, "index.novelty", "index.novelty = 0.5",
			"RALPH_NOVELTY_OVERLAP_THRESHOLD"},
		{"recent", map[string]string{"RALPH_NOVELTY_RECENT_HANDOFFS": "4"}, "index.recent", "index.recent = 4",
			"RALPH_NOVELTY_RECENT_HANDOFFS"},
		{"seconds without a unit", map[string]string{"RALPH_MIN_DELAY_SECONDS": "30"}, "loop.delay",
			`loop.delay = "30s"`, "RALPH_MIN_DELAY_SECONDS"},
		{"turns", map[string]string{"RALPH_DEFAULT_MAX_TURNS": "12"}, "agent.max_turns", "agent.max_turns = 12",
			"RALPH_DEFAULT_MAX_TURNS"},
		{"the prefix", map[string]string{"RALPH_COMMIT_PREFIX": "bot"}, "loop.commit_prefix",
			`loop.commit_prefix = "bot"`, "RALPH_COMMIT_PREFIX"},
		{"a list has one item a line", map[string]string{"RALPH_GUARD_PROTECTED": "a/**\nb c/**\n"}, "guard.protected",
			`guard.protected = ["a/**", "b c/**"]`, "RALPH_GUARD_PROTECTED"},
		{"one line is an argv", map[string]string{"RALPH_AGENT_COMMAND": `sh "my agent.sh" a\ b ""`}, "agent.command",
			`agent.command = ["sh", "my agent.sh", "a b", ""]`, "RALPH_AGENT_COMMAND"},
		{"a value is taken as it stands: a shell has expanded it", map[string]string{"RALPH_AGENT_MODEL": "${X}"},
			"agent.model", `agent.model = "${X}"`, "RALPH_AGENT_MODEL"},
	}
	for _, tt := range tests {
		r, err := Load(Sources{Env: tt.env})
		if err != nil {
			t.Errorf("%s: %v", tt.why, err)
			continue
		}
		e, err := r.Lookup(tt.key)
		if err != nil || e.Text() != tt.want || e.Origin.String() != tt.from {
			t.Errorf("%s: %s from %s, %v; want %s from %s", tt.why, e.Text(), e.Origin, err, tt.want, tt.from)
		}
		if len(r.Warnings) > 0 {
			t.Errorf("%s: warnings %q", tt.why, r.Warnings)
		}
	}
}

func TestEnvironmentNamesOfTables(t *testing.T) {
	// The name of a server or model is spelled as in its definition.
	r := mustLoad(t, Sources{
		Files: file(
			"[mcp.Context-7]\nurl = \"http://a.example\"\n[pricing.\"gpt-4.1\"]\ninput = 1.0\n[[passes]]\nname = \"review\"\n" +
				"enabled = true\n"),
		Env: map[string]string{"RALPH_MCP_CONTEXT_7_URL": "http://b.example", "RALPH_PRICING_GPT_4_1_INPUT": "2",
			"RALPH_AGENT_ROLES_REVIEW_MODEL": "m"},
	})
	if r.MCP["Context-7"].URL != "http://b.example" || r.Pricing["gpt-4.1"].Input != 2_000_000 ||
		r.Role("review").Model != "m" || len(r.Warnings) > 0 {
		t.Errorf("mcp %v, pricing %v, review %v, warnings %q", r.MCP, r.Pricing, r.Role("review"), r.Warnings)
	}
}

func TestEnvironmentChecks(t *testing.T) {
	r := mustLoad(t, Sources{
		Files: file("[[checks]]\nname = \"old\"\nrun = \"make test\"\n"),
		Env:   map[string]string{"RALPH_VALIDATION_COMMANDS": "bats tests/\n\n  shellcheck *.sh\nsh more.sh ${X}\n"},
	})
	want := []Check{
		{Name: "test", Run: "bats tests/", Kind: "test", Timeout: 10 * time.Minute, When: "each"},
		{Name: "lint", Run: "shellcheck *.sh", Kind: "lint", Timeout: 10 * time.Minute, When: "each"},
		{Name: "test-2", Run: "sh more.sh ${X}", Kind: "test", Timeout: 10 * time.Minute, When: "each"},
	}
	if diff := cmp.Diff(want, r.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	for key, o := range r.Origin {
		if strings.HasPrefix(key, "checks.") && o.Layer == LayerFile {
			t.Errorf("%s still comes from %s", key, o)
		}
	}
}

func TestEnvironmentWarnings(t *testing.T) {
	tests := []struct {
		name, want, why string
	}{
		{"RALPH_TRUST", "", "a switch of one call"},
		{"RALPH_TASK_ID", "", "given to agents, also when they start us again"},
		{"RALPH_TOOL_SOCKET", "", "given to agents as well"},
		{"RALPH_OF_THE_CALLER", "", "the caller knows it"},
		{"RALPHIE", "", "not ours"},
		{"RALPH_LOOP_MAX_ITERATION",
			"RALPH_LOOP_MAX_ITERATION is not a setting; did you mean RALPH_LOOP_MAX_ITERATIONS?",
			"a misspelt name is no reason to stop, since other programs may be called so"},
		{"RALPH_MAX_COST_USDS", "RALPH_MAX_COST_USDS is not a setting; did you mean RALPH_MAX_COST_USD?",
			"old names count as known"},
		{"RALPH_AUTO_COMMIT", "RALPH_AUTO_COMMIT has no meaning here: what passed is always committed by the harness",
			"an old name without a successor says so"},
	}
	for _, tt := range tests {
		r := mustLoad(t, Sources{Env: map[string]string{tt.name: "x"}, IgnoreEnv: []string{"RALPH_OF_THE_CALLER"}})
		if got := strings.Join(r.Warnings, "\n"); got != tt.want {
			t.Errorf("%s (%s): got %q, want %q", tt.name, tt.why, got, tt.want)
		}
	}
}

func TestRunOverrides(t *testing.T) {
	r := mustLoad(t, Sources{Run: map[string]string{"loop.delay": "5s", "agent.max_turns": "x", "guard.sandbox": "off",
		"index.bites": "1"}})
	if r.Loop.Delay != 5*time.Second || r.Guard.Sandbox != "auto" {
		t.Errorf("delay %v, sandbox %s", r.Loop.Delay, r.Guard.Sandbox)
	}
	want := []string{
		`override of agent.max_turns is left out: agent.max_turns must be a whole number, not "x"`,
		"override of guard.sandbox is left out: guard.sandbox cannot be changed during a run",
		"override of index.bites is left out: unknown key index.bites; did you mean index.bytes?",
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Errorf("a journal of another version must not stop anything (-want +got):\n%s", diff)
	}
}

func TestParseSet(t *testing.T) {
	tests := []struct{ key, value, wantKey, wantText, why string }{
		{"mode", "handoff-plus-index", "loop.mode", "handoff-plus-index", "the short form"},
		{"loop.maxIterations", "7", "loop.max_iterations", "7", "as in git config"},
		{"limits.session_usd", "$2.50", "limits.session_usd", "2.5", "stored in one form"},
		{"limits.session_time", "90m", "limits.session_time", "1h30m", "stored in one form"},
		{"index.novelty", ".5", "index.novelty", "0.5", ""},
		{"validation.strategy", "tests_only", "validation.strategy", "tests_only", ""},
		{"agent.model", "", "agent.model", "", "back to the client's own choice"},
	}
	for _, tt := range tests {
		key, text, err := ParseSet(tt.key, tt.value)
		if err != nil || key != tt.wantKey || text != tt.wantText {
			t.Errorf("ParseSet(%s, %s) = %s, %s, %v (%s)", tt.key, tt.value, key, text, err, tt.why)
		}
	}
	for _, key := range []string{"guard.sandbox", "checks", "loop.dirty", "agent.driver", "nonsense", ""} {
		if _, _, err := ParseSet(key, "x"); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseSet(%q) = %v", key, err)
		}
	}
	want := "agent.model agent.max_turns loop.mode loop.max_iterations loop.delay validation.strategy " +
		"index.interval index.bytes index.novelty index.recent index.max_turns limits.iteration_usd limits.session_usd " +
		"limits.total_usd limits.iteration_tokens limits.session_tokens limits.total_tokens limits.session_time"
	if got := strings.Join(Settable(), " "); got != want {
		t.Errorf("settable keys are\n%s, want\n%s", got, want)
	}
}
