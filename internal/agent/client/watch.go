package client

import (
	"strings"
	"sync"
	"time"

	"git-ralph/internal/proc"
)

// Watch knows when a run has been silent or running for too long. Silence
// counts only while no tool call of the client is open: a build that takes an
// hour is the client's work, not a hang. Its methods may be called from several
// goroutines.
type Watch struct {
	idle  time.Duration
	busy  func() int
	clock proc.Clock
	late  chan string

	mu      sync.Mutex
	wall    *proc.Watchdog
	silence *proc.Watchdog
	open    map[string]bool
	stopped bool
}

// NewWatch starts the clock. wall and idle may be 0 for no limit. busy counts
// tool calls that the harness executes outside the client's own stream; it is
// asked when the silence has lasted too long, and may be nil.
func NewWatch(wall, idle time.Duration, busy func() int, clock proc.Clock) *Watch {
	w := &Watch{idle: idle, busy: busy, clock: clock, late: make(chan string, 2), open: map[string]bool{}}
	w.wall = proc.NewWatchdog(wall, 0, clock, func(proc.Limit, string) { w.late <- "wall " + Span(wall) })
	w.listen()
	return w
}

// listen begins to count silence; w.mu is held, or nobody else has w yet.
func (w *Watch) listen() {
	w.silence = proc.NewWatchdog(0, w.idle, w.clock, func(proc.Limit, string) { w.silent() })
	for range w.open {
		w.silence.Pause()
	}
}

func (w *Watch) silent() {
	waiting := w.busy != nil && w.busy() > 0 // asked without the lock: it belongs to somebody else
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stopped:
	case waiting || len(w.open) > 0:
		w.listen()
	default:
		w.late <- "idle " + Span(w.idle)
	}
}

// Late gets the limit that was crossed: "idle 5m", "wall 20m".
func (w *Watch) Late() <-chan string { return w.late }

// Stop ends the watch.
func (w *Watch) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.wall.Stop()
	w.silence.Stop()
}

// Touch says that the client made a sound.
func (w *Watch) Touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence.Touch()
}

// HeardLines are lines whose bytes are a sign of life. Bytes count, not lines: a
// client streams, and a progress bar never ends its line.
type HeardLines struct {
	Lines
	Watch *Watch
}

func (h *HeardLines) Write(p []byte) (int, error) {
	h.Watch.Touch()
	return h.Lines.Write(p)
}

// maxOpen bounds what a client that opens calls and never closes them costs.
const maxOpen = 10_000

// Open says that the tool call id has begun. One that is open is not opened
// twice: the client's word is not trusted.
func (w *Watch) Open(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence.Touch()
	if !w.open[id] && len(w.open) < maxOpen {
		w.open[id] = true
		w.silence.Pause()
	}
}

// Close says that the tool call id has ended.
func (w *Watch) Close(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence.Touch()
	if w.open[id] {
		delete(w.open, id)
		w.silence.Resume()
	}
}

// CloseAll says that no call is open: the client's turn is over.
func (w *Watch) CloseAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence.Touch()
	for id := range w.open {
		delete(w.open, id)
		w.silence.Resume()
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
