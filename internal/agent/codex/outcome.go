package codex

import (
	"fmt"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

// classify says what the end of a turn means. Problems that a person has to
// repair (login, credit, model) halt the run instead of burning attempts. Those
// that time repairs wait.
func (s *stream) classify(t turn, now time.Time) client.Ending {
	switch t.Status {
	case "completed":
		return client.Ending{Kind: session.Completed}
	case "interrupted":
		// We did not send this interrupt. It must cost an attempt: processes in the
		// worktree could send it for ever.
		return client.Ending{Kind: session.Crashed, Detail: "interrupted from outside"}
	case "failed":
		failure := t.Error
		if failure == nil {
			failure = s.failure
		}
		if failure != nil {
			return s.failed(*failure, now)
		}
	}
	return client.Ending{Kind: session.ProtocolError, Detail: "the turn ended with " +
		client.Line(fmt.Sprintf("%q", t.Status), 100)}
}

// kinds are the client's own names for what failed.
var kinds = map[string]session.OutcomeKind{
	"contextWindowExceeded": session.ContextLimit,
	"usageLimitExceeded":    session.UsageLimit,
	"rateLimitExceeded":     session.RateLimited,
	"serverOverloaded":      session.Overloaded,
	"flexUnavailable":       session.Overloaded,
	"internalServerError":   session.Overloaded,
	"unauthorized":          session.AuthFailed,
	"modelNotFound":         session.AuthFailed,
	"sessionBudgetExceeded": session.BudgetExceeded,
	"tooManyDenials":        session.PermissionDenied,
}

// words tell what the client gives no kind, or one that says too little.
var words = []struct {
	text string
	kind session.OutcomeKind
}{
	{"hit your usage limit", session.UsageLimit},
	{"ran out of room in the model's context window", session.ContextLimit},
	{"experiencing high demand", session.Overloaded},
	{"Quota exceeded", session.AuthFailed}, // credit does not come back by waiting
}

func (s *stream) failed(f turnError, now time.Time) client.Ending {
	kind, status := f.info()
	if m := statusIn().FindStringSubmatch(f.Message); status == 0 && m != nil {
		fmt.Sscan(m[1], &status)
	}
	e := client.Ending{Kind: kinds[kind], Detail: client.Line(f.Message, 300)}
	for _, w := range words {
		if strings.Contains(f.Message, w.text) {
			e.Kind = w.kind
		}
	}
	switch {
	case e.Kind != "":
	case status == 401, status == 403, status == 402, status == 404:
		e.Kind = session.AuthFailed
	case status == 429:
		e.Kind = session.RateLimited
	case status >= 500, kind == "httpConnectionFailed", kind == "responseStreamConnectionFailed",
		kind == "responseStreamDisconnected",
		kind == "responseTooManyFailedAttempts":
		e.Kind = session.Overloaded
	default:
		e.Kind = session.ProtocolError
	}
	if e.Kind == session.UsageLimit || e.Kind == session.RateLimited {
		e.Until = client.ResetTime(f.Message, now)
		if until := s.reset(now); e.Kind == session.UsageLimit && !until.IsZero() {
			e.Until = until
		}
	}
	return e
}

// reset is when the used-up window of the account begins anew; zero when the
// client did not say.
func (s *stream) reset(now time.Time) time.Time {
	var until time.Time
	if s.limits == nil {
		return until
	}
	for _, w := range []*window{s.limits.Primary, s.limits.Secondary} {
		if w == nil || w.UsedPercent < 100 || w.ResetsAt > 4_102_444_800 {
			continue
		}
		if at := time.Unix(int64(w.ResetsAt), 0).UTC(); at.After(now) && at.After(until) {
			until = at
		}
	}
	return until
}

var statusIn = lazyregexp.New(`\bstatus:? (\d{3})\b`)
