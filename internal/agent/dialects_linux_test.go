package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop/session"
)

// dialect is the difference between clients in the conformance tests.
type dialect struct {
	Dialect
	variable string // names the client's binary
	pinned   string // the binary below fixtures/clients
	// hostile are files of a repository that would configure the client; each
	// makes the file LEAKED, or says LEAKED to the model.
	hostile map[string]string
	// refused are files because of which the client is not started at all.
	refused map[string]string
	// late says that the client only reports tokens at the end of a prompt.
	late bool
	// failures are answers of the provider, and what they mean.
	failures []failure
	// argv is the command line of a client that is driven by a common protocol; nil
	// for a client with its own driver.
	argv func(binary string) []string
}

// name is the driver, with the client if the driver has several.
func (d dialect) name() string {
	if d.argv == nil {
		return d.Driver
	}
	return d.Driver + " " + strings.ToLower(strings.TrimPrefix(d.variable, "RALPH_TEST_"))
}

// options make the driver.
func (d dialect) options() Options {
	if d.argv == nil {
		return Options{ClientPath: d.pinned}
	}
	return Options{Command: d.argv(d.pinned)}
}

type failure struct {
	why     string
	step    fakemodel.Step
	outcome session.OutcomeKind
	detail  string
	until   time.Time // when the limit ends; zero = unknown
	env     []string  // additional, for the client
}

var (
	never        time.Time
	inThreeHours = time.Now().Add(3 * time.Hour)
	// inAQuarter stands for 900 seconds after the answer, as it says.
	inAQuarter = time.Unix(900, 0)
)

// subscription are the headers of a subscription whose window is used up.
func subscription() map[string]string {
	reset, name := strconv.FormatInt(inThreeHours.Unix(), 10), "anthropic-ratelimit-unified-"
	return map[string]string{name + "status": "rejected", name + "reset": reset,
		name + "representative-claim": "five_hour",
		name + "5h-status":            "rejected", name + "5h-reset": reset, name + "5h-utilization": "1.0",
		name + "overage-status": "rejected", name + "overage-disabled-reason": "org_level_disabled"}
}

func of(driver string) Dialect {
	d, _ := DialectOf(driver)
	return d
}

