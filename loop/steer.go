package loop

import (
	"context"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
)

// lookEvery is how often the journal is looked at for what a person asks.
const lookEvery = 200 * time.Millisecond

// stoppable ends the context, with the cause ErrStopNow, when a person asks the
// present session to stop at once, whatever is being done then.
func (l *Loop) stoppable(ctx context.Context) (context.Context, func()) {
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		asks := l.asks(func(s state.State) bool { return s.Run.StopNow && s.Run.StopAsked == s.Run.Session })
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				// After a failed read try again; the run itself reports the error.
				if asked, err := asks.now(ctx); err == nil && asked {
					stop(session.ErrStopNow)
				}
			}
		}
	}()
	return ctx, func() { stop(nil); <-ended }
}

// asks watches for requests of the user while the loop waits for something else.
func (l *Loop) asks(wants func(state.State) bool) *requests { return &requests{l: l, wants: wants} }

// requests is such a watch. The first read also sees earlier requests.
type requests struct {
	l     *Loop
	wants func(state.State) bool
	tip   object.ID // that was seen last
}

// now reports whether something new was asked for that is wanted.
func (a *requests) now(ctx context.Context) (bool, error) {
	tip, err := a.l.Journal.Tip(ctx)
	if err != nil || tip == a.tip {
		return false, err
	}
	s, err := a.l.load()
	if err != nil {
		return false, err
	}
	a.tip = tip
	return a.wants(s), nil
}

// during runs f and ends it early when a person asks for something.
func (a *requests) during(ctx context.Context, f func(context.Context)) (asked bool, err error) {
	if asked, err = a.now(ctx); asked || err != nil {
		return asked, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	for {
		select {
		case <-done:
			return false, nil
		case <-a.l.tick(ctx):
			if ctx.Err() != nil {
				return false, nil
			}
			if asked, err = a.now(ctx); asked || err != nil {
				return asked, err
			}
		}
	}
}

// holdsUp reports whether a person asked the run to stop or to pause.
func holdsUp(s state.State) bool { return s.Run.StopAsked > 0 || s.Run.PauseAsked }
