package codex

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

func TestClassify(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	limits := &rateLimits{Primary: &window{UsedPercent: 100, ResetsAt: float64(now.Add(time.Hour).Unix())},
		Secondary: &window{UsedPercent: 40}}
	fail := func(message, info string) turn {
		return turn{Status: "failed", Error: &turnError{Message: message, Info: json.RawMessage(info)}}
	}
	rows := []struct {
		why    string
		turn   turn
		limits *rateLimits
		want   session.OutcomeKind
		until  string
	}{
		{"the end of the work", turn{Status: "completed"}, nil, session.Completed, ""},
		{"an interruption that is not ours", turn{Status: "interrupted"}, nil, session.Crashed, ""},
		{"a status that is not known", turn{Status: "inProgress"}, nil, session.ProtocolError, ""},
		{"a failure without a reason", turn{Status: "failed"}, nil, session.ProtocolError, ""},
		{"a usage limit in words", fail("You’ve hit your usage limit. Upgrade to Pro or try again at 5:30 PM.", `null`), nil,
			session.UsageLimit, "2026-11-22T17:30:00Z"},
		{"the account's figures are exact", fail("You’ve hit your usage limit. Try again at 3:01 PM.",
			`"usageLimitExceeded"`), limits, session.UsageLimit, "2026-11-22T15:00:00Z"},
		{"a limit without a time", fail("You’ve hit your usage limit.", `"usageLimitExceeded"`), nil, session.UsageLimit, ""},
		{"credit is a person's business", fail("Quota exceeded. Check your plan and billing details.",
			`"usageLimitExceeded"`), nil, session.AuthFailed, ""},
		{"a window that is full", fail("Codex ran out of room in the model's context window.", `"contextWindowExceeded"`),
			nil, session.ContextLimit, ""},
		{"the same in words", fail("Codex ran out of room in the model's context window. Start a new thread.", ``), nil,
			session.ContextLimit, ""},
		{"high demand", fail("We’re currently experiencing high demand, which may cause temporary errors.", `"other"`), nil,
			session.Overloaded, ""},
		{"a status in words", fail("exceeded retry limit, last status: 429 Too Many Requests", `"other"`), nil,
			session.RateLimited, ""},
		{"a status of its own", fail("x", `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`), nil,
			session.RateLimited, ""},
		{"a login that is refused", fail("unexpected status 401 Unauthorized: Incorrect API key",
			`{"responseStreamDisconnected":{"httpStatusCode":null}}`), nil, session.AuthFailed, ""},
		{"a connection that is lost", fail("stream disconnected", `{"responseStreamDisconnected":{"httpStatusCode":null}}`),
			nil, session.Overloaded, ""},
		{"a model that does not exist", fail("x", `"modelNotFound"`), nil, session.AuthFailed, ""},
		{"a request that is wrong", fail("bad", `"badRequest"`), nil, session.ProtocolError, ""},
	}
	for _, r := range rows {
		s := stream{limits: r.limits}
		e := s.classify(r.turn, now)
		until := ""
		if !e.Until.IsZero() {
			until = e.Until.Format(time.RFC3339)
		}
		if e.Kind != r.want || until != r.until {
			t.Errorf("%s: %s until %q, want %s until %q", r.why, e.Kind, until, r.want, r.until)
		}
	}
}

// asks plays one request of a client to a session without a process, and returns
// the answer.
func asks(t *testing.T, phase, line string) (answer string, judged []string) {
	t.Helper()
	var out strings.Builder
	req := session.Request{Phase: phase, Judge: func(u session.ToolUse) session.Permission {
		judged = append(judged, u.Tool+" "+string(u.Input))
		return session.Permission{Allow: !strings.Contains(string(u.Input), "secret"), Reason: "no"}
	}}
	s := newConversation(t.Context(), client.NewSession(req, nil, nil, 0))
	s.Out = client.NewOutbox(nopCloser{&out})
	s.stream.items["f"] = item{Type: "fileChange", ID: "f", Changes: []change{{Path: "/p/a.go"}, {Path: "/p/secret"}}}
	s.stream.items["nameless"] = item{Type: "fileChange", ID: "nameless", Changes: []change{{Path: "/p/a.go"}, {}}}
	s.stream.items["empty"] = item{Type: "fileChange", ID: "empty"}
	s.stream.items["command"] = item{Type: "commandExecution", ID: "command", Command: "x",
		Changes: []change{{Path: "/p/a.go"}}}
	l, ok := parse([]byte(line))
	if !ok {
		t.Fatal(line)
	}
	s.asked(l, false)
	for id := range s.reasons {
		s.answered(line2(id))
	}
	s.Out.Close()
	<-s.Out.Done()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], judged
}

// A client that never says that it told the model why is refused all the same, and what
// waits for its answer has a limit.
func TestReasonsAreBounded(t *testing.T) {
	var out strings.Builder
	s := newConversation(t.Context(), client.NewSession(session.Request{Phase: "building",
		Judge: func(session.ToolUse) session.Permission { return session.Permission{Reason: "no"} }}, nil, nil, 0))
	s.Out = client.NewOutbox(nopCloser{&out})
	for i := range maxTracked + 1 {
		l, _ := parse(fmt.Appendf(nil, `{"id":%d,"method":"item/commandExecution/requestApproval",`+
			`"params":{"itemId":"c%[1]d","command":"x"}}`, i))
		s.asked(l, false)
	}
	s.Out.Close()
	<-s.Out.Done()
	if n := len(s.reasons); n != maxTracked {
		t.Errorf("%d refusals wait", n)
	}
	if n := strings.Count(out.String(), `"decline"`); n != 1 {
		t.Errorf("%d calls were refused at once", n)
	}
}

