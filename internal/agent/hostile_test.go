package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/internal/agent/acp"
	"git-ralph/internal/agent/claude"
	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/codex"
	"git-ralph/internal/agent/command"
	"git-ralph/internal/agent/gemini"
	"git-ralph/internal/agent/opencode"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// protocol is what a client of one prompt a process prints when it begins, when it
// has run a command, and when it is done.
type protocol struct{ begin, commit, done string }

var protocols = map[string]protocol{
	"claude": {
		begin: `{"type":"control_response","response":{"subtype":"success","request_id":"ralph-initialize","response":` +
			`{"hooks_applied":true,"hook_on_failure_supported":true,"claude_code_version":"2.1.329"}}}` + "\n" +
			`{"type":"system","subtype":"init","session_id":"s-1","model":"m-1","permissionMode":"bypassPermissions"}`,
		commit: `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash",` +
			`"input":{"command":"git commit -m x"}}]}}` + "\n" +
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}}`,
		done: `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,` +
			`"modelUsage":{"m-1":{"inputTokens":100,"outputTokens":20}},"result":"done"}`,
	},
	"codex": {
		begin: `{"id":"ralph-initialize","result":{"userAgent":"git-ralph/0.169.0 (x)"}}` + "\n" +
			`{"id":"ralph-thread","result":{"thread":{"id":"01a20356-a29b-7a72-92fc-7f11a759ef14"},"model":"m-1",` +
			`"approvalPolicy":"untrusted"}}` + "\n" +
			`{"id":"ralph-turn","result":{"turn":{"id":"t1","status":"inProgress"}}}` + "\n" +
			`{"method":"turn/started","params":{"turn":{"id":"t1","status":"inProgress"}}}`,
		commit: `{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c1",` +
			`"command":"git commit -m x",` +
			`"status":"inProgress"}}}` + "\n" + `{"method":"item/completed","params":{"item":{"type":"commandExecution",` +
			`"id":"c1","command":"git commit -m x","status":"completed"}}}`,
		done: `{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"totalTokens":120,"inputTokens":100,` +
			`"outputTokens":20}}}}` + "\n" +
			`{"method":"turn/completed","params":{"turn":{"id":"t1","status":"completed"}}}`,
	},
	"acp": {
		begin: `{"jsonrpc":"2.0","id":"ralph-initialize","result":{"protocolVersion":1,"agentInfo":{"name":"x",` +
			`"version":"1"}}}` +
			"\n" + `{"jsonrpc":"2.0","id":"ralph-session","result":{"sessionId":"s-1"}}`,
		commit: `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1",` +
			`"update":{"sessionUpdate":"tool_call",` +
			`"toolCallId":"c1","title":"git commit -m x","kind":"execute","status":"in_progress"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{` +
			`"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}}}`,
		done: `{"jsonrpc":"2.0","id":"ralph-prompt","result":{"stopReason":"end_turn",` +
			`"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120}}}`,
	},
	"command": {
		begin: `{"type":"text","text":"I begin"}`,
		done:  `{"type":"usage","input_tokens":100,"output_tokens":20}`,
	},
	"gemini": {
		begin: `{"type":"init","session_id":"s-1","model":"m-1"}`,
		commit: `{"type":"tool_use","tool_name":"run_shell_command","tool_id":"c1",` +
			`"parameters":{"command":"git commit -m x"}}` + "\n" +
			`{"type":"tool_result","tool_id":"c1","status":"success","output":"ok"}`,
		done: `{"type":"message","role":"assistant","content":"done","delta":true}` + "\n" +
			`{"type":"result","status":"success","stats":{"total_tokens":120,"input_tokens":100,"output_tokens":20,"cached":0}}`,
	},
	"opencode": {
		begin: `{"type":"ralph_ready"}` + "\n" + `{"type":"step_start","sessionID":"s-1","part":{"id":"p1"}}`,
		commit: `{"type":"tool_use","sessionID":"s-1","part":{"tool":"bash","callID":"c1","state":{"status":"completed",` +
			`"input":{"command":"git commit -m x"},"output":"ok"}}}`,
		done: `{"type":"text","sessionID":"s-1","part":{"text":"done"}}` + "\n" +
			`{"type":"step_finish","sessionID":"s-1","part":{"id":"p2","reason":"stop","tokens":{"input":100,"output":20}}}`,
	},
}

