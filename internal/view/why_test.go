package view

import (
	"strings"
	"testing"
)

// A reason is explained by its first word. A reason that says everything is not.
func TestWhy(t *testing.T) {
	for reason, part := range map[string]string{
		"not_claimed":                     "$RALPH_HANDOFF_FILE",
		"test_weakened: removed TestAdd":  "asserts less",
		"no_change":                       "no_change_expected",
		"stagnation:5":                    "without a task done",
		"checks: test":                    "",
		"not_claimed_by_anything: a word": "",
	} {
		why := Why(reason)
		if (part == "") != (why == "") || !strings.Contains(why, part) {
			t.Errorf("%s: %q, want something with %q", reason, why, part)
		}
	}
}
