package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/notes"
	"git-ralph/plan"
)

// TestEventsWithoutContent: an event without content, of a damaged or later
// journal, only reports that it had no effect.
func TestEventsWithoutContent(t *testing.T) {
	for _, kind := range []EventType{EvPhase, EvPlan, EvAmend, EvTask, EvStart, EvIteration, EvKnowledge,
		EvOperator, EvBreaker,
		EvHalt, EvSession, EvRewind, EvQuestion, EvContext, EvStuck, EvPass, EvBaseline, EvReport, "of a later version"} {
		before := started(with(pending("A")), "A")
		after, dropped := Apply(before, Event{ID: "e", Time: t0, Type: kind})
		switch kind {
		case EvBaseline, EvKnowledge, EvStuck, EvReport: // these may be empty
		default:
			if len(dropped) == 0 {
				t.Errorf("%s: nothing says that it had no effect", kind)
			}
		}
		if d := cmp.Diff(before.Plan, after.Plan); d != "" {
			t.Errorf("%s changed the plan: %s", kind, d)
		}
	}
	if _, dropped := Apply(begun(), Event{ID: "e", Time: t0, Type: EvInit,
		Init: &Init{JournalID: "other"}}); len(dropped) != 1 {
		t.Error("a journal began twice")
	}
	if s, dropped := Apply(State{}, Event{ID: "e", Time: t0, Type: EvInit}); len(dropped) != 1 || s.Journal.ID != "" {
		t.Errorf("a journal began without an id: %v", dropped)
	}
}

// step is an event of which only the content matters.
func step(s State, e Event) (State, []Superseded) {
	e.ID, e.Time = "e", t0.Add(time.Hour)
	return Apply(s, e)
}

// tasksOf are the tasks as "id status".
func tasksOf(s State) string {
	var out []string
	for _, t := range s.Plan.Tasks {
		out = append(out, fmt.Sprintf("%s %s", t.ID, t.Status))
	}
	return strings.Join(out, ", ")
}

