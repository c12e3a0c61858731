package claude

import (
	"encoding/json"
	"io"
	"sync"
)

// outbox writes lines to the client from a goroutine of its own, so that a
// client which does not read cannot stop us from reading it. After Close it
// writes what it has and closes the pipe.
type outbox struct {
	mu     sync.Mutex
	wake   *sync.Cond
	queue  [][]byte
	size   int
	closed bool
	done   chan struct{}
}

// maxQueued is how much may wait for a client that does not read: 64 MiB. What
// comes then is dropped, which the client takes for a verdict that never came.
const maxQueued = 64 << 20

func newOutbox(w io.WriteCloser) *outbox {
	o := &outbox{done: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.run(w)
	return o
}

func (o *outbox) run(w io.WriteCloser) {
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

// send queues one JSON line; it is false when the line cannot go any more.
func (o *outbox) send(v any) bool {
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

// Close ends the input after what is queued.
func (o *outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
}
