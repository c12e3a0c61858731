package view

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Printer writes text for people.
type Printer struct {
	W       io.Writer
	Colours bool
	// Columns is how wide the terminal is that W leads to; 0 = there is none,
	// and lines are as long as they are.
	Columns int
}

// Printf writes as fmt.Fprintf does.
func (p Printer) Printf(format string, args ...any) { fmt.Fprintf(p.W, format, args...) }

// Paint puts text between the SGR sequences of a colour where colours are
// wanted. Code 0 is the terminal's own.
func (p Printer) Paint(code, text string) string {
	if text == "" || code == "0" || !p.Colours {
		return text
	}
	return Styled(p.W, "\x1b["+code+"m") + text + Styled(p.W, "\x1b[0m")
}

// Indented writes lines, each behind by, and ends the last one.
func (p Printer) Indented(text, by string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(p.W, by, line)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(p.W)
	}
}

// narrowed are widths of columns that fit a terminal: the widest gives way
// first, and none below what can still be read.
func narrowed(width []int, most int) []int {
	const least = 8
	total := 2 * (len(width) - 1)
	for _, n := range width {
		total += n
	}
	for ; most > 0 && total > most; total-- {
		at := 0
		for i, n := range width {
			if n >= width[at] {
				at = i
			}
		}
		if width[at] <= least {
			break
		}
		width[at]--
	}
	return width
}

// clipped cuts a cell to a width; colours stay whole.
func clipped(s string, most int) string {
	if visible(s) <= most {
		return s
	}
	var b strings.Builder
	for n := 0; len(s) > 0; {
		if _, rest, ok := cutStyle(s); ok {
			b.WriteString(s[:len(s)-len(rest)])
			s = rest
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		switch n++; {
		case n < most:
			b.WriteString(s[:size])
		case n == most:
			b.WriteString("…")
		}
		s = s[size:]
	}
	return b.String()
}

// Table writes rows with aligned columns; the last column is not padded. On a
// terminal that is too narrow the widest columns are cut.
func (p Printer) Table(rows [][]string) {
	var width []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], visible(c))
		}
	}
	width = narrowed(width, p.Columns)
	// One write for all of it: a thousand of them cost as much as reading the plan.
	var all, b strings.Builder
	for _, r := range rows {
		b.Reset()
		for i, c := range r {
			c = clipped(oneRow.Replace(c), width[i])
			b.WriteString(c)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-visible(c)+2))
			}
		}
		all.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	io.WriteString(p.W, all.String())
}

// oneRow keeps a cell in its row.
var oneRow = strings.NewReplacer("\n", `\n`, "\t", " ")

// visible is the width of text without colours.
func visible(s string) int {
	n := 0
	for len(s) > 0 {
		if _, rest, ok := cutStyle(s); ok {
			s = rest
			continue
		}
		if strings.HasPrefix(s, "\x1b[") {
			if i := strings.IndexByte(s, 'm'); i >= 0 {
				s = s[i+1:]
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		n++
	}
	return n
}
