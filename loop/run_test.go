package loop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func (r *rig) write(name, text string) {
	path := filepath.Join(r.repo.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Error(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Error(err)
	}
}

func completed() session.Result {
	return session.Result{Outcome: session.Completed, Usage: session.Usage{Input: 10, Output: 5}}
}

// TestRunOnATask follows an agent's work from the checkpoint to the end of the run.
func TestRunOnATask(t *testing.T) {
	a := plan.Task{ID: "A"}
	for _, c := range []struct {
		why    string
		task   plan.Task
		set    func(*Settings)
		steps  map[string]string
		play   client
		status state.Status
		reason string   // of the run
		ends   []string // of the iterations
		file   string   // work.txt in the end; "-" = not there
		says   string
	}{
		{why: "claimed and proved work is kept and the run complete", task: a, status: state.Complete, ends: []string{"keep"},
			file: "1",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				b.done(req)
				return completed()
			}},
		{why: "red work is taken back, and the next attempt is told", task: a, status: state.Complete,
			ends: []string{"reject: checks: test", "keep"}, file: "2",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "2")
				if req.Attempt == 1 {
					r.write("broken", "")
				} else if !strings.Contains(req.Prompt, "checks: test") || exists(r.repo.Dir, "broken") {
					r.t.Error("the second attempt knows nothing of the first")
				}
				b.done(req)
				return completed()
			}},
		{why: "silence is no claim, and a task has its attempts", task: a, status: state.BlockedStatus,
			reason: "no task can be worked on",
			ends:   []string{"reject: not_claimed", "reject: not_claimed"}, file: "-", says: "the same failure twice",
			play: func(r *rig, _ session.Request, _ *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "x")
				return completed()
			}},
		{why: "an unfinished step is kept and gone on with", task: a, status: state.Complete,
			ends: []string{"keep (partial)", "keep"}, file: "2",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				if !exists(r.repo.Dir, "work.txt") {
					r.write("work.txt", "1")
					b.say(func(c *session.Collected) { c.Handoff = handoff("A", false) })
					return completed()
				}
				r.write("work.txt", "2")
				b.done(req)
				return completed()
			}},
		{why: "a blocked task ends what waits for it", task: a, status: state.BlockedStatus,
			reason: "no task can be worked on", ends: []string{"reject: blocked"}, file: "-",
			play: func(_ *rig, _ session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				b.say(func(c *session.Collected) { c.Blocked = &session.Claim{Text: "no key"} })
				return completed()
			}},
		{why: "a crash is an attempt", task: a, status: state.BlockedStatus, reason: "no task can be worked on",
			ends: []string{"reject: crashed: signal 9", "reject: crashed: signal 9"}, file: "-",
			play: func(r *rig, _ session.Request, _ *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "x")
				return session.Result{Outcome: session.Crashed, Detail: "signal 9"}
			}},
		{why: "a limit of the provider is waited for", task: a, status: state.Complete,
			ends: []string{"reject: rate_limited", "keep"}, file: "1", says: "resume going on",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				if r.waited() < 10*time.Second {
					return session.Result{Outcome: session.RateLimited}
				}
				r.write("work.txt", "1")
				b.done(req)
				return completed()
			}},
		{why: "a lost login ends the run", task: a, status: state.HaltedStatus, reason: "auth: who?",
			ends: []string{"reject: auth"}, file: "-",
			play: func(*rig, session.Request, *box, func(session.AgentEvent)) session.Result {
				return session.Result{Outcome: session.AuthFailed, Detail: "who?"}
			}},
		{why: "moved refs are a person's to look at", task: a, status: state.HaltedStatus, reason: state.RefsMoved,
			ends: []string{"reject: tampered: refs"}, file: "1", says: "git ralph adopt",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				r.repo.Git("branch", "mine")
				b.done(req)
				return completed()
			}},
		{why: "a hook is put back", task: a, set: func(s *Settings) { s.Limits.MaxAttempts = 1 }, status: state.BlockedStatus,
			reason: "no task can be worked on",
			ends:   []string{"reject: tampered: hooks"}, file: "-",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write(".git/hooks/pre-commit", "#!/bin/sh\n")
				r.write("work.txt", "1")
				b.done(req)
				return completed()
			}},
		{why: "a staged file is put back and no reason to reject", task: a, status: state.Complete, ends: []string{"keep"},
			file: "1",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				r.repo.Git("add", "work.txt")
				b.done(req)
				return completed()
			}},
		{why: "a removed test is rejected, with the way to permit it", task: a,
			set: func(s *Settings) { s.Limits.MaxAttempts = 1 }, status: state.BlockedStatus,
			reason: "no task can be worked on", ends: []string{"reject: test_weakened: removed old_test.txt"}, file: "-",
			says: "verdict reject: test_weakened",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				os.Remove(filepath.Join(r.repo.Dir, "old_test.txt"))
				b.done(req)
				return completed()
			}},
		{why: "a protected file", task: a, set: func(s *Settings) {
			s.Limits.MaxAttempts, s.Protected = 1,
				[]string{"a.txt"}
		}, status: state.BlockedStatus,
			reason: "no task can be worked on", ends: []string{"reject: protected: a.txt"}, file: "-",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("a.txt", "other\n")
				b.done(req)
				return completed()
			}},
		{why: "a step that fails before the agent is not its fault", task: a, steps: map[string]string{"before": "database"},
			set:    func(s *Settings) { s.Limits.Failures = 2 },
			status: state.HaltedStatus, reason: "consecutive_failures:2",
			ends: []string{"reject: step: database", "reject: step: database"}, file: "-",
			play: func(r *rig, _ session.Request, _ *box, _ func(session.AgentEvent)) session.Result {
				r.t.Error("the agent was run")
				return session.Result{}
			}},
		{why: "a step that fails after it is", task: a, steps: map[string]string{"after": "lint"},
			set:    func(s *Settings) { s.Limits.MaxAttempts = 1 },
			status: state.BlockedStatus, reason: "no task can be worked on", ends: []string{"reject: step: lint"}, file: "-",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				b.done(req)
				return completed()
			}},
		{why: "a person's commit meanwhile carries the work", task: a, set: func(s *Settings) { s.Limits.MaxAttempts = 1 },
			status: state.HaltedStatus, reason: state.RefsMoved,
			ends: []string{"reject: tampered: refs"}, file: "1",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				r.repo.Git("commit", "-q", "--allow-empty", "-m", "mine")
				b.done(req)
				return completed()
			}},
		{why: "a budget of the iteration stops the agent", task: a,
			set: func(s *Settings) { s.Limits.MaxAttempts, s.IterationTokens = 1, 100 }, status: state.BlockedStatus,
			reason: "no task can be worked on", ends: []string{"reject: limit: iteration_tokens"}, file: "-",
			play: func(r *rig, _ session.Request, _ *box, tell func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				tell(session.AgentEvent{Kind: session.EventText, Text: "hello"})
				tell(session.AgentEvent{Kind: session.EventToolCall, Tool: "Write", Path: "work.txt"})
				tell(session.AgentEvent{Kind: session.EventToolDone})
				tell(session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{Input: 500}})
				return completed()
			}},
		{why: "one of all halts the run and keeps what was finished", task: a,
			set: func(s *Settings) { s.Limits.TotalTokens = 10 }, status: state.Complete, ends: []string{"keep"}, file: "1",
			play: func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				b.done(req)
				tell(session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{Input: 500}})
				return completed()
			}},
		{why: "a full window is followed by a fresh session", task: a,
			set:    func(s *Settings) { s.Window, s.HandoffPercent, s.HardPercent, s.MaxHandoffs = 1000, 60, 90, 2 },
			status: state.Complete, ends: []string{"keep"}, file: "2",
			says: "going on in a fresh session",
			play: func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
				if !exists(r.repo.Dir, "work.txt") {
					r.write("work.txt", "1")
					tell(session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{ContextTokens: 700}})
					if p := req.Judge(session.ToolUse{Tool: "Bash", Input: []byte(`{"command":"true"}`)}); p.Allow {
						r.t.Error("it was not asked to hand over")
					}
					b.say(func(c *session.Collected) { c.Handoff = handoff("A", false) })
					return completed()
				}
				if !strings.Contains(req.Prompt, "what is left") {
					r.t.Error("the second session does not know what the first handed over")
				}
				r.write("work.txt", "2")
				b.done(req)
				return completed()
			}},
		{why: "a bad handoff is asked for once more", task: a, status: state.Complete, ends: []string{"keep"}, file: "1",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				b.say(func(c *session.Collected) { c.Handoff = []byte(`{"task_completed":{}}`) })
				if text, again := req.FollowUp(completed()); !again || !strings.Contains(text, "task_completed") {
					r.t.Errorf("%v %q", again, text)
				}
				b.say(func(c *session.Collected) { c.Handoff = handoff("A", true) })
				return completed()
			}},
		{why: "each iteration may be proved alone", task: plan.Task{ID: "A", Verify: []string{"work.txt"}},
			set: func(s *Settings) { s.Fresh = "each" }, status: state.Complete,
			ends: []string{"keep"}, file: "1", says: "fresh checkout",
			play: func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				b.done(req)
				return completed()
			}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.play, c.task)
			r.Prover = filesProver{steps: c.steps}
			if c.set != nil {
				c.set(&r.Settings)
			}
			end := r.run(RunOptions{Build: true})
			if end.Status != c.status || end.Reason != c.reason {
				t.Errorf("ended %s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
			}
			var ends []string
			for _, res := range r.results() {
				ends = append(ends, verdictLine(Verdict{Verdict: res.Verdict, Partial: res.Partial, Reasons: res.Reasons}))
			}
			if strings.Join(ends, " | ") != strings.Join(c.ends, " | ") {
				t.Errorf("iterations %q, want %q", ends, c.ends)
			}
			data, err := os.ReadFile(filepath.Join(r.repo.Dir, "work.txt"))
			if got := string(data); err == nil && got != c.file || err != nil && c.file != "-" {
				t.Errorf("work.txt: %q, %v; want %q", got, err, c.file)
			}
			if c.says != "" && !r.told(c.says) {
				t.Errorf("nobody was told %q:\n%s", c.says, strings.Join(r.said, "\n"))
			}
		})
	}
}
