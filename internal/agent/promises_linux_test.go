package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// wholeRun writes, runs commands, calls our tools, is denied a commit.
func (d dialect) wholeRun(t *testing.T) {
	r := d.setUp(t, func(dir string) fakemodel.Script {
		first := tools(d.Write(dir+"/hello.txt", "hello\n"))
		first.Text, first.Usage = "I will write the file.", &fakemodel.Usage{In: 1000, Out: 50, CacheRead: 200}
		return fakemodel.Script{first,
			tools(d.Shell(`cat hello.txt; echo "key=[$OPENAI_API_KEY$ANTHROPIC_API_KEY$GEMINI_API_KEY] task=$RALPH_TASK_ID"`)),
			tools(d.Tool("ralph_mark_task_complete", `{"task_id":"T-9"}`)),
			tools(d.Tool("ralph_mark_task_complete", `{"task_id":"T-1"}`)),
			tools(d.Shell("git add -A && git commit -m x")),
			tools(d.Tool("ralph_submit_handoff", `{"summary":"done"}`)),
			{Text: "All done."}}
	})
	head := r.git(t, "rev-parse", "HEAD")
	res := r.play(t, t.Context(), nil)
	r.want(t, res, session.Completed, "")
	if b, err := os.ReadFile(filepath.Join(r.dir, "hello.txt")); string(b) != "hello\n" {
		t.Errorf("hello.txt: %q, %v", b, err)
	}
	if r.git(t, "rev-parse", "HEAD") != head {
		t.Error("HEAD moved")
	}
	if want := []string{"ralph_mark_task_complete", "ralph_mark_task_complete",
		"ralph_submit_handoff"}; !slices.Equal(r.calls, want) {
		t.Errorf("calls of our tools: %q", r.calls)
	}
	if got := r.said(session.EventDenied); len(got) != 1 || got[0] != "commits are made by the loop" {
		t.Errorf("denied: %q", got)
	}
	if got := r.said(session.EventText); !slices.Equal(got[:min(2, len(got))], []string{"I will write the file.",
		"All done."}) {
		t.Errorf("texts: %q", got)
	}
	if n, m := len(r.said(session.EventToolCall)), len(r.said(session.EventToolDone)); n != m || n != 6 {
		t.Errorf("%d calls began, %d ended: %q", n, m, r.said(session.EventToolCall))
	}
	u, requests := res.Usage, 7
	if d.late {
		requests, u.ContextTokens = 1, 1
	}
	if d.argv != nil && u.Total() == 0 || d.argv == nil && (u.Input != 1600 || u.Output != 170 || u.CacheRead != 200 ||
		u.APICalls != requests || u.ContextTokens == 0 || u.ContextWindow == 0) {
		t.Errorf("usage %+v", u)
	}
	var sum session.Usage
	for _, e := range r.events {
		if e.Kind == session.EventUsage {
			sum = client.AddUsage(sum, e.Usage)
		}
	}
	if sum.Total() != u.Total() {
		t.Errorf("increments %+v, total %+v", sum, u)
	}
	if res.SessionID == "" || res.Model != d.Model || !strings.HasPrefix(res.Client, d.Driver+" ") ||
		res.ExitCode != 0 && d.argv == nil {
		t.Errorf("result %+v", res)
	}
	turns := r.model.Turns()
	last := string(turns[len(turns)-1].Body)
	key := "key=[] task=T-1"
	if d.argv != nil {
		key = "task=T-1" // the client decides which variables its commands get
	}
	for _, want := range []string{"THE SYSTEM ADDITION", "do the task", key, "T-9 is not the task of this iteration",
		"recorded",
		"commits are made by the loop", d.Ralph + "ralph_submit_handoff"} {
		if !strings.Contains(last, want) {
			t.Errorf("the model did not see %q", want)
		}
	}
}

// furtherPrompt asks for more in the same session.
func (d dialect) furtherPrompt(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script {
		return fakemodel.Script{{Text: "done"}, tools(d.Tool("ralph_submit_handoff", `{"summary":"s"}`)),
			{Text: "handed over"}}
	})
	asked := 0
	r.req.FollowUp = func(session.Result) (string, bool) { asked++; return "SUBMIT THE HANDOFF NOW", asked == 1 }
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	all := r.model.Turns()
	if len(r.calls) != 1 || asked != 2 || !strings.Contains(string(all[len(all)-1].Body), "SUBMIT THE HANDOFF NOW") ||
		!strings.Contains(r.transcript.String(), "ralph_prompt") {
		t.Errorf("asked %d times, calls %q", asked, r.calls)
	}
}

// lostSession: if the session to continue is gone, a new one does the work, and its
// own figures count.
func (d dialect) lostSession(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Text: "done"}} })
	const gone = "99999999-2222-4333-8444-555555555555"
	r.req.KeepSession, r.req.Resume = true, &session.ClientSession{ID: gone, Used: session.Usage{Input: 1e6, Output: 1e6}}
	res := r.play(t, t.Context(), nil)
	r.want(t, res, session.Completed, "")
	if res.Session == nil || res.Session.ID == gone || res.Usage.Input == 0 || len(r.model.Turns()) != 1 {
		t.Errorf("%+v after %d turns", res, len(r.model.Turns()))
	}
}

