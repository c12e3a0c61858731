package client

import (
	"testing"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

func TestFailure(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	rows := []struct {
		why   string
		f     Failure
		kind  session.OutcomeKind
		until string
	}{
		{"a key that is refused", Failure{Status: 401, Message: "invalid x-api-key"}, session.AuthFailed, ""},
		{"the same as a bad request", Failure{Message: `[API Error: {"error":{"code":400,` +
			`"message":"API key not valid. Please pass a valid API key."}}]`}, session.AuthFailed, ""},
		{"no credit, as too many requests", Failure{Status: 429, Message: "You exceeded your current quota",
			Body: `{"type":"insufficient_quota"}`}, session.AuthFailed, ""},
		{"a model that does not exist", Failure{Status: 404, Message: "model: x"}, session.AuthFailed, ""},
		{"too many requests", Failure{Status: 429, Message: "slow down"}, session.RateLimited, ""},
		{"the same in words", Failure{Message: "Too Many Requests"}, session.RateLimited, ""},
		{"with a header in seconds", Failure{Status: 429, Headers: map[string]string{"Retry-After": "90"}},
			session.RateLimited, "2026-11-22T14:01:30Z"},
		{"with a date", Failure{Status: 429, Headers: map[string]string{"retry-after": "Sun, 22 Nov 2026 14:05:00 GMT"}},
			session.RateLimited, "2026-11-22T14:05:00Z"},
		{"with a span", Failure{Status: 429, Headers: map[string]string{"x-ratelimit-reset-tokens": "6m0s"}},
			session.RateLimited, "2026-11-22T14:06:00Z"},
		{"with an epoch", Failure{Status: 429, Headers: map[string]string{"anthropic-ratelimit-unified-reset": "1795360000"}},
			session.RateLimited, "2026-11-22T15:06:40Z"},
		{"with a delay in the details", Failure{Status: 429, Body: `{"retryDelay": "43s"}`}, session.RateLimited,
			"2026-11-22T14:00:43Z"},
		{"of several the latest", Failure{Status: 429, Headers: map[string]string{"retry-after": "10",
			"x-ratelimit-reset-requests": "2m"}}, session.RateLimited, "2026-11-22T14:02:00Z"},
		{"a key's limit of tokens", Failure{Status: 429, Headers: map[string]string{
			"anthropic-ratelimit-input-tokens-remaining": "0",
			"anthropic-ratelimit-input-tokens-reset":     "2026-11-22T14:00:40Z",
			"anthropic-ratelimit-requests-remaining":     "49",
			"anthropic-ratelimit-requests-reset":         "2026-11-22T15:00:00Z"}}, session.RateLimited, "2026-11-22T14:00:40Z"},
		{"the header of the standard", Failure{Status: 429, Headers: map[string]string{"RateLimit-Reset": "50"}},
			session.RateLimited, "2026-11-22T14:00:50Z"},
		{"an epoch in milliseconds", Failure{Status: 429, Headers: map[string]string{"X-RateLimit-Reset": "1795360000000"}},
			session.RateLimited, "2026-11-22T15:06:40Z"},
		{"a week that is not used up", Failure{Status: 429, Headers: map[string]string{
			"anthropic-ratelimit-unified-reset":    "1795360000",
			"anthropic-ratelimit-unified-7d-reset": "1795900000"}}, session.RateLimited, "2026-11-22T15:06:40Z"},
		{"a span with milliseconds", Failure{Status: 429, Headers: map[string]string{"x-ratelimit-reset-requests": "120ms",
			"retry-after-ms": "1500"}}, session.RateLimited, "2026-11-22T14:00:01Z"},
		{"a header that makes no sense", Failure{Status: 429, Headers: map[string]string{"retry-after": "soon"}},
			session.RateLimited, ""},
		{"a time that has passed", Failure{Status: 429, Headers: map[string]string{"retry-after": "Sun, 22 Nov 2026 " +
			"13:05:00 GMT"}}, session.RateLimited, ""},
		{"a usage limit with its reset", Failure{Status: 429, Body: `{"error":{"type":"usage_limit_reached",` +
			`"resets_at":1795360000}}`}, session.UsageLimit, "2026-11-22T15:06:40Z"},
		{"a usage limit in words", Failure{Message: "You've hit your usage limit · resets 5:22pm (UTC)"}, session.UsageLimit,
			"2026-11-22T17:22:00Z"},
		{"another limit in words", Failure{Status: 429, Message: "You've hit your weekly limit · resets Tue 9am (UTC)"},
			session.UsageLimit, "2026-11-24T09:00:00Z"},
		{"with a reset in words", Failure{Message: "You've been rate-limited. Please try again in 42 minutes."},
			session.RateLimited, "2026-11-22T14:42:00Z"},
		{"a daily quota", Failure{Message: "[API Error: You have exhausted your daily quota on this model.]"},
			session.UsageLimit, ""},
		{"an overloaded provider", Failure{Status: 529, Message: "Overloaded"}, session.Overloaded, ""},
		{"a broken one", Failure{Status: 502, Message: "<html>"}, session.Overloaded, ""},
		{"a connection that was cut", Failure{Message: "[API Error: terminated]"}, session.Overloaded, ""},
		{"no connection", Failure{Message: "fetch failed: ECONNREFUSED"}, session.Overloaded, ""},
		{"a prompt that is too long", Failure{Status: 400, Message: "prompt is too long: 208310 tokens > 200000 maximum"},
			session.ContextLimit, ""},
		{"the same elsewhere", Failure{Status: 400, Body: `{"code":"context_length_exceeded"}`}, session.ContextLimit, ""},
		{"a request that is wrong", Failure{Status: 400, Message: "bad request"}, session.ProtocolError, ""},
		{"nothing said", Failure{}, session.ProtocolError, ""},
	}
	for _, r := range rows {
		e, until := r.f.Ending(now), ""
		if !e.Until.IsZero() {
			until = e.Until.Format(time.RFC3339)
		}
		if e.Kind != r.kind || until != r.until {
			t.Errorf("%s: %s until %q, want %s until %q", r.why, e.Kind, until, r.kind, r.until)
		}
	}
}

// A client that ends before it has begun says on standard error alone why.
func TestEndedEarly(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		why, stderr string
		began       bool
		code        int
		kind        session.OutcomeKind
		until       string
	}{
		{"a usage limit", "Error: usage limit reached, resets at 3pm (UTC)\n", false, 1, session.UsageLimit,
			"2026-11-22T15:00:00Z"},
		{"too many requests", "warning: x\nerror: 429 Too Many Requests\n", false, 1, session.RateLimited, ""},
		{"a login", "Error: Invalid API key · Please run /login\n", false, 1, session.AuthFailed, ""},
		{"a mistake of ours", "error: unknown option '--tools'\n", false, 1, session.ProtocolError, ""},
		{"once it has begun, anybody may have written it", "Error: usage limit reached\n", true, 1, session.Crashed, ""},
		{"a signal is no limit", "usage limit reached\n", false, 137, session.Crashed, ""},
		{"status 0 is no result", "usage limit reached\n", false, 0, session.ProtocolError, ""},
	} {
		e := EndedEarly(proc.Exit{Code: tt.code}, tt.stderr, tt.began, now)
		until := ""
		if !e.Until.IsZero() {
			until = e.Until.Format(time.RFC3339)
		}
		if e.Kind != tt.kind || until != tt.until {
			t.Errorf("%s: %s until %q (%s)", tt.why, e.Kind, until, e.Detail)
		}
	}
}
