package loop

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func TestDecidePhase(t *testing.T) {
	task := func(id string, st plan.Status, after ...plan.TaskID) plan.Task {
		return plan.Task{ID: plan.TaskID(id), Title: id, Status: st, DependsOn: after}
	}
	passed := &state.Report{Passed: true}
	failed := &state.Report{Specs: []state.ReportSpec{{File: "specs/a.md",
		Criteria: []state.ReportCriterion{{Text: "c", Verdict: "fail"}}}}}
	said := func(r *state.Report, v state.ReportVerdict) *state.Report { c := *r; c.Approved = &v; return &c }
	with := func(p state.Phase, done bool, f func(*state.State)) state.State {
		s := state.State{Run: state.Run{Phase: p, PhaseDone: done}}
		if f != nil {
			f(&s)
		}
		return s
	}
	all := Gates{Specs: true, Plan: true, Report: true, Rounds: 3}
	open := Gates{Rounds: 3}
	for name, c := range map[string]struct {
		s     state.State
		g     Gates
		kind  ActionKind
		phase state.Phase
		st    state.Status
		says  string
	}{
		"a request begins with discovery": {with(state.Discovery, false, func(s *state.State) { s.Run.Request = "x" }), all,
			RunPhase, state.Discovery, "", ""},
		"an imported plan needs none": {with(state.Discovery, false,
			func(s *state.State) { s.Plan.Tasks = []plan.Task{task("A", plan.Pending)} }), all, Advance, state.Building, "",
			"the plan has tasks"},
		"an open question comes before everything": {with(state.Discovery, true, func(s *state.State) {
			s.Questions = []state.Question{{ID: "Q1", Answered: true}, {ID: "Q2"}}
		}), open, Halt, "", state.Paused, "waiting for answers: Q2"},
		"specs want to be approved": {with(state.Discovery, true, nil), all, Halt, "",
			state.NeedsReview, "the specs are waiting to be approved"},
		"approved specs are planned": {with(state.Discovery, true,
			func(s *state.State) { s.Run.Confirmed = []string{"discovery"} }), all, Advance, state.Planning, "", ""},
		"nobody wants to be asked": {with(state.Discovery, true, nil), open, Advance,
			state.Planning, "", "the specs are written"},
		"the approval of another phase says nothing about the plan": {with(state.Planning, true,
			func(s *state.State) { s.Run.Confirmed = []string{"discovery"} }), all, Halt, "", state.NeedsReview,
			"the plan is waiting to be approved"},
		"a plan is built": {with(state.Planning, true, func(s *state.State) {
			s.Plan.Tasks = []plan.Task{task("A", plan.Pending), task("B", plan.Done)}
		}), open, Advance, state.Building, "", "1 tasks are planned"},
		"work is done while there is some": {with(state.Building, false,
			func(s *state.State) { s.Plan.Tasks = []plan.Task{task("A", plan.Pending)} }), open, RunPhase, state.Building, "",
			""},
		"nothing was ever planned": {with(state.Building, false, nil), open, Halt, "", state.New,
			"the plan is empty"},
		"done work is validated": {with(state.Building, false,
			func(s *state.State) { s.Plan.Tasks = []plan.Task{task("A", plan.Done)} }), open, Advance, state.Validation, "",
			"every task"},
		"so is work that is stuck": {with(state.Building, false,
			func(s *state.State) { s.Plan.Tasks = []plan.Task{task("A", plan.Failed), task("B", plan.Pending, "A")} }), open,
			Advance, state.Validation, "", "no task can be worked on"},
		"a report of an earlier validation is none": {with(state.Validation, false,
			func(s *state.State) { s.Report = passed }), open, RunPhase, state.Validation, "", ""},
		"passed is complete": {with(state.Validation, true,
			func(s *state.State) { s.Report = passed }), open, Halt, "", state.Complete, ""},
		"passed, and a person wants to see it": {with(state.Validation, true,
			func(s *state.State) { s.Report = passed }), all, Halt, "", state.NeedsReview,
			"passed and is waiting to be approved"},
		"approved is complete, also what failed": {with(state.Validation, true,
			func(s *state.State) { s.Report = said(failed, state.ReportVerdict{Approved: true}) }), all, Halt, "",
			state.Complete, ""},
		"rejected goes back": {with(state.Validation, true,
			func(s *state.State) { s.Report = said(passed, state.ReportVerdict{Reason: "ugly"}) }), all, Advance, state.Building,
			"", "rejected: ugly"},
		"what failed goes back": {with(state.Validation, true,
			func(s *state.State) { s.Report = failed }), open, Advance, state.Building, "", "0 of 1 criteria met"},
		"but not for ever": {with(state.Validation, true,
			func(s *state.State) { s.Report, s.Run.Rounds = failed, 3 }), open, Halt, "", state.NeedsReview, "after 3 returns"},
		"and not when nothing new would come of it": {with(state.Validation, true,
			func(s *state.State) { s.Report = &state.Report{Tasks: []state.ReportUnmet{{ID: "A"}}} }), open, Halt, "",
			state.BlockedStatus, ""},
		"a task that was added meanwhile and cannot be worked on is not complete": {with(state.Validation, true,
			func(s *state.State) {
				s.Report = passed
				s.Plan.Tasks = []plan.Task{task("A", plan.Skipped), task("B", plan.Pending, "A")}
			}), open, Halt, "", state.BlockedStatus, "since the validation: B"},
		"nor when what was there before was approved": {with(state.Validation, true, func(s *state.State) {
			s.Report = said(passed, state.ReportVerdict{Approved: true})
			s.Plan.Tasks = []plan.Task{task("A", plan.Blocked)}
		}), all, Halt, "", state.BlockedStatus, "since the validation: A"},
		"a task that a person added meanwhile is worked": {with(state.Validation, true,
			func(s *state.State) { s.Report, s.Plan.Tasks = passed, []plan.Task{task("A", plan.Pending)} }), open, Advance,
			state.Building, "", "there is work to do"},
	} {
		t.Run(name, func(t *testing.T) {
			a := DecidePhase(c.s, c.g)
			if a.Kind != c.kind || a.Phase != c.phase || a.Status != c.st || !strings.Contains(a.Reason, c.says) {
				t.Errorf("decided %+v", a)
			}
		})
	}
}

