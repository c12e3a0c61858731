package session

import (
	"testing"
	"time"
)

func TestWhatToolCallsCanHaveChanged(t *testing.T) {
	at := func(sec int) time.Time { return time.Unix(1_700_000_000+int64(sec), 0) }
	for _, c := range []struct {
		why     string
		calls   func(*CallWatch)
		path    string
		changed time.Time
		can     bool
	}{
		{"a driver that tells nothing: nothing is known", func(*CallWatch) {}, "a", at(5), true},
		{"only reading was done", func(w *CallWatch) { w.Begin("Read", "/r/a", "/r", at(1)); w.Done(at(2)) }, "a", at(5),
			false},
		{"the edit names it", func(w *CallWatch) { w.Begin("Edit", "/r/d/a", "/r", at(1)); w.Done(at(2)) }, "d/a", at(5),
			true},
		{"the edit names another", func(w *CallWatch) { w.Begin("Edit", "/r/b", "/r", at(1)); w.Done(at(2)) }, "a", at(2),
			false},
		{"a relative path", func(w *CallWatch) { w.Begin("Write", "./d/../a", "/r", at(1)); w.Done(at(2)) }, "a", at(2),
			true},
		{"while a command ran", func(w *CallWatch) { w.Begin("Bash", "", "/r", at(1)); w.Done(at(9)) }, "a", at(5), true},
		{"long after it", func(w *CallWatch) { w.Begin("Bash", "", "/r", at(1)); w.Done(at(2)) }, "a", at(9), false},
		{"gone, and a command ran", func(w *CallWatch) { w.Begin("Bash", "", "/r", at(1)); w.Done(at(2)) }, "a", time.Time{},
			true},
		{"gone, and none ran", func(w *CallWatch) { w.Begin("Read", "", "/r", at(1)); w.Done(at(2)) }, "a", time.Time{},
			false},
		{"a command that never ended", func(w *CallWatch) { w.Begin("Bash", "", "/r", at(1)) }, "a", at(99), true},
		{"a command beside a read", func(w *CallWatch) {
			w.Begin("Bash", "", "/r", at(1))
			w.Begin("Read", "", "/r",
				at(2))
			w.Done(at(3))
		}, "a", at(50), true},
		{"an unknown tool may do anything", func(w *CallWatch) { w.Begin("mcp__x__y", "", "/r", at(1)); w.Done(at(9)) }, "a",
			at(5), true},
	} {
		var w CallWatch
		c.calls(&w)
		if got := w.CanHave(c.path, c.changed); got != c.can {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}
