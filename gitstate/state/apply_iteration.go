package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"git-ralph/internal/stable"
	"git-ralph/notes"
	"git-ralph/plan"
)

func (a *applier) start() {
	st := a.e.Start
	if st == nil {
		a.drop("iteration-start", "no content")
		return
	}
	r := &a.s.Run
	r.Iteration = max(r.Iteration, a.e.Iteration)
	if a.late() {
		return
	}
	r.Status, r.Reason, r.WaitUntil = Running, "", nil
	r.Cost.Iteration = 0
	r.Phase = a.e.Phase
	if a.e.Phase != Building {
		r.PhaseDone = false
	}
	r.Sandbox, r.Shared, r.NotShared = st.Sandbox, st.Shared, st.NotShared
	cur := &Current{EventID: st.IterationID, Iteration: a.e.Iteration, Task: a.e.Task,
		Attempt: a.e.Attempt, Phase: a.e.Phase, Since: a.e.Time, Actor: a.e.Actor, Start: *st}
	cur.Start.Dropped, cur.Start.Guidance = nil, nil
	a.begun(cur)
	if a.e.Task != "" {
		r.LastTask = string(a.e.Task)
		if t := a.task(a.e.Task); t == nil {
			a.drop(string(a.e.Task), "not in the plan any more")
		} else if t.Status != plan.Pending && t.Status != plan.InProgress {
			a.drop(string(a.e.Task), "is "+string(t.Status)+" meanwhile")
		} else {
			t.Status = plan.InProgress
		}
	}
	a.showGuidance(st.Guidance, a.e.Task)
}

// Counts says whether an iteration that ended so counts towards
// max_iterations and stagnation: waiting for a provider does not.
func (r Result) Counts() bool {
	switch r.Outcome {
	case "rate_limited", "usage_limit", "overloaded", "auth", "interrupted":
		return false
	}
	return r.Verdict != Halted
}

// FailureKey is equal for two failures that count as the same.
func (r Result) FailureKey() string { return strings.Join(r.Reasons, "; ") }

func (a *applier) iteration() {
	res := a.e.Result
	if res == nil {
		a.drop("iteration", "no content")
		return
	}
	r := &a.s.Run
	if r.Current != nil && r.Current.EventID == a.e.ID {
		r.Current = nil
	}
	if res.Untouched {
		r.Untouched = a.e.ID
	}
	r.Iteration = max(r.Iteration, a.e.Iteration)
	a.spent(res)
	if a.late() {
		return
	}
	a.claimed(res)
	done := a.iterationTask(res)
	if done {
		a.researched()
	}
	a.progressed(res, done)
	a.landed(res)
	if res.Handoff != nil {
		a.handedOff(*res.Handoff)
	}
	a.learn(res.Learned)
	if res.SessionMemory != "" {
		a.memory("session", res.SessionMemory)
	}
	if res.Baseline != nil {
		a.s.Baseline = res.Baseline
	}
	if res.Plan != nil {
		a.plan(res.Plan)
	}
	a.amends(res)
}

// spent counts what an iteration used, even if it came too late.
func (a *applier) spent(res *Result) {
	r := &a.s.Run
	r.Tokens = r.Tokens.Plus(res.Tokens)
	r.Used.Tokens += res.Tokens.Total()
	r.Used.Ms += res.DurationMs
	if res.CostMicro != nil {
		r.Cost.Iteration = *res.CostMicro
		r.Cost.Session += *res.CostMicro
		r.Cost.Total += *res.CostMicro
	} else if res.Tokens.Total() > 0 {
		r.Cost.Unknown = true
	}
}

// claimed records the window's fill, the agent's claim and the result of its
// phase.
func (a *applier) claimed(res *Result) {
	r := &a.s.Run
	if res.Model != "" {
		r.Model = res.Model
	}
	if res.ContextWindow > 0 {
		r.ContextPct = int(100 * res.ContextTokens / res.ContextWindow)
	}
	if res.ContextPeak > 0 {
		switch {
		case res.ContextPeak < 40:
			r.ContextZone.Below++
		case res.ContextPeak <= 60:
			r.ContextZone.In++
		default:
			r.ContextZone.Above++
		}
	}
	if res.ClaimedDone {
		r.Claims++
		if res.Verdict != Keep {
			r.FalseClaims++
		}
	}
	if res.PhaseDone && res.Verdict == Keep {
		if a.e.Phase == Building {
			r.SetUp = true
		} else if r.Phase == a.e.Phase {
			r.PhaseDone = true
		}
	}
	if a.e.Phase == r.Phase && res.Counts() {
		r.LeftPhase = ""
	}
	if res.Verdict == Keep && r.Stuck == string(a.e.Task) {
		r.Stuck = ""
	}
}

// progressed moves the counters of the circuit breaker.
func (a *applier) progressed(res *Result, done bool) {
	r := &a.s.Run
	if a.e.Phase == Building && res.Counts() {
		r.SessionIterations++
		r.Index.Since++
		if done {
			r.Breaker.Stagnation = 0
			r.SessionDone++
		} else if t := a.task(a.e.Task); t == nil || !waitsForAnswer(*t) {
			r.Breaker.Stagnation++
		}
	}
	if res.Failure {
		r.Breaker.Failures++
	}
	if res.Verdict == Keep {
		r.Breaker.Failures, r.Breaker.FailedTasks = 0, 0
		if r.Breaker.State == "half-open" {
			r.Breaker = Breaker{State: "closed", Stagnation: r.Breaker.Stagnation}
		}
	}
}

