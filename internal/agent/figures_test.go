package agent

import (
	"runtime"
	"testing"
	"time"

	"git-ralph/loop/session"
)

// A client's reported tokens are never reduced, not by smaller or negative figures,
// and not by numbers that overflow a counter.
func TestTokensOnlyGrow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the fake clients are shell scripts")
	}
	claude := func(in, out, cost string) string {
		return `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,` +
			`"total_cost_usd":` + cost + `,"modelUsage":{"m-1":{"inputTokens":` + in + `,"outputTokens":` + out + `}}}`
	}
	usage := map[string]func(in, out, cost string) string{
		"claude": func(in, out, cost string) string {
			return `{"type":"assistant","message":{"id":"m9","usage":{"input_tokens":` + in + `,"output_tokens":` + out +
				`},"content":[]}}`
		},
		"codex": func(in, out, cost string) string {
			return `{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":` + in +
				`,"outputTokens":` + out + `}}}}`
		},
		"command": func(in, out, cost string) string {
			return `{"type":"usage","input_tokens":` + in + `,"output_tokens":` + out + `,"cost_usd":` + cost + `}`
		},
		"opencode": func(in, out, cost string) string {
			return `{"type":"step_finish","sessionID":"s-1","part":{"id":"p1","reason":"tool-calls","cost":` + cost +
				`,"tokens":{"input":` + in + `,"output":` + out + `}}}`
		},
		"acp": func(in, out, cost string) string {
			return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":` +
				`"usage_update","used":` + in + `,"size":1000,"cost":{"amount":` + cost + `,"currency":"USD"}}}}`
		},
	}
	for driver, say := range usage {
		for why, figures := range map[string][3]string{
			"that fall":                {"1", "1", "0.001"},
			"below nothing":            {"-5e18", "-7", "-3"},
			"that no counter can hold": {"1e300", "1e300", "1e300"},
		} {
			t.Run(driver+" figures "+why, func(t *testing.T) {
				t.Parallel()
				p := protocols[driver]
				p.begin += "\n" + say("1000", "500", "0.25") + "\n" + say(figures[0], figures[1], figures[2])
				least := int64(1500)
				switch driver {
				case "claude":
					p.done = claude("1000", "500", "0.25") + "\n" + claude(figures[0], figures[1], figures[2])
				case "codex":
					p.done = `{"method":"turn/completed","params":{"turn":{"id":"t1","status":"completed"}}}`
				case "acp":
					least = 120 // this is the use of the window, not of tokens
				}
				res := playHostile(t, driver, p, "cat begin done", time.Minute, nil)
				if res.Outcome != session.Completed || res.Usage.Total() < least || res.Usage.Input < 0 || res.Usage.Output < 0 {
					t.Errorf("%s %q: %+v", res.Outcome, res.Detail, res.Usage)
				}
				if c := res.Usage.CostMicroUSD; driver != "codex" && (c == nil || *c < 250_000) {
					t.Errorf("it cost %v", c)
				}
			})
		}
	}
}
