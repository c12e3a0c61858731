package client

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Watch knows when a run has been silent or running for too long. Silence
// counts only while no tool call of the client is open: a build that takes an
// hour is the client's work, not a hang. Its methods may be called from several
// goroutines.
type Watch struct {
	wall, idle time.Duration
	busy       func() int
	now        func() time.Time

	mu    sync.Mutex
	begin time.Time
	last  time.Time
	open  map[string]bool
}

// NewWatch starts the clock. wall and idle may be 0 for no limit; busy counts
// tool calls that the harness executes outside the client's own stream and may
// be nil; now is the clock.
func NewWatch(wall, idle time.Duration, busy func() int, now func() time.Time) *Watch {
	t := now()
	return &Watch{wall: wall, idle: idle, busy: busy, now: now, begin: t, last: t, open: map[string]bool{}}
}

// Touch says that the client made a sound.
func (w *Watch) Touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.now()
}

// maxOpen bounds what a client that opens calls and never closes them costs.
const maxOpen = 10_000

// Open says that the tool call id has begun, Close that it has ended. Ids that
// are not known are fine: the client's word is not trusted.
func (w *Watch) Open(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.now()
	if len(w.open) < maxOpen {
		w.open[id] = true
	}
}

// Close is the counterpart of Open.
func (w *Watch) Close(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.now()
	delete(w.open, id)
}

// CloseAll forgets open calls: a client whose turn is over has none.
func (w *Watch) CloseAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = w.now()
	clear(w.open)
}

// Due says which limit is crossed ("idle 5m", "wall 20m"), or "" and how long
// nothing can be due. wait is 0 when there is no limit at all.
func (w *Watch) Due() (why string, wait time.Duration) {
	// Asked without the lock: it belongs to somebody else.
	waiting := w.busy != nil && w.busy() > 0
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if waiting || len(w.open) > 0 {
		w.last = now // silence begins when the call is over
	}
	if w.wall > 0 {
		left := w.wall - now.Sub(w.begin)
		if left <= 0 {
			return "wall " + Span(w.wall), 0
		}
		wait = left
	}
	if w.idle > 0 {
		left := w.idle - now.Sub(w.last)
		if left <= 0 {
			return "idle " + Span(w.idle), 0
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return "", wait
}

// Wait blocks until a limit is crossed and names it, or returns "" when ctx ends.
func (w *Watch) Wait(ctx context.Context) string {
	for {
		why, wait := w.Due()
		if why != "" {
			return why
		}
		if wait == 0 {
			<-ctx.Done()
			return ""
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return ""
		case <-t.C:
		}
	}
}

// Span writes a duration as a person would: "5m", "1h30m", "90ms".
func Span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
