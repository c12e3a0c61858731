package loop

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// amend judges the amendments that the newest handoff proposed and records each
// as an event. After a crash the next start judges the rest.
func (l *Loop) amend() error {
	for {
		s, err := l.load()
		if err != nil || len(s.Run.Pending)+len(s.Run.Proposed) == 0 {
			return err
		}
		var e state.Event
		_, err = l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
			if len(s.Run.Pending)+len(s.Run.Proposed) == 0 {
				return e, journal.ErrNothing // another worker was quicker
			}
			e = amendment(s, l.Settings.Critic)
			return e, nil
		})
		if errors.Is(err, journal.ErrNothing) {
			return nil
		}
		if err != nil {
			return err
		}
		l.emit("amend", s, e.Task, e.Amend, "%s", amendLine(e.Amend))
	}
}

// amendment judges the first waiting amendment of a state. More than three of
// one handoff refuse the batch. The event names the iteration that proposed it
// and the task that it is about.
func amendment(s state.State, critic plan.Critic) state.Event {
	p := nextProposed(s.Run)
	c := &state.AmendChange{Action: "unknown"}
	e := state.Event{Type: state.EvAmend, Phase: state.Building, Iteration: p.Iteration, Amend: c}
	var a plan.Amendment
	if err := json.Unmarshal([]byte(p.JSON), &a); err != nil {
		c.Reason = "not understood: " + err.Error()
		return e
	}
	c.Action, c.TaskID, c.Proposal, c.After = a.Action, a.TaskID, json.RawMessage(p.JSON), a.After
	after, results := plan.Amend(s.Plan, p.Task, []plan.Amendment{a})
	r := results[0]
	c.Action, c.Accepted, c.Reason, c.TaskID = r.Action, r.Accepted, cmp.Or(r.Why, r.Reason), r.TaskID
	if p.Of > plan.MaxAmendments {
		c.Accepted = false
		c.Reason = fmt.Sprintf("%d amendments in one handoff; at most %d are taken", p.Of, plan.MaxAmendments)
	}
	critic.Agent = false // an amendment need not say what a plan must
	if err := critic.New(s.Plan, after).Err(); err != nil && c.Accepted {
		c.Accepted, c.Reason = false, err.Error()
	}
	if plan.ValidID(string(c.TaskID)) == nil {
		e.Task = c.TaskID
	}
	if !c.Accepted {
		return e
	}
	if i := after.Find(c.TaskID); i >= 0 {
		t := after.Tasks[i]
		if t.SetAside() && t.SkippedIn == 0 {
			t.SkippedIn = e.Iteration
		}
		c.Task = &t
	}
	return e
}

// nextProposed is the next amendment to judge. Entries of earlier versions do
// not name its iteration; it is the newest one.
func nextProposed(r state.Run) state.Proposed {
	if len(r.Pending) > 0 {
		return state.Proposed{Iteration: r.Iteration, Task: plan.TaskID(r.LastTask), Of: r.PendingOf, JSON: r.Pending[0]}
	}
	return r.Proposed[0]
}

// amendLine says what became of an amendment: "T-003 is set aside: too hard".
func amendLine(c *state.AmendChange) string {
	what := strings.TrimSpace(c.Action + " " + string(c.TaskID))
	reason := notes.OneLine(c.Reason, 300)
	switch {
	case !c.Accepted:
		return "refused: " + what + ": " + reason
	case c.Action == "remove":
		what = string(c.TaskID) + " is set aside until a person agrees"
	case c.Task != nil && c.Action == "add":
		what += " " + notes.OneLine(c.Task.Title, 100)
	}
	return strings.TrimSuffix(what+": "+reason, ": ")
}