// TestApplyToThePlan: what each kind of event changes in tasks, and what it may no
// longer change.
func TestApplyToThePlan(t *testing.T) {
	done, skipped := pending("D"), pending("S")
	done.Status, skipped.Status = plan.Done, plan.Skipped
	aside := pending("X")
	aside.PutAside(1, "not needed")
	base := func() State { return with(pending("A"), pending("B"), done, skipped, aside) }
	changed := func(id, title string) *plan.Task {
		n := pending(id)
		n.Title = title
		return &n
	}
	amend := func(action, id string, c AmendChange) Event {
		c.Action, c.TaskID, c.Accepted = action, plan.TaskID(id), true
		return Event{Type: EvAmend, Amend: &c}
	}
	set := func(action string, to plan.Status, ids ...plan.TaskID) Event {
		return Event{Type: EvTask, TaskSet: &TaskChange{Action: action, Status: to, IDs: ids, Reason: "why"}}
	}
	rows := []struct {
		why     string
		event   Event
		want    string
		dropped string
	}{
		{"an order, and what it does not name", Event{Type: EvPlan, Plan: &PlanChange{Order: []plan.TaskID{"X", "B"}}},
			"X skipped, B pending, A pending, D done, S skipped", ""},
		{"tasks are removed; what is done stays", Event{Type: EvPlan, Plan: &PlanChange{Reason: "planning",
			Remove: []plan.TaskID{"A", "D", "no"}}}, "B pending, D done, S skipped, X skipped",
			"D a done task is not removed; no not in the plan"},
		{"a person removes what is done", Event{Type: EvPlan, Plan: &PlanChange{Reason: "edit",
			Remove: []plan.TaskID{"D"}}},
			"A pending, B pending, S skipped, X skipped", ""},
		{"a plan replaces tasks", Event{Type: EvPlan, Plan: &PlanChange{Aside: []plan.TaskID{"A", "D", "S", "no"},
			AsideWhy: "y"}},
			"A skipped, B pending, D done, S skipped, X skipped",
			"D is done meanwhile; S is skipped meanwhile; no not in the plan any more"},
		{"what is done is not written over", Event{Type: EvPlan, Plan: &PlanChange{Upsert: []plan.Task{*changed("D",
			"n")}}},
			"A pending, B pending, D done, S skipped, X skipped", "D a done task is not changed"},
		{"an amendment adds a task behind another", amend("add", "N", AmendChange{Task: changed("N", "n"), After: "A"}),
			"A pending, N pending, B pending, D done, S skipped, X skipped", ""},
		{"and at the end when that is gone", amend("add", "N", AmendChange{Task: changed("N", "n"), After: "no"}),
			"A pending, B pending, D done, S skipped, X skipped, N pending", ""},
		{"an id that was taken meanwhile", amend("add", "A", AmendChange{Task: changed("A", "n")}),
			"A pending, B pending, D done, S skipped, X skipped", "A the id was taken meanwhile"},
		{"a task that was done meanwhile", amend("update", "D", AmendChange{Task: changed("D", "n")}),
			"A pending, B pending, D done, S skipped, X skipped", "D the task is done meanwhile"},
		{"a status by a person stands", amend("update", "S", AmendChange{Task: changed("S", "n")}),
			"A pending, B pending, D done, S skipped, X skipped", ""},
		{"a removal sets aside", amend("remove", "A", AmendChange{Task: &plan.Task{ID: "A", Status: plan.Skipped}}),
			"A skipped, B pending, D done, S skipped, X skipped", ""},
		{"an amendment of a task that is gone", amend("update", "no", AmendChange{Task: changed("no", "n")}),
			"A pending, B pending, D done, S skipped, X skipped", "no not in the plan any more"},
		{"a refused amendment", Event{Type: EvAmend, Amend: &AmendChange{Action: "add", Task: changed("N", "n")}},
			"A pending, B pending, D done, S skipped, X skipped", ""},
		{"a person blocks; what is done stays", set("block", plan.Blocked, "A", "D", "no"),
			"A blocked, B pending, D done, S skipped, X skipped", "D the task is done; no not in the plan any more"},
		{"a person has done work done anew", set("retry", plan.Pending, "D", "S"),
			"A pending, B pending, D pending, S pending, X skipped", ""},
		{"a rewind opens tasks again", Event{Type: EvRewind, Rewind: &Rewind{To: 1, Commit: "c",
			Tasks: []plan.TaskID{"D", "S", "no"}}},
			"A pending, B pending, D pending, S skipped, X skipped", "S is skipped meanwhile; no not in the plan any more"},
		{"a person agrees that a task is left out", Event{Type: EvOperator, Operator: &Operator{Command: "approve",
			Tasks: []plan.TaskID{"X", "S", "no"}}}, "A pending, B pending, D done, S skipped, X skipped",
			"S is not set aside any more; no not in the plan any more"},
		{"a person does not", Event{Type: EvOperator, Operator: &Operator{Command: "reject", Tasks: []plan.TaskID{"X"}}},
			"A pending, B pending, D done, S skipped, X pending", ""},
		{"a reset", Event{Type: EvOperator, Operator: &Operator{Command: "reset", Tasks: []plan.TaskID{"A", "B"},
			Kept: &Kept{Commit: "c"}}}, "", ""},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			before := base()
			s, dropped := step(before, r.event)
			var said []string
			for _, d := range dropped {
				said = append(said, d.What+" "+d.Reason)
			}
			if got := tasksOf(s); got != r.want {
				t.Errorf("the tasks are %s, not %s", got, r.want)
			}
			if got := strings.Join(said, "; "); got != r.dropped {
				t.Errorf("without effect: %s, not %s", got, r.dropped)
			}
			if d := cmp.Diff(base().Plan, before.Plan); d != "" {
				t.Errorf("the state before was changed: %s", d)
			}
		})
	}
}

