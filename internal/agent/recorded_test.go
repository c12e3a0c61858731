package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Recorded runs have the same result without the client: a program prints the
// recording instead.
func TestRecorded(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("there is no /bin/sh here to print the recordings")
	}
	rows := []struct {
		driver, name, exit string // exit: what the program does at its end
		outcome            session.OutcomeKind
		detail             string
		tokens             int64 // of the whole run
		denied, texts      int
	}{
		{driver: "codex", name: "whole-run", outcome: session.Completed, tokens: 1970, denied: 1, texts: 2},
		{driver: "codex", name: "whole-run", exit: "exit 3", outcome: session.Crashed, detail: "exit 3 after its result",
			tokens: 1970, denied: 1, texts: 2},
		{driver: "codex", name: "further-prompt", outcome: session.Completed, tokens: 360, texts: 2},
		{driver: "codex", name: "limit-of-turns", outcome: session.MaxTurns, detail: "2 requests", tokens: 240},
		{driver: "codex", name: "a-key-that-is-not-accepted", outcome: session.AuthFailed, detail: "401"},
		{driver: "codex", name: "too-many-requests", outcome: session.RateLimited, detail: "429"},
		{driver: "codex", name: "an-overloaded-provider", outcome: session.Overloaded},
		{driver: "codex", name: "a-usage-limit", outcome: session.UsageLimit, detail: "usage limit"},
		{driver: "codex", name: "no-credit", outcome: session.AuthFailed, detail: "Quota exceeded"},
		{driver: "codex", name: "a-prompt-that-is-too-long", outcome: session.ContextLimit, detail: "ran out of room"},
		{driver: "codex", name: "hang", exit: "exec sleep 60", outcome: session.Hang, detail: "idle 2s"},
		{driver: "codex", name: "hang", outcome: session.ProtocolError, detail: "without a result"},
		{driver: "codex", name: "kill", exit: "kill -9 $$", outcome: session.Crashed, detail: "signal 9"},
		{driver: "codex", name: "interrupt", outcome: session.Crashed, detail: "interrupted from outside", tokens: 120},
		{driver: "gemini", name: "whole-run", outcome: session.Completed, tokens: 1970, denied: 1, texts: 2},
		{driver: "gemini", name: "whole-run", exit: "exit 3", outcome: session.Crashed, detail: "exit 3 after its result",
			tokens: 1970, denied: 1, texts: 2},
		{driver: "gemini", name: "reading-phase", outcome: session.Completed, tokens: 480, texts: 1},
		{driver: "gemini", name: "hostile-settings", outcome: session.Completed, tokens: 240, denied: 1, texts: 1},
		{driver: "gemini", name: "further-prompt", outcome: session.Completed, tokens: 360, texts: 2},
		{driver: "gemini", name: "limit-of-turns", exit: "exit 53", outcome: session.MaxTurns, tokens: 240},
		{driver: "gemini", name: "a-key-that-is-not-accepted", exit: "exit 145", outcome: session.AuthFailed, detail: "401"},
		{driver: "gemini", name: "err400key", exit: "exit 144", outcome: session.AuthFailed, detail: "API key not valid"},
		{driver: "gemini", name: "nokey", exit: "exit 41", outcome: session.AuthFailed, detail: "Update your environment"},
		{driver: "gemini", name: "untrusted", exit: "exit 55", outcome: session.ProtocolError,
			detail: "not running in a trusted directory"},
		{driver: "gemini", name: "too-many-requests", exit: "exec tail -f /dev/null", outcome: session.RateLimited,
			detail: "slow down"},
		{driver: "gemini", name: "err429", outcome: session.Completed, tokens: 120, texts: 1},
		{driver: "gemini", name: "an-overloaded-provider", exit: "exec tail -f /dev/null", outcome: session.Overloaded,
			detail: "overloaded"},
		{driver: "gemini", name: "a-daily-quota", exit: "exec tail -f /dev/null", outcome: session.UsageLimit,
			detail: "quota"},
		{driver: "gemini", name: "a-prompt-that-is-too-long", exit: "exit 144", outcome: session.ContextLimit},
		{driver: "gemini", name: "hook-missing", outcome: session.Completed, tokens: 1370, denied: 1, texts: 2},
		{driver: "gemini", name: "mcp-fail", outcome: session.ProtocolError, detail: "our tools did not reach the client",
			tokens: 120, texts: 1},
		{driver: "gemini", name: "sigint", outcome: session.Crashed, detail: "ended without a result", texts: 1},
		{driver: "gemini", name: "hang", exit: "exec tail -f /dev/null", outcome: session.Hang, detail: "idle 2s"},
		{driver: "gemini", name: "kill", exit: "kill -9 $$", outcome: session.Crashed, detail: "signal 9"},
		{driver: "opencode", name: "whole-run", outcome: session.Completed, tokens: 1970, denied: 1, texts: 2},
		{driver: "opencode", name: "whole-run", exit: "exit 3", outcome: session.Crashed, detail: "exit 3 after its result",
			tokens: 1970, denied: 1, texts: 2},
		{driver: "opencode", name: "reading-phase", outcome: session.Completed, tokens: 480, texts: 1},
		{driver: "opencode", name: "hostile-settings", outcome: session.Completed, tokens: 240, denied: 1, texts: 1},
		{driver: "opencode", name: "further-prompt", outcome: session.Completed, tokens: 360, texts: 2},
		{driver: "opencode", name: "limit-of-turns", exit: "exec tail -f /dev/null", outcome: session.MaxTurns,
			detail: "2 requests", tokens: 240},
		{driver: "opencode", name: "a-key-that-is-not-accepted", exit: "exit 1", outcome: session.AuthFailed,
			detail: "x-api-key"},
		{driver: "opencode", name: "too-many-requests", exit: "exec tail -f /dev/null", outcome: session.RateLimited},
		{driver: "opencode", name: "a-usage-limit", exit: "exec tail -f /dev/null", outcome: session.UsageLimit,
			detail: "usage limit"},
		{driver: "opencode", name: "an-overloaded-provider", exit: "exec tail -f /dev/null", outcome: session.Overloaded},
		{driver: "opencode", name: "a-prompt-that-is-too-long", exit: "exit 1", outcome: session.ContextLimit},
		{driver: "opencode", name: "interrupt", outcome: session.ProtocolError},
		{driver: "opencode", name: "kill", exit: "kill -9 $$", outcome: session.Crashed, detail: "signal 9"},
	}
	// Gemini CLI is run by Node; its replacement is not.
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "node"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Run(strings.TrimSpace(r.driver+"/"+r.name+" "+r.exit), func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(filepath.Join("../../fixtures/transcripts", r.driver, r.name, "stdout.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("recorded-%d", time.Now().UnixNano()),
				Grace: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { group.Close() })
			var events []session.AgentEvent
			req := session.Request{Phase: "building", EventID: "01event", Prompt: "do the task", Dir: t.TempDir(),
				Timeout: time.Minute, Idle: 2 * time.Second,
				Env:  []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()},
				Self: "/bin/false",
				Judge: func(u session.ToolUse) session.Permission {
					return session.Permission{Allow: !strings.Contains(string(u.Input), "git commit"), Reason: "no commits"}
				},
				ToolSpecs: []session.ToolSpec{{Name: "ralph_mark_task_complete"}, {Name: "ralph_submit_handoff"}},
				CallTool: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{}`), nil
				}}
			if r.name == "limit-of-turns" {
				req.MaxTurns = 2
			}
			req.Start = func(ctx context.Context, c proc.Command) (*proc.Process, error) {
				script := "true" // the driver's probe before the run
				if c.StdoutPipe || c.Stdin != nil {
					script = fmt.Sprintf("cd '%s'; cat stdout.jsonl 2>/dev/null; cat stderr.txt >&2 2>/dev/null; true; %s",
						filepath.Dir(path), r.exit)
				}
				c.Argv = []string{"/bin/sh", "-c", script}
				return group.Start(ctx, c)
			}
			a, err := New(r.driver, Options{ClientPath: "/bin/sh"})
			if err != nil {
				t.Fatal(err)
			}
			res, err := a.Run(t.Context(), req, func(e session.AgentEvent) { events = append(events, e) })
			if err != nil {
				t.Fatal(err)
			}
			if res.Outcome != r.outcome || !strings.Contains(res.Detail, r.detail) {
				t.Errorf("%s %q, want %s with %q", res.Outcome, res.Detail, r.outcome, r.detail)
			}
			var sum session.Usage
			denied, texts := 0, 0
			for _, e := range events {
				switch e.Kind {
				case session.EventUsage:
					sum = client.AddUsage(sum, e.Usage)
				case session.EventDenied:
					denied++
				case session.EventText:
					texts++
				}
			}
			if res.Usage.Total() != r.tokens || sum.Total() != r.tokens || denied != r.denied || texts != r.texts {
				t.Errorf("%d tokens (%d in increments), %d denied, %d texts", res.Usage.Total(), sum.Total(), denied, texts)
			}
		})
	}
}