// landed records the commit of a kept iteration, or how one failed.
func (a *applier) landed(res *Result) {
	r := &a.s.Run
	if kept := res.Commit != "" && res.Landed; kept && a.again != nil && a.again.CodeOfTheirs {
		a.drop("commit "+res.Commit, "the branch has gone on from another one; its evidence keeps it")
	} else if kept {
		r.LastKeep = &Kept{EventID: a.e.ID, Iteration: a.e.Iteration, Parent: res.Parent, Commit: res.Commit,
			Evidence: res.Evidence, Brought: res.Brought}
	}
	if res.Failure {
		r.LastFailKey, r.LastFailTask, r.LastFailTree = res.FailureKey(), string(a.e.Task), res.Tree
	} else if res.Verdict == Keep {
		r.LastFailKey, r.LastFailTask, r.LastFailTree = "", "", ""
	}
}

// handedOff keeps a handoff, and the newest ones before it.
func (a *applier) handedOff(h notes.Record) {
	a.s.Handoff = &h
	// Machines that were apart give the same number; the newer one stays.
	a.s.Recent = slices.DeleteFunc(slices.Clone(a.s.Recent), func(r notes.Record) bool {
		return r.Origin.Iteration == h.Origin.Iteration && r.Origin.EventID != h.Origin.EventID
	})
	a.s.Recent = append(a.s.Recent, h)
	// In the order in which they are read: a worker that began later may end first.
	stable.Sort(a.s.Recent, func(x, y notes.Record) int { return x.Origin.Iteration - y.Origin.Iteration })
	if n := len(a.s.Recent); n > maxRecent {
		a.s.Recent = a.s.Recent[n-maxRecent:]
	}
	a.s.Run.Index.Bytes += len(h.Freeform) + len(h.Summary)
}

// amends keeps what the agent proposes to change in the plan.
func (a *applier) amends(res *Result) {
	r := &a.s.Run
	switch {
	case len(res.Amendments) > 0 && res.Queued:
		r.Proposed = slices.Clone(r.Proposed)
		for _, raw := range res.Amendments[:min(len(res.Amendments), maxPending)] {
			r.Proposed = append(r.Proposed, Proposed{a.e.Iteration, a.e.Task, len(res.Amendments), compact(raw)})
		}
	case len(res.Amendments) > 0:
		r.Pending, r.PendingOf = nil, len(res.Amendments)
		for _, raw := range res.Amendments[:min(len(res.Amendments), maxPending)] {
			r.Pending = append(r.Pending, compact(raw))
		}
	}
}

// compact is a JSON value without the blanks between its parts, so that it is
// the same before the event is written and after it is read.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// iterationTask moves the task of an iteration and says whether it is done now.
func (a *applier) iterationTask(res *Result) bool {
	if a.e.Task == "" {
		return false
	}
	t := a.task(a.e.Task)
	if t == nil {
		a.drop(string(a.e.Task), "not in the plan any more")
		return false
	}
	t.ActualTokens += res.Tokens.Total()
	if res.CostMicro != nil {
		t.CostMicroUSD += *res.CostMicro
	}
	if t.Status != plan.InProgress {
		a.drop(string(a.e.Task), "is "+string(t.Status)+" meanwhile")
		return false
	}
	if res.Attempt {
		t.Attempts++
	}
	t.Rung += res.Climbs
	if res.Partial && res.Verdict == Keep {
		t.Partial++
	}
	if res.TaskStatus != "" {
		t.Status = res.TaskStatus
	}
	if res.SkippedBy != "" {
		t.SkippedBy, t.SkippedIn = res.SkippedBy, a.e.Iteration
	}
	t.Failure = res.FailText
	if res.BlockedBy != nil {
		t.BlockedBy = res.BlockedBy
	}
	if a.unclaim(a.e.Under) && t.Status == plan.InProgress {
		t.Status = plan.Pending
	}
	if t.Status == plan.Done {
		when := a.e.Time
		t.CompletedAt = &when
		t.BlockedBy = nil
	}
	switch t.Status {
	case plan.Done, plan.Failed, plan.Blocked, plan.Skipped:
		a.dropGuidance(t.ID)
	}
	return t.Status == plan.Done
}

// learn adds knowledge as a whole or not at all.
func (a *applier) learn(add []notes.Knowledge) {
	if len(add) == 0 {
		return
	}
	all, err := notes.ApplyKnowledge(a.s.Knowledge, add)
	if err != nil {
		a.drop("knowledge", err.Error())
		return
	}
	a.s.Knowledge = all
}

func (a *applier) memory(name, text string) {
	m := maps.Clone(a.s.Memory)
	if m == nil {
		m = map[string]string{}
	}
	m[name] = notes.CutBytes(text, maxMemory)
	a.s.Memory = m
}
