package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/netns"
	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// These tests run the real Claude Code against a scripted model. They need the
// client's binary, but no key and no network. Each run has a fresh HOME and its own
// environment. The whole test runs again in a network namespace with only loopback.
const (
	clientVariable = "RALPH_TEST_CLAUDE"
	pinnedClient   = "../../../fixtures/clients/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
)

func TestReal(t *testing.T) {
	path := os.Getenv(clientVariable)
	if path == "" && long.On() {
		if abs, err := filepath.Abs(pinnedClient); err == nil && isExecutable(abs) {
			path = abs
		}
	}
	if path == "" {
		long.Only(t, "the real client")
		t.Skip("Claude Code is not installed: run `npm ci --prefix fixtures/clients --ignore-scripts`, or name the " +
			"binary in " + clientVariable)
	}
	if netns.Isolate(t, "TestReal", clientVariable+"="+path) {
		return
	}
	lab := lab{client: path}
	t.Run("whole run", lab.wholeRun)
	t.Run("follow up", lab.followUp)
	t.Run("tools of the phase", lab.phaseTools)
	t.Run("bare is impossible", lab.bare)
	t.Run("hang", lab.hang)
	t.Run("open call is no hang", lab.openCall)
	t.Run("interrupt", lab.interrupt)
	t.Run("kill", lab.kill)
	t.Run("provider", lab.provider)
	t.Run("subagent", lab.subagent)
	t.Run("sandbox", lab.sandboxed)
	t.Run("mcp", lab.mcp)
	t.Run("probe", lab.probe)
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// wholeRun writes, runs a command, calls our tools, is denied a commit.
func (l lab) wholeRun(t *testing.T) {
	e := l.experiment(t, nil, func(dir string) fakemodel.Script {
		write := call("Write", fmt.Sprintf(`{"file_path":%q,"content":"hello\n"}`, dir+"/hello.txt"))
		write.Text, write.Usage = "I will write the file.", &fakemodel.Usage{In: 1000, Out: 50, CacheRead: 200,
			CacheWrite: 300}
		return fakemodel.Script{write,
			bash(`cat hello.txt; echo "key=[$ANTHROPIC_API_KEY] task=$RALPH_TASK_ID"`),
			call("mcp__ralph__ralph_mark_task_complete", `{"task_id":"T-9"}`),
			call("mcp__ralph__ralph_mark_task_complete", `{"task_id":"T-1"}`),
			bash("git add -A && git commit -m x"),
			call("mcp__ralph__ralph_submit_handoff", `{"summary":"done"}`),
			{Text: "All done."}}
	})
	head := e.git(t, "rev-parse", "HEAD")
	e.req.System = "THE SYSTEM ADDITION"
	res := e.run(t, l, t.Context(), nil)

	e.wantOutcome(t, res, session.Completed, "")
	if b, err := os.ReadFile(filepath.Join(e.dir, "hello.txt")); string(b) != "hello\n" {
		t.Errorf("hello.txt: %q, %v", b, err)
	}
	if got := e.git(t, "rev-parse", "HEAD"); got != head {
		t.Error("HEAD moved")
	}
	want := []string{`ralph_mark_task_complete {"task_id":"T-9"}`, `ralph_mark_task_complete {"task_id":"T-1"}`,
		`ralph_submit_handoff {"summary":"done"}`}
	if !slices.Equal(e.calls, want) {
		t.Errorf("calls of our tools: %q", e.calls)
	}
	if got := e.said(session.EventDenied); !slices.Equal(got, []string{"Bash commits are made by the loop"}) {
		t.Errorf("denied: %q", got)
	}
	if got := e.said(session.EventText); !slices.Equal(got, []string{"I will write the file.", "All done."}) {
		t.Errorf("texts: %q", got)
	}
	if n, m := len(e.said(session.EventToolCall)), len(e.said(session.EventToolDone)); n != 6 || m != 6 {
		t.Errorf("%d calls began, %d ended", n, m)
	}
	u := res.Usage
	if u.Input != 1600 || u.Output != 170 || u.CacheRead != 200 || u.CacheWrite != 300 || u.APICalls != 7 ||
		u.ContextTokens != 100 ||
		u.ContextWindow != 200_000 || u.CostMicroUSD == nil || *u.CostMicroUSD == 0 {
		t.Errorf("usage %+v", u)
	}
	var sum session.Usage
	for _, ev := range e.events {
		if ev.Kind == session.EventUsage {
			sum = client.AddUsage(sum, ev.Usage)
		}
	}
	if sum.Total() != u.Total() || sum.CostMicroUSD == nil || *sum.CostMicroUSD != *u.CostMicroUSD {
		t.Errorf("increments %+v, total %+v", sum, u)
	}
	if res.SessionID == "" || res.Model != "claude-sonnet-4-5" || !strings.HasPrefix(res.Client, "claude 2.") ||
		res.ExitCode != 0 {
		t.Errorf("result %+v", res)
	}

	turns := e.model.Turns()
	last := string(turns[len(turns)-1].Body)
	for _, want := range []string{"THE SYSTEM ADDITION", "key=[] task=T-1", "T-9 is not the task of this iteration",
		`recorded`, "commits are made by the loop", `"name":"mcp__ralph__ralph_submit_handoff"`} {
		if !strings.Contains(last, want) {
			t.Errorf("the model did not see %q", want)
		}
	}
	for line := range strings.Lines(e.transcript.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the transcript has a line that is no JSON: %.200s", line)
		}
	}
}