func TestNext(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	task := func(id string, st plan.Status, after ...plan.TaskID) plan.Task {
		return plan.Task{ID: plan.TaskID(id), Title: id, Status: st, DependsOn: after}
	}
	at := func(p state.Phase, tasks ...plan.Task) state.State {
		return state.State{Run: state.Run{Phase: p}, Plan: plan.Plan{Tasks: tasks}}
	}
	with := func(s state.State, set func(*state.Run)) state.State { set(&s.Run); return s }
	pending, done := task("A", plan.Pending), task("A", plan.Done)
	aside := task("B", plan.Skipped)
	aside.SkippedBy, aside.BlockedBy = plan.ByAgent, []string{"too hard"}
	stuck := []plan.Task{task("A", plan.Failed), task("B", plan.Pending, "A")}
	start, run := RunOptions{Build: true}, RunOptions{}
	money := Limits{TotalMicroUSD: 1}
	spent := func(r *state.Run) { r.Cost.Total = 5 }
	for _, c := range []struct {
		why      string
		s        state.State
		c        RunOptions
		lim      Limits
		prepared bool
		want     Action
	}{
		{"a person's stop comes first", with(at(state.Building, pending),
			func(r *state.Run) { r.Session, r.StopAsked = 2, 2 }), start, Limits{}, false,
			Action{Kind: Halt, Status: state.Stopped, Reason: "stopped by the operator"}},
		{"also in a phase", with(at(state.Planning), func(r *state.Run) { r.PauseAsked = true }), run, Limits{}, false,
			Action{Kind: Wait, Status: state.Paused, Reason: "paused by the operator"}},
		{"building is prepared", at(state.Building, pending), start, Limits{}, false, Action{Kind: Prepare}},
		{"in the lifecycle as well", at(state.Building, pending), run, Limits{}, false, Action{Kind: Prepare}},
		{"then it works", at(state.Building, pending), start, Limits{}, true, Action{Kind: Work, Task: "A"}},
		{"which every run does alike", at(state.Building, pending), run, Limits{}, true, Action{Kind: Work, Task: "A"}},
		{"start proves what is complete", at(state.Building, done), start, Limits{}, true,
			Action{Kind: Prove, Status: state.Complete}},
		{"also before a person is asked", at(state.Building, done, aside), start, Limits{}, true,
			Action{Kind: Prove, Status: state.NeedsReview, Reason: "set_aside: B too hard"}},
		{"start ends where it is blocked", at(state.Building, stuck...), start, Limits{}, true,
			Action{Kind: Halt, Status: state.BlockedStatus, Reason: "no task can be worked on"}},
		{"the lifecycle validates what is complete", at(state.Building, done), run, Limits{}, true,
			Action{Kind: Advance, Phase: state.Validation, Reason: "every task is done or skipped"}},
		{"and what is blocked", at(state.Building, stuck...), run, Limits{}, true,
			Action{Kind: Advance, Phase: state.Validation, Reason: "no task can be worked on"}},
		{"without preparing for nothing", at(state.Building, done), run, Limits{}, false,
			Action{Kind: Advance, Phase: state.Validation, Reason: "every task is done or skipped"}},
		{"an empty plan is nobody's work", at(state.Building), run, Limits{}, false,
			Action{Kind: Halt, Status: state.New, Reason: "the plan is empty"}},
		{"a budget holds while building", with(at(state.Building, pending), spent), run, money, true,
			Action{Kind: OpenBreaker, Reason: "cost_limit:$0.00"}},
		{"a phase runs its agent", at(state.Planning), run, Limits{}, false, Action{Kind: RunPhase, Phase: state.Planning}},
		{"as far as the budget goes", with(at(state.Planning), spent), run, money, false,
			Action{Kind: OpenBreaker, Reason: "cost_limit:$0.00"}},
		{"and the breaker", with(at(state.Validation), func(r *state.Run) {
			r.Breaker = state.Breaker{State: "open",
				Reason: "x"}
		}), run, Limits{}, false,
			Action{Kind: Halt, Status: state.HaltedStatus, Reason: "x"}},
		{"a transition needs no money", with(with(at(state.Planning, pending), spent),
			func(r *state.Run) { r.PhaseDone = true }), run, money, false,
			Action{Kind: Advance, Phase: state.Building, Reason: "1 tasks are planned"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			got := Next(c.s, c.c, Rules{Limits: c.lim, Gates: Gates{Rounds: 3}, Prepared: c.prepared}, now)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestUnmetTasks(t *testing.T) {
	rep := state.Report{Checks: []state.ReportCheck{{Name: "test"}, {Name: "lint", Passed: true}},
		Specs: []state.ReportSpec{{File: "specs/a.md", Criteria: []state.ReportCriterion{{Text: "met", Verdict: "pass"},
			{Text: "missing", Verdict: "fail", Evidence: "no such file"},
			{Text: "again", Verdict: "fail"}, {Text: "given up", Verdict: "fail"}}}}}
	p := plan.Plan{Tasks: []plan.Task{{ID: "T-001", Title: "missing", Spec: "specs/a.md", Status: plan.Done},
		{ID: "T-002", Title: "again", Spec: "specs/a.md", Status: plan.Failed},
		{ID: "T-003", Title: "given up", Spec: "specs/a.md", Status: plan.Skipped}}}
	var got []string
	for _, x := range unmetTasks(rep, p) {
		got = append(got, string(x.ID)+" "+x.Title+" "+x.Spec+" "+strings.Join(x.Verify, ","))
	}
	// A done task that fails again becomes a new task. An unfinished or skipped
	// task is not added twice.
	if d := cmp.Diff([]string{"T-004 make the checks pass in a fresh checkout: test  test", "T-005 missing specs/a.md "},
		got); d != "" {
		t.Error(d)
	}
	if err := (plan.Plan{Tasks: append(p.Tasks, unmetTasks(rep, p)...)}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestJudgeCriterion(t *testing.T) {
	look := func(r session.CriterionReport) (string, string) {
		switch {
		case r.Command != "":
			return markProved, "it ran"
		case r.File != "":
			return markJudged, "it is there"
		}
		return markUnjudged, "words alone"
	}
	r := func(verdict, evidence string) session.CriterionReport {
		return session.CriterionReport{Spec: "s", Criterion: "c", Verdict: verdict, Evidence: evidence}
	}
	ran, seen := r("pass", "e"), r("pass", "e")
	ran.Command, seen.File, seen.Quote = "x", "f", "q"
	other, elsewhere := ran, ran
	other.Criterion, elsewhere.Spec = "d", "t"
	for name, c := range map[string]struct {
		reports                 []session.CriterionReport
		verdict, mark, evidence string
	}{
		"not reported fails": {nil, "fail", markUnjudged, "not reported"},
		"reported for another criterion": {[]session.CriterionReport{other, elsewhere}, "fail", markUnjudged,
			"not reported"},
		"a command that ran":    {[]session.CriterionReport{ran}, "pass", markProved, "it ran"},
		"a place that is there": {[]session.CriterionReport{seen}, "pass", markJudged, "it is there"},
		"a pass in words": {[]session.CriterionReport{r("pass", "e")}, "fail", markUnjudged,
			"words alone"},
		"fail wins, whatever comes afterward": {[]session.CriterionReport{r("fail", "seen"), ran}, "fail", markJudged,
			"seen"},
		"fail wins, whatever came before": {[]session.CriterionReport{ran, r("fail", "seen")}, "fail", markJudged,
			"seen"},
	} {
		t.Run(name, func(t *testing.T) {
			got := judgeCriterion("s", "c", c.reports, look)
			if got.Verdict != c.verdict || got.Mark != c.mark || got.Evidence != c.evidence {
				t.Errorf("judged %+v", got)
			}
		})
	}
}

// An agent may write a file for the judge that only repeats the criterion.
func TestRepeatsCriterion(t *testing.T) {
	const criterion = "Add adds two numbers."
	for quote, want := range map[string]bool{
		"Add adds two numbers.":             true,
		"// add adds two\n// numbers":       true,
		"DONE: `Add` adds two numbers - ok": true,
		"func Add(a, b int) int":            false,
		"adds two numbers":                  false,
	} {
		if got := repeats(quote, criterion); got != want {
			t.Errorf("%q: %v", quote, got)
		}
	}
	if repeats("const ready = true", "ready") {
		t.Error("one word of code repeats a criterion")
	}
}

func TestFindQuote(t *testing.T) {
	const text = "package a\n\n// Add adds.\nfunc Add(a, b int) int {\n\treturn a + b\n}\nok\n"
	for quote, want := range map[string]int{
		"func Add(a, b int) int {": 4,
		"Add(a,":                   4,
		"func Add(a, b int) int {\n    return a + b\r\n": 4, // whatever the blanks
		"return a + b } ok": 5,
		"ok":                7, // short, and a whole line
		"}":                 0, // any file has one
		"} }":               -1,
		"a +":               0, // too little
		"int":               0,
		"func Sub(":         -1,
		"  ":                -1,
	} {
		line, ok := findQuote(text, quote)
		if !ok {
			line = -1
		}
		if line != want {
			t.Errorf("%q is on line %d, not %d", quote, line, want)
		}
	}
}

func TestTries(t *testing.T) {
	run := func(o session.OutcomeKind, repaired bool, v Verdict) Ending {
		return Ending{Verdict: v, job: Job{phase: state.Planning}, outcome: o, repaired: repaired}
	}
	wrong := Verdict{Verdict: state.Reject, Reasons: []string{"plan: no task was added"}, Failure: true}
	var x attempts
	if a := x.again(run(session.Completed, false, wrong), 3); a != nil || !strings.Contains(x.failure,
		"no task was added") {
		t.Errorf("the first wrong plan: %+v, %q", a, x.failure)
	}
	if a := x.again(run(session.Completed, false, wrong), 3); a == nil || a.Reason != "planning: plan: no task was added" {
		t.Errorf("the second: %+v", a)
	}
	x = attempts{}
	if a := x.again(run(session.Completed, true, wrong), 3); a == nil {
		t.Error("an agent that was asked to mend it gets another run")
	}
	x = attempts{}
	crash := Verdict{Verdict: state.Reject, Reasons: []string{"crashed"}, Failure: true}
	if x.again(run(session.Crashed, false, crash), 2) != nil || x.again(run(session.Crashed, false, crash), 2) == nil {
		t.Error("a crash is tried as often as a task would be")
	}
	x = attempts{wrong: 1, failure: "f"}
	if x.again(run(session.RateLimited, false, Verdict{Verdict: state.Reject}), 1) != nil || x.failure != "f" {
		t.Error("a limit of the provider is not the agent's failure")
	}
	if x.again(run(session.Completed, false, Verdict{Verdict: state.Keep}), 1) != nil || x.wrong != 0 {
		t.Error("a run that counts forgets what came before")
	}
}

func TestPlanningWeigh(t *testing.T) {
	old := plan.Plan{Tasks: []plan.Task{{ID: "A", Title: "done", Status: plan.Done},
		{ID: "B", Title: "no criteria, from before", Status: plan.Pending}}}
	good := plan.Task{ID: "C", Title: "c", Status: plan.Pending, Criteria: []string{"x"}, Description: "d",
		DependsOn: []plan.TaskID{"A"}}
	bad := plan.Task{ID: "D", Title: "d", Status: plan.Pending}
	base, _, err := plan.Replan(old, plan.Plan{}, 2, "planned anew")
	if err != nil {
		t.Fatal(err)
	}
	p := &planning{l: &Loop{Settings: Settings{Critic: plan.Critic{Agent: true}}}, base: base, reason: "planning",
		why: "planned anew"}
	c, problems, _ := p.weigh(old, []plan.Task{good})
	if problems != nil || c.Remove != nil || len(c.Aside) != 1 || c.Aside[0] != "B" || len(c.Upsert) != 1 ||
		c.Upsert[0].ID != "C" {
		t.Errorf("a new plan: %+v, %v", c, problems)
	}
	if _, problems, _ = p.weigh(old, []plan.Task{good, bad}); len(problems) != 1 ||
		!strings.Contains(problems[0], "D has no criteria") {
		t.Errorf("a task without criteria: %v", problems)
	}
	if _, problems, _ = p.weigh(old, []plan.Task{{ID: "A", Title: "again", Status: plan.Pending,
		Criteria: []string{"x"}}}); len(problems) != 1 {
		t.Errorf("the id of a done task: %v", problems)
	}
	reused := plan.Task{ID: "b", Title: "an easy one", Status: plan.Pending, Criteria: []string{"x"}}
	if _, problems, _ = p.weigh(old, []plan.Task{reused}); len(problems) != 1 ||
		!strings.Contains(problems[0], "has a task B already") {
		t.Errorf("the id of a task that is replaced: %v", problems)
	}
	waits := good
	waits.DependsOn = []plan.TaskID{"B"}
	if _, problems, _ = p.weigh(old, []plan.Task{waits}); len(problems) != 1 ||
		!strings.Contains(problems[0], "C waits on B, which is left out") {
		t.Errorf("waiting for a task that is replaced: %v", problems)
	}
	free := good
	free.NoChangeExpected = true
	p.alone = true
	if _, problems, _ = p.weigh(old, []plan.Task{free}); len(problems) != 1 ||
		!strings.Contains(problems[0], "C lifts a rule") {
		t.Errorf("nobody is there to allow it: %v", problems)
	}
	p.alone = false
	if _, problems, _ = p.weigh(old, nil); len(problems) != 1 {
		t.Errorf("nothing added: %v", problems)
	}
	if _, problems, _ = p.weigh(plan.Plan{Tasks: old.Tasks[:1]}, nil); problems != nil {
		t.Errorf("nothing is missing from what is done: %v", problems)
	}
	add := &planning{l: &Loop{Settings: Settings{Critic: plan.Critic{Agent: true}}}, base: old, add: true, reason: "add"}
	if c, problems, _ = add.weigh(old, []plan.Task{good}); problems != nil || c.Remove != nil || len(c.Upsert) != 1 {
		t.Errorf("added to what is there, whose own problems are not new: %+v, %v", c, problems)
	}
}
