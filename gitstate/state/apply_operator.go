package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ralph/plan"
)

func (a *applier) operator() {
	o := a.e.Operator
	if o == nil {
		a.drop("operator", "no content")
		return
	}
	r := &a.s.Run
	idle := r.Status != Running && r.Status != Waiting
	switch o.Command {
	case "pause":
		r.PauseAsked = true
		if idle {
			r.Status = Paused
		}
	case "resume":
		r.PauseAsked = false
		if r.Breaker.State == "open" {
			r.Breaker = Breaker{State: "half-open"}
		}
		if idle && r.Status != Complete {
			r.Status, r.Reason = a.readyStatus(), ""
		}
	case "stop", "stop-now":
		if o.Session != r.Session {
			a.drop("stop", fmt.Sprintf("session %d is over", o.Session))
			return
		}
		r.StopAsked, r.StopNow = o.Session, o.Command == "stop-now"
	case "inject":
		g := Guidance{ID: o.ID, Text: o.Text, Time: a.e.Time}
		if len(o.Tasks) > 0 {
			g.Shown, g.Task = true, o.Tasks[0]
		} else if r.Workers > 1 && !idle {
			g.Workers = r.Workers
		}
		a.s.Guidance = append(slices.Clip(a.s.Guidance), g)
	case "set":
		m := maps.Clone(r.Overrides)
		if m == nil {
			m = map[string]string{}
		}
		m[o.Key] = o.Value
		r.Overrides = m
	case "answer":
		a.answer(o)
	case "approve", "reject":
		a.approve(o)
	case "handoff-now":
		if r.Current == nil {
			a.drop("handoff", "no iteration is running")
			return
		}
		r.AskHandoff = r.Current.Iteration
	case "reset":
		a.reset()
		if o.Kept != nil {
			r.LastKeep = o.Kept
		}
	case "adopt", "land":
		r.LastKeep = o.Kept
		if o.Branch != "" {
			a.s.Journal.Branch = o.Branch
		}
		if r.Status == NeedsReview && r.Reason == "diverged" {
			r.Status, r.Reason = a.readyStatus(), ""
		}
	default:
		a.drop(o.Command, "unknown command")
	}
}

func (a *applier) readyStatus() Status {
	if len(a.s.Plan.Tasks) == 0 && a.s.Run.Request == "" {
		return New
	}
	return Ready
}

// AwaitsAnswer begins the reason of a task that is blocked by its agent's
// question. The question's id and text follow.
const AwaitsAnswer = "question "

// AnswerTo is the answer to a question, by which the tasks that waited for it can be
// worked on again.
func AnswerTo(s State, id, text string) *Operator {
	o := &Operator{Command: "answer", ID: id, Text: text}
	for _, t := range s.Plan.Tasks {
		if q, waits := awaited(t); waits && strings.EqualFold(q, id) {
			o.Tasks = append(o.Tasks, t.ID)
		}
	}
	return o
}

// Awaited are the open questions for whose answers tasks wait, each once.
func Awaited(s State) []string {
	var ids []string
	for _, t := range s.Plan.Tasks {
		id, waits := awaited(t)
		if waits && !slices.Contains(ids, id) && slices.ContainsFunc(s.Questions, func(q Question) bool {
			return q.ID == id && !q.Answered
		}) {
			ids = append(ids, id)
		}
	}
	return ids
}

// waitsForAnswer reports whether a task waits for a person's word and not for an attempt.
func waitsForAnswer(t plan.Task) bool {
	_, waits := awaited(t)
	return waits
}

func awaited(t plan.Task) (id string, waits bool) {
	if t.Status != plan.Blocked || len(t.BlockedBy) == 0 {
		return "", false
	}
	rest, waits := strings.CutPrefix(t.BlockedBy[0], AwaitsAnswer)
	id, _, _ = strings.Cut(rest, ":")
	return id, waits
}

func (a *applier) answer(o *Operator) {
	i := slices.IndexFunc(a.s.Questions, func(q Question) bool { return strings.EqualFold(q.ID, o.ID) })
	if i < 0 {
		a.drop(o.ID, "no such question")
		return
	}
	a.s.Questions = slices.Clone(a.s.Questions)
	a.s.Questions[i].Answer, a.s.Questions[i].Answered = o.Text, true
	for _, id := range o.Tasks {
		if t := a.task(id); t != nil && t.Status == plan.Blocked {
			t.Status, t.BlockedBy = plan.Pending, nil
		}
	}
	if r := &a.s.Run; r.Status == Paused && !r.PauseAsked && !slices.ContainsFunc(a.s.Questions,
		func(q Question) bool { return !q.Answered }) {
		r.Status, r.Reason = a.readyStatus(), ""
	}
}