// followUp asks for more in the same session, also after the turns are used up.
func (l lab) followUp(t *testing.T) {
	for _, turns := range []int{0, 2} {
		e := l.experiment(t, nil, func(string) fakemodel.Script {
			return fakemodel.Script{bash("echo a"), bash("echo b"), call("mcp__ralph__ralph_submit_handoff", `{"summary":"s"}`),
				{Text: "handed over"}}
		})
		e.req.MaxTurns = turns
		var ends []session.OutcomeKind
		e.req.FollowUp = func(r session.Result) (string, bool) {
			ends = append(ends, r.Outcome)
			return "SUBMIT THE HANDOFF NOW", len(ends) == 1
		}
		res := e.run(t, l, t.Context(), nil)
		want := []session.OutcomeKind{session.Completed, session.Completed}
		if turns > 0 {
			want[0] = session.MaxTurns // this stays the outcome, whatever follows
		}
		e.wantOutcome(t, res, want[0], "")
		if !slices.Equal(ends, want) || len(e.calls) != 1 {
			t.Errorf("%d turns: ends %q, calls %q", turns, ends, e.calls)
		}
		all := e.model.Turns()
		if !strings.Contains(string(all[len(all)-1].Body), "SUBMIT THE HANDOFF NOW") ||
			!strings.Contains(e.transcript.String(), "ralph_prompt") {
			t.Error("the further prompt is missing from the conversation or the transcript")
		}
	}
}

