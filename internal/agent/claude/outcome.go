package claude

import (
	"fmt"
	"strings"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

// classify says what a result line means. The subtype alone says little: a
// failed request to the provider is a "success" with is_error.
func (s *stream) classify(l line, now time.Time) client.Ending {
	text := client.Line(l.Result, 300)
	if text == "" && len(l.Errors) > 0 {
		text = client.Line(strings.Join(l.Errors, "; "), 300)
	}
	switch l.Subtype {
	case "error_max_turns":
		return client.Ending{Kind: session.MaxTurns, Detail: text}
	case "error_max_budget_usd":
		return client.Ending{Kind: session.BudgetExceeded, Detail: text}
	case "success":
		if l.IsError {
			return s.apiFailure(l, text, now)
		}
		if l.TerminalReason == "completed" {
			return client.Ending{Kind: session.Completed}
		}
		// hook_stopped and whatever else cuts a turn short without an error.
		return client.Ending{Kind: session.ProtocolError, Detail: "the client stopped: " + client.Line(l.TerminalReason, 100)}
	}
	if strings.HasPrefix(l.TerminalReason, "aborted") {
		// We did not send this interrupt. It must cost an attempt: processes in the
		// worktree could send it for ever.
		return client.Ending{Kind: session.Crashed, Detail: "interrupted from outside (" + client.Line(l.TerminalReason,
			100) + ")"}
	}
	detail := client.Line(l.Subtype, 100)
	if text != "" {
		detail += ": " + text
	}
	return client.Ending{Kind: session.ProtocolError, Detail: detail}
}

// apiFailure is a request to the provider that failed for good. What a person
// has to repair (login, credit, model) halts the run instead of burning attempts;
// what time repairs waits.
func (s *stream) apiFailure(l line, text string, now time.Time) client.Ending {
	detail := text
	if l.APIErrorStatus != 0 && !strings.Contains(text, fmt.Sprint(l.APIErrorStatus)) {
		detail = fmt.Sprintf("%d %s", l.APIErrorStatus, text)
	}
	end := func(kind session.OutcomeKind) client.Ending { return client.Ending{Kind: kind, Detail: detail} }
	passing := func(kind session.OutcomeKind) client.Ending { // the words alone say until when, if anything does
		return client.Ending{Kind: kind, Detail: detail, Until: client.ResetTime(l.Result, now)}
	}
	if l.TerminalReason == "prompt_too_long" {
		return end(session.ContextLimit)
	}
	if l.APIError == "usage_limit_reached" || l.APIErrorStatus == 429 && monthlyLimit().MatchString(l.Result) {
		e := end(session.UsageLimit)
		if s.limit != nil {
			e.Until = epoch(s.limit.ResetsAt)
		}
		if e.Until.IsZero() {
			e.Until = client.ResetTime(l.Result, now)
		}
		return e
	}
	switch s.errorKind {
	case "authentication_failed", "billing_error", "model_not_found":
		return end(session.AuthFailed)
	}
	switch status := l.APIErrorStatus; {
	case status == 401, status == 403:
		return end(session.AuthFailed)
	case status == 429:
		return passing(session.RateLimited)
	case status >= 500, l.APIErrorType == "overloaded_error", l.APIError == "connection_failed":
		return passing(session.Overloaded)
	case status == 0 && s.errorKind == "server_error":
		return end(session.Overloaded)
	}
	return end(session.ProtocolError)
}

// retryFailure is the outcome for a client that keeps on retrying.
func retryFailure(l line) client.Ending {
	detail := retryText(l)
	switch {
	case l.ErrorStatus == 429:
		return client.Ending{Kind: session.RateLimited, Detail: detail}
	case l.ErrorStatus == 401, l.ErrorStatus == 403:
		return client.Ending{Kind: session.AuthFailed, Detail: detail}
	}
	return client.Ending{Kind: session.Overloaded, Detail: detail}
}

// monthlyLimit matches the limit of an API key, which only the text tells from
// a passing 429.
var monthlyLimit = lazyregexp.New(`(?i)usage limits?\b`)
