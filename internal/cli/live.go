package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/ui"
	"git-ralph/internal/view"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// wantsView says whether a live view is drawn: on a terminal that can move its
// cursor, for a person who reads text.
func (a *App) wantsView(asJSON bool) bool {
	term := a.getenv("TERM")
	return !asJSON && terminal(a.In) && terminal(a.Out) && term != "" && term != "dumb" && a.getenv("RALPH_VIEW") != "off"
}

// palette are the colours of the view, none where the person wants none.
func (a *App) palette() ui.Palette {
	if !a.colours(a.Out) {
		return ui.Palette{}
	}
	in := func(code string) func(string) string {
		return func(s string) string { return "\x1b[" + code + "m" + s + "\x1b[0m" }
	}
	return ui.Palette{Bold: in("1"), Dim: in("2"), Good: in("32"), Bad: in("33"), Key: in("36")}
}

// openView draws the view and sends every line above it.
func (a *App) openView(set *config.Resolved, detail func(bool)) {
	in, _ := a.In.(*os.File)
	out, _ := view.Behind(a.Out).(*os.File)
	if in == nil || out == nil {
		return
	}
	a.view = ui.Start(ui.Options{In: in, Out: out, Palette: a.palette(), Look: func() ui.Snapshot { return a.look(set) },
		Act: a.act, Detail: detail})
	if d, ok := a.Out.(*view.Display); ok {
		d.Redirect(a.view)
	}
	if d, ok := a.Err.(*view.Display); ok && terminal(d) {
		d.Redirect(a.view)
	}
}

// closeView takes the view away; lines go where they went before.
func (a *App) closeView() {
	if a.view == nil {
		return
	}
	a.view.Close()
	a.view = nil
}

// look reads what the view shows. What cannot be read is left out: the view is
// never in the way of the run.
func (a *App) look(set *config.Resolved) ui.Snapshot {
	snap, err := a.journal.Load(a.Ctx)
	if err != nil {
		return ui.Snapshot{Branch: view.OnLine(a.journal.Branch)}
	}
	s := snap.State
	var told time.Time
	s.Run, told = view.WithSpend(s, a.journal.Repo)
	v := snapshot(s, set, a.journal.Branch)
	v.ContextAt = told
	for _, w := range a.reader().Workers(s) {
		if w.Worker == 0 {
			continue
		}
		shown := ui.Worker{Number: w.Worker, Task: view.OnLine(string(w.Task)), Attempt: w.Attempt, Since: w.Since}
		if i := s.Plan.Find(w.Task); i >= 0 {
			shown.Title = view.OnLine(s.Plan.Tasks[i].Title)
		}
		if w.Activity != nil {
			shown.Does = view.OnLine(notes.Redact(w.Activity.Text))
		}
		v.Workers = append(v.Workers, shown)
	}
	return v
}

// snapshot is the part of a state that the view shows.
func snapshot(s state.State, set *config.Resolved, branch string) ui.Snapshot {
	r, n := s.Run, s.Plan.Counts()
	v := ui.Snapshot{Branch: view.OnLine(branch), Phase: string(r.Phase), Status: string(r.Status), Session: r.Session,
		Iteration: r.Iteration,
		Started:   r.StartedAt, Done: n.Done, Wanted: n.Wanted(), Tokens: r.Tokens.Total(), CostSession: r.Cost.Session,
		CostUnknown: r.Cost.Unknown, ContextPct: r.ContextPct}
	if set != nil {
		v.CostLimit, v.Handoff, v.Hard = int64(set.Limits.SessionUSD), set.Context.HandoffPercent, set.Context.HardPercent
	}
	if c := r.Current; c != nil {
		v.Task, v.Attempt, v.Since, v.Iteration = string(c.Task), c.Attempt, c.Since, c.Iteration
		if v.Task == "" {
			v.Task = string(r.Phase)
		}
		if i := s.Plan.Find(c.Task); i >= 0 {
			v.Title = view.OnLine(s.Plan.Tasks[i].Title)
		}
	}
	if v.Asked = view.Asked(s); v.Asked == "paused" {
		v.Asked = "paused; p goes on"
	}
	if r.WaitUntil != nil {
		v.WaitUntil, v.WaitFor = *r.WaitUntil, view.OnLine(view.WaitFor(r))
	}
	for _, t := range s.Plan.Tasks {
		v.Tasks = append(v.Tasks, ui.Task{ID: view.OnLine(string(t.ID)), Title: view.OnLine(t.Title),
			Status: string(t.Status)})
	}
	if r.SessionDone > 0 && !r.StartedAt.IsZero() {
		end := r.LastAt
		if r.Current != nil {
			end = r.Current.Since
		}
		v.Pace = end.Sub(r.StartedAt) / time.Duration(r.SessionDone)
	}
	return v
}

