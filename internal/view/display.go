package view

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Display is the edge at which text leaves for people and programs. Titles,
// names of files, reasons and journals may come from agents and strangers: what
// would move the cursor, set a title, hide or reorder text is written as an
// escape, wherever it came from. Only what Styled marks passes as it is.
type Display struct {
	w    io.Writer
	json bool   // escapes are those of JSON, where such characters stand in strings only
	rest []byte // of a character that the next write completes

	failed error // the first of writing
}

// styleKey is unknown to whoever wrote the text, so that nobody else can mark a
// sequence.
var styleKey = sync.OnceValue(func() string { return "\x1b" + rand.Text() })

// Styled marks one of our control sequences for a Display. w is where it will
// be written to; any other writer gets it as it is.
func Styled(w io.Writer, sequence string) string {
	if _, ok := w.(*Display); !ok {
		return sequence
	}
	return styleKey() + string(rune(len(sequence))) + sequence
}

// cutStyle splits a marked sequence from the beginning of s.
func cutStyle(s string) (sequence, rest string, ok bool) {
	rest, ok = strings.CutPrefix(s, styleKey())
	if !ok || rest == "" || len(rest) <= int(rest[0]) {
		return "", s, false
	}
	n := 1 + int(rest[0])
	return rest[1:n], rest[n:], true
}

// Behind is the writer that a Display writes to.
func Behind(w io.Writer) io.Writer {
	if d, ok := w.(*Display); ok {
		return d.w
	}
	return w
}

// Format is what is written to a display.
type Format bool

// The values of Format.
const (
	JSON Format = true
	Text Format = false
)

// Through is w with a Display in front of it.
func Through(w io.Writer, json Format) io.Writer {
	if _, ok := w.(*Display); ok || w == nil {
		return w
	}
	return &Display{w: w, json: bool(json)}
}

// Redirect makes a Display write to another writer from now on.
func (d *Display) Redirect(w io.Writer) { d.w = w }

// OnLine is text as a terminal may show it, on one line.
func OnLine(s string) string {
	return (&Display{}).escaped(strings.Join(strings.Fields(s), " "))
}

// Write implements io.Writer.
func (d *Display) Write(b []byte) (int, error) {
	n := len(b)
	if len(d.rest) > 0 {
		b = append(d.rest, b...)
		d.rest = nil
	}
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-back:]) {
				d.rest = append(d.rest, b[len(b)-back:]...)
				b = b[:len(b)-back]
			}
			break
		}
	}
	text := string(b)
	if strings.IndexFunc(text, disturbs) >= 0 || !utf8.ValidString(text) {
		text = d.escaped(text)
	}
	if len(text) == 0 {
		return n, nil
	}
	if _, err := io.WriteString(d.w, text); err != nil {
		if d.failed == nil {
			d.failed = err
		}
		return 0, err
	}
	return n, nil
}

// Failed is the first error of writing to w, nil = all of it was written, or w is no Display.
func Failed(w io.Writer) error {
	if d, ok := w.(*Display); ok {
		return d.failed
	}
	return nil
}

func (d *Display) escaped(s string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if r == '\x1b' {
			if sequence, rest, ok := cutStyle(s); ok {
				b.WriteString(sequence)
				s = rest
				continue
			}
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !disturbs(r):
			b.WriteString(s[:size])
		case d.json && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case d.json || r >= utf8.RuneSelf:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\x%02x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// disturbs says whether a character does something to a terminal or to the text
// around it, or cannot be seen: controls, bidi and other format characters,
// separators of lines. The joiner of emoji stays.
func disturbs(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t', r == '\u200d':
		return false
	case r < utf8.RuneSelf:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u115f' || r == '\u1160' ||
		r == '\u3164' || r == '\uffa0'
}