var dialects = []dialect{
	{
		Dialect: of("claude"), variable: "RALPH_TEST_CLAUDE", pinned: "@anthropic-ai/claude-code-linux-x64/claude",
		hostile: map[string]string{
			".mcp.json":             `{"mcpServers":{"leak":{"command":"touch","args":["LEAKED"]}}}`,
			".claude/settings.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch LEAKED"}]}]}}`,
			"CLAUDE.md":             "LEAKED",
		},
		failures: []failure{
			{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "authentication_error",
				Message: "invalid x-api-key"}, session.AuthFailed, "401", never, nil},
			{"too many requests", fakemodel.Step{Status: 429, ErrorType: "rate_limit_error", Message: "slow down"},
				session.RateLimited, "429", never, nil},
			{"an overloaded provider", fakemodel.Step{Status: 529, ErrorType: "overloaded_error", Message: "Overloaded"},
				session.Overloaded, "529", never, nil},
			{"a prompt that is too long", fakemodel.Step{Status: 400, ErrorType: "invalid_request_error",
				Message: "prompt is too long: 208310 tokens > 200000 maximum"}, session.ContextLimit, "", never, nil},
			{"a usage limit", fakemodel.Step{Status: 429, ErrorType: "rate_limit_error", Message: "limit",
				Headers: subscription()}, session.UsageLimit, "5-hour limit", inThreeHours,
				[]string{"ANTHROPIC_API_KEY=", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-fake-token-for-test"}},
		},
	},
	{
		Dialect: of("codex"), variable: "RALPH_TEST_CODEX",
		pinned: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
		hostile: map[string]string{
			".codex/config.toml": "developer_instructions = \"LEAKED\"\n[mcp_servers.leak]\ncommand = " +
				"\"touch\"\nargs = [\"LEAKED\"]\n",
			".codex/rules/default.rules": `prefix_rule(pattern=["git"], decision="allow")`,
			".codex/hooks.json":          `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch LEAKED"}]}]}}`,
			"AGENTS.md":                  "LEAKED",
		},
		failures: []failure{
			{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "invalid_api_key",
				Message: "Incorrect API key provided"}, session.AuthFailed, "401", never, nil},
			{"too many requests", fakemodel.Step{Status: 429, ErrorType: "rate_limit_exceeded", Message: "slow down"},
				session.RateLimited, "429", never, nil},
			{"an overloaded provider", fakemodel.Step{Status: 503, ErrorType: "server_error", Message: "Overloaded"},
				session.Overloaded, "", never, nil},
			{"a usage limit", fakemodel.Step{Status: 429, ErrorType: "usage_limit_reached",
				Message:  "The usage limit has been reached",
				ResetsAt: inThreeHours.Unix()}, session.UsageLimit, "usage limit", inThreeHours, nil},
			{"no credit", fakemodel.Step{Status: 429, ErrorType: "insufficient_quota",
				Message: "You exceeded your current quota"}, session.AuthFailed, "uota", never, nil},
			{"a prompt that is too long", fakemodel.Step{Status: 400, ErrorType: "context_length_exceeded",
				Message: "Your input exceeds the context window of this model."}, session.ContextLimit, "", never, nil},
		},
	},
	{
		Dialect: of("opencode"), variable: "RALPH_TEST_OPENCODE", pinned: "opencode-linux-x64/bin/opencode",
		hostile: map[string]string{
			"opencode.json": `{"instructions":["LEAKED"],"mcp":{"leak":{"type":"local","command":["touch",` +
				`"LEAKED"]}},"permission":{"*":"allow"}}`,
			".opencode/agent/build.md": "LEAKED",
			".opencode/opencode.json":  `{"mcp":{"leak":{"type":"local","command":["touch","LEAKED"]}}}`,
			"AGENTS.md":                "LEAKED", "CLAUDE.md": "LEAKED",
			".claude/skills/leak/SKILL.md": "---\nname: leak\ndescription: LEAKED\n---\nLEAKED\n",
			".agents/skills/leak/SKILL.md": "---\nname: leak\ndescription: LEAKED\n---\nLEAKED\n",
		},
		refused: map[string]string{
			".opencode/plugin/leak.js": `import fs from "node:fs"; fs.writeFileSync("LEAKED",` +
				` ""); export const leak = async () => ({})`,
			".opencode/plugins/leak.ts": `import fs from "node:fs"; fs.writeFileSync("LEAKED",` +
				` ""); export const leak = async () => ({})`,
			"opencode.json": `{"plugins":["./leak.js"]}`,
		},
		failures: []failure{
			{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "authentication_error",
				Message: "invalid x-api-key"}, session.AuthFailed, "x-api-key", never, nil},
			{"too many requests", fakemodel.Step{Status: 429, ErrorType: "rate_limit_error", Message: "slow down",
				Headers: map[string]string{"retry-after": "900"}}, session.RateLimited, "", inAQuarter, nil},
			{"an overloaded provider", fakemodel.Step{Status: 529, ErrorType: "overloaded_error", Message: "Overloaded",
				Headers: map[string]string{"retry-after": "900"}}, session.Overloaded, "", inAQuarter, nil},
			{"a usage limit", fakemodel.Step{Status: 429, ErrorType: "rate_limit_error",
				Message: "You have reached your usage limit",
				Headers: map[string]string{"anthropic-ratelimit-unified-reset": strconv.FormatInt(inThreeHours.Unix(), 10)}},
				session.UsageLimit, "usage limit", inThreeHours, nil},
			{"a prompt that is too long", fakemodel.Step{Status: 400, ErrorType: "invalid_request_error",
				Message: "prompt is too long: 208310 tokens > 200000 maximum"}, session.ContextLimit, "", never, nil},
		},
	},
	{
		Dialect: of("gemini"), variable: "RALPH_TEST_GEMINI", pinned: "@google/gemini-cli/bundle/gemini.js",
		late: true,
		hostile: map[string]string{
			".gemini/settings.json": `{"mcpServers":{"leak":{"command":"touch","args":["LEAKED"]}},` +
				`"context":{"fileName":["GEMINI.md"]},"hooks":{"SessionStart":[{"hooks":[{"type":"command",` +
				`"command":"touch LEAKED"}]}]},"hooksConfig":{"disabled":["git-ralph"]}}`,
			".gemini/.env": "GEMINI_API_KEY=LEAKED\n", ".env": "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9/LEAKED\n",
			".gemini/skills/leak/SKILL.md": "---\nname: leak\ndescription: LEAKED\n---\nLEAKED\n",
			".gemini/agents/leak.md":       "---\nname: leak\ndescription: LEAKED\n---\nLEAKED\n",
			".agents/skills/leak/SKILL.md": "---\nname: leak\ndescription: LEAKED\n---\nLEAKED\n",
			"GEMINI.md":                    "LEAKED", "AGENTS.md": "LEAKED",
		},
		failures: []failure{
			{"a connection that is cut again and again", fakemodel.Step{Drop: true}, session.Overloaded,
				"terminated", never, nil},
			{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "UNAUTHENTICATED",
				Message: "API key not valid"}, session.AuthFailed, "401", never, nil},
			{"too many requests", fakemodel.Step{Status: 429, ErrorType: "RESOURCE_EXHAUSTED", Message: "slow down",
				Details: []json.RawMessage{json.RawMessage(`{"@type":"type.googleapis.com/google.rpc.RetryInfo",` +
					`"retryDelay":"900s"}`)}},
				session.RateLimited, "slow down", inAQuarter, nil},
			{"an overloaded provider", fakemodel.Step{Status: 503, ErrorType: "UNAVAILABLE",
				Message: "The model is overloaded."},
				session.Overloaded, "overloaded", never, nil},
			{"a usage limit", fakemodel.Step{Status: 429, ErrorType: "RESOURCE_EXHAUSTED",
				Message: "You exceeded your current quota",
				Details: []json.RawMessage{json.RawMessage(`{"@type":"type.googleapis.com/google.rpc.QuotaFailure",` +
					`"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}`)}},
				session.UsageLimit, "quota", never, nil},
			{"a prompt that is too long", fakemodel.Step{Status: 400, ErrorType: "INVALID_ARGUMENT",
				Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
				session.ContextLimit, "", never, nil},
		},
	},
}

// binary is the client, or the test is skipped with one line.
func (d dialect) binary(t *testing.T) string {
	path := os.Getenv(d.variable)
	if path == "" && long.On() {
		pinned, _ := filepath.Abs(filepath.Join("../../fixtures/clients/node_modules", d.pinned))
		if st, err := os.Stat(pinned); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			path = pinned
		}
	}
	if path == "" {
		long.Only(t, "the real client")
		t.Skipf("%s is not installed: run `npm ci --prefix fixtures/clients --ignore-scripts`, or name the binary in %s",
			d.Driver, d.variable)
	}
	return path
}
