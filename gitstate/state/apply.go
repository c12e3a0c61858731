package state

import (
	"slices"
	"strings"

	"git-ralph/notes"
	"git-ralph/plan"
)

// Bounds of what the tree carries; everything older is in history.
const (
	maxRecent    = 5
	maxQuestions = 50
	maxMemory    = 16000 // characters a memory text
	maxPending   = 16
	maxRequest   = 32 << 10 // bytes
)

// Apply is the only way a State changes. It is total: what does not fit the
// state any more is left out and named in the second result.
func Apply(s State, e Event) (State, []Superseded) { return apply(s, e, nil) }

// apply is Apply for an event of its own, or for one that m applies again.
func apply(s State, e Event, m *Merge) (State, []Superseded) {
	a := applier{s: s, e: e, again: m}
	a.s.Run.LastAt = e.Time
	switch e.Type {
	case EvInit:
		a.init()
	case EvPhase:
		a.phase()
	case EvPlan:
		a.plan(e.Plan)
	case EvAmend:
		a.amend()
	case EvTask:
		a.taskChange()
	case EvStart:
		a.start()
	case EvIteration:
		a.iteration()
	case EvKnowledge:
		if e.Knowledge != nil {
			a.learn(e.Knowledge.Add)
		}
	case EvOperator:
		a.operator()
	case EvBreaker:
		a.breaker()
	case EvHalt:
		a.halt()
	case EvSession:
		a.session()
	case EvQuestion:
		a.question()
	case EvContext:
		a.context()
	case EvStuck:
		a.s.Run.Stuck = string(e.Task)
	case EvPass:
		a.pass()
	case EvRewind:
		a.rewind()
	case EvClaim:
		a.claim()
	case EvMerge:
		a.merge()
	case EvBaseline:
		a.s.Baseline = e.Baseline
	case EvReport:
		a.s.Report = e.Report
		if a.s.Run.Phase == Validation {
			a.s.Run.PhaseDone = true
		}
	default:
		a.drop("event", "unknown type "+string(e.Type))
	}
	a.dropClaims()
	return a.s, a.dropped
}

type applier struct {
	s       State
	e       Event
	dropped []Superseded
	cloned  bool   // s.Plan.Tasks is our own copy
	again   *Merge // that applies the event again; nil = it is an entry of its own
}

func (a *applier) drop(what, reason string) {
	a.dropped = append(a.dropped, Superseded{what, reason})
}

// task returns a task that may be changed, nil when there is none.
func (a *applier) task(id plan.TaskID) *plan.Task {
	for i := range a.s.Plan.Tasks {
		if strings.EqualFold(string(a.s.Plan.Tasks[i].ID), string(id)) {
			if !a.cloned {
				a.s.Plan.Tasks = slices.Clone(a.s.Plan.Tasks)
				a.cloned = true
			}
			return &a.s.Plan.Tasks[i]
		}
	}
	return nil
}

func (a *applier) init() {
	if in := a.e.Init; in != nil && in.Fork != nil && in.Fork.Journal == a.s.Journal.ID {
		a.fork()
		return
	}
	if a.s.Journal.ID != "" {
		a.drop("init", "the journal has an id")
		return
	}
	in := a.e.Init
	if in == nil {
		a.drop("init", "no content")
		return
	}
	if in.State != nil {
		a.s = *in.State
		return
	}
	a.s = State{Format: Format,
		Journal: Journal{ID: in.JournalID, Base: in.Base, Created: a.e.Time, Branch: in.Branch},
		Run:     Run{Phase: Discovery, Status: New, LastAt: a.e.Time, Breaker: Breaker{State: "closed"}},
		Plan:    plan.Plan{Created: a.e.Time}}
	a.learn(in.Knowledge)
}

