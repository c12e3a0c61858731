package loop

import (
	"testing"
)

func TestReproduced(t *testing.T) {
	red, green := TestRun{Name: "a"}, TestRun{Name: "a", Passed: true}
	for _, c := range []struct {
		why           string
		before, after []TestRun
		ok            bool
		unclear       string
	}{
		{"red before, green now", []TestRun{red}, []TestRun{green}, true, ""},
		{"green on both sides", []TestRun{green}, []TestRun{green}, false, ""},
		{"red on both sides: the surroundings", []TestRun{red}, []TestRun{red}, false, "a"},
		{"one of many is enough", []TestRun{red, green, red}, []TestRun{red, green, green}, true, ""},
		{"what could not be run shows nothing", []TestRun{red}, nil, false, ""},
	} {
		if ok, unclear := reproduced(c.before, c.after); ok != c.ok || unclear != c.unclear {
			t.Errorf("%s: %v %q", c.why, ok, unclear)
		}
	}
}
