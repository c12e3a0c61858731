package loop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// amend judges the amendments that the newest handoff proposed, each as an
// event of its own. What a crash left is done at the next start.
func (l *Loop) amend() error {
	for {
		s, err := l.load()
		if err != nil || len(s.Run.Pending) == 0 {
			return err
		}
		var e state.Event
		if _, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
			e = amendment(s, l.Settings.Critic)
			return e, nil
		}); err != nil {
			return err
		}
		l.emit("amend", s, e.Task, e.Amend, "%s", amendLine(e.Amend))
	}
}

// amendment judges the first waiting amendment of a state. More than three of
// one handoff refuse the batch. The event names the iteration that proposed it
// and the task that it is about.
func amendment(s state.State, critic plan.Critic) state.Event {
	current := plan.TaskID(s.Run.LastTask)
	raw := s.Run.Pending[0]
	c := &state.AmendChange{Action: "unknown"}
	e := state.Event{Type: state.EvAmend, Phase: state.Building, Iteration: s.Run.Iteration, Amend: c}
	var a plan.Amendment
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		c.Reason = "not understood: " + err.Error()
		return e
	}
	c.Action, c.TaskID, c.Proposal, c.After = a.Action, a.TaskID, json.RawMessage(raw), a.After
	after, results := plan.Amend(s.Plan, current, []plan.Amendment{a})
	r := results[0]
	c.Action, c.Accepted, c.Reason, c.TaskID = r.Action, r.Accepted, cmp.Or(r.Why, r.Reason), r.TaskID
	if s.Run.PendingOf > plan.MaxAmendments {
		c.Accepted = false
		c.Reason = fmt.Sprintf("%d amendments in one handoff; at most %d are taken", s.Run.PendingOf, plan.MaxAmendments)
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
