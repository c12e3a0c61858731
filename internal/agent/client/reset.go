package client

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var resets = sync.OnceValue(func() [3]*regexp.Regexp {
	return [3]*regexp.Regexp{
		// "try again at Nov 25th, 2026 5:30 PM"
		regexp.MustCompile(`(?i)\b(?:try again at|resets(?: at)?) ([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th)?,` +
			`? (\d{4})(?: at)? (\d{1,2}):(\d{2}) ?([AP]M)(?: \((UTC)\))?`),
		// "resets 5:22pm (UTC)", "try again at 5:30 PM"
		regexp.MustCompile(`(?i)\b(?:try again at|resets(?: at)?) (\d{1,2})(?::(\d{2}))? ?([AP]M)(?: \((UTC)\))?`),
		// "try again in 3 hours 2 minutes", "retry in 12.5s", "reset after 3h2m5s"
		regexp.MustCompile(`(?i)\b(?:again in|retry in|reset after|resets in) ((?:\d+(?:\.\d+)? ` +
			`?(?:days?|hours?|minutes?|mins?|seconds?|secs?|d|h|m|s)\b[ ,]*|\d+(?:\.\d+)?[dhms])+)`),
	}
})

var spans = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+(?:\.\d+)?) ?([a-z])`) })

// ResetTime reads when a limit ends from a client's words; zero when they do
// not say. A time of day without a zone is the local one of now, the next that
// comes; what lies too far ahead makes no sense and is zero.
func ResetTime(text string, now time.Time) time.Time {
	at := resetTime(text, now)
	if at.IsZero() || at.Before(now) || at.Sub(now) > maxWait {
		return time.Time{}
	}
	return at.UTC()
}

func resetTime(text string, now time.Time) time.Time {
	zone := func(utc string) *time.Location {
		if utc != "" {
			return time.UTC
		}
		return now.Location()
	}
	p := resets()
	if m := p[0].FindStringSubmatch(text); m != nil {
		t, err := time.ParseInLocation("Jan 2 2006 3:04 PM", m[1]+" "+m[2]+" "+m[3]+" "+m[4]+":"+m[5]+" "+
			strings.ToUpper(m[6]), zone(m[7]))
		if err != nil {
			return time.Time{}
		}
		return t
	}
	if m := p[1].FindStringSubmatch(text); m != nil {
		if m[2] == "" {
			m[2] = "00"
		}
		t, err := time.Parse("3:04 PM", m[1]+":"+m[2]+" "+strings.ToUpper(m[3]))
		if err != nil {
			return time.Time{}
		}
		day := now.In(zone(m[4]))
		at := time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), 0, 0, day.Location())
		if at.Before(now) {
			at = time.Date(day.Year(), day.Month(), day.Day()+1, t.Hour(), t.Minute(), 0, 0, day.Location())
		}
		return at
	}
	if m := p[2].FindStringSubmatch(text); m != nil {
		var sum time.Duration
		for _, part := range spans().FindAllStringSubmatch(strings.ToLower(m[1]), -1) {
			n, err := strconv.ParseFloat(part[1], 64)
			unit := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}[part[2]]
			if err != nil || n*float64(unit) > float64(2*maxWait) {
				return time.Time{}
			}
			sum += time.Duration(n * float64(unit))
		}
		return now.Add(sum)
	}
	return time.Time{}
}
