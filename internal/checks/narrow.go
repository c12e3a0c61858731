package checks

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"git-ralph/internal/text/lazyregexp"
)

// narrowLine is the longest line of a narrowed text, in characters: a minified
// bundle or a JSON dump must not push the message out.
const narrowLine = 200

// tailShare is the part of a narrowed text that the end of the output takes
// before anything else.
const tailShare = 0.4

// telling finds the lines that say what went wrong, in the words of common test
// runners, compilers and linters.
var telling = lazyregexp.New(`(?i)\b(fail(ed|ure|ures|ing)?|errors?|panic(ked)?|assert\w*|exception|expected|` +
	`received|actual|want(ed)?|got|undefined|undeclared|cannot|unresolved|not found|no such|not ok|denied|mismatch|` +
	`segfault|timed? ?out|abort(ed)?|fatal)\b|^E  |[✕✗✖×●]|\w(Error|Exception)\b|:\d+:\d+: `)

// noise are lines that match telling and say nothing: counts of zero and the
// names of passing tests.
var noise = lazyregexp.New(
	`(?i)\b(0|no) (failed|failures?|errors?|failing)\b|\.\.\. ok$|^\s*(✓|✔|--- PASS|=== (RUN|PAUSE|CONT)|ok )|\bPASSED\b`)

// Narrow is the part of a check's output that helps the next attempt, at most
// chars characters: the end of it, and the lines that name a failure with
// the line after each. Escape sequences, overwritten progress lines
// and empty lines are gone; a gap between chosen lines is shown as `…`. It is
// a pure function of its arguments.
func Narrow(output []byte, chars int) string {
	if chars <= 0 {
		return ""
	}
	lines := cleanLines(output)
	if whole := strings.Join(lines, "\n"); utf8.RuneCountInString(whole) <= chars {
		return whole
	}
	for i, l := range lines {
		lines[i] = cutLine(l, min(narrowLine, chars))
	}
	chosen := make([]bool, len(lines))
	room := chars
	take := func(i int) bool {
		if i < 0 || i >= len(lines) || chosen[i] {
			return true
		}
		// +3: the newline and, at worst, a gap mark on a line of its own.
		n := utf8.RuneCountInString(lines[i]) + 3
		if n > room {
			return false
		}
		chosen[i], room = true, room-n
		return true
	}
	// The end is the runner's own summary: pytest, go test and jest name there
	// what failed. It has its share; the first failures come next, because later
	// ones often follow from them.
	for i := len(lines) - 1; chars-room < int(tailShare*float64(chars)); i-- {
		if i < 0 || !take(i) {
			break
		}
	}
	for i, l := range lines {
		if !telling().MatchString(l) || noise().MatchString(l) {
			continue
		}
		if !take(i) {
			break
		}
		if !take(i + 1) {
			break
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if !take(i) {
			break
		}
	}
	var b strings.Builder
	gap := false
	for i, l := range lines {
		if !chosen[i] {
			gap = true
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if gap && b.Len() > 0 {
			b.WriteString("…\n")
		}
		gap = false
		b.WriteString(l)
	}
	return cutLine(b.String(), chars)
}

// Tail is the last n lines of an output, as a person sees them on a terminal.
func Tail(output []byte, n int) []string {
	lines := cleanLines(output)
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = cutLine(l, narrowLine)
	}
	return lines
}

// cleanLines are the lines that a person sees on a terminal, without empty ones.
func cleanLines(output []byte) []string {
	text := StripEscapes(strings.ToValidUTF8(string(output), "\uFFFD"))
	var lines []string
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n \t")
		if i := strings.LastIndexByte(l, '\r'); i >= 0 {
			l = l[i+1:] // progress lines overwrite themselves
		}
		l = strings.Map(func(r rune) rune {
			switch {
			case r == '\t':
				return ' '
			case unicode.IsControl(r), r == '\u202a', r == '\u202b', r == '\u202d', r == '\u202e', r == '\u2066',
				r == '\u2067', r == '\u2068':
				return -1
			}
			return r
		}, l)
		if strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

var escapes = sync.OnceValue(func() *regexp.Regexp {
	// CSI, OSC (ended by BEL or ST), DCS/PM/APC/SOS strings, two-byte escapes,
	// and the one-byte form of CSI.
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\|$)|" +
		"\x1b[PX^_][^\x1b]*(\x1b\\\\|$)|\x1b[ -/]*[0-~]|\u009b[0-?]*[ -/]*[@-~]|\x1b$")
})

// StripEscapes removes terminal escape sequences from valid UTF-8 text.
func StripEscapes(text string) string {
	if !strings.ContainsAny(text, "\x1b\u009b") {
		return text
	}
	return escapes().ReplaceAllString(text, "")
}

// cutLine keeps head and tail of a line that is longer than n characters.
func cutLine(l string, n int) string {
	if utf8.RuneCountInString(l) <= n {
		return l
	}
	r := []rune(l)
	if n < 8 {
		return string(r[:n])
	}
	head := n * 2 / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-head-1):])
}

// Failures is the failure context of the next attempt: one paragraph for each
// result that did not pass and is not merely already red, its output narrowed
// to chars characters.
func Failures(results []Result, chars int) string {
	var b strings.Builder
	for _, r := range results {
		if r.Passed || r.AlreadyRed || r.Hidden && strings.Contains(b.String(), hiddenFailed) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		if r.Hidden {
			b.WriteString(hiddenFailed)
			continue
		}
		fmt.Fprintf(&b, "%s `%s`", r.Kind, r.Command)
		if r.Name != r.Command && r.Name != string(r.Kind) {
			fmt.Fprintf(&b, " (%s)", r.Name)
		}
		b.WriteString(": ")
		switch {
		case r.TimedOut:
			fmt.Fprintf(&b, "timeout after %d ms", r.DurationMs)
		case r.Problem != "":
			b.WriteString(r.Problem)
		case r.Limit != "":
			fmt.Fprintf(&b, "it was ended because it took too much: limit: %s", r.Limit)
		case r.NoTests:
			b.WriteString("it succeeded, but " + noTestRan +
				": none is there (any more), the filter of the command matches none, or the runner was ended early")
		default:
			fmt.Fprintf(&b, "exit code %d", r.ExitCode)
		}
		if out := Narrow(r.Output, chars); out != "" {
			b.WriteString("\n" + out)
		}
	}
	return b.String()
}
