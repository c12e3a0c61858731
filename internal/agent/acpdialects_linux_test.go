package agent

import (
	"encoding/json"

	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop/session"
)

// acpDialects are clients with a driver of their own, driven by the protocol that
// any client may speak. Their settings are the user's, so that they have no row
// about those of a repository.
func acpDialects() []dialect {
	g := dialect{Dialect: of("gemini"), variable: "RALPH_TEST_GEMINI", pinned: "@google/gemini-cli/bundle/gemini.js",
		argv: func(binary string) []string { return []string{"node", binary, "--acp"} },
		failures: []failure{
			{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "UNAUTHENTICATED",
				Message: "API key not valid"}, session.AuthFailed, "API key not valid", never},
			{"a prompt that is too long", fakemodel.Step{Status: 400, ErrorType: "INVALID_ARGUMENT",
				Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
				session.ContextLimit, "", never},
		}}
	g.Driver = "acp"
	ask := g.Env
	g.Env = func(url string) map[string]string {
		env := ask(url)
		env["GEMINI_CLI_TRUST_WORKSPACE"] = "true" // else it starts no MCP server
		return env
	}
	o := dialect{Dialect: of("opencode"), variable: "RALPH_TEST_OPENCODE", pinned: "opencode-linux-x64/bin/opencode",
		argv: func(binary string) []string { return []string{binary, "acp"} },
		failures: []failure{
			{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "authentication_error",
				Message: "invalid x-api-key"}, session.AuthFailed, "x-api-key", never},
		}}
	o.Driver = "acp"
	o.Env = func(url string) map[string]string {
		// As it comes it asks about nothing.
		config, _ := json.Marshal(map[string]any{"permission": map[string]string{"edit": "ask", "bash": "ask"},
			"provider": map[string]any{"anthropic": map[string]any{"options": map[string]string{"baseURL": url + "/v1"}}}})
		return map[string]string{"ANTHROPIC_API_KEY": "test-key", "OPENCODE_CONFIG_CONTENT": string(config),
			"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
	}
	return []dialect{g, o}
}
