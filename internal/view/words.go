package view

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// Ago is a time as people say it.
func Ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// Duration is a number of milliseconds as people say it.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Moment is a time for people, in their own zone.
func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// WaitFor says what a run waits for until Run.WaitUntil.
func WaitFor(r state.Run) string {
	switch {
	case r.Reason == string(session.UsageLimit) || r.Reason == string(session.RateLimited):
		return "the provider's limit"
	case r.Reason == string(session.Overloaded):
		return "the provider, which is overloaded"
	case r.Breaker.State == "open":
		return "one more attempt, after " + r.Reason
	}
	return r.Reason
}

// Plural is "1 task", "3 tasks".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// times is "once", "twice", "3 times".
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Thousands is 12345 as 12k.
func Thousands(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// USD is an amount of micro-dollars for people, without the sign.
func USD(micro int64) string { return strconv.FormatFloat(float64(micro)/1e6, 'f', 2, 64) }

// Dollars is an amount of micro-dollars for programs.
func Dollars(micro int64) json.Number { return json.Number(plan.Dollars(micro)) }

// OrDash is "-" for an empty cell.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// JoinIDs is a list of tasks for people.
func JoinIDs(ids []plan.TaskID) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return strings.Join(out, ", ")
}

// List is s, and never nil: a list of JSON is never null.
func List[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
