package loop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// TestIndexer: the indexer's records are taken as a whole. A failure is
// reported and costs nothing.
func TestIndexer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		play func(b *box) session.Result
		says string
		know int
	}{
		{"it learns something", func(b *box) session.Result {
			b.say(func(k *session.Collected) {
				k.Knowledge = notes.Entries([]notes.Put{{Type: "gotcha", Slug: "tests", Text: "The tests are quick."}}, 2, nil)
			})
			return completed()
		}, "", 1},
		{"it crashes", func(*box) session.Result { return session.Result{Outcome: session.Crashed, Detail: "signal 9"} },
			"the indexer failed: crashed: signal 9", 0},
		{"it says nothing", func(*box) session.Result { return completed() }, "", 0},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			indexed := 0
			r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
				if req.Role == session.RoleIndexer {
					indexed++
					r.write("scratch.txt", "of a helper")
					return c.play(b)
				}
				if exists(r.repo.Dir, "scratch.txt") {
					r.t.Error("the helper's file is there")
				}
				return writes(r, req, b, tell)
			}, plan.Task{ID: "A"}, plan.Task{ID: "B"})
			r.Settings.Mode, r.Settings.Index = string(agentctx.HandoffIndex), agentctx.TriggerOptions{Interval: 1}
			if end := r.run(RunOptions{Build: true}); end.Status != state.Complete || indexed == 0 {
				t.Errorf("%s: %s, indexed %d times\n%s", end.Status, end.Reason, indexed, strings.Join(r.said, "\n"))
			}
			if s := r.state(); len(s.Knowledge) != c.know || !r.told(c.says) {
				t.Errorf("it knows %+v\n%s", s.Knowledge, strings.Join(r.said, "\n"))
			}
		})
	}
}

// TestOnLimit: a provider refuses all requests of a run.
func TestOnLimit(t *testing.T) {
	t.Parallel()
	limited := func(*rig, session.Request, *box, func(session.AgentEvent)) session.Result {
		return session.Result{Outcome: session.RateLimited}
	}
	for _, c := range []struct {
		on     string
		status state.Status
		says   string
	}{{"stop", state.HaltedStatus, ""}, {"fallback", state.Complete, "going on with the fallback until"}} {
		t.Run(c.on, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, limited, plan.Task{ID: "A"})
			r.Settings.OnLimit, r.Settings.Delay = c.on, time.Second
			r.FallbackAgent, r.Settings.FallbackDriver = client(writes).over(r), "other"
			if end := r.run(RunOptions{Build: true}); end.Status != c.status || !r.told(c.says) {
				t.Errorf("%s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
			}
		})
	}
}

// TestPersonIsWanted: an agent may ask for a person, with work that is kept and
// with work that is not.
func TestPersonIsWanted(t *testing.T) {
	t.Parallel()
	for _, red := range []bool{false, true} {
		r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
			r.write("work.txt", "1")
			if red && len(r.results()) == 0 {
				r.write("broken", "")
			}
			var h map[string]any
			if err := json.Unmarshal(handoff(req.TaskID, true), &h); err != nil {
				r.t.Error(err)
			}
			h["request_human_review"] = map[string]any{"needed": true, "reason": "which licence?"}
			data, _ := json.Marshal(h)
			b.say(func(c *session.Collected) { c.Handoff = data })
			return completed()
		}, plan.Task{ID: "A"})
		end := r.run(RunOptions{Build: true})
		if end.Status != state.NeedsReview || end.Reason != "which licence?" || red &&
			!r.told("the agent asks for a person") {
			t.Errorf("red %v: %s: %s\n%s", red, end.Status, end.Reason, strings.Join(r.said, "\n"))
		}
	}
}

