package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ralph/notes"
	"git-ralph/plan"
)

// TestMessage: what `git log` shows of each kind of entry. Every row's event is
// also written and read, and its message must not change by that.
func TestMessage(t *testing.T) {
	cost := int64(1234567)
	many := make([]plan.Task, 60)
	ids := make([]plan.TaskID, 30)
	for i := range many {
		many[i] = pending(fmt.Sprintf("T-%03d", i+1))
	}
	for i := range ids {
		ids[i] = many[i].ID
	}
	numbers := make([]int, 25)
	for i := range numbers {
		numbers[i] = i + 1
	}
	rows := []struct {
		why     string
		event   Event
		subject string
		body    []string
	}{
		{"the first", Event{Type: EvInit, Init: &Init{Base: "abc"}}, "init: journal of main",
			[]string{"The branch stood at abc."}},
		{"a phase after another", Event{Type: EvPhase, PhaseTo: &PhaseChange{From: Planning, To: Building,
			Reason: "approved"}},
			"phase: planning to building", []string{"approved"}},
		{"the same phase anew, for a request", Event{Type: EvPhase, PhaseTo: &PhaseChange{From: Discovery, To: Discovery,
			Request: "make it blue"}}, "phase: discovery begins", []string{"make it blue"}},
		{"one task", Event{Type: EvPlan, Plan: &PlanChange{Reason: "add", Upsert: many[:1], Source: "TODO.md"}},
			"plan: add T-001 do T-001", []string{"From TODO.md.", "- T-001 do T-001"}},
		{"many tasks are cut", Event{Type: EvPlan, Plan: &PlanChange{Reason: "import", Upsert: many}},
			"plan: import 60 tasks", []string{"- T-050 do T-050\n… and 10 more"}},
		{"what leaves the plan", Event{Type: EvPlan, Plan: &PlanChange{Reason: "planning", Remove: ids[:1], Aside: ids[1:3],
			AsideWhy: "replaced"}}, "plan: planning, 1 removed, 2 set aside",
			[]string{"- T-002 is set aside: replaced", "- T-001 is gone"}},
		{"an amendment", Event{Type: EvAmend, Amend: &AmendChange{Action: "add", TaskID: "T-009", Accepted: true,
			Reason: "useful"}},
			"amend: accept add T-009", []string{"useful"}},
		{"a refused amendment", Event{Type: EvAmend, Amend: &AmendChange{Action: "remove", TaskID: "A",
			Reason: "not its own"}},
			"amend: refuse remove A", []string{"not its own"}},
		{"one task by a person", Event{Type: EvTask, TaskSet: &TaskChange{Action: "skip", IDs: []plan.TaskID{"A"},
			Reason: "later"}},
			"task: skip A do A", []string{"later"}},
		{"many tasks by a rule", Event{Type: EvTask, TaskSet: &TaskChange{Action: "fail", IDs: ids[:7], Reason: "r",
			Rule: "attempts_exhausted"}}, "task: fail T-001 T-002 T-003 T-004 T-005 and 2 more",
			[]string{"r\n\n  Rule: attempts_exhausted"}},
		{"tests may change", Event{Type: EvTask, TaskSet: &TaskChange{Action: "retry", IDs: []plan.TaskID{"gone"},
			AllowTestChanges: true}}, "task: retry gone", []string{"Tests may be changed."}},
		{"a start", Event{Type: EvStart, Iteration: 3, Task: "A", Phase: Building, Attempt: 2,
			Start: &Start{Checkpoint: "cp",
				Tip: "tip", Agent: "claude", Model: "m", Sandbox: "namespaces", Guidance: []string{"g1", "g2"}}},
			"iteration 3: start A do A (attempt 2)", []string{"Ralph-Iteration: 3", "Ralph-Task: A", "Ralph-Attempt: 2",
				"Ralph-Checkpoint: cp", "Ralph-Tip: tip", "Ralph-Agent: claude m", "Ralph-Guidance: g1 g2"}},
		{"a start without a task", Event{Type: EvStart, Iteration: 1, Phase: Planning, Start: &Start{}},
			"iteration 1: start planning", []string{"Ralph-Phase: planning"}},
		{"how an iteration ended", Event{Type: EvIteration, Iteration: 3, Task: "A", Phase: Building, Result: &Result{
			Verdict: Reject, Partial: true, Summary: "tried", Reasons: []string{"checks: test", "criteria"},
			Detail: "see there",
			Agent:  "claude", Model: "m", Tokens: Tokens{1, 2, 3, 4}, CostMicro: &cost, Turns: 5, APICalls: 6, DurationMs: 7,
			Sandbox: "landlock", Commit: "c", Evidence: "e",
			Handoff: &notes.Record{Handoff: notes.Handoff{Freeform: "it was hard"}},
			Checks: []CheckRun{{Name: "a", Passed: true}, {Name: "b", ExitCode: 3}, {Name: "c", Passed: true, Flaky: true},
				{Name: "d", AlreadyRed: true}, {Name: "e", Tolerated: true}, {Name: "f", TimedOut: true}, {Name: "g",
					NoTests: true},
				{Name: "h", Skipped: "not due"}, {Name: "i", Kind: "step", Passed: true}},
			Notices: []string{"the disk is slow"}}},
			"iteration 3: reject A do A", []string{"tried", "Rejected: checks: test; criteria\nsee there", "it was hard",
				"- a: passed\n- b: failed with 3\n- c: passed, flaky\n- d: already red\n- e: failed, and may\n- f: timeout\n" +
					"- g: failed, no test ran\n- h: skipped, not due\n- step i: passed\n- the disk is slow",
				"Ralph-Verdict: reject (partial)", "Ralph-Reason: checks: test; criteria", "Ralph-Commit: c", "Ralph-Evidence: e",
				"Ralph-Tokens: input=1 output=2 cache-read=3 cache-write=4", "Ralph-Cost-USD: 1.2346", "Ralph-Turns: 5",
				"Ralph-Api-Calls: 6", "Ralph-Duration-Ms: 7", "Ralph-Sandbox: landlock"}},
		{"knowledge", Event{Type: EvKnowledge, Knowledge: &KnowledgeChange{Source: "agent",
			Add: []notes.Knowledge{{ID: "K-1", Text: "the build\nis slow"}}}}, "knowledge: 1 from agent",
			[]string{"- K-1: the build is slow"}},
		{"an operator", Event{Type: EvOperator, Operator: &Operator{Command: "set", Key: "loop.max", Value: "3",
			Text: "hurry"}},
			"operator: set loop.max 3", []string{"hurry"}},
		{"the breaker", Event{Type: EvBreaker, Breaker: &BreakerChange{State: "open", Reason: "5 failures"}},
			"breaker: open",
			[]string{"5 failures", "Ralph-Breaker: open", "Ralph-Reason: 5 failures"}},
		{"a halt", Event{Type: EvHalt, Halt: &Halt{Status: NeedsReview, Reason: "plan", Detail: "look at it"}},
			"halt: needs_review", []string{"plan\n\nlook at it", "Ralph-Status: needs_review"}},
		{"a session begins", Event{Type: EvSession, Session: 4, Sess: &SessionChange{Action: "begin"}}, "session 4: begin",
			[]string{"Ralph-Session: 4"}},
		{"a session ends", Event{Type: EvSession, Session: 4, Sess: &SessionChange{Action: "end", Status: Complete,
			Reason: "done"}},
			"session 4: end, complete", []string{"Ralph-Status: complete", "Ralph-Reason: done"}},
		{"a rewind", Event{Type: EvRewind, Rewind: &Rewind{To: 2, Commit: "c", Reverted: numbers, NotFound: []int{1},
			Tasks: ids}}, "rewind: to iteration 2", []string{"20, and 5 more.", "Not in the branch any more: 1.",
			"T-020 and 10 more.", "Ralph-Commit: c"}},
		{"a question", Event{Type: EvQuestion, Question: &Question{ID: "Q1", Text: "which colour?"}}, "question Q1",
			[]string{"which colour?"}},
		{"context", Event{Type: EvContext, Context: &ContextNote{Kind: "prep", Action: "done", Reason: "r", Detail: "d"}},
			"context: prep done", []string{"r\n\nd"}},
		{"stuck", Event{Type: EvStuck, Task: "A", Stuck: &Stuck{Reason: "twice the same"}}, "stuck: A do A",
			[]string{"twice the same"}},
		{"a pass", Event{Type: EvPass, Pass: &PassResult{Name: "critic", Findings: "too large"}}, "pass: critic",
			[]string{"too large"}},
		{"a baseline", Event{Type: EvBaseline, Baseline: []CheckState{{Name: "test", Red: true}, {Name: "lint"}}},
			"baseline",
			[]string{"- test: already red\n- lint: green"}},
		{"a report", Event{Type: EvReport, Report: &Report{Passed: true}}, "report: validation passed", nil},
		{"a bad report", Event{Type: EvReport, Report: &Report{}}, "report: validation failed", nil},
		{"an event without content is named by its kind", Event{Type: EvMerge}, "merge", nil},
		{"a plan without content", Event{Type: EvPlan}, "plan", nil},
		{"what had no effect", Event{Type: EvMerge, Superseded: []Superseded{{"A", "is done"}}}, "merge",
			[]string{"Ralph-Superseded: A: is done"}},
	}
	s := with(pending("A"))
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			r.event.ID, r.event.Actor, r.event.Time = "e9", "m1", t0
			msg := Message(r.event, s)
			subject, body, _ := strings.Cut(msg, "\n\n")
			if subject != r.subject {
				t.Errorf("the subject is %q, not %q", subject, r.subject)
			}
			for _, want := range slices.Concat(r.body, []string{"Ralph-Event: " + string(r.event.Type), "Ralph-Event-Id: e9",
				"Ralph-Actor: m1"}) {
				if !strings.Contains(body, want) {
					t.Errorf("the message does not say %q:\n%s", want, msg)
				}
			}
			read, err := DecodeEvent(EncodeEvent(r.event))
			if err != nil {
				t.Fatal(err)
			}
			if again := Message(read, s); again != msg {
				t.Errorf("written and read it says\n%s\nnot\n%s", again, msg)
			}
		})
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	whole := Event{Type: EvIteration, Result: &Result{Handoff: &notes.Record{}, Plan: &PlanChange{
		Upsert: []plan.Task{pending("A")}}}}
	for path, why := range map[string]string{"event/event.json": "what happened",
		"event/handoff.json": "what the agent said",
		"event/tasks/A.toml": "a task of a plan"} {
		f := EncodeEvent(whole)
		if _, err := DecodeEvent(f); err != nil {
			t.Fatal(err)
		}
		f[path] = []byte("{")
		if _, err := DecodeEvent(f); err == nil || !strings.Contains(err.Error(), "read "+path+" of the journal: ") {
			t.Errorf("%s is damaged: %v", why, err)
		}
		delete(f, path)
		if _, err := DecodeEvent(f); path != "event/handoff.json" && err == nil {
			t.Errorf("%s is not there: %v", why, err)
		}
	}
}

