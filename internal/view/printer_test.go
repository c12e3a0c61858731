package view

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// lines are what a Printer of a width writes.
func lines(columns int, write func(Printer)) []string {
	var b strings.Builder
	write(Printer{W: &b, Columns: columns})
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// TestNarrowTables: a table fits 200, 80 and 40 columns, whatever its cells hold,
// and no name is cut.
func TestNarrowTables(t *testing.T) {
	const id, commit = "T-002-with-a-name", "0123456789abcdef0123456789abcdef01234567"
	long := strings.TrimSpace(strings.Repeat("why it is so ", 12))
	for _, x := range []struct {
		why        string
		head       []string
		rows       [][]string
		whole      []string // never cut
		everything bool     // no cell is cut
	}{
		{"tasks", nil, [][]string{{"✓", "T-001", "done", strings.Repeat("a long title ", 9), "next, 3 attempts, priority 2"},
			{"·", id, "in progress", "short", "waits on T-001 (" + long + ")"}}, []string{"T-001", id, "in progress"}, false},
		{"five columns of names", nil, [][]string{{commit[:9], "2026-11-22 18:00:01", "keep", id, commit[:12]}},
			[]string{commit[:9], "2026-11-22 18:00:01", id, commit[:12]}, true},
		{"a name and what is said of it", nil, [][]string{{"  sandbox", long}, {"  evidence", commit[:24]}},
			[]string{commit[:24]}, true},
		{"columns with names of their own", []string{"session", "iteration", "role", "model", "reason", "id"},
			[][]string{{"1", "7", "coding", "a-model-of-some-name", long, "0123456789ab…"}},
			[]string{"a-model-of-some-name", "0123456789ab…"}, false},
	} {
		for _, most := range []int{200, 80, 40} {
			got := lines(most, func(p Printer) {
				if x.head != nil {
					p.HeadedTable(x.head, x.rows)
				} else {
					p.Table(x.rows)
				}
			})
			for _, line := range got {
				if n := utf8.RuneCountInString(line); n > most {
					t.Errorf("%s: %d columns at %d: %s", x.why, n, most, line)
				}
			}
			all := strings.Join(got, "\n")
			for _, want := range x.whole {
				if !strings.Contains(all, want) {
					t.Errorf("%s: at %d columns %q is cut:\n%s", x.why, most, want, all)
				}
			}
			if words := strings.Join(strings.Fields(all), " "); x.everything && strings.Contains(x.rows[0][1], long) &&
				!strings.Contains(words, long) {
				t.Errorf("%s: at %d columns a part is missing:\n%s", x.why, most, all)
			}
		}
	}
	if got := lines(40, func(p Printer) {
		p.HeadedTable([]string{"session", "role", "model", "id"}, [][]string{{"1", "coding", "-", commit}})
	}); got[0] != "session 1  role coding" || got[1] != "    id "+commit {
		t.Errorf("cells that stand alone say what they are: %q", got)
	}
	got := strings.Join(lines(0, func(p Printer) { p.Table([][]string{{"a", long, long, "b"}}) }), "\n")
	if strings.Contains(got, "…") || strings.Contains(got, "\n") {
		t.Error("what is no terminal gets everything on one line")
	}
	for _, most := range []int{0, 80} { // cells keep their row, and nothing of them is lost
		const cell = "a\nb\nc\nd\ne"
		got := strings.Join(lines(most, func(p Printer) { p.Table([][]string{{cell, cell}}) }), "\n")
		if strings.Contains(got, "…") || strings.Count(got, `a\nb\nc\nd\ne`) != 2 {
			t.Errorf("at %d columns cells of several lines are %q", most, got)
		}
	}
	var b strings.Builder
	coloured := Styled(Through(&b, Text), "\x1b[32m") + "green and long" + Styled(Through(&b, Text), "\x1b[0m")
	if got := clipped(coloured, 6); visible(got) != 6 || !strings.HasSuffix(got, Styled(Through(&b, Text), "\x1b[0m")) {
		t.Errorf("%q", got)
	}
}

func TestSay(t *testing.T) {
	text := "  a word after the other, and-one-that-is-far-too-long-for-any-line-of-this-width end\nnext\n\n"
	got := lines(30, func(p Printer) { p.Say("%s", text) })
	want := []string{"  a word after the other,", "    and-one-that-is-far-too-long-for-any-line-of-this-width", "    end",
		"next", ""}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
	if got := lines(0, func(p Printer) { p.Say("%s", text) }); strings.Join(got, "\n")+"\n" != text {
		t.Errorf("%q", got)
	}
}
