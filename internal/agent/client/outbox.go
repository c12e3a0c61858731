package client

import (
	"encoding/json"
	"io"
	"sync"
)

// Outbox writes lines to the client from a goroutine of its own, so that a
// client which does not read cannot stop us from reading it. After Close it
// writes what it has and closes the pipe.
type Outbox struct {
	mu     sync.Mutex
	wake   *sync.Cond
	queue  [][]byte
	size   int
	closed bool
	done   chan struct{}
}

// maxQueued is how much may wait for a client that does not read: 64 MiB. More
// is dropped; for the client the verdict then never came.
const maxQueued = 64 << 20

// NewOutbox writes to w until Close, and then closes it.
func NewOutbox(w io.WriteCloser) *Outbox {
	o := &Outbox{done: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.run(w)
	return o
}

func (o *Outbox) run(w io.WriteCloser) {
	defer close(o.done)
	defer w.Close()
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.wake.Wait()
		}
		if len(o.queue) == 0 {
			o.mu.Unlock()
			return
		}
		next := o.queue[0]
		o.queue = o.queue[1:]
		o.size -= len(next)
		o.mu.Unlock()
		if _, err := w.Write(next); err != nil { // the client is gone; its end says why
			o.Close()
			return
		}
	}
}

// Send queues one JSON line; it is false when the line cannot go any more.
func (o *Outbox) Send(v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		return false
	}
	b = append(b, '\n')
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.size+len(b) > maxQueued {
		return false
	}
	o.queue = append(o.queue, b)
	o.size += len(b)
	o.wake.Signal()
	return true
}

// Done is closed when everything is written, or cannot be, and w is closed.
func (o *Outbox) Done() <-chan struct{} { return o.done }

// Close ends the input after what is queued.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
}
