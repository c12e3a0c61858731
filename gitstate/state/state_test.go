package state

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/notes"
	"git-ralph/plan"
)

var t0 = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func begun() State {
	s, _ := Apply(State{}, Event{ID: "e0", Time: t0, Type: EvInit, Init: &Init{JournalID: "j", Branch: "main"}})
	return s
}

func with(tasks ...plan.Task) State {
	s, _ := Apply(begun(), Event{ID: "e1", Time: t0, Type: EvPlan, Plan: &PlanChange{Reason: "import", Upsert: tasks}})
	return s
}

func pending(id string) plan.Task {
	return plan.Task{ID: plan.TaskID(id), Title: "do " + id, Status: plan.Pending, Priority: 1}
}

func started(s State, id string) State {
	s, _ = Apply(s, Event{ID: "s" + id, Time: t0, Type: EvStart, Phase: Building, Iteration: s.Run.Iteration + 1,
		Task:  plan.TaskID(id),
		Start: &Start{IterationID: "it" + id, Branch: "main"}})
	return s
}

func ended(id string, r Result) Event {
	r.Handoff = &notes.Record{Handoff: notes.Handoff{Summary: "s", Freeform: strings.Repeat("word ", 12)},
		Origin: notes.Origin{Iteration: 1, Task: id}}
	return Event{ID: "it" + id, Time: t0.Add(time.Minute), Type: EvIteration, Phase: Building, Iteration: 1,
		Task: plan.TaskID(id), Result: &r}
}

func status(s State, id string) plan.Status {
	if i := s.Plan.Find(plan.TaskID(id)); i >= 0 {
		return s.Plan.Tasks[i].Status
	}
	return "absent"
}

func TestApplyIteration(t *testing.T) {
	cost := int64(1500)
	rows := []struct {
		why       string
		before    func(State) State // between start and end
		end       Result
		status    plan.Status
		attempts  int
		breaker   Breaker
		dropped   int
		keepsLast bool
	}{
		{why: "a keep makes the task done and the failures zero", end: Result{Verdict: Keep, TaskStatus: plan.Done,
			Commit: "c", Landed: true},
			status: plan.Done, keepsLast: true},
		{why: "a reject spends an attempt and counts", end: Result{Verdict: Reject, TaskStatus: plan.Pending,
			Attempt: true, Failure: true},
			status: plan.Pending, attempts: 1, breaker: Breaker{Failures: 1, Stagnation: 1}},
		{why: "waiting for a provider spends and counts nothing", end: Result{Verdict: Reject, Outcome: "rate_limited",
			TaskStatus: plan.Pending}, status: plan.Pending},
		{why: "a step that was kept does not reset stagnation", end: Result{Verdict: Keep, Partial: true,
			TaskStatus: plan.Pending, Commit: "c", Landed: true},
			status: plan.Pending, breaker: Breaker{Stagnation: 1}, keepsLast: true},
		{why: "what a person did to the task meanwhile stands", before: func(s State) State {
			s, _ = Apply(s, Event{ID: "x", Time: t0, Type: EvTask, TaskSet: &TaskChange{Action: "skip",
				IDs: []plan.TaskID{"A"}, Status: plan.Skipped}})
			return s
		}, end: Result{Verdict: Keep, TaskStatus: plan.Done, CostMicro: &cost}, status: plan.Skipped,
			breaker: Breaker{Stagnation: 1}, dropped: 1},
		{why: "a task that is gone is superseded and its cost is counted", before: func(s State) State {
			s, _ = Apply(s, Event{ID: "x", Time: t0, Type: EvPlan, Plan: &PlanChange{Reason: "edit",
				Remove: []plan.TaskID{"A"}}})
			return s
		}, end: Result{Verdict: Keep, TaskStatus: plan.Done, CostMicro: &cost}, status: "absent",
			breaker: Breaker{Stagnation: 1}, dropped: 1},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			s := started(with(pending("A"), pending("B")), "A")
			if s.Run.Current == nil || status(s, "A") != plan.InProgress {
				t.Fatal("the start had no effect")
			}
			if r.before != nil {
				s = r.before(s)
			}
			s, dropped := Apply(s, ended("A", r.end))
			if got := status(s, "A"); got != r.status {
				t.Errorf("the task is %s, expected %s", got, r.status)
			}
			if i := s.Plan.Find("A"); i >= 0 && s.Plan.Tasks[i].Attempts != r.attempts {
				t.Errorf("%d attempts, expected %d", s.Plan.Tasks[i].Attempts, r.attempts)
			}
			r.breaker.State = "closed"
			if d := cmp.Diff(r.breaker, s.Run.Breaker); d != "" {
				t.Error(d)
			}
			if len(dropped) != r.dropped {
				t.Errorf("superseded: %v", dropped)
			}
			if (s.Run.LastKeep != nil) != r.keepsLast || s.Run.Current != nil {
				t.Errorf("last keep %v, current %v", s.Run.LastKeep, s.Run.Current)
			}
			if r.end.CostMicro != nil && s.Run.Cost.Total != cost {
				t.Errorf("the cost was not counted: %d", s.Run.Cost.Total)
			}
		})
	}
}

