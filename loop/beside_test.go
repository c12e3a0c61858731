package loop

import (
	"testing"
	"time"
)

func TestWhatToolCallsCanHaveChanged(t *testing.T) {
	at := func(sec int) time.Time { return time.Unix(1_700_000_000+int64(sec), 0) }
	for _, c := range []struct {
		why     string
		calls   func(*toolWatch)
		path    string
		changed time.Time
		can     bool
	}{
		{"a driver that tells nothing: nothing is known", func(*toolWatch) {}, "a", at(5), true},
		{"only reading was done", func(w *toolWatch) { w.call("Read", "/r/a", "/r", at(1)); w.done(at(2)) }, "a", at(5),
			false},
		{"the edit names it", func(w *toolWatch) { w.call("Edit", "/r/d/a", "/r", at(1)); w.done(at(2)) }, "d/a", at(5),
			true},
		{"the edit names another", func(w *toolWatch) { w.call("Edit", "/r/b", "/r", at(1)); w.done(at(2)) }, "a", at(2),
			false},
		{"a relative path", func(w *toolWatch) { w.call("Write", "./d/../a", "/r", at(1)); w.done(at(2)) }, "a", at(2), true},
		{"while a command ran", func(w *toolWatch) { w.call("Bash", "", "/r", at(1)); w.done(at(9)) }, "a", at(5), true},
		{"long after it", func(w *toolWatch) { w.call("Bash", "", "/r", at(1)); w.done(at(2)) }, "a", at(9), false},
		{"gone, and a command ran", func(w *toolWatch) { w.call("Bash", "", "/r", at(1)); w.done(at(2)) }, "a", time.Time{},
			true},
		{"gone, and none ran", func(w *toolWatch) { w.call("Read", "", "/r", at(1)); w.done(at(2)) }, "a", time.Time{},
			false},
		{"a command that never ended", func(w *toolWatch) { w.call("Bash", "", "/r", at(1)) }, "a", at(99), true},
		{"a command beside a read", func(w *toolWatch) {
			w.call("Bash", "", "/r", at(1))
			w.call("Read", "", "/r",
				at(2))
			w.done(at(3))
		}, "a", at(50), true},
		{"an unknown tool may do anything", func(w *toolWatch) { w.call("mcp__x__y", "", "/r", at(1)); w.done(at(9)) }, "a",
			at(5), true},
	} {
		var w toolWatch
		c.calls(&w)
		if got := w.canHave(c.path, c.changed); got != c.can {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}
