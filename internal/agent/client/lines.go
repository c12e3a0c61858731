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
	// Line gets each line without its newline. The slice is only valid during
	// the call. Required.
	Line func(line []byte, cut bool)

	buf  []byte
	skip bool // the present line has been handed over cut
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
		switch {
		case l.skip:
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
		l.Line(l.buf, false)
	}
	l.buf, l.skip = nil, false
	return nil
}
