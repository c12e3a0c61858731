package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

const transcripts = "../../../fixtures/transcripts/claude"

// replay feeds a recorded output to a session that has no process. With trust
// every call counts as judged, for recordings that were made with other hooks.
func replay(t *testing.T, name string, trust bool) (*conversation, []session.AgentEvent, session.Result) {
	t.Helper()
	var summary struct {
		RC     int    `json:"rc"`
		Stderr string `json:"stderr"`
	}
	data, err := os.ReadFile(filepath.Join(transcripts, name, "summary.json"))
	if err != nil || json.Unmarshal(data, &summary) != nil {
		t.Fatalf("summary of %s: %v", name, err)
	}
	out, err := os.ReadFile(filepath.Join(transcripts, name, "stdout.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var events []session.AgentEvent
	s := offline(func(e session.AgentEvent) { events = append(events, e) })
	lines := &client.Lines{Max: client.MaxLine, Line: func(data []byte, cut bool) {
		// The host of the recording answered; only the client's side counts here.
		l, ok := parse(data)
		if !ok || cut {
			t.Fatalf("%s: not a JSON line: %.100s", name, data)
		}
		switch l.Type {
		case "control_request":
			if l.Request.Subtype == "hook_callback" || l.Request.Subtype == "can_use_tool" {
				var in hookInput
				json.Unmarshal(l.Request.Input, &in)
				if in.ToolUseID == "" {
					in.ToolUseID = l.Request.ToolUseID
				}
				s.judged[in.ToolUseID] = verdict{allow: true}
			}
		case "control_response", "control_cancel_request":
		default:
			if trust && l.Type == "assistant" {
				for _, b := range l.Message.Content {
					s.judged[b.ID] = verdict{allow: true}
				}
			}
			s.observe(l)
		}
	}}
	lines.Write(out)
	lines.Close()
	exit := proc.Exit{Code: summary.RC}
	if summary.RC < 0 {
		exit = proc.Exit{Code: 128 - summary.RC, Signal: -summary.RC}
	}
	return s, events, s.Finish(exit, summary.Stderr, s)
}

// recorded is when the recordings were made.
var recorded = time.Date(2026, 11, 20, 17, 0, 0, 0, time.UTC)

// offline is a session without a client.
func offline(events func(session.AgentEvent)) *conversation {
	clock := proc.SystemClock()
	clock.Now = func() time.Time { return recorded }
	s := newConversation(context.Background(), client.NewSession(session.Request{}, events, &clock, 0))
	s.Out = client.NewOutbox(nopCloser{})
	return s
}

type nopCloser struct{}

func (nopCloser) Write(p []byte) (int, error) { return len(p), nil }
func (nopCloser) Close() error                { return nil }

func usd(micro int64) *int64 { return &micro }

// Every recorded ending is recognised. Recordings without our hook protocol ran
// their calls unjudged, which must be noticed.
func TestRecordedEndings(t *testing.T) {
	at := func(sec int64) time.Time { return time.Unix(sec, 0).UTC() }
	const trust = true
	rows := []struct {
		name, why string
		trust     bool
		kind      session.OutcomeKind
		detail    string
		until     time.Time
	}{
		// the control protocol
		{"rec-A-control", "a whole run: write, command, tool, denied commit", !trust, session.Completed, "", time.Time{}},
		{"ctl-full", "the same with tools served in process", !trust, session.Completed, "", time.Time{}},
		{"ctl-multi", "three prompts in one session", !trust, session.Completed, "", time.Time{}},
		{"ctl-perm", "permissions asked for: the policy of the machine is not ours", !trust, session.PermissionDenied,
			"a policy of this machine makes the client run in permission mode default", time.Time{}},
		{"ctl-hookerr", "our answer was broken and the call ran", !trust, session.ProtocolError,
			"a tool call was not judged: PreToolUse: Hook callback cb-pre failed: the SDK host replied with an error or an " +
				"invalid answer. Its answer was treated as empty.", time.Time{}},
		{"ctl-hookerr-block", "our answer was broken and the call was blocked: still nothing to go on with", !trust,
			session.ProtocolError,
			`a tool call was not judged: PreToolUse: Hook callback cb-pre failed: the SDK host replied with an error or an ` +
				`invalid answer. onFailure is "block", so this failure counts as a block.`, time.Time{}},
		{"ctl-hooksilent-block", "we were silent and the call was blocked", !trust, session.Completed, "", time.Time{}},
		{"ctl-bare", "--bare switches hooks off without a word", !trust, session.ProtocolError,
			"a call of Bash ran without being judged", time.Time{}},
		{"ctl-interrupt", "an interrupt that is not ours costs an attempt", !trust, session.Crashed,
			"interrupted from outside (aborted_tools)", time.Time{}},

		// the provider
		{"drop-mid", "a dropped connection, then success", !trust, session.Completed, "", time.Time{}},
		{"err429-retry", "429 twice, then success", !trust, session.Completed, "", time.Time{}},
		{"err500-retry", "500, then success", !trust, session.Completed, "", time.Time{}},
		{"sse-overloaded", "an error in the stream, then success", !trust, session.Completed, "", time.Time{}},
		{"fallback", "the fallback model answered", !trust, session.Completed, "", time.Time{}},
		{"usage-warn-oauth", "a warning is no end", !trust, session.Completed, "", time.Time{}},
		{"err529-forever", "overloaded for good", !trust, session.Overloaded,
			"API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it " +
				"persists, check your inference gateway (127.0.0.1:43159).", time.Time{}},
		{"refused", "nobody listens: time may fix it", !trust, session.Overloaded,
			"API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)", time.Time{}},
		{"err401", "a wrong key", !trust, session.AuthFailed, "401 Invalid API key · Fix external API key", time.Time{}},
		{"err403", "a key without permission", !trust, session.AuthFailed,
			"Failed to authenticate. API Error: 403 Your API key does not have permission", time.Time{}},
		{"nokey", "no login at all", !trust, session.AuthFailed, "Not logged in · Please run /login", time.Time{}},
		{"err400-credit", "a person has to pay", !trust, session.AuthFailed, "400 Credit balance is too low", time.Time{}},
		{"err404-model", "a person has to choose another model", !trust, session.AuthFailed, "", time.Time{}},
		{"err400-toolong", "the prompt does not fit", !trust, session.ContextLimit, "", time.Time{}},
		{"usage-limit-oauth", "the subscription's limit says until when", !trust, session.UsageLimit,
			"429 You've hit your 5-hour limit · resets 5:22pm (UTC)", at(1795195342)},
		{"usage-limit-key", "the key's limit says so only in its text", !trust, session.UsageLimit,
			"API Error: Request rejected (429) · You have reached your specified API usage limits. You will regain access on " +
				"2026-12-01 at 00:00 UTC.", at(1796083200)},

		// the client's own limits
		{"max-turns", "turns", trust, session.MaxTurns, "Reached maximum number of turns (2)", time.Time{}},
		{"max-budget", "budget", !trust, session.BudgetExceeded, "Reached maximum budget ($0.001)", time.Time{}},
		{"bg-8s", "a background task brings a second result", trust, session.Completed, "", time.Time{}},
		{"schema-ok", "an answer that fits the schema", trust, session.Completed, "", time.Time{}},
		{"schema-notool", "no answer by schema at all is a success of the client", trust, session.Completed, "", time.Time{}},
		{"schema-bad", "an answer that never fits the schema", trust, session.ProtocolError, "", time.Time{}},

		// signals and exits
		{"sig-fg-KILL-group", "killed", trust, session.Crashed, "signal 9", time.Time{}},
		{"sig-fg-TERM-single", "ended: the client exits with 143 and no result", trust, session.Crashed, "signal 15",
			time.Time{}},
		{"sig-fg-INT-single", "interrupted from outside: status 0", trust, session.Crashed,
			"interrupted from outside (aborted_tools)", time.Time{}},
		{"stall-idle", "killed before anything ran", !trust, session.Crashed, "signal 9", time.Time{}},
		{"sess-5-dup", "refused to start", !trust, session.ProtocolError,
			"the client did not start: Error: Session ID 11111111-1111-4111-8111-111111111111 is already in use.", time.Time{}},

		// command hooks that failed open
		{"hook-missing", "the alarm of a hook that is not there", !trust, session.ProtocolError,
			"a tool call was not judged: A hook gave no usable answer, so it didn't check this action.", time.Time{}},
		{"hook-timeout", "the alarm of a hook that hangs", !trust, session.ProtocolError,
			"a tool call was not judged: A hook didn't answer in time, so it didn't check this action.", time.Time{}},
		{"hook-garbage", "no alarm at all, but the call ran", !trust, session.ProtocolError,
			"a call of Write ran without being judged", time.Time{}},
		{"onf-garbage", "not even with onFailure", !trust, session.ProtocolError,
			"a call of Write ran without being judged", time.Time{}},
		{"hook-continue-false", "a hook that is not ours stopped the turn", trust, session.ProtocolError,
			"the client stopped: hook_stopped", time.Time{}},
		{"badsettings2", "no call, nothing to notice", !trust, session.Completed, "", time.Time{}},
	}
	for _, r := range rows {
		_, _, got := replay(t, r.name, r.trust)
		if got.Outcome != r.kind || r.detail != "" && got.Detail != r.detail || !got.Until.Equal(r.until) {
			t.Errorf("%s (%s):\n got %s %q until %v\nwant %s %q until %v", r.name, r.why, got.Outcome, got.Detail,
				got.Until, r.kind, r.detail, r.until)
		}
	}
}

// No recording makes the reader panic or report nonsense.
func TestEveryRecording(t *testing.T) {
	dirs, err := os.ReadDir(transcripts)
	if err != nil || len(dirs) < 50 {
		t.Fatalf("%d recordings: %v", len(dirs), err)
	}
	for _, d := range dirs {
		_, events, got := replay(t, d.Name(), true)
		if got.Outcome == "" || got.Usage.Total() < 0 {
			t.Errorf("%s: %+v", d.Name(), got)
		}
		var sum session.Usage
		open := 0
		for _, e := range events {
			switch e.Kind {
			case session.EventUsage:
				sum = client.AddUsage(sum, e.Usage)
			case session.EventToolCall:
				open++
			case session.EventToolDone:
				open--
			}
		}
		if open < 0 {
			t.Errorf("%s: more calls ended than began", d.Name())
		}
		if sum.Total() < got.Usage.Total() {
			t.Errorf("%s: increments make %d tokens, the result says %d", d.Name(), sum.Total(), got.Usage.Total())
		}
	}
}

func TestRecordedUsage(t *testing.T) {
	rows := []struct {
		name, why string
		usage     session.Usage
		model     string
	}{
		{"ctl-full", "one conversation", session.Usage{Input: 1400, Output: 130, CacheRead: 200, CacheWrite: 300,
			CostMicroUSD:  usd(7335),
			ContextTokens: 100, ContextWindow: 200_000, Turns: 5, APICalls: 5}, "claude-sonnet-4-5"},
		{"ctl-multi", "totals of the client are cumulative, turns are not",
			session.Usage{Input: 400, Output: 80, CostMicroUSD: usd(2400),
				ContextTokens: 100, ContextWindow: 200_000, Turns: 4, APICalls: 4}, "claude-sonnet-4-5"},
		{"subagent", "a subagent's tokens count, its window does not",
			session.Usage{Input: 400, Output: 80, CostMicroUSD: usd(2400),
				ContextTokens: 100, ContextWindow: 200_000, Turns: 2, APICalls: 4}, "claude-sonnet-4-5"},
		{"partial", "partial messages tell the output while it comes",
			session.Usage{Input: 200, Output: 40, CostMicroUSD: usd(1200),
				ContextTokens: 100, ContextWindow: 200_000, Turns: 2, APICalls: 2}, "claude-sonnet-4-5"},
		{"fallback", "the model that answered", session.Usage{Input: 100, Output: 20, CostMicroUSD: usd(200),
			ContextTokens: 100, ContextWindow: 200_000, Turns: 1, APICalls: 1}, "claude-haiku-4-5"},
		{"sig-fg-KILL-group", "killed: what was seen, and no cost", session.Usage{Input: 200, Output: 2,
			ContextTokens: 100, APICalls: 2}, "claude-sonnet-4-5"},
		{"err401", "nothing was used", session.Usage{CostMicroUSD: usd(0), Turns: 1}, "claude-sonnet-4-5"},
	}
	for _, r := range rows {
		_, _, got := replay(t, r.name, true)
		if d := cmp.Diff(r.usage, got.Usage, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (%s) (-want +got):\n%s", r.name, r.why, d)
		}
		if got.Model != r.model {
			t.Errorf("%s (%s): model %q, want %q", r.name, r.why, got.Model, r.model)
		}
	}
}

// The events of a whole run, in their order.
func TestRecordedEvents(t *testing.T) {
	_, events, _ := replay(t, "rec-A-control", false)
	var got []string
	for _, e := range events {
		if e.Kind != session.EventUsage {
			got = append(got, string(e.Kind)+" "+e.Tool+" "+e.Text)
		}
	}
	want := []string{
		"session  44444444-4444-4444-8444-444444444444",
		"text  I will write the file.",
		"tool_call Write /project/repos/rec-A-control/hello.txt", "tool_done Write ",
		"text  Run a command.", "tool_call Bash cat hello.txt && ls", "tool_done Bash ",
		`tool_call mcp__ralph__record_note {"note":"from the model"}`, "tool_done mcp__ralph__record_note ",
		"text  Commit.", "tool_call Bash git add -A && git commit -m x", "tool_done Bash ",
		"text  All done.",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Output that follows the schema is handed on; otherwise there is none.
func TestRecordedStructuredOutput(t *testing.T) {
	for name, want := range map[string]string{"schema-ok": `{"verdict":"pass","n":3}`, "schema-notool": "",
		"ctl-full": ""} {
		if _, _, got := replay(t, name, true); string(got.Structured) != want {
			t.Errorf("%s: %s, want %s", name, got.Structured, want)
		}
	}
}
