package agent

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/loop/session"
)

// Tokens that a client has reported are never taken back: not by figures that
// fall, by negative ones, and not by numbers that no counter holds.
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
					least = 120 // the window's use is no use of tokens
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

// What a client started does not go on after its end: nothing is left that
// could change a file.
func TestNothingWorksOnAfterTheEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the fake clients are shell scripts, and what they leave is found by its cgroup or its environment")
	}
	for driver, p := range protocols {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "held")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			// The writer of the pipe is the process that was left; its end is the end of the file.
			held, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { held.Close() })
			script := "cat begin; (trap '' TERM HUP; setsid sh -c 'exec 9>" + fifo + "; echo here >&9; while :; do " +
				"date > late; sleep 1; done' >/dev/null 2>&1 </dev/null &) ; read x < " + fifo + ".ready; cat done"
			if err := syscall.Mkfifo(fifo+".ready", 0o600); err != nil {
				t.Fatal(err)
			}
			script = strings.Replace(script, "echo here >&9;", "echo here >&9; echo x > "+fifo+".ready;", 1)
			t.Run("run", func(t *testing.T) { // its end closes the group of processes
				if res := playHostile(t, driver, p, script, time.Minute, nil); res.Outcome != session.Completed {
					t.Errorf("%s %q", res.Outcome, res.Detail)
				}
			})
			if err := held.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(held); err != nil || string(said) != "here\n" {
				t.Errorf("what it left still runs: %q %v", said, err)
			}
		})
	}
}
