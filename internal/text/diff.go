package text

import (
	"fmt"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// DiffLine is one line of a difference as people read it: Mark is '-' for a line
// that went, '+' for one that came, ' ' for one that stayed and '@' for a gap,
// which names the line of the new text that follows.
type DiffLine struct {
	Mark byte
	Text string
}

// Diff compares two texts line by line and shows around lines on each side of
// what changed. It is for what git ralph itself writes down (plans, tasks,
// settings); differences of code are git's.
func Diff(before, after string, around int) []DiffLine {
	d := diffmatchpatch.New()
	a, b, lines := d.DiffLinesToRunes(ended(before), ended(after))
	var all []DiffLine
	for _, part := range d.DiffCharsToLines(d.DiffCleanupMerge(d.DiffMainRunes(a, b, false)), lines) {
		mark := map[diffmatchpatch.Operation]byte{diffmatchpatch.DiffDelete: '-', diffmatchpatch.DiffInsert: '+',
			diffmatchpatch.DiffEqual: ' '}[part.Type]
		for line := range strings.Lines(part.Text) {
			all = append(all, DiffLine{mark, strings.TrimSuffix(line, "\n")})
		}
	}
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Mark != ' ' {
			for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
				near[k] = true
			}
		}
	}
	var out []DiffLine
	at, shown := 0, true // the line of the new text, and whether the one before was shown
	for i, l := range all {
		if l.Mark != '-' {
			at++
		}
		if near[i] {
			if !shown {
				out = append(out, DiffLine{'@', fmt.Sprintf("line %d", max(at, 1))})
			}
			out = append(out, l)
		}
		shown = near[i]
	}
	return out
}

func ended(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