// act does what a key of the view asks for, as the command of that name does
// from another terminal.
func (a *App) act(what ui.Action, note string) string {
	say := func(text string, err error) string {
		if err != nil {
			return view.OnLine("not done: " + err.Error())
		}
		return text
	}
	text := ""
	record := func(next func(s state.State) (state.Event, error)) string {
		_, err := a.journal.Append(a.Ctx, func(s state.State) (state.Event, error) {
			e, err := next(s)
			e.Via = "live view"
			return e, err
		})
		if errors.Is(err, journal.ErrNothing) {
			err = nil
		}
		return say(text, err)
	}
	switch what {
	case ui.Pause:
		return record(func(s state.State) (state.Event, error) {
			if s.Run.PauseAsked {
				text = "going on"
				return operator(state.Operator{Command: "resume"}), nil
			}
			return operator(state.Operator{Command: "pause"}), nil
		})
	case ui.Stop, ui.StopNow:
		return record(func(s state.State) (state.Event, error) {
			return stopEvent(s, what == ui.StopNow)
		})
	case ui.Skip:
		return record(func(s state.State) (state.Event, error) {
			c := s.Run.Current
			if c == nil && len(s.InWork()) > 0 {
				text = "several tasks are running: git ralph skip ID skips one"
				return state.Event{}, journal.ErrNothing
			}
			if c == nil || c.Task == "" {
				text = "no task is running"
				return state.Event{}, journal.ErrNothing
			}
			text = "skipping " + view.OnLine(string(c.Task))
			return taskEvent([]plan.TaskID{c.Task}, "skip", plan.Skipped, "skipped in the live view")
		})
	case ui.Note:
		text = "the note is added to the next prompt"
		return record(func(state.State) (state.Event, error) { return a.noteEvent(note), nil })
	case ui.Interrupt:
		return say("", interruptSelf())
	}
	return ""
}

// pulse prints a line when a run without a live view has said nothing for a
// while, so that a person sees that it is alive and what it does.
type pulse struct {
	mu   sync.Mutex
	last time.Time // of the newest line
	tool string
	at   time.Time // of the tool call
	stop chan struct{}
}

// pulseEvery is how long a run may be silent.
const pulseEvery = time.Minute

// start looks every so often; line prints.
func (p *pulse) start(look func() ui.Snapshot, line func(string)) {
	p.stop = make(chan struct{})
	p.last = time.Now()
	go func() {
		t := time.NewTicker(pulseEvery / 4)
		defer t.Stop()
		for {
			select {
			case <-p.stop:
				return
			case now := <-t.C:
				if text := p.due(now, look); text != "" {
					line(text)
				}
			}
		}
	}()
}

// due is the line to print at a time, empty when there is none.
func (p *pulse) due(now time.Time, look func() ui.Snapshot) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) < pulseEvery {
		return ""
	}
	p.last = now
	s := look()
	var parts []string
	for _, w := range s.Workers {
		parts = append(parts, fmt.Sprintf("%s for %s", w.Task, ui.Clock(now.Sub(w.Since))))
	}
	switch {
	case len(parts) > 0:
	case s.Task == "":
		return ""
	default:
		parts = append(parts, ui.Clock(now.Sub(s.Since)))
	}
	if len(s.Workers) == 0 && p.tool != "" {
		parts = append(parts, fmt.Sprintf("%s for %s", p.tool, ui.Clock(now.Sub(p.at))))
	}
	if s.Tokens > 0 {
		parts = append(parts, ui.Count(s.Tokens)+" tokens")
	}
	if s.CostSession > 0 {
		parts = append(parts, "$"+view.USD(s.CostSession))
	}
	return "… " + strings.Join(parts, ", ")
}

// heard notes that something was printed, or which tool is at work.
func (p *pulse) heard(now time.Time, printed bool, tool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if printed {
		p.last = now
	}
	p.tool, p.at = tool, now
}

func (p *pulse) end() {
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}

// agentEvent is what the view learns from a line of the loop.
func agentEvent(l session.Live) (ui.Event, bool) {
	e := ui.Event{Time: l.Time, Text: view.OnLine(l.Message), Worker: l.Worker}
	switch l.Event {
	case "iteration_start":
		e.Kind = ui.Began
	case "agent":
		e.Kind = ui.Said
		data, _ := l.Data.(map[string]string)
		e.Agent = view.OnLine(data["agent"])
		switch {
		case data["tool"] != "":
			e.Kind = ui.Tool
		case data["done"] != "" && e.Agent != "":
			e.Kind = ui.Done
		}
	case "check":
		e.Kind = ui.Check
	case "iteration_end", "end":
		e.Kind = ui.Ended
	default:
		return e, false
	}
	return e, true
}
