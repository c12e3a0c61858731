package client

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/fakeclock"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Texts in an overlong line of JSON are shortened, whatever they contain and wherever
// writes end, so that the rest can be read. A line that is still too long is cut.
func TestLongLinesOfJSON(t *testing.T) {
	long := strings.Repeat("x", 3*MaxText)
	escapes := strings.Repeat(`\"\\\u00e9`, MaxText)
	rows := []struct{ why, in, id, text string }{
		{"a text", `{"text":"` + long + `","id":"a"}`, "a", long[:MaxText]},
		{"escapes", `{"text":"` + escapes + `","id":"a"}`, "a", ""},
		{"two texts", `{"b":{"c":"` + long + `"},"text":"` + long + `","id":"a"}`, "a", long[:MaxText]},
		{"no text", `{"n":[` + strings.Repeat("1,", 3*MaxText) + `1],"id":"a"}`, "", ""},
	}
	for _, r := range rows {
		for _, step := range []int{1 << 30, 4093, 1} {
			var got []string
			l := Lines{Max: 5 * MaxText / 2, JSON: true, Line: func(b []byte, cut bool) {
				if cut != (len(got) == 1) || len(b) > 5*MaxText/2 {
					t.Errorf("%s: line %d, %d bytes, cut %v", r.why, len(got), len(b), cut)
				}
				got = append(got, string(b))
			}}
			for rest := []byte("{}\n" + r.in + "\n{}\n"); len(rest) > 0; {
				n, _ := l.Write(rest[:min(step, len(rest))])
				rest = rest[n:]
			}
			l.Close()
			var of struct{ ID, Text string }
			err := json.Unmarshal([]byte(got[1]), &of)
			if len(got) != 3 || (err == nil) != (r.id != "") || of.ID != r.id || r.text != "" && of.Text != r.text {
				t.Errorf("%s in steps of %d: %d lines, %v, id %q, a text of %d", r.why, step, len(got), err, of.ID, len(of.Text))
			}
		}
	}
}

func TestLines(t *testing.T) {
	type line struct {
		Text string
		Cut  bool
	}
	rows := []struct {
		why    string
		chunks []string
		want   []line
	}{
		{"whole lines in one write", []string{"a\nb\n"}, []line{{"a", false}, {"b", false}}},
		{"a line over several writes", []string{"a", "b", "c\nd\n"}, []line{{"abc", false}, {"d", false}}},
		{"the last line has no newline", []string{"a\nbc"}, []line{{"a", false}, {"bc", false}}},
		{"an empty line is a line", []string{"\n\nx\n"}, []line{{"", false}, {"", false}, {"x", false}}},
		{"exactly the limit is whole", []string{"12345678\nx\n"}, []line{{"12345678", false}, {"x", false}}},
		{"too long in one write, what follows is read", []string{"123456789\nx\n"}, []line{{"12345678", true}, {"x", false}}},
		{"too long over writes is handed over once", []string{"12345", "6789", "0", "1\nx\n"},
			[]line{{"12345678", true}, {"x", false}}},
		{"too long and never ended", []string{"1234567890", "more"}, []line{{"12345678", true}}},
		{"the newline comes alone", []string{"12345678", "\n", "x", "\n"}, []line{{"12345678", false}, {"x", false}}},
	}
	for _, r := range rows {
		var got []line
		l := Lines{Max: 8, Line: func(b []byte, cut bool) { got = append(got, line{string(b), cut}) }}
		for _, c := range r.chunks {
			if n, err := l.Write([]byte(c)); n != len(c) || err != nil {
				t.Errorf("%s: write: %d, %v", r.why, n, err)
			}
		}
		l.Close()
		if d := cmp.Diff(r.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", r.why, d)
		}
	}
}

// The same lines come out however the output is split into writes.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccccccccccccccccccccc\nd"), 3)
	f.Add([]byte("\n\n\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		if chunk <= 0 || chunk > 1<<20 {
			chunk = 1
		}
		read := func(step int) string {
			var out strings.Builder
			l := Lines{Max: 16, Line: func(b []byte, cut bool) {
				if len(b) > 16 {
					t.Fatalf("a line of %d bytes", len(b))
				}
				out.Write(b)
				out.WriteString(map[bool]string{true: "…|", false: "|"}[cut])
			}}
			for i := 0; i < len(data); i += step {
				l.Write(data[i:min(i+step, len(data))])
			}
			l.Close()
			return out.String()
		}
		if a, b := read(len(data)+1), read(chunk); a != b {
			t.Errorf("in one write %q, in writes of %d %q", a, chunk, b)
		}
	})
}

