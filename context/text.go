package agentctx

import (
	"strings"

	"git-ralph/internal/text"
	"git-ralph/notes"
)

// paragraphs joins what is not empty with one empty line between.
func paragraphs(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); strings.TrimSpace(p) == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p)
	}
	return b.String()
}

// titled puts a title above text, and is empty when text is.
func titled(title, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return title + "\n\n" + text
}

// list makes one "- " line of each item that is not empty.
func list[T any](items []T, text func(T) string) string {
	var b strings.Builder
	for _, item := range items {
		// A line feed at the start stays: a block of code follows.
		if s := strings.TrimRight(text(item), " \t\n"); s != "" {
			b.WriteString("- " + s + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// indent puts the further lines of an item under its first.
func indent(s string) string {
	s = closed(strings.TrimSpace(s))
	if line, _, _ := strings.Cut(s, "\n"); fenceOf(line, "") != "" {
		s = "\n" + s // on the item's own line it would not open a code block
	}
	return strings.ReplaceAll(s, "\n", "\n  ")
}

// code quotes a command so that back-ticks in it do not end the quotation.
func code(s string) string {
	s = strings.TrimSpace(notes.Clean(s))
	if strings.Contains(s, "\n") {
		fence := "```"
		for strings.Contains(s, fence) {
			fence += "`"
		}
		return "\n  " + fence + "sh\n  " + strings.ReplaceAll(s, "\n", "\n  ") + "\n  " + fence
	}
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

// demote lowers the headings of a text that is put inside a section to the
// fourth level and below, so that no line of it can be taken for a section of
// the prompt. Fenced code is left alone, and closed when it was left open.
func demote(s string) string {
	return lower(s, func(n int) int { return min(max(n+2, 4), 6) })
}

// nest lowers the headings of a text below a fourth level heading, so that
// their relative levels stay visible.
func nest(s string) string {
	return lower(s, func(n int) int { return min(n+4, 6) })
}

// lower gives the headings of a text, of level n, another level.
func lower(s string, level func(n int) int) string {
	if !strings.Contains(s, "#") && !strings.Contains(s, "```") && !strings.Contains(s, "~~~") {
		return s
	}
	lines := strings.Split(s, "\n")
	open := ""
	for i, l := range lines {
		if mark := fenceOf(l, open); mark != "" {
			if open == "" {
				open = mark
			} else {
				open = ""
			}
			continue
		}
		if open != "" || !strings.HasPrefix(l, "#") {
			continue
		}
		n := len(l) - len(strings.TrimLeft(l, "#"))
		if n <= 6 && (len(l) == n || l[n] == ' ' || l[n] == '\t') {
			lines[i] = strings.Repeat("#", level(n)) + l[n:]
		}
	}
	return closed(strings.Join(lines, "\n"))
}

// openFence is the mark of a block of code that s leaves open, "" for none.
func openFence(s string) string {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") {
		return ""
	}
	open := ""
	for line := range strings.SplitSeq(s, "\n") {
		if mark := fenceOf(line, open); mark != "" && open == "" {
			open = mark
		} else if mark != "" {
			open = ""
		}
	}
	return open
}

// closed is s with its last block of code closed.
func closed(s string) string {
	if mark := openFence(s); mark != "" {
		return strings.TrimRight(s, "\n") + "\n" + mark
	}
	return s
}

// cutClosed cuts s with cut to at most n bytes so that no block of code stays
// open; cut(s, n) is at most n bytes long.
func cutClosed(s string, n int, cut func(string, int) string) string {
	out := cut(s, n)
	if mark := openFence(out); mark != "" {
		if out = cut(s, n-len(mark)-1); openFence(out) != "" {
			return closed(out)
		}
	}
	return out
}

// fenceOf returns the marks with which a line opens a code block, or closes the
// one opened by open; "" for other lines. Any indent is allowed, because list
// content may be indented further here than in its source.
func fenceOf(line, open string) string {
	t := strings.TrimLeft(line, " ")
	if len(t) < 3 || t[0] != '`' && t[0] != '~' {
		return ""
	}
	n := len(t) - len(strings.TrimLeft(t, t[:1]))
	rest := strings.TrimSpace(t[n:])
	switch {
	case n < 3:
	case open == "" && (t[0] == '~' || !strings.Contains(rest, "`")):
		return t[:n]
	case open != "" && t[0] == open[0] && n >= len(open) && rest == "":
		return t[:n]
	}
	return ""
}

// cutMark ends a text that was cut.
const cutMark = "\n[… cut …]"

// cutText keeps the beginning of s, at most n bytes with the mark, at the end
// of a line where one is near.
func cutText(s string, n int) string {
	return cutClosed(s, n, cutPlain)
}

func cutPlain(s string, n int) string {
	if len(s) <= n {
		return s
	}
	room := n - len(cutMark)
	if room <= 0 {
		return text.CutBytes(s, n)
	}
	s = text.CutBytes(s, room)
	if i := strings.LastIndexByte(s, '\n'); i > len(s)*3/4 {
		s = s[:i]
	}
	return strings.TrimRight(s, " \n") + cutMark
}

// cutLines keeps whole lines of s in at most n bytes with the mark; empty when
// less than a title and one line fit.
func cutLines(s string, n int) string {
	return cutClosed(s, n, cutLinesPlain)
}

func cutLinesPlain(s string, n int) string {
	if len(s) <= n {
		return s
	}
	room := n - len(cutMark)
	if room <= 0 {
		return ""
	}
	i := strings.LastIndexByte(s[:min(room+1, len(s))], '\n')
	if i < 0 || strings.Count(s[:i], "\n") < 2 {
		return ""
	}
	return strings.TrimRight(s[:i], "\n") + cutMark
}