// TestTaskIsSkippedMeanwhile: a person skips a task while an agent works on it.
// Its work is not committed.
func TestTaskIsSkippedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		r.write("work.txt", "1")
		e := state.Event{Type: state.EvTask, TaskSet: &state.TaskChange{Action: "skip", IDs: []plan.TaskID{"A"},
			Status: plan.Skipped,
			Reason: "not wanted"}}
		if _, err := r.Journal.Record(r.background(), e); err != nil {
			r.t.Error(err)
		}
		b.done(req)
		return completed()
	}, plan.Task{ID: "A"})
	r.run(RunOptions{Build: true})
	list := r.results()
	if len(list) != 1 || list[0].Landed || list[0].Evidence == "" || exists(r.repo.Dir, "work.txt") {
		t.Errorf("%+v\n%s", list, strings.Join(r.said, "\n"))
	}
}

// TestCheckoutEnv: paths into the worktree become paths into the checkout if
// they exist there and are not part of the commit.
func TestCheckoutEnv(t *testing.T) {
	t.Parallel()
	root, dir, outside := t.TempDir(), t.TempDir(), t.TempDir()
	for _, p := range []string{filepath.Join(root, "bin"), filepath.Join(root, ".venv/bin"), filepath.Join(dir, "bin"),
		filepath.Join(dir, ".venv/bin"), filepath.Join(root, "gone")} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "bin"), filepath.Join(outside, "link")); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + outside, "PATH=" + strings.Join([]string{root + "/bin", root + "/.venv/bin", "rel",
		"/usr/bin"}, ":"),
		"VIRTUAL_ENV=" + root + "/.venv", "GONE=" + root + "/gone", "NODE_OPTIONS=--require=" + root + "/hook.js",
		"SIBLING=" + root + "-other/x", "LINK=" + outside + "/link/tool", "PLAIN=yes"}
	held := heldBy(root, dir, []string{"PATH=" + root + "/bin"})
	if d := cmp.Diff(map[string]bool{"bin": true}, held); d != "" {
		t.Error(d)
	}
	want := []string{"HOME=" + outside, "PATH=" + dir + "/.venv/bin:/usr/bin", "VIRTUAL_ENV=" + dir + "/.venv",
		"NODE_OPTIONS=--require=" + dir + "/hook.js", "SIBLING=" + root + "-other/x", "PLAIN=yes"}
	if d := cmp.Diff(want, checkoutEnv(env, root, dir, held)); d != "" {
		t.Error(d)
	}
	at := []string{"HOME=" + root + "/home", "X=" + root}
	if d := cmp.Diff(at, checkoutEnv(at, root, dir, nil)); d != "" {
		t.Errorf("a home folder in the worktree: %s", d)
	}
	if d := cmp.Diff([]string{root + "/bin", root + "/.venv/bin", "rel"}, PathInside(env, root)); d != "" {
		t.Error(d)
	}
}

// TestRunsInACircle: failures open the breaker for a while, and a task without
// progress is blocked.
func TestRunsInACircle(t *testing.T) {
	t.Parallel()
	red := func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		r.write("broken", "")
		return writes(r, req, b, tell)
	}
	t.Run("the breaker cools down", func(t *testing.T) {
		t.Parallel()
		n := 0
		r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
			if n++; n < 3 {
				return red(r, req, b, tell)
			}
			return writes(r, req, b, tell)
		}, plan.Task{ID: "A"})
		r.Settings.Limits = Limits{MaxAttempts: 9, Failures: 2, FailuresGiven: true, Cooldown: time.Minute, MaxPartial: 2}
		if end := r.run(RunOptions{Build: true}); end.Status != state.Complete || r.late < 50*time.Second {
			t.Errorf("%s: %s after %s\n%s", end.Status, end.Reason, r.late, strings.Join(r.said, "\n"))
		}
	})
	t.Run("a task without progress is blocked", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, red, plan.Task{ID: "A"}, plan.Task{ID: "B"})
		r.Settings.Limits = Limits{MaxAttempts: 9, Stagnation: 2, SkipStagnant: true, MaxPartial: 2}
		if end := r.run(RunOptions{Build: true}); end.Status != state.BlockedStatus || !r.told("A is blocked") {
			t.Errorf("%s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
		}
	})
}
