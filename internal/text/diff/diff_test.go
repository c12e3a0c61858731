package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	for _, row := range []struct{ before, after, want, why string }{
		{"a\nb\nc\n", "a\nb\nc\n", "", "nothing changed"},
		{"", "a\nb\n", "+a|+b", "a new text"},
		{"a\n", "", "-a", "a text that goes"},
		{"a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", "@line 2| b|-c|+X| d", "one line on each side"},
		{"a\nb", "a\nb\n", "", "the newline at the end is not a change"},
		{"1\n2\n3\n4\n5\n6\n7\n", "1\nx\n3\n4\n5\ny\n7\n", " 1|-2|+x| 3|@line 5| 5|-6|+y| 7", "two places with a gap"},
	} {
		var got []string
		for _, l := range Lines(row.before, row.after, 1) {
			got = append(got, string(l.Mark)+l.Text)
		}
		if g := strings.Join(got, "|"); g != row.want {
			t.Errorf("%s: %q, want %q", row.why, g, row.want)
		}
	}
}

// TestLinesAreWhole: kept and removed lines make the old text, kept and added ones
// the new text, even with more lines than an alphabet has letters.
func TestLinesAreWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 10, 300, 3000} {
		make := func() (lines []string) {
			for i := range n {
				if r.IntN(10) > 0 {
					lines = append(lines, fmt.Sprint("line ", i, " ", r.IntN(40)/39))
				}
			}
			return lines
		}
		before, after := make(), append(make(), "the end")
		var old, now []string
		for _, l := range Lines(strings.Join(before, "\n"), strings.Join(after, "\n"), n+1) {
			if l.Mark != '+' {
				old = append(old, l.Text)
			}
			if l.Mark != '-' {
				now = append(now, l.Text)
			}
		}
		if strings.Join(old, "\n") != strings.Join(before, "\n") || strings.Join(now, "\n") != strings.Join(after, "\n") {
			t.Errorf("%d lines: the difference is not that of the texts", n)
		}
	}
}