func TestApplyOperator(t *testing.T) {
	op := func(o Operator) Event { return Event{ID: "o", Time: t0, Type: EvOperator, Operator: &o} }
	t.Run("guidance is shown until the task that first got it ends", func(t *testing.T) {
		s, _ := Apply(with(pending("A"), pending("B")), op(Operator{Command: "inject", ID: "g", Text: "mind the gap"}))
		s, _ = Apply(s, Event{ID: "st", Time: t0, Type: EvStart, Phase: Building, Iteration: 1, Task: "A",
			Start: &Start{IterationID: "itA", Guidance: []string{"g"}}})
		s, _ = Apply(s, ended("A", Result{Verdict: Reject, TaskStatus: plan.Pending, Attempt: true}))
		if len(s.Guidance) != 1 || s.Guidance[0].Task != "A" {
			t.Fatalf("after a reject: %v", s.Guidance)
		}
		s = started(s, "A")
		s, _ = Apply(s, ended("A", Result{Verdict: Keep, TaskStatus: plan.Done}))
		if len(s.Guidance) != 0 {
			t.Errorf("after the task: %v", s.Guidance)
		}
	})
	t.Run("resume closes an open breaker to half", func(t *testing.T) {
		s, _ := Apply(with(pending("A")), Event{ID: "b", Time: t0, Type: EvBreaker,
			Breaker: &BreakerChange{State: "open", Reason: "consecutive_failures:3"}})
		s, _ = Apply(s, op(Operator{Command: "resume"}))
		if s.Run.Breaker.State != "half-open" || s.Run.Status != Ready {
			t.Errorf("%v %v", s.Run.Breaker, s.Run.Status)
		}
	})
	t.Run("the attempt after a cool-down is judged alone", func(t *testing.T) {
		open := func(reset bool) State {
			s := with(pending("A"))
			s.Run.Breaker = Breaker{State: "open", Failures: 3, Stagnation: 5, FailedTasks: 2}
			s, _ = Apply(s, Event{ID: "b", Time: t0, Type: EvBreaker, Breaker: &BreakerChange{State: "half-open",
				Reset: reset}})
			return s
		}
		if d := cmp.Diff(Breaker{State: "half-open"}, open(true).Run.Breaker); d != "" {
			t.Error(d)
		}
		if b := open(false).Run.Breaker; b.Failures != 3 || b.Stagnation != 5 {
			t.Errorf("an event of an earlier version means something else now: %+v", b)
		}
	})
	t.Run("a person decides about what agents left out", func(t *testing.T) {
		left := func() State {
			b, c := pending("B"), pending("C")
			b.PutAside(1, "amendment", "too hard")
			c.PutAside(1, "replaced")
			a := pending("A")
			a.Status = plan.Done
			s, _ := Apply(with(a, b, c), Event{ID: "x", Time: t0, Type: EvPhase, PhaseTo: &PhaseChange{To: Building}})
			s, _ = Apply(s, Event{ID: "y", Time: t0, Type: EvSession, Sess: &SessionChange{Action: "end",
				Status: NeedsReview, Reason: SetAside + "B, C", Proved: true}})
			return s
		}
		s, _ := Apply(left(), op(Operator{Command: "approve", Tasks: []plan.TaskID{"B", "C"}}))
		if s.Run.Status != Complete || !s.Plan.Complete() {
			t.Errorf("agreed: %s, complete %v", s.Run.Status, s.Plan.Complete())
		}
		unproved := left()
		unproved.Run.Proved = false
		if s, _ := Apply(unproved, op(Operator{Command: "approve", Tasks: []plan.TaskID{"B",
			"C"}})); s.Run.Status != Ready {
			t.Errorf("nothing was proved: %s", s.Run.Status)
		}
		s, _ = Apply(left(), Event{ID: "r", Time: t0, Type: EvTask, TaskSet: &TaskChange{Action: "retry",
			IDs: []plan.TaskID{"C"}, Status: plan.Pending}})
		if s.Run.Status != Ready || status(s, "C") != plan.Pending || s.Plan.Tasks[2].SkippedBy != "" {
			t.Errorf("taken back: %s, %+v", s.Run.Status, s.Plan.Tasks[2])
		}
		s, _ = Apply(left(), op(Operator{Command: "reject", Text: "do them", Tasks: []plan.TaskID{"B", "C"}}))
		if s.Run.Status != Ready || status(s, "B") != plan.Pending || len(s.Guidance) != 1 {
			t.Errorf("rejected: %s, %+v, %v", s.Run.Status, s.Plan.Tasks[1], s.Guidance)
		}
		// While the run continues approve means these tasks and nothing else.
		running := left()
		running.Run.Status = Running
		if s, _ := Apply(running, op(Operator{Command: "approve",
			Tasks: []plan.TaskID{"B"}})); s.Run.Status != Running || s.Run.Confirmed != nil || s.Plan.Tasks[1].SetAside() {
			t.Errorf("in the middle: %s, %v", s.Run.Status, s.Run.Confirmed)
		}
	})
	t.Run("a stop names a session and means no other", func(t *testing.T) {
		s, dropped := Apply(begun(), op(Operator{Command: "stop", Session: 7}))
		if s.Run.StopAsked != 0 || len(dropped) != 1 {
			t.Errorf("%v %v", s.Run.StopAsked, dropped)
		}
	})
	t.Run("reset keeps numbers and spend", func(t *testing.T) {
		s := started(with(pending("A")), "A")
		cost := int64(7)
		s, _ = Apply(s, ended("A", Result{Verdict: Keep, TaskStatus: plan.Done, CostMicro: &cost}))
		s, _ = Apply(s, op(Operator{Command: "reset"}))
		if s.Run.Iteration != 1 || s.Run.Cost.Total != 7 || len(s.Plan.Tasks) != 0 || s.Run.Status != New {
			t.Errorf("%+v", s.Run)
		}
	})
}

