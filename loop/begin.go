package loop

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// begin records the session and gives tasks of a dead run back.
func (l *Loop) begin() error {
	host, _ := os.Hostname()
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		// The budgets of a session go on over a crash or an interruption.
		goesOn := s.Run.Session > 0 && (s.Run.Status == state.Running || s.Run.Status == state.Waiting ||
			s.Run.Status == state.Interrupted)
		n := s.Run.Session + 1
		return state.Event{Type: state.EvSession, Session: n, Sess: &state.SessionChange{Action: "begin", Number: n,
			Budgets: goesOn,
			Mode:    l.Settings.Mode, Driver: l.Settings.Driver, Model: l.Settings.Model, Sandbox: l.Sandbox.Mechanism(),
			Versions: l.Settings.Versions, Settings: l.Settings.Hash, PID: os.Getpid(), Host: host}}, nil
	})
	if err != nil {
		return err
	}
	s := snap.State
	var stale []plan.TaskID
	if err := l.recovery().GiveBack(l.background()); err != nil {
		return err
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.InProgress && s.ClaimOf(t.ID) == nil {
			stale = append(stale, t.ID)
		}
	}
	if len(stale) > 0 {
		err := l.record(state.Event{Type: state.EvTask, TaskSet: &state.TaskChange{Action: "recover", IDs: stale,
			Status: plan.Pending,
			Reason: "left in progress by a run that ended", Rule: "stale_in_progress"}})
		if err != nil {
			return err
		}
	}
	if err := l.amend(); err != nil {
		return err
	}
	l.emit("start", s, "", map[string]any{"session": s.Run.Session, "sandbox": l.Sandbox.Mechanism()}, "session %d begins",
		s.Run.Session)
	return nil
}

// end records how the session ended.
func (l *Loop) end(status state.Status, reason string) (End, error) {
	// An interruption can fall between any two steps: an iteration that has no
	// end yet is stored and its checkpoint restored, as after a crash.
	if s, err := l.load(); err == nil && s.Run.Current != nil && s.Run.Current.Actor == l.Journal.Actor {
		if err := l.recovery().Run(l.background()); err != nil {
			l.Log("%v", err)
		}
	}
	if l.Share != nil {
		if err := l.recovery().GiveBack(l.background()); err != nil {
			l.Log("%v", err)
		}
		defer func() {
			if err := l.Share.publish(l.background()); err != nil {
				l.Log("the end of the session was not pushed: %v", err)
			}
		}()
	}
	l.endSession(strings.TrimSuffix(string(status)+": "+reason, ": "))
	n := 0
	var proof state.Proved
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		n, proof = s.Run.Session, provedBy(s, l.proof)
		return state.Event{Type: state.EvSession, Session: n, Sess: &state.SessionChange{Action: "end", Number: n,
			Status: status, Reason: reason,
			Proved: l.proved, Proof: &proof}}, nil
	})
	if err != nil {
		return End{Status: status, Reason: reason}, err
	}
	if err := recovery.DropCheckpoints(l.background(), l.Repo, snap.State); err != nil {
		l.Log("%v", err)
	}
	data := map[string]any{"status": status, "reason": reason, "proved": proof}
	if aside := setAside(snap.State.Plan); aside != nil {
		data["set_aside"] = aside
	}
	if _, ok := l.gcThreshold(l.background()); ok {
		l.packLoose(l.background(), 64)
	}
	l.emit("end", snap.State, "", data, "%s", status)
	return End{Status: status, Reason: reason, State: snap.State, Proved: proof}, nil
}

// AsideTask is a task that an agent left out and no person has agreed to.
type AsideTask struct {
	ID        plan.TaskID `json:"id"`
	Title     string      `json:"title"`
	Reason    string      `json:"reason"`
	Iteration int         `json:"iteration,omitempty"`
}

func setAside(p plan.Plan) []AsideTask {
	var out []AsideTask
	for _, id := range p.SetAside() {
		t := p.Tasks[p.Find(id)]
		out = append(out, AsideTask{t.ID, t.Title, strings.Join(t.BlockedBy, ": "), t.SkippedIn})
	}
	return out
}

// broken ends a run in which the harness itself failed: the iteration in work
// is stored and its checkpoint restored, as after a crash.
func (l *Loop) broken(err error) error {
	var gone *gitstate.GoneError
	if errors.As(err, &gone) {
		return refusal.New(refusal.PlaceGone, "%w; nothing was read or written there", err)
	}
	l.drain()
	if rerr := l.recovery().Run(l.background()); rerr != nil {
		err = errors.Join(err, rerr)
	}
	if _, eerr := l.end(state.HaltedStatus, "error: "+notes.OneLine(err.Error(), 300)); eerr != nil {
		err = errors.Join(err, eerr)
	}
	return err
}