// fork makes the state that of another journal, in which nothing is at work and
// nobody has asked for anything yet. What was spent stays counted.
func (a *applier) fork() {
	in := a.e.Init
	a.settle()
	for _, c := range a.s.Claims {
		if t := a.task(c.Task); t != nil && t.Status == plan.InProgress {
			t.Status = plan.Pending
		}
	}
	a.s.Claims = nil
	a.s.Journal = Journal{ID: in.JournalID, Base: in.Base, Created: a.e.Time, Branch: in.Branch,
		Origins: append([]Origin{*in.Fork}, a.s.Journal.Origins...)}
	r := &a.s.Run
	r.PauseAsked, r.StopAsked, r.StopNow, r.AskHandoff = false, 0, false, 0
	r.WaitUntil, r.Untouched = nil, ""
	if !a.finished() || r.Status != Complete {
		r.Status, r.Reason = a.readyStatus(), ""
	}
}

func (a *applier) phase() {
	p := a.e.PhaseTo
	if p == nil {
		a.drop("phase", "no content")
		return
	}
	r := &a.s.Run
	if r.Phase != p.To {
		r.LeftPhase = r.Phase
	}
	r.Phase, r.Rounds, r.PhaseDone = p.To, p.Rounds, false
	// What was approved before is not what is made now.
	r.Confirmed = slices.DeleteFunc(slices.Clone(r.Confirmed), func(c string) bool { return c == string(p.To) })
	if p.Request != "" {
		r.Request, r.Confirmed = notes.CutBytes(p.Request, maxRequest), nil
		a.s.Questions, a.s.Report = nil, nil
	}
}

func (a *applier) plan(c *PlanChange) {
	if c == nil {
		a.drop("plan", "no content")
		return
	}
	if c.Goal != nil {
		a.s.Plan.Goal = *c.Goal
	}
	person := c.Reason == "edit"
	for _, id := range c.Remove {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan")
		case t.Status == plan.Done && !person && c.Reason != "archive":
			a.drop(string(id), "a done task is not removed")
		default:
			a.s.Plan.Tasks = slices.DeleteFunc(a.s.Plan.Tasks, func(x plan.Task) bool { return x.ID == t.ID })
		}
	}
	for _, id := range c.Aside {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan any more")
		case t.Status == plan.Done, t.Status == plan.Skipped:
			a.drop(string(id), "is "+string(t.Status)+" meanwhile")
		default:
			t.PutAside(a.e.Iteration, plan.ReplacedReason, c.AsideWhy)
			a.dropGuidance(t.ID)
		}
	}
	a.s.Plan.Retire(c.Retired...)
	for _, n := range c.Upsert {
		t := a.task(n.ID)
		switch {
		case t == nil:
			a.s.Plan.Tasks = append(slices.Clip(a.s.Plan.Tasks), n)
			a.cloned = true
		case t.Status == plan.Done && !person:
			a.drop(string(n.ID), "a done task is not changed")
		default:
			*t = n
		}
	}
	if len(c.Order) > 0 {
		a.order(c.Order)
	}
	if len(a.s.Plan.Tasks) > 0 {
		if a.s.Run.Phase == Discovery && a.s.Run.Iteration == 0 {
			a.s.Run.Phase = Building
		}
		if a.s.Run.Status == New {
			a.s.Run.Status = Ready
		}
	}
	if a.s.Run.Status == Complete && !a.finished() {
		a.s.Run.Status = Ready
	}
}

func (a *applier) finished() bool {
	for _, t := range a.s.Plan.Tasks {
		if t.Status != plan.Done && t.Status != plan.Skipped || t.SetAside() {
			return false
		}
	}
	return true
}

// order sorts tasks by the given ids; tasks that it does not name keep their
// place behind the others.
func (a *applier) order(ids []plan.TaskID) {
	pos := make(map[plan.TaskID]int, len(ids))
	for i, id := range ids {
		pos[id] = i
	}
	tasks := slices.Clone(a.s.Plan.Tasks)
	slices.SortStableFunc(tasks, func(x, y plan.Task) int {
		px, okx := pos[x.ID]
		py, oky := pos[y.ID]
		if !okx {
			px = len(ids)
		}
		if !oky {
			py = len(ids)
		}
		return px - py
	})
	a.s.Plan.Tasks, a.cloned = tasks, true
}

