package state

import (
	"slices"
	"strings"
	"time"

	"git-ralph/internal/stable"
	"git-ralph/plan"
)

// Claim is the right of one worker to work on a task. It is stored in
// claims/<task>.toml as long as it lives: until the iteration under it ends, it
// is released or taken over, or its task is no longer in progress.
type Claim struct {
	// ID is that of the event that made the claim. Starts and results carry it
	// (Event.Under): a result under a claim that is gone has no effect.
	ID    string      `toml:"id" json:"id"`
	Task  plan.TaskID `toml:"task" json:"task"`
	Actor string      `toml:"actor" json:"actor"`
	// Worker is the worktree on the actor's machine: "main", or the name of a
	// linked one.
	Worker    string    `toml:"worker" json:"worker"`
	Host      string    `toml:"host,omitempty" json:"host"`
	PID       int       `toml:"pid,omitempty" json:"pid"`
	BootID    string    `toml:"boot_id,omitempty" json:"-"`
	StartTime uint64    `toml:"start_time,omitempty" json:"-"`
	Iteration int       `toml:"iteration,omitempty" json:"iteration"`
	Attempt   int       `toml:"attempt,omitempty" json:"attempt"`
	Since     time.Time `toml:"since" json:"since"`
	// Lease is how long the actor's heartbeat may stand still before others may
	// take the task over, as a duration. "" = the claim is only ever seen on the
	// machine that made it, where a living process says whether it holds.
	Lease string `toml:"lease,omitempty" json:"lease,omitempty"`
	// Current is the iteration that was begun under the claim.
	Current *Current `toml:"current,omitempty" json:"-"`
}

// ClaimChange takes or gives back the task of its event.
type ClaimChange struct {
	Action string `json:"action"` // take release
	// Over is the claim that is taken over or released; "" = the task is free.
	Over      string `json:"over,omitempty"`
	Worker    string `json:"worker,omitempty"`
	Host      string `json:"host,omitempty"`
	PID       int    `json:"pid,omitempty"`
	BootID    string `json:"boot_id,omitempty"`
	StartTime uint64 `json:"start_time,omitempty"`
	Lease     string `json:"lease,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// ClaimOf is the claim on a task, nil when there is none.
func (s State) ClaimOf(task plan.TaskID) *Claim {
	for i := range s.Claims {
		if strings.EqualFold(string(s.Claims[i].Task), string(task)) {
			return &s.Claims[i]
		}
	}
	return nil
}

// Holds says whether a claim is still there.
func (s State) Holds(id string) bool {
	return slices.ContainsFunc(s.Claims, func(c Claim) bool { return c.ID == id })
}

// Withdrawn reports whether the user has since skipped, blocked or removed a task that was
// in work.
func (s State) Withdrawn(id plan.TaskID) bool {
	i := s.Plan.Find(id)
	return i < 0 || s.Plan.Tasks[i].Status != plan.InProgress
}

// For is the state as one worker sees it: Run.Current is its own iteration.
// Nothing is recorded on top of it; it is for those who read.
func (s State) For(actor, worker string) State {
	for i := range s.Claims {
		if c := s.Claims[i]; c.Actor == actor && c.Worker == worker && c.Current != nil {
			s.Run.Current = c.Current
		}
	}
	return s
}

// InWork are the iterations that have begun and not ended, of all workers.
func (s State) InWork() []Current {
	var out []Current
	if s.Run.Current != nil {
		out = append(out, *s.Run.Current)
	}
	for i := range s.Claims {
		if c := s.Claims[i].Current; c != nil && (s.Run.Current == nil || c.EventID != s.Run.Current.EventID) {
			out = append(out, *c)
		}
	}
	return out
}

func (a *applier) claim() {
	c := a.e.Claim
	if c == nil {
		a.drop("claim", "no content")
		return
	}
	t, held := a.task(a.e.Task), a.s.ClaimOf(a.e.Task)
	switch {
	case t == nil:
		a.drop(string(a.e.Task), "not in the plan any more")
	case held == nil && c.Over != "" && c.Action == "release":
		a.drop(string(a.e.Task), "the claim is gone")
	case held != nil && held.ID != c.Over:
		a.drop(string(a.e.Task), "is claimed by "+held.Actor)
	case c.Action == "release":
		a.unclaim(c.Over)
		t.Status = plan.Pending
	case held == nil && t.Status != plan.Pending:
		a.drop(string(a.e.Task), "is "+string(t.Status)+" meanwhile")
	default:
		a.unclaim(c.Over)
		t.Status = plan.InProgress
		a.s.Run.Iteration = max(a.s.Run.Iteration, a.e.Iteration)
		a.s.Claims = append(slices.Clone(a.s.Claims), Claim{ID: a.e.ID, Task: t.ID, Actor: a.e.Actor, Worker: c.Worker,
			Host: c.Host, PID: c.PID, BootID: c.BootID, StartTime: c.StartTime, Iteration: a.e.Iteration, Attempt: a.e.Attempt,
			Since: a.e.Time, Lease: c.Lease})
		stable.Sort(a.s.Claims, func(x, y Claim) int { return strings.Compare(string(x.Task), string(y.Task)) })
	}
}

// unclaim ends a claim and says whether it was there.
func (a *applier) unclaim(id string) bool {
	if id == "" || !a.s.Holds(id) {
		return false
	}
	a.s.Claims = slices.DeleteFunc(slices.Clone(a.s.Claims), func(c Claim) bool { return c.ID == id })
	if len(a.s.Claims) == 0 {
		a.s.Claims = nil
	}
	return true
}

// begun notes the iteration that a start has begun, with its claim when it has
// one. A start under a claim that is gone begins nothing.
func (a *applier) begun(cur *Current) {
	if a.e.Under == "" {
		a.s.Run.Current = cur
		return
	}
	a.s.Claims = slices.Clone(a.s.Claims)
	for i := range a.s.Claims {
		if a.s.Claims[i].ID == a.e.Under {
			a.s.Claims[i].Current = cur
		}
	}
}

// late says whether the event belongs to a worker that has lost its task to
// another one. Then nothing of it counts but what it has cost.
func (a *applier) late() bool {
	if a.e.Task == "" {
		return false
	}
	switch held := a.s.ClaimOf(a.e.Task); {
	case held != nil && held.ID != a.e.Under:
		a.drop(string(a.e.Task), "is claimed by "+held.Actor)
		return true
	case held == nil && a.e.Under != "":
		a.drop(string(a.e.Task), "the claim is gone")
		return true
	}
	return false
}

// dropClaims ends the claims on tasks that are no longer in progress: a person
// has skipped, blocked or removed them.
func (a *applier) dropClaims() {
	if len(a.s.Claims) == 0 {
		return
	}
	for _, c := range a.s.Claims {
		if i := a.s.Plan.Find(c.Task); i < 0 || a.s.Plan.Tasks[i].Status != plan.InProgress {
			a.unclaim(c.ID)
		}
	}
}
