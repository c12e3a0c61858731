package client

import (
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "time/tzdata" // the rows need it on a system without time zones
)

func TestResetTime(t *testing.T) {
	east := time.FixedZone("east", 2*3600)
	now := time.Date(2026, 11, 22, 16, 0, 0, 0, east) // 14:00 UTC
	rows := []struct{ why, text, want string }{
		{"a time of day is local", "You've hit your usage limit. Upgrade or try again at 5:30 PM.", "2026-11-22T15:30:00Z"},
		{"one that has passed is tomorrow's", "try again at 3:30 PM.", "2026-11-23T13:30:00Z"},
		{"a zone that is named", "You've hit your 5-hour limit · resets 5:22pm (UTC)", "2026-11-22T17:22:00Z"},
		{"a full hour", "limit reached, resets 5pm (UTC)", "2026-11-22T17:00:00Z"},
		{"a date", "try again at Nov 25th, 2026 5:30 PM.", "2026-11-25T15:30:00Z"},
		{"words", "Try again in 3 hours 2 minutes.", "2026-11-22T17:02:00Z"},
		{"a short span", "Your quota will reset after 3h2m5s.", "2026-11-22T17:02:05Z"},
		{"a part of a second", "Please retry in 12.5s.", "2026-11-22T14:00:12.5Z"},
		{"a zone of the calendar", "limit reached ∙ resets 7pm (America/New_York)", "2026-11-23T00:00:00Z"},
		{"one of three parts", "resets at 9am (America/Argentina/Buenos_Aires).", "2026-11-23T12:00:00Z"},
		{"a short zone", "Your limit resets at 5:30 PM PST.", "2026-11-23T01:30:00Z"},
		{"a short zone of summer", "Access resumes at 20:15 CEST", "2026-11-22T18:15:00Z"},
		{"an offset", "available again at 17:22 UTC+2", "2026-11-22T15:22:00Z"},
		{"another one", "available again at 17:22 +02:00.", "2026-11-22T15:22:00Z"},
		{"a zone in words", "quota resets at midnight Pacific Time", "2026-11-23T08:00:00Z"},
		{"24 hours", "Your limit will reset at 17:45.", "2026-11-22T15:45:00Z"},
		{"no blank", "resets at 5:30pm", "2026-11-22T15:30:00Z"},
		{"points", "Try again at 5:30 p.m. (UTC)", "2026-11-22T17:30:00Z"},
		{"noon of tomorrow", "resets tomorrow at noon", "2026-11-23T10:00:00Z"},
		{"a day of the week", "Weekly limit reached · resets Tue 9am (UTC)", "2026-11-24T09:00:00Z"},
		{"today's day of the week", "resets Sunday at 11pm (UTC)", "2026-11-22T23:00:00Z"},
		{"the same, in the morning", "resets Sunday at 3am (UTC)", "2026-11-29T03:00:00Z"},
		{"a date without a year", "You've hit your weekly limit · resets Dec 1, 9am (UTC)", "2026-12-01T09:00:00Z"},
		{"a date without a time", "Your quota will reset on December 1st, 2026", "2026-11-30T22:00:00Z"},
		{"the day first", "resets on 1 December 2026 at 10:00 UTC", "2026-12-01T10:00:00Z"},
		{"a date of the standard", "You will regain access on 2026-12-01 at 00:00 UTC.", "2026-12-01T00:00:00Z"},
		{"a moment of the standard", "Retry after 2026-11-22T15:30:00Z", "2026-11-22T15:30:00Z"},
		{"with an offset", "until 2026-11-22T15:30:00.123+01:00", "2026-11-22T14:30:00Z"},
		{"an epoch", "Claude AI usage limit reached|1795360000", "2026-11-22T15:06:40Z"},
		{"an epoch in milliseconds", "resets_at: 1795360000000", "2026-11-22T15:06:40Z"},
		{"seconds alone", "Retry-After: 120", "2026-11-22T14:02:00Z"},
		{"the same in a sentence", "rate limited, retry after 30.", "2026-11-22T14:00:30Z"},
		{"a wait", "Please wait 2 minutes before trying again.", "2026-11-22T14:02:00Z"},
		{"a hint of OpenAI", "Rate limit reached for gpt-5. Please try again in 1m12.5s.", "2026-11-22T14:01:12.5Z"},
		{"part of a second", "Please try again in 250ms.", "2026-11-22T14:00:00.25Z"},
		{"and", "try again in 1 hour and 30 minutes", "2026-11-22T15:30:00Z"},
		{"days and hours", "Try again in 3 days, 2 hrs.", "2026-11-25T16:00:00Z"},
		{"an hour", "Your limit resets in about an hour.", "2026-11-22T15:00:00Z"},
		{"hours without a blank", "usage limit: resets in 2h 30m", "2026-11-22T16:30:00Z"},
		{"of words that say nothing the next", "Try again later. It resets at 5pm (UTC)", "2026-11-22T17:00:00Z"},
		{"brackets without a zone", "resets 5pm (in 1 hour)", "2026-11-22T15:00:00Z"},
		{"a zone that nobody knows", "resets 5pm (Mars/Olympus)", ""},
		{"a minute ago is not tomorrow", "resets 3:59pm", ""},
		{"midnight is tomorrow's", "resets at midnight (UTC)", "2026-11-23T00:00:00Z"},
		{"no day of any calendar", "resets on Feb 31, 2027", ""},
		{"a version is no time", "retry with 2.1.329", ""},
		{"a number is no time", "you have 5 tries until 7", ""},
		{"too far away to be true", "try again at Nov 25th, 2027 5:30 PM.", ""},
		{"too long to be true", "try again in 99999999999999 days", ""},
		{"in the past", "try again at Nov 2nd, 2026 5:30 PM.", ""},
		{"no hour of any clock", "try again at 25:90 PM.", ""},
		{"nothing said", "Quota exceeded.", ""},
	}
	for _, r := range rows {
		if runtime.GOOS == "windows" && strings.Contains(r.why, "zone") {
			continue // it has no named zones
		}
		got := ""
		if at := ResetTime(r.text, now); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != r.want {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
}

// The end of its limit as a plain client prints it, in each form that its documentation allows.
func TestPrintedUntil(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	in2h := now.Add(2 * time.Hour)
	for _, r := range []struct {
		why, until string
		want       time.Time
	}{
		{"seconds", strconv.FormatInt(in2h.Unix(), 10), in2h},
		{"milliseconds", strconv.FormatInt(in2h.UnixMilli(), 10), in2h},
		{"seconds as a text", strconv.Quote(strconv.FormatInt(in2h.Unix(), 10)), in2h},
		{"a moment of the standard", strconv.Quote(in2h.Format(time.RFC3339)), in2h},
		{"a clock", strconv.Quote(in2h.Truncate(time.Minute).Format("3:04pm (UTC)")), in2h.Truncate(time.Minute)},
		{"a span", `"2 hours"`, in2h},
		{"nothing", `null`, time.Time{}},
		{"no sense", `{"a":1}`, time.Time{}},
		{"too far", `1e18`, time.Time{}},
	} {
		p := NewPrinted(nil, NewTranscript(io.Discard))
		p.Stdout([]byte(`{"type":"limit","reason":"usage_limit","until":`+r.until+`}`), false)
		if end := p.End(); end == nil || end.Until.Sub(r.want).Abs() > 10*time.Second {
			t.Errorf("%s: %+v, want %s", r.why, end, r.want)
		}
	}
}
