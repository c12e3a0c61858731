package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// The command of each preset, from the documentation of its client.
func TestPresetCommands(t *testing.T) {
	want := map[string]string{
		"aider": "aider --message-file /run/prompt.md --yes-always --no-auto-commits --no-dirty-commits --no-gitignore " +
			"--no-check-update --model m",
		"amp": "amp --dangerously-allow-all --stream-json -x < SYSTEM PROMPT",
		"copilot": "copilot -p SYSTEM PROMPT --allow-all-tools --no-ask-user --no-auto-update " +
			"--output-format json --model m",
		"cursor": "cursor-agent -p --force --output-format stream-json --model m SYSTEM PROMPT",
		"goose":  "goose run --no-session -i - GOOSE_MODE=auto GOOSE_MODEL=m < SYSTEM PROMPT",
		"qwen":   "qwen --yolo --output-format stream-json --model m < SYSTEM PROMPT",
	}
	got := map[string]string{}
	for _, p := range Presets() {
		argv, env, stdin, err := p.command(session.Request{Prompt: "PROMPT", System: "SYSTEM", PromptFile: "/run/prompt.md",
			Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(append(argv, env...), " ")
		if stdin != "" {
			text += " < " + stdin
		}
		got[p.Name] = strings.ReplaceAll(text, "\n\n", " ")
		long := session.Request{Prompt: strings.Repeat("x", maxArgument+1), PromptFile: "p"}
		_, _, _, err = p.command(long)
		if refused := p.Name == "copilot" || p.Name == "cursor"; (err != nil) != refused {
			t.Errorf("%s with a long prompt: %v", p.Name, err)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// JSON that a client prints becomes events, usage and outcomes. Its other output
// becomes transcript.
func TestPresetOutput(t *testing.T) {
	recorded := func(name string) string { // runs of the real client with a scripted model
		path, err := filepath.Abs(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		why, preset, script string
		outcome             session.OutcomeKind
		texts               int
		tokens              int64
	}{
		{"qwen works", "qwen", `cat >prompt; echo '{"type":"system","subtype":"session_start"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"edit"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","usage":{"input_tokens":100,"output_tokens":20}}'`,
			session.Completed, 1, 120},
		{"cursor works", "cursor-agent", `echo '{"type":"assistant","message":{"content":[{"type":"text","text":"done"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'`, session.Completed, 1, 0},
		{"amp is limited", "amp", `echo '{"type":"result","subtype":"error_during_execution","is_error":true,` +
			`"error":"429 rate limit"}'; exit 1`,
			session.RateLimited, 0, 0},
		{"qwen has no login", "qwen", `echo '{"type":"result","is_error":true,` +
			`"result":"401 Incorrect API key provided"}'; exit 1`,
			session.AuthFailed, 0, 0},
		{"qwen is not set up", "qwen", `echo '{"type":"result","subtype":"error_during_execution","is_error":true,` +
			`"error":{"message":"No auth type is selected. Please configure an auth type"}}'; exit 1`,
			session.AuthFailed, 0, 0},
		{"amp counts with each message", "amp", `echo '{"type":"assistant","message":{"content":[{"type":"text",` +
			`"text":"4"}],"usage":{"input_tokens":100,"cache_read_input_tokens":60,"output_tokens":20}}}'; ` +
			`echo '{"type":"result","subtype":"success","is_error":false,"result":"4"}'`, session.Completed, 1, 120},
		{"cursor has names of its own", "cursor-agent", `echo '{"type":"tool_call","subtype":"started",` +
			`"tool_call":{"shellToolCall":{"args":{"command":"ls"}}}}'; echo '{"type":"result","is_error":false,` +
			`"usage":{"inputTokens":100,"outputTokens":20}}'`, session.Completed, 0, 120},
		{"copilot works", "copilot", "cat " + recorded("copilot-done"), session.Completed, 2, 0},
		{"copilot is not let in", "copilot", "cat " + recorded("copilot-401") + "; exit 1", session.AuthFailed, 0, 0},
		{"copilot is limited", "copilot", "cat " + recorded("copilot-429") + "; exit 1", session.RateLimited, 0, 0},
		{"aider prints text", "aider", `echo 'Applied edit to a.txt'`, session.Completed, 0, 0},
		{"goose fails", "goose", `echo 'error: no provider' >&2; exit 1`, session.Crashed, 0, 0},
		{"aider has a wrong key, and ends well", "aider", `echo 'litellm.AuthenticationError: ` +
			`AnthropicException - invalid x-api-key'
echo 'The API provider is not able to authenticate you. Check your API key.'`,
			session.AuthFailed, 0, 0},
		{"aider is limited", "aider", `echo 'litellm.RateLimitError: OpenAIException - Please try again in 20s.'
echo 'The API provider has rate limited you. Try again later or check your quotas.'
echo 'Retrying in 32.0 seconds...'`,
			session.RateLimited, 0, 0},
		{"aider has no credit", "aider", `echo 'litellm.RateLimitError: OpenAIException - insufficient_quota'`,
			session.AuthFailed, 0, 0},
		{"aider's provider is overloaded", "aider", `echo 'litellm.InternalServerError: AnthropicException - Overloaded'
echo "The API provider's servers are down or overloaded."`, session.Overloaded, 0, 0},
		{"aider's window is full", "aider", `echo 'litellm.ContextWindowExceededError: x'; exit 1`, session.ContextLimit,
			0, 0},
		{"aider was limited and went on", "aider", `echo 'litellm.RateLimitError: x'; echo 'Retrying in 0.2 seconds...'
echo 'a.txt'; echo '<<<<<<< SEARCH'; echo '======='; echo 'x'; echo 'Tokens: 1k sent.'; echo 'Applied edit to a.txt'`,
			session.Completed, 0, 0},
		{"a test of aider's project quotes one", "aider", `echo 'E   litellm.RateLimitError: x'`, session.Completed,
			0, 0},
		{"goose has a wrong key", "goose", `echo 'Ran into this error: Authentication error: Authentication failed. ` +
			`Status: 401 Unauthorized.'; echo; echo 'Please retry if you think this is a transient or recoverable error.'`,
			session.AuthFailed, 0, 0},
		{"goose is limited", "goose", `echo 'error: Rate limit exceeded: Max retries exceeded' >&2; exit 1`,
			session.RateLimited, 0, 0},
		{"goose has no server", "goose", `echo 'Ran into this error: Server error: 529'`, session.Overloaded, 0, 0},
		{"goose has no credit", "goose", `echo 'Ran into this error: Credits exhausted: top up'`, session.AuthFailed, 0, 0},
		{"copilot has no login", "copilot", `echo 'Error: No authentication information found.' >&2; echo >&2
echo 'Copilot can be authenticated with GitHub using an OAuth Token.' >&2; exit 1`, session.AuthFailed, 0, 0},
		{"copilot has no quota left", "copilot", `echo '✘ Execution failed: 402 You have no quota' >&2; exit 1`,
			session.UsageLimit, 0, 0},
		{"copilot fails otherwise", "copilot", `echo 'Execution failed: it is Monday' >&2; exit 1`, session.Crashed, 0, 0},
		{"lines of other types", "amp", `echo '{"type":7}'; echo '{"type":"result",` +
			`"usage":[]}'; echo '{"type":"assistant","message":"x"}'`,
			session.Completed, 0, 0},
	} {
		t.Run(c.why, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.preset), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(c.preset, "-agent")
			group, err := proc.NewGroup(proc.GroupOptions{EventID: "preset-" + filepath.Base(dir),
				Grace: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { group.Close() })
			texts := 0
			req := session.Request{Prompt: "do it", PromptFile: "/dev/null", Dir: dir, Start: group.Start, Timeout: time.Minute,
				Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH")}}
			res, err := (&Agent{Preset: name}).Run(t.Context(), req, func(e session.AgentEvent) {
				if e.Kind == session.EventText {
					texts++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.Outcome != c.outcome || texts != c.texts || res.Usage.Total() != c.tokens || res.Client != name {
				t.Errorf("%+v with %d texts", res, texts)
			}
		})
	}
}