// phaseTools: a tool that is not part of the phase is neither offered nor run.
func (l lab) phaseTools(t *testing.T) {
	e := l.experiment(t, nil, func(dir string) fakemodel.Script {
		return fakemodel.Script{call("Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, dir+"/no.txt")),
			bash("touch no.txt"), {Text: "x"}}
	})
	e.req.Phase = "planning"
	e.wantOutcome(t, e.run(t, l, t.Context(), nil), session.Completed, "")
	if _, err := os.Stat(filepath.Join(e.dir, "no.txt")); err == nil {
		t.Error("planning wrote a file")
	}
	var body struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	json.Unmarshal(e.model.Turns()[0].Body, &body)
	var names []string
	for _, tool := range body.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	want := []string{"Agent", "Glob", "Grep", "Read", "WebFetch", "WebSearch", "mcp__ralph__ralph_mark_task_complete",
		"mcp__ralph__ralph_submit_handoff"}
	if !slices.Equal(names, want) {
		t.Errorf("offered %q\nwant %q", names, want)
	}
}

// bare: the variable that switches all hooks off does not reach the client.
func (l lab) bare(t *testing.T) {
	e := l.experiment(t, map[string]string{"CLAUDE_CODE_SIMPLE": "1", "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1"},
		func(string) fakemodel.Script {
			return fakemodel.Script{bash("git commit --allow-empty -m x"), {Text: "x"}}
		})
	e.wantOutcome(t, e.run(t, l, t.Context(), nil), session.Completed, "")
	if got := e.said(session.EventDenied); len(got) != 1 {
		t.Errorf("denied: %q", got)
	}
}

// hang: the provider never answers, and the client waits for it.
func (l lab) hang(t *testing.T) {
	e := l.experiment(t, map[string]string{"API_TIMEOUT_MS": "600000"}, func(string) fakemodel.Script {
		return fakemodel.Script{{NoAnswer: true, Repeat: -1}}
	})
	e.req.Idle = 4 * time.Second
	e.wantOutcome(t, e.run(t, l, t.Context(), nil), session.Hang, "idle 4s")
}

// openCall: a silent command is no hang, but the wall clock ends it.
func (l lab) openCall(t *testing.T) {
	e := l.experiment(t, nil, func(string) fakemodel.Script { return fakemodel.Script{bash("tail -f /dev/null")} })
	e.req.Idle, e.req.Timeout = 4*time.Second, 12*time.Second
	e.wantOutcome(t, e.run(t, l, t.Context(), nil), session.Hang, "wall 12s")
}

// interrupt: the end of the context ends the client, and it still reports its costs.
func (l lab) interrupt(t *testing.T) {
	e := l.experiment(t, nil, func(string) fakemodel.Script { return fakemodel.Script{bash("tail -f /dev/null")} })
	ctx, cancel := context.WithCancel(t.Context())
	res := e.run(t, l, ctx, func(ev session.AgentEvent) {
		if ev.Kind == session.EventToolCall {
			cancel()
		}
	})
	e.wantOutcome(t, res, session.Interrupted, "")
	if res.Usage.CostMicroUSD == nil || res.Usage.Total() == 0 {
		t.Errorf("usage %+v", res.Usage)
	}
}

// kill: the client is killed. Its command, in its own session, dies with the group.
func (l lab) kill(t *testing.T) {
	e := l.experiment(t, nil, func(string) fakemodel.Script {
		return fakemodel.Script{bash("echo $PPID >pid; echo $$ >shell; tail -f /dev/null")}
	})
	var p *proc.Process
	e.req.Start = func(ctx context.Context, cmd proc.Command) (*proc.Process, error) {
		var err error
		p, err = e.group.Start(ctx, cmd)
		return p, err
	}
	go func() {
		for t.Context().Err() == nil {
			if b, err := os.ReadFile(filepath.Join(e.dir, "shell")); err == nil && len(b) > 0 {
				syscall.Kill(p.Pid, syscall.SIGKILL)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	e.wantOutcome(t, e.run(t, l, t.Context(), nil), session.Crashed, "signal 9")
	if err := e.group.Close(); err != nil {
		t.Fatal(err)
	}
	var shell int
	b, _ := os.ReadFile(filepath.Join(e.dir, "shell"))
	if _, err := fmt.Sscan(string(b), &shell); err != nil || !errors.Is(syscall.Kill(shell, 0), syscall.ESRCH) {
		t.Errorf("the command %d is still there (%v)", shell, err)
	}
}

// provider: provider failures that only this client distinguishes; the others are in the conformance test.
func (l lab) provider(t *testing.T) {
	reset := time.Now().Add(2 * time.Hour).Unix()
	rows := []struct {
		why    string
		step   fakemodel.Step
		env    map[string]string
		kind   session.OutcomeKind
		detail string
		until  bool
	}{
		{"a key's limit", fakemodel.Step{Status: 429, ErrorType: "rate_limit_error",
			Message: "You have reached your specified API usage limits. You will regain access on " +
				time.Unix(reset, 0).UTC().AddDate(0, 0, 3).Format("2006-01-02 at 15:04 UTC.")},
			nil, session.UsageLimit, "usage limits", true},
		{"a retry that would take too long: the client gives up at once", fakemodel.Step{Status: 429,
			ErrorType: "rate_limit_error", Message: "slow down", Headers: map[string]string{"retry-after": "1000"}},
			map[string]string{"CLAUDE_CODE_MAX_RETRIES": "4"}, session.RateLimited, "429", false},
		{"a model that is not there", fakemodel.Step{Status: 404, ErrorType: "not_found_error",
			Message: "model: claude-sonnet-4-5"}, nil, session.AuthFailed, "model", false},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			r.step.Repeat = -1
			e := l.experiment(t, r.env, func(string) fakemodel.Script { return fakemodel.Script{r.step} })
			res := e.run(t, l, t.Context(), nil)
			e.wantOutcome(t, res, r.kind, r.detail)
			if res.Until.IsZero() == r.until {
				t.Errorf("until %v", res.Until)
			}
		})
	}
}

// sandboxed: the client also works in the sandbox, which holds although the guard
// allows everything. The client's end is passed on.
func (l lab) sandboxed(t *testing.T) {
	for _, r := range []struct {
		why  string
		step fakemodel.Step
		kind session.OutcomeKind
	}{
		{"ends by itself", fakemodel.Step{Text: "x"}, session.Completed},
		{"is killed from inside", bash("kill -9 $PPID; sleep 5"), session.Crashed},
	} {
		e := l.experiment(t, nil, func(string) fakemodel.Script {
			return fakemodel.Script{bash("echo ok >inside; git commit --allow-empty -m x; git update-ref refs/heads/stolen " +
				"HEAD; rm -rf .git"), r.step, {Text: "y"}}
		})
		e.req.Judge = func(session.ToolUse) session.Permission { return session.Permission{Allow: true} }
		home := client.Get(e.req.Env, "HOME")
		upper := filepath.Join(t.TempDir(), "upper")
		t.Cleanup(func() { sandbox.RemoveHomeUpper(upper) }) // an overlay leaves folders that nobody may enter
		spec := sandbox.Spec{Worktree: e.dir, GitDirs: []string{filepath.Join(e.dir, ".git")}, Home: home, HomeUpper: upper,
			CommandFiles: append([]string{l.client}, filepath.SplitList(os.Getenv("PATH"))...), Network: sandbox.NetworkOpen}
		report, err := sandbox.Probe(t.Context(), spec)
		if err != nil || report.Mechanism != sandbox.Namespaces {
			t.Skipf("this machine has no sandbox: %s (%v)", report.Detail, err)
		}
		wrap, err := sandbox.Wrapper(report.Apply(spec))
		if err != nil {
			t.Fatal(err)
		}
		group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("sandboxed-%d", time.Now().UnixNano()),
			Wrap: wrap})
		if err != nil {
			t.Fatal(err)
		}
		e.req.Start = group.Start
		refs := e.git(t, "for-each-ref")
		e.wantOutcome(t, e.run(t, l, t.Context(), nil), r.kind, map[session.OutcomeKind]string{
			session.Crashed: "signal 9"}[r.kind])
		if err := group.Close(); err != nil {
			t.Error(err)
		}
		if got := e.git(t, "for-each-ref"); got != refs {
			t.Errorf("%s: refs changed:\n%s", r.why, got)
		}
		if b, err := os.ReadFile(filepath.Join(e.dir, "inside")); string(b) != "ok\n" {
			t.Errorf("%s: the worktree: %q, %v", r.why, b, err)
		}
	}
}

