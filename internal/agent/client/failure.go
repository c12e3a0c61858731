package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop/session"
)

// Failure is what a provider answered, as far as a client passes it on.
type Failure struct {
	Status  int
	Message string
	Body    string            // the provider's own words
	Headers map[string]string // of its answer; the names in any case
}

// phrases tell what a status does not: the first that is found counts. The
// words are lower case.
var phrases = []struct {
	text string
	kind session.OutcomeKind
}{
	{"usage_limit_reached", session.UsageLimit},
	{"usage limit", session.UsageLimit},
	{"hour limit", session.UsageLimit},
	{"daily limit", session.UsageLimit},
	{"weekly limit", session.UsageLimit},
	{"monthly limit", session.UsageLimit},
	{"session limit", session.UsageLimit},
	{"exhausted your daily quota", session.UsageLimit},
	{"exhausted your capacity", session.UsageLimit},
	{"you have no quota", session.UsageLimit}, // of Copilot: it begins anew with the month
	{"perday", session.UsageLimit},            // the name of a daily quota
	{"insufficient_quota", session.AuthFailed},
	{"exceeded your current quota, please check your plan", session.AuthFailed},
	{"credit balance", session.AuthFailed},
	{"insufficient credits", session.AuthFailed},
	{"billing", session.AuthFailed},
	{"prompt is too long", session.ContextLimit},
	{"context_length_exceeded", session.ContextLimit},
	{"exceeds the context window", session.ContextLimit},
	{"exceeds the maximum number of tokens", session.ContextLimit},
	{"maximum context length", session.ContextLimit},
	{"api key not valid", session.AuthFailed},
	{"api_key_invalid", session.AuthFailed},
	{"no auth type is selected", session.AuthFailed},
	{"no api key found", session.AuthFailed},
	{"incorrect api key", session.AuthFailed},
	{"invalid api key", session.AuthFailed},
	{"invalid x-api-key", session.AuthFailed},
	{"authentication_error", session.AuthFailed},
	{"model not found", session.AuthFailed},
	{"too many requests", session.RateLimited},
	{"rate limit", session.RateLimited},
	{"rate_limit", session.RateLimited},
	{"rate-limit", session.RateLimited},
	{"ratelimit", session.RateLimited},
	{"resource_exhausted", session.RateLimited},
	{"resource has been exhausted", session.RateLimited},
	{"overloaded", session.Overloaded},
	{"unavailable", session.Overloaded},
	{"high demand", session.Overloaded},
	{"internal server error", session.Overloaded},
	{"fetch failed", session.Overloaded},
	{"error: terminated", session.Overloaded}, // the words of Node for a connection that was cut
	{"econnre", session.Overloaded},
	{"unable to connect", session.Overloaded},
	{"socket", session.Overloaded},
}

var codeIn = lazyregexp.New(`(?i)"(?:code|status|statusCode)": ` +
	`?(\d{3})\b`)

// Ending says what a failure means. What a person has to repair (login, credit,
// model) halts the run instead of burning attempts; what time repairs waits, until
// the time that the provider names.
func (f Failure) Ending(now time.Time) Ending {
	text := f.Message + "\n" + f.Body
	if m := codeIn().FindStringSubmatch(text); f.Status == 0 && m != nil {
		f.Status, _ = strconv.Atoi(m[1])
	}
	e := Ending{Detail: Line(f.Message, 300)}
	if f.Status != 0 && !strings.Contains(e.Detail, strconv.Itoa(f.Status)) {
		e.Detail = strings.TrimSpace(strconv.Itoa(f.Status) + " " + e.Detail)
	}
	lower := strings.ToLower(text)
	for _, p := range phrases {
		if strings.Contains(lower, p.text) {
			e.Kind = p.kind
			break
		}
	}
	switch {
	case e.Kind != "" && e.Kind != session.RateLimited && e.Kind != session.Overloaded:
	case f.Status == 401, f.Status == 402, f.Status == 403, f.Status == 404:
		e.Kind = session.AuthFailed
	case f.Status == 429:
		e.Kind = session.RateLimited
	case f.Status == 413:
		e.Kind = session.ContextLimit
	case f.Status >= 500:
		e.Kind = session.Overloaded
	case e.Kind == "":
		e.Kind = session.ProtocolError
	}
	if e.Kind == session.UsageLimit || e.Kind == session.RateLimited || e.Kind == session.Overloaded {
		e.Until = f.reset(now)
	}
	return e
}

var epochIn = lazyregexp.New(`"resets?_at": ?"?(\d{9,13})\b`)
var delayIn = lazyregexp.New(`"retryDelay": ?"(\d+(?:\.\d+)?)s"`)

// saysReset reports whether a header tells when a limit ends: seconds, a span, an epoch or a date. A limit with
// requests left is not the one that was hit. Among a subscription's windows the provider names the one that
// counts without a window.
func (f Failure) saysReset(name string) bool {
	if name == "retry-after" || name == "retry-after-ms" {
		return true
	}
	if !strings.Contains(name, "ratelimit") || !strings.Contains(name, "reset") ||
		strings.Contains(name, "-unified-") && name != "anthropic-ratelimit-unified-reset" {
		return false
	}
	for other, value := range f.Headers {
		if strings.EqualFold(other, strings.Replace(name, "reset", "remaining", 1)) {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err != nil || n <= 0
		}
	}
	return true
}

// reset is when the limit ends, zero when the provider did not say. Of several the latest counts.
func (f Failure) reset(now time.Time) time.Time {
	text := f.Message + "\n" + f.Body
	var at time.Time
	later := func(t time.Time) {
		if t.After(at) && t.After(now) && t.Sub(now) <= maxWait {
			at = t.UTC()
		}
	}
	if m := epochIn().FindStringSubmatch(text); m != nil {
		later(epoch(m[1]))
	}
	if m := delayIn().FindStringSubmatch(text); m != nil {
		later(spanFrom(m[1]+"s", now))
	}
	if at.IsZero() {
		later(ResetTime(text, now))
	}
	for name, value := range f.Headers {
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		if f.saysReset(name) {
			later(headerTime(name, value, now))
		}
	}
	return at
}

func headerTime(name, value string, now time.Time) time.Time {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		switch {
		case n < 0 || n > 1e14:
			return time.Time{}
		case name == "retry-after-ms":
			return now.Add(time.Duration(n) * time.Millisecond)
		case n > 1e9:
			return epoch(strconv.FormatInt(int64(n), 10))
		}
		return now.Add(time.Duration(n * float64(time.Second)))
	}
	for _, layout := range []string{time.RFC3339, http.TimeFormat, time.RFC1123} {
		if t, err := time.Parse(layout, value); err == nil {
			return t
		}
	}
	return spanFrom(value, now)
}

// spanFrom is a span like "6m0s" or "12.5s" from now.
func spanFrom(text string, now time.Time) time.Time {
	d, err := time.ParseDuration(text)
	if err != nil {
		return time.Time{}
	}
	return now.Add(d)
}

// epoch is seconds or milliseconds since 1970.
func epoch(digits string) time.Time {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return time.Time{}
	}
	if n > 1e11 {
		return time.UnixMilli(n).UTC()
	}
	return time.Unix(n, 0).UTC()
}

// Tolerant forgives a field of an unexpected type: it is left empty, and the others
// are read. A line that is no object at all is not forgiven.
func Tolerant(err error) error {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return nil
	}
	return err
}

// Count is a count as a client wrote it; nonsense is 0.
func Count(f float64) int64 { return count(f) }