func (a *applier) amend() {
	c := a.e.Amend
	if c == nil {
		a.drop("amend", "no content")
		return
	}
	if n := len(a.s.Run.Pending); n > 0 {
		a.s.Run.Pending = slices.Clone(a.s.Run.Pending[1:])
		if n == 1 {
			a.s.Run.PendingOf = 0
		}
	}
	if !c.Accepted || c.Task == nil {
		return
	}
	t := a.task(c.Task.ID)
	switch {
	case t != nil && t.Status == plan.Done:
		a.drop(string(c.Task.ID), "the task is done meanwhile")
	case t != nil && c.Action == "add":
		a.drop(string(c.Task.ID), "the id was taken meanwhile")
	case t != nil:
		// What a person did to the status meanwhile stands.
		st, att := t.Status, t.Attempts
		*t = *c.Task
		t.Attempts = att
		if c.Action != "remove" {
			t.Status = st
		}
	case c.Action == "add":
		at := len(a.s.Plan.Tasks)
		if i := slices.IndexFunc(a.s.Plan.Tasks, func(x plan.Task) bool { return x.ID == c.After }); c.After != "" && i >= 0 {
			at = i + 1
		}
		a.s.Plan.Tasks = slices.Insert(slices.Clone(a.s.Plan.Tasks), at, *c.Task)
		a.cloned = true
	default:
		a.drop(string(c.Task.ID), "not in the plan any more")
	}
}

func (a *applier) taskChange() {
	c := a.e.TaskSet
	if c == nil {
		a.drop("task", "no content")
		return
	}
	for _, id := range c.IDs {
		t := a.task(id)
		if t == nil {
			a.drop(string(id), "not in the plan any more")
			continue
		}
		if t.Status == plan.Done && c.Action != "retry" {
			a.drop(string(id), "the task is done")
			continue
		}
		if held := a.s.ClaimOf(id); held != nil && c.Rule != "" {
			a.drop(string(id), "is claimed by "+held.Actor) // only a person decides over a worker
			continue
		}
		if c.AllowTestChanges {
			if t.AllowTestChanges = true; t.Status == plan.InProgress {
				continue
			}
		}
		t.Status, t.SkippedBy, t.SkippedIn = c.Status, "", 0 // a person decided
		switch c.Action {
		case "block", "skip", "fail":
			t.BlockedBy = nil
			if c.Reason != "" {
				t.BlockedBy = []string{c.Reason}
			}
			a.dropGuidance(t.ID)
		case "retry", "unblock":
			t.BlockedBy, t.CompletedAt = nil, nil
		}
		if c.Reset {
			t.Attempts, t.Rung, t.Failure, t.Partial = 0, 0, "", 0
		}
	}
	switch c.Rule {
	case "attempts_exhausted":
		a.s.Run.Breaker.FailedTasks++
	case "stagnation":
		a.s.Run.Breaker.Stagnation = 0
	}
	if c.ResetFailures {
		a.s.Run.Breaker.Failures = 0
	}
	st := a.s.Run.Status
	if aside := st == NeedsReview && strings.HasPrefix(a.s.Run.Reason, SetAside); aside && !a.s.Plan.LeftToPerson() {
		a.s.Run.Status, a.s.Run.Reason = a.afterReview(), ""
	}
	if (st == Complete || st == BlockedStatus) && !a.finished() && (c.Action == "retry" || c.Action == "unblock") {
		a.s.Run.Status, a.s.Run.Reason = Ready, ""
	}
}

// dropGuidance ends the notes that were first shown with a task.
func (a *applier) dropGuidance(id plan.TaskID) {
	a.s.Guidance = slices.DeleteFunc(slices.Clone(a.s.Guidance), func(g Guidance) bool { return g.Shown && g.Task == id })
}

func (a *applier) breaker() {
	b := a.e.Breaker
	if b == nil {
		a.drop("breaker", "no content")
		return
	}
	r := &a.s.Run.Breaker
	r.State, r.Reason, r.Until = b.State, b.Reason, nil
	if b.State == "closed" || b.Reset {
		r.Failures, r.Stagnation, r.FailedTasks = 0, 0, 0
	}
	if b.Until != "" {
		if t, err := parseTime(b.Until); err == nil {
			r.Until = &t
		}
	}
}

