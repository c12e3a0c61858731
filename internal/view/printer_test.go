package view

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNarrowTables: a table fits 80 and 40 columns, whatever its cells hold,
// and the columns that say what a line is about stay readable.
func TestNarrowTables(t *testing.T) {
	rows := [][]string{{"✓", "T-001", "done", strings.Repeat("a long title ", 9), "next, 3 attempts, priority 2"},
		{"·", "T-002-with-a-name", "in progress", "short", "waits on T-001 (" + strings.Repeat("why ", 30) + ")"}}
	for _, most := range []int{200, 80, 40} {
		var b strings.Builder
		Printer{W: &b, Columns: most}.Table(rows)
		for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
			if n := utf8.RuneCountInString(line); n > most+8 || most >= 80 && n > most {
				t.Errorf("%d columns at %d: %s", n, most, line)
			}
		}
		if !strings.Contains(b.String(), "T-001") {
			t.Errorf("at %d columns the task is not named:\n%s", most, b.String())
		}
	}
	var b strings.Builder
	Printer{W: &b}.Table(rows)
	if strings.Contains(b.String(), "…") {
		t.Error("what is no terminal gets everything")
	}
	coloured := Styled(Through(&b, false), "\x1b[32m") + "green and long" + Styled(Through(&b, false), "\x1b[0m")
	if got := clipped(coloured, 6); visible(got) != 6 || !strings.HasSuffix(got, Styled(Through(&b, false), "\x1b[0m")) {
		t.Errorf("%q", got)
	}
}
