package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/plan"
)

// claimEvent is a change of a claim on task A.
func claimEvent(id, actor, action, over string) Event {
	return Event{ID: id, Actor: actor, Time: t0.Add(time.Hour), Type: EvClaim, Task: "A", Iteration: 7, Attempt: 1,
		Claim: &ClaimChange{Action: action, Over: over, Worker: "main", Lease: "3m"}}
}

// TestGuidanceOfWorkers: each worker of a run has a note once, with the task of its next
// prompt, until that task ends.
func TestGuidanceOfWorkers(t *testing.T) {
	s := with(pending("A"), pending("B"), pending("C"), pending("D"))
	n := 0
	do := func(e Event) {
		n++
		if e.Time = t0.Add(time.Duration(n) * time.Minute); e.ID == "" {
			e.ID = fmt.Sprint("e", n)
		}
		s, _ = Apply(s, e)
	}
	work := func(task plan.TaskID, worker string) (shown bool) {
		do(Event{ID: "c-" + string(task), Actor: "ann", Type: EvClaim, Task: task, Iteration: n,
			Claim: &ClaimChange{Action: "take", Worker: worker}})
		start := &Start{IterationID: "i-" + string(task)}
		for _, g := range s.Guidance {
			if s.Carries(g, task) {
				start.Guidance = append(start.Guidance, g.ID)
			}
		}
		do(Event{Actor: "ann", Type: EvStart, Phase: Building, Iteration: n, Task: task, Under: "c-" + string(task),
			Start: start})
		return len(start.Guidance) > 0
	}
	done := func(task plan.TaskID) {
		do(Event{ID: "i-" + string(task), Actor: "ann", Type: EvIteration, Phase: Building, Task: task,
			Under: "c-" + string(task), Result: &Result{Verdict: Keep, TaskStatus: plan.Done}})
	}
	begin := func(workers int) { do(Event{Type: EvSession, Sess: &SessionChange{Action: "begin", Workers: workers}}) }
	begin(2)
	if work("A", "one") {
		t.Error("a note before there is one")
	}
	do(Event{Type: EvOperator, Operator: &Operator{Command: "inject", ID: "g", Text: "mind the gap"}})
	if !work("B", "two") {
		t.Error("the second worker's first prompt has no note")
	}
	done("B")
	if work("C", "two") {
		t.Error("it has the note with its next task, too")
	}
	done("A")
	if len(s.Guidance) != 1 {
		t.Fatalf("the first worker has not had it: %+v", s.Guidance)
	}
	if !work("D", "one") {
		t.Error("the first worker's next prompt has no note")
	}
	done("D")
	if len(s.Guidance) != 0 {
		t.Errorf("after the tasks: %+v", s.Guidance)
	}
	do(Event{Type: EvOperator, Operator: &Operator{Command: "inject", ID: "h", Text: "again"}})
	done("C")
	begin(0)
	if len(s.Guidance) != 1 || !s.Carries(s.Guidance[0], "E") {
		t.Errorf("a note that no worker has had is lost: %+v", s.Guidance)
	}
	do(Event{Type: EvOperator, Operator: &Operator{Command: "inject", ID: "k", Text: "one", Tasks: []plan.TaskID{"B"}}})
	if g := s.Guidance[1]; s.Carries(g, "A") || !s.Carries(g, "B") {
		t.Errorf("a note for one task: %+v", g)
	}
}