// afterwards is what follows the verdict: amendments, being stuck, limits of
// the provider, requests of the agent, the pause between two iterations.
func (l *Loop) afterwards(ctx context.Context, it *attempt, j Verdict) (*Action, error) {
	if err := session.DropSpend(l.Repo, it.id); err != nil {
		l.Log("%v", err)
	}
	if j.Verdict == state.Keep {
		if err := l.amend(); err != nil {
			return nil, err
		}
	}
	if it.repeats(j) {
		if err := l.record(state.Event{Type: state.EvStuck, Task: it.task.ID, Iteration: it.number, Phase: it.phase,
			Stuck: &state.Stuck{Reason: strings.Join(j.Reasons, "; ")}}); err != nil {
			return nil, err
		}
		l.emit("stuck", it.state, it.task.ID, nil, "the same failure twice: %s", strings.Join(j.Reasons, "; "))
	}
	if p := it.facts.Checks.Environment; p != "" && len(it.facts.Tampered) == 0 {
		return l.environmentHalt(p), nil
	}
	switch it.facts.Outcome {
	case session.RateLimited, session.UsageLimit, session.Overloaded:
		return l.onLimit(ctx, it)
	case session.AuthFailed:
		return &Action{Kind: Halt, Status: state.HaltedStatus, Reason: "auth: " + it.run.Detail}, nil
	case session.Interrupted:
		if errors.Is(it.cause, session.ErrStopNow) || ctx.Err() != nil {
			return &Action{Kind: Halt, Status: state.Interrupted, Reason: "interrupted"}, nil
		}
	}
	if h := it.left.handoff; h != nil && h.RequestHumanReview != nil && h.RequestHumanReview.Needed {
		if j.Verdict == state.Keep {
			return &Action{Kind: Halt, Status: state.NeedsReview, Reason: h.RequestHumanReview.Reason}, nil
		}
		// Only kept work pauses a run; the words are shown all the same.
		l.emit("review", it.state, it.task.ID, nil, "the agent asks for a person: %s",
			notes.OneLine(h.RequestHumanReview.Reason, 300))
	}
	if l.setUpAgain {
		l.setUpAgain = false
		if err := l.repeatSetup(ctx); err != nil {
			l.Log("%v", err)
		}
	}
	if d := l.Settings.Delay; d > 0 {
		l.Sleep(ctx, d)
	}
	return nil, nil
}

// onLimit waits until the provider takes requests again, as configured.
func (l *Loop) onLimit(ctx context.Context, it *attempt) (*Action, error) {
	if l.Settings.OnLimit == "stop" {
		return &Action{Kind: Halt, Status: state.HaltedStatus, Reason: string(it.facts.Outcome)}, nil
	}
	if l.Settings.OnLimit == "fallback" && !l.limited(it.started) {
		// Until the provider takes requests again the same iteration goes on with
		// the other model or client. When that one is limited too, both wait.
		l.limitedUntil = it.run.Until
		if !l.limitedUntil.After(l.Now()) {
			l.limitedUntil = l.Now().Add(fallbackFor)
		}
		l.emit("wait", it.state, it.task.ID, map[string]any{"fallback": true, "until": l.limitedUntil},
			"%s: going on with the fallback until %s",
			it.facts.Outcome, l.limitedUntil.Local().Format("15:04:05"))
		return nil, nil
	}
	until := it.run.Until
	if until.IsZero() || until.Before(l.Now()) {
		// Nobody said when: wait longer each time, up to half an hour.
		l.backoff = min(max(2*l.backoff, 30*time.Second), 30*time.Minute)
		until = l.Now().Add(l.backoff)
	} else {
		l.backoff = 0
	}
	return nil, l.wait(ctx, Action{Kind: Wait, Status: state.Waiting, Reason: string(it.facts.Outcome), Until: until})
}

// fallbackFor is how long the fallback is used when the provider did not say
// when its limit ends.
const fallbackFor = 30 * time.Minute

// limited says whether the fallback was in use at a time.
func (l *Loop) limited(at time.Time) bool {
	return l.Settings.OnLimit == "fallback" && at.Before(l.limitedUntil)
}