// TestApplyToTheRun: how the run stands after an event.
func TestApplyToTheRun(t *testing.T) {
	cost := int64(70)
	until := t0.Add(time.Hour).Format(time.RFC3339)
	op := func(o Operator) Event { return Event{Type: EvOperator, Operator: &o} }
	is := func(status Status, reason string) func(*State) {
		return func(s *State) { s.Run.Status, s.Run.Reason = status, reason }
	}
	report := func(passed bool) *Report { return &Report{Passed: passed} }
	rows := []struct {
		why    string
		before func(*State)
		event  Event
		check  func(State) bool
	}{
		{"a request begins new work", func(s *State) { s.Run.Confirmed, s.Report = []string{"planning"}, report(true) },
			Event{Type: EvPhase, PhaseTo: &PhaseChange{To: Discovery, Request: "more"}}, func(s State) bool {
				return s.Run.Request == "more" && s.Run.Confirmed == nil && s.Report == nil && s.Run.LeftPhase == Building
			}},
		{"an amendment was waiting", func(s *State) { s.Run.Pending, s.Run.PendingOf = []string{"{}"}, 3 },
			Event{Type: EvAmend, Amend: &AmendChange{}}, func(s State) bool {
				return len(s.Run.Pending) == 0 &&
					s.Run.PendingOf == 0
			}},
		{"of several iterations the oldest goes first", func(s *State) {
			s.Run.Proposed = []Proposed{{3, "A", 1, "{}"}, {4, "B", 2, "[]"}}
		}, Event{Type: EvAmend, Amend: &AmendChange{}}, func(s State) bool {
			return len(s.Run.Proposed) == 1 && s.Run.Proposed[0].Task == "B"
		}},
		{"a task failed by rule", nil, Event{Type: EvTask, TaskSet: &TaskChange{Rule: "attempts_exhausted",
			ResetFailures: true}},
			func(s State) bool { return s.Run.Breaker.FailedTasks == 1 && s.Run.Breaker.Failures == 0 }},
		{"stagnation was answered", func(s *State) { s.Run.Breaker.Stagnation = 5 },
			Event{Type: EvTask, TaskSet: &TaskChange{Rule: "stagnation"}},
			func(s State) bool { return s.Run.Breaker.Stagnation == 0 }},
		{"work goes on after a retry", is(BlockedStatus, "x"), Event{Type: EvTask, TaskSet: &TaskChange{Action: "retry",
			IDs: []plan.TaskID{"A"}, Status: plan.Pending}}, func(s State) bool {
			return s.Run.Status == Ready &&
				s.Run.Reason == ""
		}},
		{"new tasks after the end", is(Complete, ""), Event{Type: EvPlan,
			Plan: &PlanChange{Upsert: []plan.Task{pending("N")}}},
			func(s State) bool { return s.Run.Status == Ready }},
		{"the breaker opens for a time", nil, Event{Type: EvBreaker, Breaker: &BreakerChange{State: "open", Until: until}},
			func(s State) bool { return s.Run.Breaker.Until != nil && s.Run.Breaker.State == "open" }},
		{"the loop waits", nil, Event{Type: EvHalt, Halt: &Halt{Status: Waiting, Detail: until}},
			func(s State) bool { return s.Run.Current != nil && s.Run.WaitUntil != nil }},
		{"the loop halts and the task is free", nil, Event{Type: EvHalt, Halt: &Halt{Status: NeedsReview}},
			func(s State) bool { return s.Run.Current == nil && status(s, "A") == plan.Pending }},
		{"a session with budgets of its own", func(s *State) { s.Run.Cost.Session = 9 },
			Event{Type: EvSession, Sess: &SessionChange{Action: "begin", Model: "m"}},
			func(s State) bool { return s.Run.Cost.Session == 0 && s.Run.Session == 1 && s.Run.Model == "m" }},
		{"a session that goes on with its budgets", func(s *State) { s.Run.Cost.Session = 9 },
			Event{Type: EvSession, Sess: &SessionChange{Action: "begin", Budgets: true, Number: 7}},
			func(s State) bool { return s.Run.Cost.Session == 9 && s.Run.Session == 7 }},
		{"pause at rest", is(Ready, ""), op(Operator{Command: "pause"}),
			func(s State) bool { return s.Run.Status == Paused }},
		{"pause at work", is(Running, ""), op(Operator{Command: "pause"}),
			func(s State) bool { return s.Run.Status == Running && s.Run.PauseAsked }},
		{"a setting for this run", nil, op(Operator{Command: "set", Key: "k", Value: "v"}),
			func(s State) bool { return s.Run.Overrides["k"] == "v" }},
		{"the last answer lets work go on", func(s *State) {
			s.Run.Status, s.Questions = Paused, []Question{{ID: "Q1"}}
		}, op(Operator{Command: "answer", ID: "q1", Text: "blue"}),
			func(s State) bool { return s.Run.Status == Ready && s.Questions[0].Answer == "blue" }},
		{"an answer to nothing", nil, op(Operator{Command: "answer", ID: "Q7"}),
			func(s State) bool { return len(s.Questions) == 0 }},
		{"the agent shall hand over", nil, op(Operator{Command: "handoff-now"}),
			func(s State) bool { return s.Run.AskHandoff == 1 }},
		{"the branch diverged and was adopted", is(NeedsReview, "diverged"), op(Operator{Command: "adopt", Branch: "other",
			Kept: &Kept{Commit: "c"}}), func(s State) bool {
			return s.Run.Status == Ready && s.Journal.Branch == "other" && s.Run.LastKeep.Commit == "c"
		}},
		{"a report is approved", func(s *State) {
			s.Run.Phase, s.Run.Status, s.Report = Validation, NeedsReview, report(false)
		}, op(Operator{Command: "approve", Text: "fine"}),
			func(s State) bool { return s.Run.Status == Complete && s.Report.Approved.Reason == "fine" }},
		{"a plan is approved once", func(s *State) { s.Run.Phase, s.Run.Status = Planning, NeedsReview },
			op(Operator{Command: "approve"}),
			func(s State) bool { return s.Run.Status == Ready && cmp.Equal(s.Run.Confirmed, []string{"planning"}) }},
		{"a plan is rejected with a reason", func(s *State) {
			s.Run.Phase, s.Run.PhaseDone, s.Guidance = Planning,
				true, nil
		},
			op(Operator{Command: "reject", Text: "smaller"}),
			func(s State) bool { return !s.Run.PhaseDone && s.Guidance[0].Text == "smaller" }},
		{"what was set aside is agreed to, and all is proved", func(s *State) {
			s.Run.Status, s.Run.Reason, s.Run.Proved, s.Plan.Tasks = NeedsReview, SetAside+"A", true, nil
			left := pending("A")
			left.PutAside(1, "not needed")
			s.Plan.Tasks = []plan.Task{left}
		}, op(Operator{Command: "approve", Tasks: []plan.TaskID{"A"}}),
			func(s State) bool { return s.Run.Status == Complete && !s.Plan.Tasks[0].SetAside() }},
		{"a rewind takes back what agents are told", func(s *State) {
			s.Run.Phase, s.Run.Status, s.Report = Validation, Complete, report(true)
			s.Knowledge = []notes.Knowledge{{ID: "K-1", Text: "gone"}}
			s.Memory = map[string]string{"session": "old", "phase-planning": "stays"}
		}, Event{Type: EvRewind, Rewind: &Rewind{To: 1, LastKept: &Kept{Commit: "k"},
			Told: &Told{Withdrawn: []string{"K-1"},
				Steps: map[plan.TaskID]int{"A": 2}, Memory: "then", Handoff: &notes.Record{}}}}, func(s State) bool {
			return s.Run.Phase == Building && s.Run.Status == Ready && s.Report == nil && s.Handoff != nil &&
				s.Plan.Tasks[0].Partial == 2 && s.Memory["session"] == "then" && s.Memory["phase-planning"] == "stays" &&
				s.Run.LastKeep.Commit == "k"
		}},
		{"a question is asked once", func(s *State) { s.Questions = []Question{{ID: "Q1"}} },
			Event{Type: EvQuestion, Question: &Question{ID: "Q1"}}, func(s State) bool { return len(s.Questions) == 1 }},
		{"an index and its cost", nil, Event{Type: EvContext, Context: &ContextNote{Kind: "index", CostMicro: &cost,
			Tokens: Tokens{Input: 3}}}, func(s State) bool {
			return s.Run.Index.Last == 1 && s.Run.Cost.Total == cost && s.Run.Tokens.Input == 3
		}},
		{"advice after an iteration", nil, Event{Type: EvContext, Context: &ContextNote{Kind: "post", Action: "split",
			Reason: "long"}},
			func(s State) bool { return s.Run.Prep.Advice == "split: long" }},
		{"memory of a phase", nil, Event{Type: EvContext, Context: &ContextNote{Kind: "memory", MemoryPhase: Planning,
			Memory: "m"}},
			func(s State) bool { return s.Memory["phase-planning"] == "m" }},
		{"a plan was made anew", func(s *State) { s.Run.Breaker.Stagnation = 5 },
			Event{Type: EvContext, Context: &ContextNote{Kind: "replan"}},
			func(s State) bool { return s.Run.SessionReplans == 1 && s.Run.Breaker.Stagnation == 0 }},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			s := started(with(pending("A")), "A")
			if r.before != nil {
				r.before(&s)
			}
			if s, dropped := step(s, r.event); !r.check(s) {
				t.Errorf("without effect: %v\n%+v", dropped, s)
			}
		})
	}
}
