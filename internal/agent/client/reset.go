package client

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"git-ralph/internal/text/lazyregexp"
)

// anchor is what stands before the time at which a limit ends, in the words of clients and providers.
var anchor = lazyregexp.New(`(?i)\b(?:(?:try|trying|available|access|back|usable) again|try|retry(?:[- ]after)?|` +
	`resets?[- _]?(?:at|in|time|after)\b|resets?|resetting|regain(?: access)?|available|until|wait|` +
	`renews?|refresh(?:es)?|replenish(?:es)?|resumes?|limit reached\|)` +
	`(?:[\s:="'|*·~(,-]+|\b(?:will|be|is|are|again|at|on|by|in|after|until|for|about|around|approximately|the|your|` +
	`limit|limits|quota|window|usage|please|request|requests|time|access|another|next|ends?|resets?|retry(?:ing)?|try|` +
	`reset|back|available)\b)*`)

const (
	clockPattern = `(?:(\d{1,2})(?::(\d{2}))?(?::\d{2})? ?([ap])\.?m\b\.?|(\d{1,2}):(\d{2})(?::\d{2})?|(noon|midnight)\b)`
	monthPattern = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?`
)

// whens are the forms of a time, each at the beginning of a text.
var whens = sync.OnceValue(func() (p struct{ iso, epoch, span, seconds, day, clock, zone *regexp.Regexp }) {
	compile := func(text string) *regexp.Regexp { return regexp.MustCompile(`(?i)^` + text) }
	// "2026-12-01", "2026-12-01 at 00:00", "2026-11-25T15:30:00.5"
	p.iso = compile(`(\d{4}-\d{2}-\d{2})(?:(?:T| at |, | )(\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?)?`)
	p.epoch = compile(`(\d{10}|\d{13})\b`)
	// "3 hours and 2 minutes", "1m12.5s", "an hour"
	p.span = compile(`(?:(?:an?|one|\d+(?:\.\d+)?) ?(?:weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|` +
		`milliseconds?|ms|w|d|h|m|s)\b[ ,]*(?:and )?|\d+(?:\.\d+)?(?:ms|[wdhms]))+`)
	p.seconds = compile(`(\d+(?:\.\d+)?)(?:[^\d:/.]|\.?$|\.\s)`)
	// "Mon", "today", "tomorrow", "Nov 25th, 2026", "25 November"
	p.day = compile(`(?:(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?|(today|tonight|tomorrow)|` +
		monthPattern + ` (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4})\b)?|(\d{1,2})(?:st|nd|rd|th)? ` + monthPattern +
		`(?:,? (\d{4})\b)?)[ ,]*(?:at )?`)
	p.clock = compile(clockPattern)
	// "(UTC)", "CET", "America/New_York", "UTC+2", "+02:00", "Pacific"
	p.zone = compile(`[ ,]*(?:\(([^)]{1,40})\)|(Z|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?|[A-Z][a-z]+(?:/[A-Za-z_]+)+|` +
		`[A-Z]{2,4}T|UTC|GMT|(?:pacific|mountain|central|eastern)(?: (?:standard |daylight )?time)?)(?:[^A-Za-z/]|$))`)
	return p
})

// zones are the abbreviations that clients use; those of several regions are the one of the providers.
var zones = map[string]string{"z": "UTC", "utc": "UTC", "gmt": "UTC", "wet": "UTC", "coordinated universal time": "UTC",
	"pst": "-08:00", "pdt": "-07:00", "mst": "-07:00", "mdt": "-06:00", "cst": "-06:00", "cdt": "-05:00",
	"est": "-05:00", "edt": "-04:00", "bst": "+01:00", "west": "+01:00", "cet": "+01:00", "cest": "+02:00",
	"eet": "+02:00", "eest": "+03:00", "msk": "+03:00", "jst": "+09:00", "kst": "+09:00", "aest": "+10:00",
	"aedt": "+11:00", "pt": "America/Los_Angeles", "mt": "America/Denver", "ct": "America/Chicago",
	"et": "America/New_York", "pacific": "America/Los_Angeles", "mountain": "America/Denver",
	"central": "America/Chicago", "eastern": "America/New_York"}

// passed is how long ago a time of day may be without meaning tomorrow: clients leave out seconds, and a run
// takes a while to end.
const passed = 15 * time.Minute

// ResetTime reads when a limit ends from a client's words: the first that make sense; zero when there
// are none. A time of day without a zone is the next such time in the zone of now. A time too far ahead
// makes no sense, and an unknown zone says nothing.
func ResetTime(text string, now time.Time) time.Time {
	for _, m := range anchor().FindAllStringIndex(text, 20) {
		before := strings.ToLower(strings.TrimSpace(text[m[0]:m[1]]))
		if at := when(text[m[1]:], before, now); at.After(now) && at.Sub(now) <= maxWait {
			return at.UTC()
		}
	}
	return time.Time{}
}

// when is the time at the beginning of a text; before is what led to it.
func when(text, before string, now time.Time) time.Time {
	p := whens()
	if m := p.iso.FindStringSubmatch(text); m != nil {
		clock := m[2]
		if clock == "" {
			clock = "00:00"
		}
		layout := "2006-01-02 15:04:05"[:len("2006-01-02 ")+len(clock)]
		zone, ok := zoneOf(text[len(m[0]):], now.Location())
		at, err := time.ParseInLocation(layout, m[1]+" "+clock, zone)
		if err != nil || !ok {
			return time.Time{}
		}
		return at
	}
	if m := p.epoch.FindStringSubmatch(text); m != nil {
		return epoch(m[1])
	}
	if m := p.span.FindString(text); m != "" {
		return now.Add(span(m))
	}
	if at, found := onDay(text, now); found {
		return at
	}
	// "retry-after: 120", and nothing else that is only a number
	if m := p.seconds.FindStringSubmatch(text); m != nil && strings.Contains(before, "after") {
		return now.Add(span(m[1] + "s"))
	}
	return time.Time{}
}

var spans = lazyregexp.New(`(?:\b(an?|one) |(\d+(?:\.\d+)?) ?)(ms|mill|[wdhms])`)

// span is the sum of words like "3 hours 2 minutes"; 0 when it makes no sense.
func span(text string) time.Duration {
	units := map[string]time.Duration{"w": 7 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute,
		"s": time.Second, "ms": time.Millisecond, "mill": time.Millisecond}
	var sum time.Duration
	for _, part := range spans().FindAllStringSubmatch(strings.ToLower(text), -1) {
		n, err := strconv.ParseFloat(part[2], 64)
		if err != nil {
			n = 1 // an hour
		}
		if n *= float64(units[part[3]]); n > float64(2*maxWait) {
			return 0
		}
		sum += time.Duration(n)
	}
	return sum
}

// onDay reads a day, a time of day, or both. A day without a time is its beginning, a time of day without a day
// the next one.
func onDay(text string, now time.Time) (at time.Time, found bool) {
	p := whens()
	day := p.day.FindStringSubmatch(text)
	rest := text
	if day != nil {
		rest = text[len(day[0]):]
	}
	clock := p.clock.FindStringSubmatch(rest)
	if day == nil && clock == nil {
		return at, false
	}
	hour, minute, ok := timeOfDay(clock)
	if clock != nil {
		rest = rest[len(clock[0]):]
	}
	zone, known := zoneOf(rest, now.Location())
	if !ok || !known {
		return at, true
	}
	today := now.In(zone)
	date := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, hour, minute, 0, 0, zone)
	}
	at = date(today.Date())
	switch {
	case day == nil:
		if now.Sub(at) > passed || clock[6] == "midnight" && at.Before(now) {
			at = date(today.Year(), today.Month(), today.Day()+1)
		}
	case day[1] != "":
		for at.Before(now) || !strings.EqualFold(at.Weekday().String()[:3], day[1]) {
			at = date(at.Year(), at.Month(), at.Day()+1)
		}
	case strings.EqualFold(day[2], "tomorrow"):
		at = date(today.Year(), today.Month(), today.Day()+1)
	case day[2] == "":
		at = onDate(day, today.Year(), date)
		if at.Before(now) && day[5]+day[8] == "" {
			at = onDate(day, today.Year()+1, date)
		}
	}
	return at, true
}

// onDate is the date of a match, in this year where it names none; zero for one that no calendar has.
func onDate(day []string, year int, date func(int, time.Month, int) time.Time) time.Time {
	name, number := day[3]+day[7], day[4]+day[6]
	if y, err := strconv.Atoi(day[5] + day[8]); err == nil {
		year = y
	}
	t, err := time.Parse("Jan 2 2006", name+" "+number+" "+strconv.Itoa(year)) // in any case
	if err != nil {
		return time.Time{}
	}
	return date(t.Date())
}

// timeOfDay reads a match of the clock, nil = the beginning of the day; false for one that no clock shows.
func timeOfDay(m []string) (hour, minute int, ok bool) {
	switch {
	case m == nil || strings.EqualFold(m[6], "midnight"):
		return 0, 0, true
	case m[6] != "":
		return 12, 0, true
	case m[4] != "":
		hour, _ = strconv.Atoi(m[4])
		minute, _ = strconv.Atoi(m[5])
		return hour, minute, hour < 24 && minute < 60
	}
	hour, _ = strconv.Atoi(m[1])
	minute, _ = strconv.Atoi(m[2])
	ok = hour >= 1 && hour <= 12 && minute < 60
	hour %= 12
	if strings.EqualFold(m[3], "p") {
		hour += 12
	}
	return hour, minute, ok
}

// zoneOf is the zone at the beginning of a text, local where none is named; false for one that nobody knows.
func zoneOf(text string, local *time.Location) (*time.Location, bool) {
	m := whens().zone.FindStringSubmatch(text)
	if m == nil {
		return local, true
	}
	name := strings.TrimSpace(m[1] + m[2])
	if word, _, _ := strings.Cut(strings.ToLower(name), " "); zones[word] != "" {
		name = zones[word]
	} else if whole := zones[strings.ToLower(name)]; whole != "" {
		name = whole
	}
	if strings.Contains(name, "/") {
		zone, err := loadZone(name)
		return zone, err == nil
	}
	for _, prefix := range []string{"UTC", "GMT", "utc", "gmt"} {
		name = strings.TrimSpace(strings.TrimPrefix(name, prefix))
	}
	if name == "" {
		return time.UTC, true
	}
	for _, layout := range []string{"-07:00", "-0700", "-07", "-7"} {
		if t, err := time.Parse(layout, name); err == nil {
			_, seconds := t.Zone()
			return time.FixedZone(name, seconds), true
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n > -15 && n < 15 {
		return time.FixedZone(name, n*3600), true
	}
	// What stands in brackets may be no zone at all: "5pm (in 2 hours)".
	return local, m[2] == "" && strings.ContainsAny(name, " 0123456789")
}