// readingPhase: a phase without commands reads and does not write.
func (d dialect) readingPhase(t *testing.T) {
	r := d.setUp(t, func(dir string) fakemodel.Script {
		return fakemodel.Script{tools(d.Write(dir+"/no.txt", "x\n")), tools(d.Shell("touch no.txt")),
			tools(d.Shell("cat a.txt; touch no.txt")), {Text: "x"}}
	})
	judge := r.req.Judge
	r.req.Judge = func(u session.ToolUse) session.Permission {
		if !slices.Contains([]string{"Read", "Glob", "Grep"}, u.Tool) {
			return session.Permission{Reason: "not part of this phase"}
		}
		return judge(u)
	}
	r.req.Phase = "planning"
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	if _, err := os.Stat(filepath.Join(r.dir, "no.txt")); err == nil {
		t.Error("planning wrote a file")
	}
}

// hostileSettings: files of a repository configure no client.
func (d dialect) hostileSettings(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script {
		return fakemodel.Script{tools(d.Shell("git commit --allow-empty -m x")), {Text: "x"}}
	})
	for name, text := range d.hostile {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		// The user's own settings are ignored as well.
		path = filepath.Join(r.root, "home", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	head := r.git(t, "rev-parse", "HEAD")
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	for _, turn := range r.model.Turns() {
		if strings.Contains(string(turn.Body), "LEAKED") {
			at := strings.Index(string(turn.Body), "LEAKED")
			t.Errorf("a file of the repository or of the user reached the model as instructions: %s",
				turn.Body[max(0, at-300):min(len(turn.Body), at+100)])
		}
	}
	if r.leaked() {
		t.Error("a program that the repository names was run")
	}
	if r.git(t, "rev-parse", "HEAD") != head || len(r.said(session.EventDenied)) != 1 {
		t.Errorf("a commit was made, or not denied: %q", r.said(session.EventDenied))
	}
}

// refuses: a client that would run files unasked is not started.
func (d dialect) refuses(t *testing.T, name, text string) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Text: "x"}} })
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r.want(t, r.play(t, t.Context(), nil), session.PermissionDenied, "plugins of the repository")
	if r.leaked() || len(r.model.Requests()) > 0 {
		t.Error("the client was started")
	}
}

func (d dialect) turnLimit(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script {
		again := tools(d.Shell("echo again"))
		again.Repeat = -1
		return fakemodel.Script{again}
	})
	r.req.MaxTurns = 2
	r.want(t, r.play(t, t.Context(), nil), session.MaxTurns, "")
	if n := len(r.model.Turns()); n > 3 {
		t.Errorf("%d requests with a limit of 2", n)
	}
}

// hang: the provider never answers, and the client waits for it.
func (d dialect) hang(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{NoAnswer: true, Repeat: -1}} })
	r.req.Idle = 4 * time.Second
	r.want(t, r.play(t, t.Context(), nil), session.Hang, "idle 4s")
}

// interrupt: the loop cancels the run while a command is running.
func (d dialect) interrupt(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script {
		return fakemodel.Script{tools(d.Shell("tail -f /dev/null")), {Text: "x"}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res := r.play(t, ctx, func(e session.AgentEvent) {
		if e.Kind == session.EventToolCall {
			cancel()
		}
	})
	r.want(t, res, session.Interrupted, "")
}

// killed: the client is killed, or ended by somebody else's signal, while a command is running.
func (d dialect) killed(t *testing.T, signal syscall.Signal, detail string) {
	r := d.setUp(t, func(string) fakemodel.Script {
		return fakemodel.Script{tools(d.Shell("tail -f /dev/null")), {Text: "x"}}
	})
	start := r.req.Start
	var pid int
	r.req.Start = func(ctx context.Context, c proc.Command) (*proc.Process, error) {
		p, err := start(ctx, c)
		if err == nil && (c.StdoutPipe || c.Stdin != nil) { // not the driver's probe
			pid = p.Pid
		}
		return p, err
	}
	res := r.play(t, t.Context(), func(e session.AgentEvent) {
		if e.Kind == session.EventToolCall && pid > 0 {
			syscall.Kill(pid, signal)
		}
	})
	if d.Driver == "codex" && signal == syscall.SIGTERM { // it ends with 0, as if it were done
		r.want(t, res, session.ProtocolError, "the client ended without a result")
		return
	}
	r.want(t, res, session.Crashed, detail)
}

// failure: the provider refuses each request.
func (d dialect) failure(t *testing.T, f failure) {
	f.step.Repeat = -1
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{f.step} })
	r.req.Env = client.Set(r.req.Env, f.env...)
	begun := time.Now()
	res := r.play(t, t.Context(), nil)
	r.want(t, res, f.outcome, f.detail)
	const tolerance = 5 * time.Minute // some clients give the time in words, without seconds
	earliest, latest := f.until.Add(-tolerance), f.until.Add(tolerance)
	switch f.until {
	case never:
		return
	case inAQuarter:
		earliest, latest = begun.Add(15*time.Minute), time.Now().Add(15*time.Minute+tolerance)
	}
	if res.Until.Before(earliest) || res.Until.After(latest) {
		t.Errorf("until %s, want it from %s to %s", res.Until, earliest.UTC(), latest.UTC())
	}
}

func (d dialect) probe(t *testing.T) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for k, v := range d.Env("http://127.0.0.1:9") {
		env = append(env, k+"="+v)
	}
	info, err := Probe(t.Context(), d.Driver, d.options(), env)
	if err != nil || !info.Supported || info.Version == "" || info.Warning != "" {
		t.Errorf("%+v, %v", info, err)
	}
}
