package view

import (
	"fmt"
	"io"
	"slices"
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

// Say writes sentences: on a terminal a line that does not fit is broken at a
// space, and what follows is indented.
func (p Printer) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		bare := strings.TrimLeft(body, " ")
		by := len(body) - len(bare)
		out := strings.Join(wrapped(bare, p.Columns-by, p.Columns-by-2), "\n"+strings.Repeat(" ", by+2))
		if io.WriteString(p.W, body[:by]+out); end {
			io.WriteString(p.W, "\n")
		}
	}
}

// wrapped breaks a text into lines at spaces: the first is at most first wide, the
// others rest. A word is never broken, nor is a command that fits into a line.
// With hardly any room nothing is broken.
func wrapped(s string, first, rest int) []string {
	if visible(s) <= first || rest < leastText {
		return []string{s}
	}
	var lines []string
	line, width, most := "", 0, first
	for _, word := range units(s, rest) {
		n := visible(word)
		if line != "" && width+1+n > most && !strings.HasPrefix(word, "%") {
			lines = append(lines, strings.TrimRight(line, " "))
			line, width, most = "", 0, rest
			if n == 0 {
				continue
			}
		}
		if line != "" || width > 0 {
			line, width = line+" ", width+1
		}
		line, width = line+word, width+n
	}
	return append(lines, line)
}

// units are the words of a text. A command to copy, from `git ralph` to its last
// argument that looks like one, is a single unit where it is at most n wide.
func units(s string, n int) []string {
	words := strings.Split(s, " ")
	var out []string
	for len(words) > 0 {
		most := 1
		if len(words) > 2 && strings.TrimLeft(words[0], "(`") == "git" && words[1] == "ralph" {
			for most = 3; most < len(words) && words[most] != "" && !strings.HasSuffix(words[most-1], ",") &&
				strings.ContainsAny(words[most][:1], "-'\"<ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"); most++ {
			}
			if visible(strings.Join(words[:most], " ")) > n {
				most = 1
			}
		}
		out = append(out, strings.Join(words[:most], " "))
		words = words[most:]
	}
	return out
}

// leastText is the least width at which text is still read easily; a cell up to
// this width, such as a date, and a cell of one word, such as an id, is never cut.
const leastText = 20

// narrowed are widths of columns that fit a terminal: the widest gives way
// first, and none below its least. False: they do not fit.
func narrowed(width, least []int, most int) ([]int, bool) {
	total := 2 * (len(width) - 1)
	for _, n := range width {
		total += n
	}
	for ; total > most; total-- {
		at := -1
		for i, n := range width {
			if n > least[i] && (at < 0 || n >= width[at]) {
				at = i
			}
		}
		if at < 0 {
			return nil, false
		}
		width[at]--
	}
	return width, true
}

// clipped cuts a cell to a width, behind a word where one ends in the second half
// of it; colours stay whole.
func clipped(s string, most int) string {
	if visible(s) <= most {
		return s
	}
	var b strings.Builder
	kept := cutAt(s, most)
	for n := 0; len(s) > 0; {
		if _, rest, ok := cutStyle(s); ok {
			b.WriteString(s[:len(s)-len(rest)])
			s = rest
			continue
		}
		_, size := utf8.DecodeRuneInString(s)
		if n < kept {
			b.WriteString(s[:size])
		} else if n == kept {
			b.WriteString("…")
		}
		n++
		s = s[size:]
	}
	return b.String()
}

