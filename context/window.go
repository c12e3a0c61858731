package agentctx

// Window follows how full a session's context window is, from the client's own
// figures. The zero value with Capacity set is ready; a client that reports
// nothing is never asked to hand over.
type Window struct {
	Capacity int64 // tokens; from settings until the client says
	Ask      int   // percent at which a handoff is asked for; 0 = 60
	Hard     int   // percent at which the session is ended; 0 = 80

	used, peak int64
}

// Observe takes the present use of the window and, when the client says it,
// its capacity. Zeros mean: not reported.
func (w *Window) Observe(used, capacity int64) {
	if capacity > 0 {
		w.Capacity = capacity
	}
	if used > 0 {
		w.used = used
		w.peak = max(w.peak, used)
	}
}

// Reset begins a fresh session; the peak stays.
func (w *Window) Reset() { w.used = 0 }

// Used is the present use, in tokens; 0 = unknown.
func (w *Window) Used() int64 { return w.used }

// Percent is the present use, rounded down; 0 = unknown.
func (w *Window) Percent() int { return w.percent(w.used) }

// Peak is the largest use of all sessions so far, in percent.
func (w *Window) Peak() int { return w.percent(w.peak) }

func (w *Window) percent(n int64) int {
	if w.Capacity <= 0 || n <= 0 {
		return 0
	}
	return int(n * 100 / w.Capacity)
}

// WindowState is what the loop does about a window.
type WindowState int

// The states of a window.
const (
	WindowFine WindowState = iota
	WindowAsk              // ask for a handoff, go on in a fresh session
	WindowHard             // end the session without asking
)

// State compares the present use with the limits.
func (w *Window) State() WindowState {
	switch p := w.Percent(); {
	case p >= first(w.Hard, 80):
		return WindowHard
	case p >= first(w.Ask, 60):
		return WindowAsk
	}
	return WindowFine
}