// However a client misbehaves, its run ends, and says what was wrong.
func TestHostileClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the fake clients are shell scripts")
	}
	many := fmt.Sprint(long.Number(t, 12_000_000, 50_000_000)) // bytes, where 8 MiB are read
	rows := []struct {
		why, script string // BEGIN, COMMIT and DONE print the protocol's lines for them
		outcome     session.OutcomeKind
		detail      string
		tokens      int64 // -1 = it depends on when it was ended
	}{
		{"does its work", "BEGIN; DONE", session.Completed, "", 120},
		{"hangs before it says anything", "exec sleep 300", session.Hang, "idle 1s", 0},
		{"hangs in the middle", "BEGIN; exec sleep 300", session.Hang, "idle 1s", 0},
		{"hangs after its work", "BEGIN; DONE; exec sleep 300", session.Completed, "", 120},
		{"does not listen to SIGTERM", "trap '' TERM; BEGIN; while :; do sleep 300; done", session.Hang, "idle 1s", 0},
		{"writes what is no JSON", `BEGIN; echo '{"type":'; echo '[1]'; echo '{"type":7,"part":"x"}'; DONE`,
			session.Completed, "", 120},
		{"writes half a line and dies", `BEGIN; printf '{"type":"res'; kill -9 $$`, session.Crashed, "signal 9", 0},
		{"dies after its work", "BEGIN; DONE; kill -9 $$", session.Crashed, "signal 9", 120},
		{"fails after its work", "BEGIN; DONE; exit 3", session.Crashed, "exit 3", 120},
		{"ends without the end of its work", "BEGIN; exit 0", "", "the client ended without", 0},
		{"ends at once", "exit 0", session.ProtocolError, "the client ended without", 0},
		{"complains about its command line", "echo 'unknown option' >&2; exit 2", session.ProtocolError,
			"did not start: unknown option", 0},
		{"closes its output early", "BEGIN; exec >&-; exit 0", "", "the client ended without", 0},
		{"writes a line of many MB", `BEGIN; head -c ` + many + ` /dev/zero | tr '\0' x; echo; DONE`, session.Completed, "",
			120},
		{"writes a flood of lines", fmt.Sprintf(`BEGIN; yes '{"type":"junk"}' | head -n %d; DONE`,
			long.Number(t, 50_000, 200_000)), session.Completed, "", 120},
		{"answers for calls that it never made",
			`BEGIN; echo '{"type":"tool_result","tool_id":"x","status":"success"}'; DONE`, session.Completed, "", 120},
		{"answers requests that nobody made", `BEGIN; echo '{"id":"ralph-none","result":{}}'; echo '{"id":7,` +
			`"error":{"message":"x"}}'; ` +
			`echo '{"type":"control_response","response":{"subtype":"success","request_id":"ralph-none"}}'; DONE`,
			session.Completed, "", 120},
		{"closes its input early", "exec <&-; BEGIN; DONE", session.Completed, "", 120},
		{"runs what the guard refuses", "BEGIN; COMMIT; DONE", session.ProtocolError, "ran without being judged", -1},
		{"starts a process that outlives it", "BEGIN; (setsid sleep 300 >/dev/null 2>&1 &); DONE", session.Completed, "",
			120},
		{"says twice that its work is done", "BEGIN; DONE; DONE", session.Completed, "", -1},
		{"goes on when its work is done", `BEGIN; DONE; yes '{"type":"junk"}' | head -n 1000`, session.Completed, "", -1},
		{"ends in the middle of its last line", "BEGIN; head -c -6 done; exit 0", "", "the client ended without", -1},
		{"writes what is no UTF-8", `BEGIN; printf '{"type":"x","text":"\377\376"}\n\377\n'; DONE`, session.Completed, "",
			120},
	}
	// An agent of the command driver reports its end only by its exit status, and
	// none of its calls is judged.
	command := map[string]session.OutcomeKind{"hangs after its work": session.Hang,
		"ends without the end of its work": session.Completed,
		"ends at once":                     session.Completed, "complains about its command line": session.Crashed,
		"closes its output early": session.Completed, "ends in the middle of its last line": session.Completed}
	// One of the driver's own limits passes at once: that of the handshake if the
	// client is silent, or that of the end if it stays.
	hasty := func(limit time.Duration) *proc.Clock {
		return &proc.Clock{Now: time.Now, AfterFunc: func(d time.Duration, f func()) func() bool {
			if d == limit {
				d = 100 * time.Millisecond
			}
			return time.AfterFunc(d, f).Stop
		}}
	}
	for driver, p := range protocols {
		for _, r := range rows {
			if o, other := command[r.why]; driver == "command" && other {
				r.outcome, r.detail, r.tokens = o, "", -1
			} else if driver == "command" && strings.Contains(r.script, "COMMIT") {
				continue
			}
			ownLimits := driver == "claude" || driver == "codex" || driver == "acp"
			mute := r.why == "hangs before it says anything" && ownLimits
			if mute {
				r.outcome, r.detail = session.ProtocolError, "within "
			}
			t.Run(driver+" "+r.why, func(t *testing.T) {
				t.Parallel()
				script := strings.NewReplacer("BEGIN", "cat begin", "COMMIT", "cat commit", "DONE", "cat done").Replace(r.script)
				idle := 5 * time.Minute // a machine at work is slow
				var clock *proc.Clock
				switch stays := strings.Contains(r.script, "DONE; exec sleep"); {
				case mute:
					limit := client.StartLimit
					if driver == "acp" {
						limit = acp.StartLimit
					}
					idle, clock = 2*limit, hasty(limit)
				case stays && ownLimits:
					clock = hasty(10 * time.Second)
				case stays: // after that file the script is silent
					silent := filepath.Join(t.TempDir(), "silent")
					script = strings.Replace(script, "exec sleep", ": >'"+silent+"'; exec sleep", 1)
					clock = idleOnce(silent, idle)
				}
				if r.outcome == session.Hang && r.detail != "" {
					idle = time.Second
				}
				res := playHostile(t, driver, p, script, idle, clock)
				if r.outcome != "" && res.Outcome != r.outcome || res.Outcome == session.Completed && r.outcome == "" ||
					!strings.Contains(res.Detail, r.detail) || r.tokens >= 0 && res.Usage.Total() != r.tokens {
					t.Errorf("%s %q with %d tokens, want %s with %q and %d", res.Outcome, res.Detail, res.Usage.Total(),
						r.outcome, r.detail, r.tokens)
				}
			})
		}
	}
	// Every call proves that the hook works. The first one without it ends the run.
	asked := func(tool string, code int) string {
		return fmt.Sprintf(`{"type":"ralph_asked","tool_name":"%s","code":%d}`, tool, code) + "\n"
	}
	ran := func(id, status string) string {
		return fmt.Sprintf(`{"type":"tool_use","tool_name":"write_file","tool_id":"%s","parameters":{"file_path":"x"}}`+"\n"+
			`{"type":"tool_result","tool_id":"%[1]s","status":"%s"}`+"\n", id, status)
	}
	for why, lines := range map[string]string{
		"asks no hook":                           ran("c1", "success"),
		"asks about another tool":                asked("read_file", 0) + ran("c1", "success"),
		"runs what the hook refused":             asked("write_file", 2) + ran("c1", "success"),
		"runs a call whose hook was killed":      asked("write_file", -1) + ran("c1", "success"),
		"asks for the first of two calls":        asked("write_file", 0) + ran("c1", "success") + ran("c2", "success"),
		"asks for a call that failed, then runs": asked("write_file", 0) + ran("c1", "error") + ran("c2", "success"),
	} {
		t.Run("gemini "+why, func(t *testing.T) {
			t.Parallel()
			p := protocols["gemini"]
			p.begin += "\n" + lines
			res := playHostile(t, "gemini", p, "cat begin done", time.Minute, nil)
			if res.Outcome != session.ProtocolError || !strings.Contains(res.Detail, "did not ask the hook about write_file") {
				t.Errorf("%s %q", res.Outcome, res.Detail)
			}
		})
	}
	t.Run("gemini asks about each call", func(t *testing.T) {
		t.Parallel()
		p := protocols["gemini"]
		p.begin += "\n" + asked("write_file", 0) + ran("c1", "success") + asked("write_file", 0) + ran("c2", "success")
		if res := playHostile(t, "gemini", p, "cat begin done", time.Minute, nil); res.Outcome != session.Completed {
			t.Errorf("%s %q", res.Outcome, res.Detail)
		}
	})
	// A handoff of many MB in the client's own protocol is refused in the protocol's
	// own way. The client, which waits for the answer, continues.
	for why, c := range map[string]struct{ driver, head, tail, refusal string }{
		"claude asks its hook": {"claude", `{"type":"control_request","request_id":"huge","request":{` +
			`"subtype":"hook_callback","callback_id":"ralph-pre-tool-use","input":{"hook_event_name":"PreToolUse",` +
			`"tool_name":"Bash","tool_input":{"command":"`, `"}}}}`,
			`"request_id":"huge".*longer than 8 MiB`},
		"claude calls the tool": {"claude", `{"type":"control_request","request_id":"huge","request":{` +
			`"subtype":"mcp_message","server_name":"ralph","message":{"method":"tools/call",` +
			`"params":{"arguments":{"summary":"`, `"}}}}}`,
			`"error".*"request_id":"huge"`},
		"codex calls the tool": {"codex", `{"method":"item/tool/call","id":77,"params":{"callId":"c","tool":` +
			`"ralph_submit_handoff","arguments":{"summary":"`, `"}}}`, `longer than 8 MiB.*"id":77\|"id":77.*longer than 8 MiB`},
		"codex asks for a command": {"codex", `{"method":"item/commandExecution/requestApproval","id":77,"params":{` +
			`"command":"`, `"}}`, "turn/steer.*longer than 8 MiB"},
		"claude says that its work is done": {"claude", `{"permission_denials":[{"tool_input":{"content":"`,
			`"}}],"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed"}`, ""},
		"acp asks for permission": {"acp", `{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{` +
			`"toolCall":{"toolCallId":"c","rawInput":{"summary":"`, `"}}}}`, `"id":77.*cancelled`},
	} {
		t.Run("many MB: "+why, func(t *testing.T) {
			t.Parallel()
			p := protocols[c.driver]
			waits := "'; grep -q -m1 '" + c.refusal + "'; cat done"
			if c.refusal == "" {
				waits = "'; cat >/dev/null"
			}
			script := "cat begin; printf '%s' '" + c.head + `'; head -c ` + many + ` /dev/zero | tr '\0' x; echo '` + c.tail +
				waits + map[bool]string{true: "; cat done"}[c.driver == "acp"]
			res := playHostile(t, c.driver, p, script, 5*time.Minute, nil)
			if res.Outcome != session.Completed {
				t.Errorf("%s %q", res.Outcome, res.Detail)
			}
		})
	}
	// A message with a text of many MB is still understood: an unjudged call cannot hide behind its arguments or
	// its output, and the end of the work counts.
	for why, c := range map[string]struct {
		driver, head, tail string
		outcome            session.OutcomeKind
	}{
		"in the arguments": {"gemini", `{"type":"tool_use","tool_id":"c1","parameters":{"description":"`,
			`","command":"git commit -m x"},"tool_name":"run_shell_command"}` + "\n" +
				`{"type":"tool_result","tool_id":"c1","status":"success","output":"ok"}`, session.ProtocolError},
		"in the output": {"opencode", `{"type":"tool_use","sessionID":"s-1","part":{"callID":"c1","state":{"output":"`,
			`","status":"completed","input":{"command":"git commit -m x"}},"tool":"bash"}}`, session.ProtocolError},
		"at the end of its work": {"opencode", `{"sessionID":"s-1","part":{"snapshot":"`,
			`","id":"p3","reason":"stop","tokens":{"input":100,"output":20}},"type":"step_finish"}`, session.Completed},
	} {
		t.Run("many MB: "+c.driver+" "+why, func(t *testing.T) {
			t.Parallel()
			p := protocols[c.driver]
			if c.outcome == session.Completed {
				p.done = ""
			}
			script := "cat begin; printf '%s' '" + c.head + `'; head -c ` + many + ` /dev/zero | tr '\0' x; echo '` + c.tail +
				"'; cat done"
			if res := playHostile(t, c.driver, p, script, 5*time.Minute, nil); res.Outcome != c.outcome {
				t.Errorf("%s %q", res.Outcome, res.Detail)
			}
		})
	}
	for _, driver := range []string{"gemini", "opencode"} {
		t.Run(driver+" runs what the guard refuses in a further prompt", func(t *testing.T) {
			t.Parallel()
			const script = "cat begin; if [ -e again ]; then cat commit; fi; >again; cat done"
			res := playHostile(t, driver, protocols[driver], script, time.Minute, nil)
			if res.Outcome != session.ProtocolError || !strings.Contains(res.Detail, "ran without being judged") {
				t.Errorf("%s %q", res.Outcome, res.Detail)
			}
		})
	}
	t.Run("opencode without our plugin", func(t *testing.T) {
		t.Parallel()
		p := protocols["opencode"]
		_, p.begin, _ = strings.Cut(p.begin, "\n")
		if res := playHostile(t, "opencode", p, "cat begin done", time.Minute, nil); res.Outcome != session.ProtocolError {
			t.Errorf("%s %q", res.Outcome, res.Detail)
		}
	})
	t.Run("opencode with a guard that is gone", func(t *testing.T) {
		t.Parallel()
		p := protocols["opencode"]
		p.begin += "\n" + `{"type":"ralph_denied","call":"c1","tool":"bash","reason":"gone","verdict":false}`
		if res := playHostile(t, "opencode", p, "cat begin done", time.Minute, nil); res.Outcome != session.ProtocolError ||
			!strings.Contains(res.Detail, "no verdict") {
			t.Errorf("%s %q", res.Outcome, res.Detail)
		}
	})
	t.Run("opencode tries again for ever", func(t *testing.T) {
		t.Parallel()
		p := protocols["opencode"]
		for n := range 3 {
			p.begin += fmt.Sprintf("\n"+`{"type":"ralph_retry","attempt":%d,"message":"slow down","status":429,`+
				`"headers":{"retry-after":"1800"}}`, n+1)
		}
		res := playHostile(t, "opencode", p, "cat begin; exec tail -f /dev/null", time.Minute, nil)
		if wait := time.Until(res.Until); res.Outcome != session.RateLimited || wait < 20*time.Minute ||
			wait > 31*time.Minute {
			t.Errorf("%s %q until %s", res.Outcome, res.Detail, res.Until)
		}
	})
}

