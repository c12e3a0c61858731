package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// maxArgument is the longest single argument that we pass; Linux refuses more
// than 128 KiB.
const maxArgument = 120 << 10

// argv is the command line after the program. Settings and memory files of the
// user and of the project are not loaded (--setting-sources ""): what the
// repository contains must not configure the client that is about to change it.
// Partial messages are asked for because a long answer would otherwise look
// like silence, and because only they tell the output tokens of a message.
func argv(req session.Request, sessionID string) ([]string, error) {
	args := []string{"-p",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--setting-sources", "", "--strict-mcp-config", "--permission-mode", "bypassPermissions",
		"--tools", strings.Join(toolNames(client.Tools(req)), ","),
	}
	switch {
	case req.Resume != nil:
		args = append(args, "--resume", req.Resume.ID)
	case req.KeepSession:
		args = append(args, "--session-id", sessionID)
	default:
		args = append(args, "--no-session-persistence", "--session-id", sessionID)
	}
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Effort != "" {
		args = append(args, "--effort", req.Effort)
	}
	if req.FallbackModel != "" && req.FallbackModel != req.Model {
		args = append(args, "--fallback-model", req.FallbackModel)
	}
	if req.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(req.MaxTurns))
	}
	if most := req.MaxCostMicroUSD; most > 0 {
		if req.Resume != nil && req.Resume.Used.CostMicroUSD != nil {
			most += *req.Resume.Used.CostMicroUSD // the client goes on counting
		}
		args = append(args, "--max-budget-usd", strconv.FormatFloat(float64(most)/1e6, 'f', 6, 64))
	}
	if req.System != "" {
		args = append(args, "--append-system-prompt", req.System)
	}
	if len(req.MCP) > 0 {
		config, err := mcpConfig(req)
		if err != nil {
			return nil, err
		}
		args = append(args, "--mcp-config", config)
	}
	// Our tool is the better way to a handoff: with a schema the client forces a
	// last call on the model, and a model that does not make it ends "success".
	if len(req.HandoffSchema) > 0 && !client.HasTool(req, "ralph_submit_handoff") {
		args = append(args, "--json-schema", string(req.HandoffSchema))
	}
	for i, a := range args {
		if len(a) > maxArgument {
			return nil, fmt.Errorf("the argument of %s has %d bytes, more than %d", args[i-1], len(a), maxArgument)
		}
		if strings.ContainsRune(a, 0) {
			return nil, fmt.Errorf("the argument of %s contains a zero byte", args[i-1])
		}
	}
	return args, nil
}

// toolNames maps canonical tool names to the client's. Todo became four tools;
// AskUser has none, because the client offers no questions in this mode: the
// harness's ralph_ask_user takes its place. An unknown name passes as it is.
func toolNames(canonical []string) []string {
	names := []string{}
	for _, c := range canonical {
		switch c {
		case "Todo":
			names = append(names, "TaskCreate", "TaskGet", "TaskList", "TaskUpdate")
		case "AskUser":
		default:
			names = append(names, c)
		}
	}
	return names
}

// allowedTool says whether the client's tool name belongs to the run. The list
// given to the client is the first line, this the second.
func allowedTool(req session.Request, name string) bool {
	if server, ok := strings.CutPrefix(name, "mcp__"); ok {
		if strings.HasPrefix(server, serverName+"__") {
			return true
		}
		for other := range req.MCP {
			if strings.HasPrefix(server, other+"__") {
				return true
			}
		}
		return false
	}
	if name == "Agent" { // the name under which Task goes to the model
		name = "Task"
	}
	if name == "StructuredOutput" {
		return len(req.HandoffSchema) > 0
	}
	return slices.Contains(toolNames(client.Tools(req)), name)
}