// subagent: its calls are judged like the others.
func (l lab) subagent(t *testing.T) {
	e := l.experiment(t, nil, func(string) fakemodel.Script {
		return fakemodel.Script{call("Agent", `{"description":"sub","prompt":"do sub","subagent_type":"general-purpose"}`),
			bash("touch z && git add -A && git commit -qm x"), {Text: "sub finished"}, {Text: "main finished"}}
	})
	res := e.run(t, l, t.Context(), nil)
	e.wantOutcome(t, res, session.Completed, "")
	if got := e.said(session.EventDenied); len(got) != 1 {
		t.Errorf("denied: %q", got)
	}
	if res.Usage.Input != 400 || len(e.model.Turns()) != 4 {
		t.Errorf("usage %+v", res.Usage)
	}
}

// mcp: the client reaches a server from the settings, which has its own environment
// and not the client's credentials.
func (l lab) mcp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := l.experiment(t, nil, func(string) fakemodel.Script {
		return fakemodel.Script{call("mcp__notes__env", `{}`),
			{Text: "x"}}
	})
	e.req.MCP = map[string]session.MCPServer{"notes": {Command: []string{self},
		Env: map[string]string{"NOTES_TOKEN": "a b$c", playVariable: "mcp"}}}
	e.wantOutcome(t, e.run(t, l, t.Context(), nil), session.Completed, "")
	turns := e.model.Turns()
	if last := string(turns[len(turns)-1].Body); !strings.Contains(last, "token=[a b$c] key=[]") {
		t.Errorf("the server's answer is missing; transcript:\n%s", e.transcript.String())
	}
}

func (l lab) probe(t *testing.T) {
	e := l.experiment(t, nil, func(string) fakemodel.Script { return nil })
	info, err := Probe(t.Context(), l.client, e.req.Env)
	if err != nil || !info.Found || !info.Supported || info.Version == "" || info.Problem != "" {
		t.Errorf("%+v, %v", info, err)
	}
	if n := len(e.model.Turns()); n != 0 {
		t.Errorf("the probe asked the provider %d times", n)
	}
}