func line2(id string) line {
	b, _ := json.Marshal(id)
	return line{ID: b}
}

type nopCloser struct{ *strings.Builder }

func (nopCloser) Close() error { return nil }

func TestApprovals(t *testing.T) {
	command := func(rest string) string {
		return `{"id":7,"method":"item/commandExecution/requestApproval","params":{"itemId":"c",` +
			`"command":"/bin/bash -c x","cwd":"/p"` + rest + `}}`
	}
	rows := []struct{ why, phase, line, want, judged string }{
		{"a command goes to the guard whole", "building", command(""), `"accept"`,
			`exec_command {"command":"/bin/bash -c x","cwd":"/p"}`},
		{"what the client takes a command for does not count", "building",
			command(`,"commandActions":[{"type":"read","path":"/p/a"}]`), `"accept"`, "exec_command"},
		{"input for a program that runs", "building", command(`,"kind":"writeStdin"`), `"decline"`, ""},
		{"a command that wants more than the sandbox", "building", command(`,"additionalPermissions":{"network":true}`),
			`"decline"`, ""},
		{"no command at all", "building", `{"id":7,"method":"item/commandExecution/requestApproval","params":{"itemId":"c"}}`,
			`"decline"`, ""},
		{"reading in a phase without commands", "planning", command(`,"commandActions":[{"type":"read","path":"/p/a"}]`),
			`"accept"`, "Read"},
		{"reading what the guard keeps", "planning", command(`,"commandActions":[{"type":"read","path":"/p/secret"}]`),
			`"decline"`, "Read"},
		{"reading and something else", "planning", command(`,"commandActions":[{"type":"read","path":"/p/a"},` +
			`{"type":"unknown","command":"x"}]`), `"decline"`, "Read"},
		{"something that the client did not understand", "planning", command(""), `"decline"`, ""},
		{"one of the files is protected", "building", `{"id":7,"method":"item/fileChange/requestApproval",` +
			`"params":{"itemId":"f"}}`, `"decline"`, "Edit"},
		{"files that nobody told us", "building", `{"id":7,"method":"item/fileChange/requestApproval",` +
			`"params":{"itemId":"other"}}`, `"decline"`, ""},
		{"a file without a name", "building", `{"id":7,"method":"item/fileChange/requestApproval",` +
			`"params":{"itemId":"nameless"}}`, `"decline"`, "Edit"},
		{"a change of no file", "building", `{"id":7,"method":"item/fileChange/requestApproval",` +
			`"params":{"itemId":"empty"}}`, `"decline"`, ""},
		{"a change that is a command", "building", `{"id":7,"method":"item/fileChange/requestApproval",` +
			`"params":{"itemId":"command"}}`, `"decline"`, ""},
		{"a tool that is not offered",
			"building", `{"id":7,"method":"item/tool/call","params":{"callId":"c","tool":"other"}}`, `-32602`, ""},
		{"a question for a person", "building", `{"id":7,"method":"item/tool/requestUserInput","params":{}}`, `"answers":{}`,
			""},
		{"more permissions", "building", `{"id":7,"method":"item/permissions/requestApproval","params":{}}`, `-32601`, ""},
	}
	for _, r := range rows {
		got, judged := asks(t, r.phase, r.line)
		if !strings.Contains(got, r.want) || !strings.Contains(got, `"id":7`) || !strings.Contains(strings.Join(judged, "; "),
			r.judged) || r.judged == "" && len(judged) > 0 {
			t.Errorf("%s: %s, judged %q", r.why, got, judged)
		}
	}
}

// npm puts a script on PATH. We run the program that it starts.
func TestFind(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the folders of npm packages are named after another system here")
	}
	dir := t.TempDir()
	script, native := filepath.Join(dir, "lib", "@openai", "codex", "bin", "codex.js"), filepath.Join(dir, "lib",
		"@openai", "codex-linux-x64", "vendor", "x", "bin", "codex")
	for _, p := range []string{script, native} {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(script, filepath.Join(bin, "codex")); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(native)
	if err != nil {
		t.Fatal(err)
	}
	if got := find("", []string{"PATH=" + bin}); got != real {
		t.Errorf("%q, want %q", got, real)
	}
	if got := find("", []string{"PATH=" + dir}); got != "" {
		t.Errorf("found %q", got)
	}
}

func TestProbe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no driver for Windows")
	}
	rows := []struct {
		why, version, key string
		supported         bool
		problem, hint     string
	}{
		{"the tested one", "codex-cli 0.169.0", "k", true, "", ""},
		{"a newer one works, with a warning", "codex-cli 0.170.1", "k", true, "", InstallHint},
		{"an older one", "codex-cli 0.168.9", "k", false, "too old", InstallHint},
		{"no login", "codex-cli 0.169.0", "", false, "not logged in", LoginHint},
		{"something else", "hello", "k", false, "does not say which version", InstallHint},
	}
	for _, r := range rows {
		path := filepath.Join(t.TempDir(), "codex")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+r.version+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		info, err := Probe(t.Context(), path, []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "OPENAI_API_KEY=" +
			r.key})
		if err != nil || info.Supported != r.supported || !strings.Contains(info.Problem, r.problem) || info.Hint != r.hint {
			t.Errorf("%s: %+v, %v", r.why, info, err)
		}
	}
}
