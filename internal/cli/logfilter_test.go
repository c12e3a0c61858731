package cli

import (
	"testing"
	"time"
)

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 22, 18, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"2h": "2026-11-22T16:30:00+01:00", "90m": "2026-11-22T17:00:00+01:00", "3 days ago": "2026-11-19T18:30:00+01:00",
		"1w": "2026-11-15T18:30:00+01:00", "today": "2026-11-22T00:00:00+01:00", "Yesterday": "2026-11-21T00:00:00+01:00",
		"2026-11-20": "2026-11-20T00:00:00+01:00", "2026-11-20 07:15": "2026-11-20T07:15:00+01:00",
		"2026-11-20T07:15:00Z": "2026-11-20T07:15:00Z",
	} {
		if got, err := parseSince(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q is %v, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "soon", "-2h", "2 parsecs", "2026-13-01", "99999999999h"} {
		if got, err := parseSince(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
