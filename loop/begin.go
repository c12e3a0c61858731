package loop

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// begin records the session and gives tasks of a dead run back.
func (l *Loop) begin() error {
	l.Journal.OnlyForward()
	host, _ := os.Hostname()
	earlier, err := l.earlier()
	if err != nil {
		return err
	}
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		// The budgets of a session go on over a crash or an interruption.
		goesOn := s.Run.BudgetsGoOn()
		if !goesOn {
			earlier = 0
		}
		n := s.Run.Session + 1
		workers := 0
		if l.Team != nil {
			workers = l.Team.Size
		}
		return state.Event{Type: state.EvSession, Session: n, Sess: &state.SessionChange{Action: "begin", Number: n,
			Budgets: goesOn, Earlier: earlier.Milliseconds(), Workers: workers,
			Mode: l.Settings.Mode, Driver: l.Settings.Driver, Model: l.Settings.Model, Sandbox: l.Sandbox.Mechanism(),
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

// earlier is how long the starts were at work whose budgets the next one goes on with: until
// the last sign of life of the newest one, not until it was noticed that it had died.
func (l *Loop) earlier() (time.Duration, error) {
	s, err := l.load()
	if err != nil || !s.Run.BudgetsGoOn() {
		return 0, err
	}
	var until time.Time
	var died time.Duration // into the iteration whose start comes next
	err = l.Journal.WalkBrief(l.background(), func(e journal.Entry) (bool, error) {
		ev := e.Event
		switch {
		case ev.Actor != l.Journal.Actor:
			return true, nil
		case ev.Type == state.EvIteration && ev.Result != nil && ev.Result.Outcome == string(session.Interrupted):
			died = time.Duration(ev.Result.DurationMs) * time.Millisecond
			return true, nil
		case ev.Type == state.EvStart:
			until = ev.Time.Add(died)
			return false, nil
		case ev.Type == state.EvIteration, ev.Type == state.EvSession:
			until = ev.Time
			return false, nil
		}
		return true, nil
	})
	if errors.Is(err, journal.ErrNone) {
		return 0, nil
	}
	return max(s.Run.SessionTime(until), 0), err
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
	return l.endRecovered(status, reason)
}

// endRecovered is end where the state was recovered, as far as that was possible.
func (l *Loop) endRecovered(status state.Status, reason string) (End, error) {
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
		if c := s.Run.Current; c != nil && c.Actor == l.Journal.Actor {
			// The end of a session takes it out of the state, and nobody would give it its end.
			return state.Event{}, fmt.Errorf("iteration %d could not be ended; the next command that writes does it",
				c.Iteration)
		}
		n, proof = s.Run.Session, provedBy(s, l.proof)
		if l.proof != nil {
			proof.Commit = object.Hex(l.proofOf)
		}
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
		l.Log("%v", rerr)
	}
	if _, eerr := l.endRecovered(state.HaltedStatus, "error: "+notes.OneLine(err.Error(), 300)); eerr != nil {
		err = errors.Join(err, eerr)
	}
	return err
}
