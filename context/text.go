package agentctx

import (
	"strings"
	"unicode/utf8"
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
		if s := strings.TrimSpace(text(item)); s != "" {
			b.WriteString("- " + s + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// indent puts the further lines of an item under its first.
func indent(s string) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}

// code quotes a command so that back-ticks in it do not end the quotation.
func code(s string) string {
	s = strings.TrimSpace(s)
	if strings.Contains(s, "\n") {
		return "\n\n  ```sh\n  " + indent(s) + "\n  ```"
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

// demote lowers the headings of a text that is put inside a section by two
// levels (by one when they start at the second), so that no line of it can be
// taken for a section of the prompt. Fenced code is left alone.
func demote(s string) string {
	if !strings.HasPrefix(s, "#") && !strings.Contains(s, "\n#") {
		return s
	}
	lines := strings.Split(s, "\n")
	fenced := false
	for i, l := range lines {
		t := strings.TrimLeft(l, " ")
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
		}
		if fenced || !strings.HasPrefix(l, "#") {
			continue
		}
		n := len(l) - len(strings.TrimLeft(l, "#"))
		if n <= 6 && (len(l) == n || l[n] == ' ' || l[n] == '\t') {
			lines[i] = strings.Repeat("#", min(max(n+2, 4), 6)) + l[n:]
		}
	}
	return strings.Join(lines, "\n")
}

// cutMark ends a text that was cut.
const cutMark = "\n[… cut …]"

// cutText keeps the beginning of s, at most n bytes with the mark, at the end
// of a line where one is near.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	room := n - len(cutMark)
	if room <= 0 {
		return cutRune(s, n)
	}
	s = cutRune(s, room)
	if i := strings.LastIndexByte(s, '\n'); i > len(s)*3/4 {
		s = s[:i]
	}
	return strings.TrimRight(s, " \n") + cutMark
}

func cutRune(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cutLines keeps whole lines of s in at most n bytes with the mark; empty when
// less than a title and one line fit.
func cutLines(s string, n int) string {
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
