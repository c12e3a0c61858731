package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// HookSettings is the value of --settings with which the client calls a
// program before each of its tools, for clients that are not driven over the
// control protocol. The shell's "|| exit 2" and onFailure turn a hook that is
// missing, crashes or hangs into a refusal; the client alone would run the
// tool. Only a hook probe shows what the client does with these settings: it
// silently drops settings of a wrong shape.
func HookSettings(hook []string) (string, error) {
	words := make([]string, len(hook))
	for i, w := range hook {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(object{"hooks": object{"PreToolUse": []object{{"matcher": "*", "hooks": []object{
		{"type": "command", "command": strings.Join(words, " ") + " || exit 2", "timeout": hookSeconds,
			"onFailure": "block"}}}}}})
	return strings.TrimSpace(b.String()), err
}

// hookLimit is the longest that a client may take for one tool call with a
// provider that answers at once; it needs about a second.
const hookLimit = time.Minute

// ProbeHook lets the client make one tool call and checks that its hook was
// asked and obeyed. Nothing leaves this machine: the provider is our own server
// on loopback, and the client gets none of the user's credentials. path and env
// are those of Probe, self is this program. problem is one sentence, "" = the
// hook works; an error means that ctx ended or the hook probe could not be made.
func ProbeHook(ctx context.Context, path string, env []string, self string) (problem string, err error) {
	c, err := client.NewHookProbe(self)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return probeHook(ctx, path, env, c, c.Hook("claude"))
}

func probeHook(ctx context.Context, path string, env []string, c *client.HookProbe, hook []string) (problem string,
	err error) {
	settings, err := HookSettings(hook)
	if err != nil {
		return "", err
	}
	model, err := newHookModel()
	if err != nil {
		return "", err
	}
	defer model.close()
	limited, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	stderr := proc.NewHeadTail(4 << 10)
	exit, err := proc.Run(limited, proc.Command{
		Argv: []string{path, "-p", "--output-format", "stream-json", "--verbose", "--settings", settings,
			"--setting-sources", "",
			"--strict-mcp-config", "--permission-mode", "bypassPermissions", "--no-session-persistence", "--tools",
			"Bash", "--max-turns", "2"},
		Dir: c.Work, Env: c.Env(hookEnv(env, model.url)), Stdin: strings.NewReader("Make the call.\n"), Stderr: stderr,
	})
	if ctx.Err() != nil {
		return "", fmt.Errorf("try the hook of claude: %w", ctx.Err())
	}
	told, called := model.result()
	switch {
	case limited.Err() != nil:
		return fmt.Sprintf("it did not end within %s", hookLimit), nil
	case err != nil:
		return err.Error(), nil
	case !called:
		why := client.Complaint(stderr.String())
		if why == "" {
			why = exit.String()
		}
		return "it did not make the tool call: " + why, nil
	}
	if _, err := os.Lstat(filepath.Join(c.Work, hookTrace)); err == nil {
		return "the client ran a tool call that its hook should have refused", nil
	}
	if err := c.Proved("claude", told); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// hookEnv is the environment of the client: without any way to the real
// provider or to an account.
func hookEnv(env []string, url string) []string {
	env = slices.DeleteFunc(environ(session.Request{Env: env}, os.Geteuid() == 0), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(credentials, name) || strings.HasPrefix(name, "ANTHROPIC_") ||
			strings.HasPrefix(name, "CLAUDE_CODE_USE_") || strings.HasPrefix(name, "CLAUDE_CODE_OAUTH_")
	})
	return client.Set(env, "ANTHROPIC_API_KEY=canary", "ANTHROPIC_BASE_URL="+url,
		"CLAUDE_CODE_MAX_RETRIES=1", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
}