// TestClaims: one worker holds a task. An event of another worker for it has no
// effect but its cost.
func TestClaims(t *testing.T) {
	start := func(actor, under string) Event {
		return Event{ID: "s", Actor: actor, Time: t0, Type: EvStart, Phase: Building, Iteration: 7, Task: "A", Under: under,
			Start: &Start{IterationID: "i-" + actor}}
	}
	end := func(actor, under string) Event {
		return Event{ID: "i-" + actor, Actor: actor, Time: t0, Type: EvIteration, Phase: Building, Iteration: 7, Task: "A",
			Under: under, Result: &Result{Verdict: Keep, TaskStatus: plan.Done, Commit: "c-" + actor, Landed: true,
				Tokens: Tokens{Input: 5}}}
	}
	skip := Event{ID: "k", Time: t0, Type: EvTask, TaskSet: &TaskChange{Action: "skip", IDs: []plan.TaskID{"A"},
		Status: plan.Skipped}}
	for _, row := range []struct {
		why     string
		events  []Event
		tasks   string
		holder  string // of the claim on A
		dropped string // of the last event
	}{
		{"a claim puts the task into work", []Event{claimEvent("c1", "ann", "take", "")}, "A in_progress", "ann", ""},
		{"the first one wins", []Event{claimEvent("c1", "ann", "take", ""), claimEvent("c2", "bob", "take", "")},
			"A in_progress", "ann", "is claimed by ann"},
		{"a takeover names what it takes over", []Event{claimEvent("c1", "ann", "take", ""),
			claimEvent("c2", "bob", "take", "c1")}, "A in_progress", "bob", ""},
		{"of two takeovers one comes first", []Event{claimEvent("c1", "ann", "take", ""),
			claimEvent("c2", "bob", "take", "c1"), claimEvent("c3", "cid", "take", "c1")}, "A in_progress", "bob",
			"is claimed by bob"},
		{"a released task is free", []Event{claimEvent("c1", "ann", "take", ""), claimEvent("r", "ann", "release", "c1")},
			"A pending", "", ""},
		{"nobody releases what was taken over", []Event{claimEvent("c1", "ann", "take", ""),
			claimEvent("c2", "bob", "take", "c1"), claimEvent("r", "ann", "release", "c1")}, "A in_progress", "bob",
			"is claimed by bob"},
		{"the end of the iteration ends the claim", []Event{claimEvent("c1", "ann", "take", ""), start("ann", "c1"),
			end("ann", "c1")}, "A done", "", ""},
		{"a late result has no effect", []Event{claimEvent("c1", "ann", "take", ""), start("ann", "c1"),
			claimEvent("c2", "bob", "take", "c1"), start("bob", "c2"), end("ann", "c1")}, "A in_progress", "bob",
			"is claimed by bob"},
		{"a late result of a task that is done has none", []Event{claimEvent("c1", "ann", "take", ""), start("ann", "c1"),
			claimEvent("c2", "bob", "take", "c1"), start("bob", "c2"), end("bob", "c2"), end("ann", "c1")}, "A done", "",
			"the claim is gone"},
		{"who claimed nothing ends nothing", []Event{claimEvent("c1", "ann", "take", ""), end("bob", "")},
			"A in_progress", "ann", "is claimed by ann"},
		{"a person's word ends the claim", []Event{claimEvent("c1", "ann", "take", ""), skip}, "A skipped", "", ""},
		{"what is not free cannot be claimed", []Event{skip, claimEvent("c1", "ann", "take", "")}, "A skipped", "",
			"is skipped meanwhile"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := with(pending("A"))
			var dropped []Superseded
			for _, e := range row.events {
				s, dropped = Apply(s, e)
			}
			holder := ""
			if c := s.ClaimOf("a"); c != nil {
				holder = c.Actor
			}
			reason := ""
			if len(dropped) > 0 {
				reason = dropped[0].Reason
			}
			if got := tasksOf(s); got != row.tasks || holder != row.holder || reason != row.dropped {
				t.Errorf("tasks %q, holder %q, dropped %q; want %q, %q, %q", got, holder, reason, row.tasks, row.holder,
					row.dropped)
			}
			again, err := Decode(Changes(State{}, s))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s.Claims, again.Claims, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("read again the claims differ: %s", d)
			}
		})
	}
}

// TestForIsTheViewOfOneWorker: each worker finds its own current iteration.
func TestForIsTheViewOfOneWorker(t *testing.T) {
	s := with(pending("A"), pending("B"))
	for _, actor := range []string{"ann", "bob"} {
		e := claimEvent("c-"+actor, actor, "take", "")
		if actor == "bob" {
			e.Task = "B"
		}
		s, _ = Apply(s, e)
		s, _ = Apply(s, Event{ID: "s-" + actor, Actor: actor, Time: t0, Type: EvStart, Phase: Building, Task: e.Task,
			Under: e.ID, Start: &Start{IterationID: "i-" + actor}})
	}
	for _, actor := range []string{"ann", "bob"} {
		if c := s.For(actor, "main").Run.Current; c == nil || c.EventID != "i-"+actor {
			t.Errorf("%s finds %+v", actor, c)
		}
	}
	if c := s.For("ann", "other").Run.Current; c != nil || s.Run.Current != nil || len(s.InWork()) != 2 {
		t.Errorf("another worktree of ann finds %+v; in work: %d", c, len(s.InWork()))
	}
}