// cutAt is how many characters of a cell are kept beside the sign that it was cut.
func cutAt(s string, most int) int {
	n, word := 0, 0
	for len(s) > 0 {
		if _, rest, ok := cutStyle(s); ok {
			s = rest
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		if r == ' ' && n < most {
			word = n
		}
		n++
		s = s[size:]
	}
	if word >= most/2 && word > 0 {
		return word
	}
	return most - 1
}

// Table writes rows with aligned columns; the last column is not padded. On a
// terminal that is too narrow, pairs of name and text keep the name's column
// and wrap the text; longer rows have their widest texts cut. If that is not
// enough, a row continues in further lines.
func (p Printer) Table(rows [][]string) {
	p.table(nil, rows, lastColumn(!slices.ContainsFunc(rows, func(r []string) bool { return len(r) != 2 })))
}

// Notes writes rows whose last column describes the others: it is wrapped and
// never cut.
func (p Printer) Notes(rows [][]string) { p.table(nil, rows, wrapLast) }

// HeadedTable is a Table with a line of names above it; where a row needs several
// lines each cell has its name beside it instead.
func (p Printer) HeadedTable(head []string, rows [][]string) { p.table(head, rows, cutLast) }

// lastColumn says whether the last column is broken into lines or cut.
type lastColumn bool

const (
	wrapLast lastColumn = true
	cutLast  lastColumn = false
)

// table writes rows; notes reports whether the last column is broken into lines.
func (p Printer) table(head []string, cells [][]string, notes lastColumn) {
	rows := make([][]string, len(cells)) // as they are shown, before anything is measured
	for i, r := range cells {
		rows[i] = make([]string, len(r))
		for k, c := range r {
			rows[i][k] = oneRow.Replace(c)
		}
	}
	var width, least []int
	measure := func(r []string) {
		for i, c := range r {
			if i == len(width) {
				width, least = append(width, 0), append(least, 0)
			}
			n := visible(c)
			width[i] = max(width[i], n)
			if strings.Contains(strings.TrimSpace(c), " ") {
				n = min(n, leastText)
			}
			least[i] = max(least[i], n)
		}
	}
	if head != nil {
		measure(head)
	}
	for _, r := range rows {
		measure(r)
	}
	last, room := len(width)-1, 0
	if notes == wrapLast && p.Columns > 0 && last >= 0 {
		room = p.Columns - 2*last
		for _, n := range width[:last] {
			room -= n
		}
	}
	switch {
	case p.Columns == 0 || room >= leastText:
	case notes == wrapLast:
		p.flow(head, rows)
		return
	default:
		fit, ok := narrowed(slices.Clone(width), least, p.Columns)
		if !ok {
			p.flow(head, rows)
			return
		}
		width = fit
	}
	if head != nil {
		dim := make([]string, len(head))
		for i, name := range head {
			dim[i] = p.Paint("2", name)
		}
		rows = append([][]string{dim}, rows...)
	}
	// One write for all of it: a thousand of them cost as much as reading the plan.
	var all, b strings.Builder
	for _, r := range rows {
		b.Reset()
		for i, c := range r {
			switch {
			case room == 0:
				c = clipped(c, width[i])
			case i == last:
				c = strings.Join(wrapped(c, room, room), "\n"+strings.Repeat(" ", p.Columns-room))
			}
			b.WriteString(c)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-visible(c)+2))
			}
		}
		all.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
	io.WriteString(p.W, all.String())
}

// flow writes each row in as many lines as it needs.
func (p Printer) flow(head []string, rows [][]string) {
	for _, r := range rows {
		lead := ""
		var cells []string
		for i, c := range r {
			if i == 0 {
				bare := strings.TrimLeft(c, " ")
				lead, c = c[:len(c)-len(bare)], bare
			}
			if c == "" || head != nil && c == OrDash("") {
				continue
			}
			if head != nil {
				c = p.Paint("2", head[i]) + " " + c
			}
			cells = append(cells, c)
		}
		line, room := lead, p.Columns
		for i, c := range cells {
			if i > 0 && visible(line)+2+visible(c) > room {
				io.WriteString(p.W, line+"\n")
				line = lead + "    "
			} else if i > 0 {
				line += "  "
			}
			lines := []string{c} // a name is not broken from what it names
			if strings.Count(c, " ") > 1 || head == nil {
				lines = wrapped(c, room-visible(line), room-len(lead)-4)
			}
			for _, text := range lines[:len(lines)-1] {
				io.WriteString(p.W, line+text+"\n")
				line = lead + "    "
			}
			line += lines[len(lines)-1]
		}
		io.WriteString(p.W, line+"\n")
	}
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
