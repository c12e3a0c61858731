package client

import (
	"testing"
	"time"
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
		{"too far away to be true", "try again at Nov 25th, 2027 5:30 PM.", ""},
		{"too long to be true", "try again in 99999999999999 days", ""},
		{"in the past", "try again at Nov 2nd, 2026 5:30 PM.", ""},
		{"no hour of any clock", "try again at 25:90 PM.", ""},
		{"nothing said", "Quota exceeded.", ""},
	}
	for _, r := range rows {
		got := ""
		if at := ResetTime(r.text, now); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != r.want {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
}
