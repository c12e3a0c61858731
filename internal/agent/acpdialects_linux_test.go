package agent

import (
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop/session"
)

// acpDialects are clients that have their own driver, here driven by the common ACP
// protocol. They use the user's settings, so there is no row for a repository's.
func acpDialects() []dialect {
	g, _ := ACPDialectOf("gemini-cli")
	o, _ := ACPDialectOf("OpenCode")
	return []dialect{
		{Dialect: g, variable: "RALPH_TEST_GEMINI", pinned: "@google/gemini-cli/bundle/gemini.js",
			argv: func(binary string) []string { return []string{"node", binary, "--acp"} },
			failures: []failure{
				{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "UNAUTHENTICATED",
					Message: "API key not valid"}, session.AuthFailed, "API key not valid", never, nil},
				{"a prompt that is too long", fakemodel.Step{Status: 400, ErrorType: "INVALID_ARGUMENT",
					Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
					session.ContextLimit, "", never, nil},
			}},
		{Dialect: o, variable: "RALPH_TEST_OPENCODE", pinned: "opencode-linux-x64/bin/opencode",
			argv: func(binary string) []string { return []string{binary, "acp"} },
			failures: []failure{
				{"a key that is not accepted", fakemodel.Step{Status: 401, ErrorType: "authentication_error",
					Message: "invalid x-api-key"}, session.AuthFailed, "x-api-key", never, nil},
			}},
	}
}