// mcpConfig is --mcp-config for the role's servers. Values of their environment
// go through the client's own environment, because command lines can be read
// by everybody; the client's credentials are blanked.
func mcpConfig(req session.Request) (string, error) {
	servers := object{}
	for name, s := range req.MCP {
		if name == serverName || strings.Contains(name, "__") {
			return "", fmt.Errorf("an MCP server cannot be called %q", name)
		}
		if s.URL != "" {
			servers[name] = object{"type": "http", "url": s.URL}
			continue
		}
		if len(s.Command) == 0 {
			return "", fmt.Errorf("the MCP server %q has neither command nor url", name)
		}
		env := map[string]string{}
		for _, k := range credentials {
			if client.Get(req.Env, k) != "" {
				env[k] = ""
			}
		}
		for k := range s.Env {
			env[k] = "${" + mcpVariable(name, k) + "}"
		}
		servers[name] = object{"type": "stdio", "command": s.Command[0], "args": s.Command[1:], "env": env}
	}
	b, err := json.Marshal(object{"mcpServers": servers})
	return string(b), err
}

func mcpVariable(server, name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, server+"_"+name)
	return "RALPH_MCP_" + clean
}

// credentials are the variables that let the client in. Its tools do not get
// them: commands of its Bash tool are run with these unset.
var credentials = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
	"ANTHROPIC_FOUNDRY_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	"AWS_SESSION_TOKEN",
}

// Credentials are the names of the environment variables that the client needs
// to authenticate, and that nothing else should get.
func Credentials() []string { return slices.Clone(credentials) }

// CredentialFile is the file of the client's login, relative to HOME.
const CredentialFile = ".claude/.credentials.json"

// keptVariables are those of the client's own variables that a user may set.
// All others are dropped: some switch hooks off (CLAUDE_CODE_SIMPLE is --bare),
// some come from a client that git ralph itself was started by.
var keptVariables = []string{
	"CLAUDE_CODE_OAUTH_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_API_", "CLAUDE_CODE_CLIENT_",
	"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_PROXY_", "CLAUDE_CODE_EXTRA_BODY",
	"CLAUDE_CONFIG_DIR", "CLAUDE_STREAM_IDLE_TIMEOUT_MS", "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS",
}

// environ is the client's environment: the request's, with what makes the
// client quiet, foreground only and quick to notice a dead stream. root says
// that we run as root, where the client wants to be told that it is contained.
func environ(req session.Request, root bool) []string {
	env := make([]string, 0, len(req.Env)+32)
	for _, kv := range client.Environ(req) {
		name, _, _ := strings.Cut(kv, "=")
		if (strings.HasPrefix(name, "CLAUDE") || name == "IS_SANDBOX") &&
			!slices.ContainsFunc(keptVariables, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		env = append(env, kv)
	}
	env = client.Set(env,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", // else the process outlives its result
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",      // memory is the journal's
		"ENABLE_TOOL_SEARCH=false",               // else our tools are hidden behind a search
		"CLAUDE_ENABLE_STREAM_WATCHDOG=1", "CLAUDE_ENABLE_BYTE_WATCHDOG=1",
	)
	stall := stallLimit(req.Idle)
	for name, value := range map[string]string{
		"CLAUDE_CODE_MAX_RETRIES":            strconv.Itoa(maxRetries),
		"CLAUDE_STREAM_IDLE_TIMEOUT_MS":      strconv.FormatInt(stall.Milliseconds(), 10),
		"CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": strconv.FormatInt(stall.Milliseconds(), 10),
		"API_TIMEOUT_MS":                     strconv.FormatInt(stall.Milliseconds(), 10),
	} {
		if client.Get(env, name) == "" {
			env = client.Set(env, name+"="+value)
		}
	}
	if shell := proc.Look("bash", env); shell != "" {
		env = client.Set(env, "SHELL="+shell) // else it takes zsh where there is one
	}
	if root {
		env = client.Set(env, "IS_SANDBOX=1")
	}
	for name, s := range req.MCP {
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			env = client.Set(env, mcpVariable(name, k)+"="+s.Env[k])
		}
	}
	return env
}

// maxRetries is how often the client itself tries a request again; the loop
// waits longer, and knows why.
const maxRetries = 4

// stallLimit is how long a silent stream may last before the client tries
// again by itself: well before the harness calls it a hang.
func stallLimit(idle time.Duration) time.Duration {
	if idle <= 0 {
		return 2 * time.Minute
	}
	return min(max(idle/2, time.Second), 2*time.Minute)
}
