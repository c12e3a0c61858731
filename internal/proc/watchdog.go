package proc

import (
	"fmt"
	"sync"
	"time"
)

// Limit names which limit of a Watchdog ran out.
type Limit string

// The limits of a Watchdog.
const (
	WallLimit Limit = "wall" // the time of the whole run
	IdleLimit Limit = "idle" // the longest silence
)

// Clock tells the time and rings once. Tests give a clock of their own.
type Clock struct {
	// Now is the present time. Required.
	Now func() time.Time
	// AfterFunc calls f once in its own goroutine after d, and returns a
	// function that prevents this. Required.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the clock of the machine.
func SystemClock() Clock {
	return Clock{Now: time.Now, AfterFunc: func(d time.Duration, f func()) func() bool {
		return time.AfterFunc(d, f).Stop
	}}
}

// Watchdog watches one run of a program: its length, and how long it says
// nothing. Silence does not count while the watch is paused, as during a tool
// call of an agent, which may be silent for as long as it takes; the wall
// clock goes on.
type Watchdog struct {
	wall, idle time.Duration
	clock      Clock
	expired    func(Limit, string)

	mu     sync.Mutex
	last   time.Time // of the last sign of life
	pauses int
	fired  bool
	armed  bool // an idle timer is pending
	stops  []func() bool
}

// NewWatchdog starts to watch. When the wall clock or the silence exceeds its
// limit (0 = none), expired is called once, in a goroutine of its own, with a
// detail for people such as "idle 5m0s".
func NewWatchdog(wall, idle time.Duration, clock Clock, expired func(Limit, string)) *Watchdog {
	w := &Watchdog{wall: wall, idle: idle, clock: clock, expired: expired, last: clock.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	if wall > 0 {
		w.stops = append(w.stops, clock.AfterFunc(wall, func() { w.fire(WallLimit, wall) }))
	}
	w.arm(idle)
	return w
}

// Touch is a sign of life. It is cheap: no timer is moved.
func (w *Watchdog) Touch() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = now
}

// Pause stops counting silence until Resume was called as often.
func (w *Watchdog) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses++
}

// Resume ends a Pause; silence is counted from now. One too many is ignored.
func (w *Watchdog) Resume() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses > 0 {
		w.pauses--
	}
	w.last = now
	if !w.armed {
		w.arm(w.idle)
	}
}

// Stop ends the watch: a limit that has not run out by now never does.
func (w *Watchdog) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fired = true
	for _, stop := range w.stops {
		stop()
	}
	w.stops = nil
}

// arm sets the idle timer; w.mu is held.
func (w *Watchdog) arm(d time.Duration) {
	if w.idle <= 0 || w.fired {
		return
	}
	w.armed = true
	stop := w.clock.AfterFunc(d, w.check)
	if w.wall > 0 {
		w.stops = append(w.stops[:1], stop)
	} else {
		w.stops = append(w.stops[:0], stop)
	}
}

// check looks how long the silence has been and sets the timer for the rest.
func (w *Watchdog) check() {
	now := w.clock.Now()
	w.mu.Lock()
	w.armed = false
	if w.fired || w.pauses > 0 { // Resume arms it again
		w.mu.Unlock()
		return
	}
	left := w.idle - now.Sub(w.last)
	if left > 0 {
		w.arm(left)
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	w.fire(IdleLimit, w.idle)
}

func (w *Watchdog) fire(l Limit, d time.Duration) {
	w.mu.Lock()
	if w.fired {
		w.mu.Unlock()
		return
	}
	w.fired = true
	w.mu.Unlock()
	w.expired(l, fmt.Sprintf("%s %s", l, d))
}