// idleOnce is a clock on which the idle limit passes half a second after file appears,
// when earlier output has been read.
func idleOnce(file string, idle time.Duration) *proc.Clock {
	var passed atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	return &proc.Clock{Now: now, AfterFunc: func(d time.Duration, f func()) func() bool {
		if d != idle {
			return time.AfterFunc(d, f).Stop
		}
		stop := make(chan struct{})
		go func() {
			for begin := (time.Time{}); begin.IsZero() || time.Since(begin) < 500*time.Millisecond; {
				if _, err := os.Stat(file); err == nil && begin.IsZero() {
					begin = time.Now()
				}
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
			passed.Store(int64(idle))
			f()
		}()
		return sync.OnceValue(func() bool { close(stop); return true })
	}}
}

// playHostile runs a driver with a shell script in the place of its client.
func playHostile(t *testing.T, driver string, p protocol, script string, idle time.Duration,
	clock *proc.Clock) session.Result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"begin": p.begin + "\n", "commit": p.commit + "\n", "done": p.done + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "node"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("hostile-%d", time.Now().UnixNano()),
		Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	const grace = 100 * time.Millisecond
	agent := map[string]session.Agent{"claude": &claude.Agent{Path: "/bin/sh", Grace: grace, Clock: clock},
		"codex": &codex.Agent{Path: "/bin/sh", Grace: grace, Clock: clock}, "gemini": &gemini.Agent{Path: "/bin/sh",
			Grace: grace, Clock: clock},
		"opencode": &opencode.Agent{Path: "/bin/sh", Grace: grace, Clock: clock},
		"acp":      &acp.Agent{Argv: []string{"/bin/sh"}, Grace: grace, Clock: clock},
		"command":  &command.Agent{Argv: []string{"/bin/sh"}, Grace: grace, Clock: clock}}[driver]
	req := session.Request{Phase: "building", EventID: "01event", Prompt: "do the task", Dir: dir, Self: "/bin/false",
		Timeout: 10 * time.Minute, Idle: idle,
		Env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir},
		Judge: func(u session.ToolUse) session.Permission {
			return session.Permission{Allow: !strings.Contains(string(u.Input), "git commit"), Reason: "no commits"}
		}}
	asked := 0
	req.FollowUp = func(session.Result) (string, bool) {
		asked++
		return "once more", asked == 1 && strings.Contains(script, "again")
	}
	req.Start = func(ctx context.Context, c proc.Command) (*proc.Process, error) {
		c.Argv, c.Dir = []string{"/bin/sh", "-c", script}, dir
		if !c.StdoutPipe && c.Stdin == nil {
			c.Argv[2] = "true" // the driver's probe before the run
		}
		return group.Start(ctx, c)
	}
	res, err := agent.Run(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
