package loop

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// TestLimitsOfAProvider: how agent.on_limit handles a limit. No attempt is spent, the same
// task goes on, and the settings choose the client and model.
func TestLimitsOfAProvider(t *testing.T) {
	for _, c := range long.Sample(t, []struct {
		why, on, model string
		other          bool // a client to fall back to
		kind           session.OutcomeKind
		until          time.Duration // 0 = the client names no time
		limits         int           // sessions that are limited
		want           []string      // client and model of each session
		status         state.Status
		waits          time.Duration // at least, and not 10 minutes longer
	}{
		{"waits until the named time", "wait", "", false, session.UsageLimit, 2 * time.Minute, 1,
			[]string{"own base", "own base"},
			state.Complete, 2 * time.Minute},
		{"waits longer each time when none is named", "wait", "", false, session.RateLimited, 0, 2,
			[]string{"own base", "own base", "own base"}, state.Complete, 90 * time.Second},
		{"stops", "stop", "", false, session.UsageLimit, 2 * time.Minute, 1, []string{"own base"}, state.HaltedStatus, 0},
		{"goes on with another model", "fallback", "spare", false, session.Overloaded, 2 * time.Minute, 1,
			[]string{"own base", "own spare"}, state.Complete, 0},
		{"goes on with another client", "fallback", "", true, session.UsageLimit, 2 * time.Minute, 1,
			[]string{"own base", "other "},
			state.Complete, 0},
		{"waits when the other one is limited too", "fallback", "spare", false, session.RateLimited, 2 * time.Minute, 2,
			[]string{"own base", "own spare", "own base"}, state.Complete, time.Minute},
		{"does not believe a time in ten years", "wait", "", false, session.UsageLimit, 10 * 365 * 24 * time.Hour, 1,
			[]string{"own base", "own base"}, state.Complete, 30 * time.Second},
		{"nor one that has passed", "wait", "", false, session.RateLimited, -time.Hour, 1,
			[]string{"own base", "own base"}, state.Complete, 30 * time.Second},
		{"nor one in ten years with a fallback", "fallback", "spare", false, session.UsageLimit,
			10 * 365 * 24 * time.Hour, 2, []string{"own base", "own spare", "own spare"}, state.Complete, 30 * time.Second},
	}, 2) {
		t.Run(c.why, func(t *testing.T) {
			var got []string
			play := func(name string) client {
				return func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
					got = append(got, name+" "+req.Model)
					for _, kv := range req.Env {
						if who, is := strings.CutPrefix(kv, "LOGIN="); is && who != name {
							t.Errorf("%s has the login of %s", name, who)
						}
					}
					if !slices.Contains(req.Env, "LOGIN="+name) {
						t.Errorf("%s has no login", name)
					}
					if len(got) <= c.limits {
						res := session.Result{Outcome: c.kind}
						if c.until != 0 {
							res.Until = r.now().Add(c.until)
						}
						return res
					}
					put(r, "b.txt", "x")
					b.done(req)
					return session.Result{Outcome: session.Completed}
				}
			}
			r := newRig(t, play("own"), plan.Task{ID: "A"})
			r.Settings.Driver = "own"
			r.Settings.Logins = map[string][]string{"own": {"LOGIN=own"}, "other": {"LOGIN=other"}}
			r.Settings.OnLimit, r.Settings.Model, r.Settings.Fallback = c.on, "base", c.model
			if c.other {
				r.FallbackAgent, r.Settings.FallbackDriver = play("other").over(r), "other"
			}
			began := r.now()
			if end := r.run(RunOptions{Build: true}); end.Status != c.status {
				t.Fatalf("%s %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if took := r.now().Sub(began); took < c.waits || took > c.waits+10*time.Minute {
				t.Errorf("waited %s, want %s", took, c.waits)
			}
			if n := r.state().Plan.Tasks[0].Attempts; n != 0 {
				t.Errorf("%d attempts were spent", n)
			}
		})
	}
}
