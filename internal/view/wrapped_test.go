package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommandsAreNotBroken: a command to copy is on one line if it fits.
func TestCommandsAreNotBroken(t *testing.T) {
	for _, c := range []struct {
		why, text string
		columns   int
		want      []string
	}{
		{"a command at the end", "to go on working here: git ralph start --worktree", 40,
			[]string{"to go on working here:", "git ralph start --worktree"}},
		{"prose after a command", "git ralph start proves the whole once more, and says what is red", 24,
			[]string{"git ralph start proves", "the whole once more, and", "says what is red"}},
		{"a command with an id and a number", "hint: `git ralph retry T-001 --as 3`, then again", 36,
			[]string{"hint:", "`git ralph retry T-001 --as 3`, then", "again"}},
		{"one that fits into no line", "git ralph retry T-001 --allow-test-changes", 30,
			[]string{"git ralph retry T-001", "--allow-test-changes"}},
		{"two commands", "git ralph approve, or git ralph reject T-001", 28,
			[]string{"git ralph approve, or", "git ralph reject T-001"}},
		{"no command", "a text with git and ralph in it", 21, []string{"a text with git and", "ralph in it"}},
	} {
		if diff := cmp.Diff(c.want, wrapped(c.text, c.columns, c.columns)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
		if got := strings.Join(units(c.text, c.columns), " "); got != c.text {
			t.Errorf("%s: the units are %q", c.why, got)
		}
	}
}
