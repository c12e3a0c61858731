package cli

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"git-ralph/internal/ui"
)

// getenv looks a variable up in the environment of the command.
func (a *App) getenv(name string) string {
	value := ""
	for _, kv := range a.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// terminal says whether w is one.
func terminal(w any) bool {
	if d, ok := w.(*display); ok {
		w = d.w
	}
	if t, ok := w.(interface{ Terminal() bool }); ok {
		return t.Terminal()
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	// Standard output has its own name whatever lies behind it.
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}

// colour wraps text in an SGR sequence when w wants colours.
func (a *App) colour(w io.Writer, code, text string) string {
	if text == "" || code == "0" || !a.colours(w) {
		return text
	}
	return styled(w, "\x1b["+code+"m") + text + styled(w, "\x1b[0m")
}

// columns is how wide the terminal is that w leads to; 0 where there is none.
func columns(w io.Writer) int {
	switch w := behind(w).(type) {
	case *pageWriter:
		return w.columns
	case *os.File:
		if terminal(w) {
			return ui.Columns(w)
		}
	}
	return 0
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

// table prints rows with aligned columns; the last column is not padded. On a
// terminal that is too narrow the widest columns are cut.
func table(w io.Writer, rows [][]string) {
	var width []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], visible(c))
		}
	}
	width = narrowed(width, columns(w))
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
	io.WriteString(w, all.String())
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

func sortedStrings(s []string) []string { sort.Strings(s); return s }

// ago is a time as people say it.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// brief is called by commands that read, print and end: with a plan of a
// thousand tasks the collections that the default makes them take are a third
// of their time. The memory that it costs is a few dozen megabytes.
func brief() { debug.SetGCPercent(400) }