// TestFilesRoundTrip writes and reads the state after every event of a history that
// uses all its parts. Nothing changes by that.
func TestFilesRoundTrip(t *testing.T) {
	goal, later := "a goal\nof two lines", t0.Add(time.Hour)
	zero := 0
	full := plan.Task{ID: "T-1", Title: "ünïcode \"quoted\"", Description: "a\nb\n\n'''\n", Status: plan.Pending,
		Priority: -1, DependsOn: []plan.TaskID{"T-2"},
		Criteria: []string{"x"}, Verify: []string{"go test ./..."}, MaxAttempts: &zero, BlockedBy: []string{"why"},
		CompletedAt: &later, Failure: "it\nfailed"}
	events := []Event{
		{Type: EvInit, Init: &Init{JournalID: "j", Base: "b", Branch: "feature/x"}},
		{Type: EvPlan, Plan: &PlanChange{Reason: "import", Goal: &goal,
			Upsert: []plan.Task{full, pending("T-2"), pending("T-3")}}},
		{Type: EvSession, Session: 1, Sess: &SessionChange{Action: "begin", Number: 1, Mode: "handoff-only",
			Driver: "command"}},
		{Type: EvBaseline, Baseline: []CheckState{{Name: "test", Command: "sh test.sh", Red: true}}},
		{Type: EvOperator, Operator: &Operator{Command: "inject", ID: "g1", Text: "line one\nline \"two\""}},
		{Type: EvOperator, Operator: &Operator{Command: "set", Key: "agent.model", Value: "m"}},
		{Type: EvQuestion, Question: &Question{ID: "Q1", Text: "which?\n", Options: []string{"a", "b"}, Asked: t0}},
		{Type: EvOperator, Operator: &Operator{Command: "answer", ID: "Q1", Text: "a"}},
		{Type: EvStart, Phase: Building, Iteration: 1, Task: "T-2", Start: &Start{IterationID: "itT-2",
			Guidance: []string{"g1"}, PID: 1, StartTime: 1 << 60, BootID: "x"}},
		ended("T-2", Result{Verdict: Keep, TaskStatus: plan.Done, Commit: "c", Landed: true,
			Amendments: []json.RawMessage{json.RawMessage(`{"action":"add"}`)},
			Learned: []notes.Knowledge{{ID: "K-constraint-tabs", Type: notes.KConstraint, Status: "active",
				Source: []int{1}, Text: "must use tabs"}}, SessionMemory: "# Session\n"}),
		{Type: EvAmend, Amend: &AmendChange{Action: "add", Reason: "no id"}},
		{Type: EvContext, Context: &ContextNote{Kind: "memory", MemoryPhase: Building, Memory: "text"}},
		{Type: EvBreaker, Breaker: &BreakerChange{State: "open", Reason: "stagnation:5",
			Until: later.Format(time.RFC3339)}},
		{Type: EvReport, Report: &Report{Iteration: 1, Time: t0, Specs: []ReportSpec{{File: "specs/a.md",
			Criteria: []ReportCriterion{{Text: "c", Verdict: "pass"}}}}}},
		{Type: EvHalt, Halt: &Halt{Status: Waiting, Reason: "rate_limited", Detail: later.Format(time.RFC3339)}},
		{Type: EvSession, Session: 1, Sess: &SessionChange{Action: "end", Number: 1, Status: HaltedStatus, Reason: "x"}},
		{Type: EventType("from-the-future")},
	}
	var s State
	tree := Files{}
	for n, e := range events {
		if e.ID == "" {
			e.ID = "e" + string(rune('a'+n))
		}
		if e.Time.IsZero() {
			e.Time = t0.Add(time.Duration(n) * time.Second)
		}
		next, _ := Apply(s, e)
		for path, data := range Changes(s, next) {
			if data == nil {
				delete(tree, path)
			} else {
				tree[path] = data
			}
		}
		back, err := Decode(tree)
		if err != nil {
			t.Fatalf("after %s: %v", e.Type, err)
		}
		if d := cmp.Diff(next, back, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("after %s the state is not what was written (-was +read):\n%s", e.Type, d)
		}
		for path, data := range Changes(State{}, back) {
			if string(tree[path]) != string(data) {
				t.Fatalf("after %s %s is written in two ways", e.Type, path)
			}
		}
		files := EncodeEvent(e)
		got, err := DecodeEvent(files)
		if err != nil {
			t.Fatalf("%s: %v", e.Type, err)
		}
		again := EncodeEvent(got)
		if d := cmp.Diff(files, again); d != "" {
			t.Fatalf("%s is written in two ways:\n%s", e.Type, d)
		}
		s = next
	}
	if len(s.Knowledge) != 1 || len(s.Recent) != 1 || s.Run.LastKeep == nil {
		t.Errorf("the history did not do what it was made for: %+v", s)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := Changes(State{}, begun())
	var fe *FormatError
	if _, err := Decode(Files{"format": []byte("2\n")}); !errors.As(err, &fe) {
		t.Errorf("a newer format: %v", err)
	}
	bad := Files{}
	for p, d := range good {
		bad[p] = d
	}
	bad["run.toml"] = []byte("phase = \x00")
	var de *DecodeError
	if _, err := Decode(bad); !errors.As(err, &de) || de.Path != "run.toml" {
		t.Errorf("a damaged file: %v", err)
	}
	for _, id := range []string{"../../heads", "..", ".x", "a/b", `a\b`, "a b", "a\n"} {
		hostile := begun()
		hostile.Journal.ID = id
		if _, err := Decode(Changes(State{}, hostile)); !errors.As(err, &de) || de.Path != "journal.toml" {
			t.Errorf("the journal id %q: %v", id, err)
		}
		hostile = begun()
		hostile.Run.Current = &Current{EventID: id}
		if _, err := Decode(Changes(State{}, hostile)); !errors.As(err, &de) || de.Path != "run.toml" {
			t.Errorf("the event id %q of the iteration in work: %v", id, err)
		}
		for why, e := range map[string]Event{"event": {ID: id, Type: EvSession},
			"iteration": {ID: "e", Type: EvStart, Start: &Start{IterationID: id}},
			"journal":   {ID: "e", Type: EvInit, Init: &Init{JournalID: id}}} {
			if _, err := DecodeEvent(EncodeEvent(e)); !errors.As(err, &de) || de.Path != "event/event.json" {
				t.Errorf("the id %q of an %s: %v", id, why, err)
			}
		}
	}
}

// FuzzDecode: damaged trees are errors, never panics, and what can be read can
// be applied to.
func FuzzDecode(f *testing.F) {
	for path, data := range Changes(State{}, with(pending("A"))) {
		f.Add(path, data)
	}
	f.Add("knowledge/K-x.md", []byte("+++\nid = 'K-x'\n+++\ntext"))
	f.Add("recent/1.json", []byte("{}"))
	base := Changes(State{}, with(pending("A")))
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		tree := Files{path: data}
		for p, d := range base {
			if _, ok := tree[p]; !ok {
				tree[p] = d
			}
		}
		s, err := Decode(tree)
		if err != nil {
			return
		}
		s, _ = Apply(s, Event{ID: "x", Time: t0, Type: EvSession, Sess: &SessionChange{Action: "begin", Number: 1}})
		Message(Event{ID: "x", Type: EvPlan, Plan: &PlanChange{Upsert: s.Plan.Tasks}}, s)
	})
}
