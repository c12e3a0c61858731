package cli

import (
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/internal/livefeed"
	"git-ralph/internal/view"
	"git-ralph/loop/session"
)

// WatchCmd is `git ralph watch`.
type WatchCmd struct {
	Number int  `short:"n" default:"10" placeholder:"N" help:"Begin with the last N entries."`
	JSON   bool `name:"json" help:"Print entries as lines of JSON, as git ralph log does."`

	lines *watchLines
}

// watchLines is how lines are printed.
type watchLines struct {
	sync.Mutex             // held meanwhile
	detail     atomic.Bool // what the agent says and calls is printed
}

// Help says more.
func (WatchCmd) Help() string {
	return "The live view of a run, from another terminal: what is done now, and each entry of the journal as it " +
		"comes. The keys steer the run as the commands of the same names do; d, or -v, prints what the agent says and " +
		"calls. It survives the end of the run and shows the next one; q ends it. Where there is no terminal, lines alone " +
		"are printed."
}

// watchEvery is how often the journal is looked at.
const watchEvery = 500 * time.Millisecond

// Run shows a run until the person leaves.
func (c *WatchCmd) Run(a *App) error {
	c.lines = &watchLines{}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	if err := j.Readable(a.Ctx); errors.Is(err, journal.ErrNone) {
		return a.noJournalHere(j)
	} else if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(a.Ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	set, err := a.Settings(nil, nil)
	if err != nil {
		a.warn("the limits are not shown: %v", err)
		set = nil
	}
	var left <-chan struct{}
	if a.wantsView(c.JSON) {
		a.openView(set, c.lines.detail.Store)
		defer a.closeView()
		left = a.view.Done()
	}
	c.lines.detail.Store(a.Verbose > 0)
	seen, err := c.entries(a, object.ID{})
	if err != nil {
		return err
	}
	if !c.JSON {
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			a.hear(ctx, func(l livefeed.Line) { c.heard(a, l) })
		}()
		defer func() { cancel(); <-heard }()
	}
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-left:
			return nil
		case <-t.C:
		}
		tip, err := j.Tip(ctx)
		if err != nil || tip.IsZero() {
			continue // it is being moved, or was taken away; the next look says
		}
		if tip != seen {
			if seen, err = c.entries(a, seen); err != nil {
				return err
			}
		}
	}
}

// heard shows what the agent at work says and does.
func (c *WatchCmd) heard(a *App, l livefeed.Line) {
	e, ok := agentEvent(session.Live{Time: l.Time, Event: l.Event, Iteration: l.Iteration, Task: l.Task, Worker: l.Worker,
		Message: l.Message, Data: l.Data})
	if ok && a.view != nil {
		a.view.Event(e)
	}
	c.lines.Lock()
	defer c.lines.Unlock()
	switch {
	case l.Event == "check":
		a.printf("  check %s\n", l.Message)
		if tail := l.Data["tail"]; tail != "" {
			a.printer().Indented(tail, "      ")
		}
	case l.Event == "agent" && (c.lines.detail.Load() || l.Data["denied"] != ""):
		a.printf("  %s\n", a.colour(a.Out, "2", view.OnLine(l.Message)))
	}
}

// entries prints what came after an entry, oldest first, and gives back the
// newest. After none, and where history was rewritten, these are the last ones.
func (c *WatchCmd) entries(a *App, after object.ID) (object.ID, error) {
	var list []journal.Entry
	newest := after
	err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if len(list) == 0 {
			newest = e.ID
		}
		if e.ID == after || after.IsZero() && len(list) == c.Number {
			return false, nil
		}
		list = append(list, e)
		return len(list) < 1000, nil
	})
	if err != nil {
		return after, err
	}
	c.lines.Lock()
	defer c.lines.Unlock()
	out := a.printer()
	for i := len(list) - 1; i >= 0; i-- {
		if c.JSON {
			if err := a.printLine(view.Describe(list[i])); err != nil {
				return after, err
			}
			continue
		}
		a.printf("%s\n", strings.TrimRight(strings.Join(out.LogRow(list[i]), "  "), " "))
	}
	return newest, nil
}
