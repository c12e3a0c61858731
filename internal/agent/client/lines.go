// Package client owns what every driver does with its client's process: it
// reads the output line by line in bounded memory, records the transcript,
// watches the limits of time, ends the process, and says in the loop's words
// how the run ended. It knows no client by name.
package client

import "bytes"

// Lines cuts what is written to it into lines. A line longer than Max is
// handed over cut at Max, with cut true, and the rest of it is dropped, so that
// no output can make it hold more than about twice Max. It is not safe for use
// from several goroutines.
type Lines struct {
	// Max is the longest line in bytes, without its newline; required.
	Max int
	// JSON says that the texts of a line that is too long are shortened first, so that
	// it can still be read. It is then handed over with cut true, otherwise whole.
	JSON bool
	// Line gets each line without its newline. The slice is only valid during
	// the call. Required.
	Line func(line []byte, cut bool)

	buf   []byte
	skip  bool     // the present line has been handed over cut
	texts *shorter // shortens the present line; nil = it is not too long yet
}

// Write never fails.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part, p = p[:i], p[i+1:]
		} else {
			p = nil
		}
		if l.JSON && !l.skip && l.texts == nil && len(l.buf)+len(part) > l.Max {
			l.texts = &shorter{}
			l.buf = l.texts.add(l.buf[:0], l.buf)
		}
		switch {
		case l.skip:
		case l.texts != nil:
			l.buf = l.texts.add(l.buf, part)
			if len(l.buf) > l.Max || i >= 0 {
				l.Line(l.buf[:min(len(l.buf), l.Max)], true)
				l.buf, l.skip, l.texts = nil, true, nil
			}
		case len(l.buf)+len(part) > l.Max:
			if len(l.buf) == 0 {
				l.Line(part[:l.Max], true)
			} else {
				l.Line(append(l.buf, part[:l.Max-len(l.buf)]...), true)
			}
			l.buf, l.skip = nil, true
		case i < 0:
			l.buf = append(l.buf, part...)
		case len(l.buf) == 0:
			l.Line(part, false)
		default:
			l.Line(append(l.buf, part...), false)
		}
		if i >= 0 {
			l.skip = false
			if cap(l.buf) > 64<<10 {
				l.buf = nil // one huge line must not cost memory for the rest of the run
			}
			l.buf = l.buf[:0]
		}
	}
	return n, nil
}

// Close hands over a last line that has no newline.
func (l *Lines) Close() error {
	if len(l.buf) > 0 && !l.skip {
		l.Line(l.buf, l.texts != nil)
	}
	l.buf, l.skip, l.texts = nil, false, nil
	return nil
}

// MaxText is what remains of each text of a line that is too long: more than any
// path, id or name has.
const MaxText = 64 << 10

// shorter copies JSON and leaves out what its texts have beyond MaxText.
type shorter struct {
	inside bool // of a text
	size   int  // of what was kept of it
	escape int  // digits of an escape that are still to come; -1 = its letter
	drop   bool // the rest of the text is left out
}

// add appends what remains of src to dst, which may be its beginning.
func (s *shorter) add(dst, src []byte) []byte {
	for _, b := range src {
		switch {
		case !s.inside:
			if b == '"' {
				*s = shorter{inside: true}
			}
			dst = append(dst, b)
			continue
		case s.escape < 0 && b == 'u':
			s.escape = 4
		case s.escape < 0:
			s.escape = 0
		case s.escape > 0:
			s.escape--
		case b == '"':
			s.inside = false
			dst = append(dst, b)
			continue
		default:
			s.drop = s.drop || s.size >= MaxText
			if b == '\\' {
				s.escape = -1
			}
		}
		if !s.drop {
			dst = append(dst, b)
			s.size++
		}
	}
	return dst
}