// afterReview is the status when a person has decided about every task that
// was set aside: complete when nothing is left and it was proved or validated.
func (a *applier) afterReview() Status {
	r, rep := a.s.Run, a.s.Report
	validated := r.Phase == Validation && rep != nil && rep.Approved != nil && rep.Approved.Approved
	if !a.e.Moved && a.s.Plan.Complete() && (r.Phase == Building && r.Proved || validated) {
		return Complete
	}
	return Ready
}

// aside applies the user's decision on tasks that were set aside.
func (a *applier) aside(o *Operator) {
	for _, id := range o.Tasks {
		t := a.task(id)
		switch {
		case t == nil:
			a.drop(string(id), "not in the plan any more")
		case !t.SetAside():
			a.drop(string(id), "is not set aside any more")
		case o.Command == "approve":
			t.SkippedBy = ""
		default:
			t.Status, t.SkippedBy, t.SkippedIn, t.BlockedBy = plan.Pending, "", 0, nil
			t.Attempts, t.Rung, t.Failure, t.Partial = 0, 0, "", 0
		}
	}
}

func (a *applier) approve(o *Operator) {
	r := &a.s.Run
	a.aside(o)
	if len(o.Tasks) > 0 && r.Status != NeedsReview {
		return // nothing else waits for a word
	}
	if strings.HasPrefix(r.Reason, SetAside) {
		if rep := a.s.Report; r.Phase == Validation && rep != nil && rep.Passed && o.Command == "approve" && !a.e.Moved {
			agreed := *rep
			agreed.Approved = &ReportVerdict{Approved: true, Reason: o.Text, Time: a.e.Time}
			a.s.Report = &agreed
		}
		r.Status, r.Reason = a.afterReview(), ""
		a.guide(o)
		return
	}
	v := ReportVerdict{Approved: o.Command == "approve", Reason: o.Text, Time: a.e.Time}
	if r.Phase == Validation && a.s.Report != nil {
		rep := *a.s.Report
		rep.Approved = &v
		a.s.Report = &rep
		if v.Approved && r.Status == NeedsReview && !a.e.Moved {
			r.Status, r.Reason = Complete, ""
		}
	} else if v.Approved && !slices.Contains(r.Confirmed, string(r.Phase)) {
		r.Confirmed = append(slices.Clip(r.Confirmed), string(r.Phase))
	} else if !v.Approved && (r.Phase == Discovery || r.Phase == Planning) {
		r.PhaseDone = false // it is done anew
	}
	a.guide(o)
	if r.Status == NeedsReview {
		r.Status, r.Reason = a.readyStatus(), ""
	}
}

// guide tells the next agent why a person rejected what was there.
func (a *applier) guide(o *Operator) {
	if o.Command == "reject" && o.Text != "" {
		a.s.Guidance = append(slices.Clip(a.s.Guidance), Guidance{ID: a.e.ID, Text: o.Text, Time: a.e.Time})
	}
}

// reset begins a new plan in the same journal; numbers and spend go on.
func (a *applier) reset() {
	old := a.s.Run
	retired := a.s.Plan
	retired.Retire(a.e.Operator.Tasks...)
	a.s.Plan = plan.Plan{Created: a.e.Time, Retired: retired.Retired}
	a.s.Run = Run{Phase: Discovery, Status: New, Iteration: old.Iteration, Session: old.Session,
		LastAt: a.e.Time, Cost: old.Cost, Tokens: old.Tokens, Used: old.Used,
		Breaker: Breaker{State: "closed"}, LastKeep: old.LastKeep, Claims: old.Claims,
		FalseClaims: old.FalseClaims, ContextZone: old.ContextZone, Model: old.Model, Driver: old.Driver, SetUp: old.SetUp}
	a.s.Handoff, a.s.Recent, a.s.Guidance, a.s.Questions, a.s.Report, a.s.Memory = nil, nil, nil, nil, nil, nil
}
