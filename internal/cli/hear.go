package cli

import (
	"context"
	"sync/atomic"
	"time"

	"git-ralph/internal/livefeed"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// hear reports what the agent at work says and does, until the context ends. It
// reads the loop's socket or, without one (the loop belongs to another user or
// machine), the figures beside the locks.
func (a *App) hear(ctx context.Context, f func(livefeed.Line)) {
	var connected atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		livefeed.Listen(ctx, a.getenv("XDG_RUNTIME_DIR"), a.repo.CommonDir, a.journal.Branch, connected.Store, f)
	}()
	var before session.Doing
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			<-done
			return
		case <-t.C:
		}
		if connected.Load() {
			continue
		}
		snap, err := a.journal.Load(ctx)
		if err != nil || snap.State.Run.Current == nil {
			if before != (session.Doing{}) {
				before = session.Doing{}
				f(livefeed.Line{Time: time.Now().UTC(), Event: "iteration_end"})
			}
			continue
		}
		c := snap.State.Run.Current
		now, ok := session.ReadSpend(a.journal.Repo, c.EventID)
		if !ok || now.Doing == nil || *now.Doing == before {
			continue
		}
		before = *now.Doing
		l := livefeed.Line{Time: before.Since, Event: "agent", Iteration: c.Iteration, Task: c.Task,
			Message: notes.Redact(before.Text)}
		if before.Tool {
			l.Data = map[string]string{"tool": before.Text}
		}
		f(l)
	}
}
