package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// doesIt does its task and says so.
func doesIt(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
	r.write(req.TaskID+".txt", "1")
	b.done(req)
	return completed()
}

// TestUnendedIterationKeepsItsRun: an iteration can be neither kept nor ended. The end of its
// session must not remove it from the state, because the next run ends it.
func TestUnendedIterationKeepsItsRun(t *testing.T) {
	broken := false
	r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		defer func() {
			if !broken {
				broken = true
				r.Engine.Close() // from now on nothing in the worktree can be read
			}
		}()
		return doesIt(r, req, b, tell)
	}, plan.Task{ID: "T-001"})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if end, err := r.Run(ctx, RunOptions{}); err == nil {
		t.Fatalf("it ended as %+v", end)
	}
	snap, err := r.Journal.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if snap.State.Run.Current == nil {
		t.Errorf("the iteration has no end and is not at work: %v", r.said)
	}
	r.over(r.Repo, r.Journal, doesIt)
	r.recover()
	if end := r.run(RunOptions{}); end.Status != state.Complete {
		t.Errorf("the next run: %+v", end)
	}
	if list := r.results(); len(list) != 2 || list[0].Detail != "the process died" || list[1].Verdict != state.Keep {
		t.Errorf("%d ends: %+v", len(list), list)
	}
}

// TestClockJumps: the clock goes back and far ahead while agents work, with limits of time
// set. Every task is done once, the journal can be derived again, and its ids are unique.
func TestClockJumps(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	jumps := []time.Duration{-time.Hour, years, -years, time.Minute, -48 * time.Hour}
	var tasks []plan.Task
	for _, id := range []plan.TaskID{"T-001", "T-002", "T-003", "T-004", "T-005"} {
		tasks = append(tasks, plan.Task{ID: id})
	}
	n := 0
	r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		r.mu.Lock()
		r.late += jumps[n%len(jumps)]
		r.mu.Unlock()
		n++
		return doesIt(r, req, b, tell)
	}, tasks...)
	r.Settings.Limits.SessionTime = 100 * 365 * 24 * time.Hour
	if end := r.run(RunOptions{}); end.Status != state.Complete {
		t.Fatalf("%+v\n%v", end, r.said)
	}
	if list := r.results(); len(list) != len(tasks) {
		t.Errorf("%d iterations for %d tasks", len(list), len(tasks))
	}
	ids := map[string]bool{}
	checked, err := r.Journal.Check(context.Background(), nil)
	if err != nil || len(checked.Faults) > 0 {
		t.Errorf("%v %v", err, checked.Faults)
	}
	for _, id := range r.events() {
		if ids[id] {
			t.Errorf("the id %s is there twice", id)
		}
		ids[id] = true
	}
	if len(ids) < 2*len(tasks) {
		t.Errorf("only %d events", len(ids))
	}
}

// TestSessionTimeGoesOn: the time of a session is counted over a crash and over an interrupt,
// without what lies between.
func TestSessionTimeGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		died bool
	}{{"a crash in the middle of an iteration", true}, {"an interrupt", false}} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(context.Background())
			defer interrupt()
			first := true
			r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
				if first {
					first = false
					r.goOn(50 * time.Minute)
					tell(session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{Output: 1}})
					if !c.died {
						interrupt()
					}
				} else {
					r.goOn(20 * time.Minute)
				}
				return doesIt(r, req, b, tell)
			}, plan.Task{ID: "A"}, plan.Task{ID: "B"})
			r.Settings.Limits.SessionTime = time.Hour
			run := func() error { _, err := r.Run(ctx, RunOptions{Build: true}); return err }
			if c.died {
				if !r.dies("iteration:agent-ended", run) {
					t.Fatal("the step was not reached")
				}
				if n := r.lastSign(50 * time.Minute); n != 1 {
					t.Fatalf("%d files tell what was used", n)
				}
			} else if err := run(); err != nil {
				t.Fatal(err)
			}
			r.goOn(24 * time.Hour)
			r.recover()
			end := r.run(RunOptions{Build: true})
			if !strings.HasPrefix(end.Reason, "time_limit:1h10m") {
				t.Errorf("ended %s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
			}
			r.goOn(24 * time.Hour)
			if end := r.run(RunOptions{Build: true}); end.Status != state.Complete {
				t.Errorf("after an end the time begins anew: %s: %s", end.Status, end.Reason)
			}
		})
	}
}

// goOn lets time pass.
func (r *rig) goOn(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.late += d
}

// lastSign makes the files that tell what an iteration has used as late as the clock of the test.
func (r *rig) lastSign(late time.Duration) int {
	r.t.Helper()
	list, err := filepath.Glob(filepath.Join(r.Repo.Dir(), "spend-*"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range list {
		at := time.Now().Add(late)
		if err := os.Chtimes(path, at, at); err != nil {
			r.t.Fatal(err)
		}
	}
	return len(list)
}

// events are the ids of all entries.
func (r *rig) events() []string {
	r.t.Helper()
	var out []string
	err := r.Journal.Walk(context.Background(), func(e journal.Entry) (bool, error) {
		out = append(out, e.Event.ID)
		return true, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}