func TestProvedInALine(t *testing.T) {
	count := CriteriaCount{}
	for _, mark := range []string{"proved", "judged", "judged", "failed", "unjudged", "of a later version"} {
		count.Add(mark)
	}
	rows := []struct {
		why  string
		p    Proved
		want string
	}{
		{"nothing was asked", Proved{}, "nothing was checked as a whole; criteria: 0 proved, 0 judged, 0 unjudged"},
		{"no checks", Proved{Whole: true}, "there are no checks; criteria: 0 proved, 0 judged, 0 unjudged"},
		{"everything", Proved{Whole: true, Green: 1, Checks: 3, Red: []string{"a", "b"}, Tolerated: []string{"c"},
			Criteria: count, LeftOut: []LeftOut{{ID: "A", ByAgent: true, Reasons: []string{"x", "y"}}, {ID: "B"}}},
			"1 of 3 checks green, red: a, b, red and allowed to fail: c; criteria: 1 proved, 2 judged, 2 unjudged, 1 failed; " +
				"left out: A by an agent (x; y), B by a person"},
	}
	for _, r := range rows {
		if got := r.p.String(); got != r.want {
			t.Errorf("%s: %s", r.why, got)
		}
	}
}

func TestUnmet(t *testing.T) {
	agreed := &ReportVerdict{Approved: true}
	spec := ReportSpec{Criteria: []ReportCriterion{{Verdict: "pass", Mark: "proved"}, {Verdict: "pass"},
		{Verdict: "fail", Mark: "unjudged"}, {Verdict: "fail", Mark: "judged"}}}
	rows := []struct {
		why  string
		r    *Report
		want string
	}{
		{"no report", nil, ""},
		{"nobody agreed", &Report{}, ""},
		{"a person said no", &Report{Approved: &ReportVerdict{}}, ""},
		{"all was shown", &Report{Passed: true, Approved: agreed}, ""},
		{"no reason is named", &Report{Approved: agreed}, "approved with a validation that failed"},
		{"each reason is named", &Report{Approved: agreed, Specs: []ReportSpec{spec}, Tasks: []ReportUnmet{{ID: "A"}},
			Checks: []ReportCheck{{Passed: true}, {}, {Tolerated: true}}},
			"approved with 1 of 3 checks red, 2 of 4 criteria unmet, unfinished tasks: 1"},
	}
	for _, r := range rows {
		if got := r.r.Unmet(); got != r.want {
			t.Errorf("%s: %q", r.why, got)
		}
	}
	if got := (Report{Specs: []ReportSpec{spec}}).Count().String(); got != "1 proved, 1 judged, 1 unjudged, 1 failed" {
		t.Error(got)
	}
}
