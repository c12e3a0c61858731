package notes

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
)

// Text from agents ends up in commit messages, terminals, web pages and the
// prompts of other agents. The functions of this file make it harmless there:
// always valid UTF-8, without control and bidi characters, and without what a
// forge or git itself would act upon.

// Clean returns s as valid UTF-8 without control, format and bidi characters.
// Line feeds and tabs stay, CRLF and CR become line feeds.
func Clean(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || c == 0x7f || c < ' ' && c != '\n' && c != '\t' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	s = stripEscapes(s)
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			b.WriteRune('�') // also one wrong byte: a mark is better than a silent gap
		case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
			b.WriteByte('\n')
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case hidden(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a character changes how its neighbours are shown or is
// not shown itself: C0, C1, bidi controls, zero width characters, tags.
func hidden(r rune) bool {
	if r == '\u200d' || r >= '\ufe00' && r <= '\ufe0f' {
		return false // joiner and variation selectors make emoji
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
}

var escapes = sync.OnceValue(func() *regexp.Regexp {
	// CSI, OSC (ended by BEL or ST), and two-byte sequences.
	return regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
})

func stripEscapes(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return escapes().ReplaceAllString(s, "")
}

// OneLine returns s on one line with single blanks, at most max characters
// long (0 = any), with an ellipsis when it was longer.
func OneLine(s string, max int) string {
	// Nobody needs the rest of a megabyte to see its first hundred characters.
	if max > 0 && len(s) > 64*max+4096 {
		s = s[:64*max+4096]
	}
	s = text.OneLine(Clean(s))
	if max > 0 {
		s = text.Clip(s, max)
	}
	return s
}

var (
	titleRef     = lazyregexp.New(`(#|\bGH-)(\d)`)
	titleMention = lazyregexp.New(`(^|[^0-9A-Za-z_./\x60-])@([0-9A-Za-z])`)
	titleMerge   = lazyregexp.New(`(^|\s)!(\d)`)
	titleSkip    = lazyregexp.New(
		`(?i)[\[(]\s*((?:skip|no)[ ` +
			`-](?:ci|cd|actions|checks|workflows?|pipelines?|travis|appveyor|azurepipelines|cirrus|circleci|vercel|netlify|` +
			`render|deploy|preview|tests?)|(?:ci|cd|actions|azurepipelines|travis|appveyor|circleci|vercel|netlify|render|` +
			`cirrus)[ -]skip|\*\*\*no_ci\*\*\*)\s*[\])]`)
	// A forge closes issues that a commit on its main branch says it fixes.
	closingRef = lazyregexp.New(
		`(?i)(\b(?:close|fix|resolve|implement)(?:s|d|es|ed|ing)?\b:?\s+(?:issue\s+)?)([\w./-]*[#!]|GH-)(\d)`)
	titleNoCI       = lazyregexp.New(`(?i)\*\*\*\s*no_ci\s*\*\*\*`)
	titleAutosquash = lazyregexp.New(`^(fixup|squash|amend)!`)
)

// Title makes s fit for the subject of a commit: one line, at most 72
// characters, and nothing that a forge or a CI system acts upon. References
// (#12, !12, GH-12), mentions (@team), skip marks ([skip ci]) and autosquash
// prefixes are broken but stay readable.
func Title(s string) string {
	return text.Clip(strings.TrimLeft(breakMarks(OneLine(s, 400)), " "), 72)
}

func breakMarks(s string) string {
	s = replace(s, "[(", titleSkip, "$1")
	s = replace(s, "*", titleNoCI, "no_ci")
	s = replace(s, "#-", titleRef, "$1 $2")
	s = replace(s, "!", titleMerge, "$1! $2")
	s = replace(s, "@", titleMention, "$1@ $2")
	return replace(s, "!", titleAutosquash, "$1 !")
}

// replace is ReplaceAllString for an expression of which every match has one of
// these characters. Most texts have none, and that is found out much faster.
func replace(s, chars string, re func() *regexp.Regexp, by string) string {
	if !strings.ContainsAny(s, chars) {
		return s
	}
	return re().ReplaceAllString(s, by)
}

// NarrativeWidth is the longest line of a narrative, in characters; longer
// ones are wrapped at blanks.
const NarrativeWidth = 100

var (
	trailerLine = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*\s*[:=]`)
	dividerLine = sync.OnceValue(func() *regexp.Regexp {
		// git's patch divider, scissors, diff and mbox starts, conflict marks,
		// and comment lines of the usual comment characters.
		return regexp.MustCompile(
			`^(---|diff -|Index: |From |>8|8<|# ?-+ ?>8|[#;]|<<<<<<<|=======|>>>>>>>|\(cherry picked from)`)
	})
)

// Narrative makes s fit for the body of a commit message: cleaned, wrapped, at
// most one empty line in a row, with every line indented that git could take
// for a trailer, a divider, scissors or a comment. It begins and ends without an
// empty line; trimming it further would take the indent off its first line.
func Narrative(s string) string {
	s = replace(Clean(s), "[(", titleSkip, "$1")
	s = replace(s, "*", titleNoCI, "no_ci")
	s = replace(s, "@", titleMention, "$1@ $2")
	s = replace(s, "#!-", closingRef, "$1$2 $3")
	var out []string
	empty := true // drops leading empty lines
	for _, line := range strings.Split(s, "\n") {
		line = strings.TrimRightFunc(strings.ReplaceAll(line, "\t", "    "), unicode.IsSpace)
		if line == "" {
			if !empty {
				out = append(out, "")
			}
			empty = true
			continue
		}
		empty = false
		for _, l := range wrap(line, NarrativeWidth) {
			if trailerLine().MatchString(l) || dividerLine().MatchString(l) {
				l = "  " + l
			}
			out = append(out, l)
		}
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return strings.Join(out, "\n")
}

// wrap breaks a line at blanks. Words longer than the width stay whole, so that
// paths and addresses can be copied. The continuation of an indented line gets
// the same indent.
func wrap(line string, width int) []string {
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if len(indent) > width/2 {
		indent = ""
	}
	var out []string
	cur, n := indent, len(indent)
	for _, word := range strings.Fields(line) {
		w := utf8.RuneCountInString(word)
		if n > len(indent) && n+1+w > width {
			out = append(out, cur)
			cur, n = indent, len(indent)
		}
		if n > len(indent) {
			cur += " "
			n++
		}
		cur += word
		n += w
	}
	return append(out, cur)
}

// CutMarker stands where CutBytes left something out.
const CutMarker = "\n[… cut …]\n"

// CutBytes keeps head and tail of s, together at most max bytes with the
// marker between them. It never splits a character; the result of valid UTF-8
// is valid UTF-8.
func CutBytes(s string, max int) string {
	if len(s) <= max {
		return s
	}
	room := max - len(CutMarker)
	if room <= 0 {
		return text.CutBytes(s, max)
	}
	head := text.CutBytes(s, room*2/3)
	from := len(s) - (room - len(head))
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return head + CutMarker + s[from:]
}
