package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNullIsNoTerminal: nobody reads a pager there, and nobody answers. Standard
// output has its own name whatever lies behind it.
func TestNullIsNoTerminal(t *testing.T) {
	names := []string{os.DevNull}
	if link := filepath.Join(t.TempDir(), "stdout"); os.Symlink(os.DevNull, link) == nil {
		names = append(names, link)
	}
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if terminal(f) {
			t.Errorf("%s is called a terminal", name)
		}
		f.Close()
	}
}

// TestNarrowTables: a table fits 80 and 40 columns, whatever its cells hold,
// and the columns that say what a line is about stay readable.
func TestNarrowTables(t *testing.T) {
	rows := [][]string{{"✓", "T-001", "done", strings.Repeat("a long title ", 9), "next, 3 attempts, priority 2"},
		{"·", "T-002-with-a-name", "in progress", "short", "waits on T-001 (" + strings.Repeat("why ", 30) + ")"}}
	for _, most := range []int{200, 80, 40} {
		var b strings.Builder
		d := through(&pageWriter{w: &b, columns: most}, false)
		table(d, rows)
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
	table(&b, rows)
	if strings.Contains(b.String(), "…") {
		t.Error("what is no terminal gets everything")
	}
	coloured := styled(through(&b, false), "\x1b[32m") + "green and long" + styled(through(&b, false), "\x1b[0m")
	if got := clipped(coloured, 6); visible(got) != 6 || !strings.HasSuffix(got, styled(through(&b, false), "\x1b[0m")) {
		t.Errorf("%q", got)
	}
}
