package proc

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
)

// HeadTailLines is HeadTail for records of one line each: it never cuts inside
// a line, and what stands for the lines that are left out is a record itself,
// {"type":"left_out","lines":N,"bytes":N}. It needs no more memory than the
// limit, also while the result is made: a flood of output must not count twice.
type HeadTailLines struct {
	mu    sync.Mutex
	half  int
	buf   []byte // head, a gap for the marker, ring
	head  int    // bytes of head: whole lines
	full  bool   // head takes no more; buf has its final size
	ring  int    // bytes in the ring, up to half
	next  int    // where the ring goes on once it has wrapped
	total int64  // bytes, with line ends that were missing
	lines int64
}

// marker is room for the line that counts what is left out.
const marker = 96

// NewHeadTailLines keeps at most limit bytes, half of them from each end.
func NewHeadTailLines(limit int) *HeadTailLines { return &HeadTailLines{half: max(limit, 0) / 2} }

// Write takes one or more lines; a last one without an end gets one. It never
// fails.
func (h *HeadTailLines) Write(p []byte) (int, error) {
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	if p[n-1] != '\n' {
		p = append(bytes.Clone(p), '\n')
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total += int64(len(p))
	h.lines += int64(bytes.Count(p, newline))
	if !h.full && h.head+len(p) <= h.half {
		h.buf = append(h.buf, p...)
		h.head = len(h.buf)
		return n, nil
	}
	if !h.full {
		whole := make([]byte, 2*h.half+marker)
		copy(whole, h.buf)
		h.buf, h.full = whole, true
	}
	if len(p) > h.half {
		p = p[len(p)-h.half:]
	}
	ring := h.buf[h.half+marker:]
	c := copy(ring[h.ring:], p)
	h.ring += c
	for p = p[c:]; len(p) > 0; p = p[c:] {
		c = copy(ring[h.next:], p)
		h.next = (h.next + c) % h.half
	}
	return n, nil
}

var newline = []byte{'\n'}

// Total is the number of bytes written, kept or not.
func (h *HeadTailLines) Total() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// Take ends the recording and returns all of it, or whole lines of the head, a
// line that counts what is missing, and whole lines of the tail. The marker
// comes on top of the limit. Afterwards the writer is as new.
func (h *HeadTailLines) Take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.buf[:h.head]
	if h.full {
		ring := h.buf[h.half+marker : h.half+marker+h.ring]
		rotate(ring, h.next)
		if h.total > int64(h.head+h.ring) {
			// What the ring begins with is the end of a line.
			_, ring, _ = bytes.Cut(ring, newline)
		}
		if missing := h.total - int64(h.head+len(ring)); missing > 0 {
			lines := h.lines - int64(bytes.Count(out, newline)+bytes.Count(ring, newline))
			out = fmt.Appendf(out, "{\"type\":\"left_out\",\"lines\":%d,\"bytes\":%d}\n", lines, missing)
		}
		out = append(out, ring...) // moves it down in place: buf has the room
	}
	h.buf, h.head, h.full, h.ring, h.next, h.total, h.lines = nil, 0, false, 0, 0, 0, 0
	return out
}

// rotate makes s[n] the first byte, without further memory.
func rotate(s []byte, n int) {
	slices.Reverse(s[:n])
	slices.Reverse(s[n:])
	slices.Reverse(s)
}
