package loop

import (
	"context"
	"errors"
	"strings"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// afterwards runs after the verdict. It handles amendments, a stuck task,
// provider limits, the agent's requests and the pause before the next
// iteration.
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
		var known bool
		if l.limitedUntil, known = l.limitEnds(it); !known {
			l.limitedUntil = l.Now().Add(fallbackFor)
		}
		l.emit("wait", it.state, it.task.ID, map[string]any{"fallback": true, "until": l.limitedUntil},
			"%s: going on with the fallback until %s",
			it.facts.Outcome, l.limitedUntil.Local().Format("15:04:05"))
		return nil, nil
	}
	until, known := l.limitEnds(it)
	if !known { // wait longer each time, up to half an hour
		l.backoff = min(max(2*l.backoff, 30*time.Second), 30*time.Minute)
		until = l.Now().Add(l.backoff)
	} else {
		l.backoff = 0
	}
	return nil, l.wait(ctx, Action{Kind: Wait, Status: state.Waiting, Reason: string(it.facts.Outcome), Until: until})
}

// longestLimit is how far ahead the end of a limit may lie: a month and a day.
const longestLimit = 32 * 24 * time.Hour

// limitEnds is when the client says that its limit ends. A time that has passed
// or lies too far ahead to be true is not known.
func (l *Loop) limitEnds(it *attempt) (time.Time, bool) {
	until, now := it.run.Until, l.Now()
	return until, until.After(now) && until.Sub(now) <= longestLimit
}

// fallbackFor is how long the fallback is used when the provider did not say
// when its limit ends.
const fallbackFor = 30 * time.Minute

// limited says whether the fallback was in use at a time.
func (l *Loop) limited(at time.Time) bool {
	return l.Settings.OnLimit == "fallback" && at.Before(l.limitedUntil)
}
