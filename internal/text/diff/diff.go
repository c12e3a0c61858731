// Package diff compares texts line by line, for people. It is apart from package
// text, whose small operations the first process of a sandbox needs, too: what is
// imported there prepares itself before every command.
package diff

import (
	"fmt"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Line is one line of a difference as people read it: Mark is '-' for a line
// that went, '+' for one that came, ' ' for one that stayed and '@' for a gap,
// which names the line of the new text that follows.
type Line struct {
	Mark byte
	Text string
}

// Lines compares two texts line by line and shows around lines on each side of
// what changed. It is for what git ralph itself writes down (plans, tasks,
// settings); differences of code are git's.
func Lines(before, after string, around int) []Line {
	d := diffmatchpatch.New()
	a, b, lines := d.DiffLinesToRunes(ended(before), ended(after))
	var all []Line
	for _, part := range d.DiffCharsToLines(d.DiffCleanupMerge(d.DiffMainRunes(a, b, false)), lines) {
		mark := map[diffmatchpatch.Operation]byte{diffmatchpatch.DiffDelete: '-', diffmatchpatch.DiffInsert: '+',
			diffmatchpatch.DiffEqual: ' '}[part.Type]
		for line := range strings.Lines(part.Text) {
			all = append(all, Line{mark, strings.TrimSuffix(line, "\n")})
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
	var out []Line
	at, shown := 0, true // the line of the new text, and whether the one before was shown
	for i, l := range all {
		if l.Mark != '-' {
			at++
		}
		if near[i] {
			if !shown {
				out = append(out, Line{'@', fmt.Sprintf("line %d", max(at, 1))})
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