func TestWatch(t *testing.T) {
	const wall, idle = 20 * time.Minute, 5 * time.Minute
	rows := []struct {
		why  string
		busy int
		play func(w *Watch, c *fakeclock.Clock)
		want string
	}{
		{"silence", 0, func(w *Watch, c *fakeclock.Clock) { c.Advance(idle + time.Second) }, "idle 5m"},
		{"a sound in between", 0, func(w *Watch, c *fakeclock.Clock) {
			c.Advance(idle - time.Second)
			w.Touch()
			c.Advance(idle - time.Second)
		}, ""},
		{"an open call may be silent", 0, func(w *Watch, c *fakeclock.Clock) { w.Open("a"); c.Advance(3 * idle) }, ""},
		{"but not for ever", 0, func(w *Watch, c *fakeclock.Clock) { w.Open("a"); c.Advance(wall) }, "wall 20m"},
		{"silence begins when the last call is over", 0, func(w *Watch, c *fakeclock.Clock) {
			w.Open("a")
			w.Open("b")
			c.Advance(2 * idle)
			w.Close("a")
			c.Advance(idle - time.Second)
			w.Close("b")
			c.Advance(idle - time.Second)
		}, ""},
		{"and then counts", 0, func(w *Watch, c *fakeclock.Clock) {
			w.Open("a")
			c.Advance(idle)
			w.Close("a")
			c.Advance(idle + time.Second)
		}, "idle 5m"},
		{"a call opened twice is closed by one end", 0, func(w *Watch, c *fakeclock.Clock) {
			w.Open("a")
			w.Open("a")
			w.Close("a")
			c.Advance(idle + time.Second)
		}, "idle 5m"},
		{"an end without a begin changes nothing", 0, func(w *Watch, c *fakeclock.Clock) {
			w.Close("x")
			w.Open("a")
			w.Close("y")
			c.Advance(2 * idle)
		}, ""},
		{"the end of a turn closes what was left open", 0, func(w *Watch, c *fakeclock.Clock) {
			w.Open("a")
			w.CloseAll()
			c.Advance(idle + time.Second)
		}, "idle 5m"},
		{"a call that the harness executes is no silence", 1, func(w *Watch, c *fakeclock.Clock) { c.Advance(3 * idle) }, ""},
		{"nothing after the end", 0, func(w *Watch, c *fakeclock.Clock) { w.Stop(); c.Advance(2 * wall) }, ""},
	}
	for _, r := range rows {
		c := &fakeclock.Clock{}
		w := NewWatch(wall, idle, func() int { return r.busy }, c.Clock())
		r.play(w, c)
		got := ""
		select {
		case got = <-w.Late():
		default:
		}
		if got != r.want {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
}

// A call that the harness executes may end. The silence counts from then on.
func TestWatchAfterBusy(t *testing.T) {
	c, busy := &fakeclock.Clock{}, 1
	w := NewWatch(0, time.Minute, func() int { return busy }, c.Clock())
	c.Advance(10 * time.Minute)
	busy = 0
	c.Advance(2*time.Minute + time.Second)
	select {
	case why := <-w.Late():
		if why != "idle 1m" {
			t.Errorf("%q", why)
		}
	default:
		t.Error("silence after the call was not noticed")
	}
}

func TestPrinted(t *testing.T) {
	usd := func(n int64) *int64 { return &n }
	rows := []struct {
		why, in string
		usage   session.Usage
		texts   []string
		record  string
	}{
		{"increments are added up, the window is the newest", `{"type":"usage","input_tokens":10,"output_tokens":2,"cost_usd":0.5,"context_tokens":900}
{"type":"usage","input_tokens":5,"cost_usd":0.25,"context_tokens":700}`,
			session.Usage{Input: 15, Output: 2, CostMicroUSD: usd(750_000), ContextTokens: 700}, nil,
			`{"type":"usage","input_tokens":10,"output_tokens":2,"cost_usd":0.5,"context_tokens":900}
{"type":"usage","input_tokens":5,"cost_usd":0.25,"context_tokens":700}
`},
		{"a cost that nobody names is unknown, not zero", `{"type":"usage","input_tokens":1}`, session.Usage{Input: 1},
			nil, "{\"type\":\"usage\",\"input_tokens\":1}\n"},
		{"negative and absurd numbers do not count", `{"type":"usage","input_tokens":-5,"output_tokens":1e300,"cost_usd":-1}`,
			session.Usage{Output: 1e12, CostMicroUSD: usd(0)}, nil,
			"{\"type\":\"usage\",\"input_tokens\":-5,\"output_tokens\":1e300,\"cost_usd\":-1}\n"},
		{"text is an event", ` {"text":"hello","type":"text"} `, session.Usage{}, []string{"hello"},
			"{\"text\":\"hello\",\"type\":\"text\"}\n"},
		{"other output is transcript", "plain \x1b[31mred", session.Usage{}, nil,
			"{\"type\":\"output\",\"text\":\"plain \\u001b[31mred\"}\n"},
		{"half a JSON line is output", `{"type":"usage","input_tokens":`, session.Usage{}, nil,
			"{\"type\":\"output\",\"text\":\"{\\\"type\\\":\\\"usage\\\",\\\"input_tokens\\\":\"}\n"},
		{"bytes that are no text are replaced", "\xff\xfe", session.Usage{}, nil,
			"{\"type\":\"output\",\"text\":\"\\ufffd\\ufffd\"}\n"},
		{"a type we do not know is transcript as it is", `{"type":"tool_call","x":1}`, session.Usage{}, nil,
			"{\"type\":\"tool_call\",\"x\":1}\n"},
	}
	for _, r := range rows {
		var record bytes.Buffer
		var texts []string
		p := NewPrinted(func(e session.AgentEvent) {
			if e.Kind == session.EventText {
				texts = append(texts, e.Text)
			}
		}, NewTranscript(&record))
		for line := range strings.Lines(r.in) {
			p.Stdout([]byte(strings.TrimSuffix(line, "\n")), false)
		}
		usage, _ := p.Usage()
		if d := cmp.Diff(r.usage, usage); d != "" {
			t.Errorf("%s: usage (-want +got):\n%s", r.why, d)
		}
		if d := cmp.Diff(r.texts, texts); d != "" {
			t.Errorf("%s: texts (-want +got):\n%s", r.why, d)
		}
		if d := cmp.Diff(r.record, record.String()); d != "" {
			t.Errorf("%s: transcript (-want +got):\n%s", r.why, d)
		}
	}
}

// Whatever a client prints, every line of the transcript is one JSON value and
// no sum turns negative.
func FuzzPrinted(f *testing.F) {
	f.Add([]byte(`{"type":"usage","input_tokens":9e18,"cost_usd":1e308}`), false)
	f.Add([]byte(`{"type":"text","text":"a"}`), true)
	f.Add([]byte("{\"type\":\"text\",\n\"text\":1}"), false)
	f.Fuzz(func(t *testing.T, line []byte, cut bool) {
		if bytes.ContainsAny(line, "\n") {
			return // Lines never hands one over
		}
		var record bytes.Buffer
		p := NewPrinted(nil, NewTranscript(&record))
		for range 3 {
			p.Stdout(line, cut)
			p.Stderr(line, cut)
		}
		for got := range strings.Lines(record.String()) {
			if !json.Valid([]byte(got)) {
				t.Errorf("the transcript has %q", got)
			}
		}
		u, _ := p.Usage()
		if u.Total() < 0 || u.CostMicroUSD != nil && *u.CostMicroUSD < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}

func TestOutcome(t *testing.T) {
	rows := []struct {
		why    string
		exit   proc.Exit
		kind   session.OutcomeKind
		detail string
	}{
		{"status 0", proc.Exit{}, session.Completed, ""},
		{"a failure", proc.Exit{Code: 3}, session.Crashed, "exit 3"},
		{"a signal", proc.Exit{Code: 137, Signal: 9}, session.Crashed, "signal 9"},
		{"a signal passed on by the sandbox's init", proc.Exit{Code: 139}, session.Crashed, "signal 11"},
		{"128 itself is no signal", proc.Exit{Code: 128}, session.Crashed, "exit 128"},
		{"nor is what no signal has", proc.Exit{Code: 255}, session.Crashed, "exit 255"},
	}
	for _, r := range rows {
		if kind, detail := Outcome(r.exit); kind != r.kind || detail != r.detail {
			t.Errorf("%s: %s %q, want %s %q", r.why, kind, detail, r.kind, r.detail)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", 10 * time.Minute: "10m", 90 * time.Second: "1m30s", time.Hour: "1h", 90 * time.Minute: "1h30m",
		20 * time.Hour: "20h", time.Hour + 10*time.Second: "1h0m10s", 50 * time.Millisecond: "50ms", 0: "0s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", time.Duration(d), got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	rows := []struct{ why, in, want string }{
		{"a command", `{"description":"d","command":"go test ./...\n  | tail"}`, "go test ./... | tail"},
		{"a file before its contents", `{"content":"x","file_path":"a/b.go"}`, "a/b.go"},
		{"nothing we know", `{"x":[1,2]}`, `{"x":[1,2]}`},
		{"terminal codes and marks that turn text around", "{\"command\":\"a\\u001b[2J\\u202eb\"}", "a [2J b"},
		{"no JSON", `<<`, `<<`},
		{"cut", `{"command":"` + strings.Repeat("é", 500) + `"}`, strings.Repeat("é", briefMax-1) + "…"},
	}
	for _, r := range rows {
		if got := Brief([]byte(r.in)); got != r.want {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
}

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "RALPH_TASK_ID=stale", "A=1", "A=2"}
	env := Environ(session.Request{Env: base, TaskID: "T-1", Phase: "building", Iteration: 7, Attempt: 2,
		EventID: "01abc"})
	for name, want := range map[string]string{
		"RALPH_TASK_ID": "T-1", "RALPH_ROLE": "coding", "RALPH_PHASE": "building", "RALPH_ITERATION": "7",
		"RALPH_ATTEMPT":  "2",
		"RALPH_EVENT_ID": "01abc", "PATH": "/bin", "A": "2", "MISSING": "",
	} {
		if got := Get(env, name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if base[1] != "RALPH_TASK_ID=stale" {
		t.Error("the caller's environment was changed")
	}
	for _, kv := range env {
		if kv == "RALPH_TASK_ID=stale" {
			t.Error("the variable is there twice")
		}
	}
}
