package plan

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/text"
)

// Find is the index of a task in p.Tasks, -1 when there is none. Ids are
// compared without regard to case, so that `skip t-003` finds T-003.
func (p Plan) Find(id TaskID) int {
	key := Fold(id)
	for i := range p.Tasks {
		if p.Tasks[i].ID == id || Fold(p.Tasks[i].ID) == key {
			return i
		}
	}
	return -1
}

// doneTasks is the set of tasks that unblock others: done, and nothing else.
// A skipped dependency was not provided, so what waits on it keeps waiting.
func (p Plan) doneTasks() map[TaskID]bool {
	done := make(map[TaskID]bool)
	for i := range p.Tasks {
		if p.Tasks[i].Status == Done {
			done[p.Tasks[i].ID] = true
		}
	}
	return done
}

func runnable(t *Task, done map[TaskID]bool) bool {
	if t.Status != Pending {
		return false
	}
	for _, dep := range t.DependsOn {
		if !done[dep] {
			return false
		}
	}
	return true
}

// Next is the task to work on: pending, everything it depends on done, the
// lowest priority number, then the plan's own order. False when there is none.
func Next(p Plan) (TaskID, bool) {
	done := p.doneTasks()
	best := -1
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if (best < 0 || t.Priority < p.Tasks[best].Priority) && runnable(t, done) {
			best = i
		}
	}
	if best < 0 {
		return "", false
	}
	return p.Tasks[best].ID, true
}

// Runnable is every task that could be worked on now, in the plan's order.
func (p Plan) Runnable() []TaskID {
	done := p.doneTasks()
	var out []TaskID
	for i := range p.Tasks {
		if runnable(&p.Tasks[i], done) {
			out = append(out, p.Tasks[i].ID)
		}
	}
	return out
}

// Counts is the number of tasks in each state.
type Counts struct {
	Total      int `json:"total"`
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Done       int `json:"done"`
	Blocked    int `json:"blocked"`
	Failed     int `json:"failed"`
	Skipped    int `json:"skipped"`
	// SetAside are those of Skipped that an agent left out.
	SetAside int `json:"set_aside,omitempty"`
}

// Wanted is the number of tasks that are to be done: all but those that a
// person left out.
func (c Counts) Wanted() int { return c.Total - c.Skipped + c.SetAside }

// Percent is the share of the wanted tasks that are done, rounded down; 0 when
// there is none.
func (c Counts) Percent() int {
	if c.Wanted() == 0 {
		return 0
	}
	return c.Done * 100 / c.Wanted()
}

// Counts counts the tasks by status.
func (p Plan) Counts() Counts {
	c := Counts{Total: len(p.Tasks)}
	for i := range p.Tasks {
		switch p.Tasks[i].Status {
		case Pending:
			c.Pending++
		case InProgress:
			c.InProgress++
		case Done:
			c.Done++
		case Blocked:
			c.Blocked++
		case Failed:
			c.Failed++
		case Skipped:
			c.Skipped++
			if p.Tasks[i].SetAside() {
				c.SetAside++
			}
		}
	}
	return c
}

// Remaining is the number of tasks that are neither done nor skipped.
func (p Plan) Remaining() int {
	c := p.Counts()
	return c.Total - c.Done - c.Skipped
}

// Settled reports whether no task is left to work on. An empty plan is not settled, it has
// nothing to say.
func (p Plan) Settled() bool { return len(p.Tasks) > 0 && p.Remaining() == 0 }

// Complete reports whether every task is done or was left out by a person.
func (p Plan) Complete() bool { return p.Settled() && len(p.SetAside()) == 0 }

// SetAside are the tasks that agents left out and no person has agreed to, in
// the plan's order.
func (p Plan) SetAside() []TaskID {
	var out []TaskID
	for i := range p.Tasks {
		if p.Tasks[i].SetAside() {
			out = append(out, p.Tasks[i].ID)
		}
	}
	return out
}

// AsideReason is what an agent gave for leaving t out, on one line:
// "amendment: too hard (iteration 3)".
func (t Task) AsideReason() string {
	reason := text.OneLine(strings.Join(t.BlockedBy, ": "))
	if reason == "" {
		reason = "no reason given"
	}
	if t.SkippedIn > 0 {
		reason += fmt.Sprintf(" (iteration %d)", t.SkippedIn)
	}
	return reason
}

// LeftToPerson reports whether nothing can be worked on, and every task that is neither done
// nor left out by a person was set aside, or waits for one that was.
func (p Plan) LeftToPerson() bool {
	held := make(map[TaskID]bool) // done, set aside, or waiting only for such tasks
	aside := false
	for i := range p.Tasks {
		t := &p.Tasks[i]
		held[t.ID] = t.Status == Done || t.SetAside()
		aside = aside || t.SetAside()
	}
	done := p.doneTasks()
	for again := aside; again; {
		again = false
		for i := range p.Tasks {
			t := &p.Tasks[i]
			if held[t.ID] || t.Status != Pending || runnable(t, done) {
				continue
			}
			if !slices.ContainsFunc(t.DependsOn, func(dep TaskID) bool { return !held[dep] }) {
				held[t.ID], again = true, true
			}
		}
	}
	for i := range p.Tasks {
		if t := &p.Tasks[i]; !held[t.ID] && t.Status != Skipped {
			return false
		}
	}
	return aside
}

