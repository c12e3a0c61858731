package proc

import (
	"fmt"
	"sync"
)

// HeadTail is a writer that keeps the beginning and the end of what it gets,
// counts all of it, and needs the same memory for a kilobyte and a terabyte.
type HeadTail struct {
	mu    sync.Mutex
	max   int
	head  []byte
	ring  []byte // the last len(ring) bytes after head; grows up to its capacity
	next  int    // where the ring continues once it is full
	total int64
}

// NewHeadTail keeps at most limit bytes of output, half of them from each end.
func NewHeadTail(limit int) *HeadTail {
	return &HeadTail{max: max(limit, 0)}
}

// Write never fails.
func (h *HeadTail) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(p)
	h.total += int64(n)
	if room := h.max - h.max/2 - len(h.head); room > 0 {
		take := min(room, len(p))
		h.head = append(h.head, p[:take]...)
		p = p[take:]
	}
	size := h.max / 2
	if size == 0 {
		return n, nil
	}
	if len(p) > size {
		p = p[len(p)-size:]
	}
	if room := size - len(h.ring); room > 0 {
		take := min(room, len(p))
		h.ring = append(h.ring, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		c := copy(h.ring[h.next:], p)
		h.next = (h.next + c) % size
		p = p[c:]
	}
	return n, nil
}

// Total is the number of bytes written, kept or not.
func (h *HeadTail) Total() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

// Cut says whether something was left out.
func (h *HeadTail) Cut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total > int64(len(h.head)+len(h.ring))
}

// Bytes is all of it, or head, a line that counts what is missing, and tail.
// The marker comes on top of the limit.
func (h *HeadTail) Bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := append(make([]byte, 0, len(h.head)+len(h.ring)+64), h.head...)
	if missing := h.total - int64(len(h.head)+len(h.ring)); missing > 0 {
		out = fmt.Appendf(out, "\n[… %d bytes left out …]\n", missing)
	}
	out = append(out, h.ring[h.next:]...)
	return append(out, h.ring[:h.next]...)
}

// String is Bytes as text.
func (h *HeadTail) String() string { return string(h.Bytes()) }
