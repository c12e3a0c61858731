package worktree

import (
	"bytes"
	"io"
)

// lineEnds counts line ends.
type lineEnds struct {
	crlf, lf int64 // lf: those without a carriage return
	last     byte
}

func (l *lineEnds) Write(p []byte) (int, error) {
	for i := 0; ; {
		k := bytes.IndexByte(p[i:], '\n')
		if k < 0 {
			break
		}
		i += k
		prev := l.last
		if i > 0 {
			prev = p[i-1]
		}
		if prev == '\r' {
			l.crlf++
		} else {
			l.lf++
		}
		i++
	}
	if len(p) > 0 {
		l.last = p[len(p)-1]
	}
	return len(p), nil
}

// toLF turns CRLF into LF; the input has no LF without a CR before it.
type toLF struct {
	w  io.Writer
	cr bool // a CR that may belong to a CRLF
}

func (t *toLF) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+1)
	for _, b := range p {
		if t.cr && b != '\n' {
			out = append(out, '\r')
		}
		t.cr = b == '\r'
		if !t.cr {
			out = append(out, b)
		}
	}
	_, err := t.w.Write(out)
	return len(p), err
}