// PercentComplete is Counts.Percent.
func (p Plan) PercentComplete() int { return p.Counts().Percent() }

// Blocker is an unfinished task that cannot be worked on, and why.
type Blocker struct {
	ID TaskID `json:"id"`
	// Reason is one line: "failed after 3 attempts", "waits on T-002 (failed)".
	Reason string `json:"reason"`
	// On are the unfinished tasks it waits on directly.
	On []TaskID `json:"on,omitempty"`
}

// Blockers is every failed, blocked or waiting task with its reason, in the
// plan's order. When Next finds nothing and p is not complete, these are all
// the tasks that remain, apart from any in progress.
func (p Plan) Blockers() []Blocker {
	status := make(map[TaskID]Status, len(p.Tasks))
	for i := range p.Tasks {
		status[p.Tasks[i].ID] = p.Tasks[i].Status
		if p.Tasks[i].SetAside() {
			status[p.Tasks[i].ID] = "set_aside"
		}
	}
	var out []Blocker
	for i := range p.Tasks {
		t := &p.Tasks[i]
		switch t.Status {
		case Failed:
			out = append(out, Blocker{ID: t.ID, Reason: failedReason(t)})
		case Blocked:
			out = append(out, Blocker{ID: t.ID, Reason: blockedReason(t)})
		case Pending:
			var on []TaskID
			var names []string
			for _, dep := range t.DependsOn {
				switch s, ok := status[dep]; {
				case s == Done:
				case !ok:
					on = append(on, dep)
					names = append(names, fmt.Sprintf("%s (not in the plan)", dep))
				default:
					on = append(on, dep)
					names = append(names, fmt.Sprintf("%s (%s)", dep, strings.ReplaceAll(string(s), "_", " ")))
				}
			}
			if len(on) > 0 {
				out = append(out, Blocker{ID: t.ID, Reason: "waits on " + strings.Join(names, ", "), On: on})
			}
		}
	}
	return out
}

func failedReason(t *Task) string {
	reason := "failed"
	if t.Attempts == 1 {
		reason = "failed after 1 attempt"
	} else if t.Attempts > 1 {
		reason = fmt.Sprintf("failed after %d attempts", t.Attempts)
	}
	line := strings.TrimPrefix(text.OneLine(text.FirstLine(t.Failure)), "The attempt was rejected: ")
	if line = text.Clip(line, 120); line != "" {
		reason += ": " + line
	}
	return reason
}

func blockedReason(t *Task) string {
	if len(t.BlockedBy) == 0 {
		return "blocked"
	}
	why := text.Clip(text.OneLine(strings.Join(t.BlockedBy, "; ")), 200)
	return "blocked: " + HeldUp(why)
}

// HeldUp says in words why a task that held the run up is blocked; other reasons
// stay as they are.
func HeldUp(reason string) string {
	if n, ok := strings.CutPrefix(reason, "stagnation:"); ok {
		return reason + ": " + n + " iterations in a row ended without a task done"
	}
	return reason
}

// Waiting is every unfinished task that waits on id, directly or through
// others, in the plan's order: what `skip --cascade` skips in addition to id.
func (p Plan) Waiting(id TaskID) []TaskID {
	waiters := make(map[string][]int)
	for i := range p.Tasks {
		for _, dep := range p.Tasks[i].DependsOn {
			waiters[Fold(dep)] = append(waiters[Fold(dep)], i)
		}
	}
	hit := make([]bool, len(p.Tasks))
	queue := []string{Fold(id)}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, i := range waiters[key] {
			t := &p.Tasks[i]
			// A finished task had its dependencies: its waiters lose nothing.
			if hit[i] || t.Status == Done || t.Status == Skipped {
				continue
			}
			hit[i] = true
			queue = append(queue, Fold(t.ID))
		}
	}
	var out []TaskID
	for i, h := range hit {
		if h && Fold(p.Tasks[i].ID) != Fold(id) {
			out = append(out, p.Tasks[i].ID)
		}
	}
	return out
}

// Archive takes finished tasks out of the working set; the journal's history
// keeps them. Done tasks leave, and so do the dependencies on them, which are
// met for good. A skipped task stays while an unfinished one waits on it, and
// while it is set aside.
func Archive(p Plan) (Plan, []TaskID) {
	needed := make(map[TaskID]bool)
	for i := range p.Tasks {
		if s := p.Tasks[i].Status; s != Done && s != Skipped {
			for _, dep := range p.Tasks[i].DependsOn {
				needed[dep] = true
			}
		}
	}
	done := p.doneTasks()
	out := Plan{Goal: p.Goal, Created: p.Created, Retired: p.Retired}
	var gone []TaskID
	left := make(map[TaskID]bool)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Status == Done || t.Status == Skipped && !t.SetAside() && !needed[t.ID] {
			gone = append(gone, t.ID)
			left[t.ID] = true
			continue
		}
		out.Tasks = append(out.Tasks, t.clone())
	}
	out.Retire(gone...)
	for i := range out.Tasks {
		t := &out.Tasks[i]
		kept := t.DependsOn[:0]
		for _, dep := range t.DependsOn {
			if !done[dep] && !left[dep] {
				kept = append(kept, dep)
			}
		}
		t.DependsOn = kept
	}
	return out, gone
}