// settle ends an iteration that will have no end of its own.
func (a *applier) settle() {
	r := &a.s.Run
	if r.Current == nil {
		return
	}
	if t := a.task(r.Current.Task); t != nil && t.Status == plan.InProgress {
		t.Status = plan.Pending
	}
	r.Current = nil
}

func (a *applier) halt() {
	h := a.e.Halt
	if h == nil {
		a.drop("halt", "no content")
		return
	}
	a.s.Run.Status, a.s.Run.Reason = h.Status, h.Reason
	if h.Status != Waiting {
		a.settle()
		a.s.Run.WaitUntil = nil
		return
	}
	if t, err := parseTime(h.Detail); err == nil {
		a.s.Run.WaitUntil = &t
	}
}

func (a *applier) session() {
	c := a.e.Sess
	if c == nil {
		a.drop("session", "no content")
		return
	}
	r := &a.s.Run
	// Others are at work: what is counted for the session counts all of them.
	others := len(a.s.Claims) > 0
	if c.Action == "end" {
		a.settle()
		if others && (c.Status == Interrupted || c.Status == MaxIterations || c.Status == Stopped) {
			return
		}
		r.Status, r.Reason, r.WaitUntil = c.Status, c.Reason, nil
		if a.again != nil && c.Status == Complete && !a.finished() {
			r.Status, r.Reason = Ready, "" // the other line has more to do
		}
		r.Proved = c.Proved
		r.StopAsked, r.StopNow, r.AskHandoff = 0, false, 0
		if c.Reason != RefsMoved {
			r.Untouched = "" // else a person still has to say which way to go
		}
		return
	}
	a.settle()
	r.Session, r.Proved = max(r.Session+1, c.Number), false
	r.Status, r.Reason, r.WaitUntil = Running, "", nil
	r.StartedAt = a.e.Time
	r.Mode, r.Driver, r.Sandbox = c.Mode, c.Driver, c.Sandbox
	if c.Model != "" {
		r.Model = c.Model
	}
	if others {
		return
	}
	r.StopAsked, r.StopNow, r.AskHandoff = 0, false, 0
	r.SessionDone, r.SessionIterations, r.SessionReplans = 0, 0, 0
	if !c.Budgets {
		r.Cost.Session, r.Used = 0, Used{}
	}
	r.Cost.Iteration = 0
}

func (a *applier) question() {
	q := a.e.Question
	if q == nil {
		a.drop("question", "no content")
		return
	}
	if slices.ContainsFunc(a.s.Questions, func(x Question) bool { return x.ID == q.ID }) {
		a.drop(q.ID, "asked already")
		return
	}
	a.s.Questions = append(slices.Clone(a.s.Questions), *q)
	slices.SortStableFunc(a.s.Questions, func(x, y Question) int { return questionNumber(x.ID) - questionNumber(y.ID) })
	if n := len(a.s.Questions); n > maxQuestions {
		a.s.Questions = a.s.Questions[n-maxQuestions:]
	}
}

func (a *applier) context() {
	c := a.e.Context
	if c == nil {
		a.drop("context", "no content")
		return
	}
	r := &a.s.Run
	r.Tokens = r.Tokens.Plus(c.Tokens)
	r.Used.Tokens += c.Tokens.Total()
	if c.CostMicro != nil {
		r.Cost.Session += *c.CostMicro
		r.Cost.Total += *c.CostMicro
	}
	switch c.Kind {
	case "index":
		if !c.Failed {
			r.Index = IndexState{Last: r.Iteration}
		}
	case "prep":
		a.prep(c)
	case "post":
		if !c.Failed {
			r.Index = IndexState{Last: r.Iteration}
			r.Prep.Advice = notes.OneLine(strings.TrimSuffix(c.Action+": "+c.Reason, ": "), maxFinding)
		}
	case "window":
		r.AskHandoff = 0
	case "memory":
		name := "session"
		if c.MemoryPhase != "" {
			name = "phase-" + string(c.MemoryPhase)
		}
		a.memory(name, c.Memory)
	case "replan":
		r.SessionReplans++
		r.Breaker.Stagnation = 0
	}
}
