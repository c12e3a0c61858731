package state

import (
	"slices"
	"strings"

	"git-ralph/internal/stable"
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

// Apply is the only way a State changes. It is total: parts that no longer fit
// the state are left out and named in the second result.
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
	again   *Merge // the merge that applies the event again; nil = a new event
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

// fork makes the state that of a new journal, without work in progress or
// pending requests. Costs stay counted.
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
	// An earlier approval does not cover new work.
	r.Confirmed = slices.DeleteFunc(slices.Clone(r.Confirmed), func(c string) bool { return c == string(p.To) })
	if p.Request != "" {
		r.Request, r.Confirmed = notes.CutBytes(p.Request, maxRequest), nil
		a.s.Questions, a.s.Report = nil, nil
	}
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

// settle ends an iteration that will get no end event.
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
	// Others are at work: the session's counters include them.
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
		r.Proved, r.ProvedCommit = c.Proved, ""
		if c.Proved && c.Proof != nil {
			r.ProvedCommit = c.Proof.Commit
		}
		r.StopAsked, r.StopNow, r.AskHandoff = 0, false, 0
		if c.Reason != RefsMoved {
			r.Untouched = "" // else a person still has to say which way to go
		}
		return
	}
	a.settle()
	r.Session, r.Proved, r.ProvedCommit = max(r.Session+1, c.Number), false, ""
	r.Status, r.Reason, r.WaitUntil = Running, "", nil
	r.StartedAt, r.Used.EarlierMs = a.e.Time, max(c.Earlier, 0)
	r.Mode, r.Driver, r.Sandbox, r.Workers = c.Mode, c.Driver, c.Sandbox, c.Workers
	a.settleGuidance()
	if c.Model != "" {
		r.Model = c.Model
	}
	if others {
		return
	}
	r.StopAsked, r.StopNow, r.AskHandoff = 0, false, 0
	r.SessionDone, r.SessionIterations, r.SessionReplans = 0, 0, 0
	if !c.Budgets {
		r.Cost.Session, r.Used = 0, Used{EarlierMs: r.Used.EarlierMs}
	}
	r.Cost.Iteration = 0
}

func (a *applier) question() {
	q := a.e.Question
	if q == nil {
		a.drop("question", "no content")
		return
	}
	if i := slices.IndexFunc(a.s.Questions, func(x Question) bool { return x.ID == q.ID }); i >= 0 {
		tasks := slices.Clone(a.s.Questions[i].Tasks)
		for _, id := range q.Tasks {
			if !slices.Contains(tasks, id) {
				tasks = append(tasks, id)
			}
		}
		if len(tasks) == len(a.s.Questions[i].Tasks) {
			a.drop(q.ID, "asked already")
			return
		}
		a.s.Questions = slices.Clone(a.s.Questions)
		a.s.Questions[i].Tasks = tasks
		return
	}
	a.s.Questions = append(slices.Clone(a.s.Questions), *q)
	stable.Sort(a.s.Questions, func(x, y Question) int { return questionNumber(x.ID) - questionNumber(y.ID) })
	if n := len(a.s.Questions); n > maxQuestions {
		a.s.Questions = a.s.Questions[n-maxQuestions:]
	}
}

// MaxRemote bounds what is remembered of red checks of a pull request, in bytes.
const MaxRemote = 6000

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
	case "remote":
		r.Remote = notes.CutBytes(c.Detail, MaxRemote)
	case "replan":
		r.SessionReplans++
		r.Breaker.Stagnation = 0
	}
}
