package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func task(id string, st plan.Status, deps ...plan.TaskID) plan.Task {
	return plan.Task{ID: plan.TaskID(id), Title: id, Status: st, Priority: 1, DependsOn: deps}
}

func TestDecide(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later, earlier := now.Add(time.Minute), now.Add(-time.Minute)
	lim := Limits{MaxAttempts: 3, Failures: 3, Stagnation: 5, RegeneratePlan: true, SkipStagnant: true}
	two := []plan.Task{task("A", plan.Pending), task("B", plan.Pending, "A")}
	tried := func(id string, n int) plan.Task {
		x := task(id, plan.Pending)
		x.Attempts = n
		return x
	}
	unlimited := tried("A", 9)
	zero := 0
	unlimited.MaxAttempts = &zero
	more := func(id string, n int) plan.Task {
		x, five := tried(id, n), 5
		x.MaxAttempts = &five
		return x
	}
	stepped := func(id string, n int) plan.Task {
		x := task(id, plan.Pending)
		x.Partial = n
		return x
	}
	aside := func(id string) plan.Task {
		x := task(id, plan.Pending)
		x.PutAside(2, plan.AmendmentReason, "too hard")
		return x
	}
	rows := []struct {
		why   string
		tasks []plan.Task
		run   state.Run
		lim   Limits
		want  Action
	}{
		{"the first runnable task is worked on", two, state.Run{}, lim, Action{Kind: Work, Task: "A"}},
		{"a stop of this session ends the run before anything else", two, state.Run{Session: 2, StopAsked: 2}, lim,
			Action{Kind: Halt, Status: state.Stopped, Reason: "stopped by the operator"}},
		{"a stop of an earlier session means nothing", two, state.Run{Session: 3, StopAsked: 2}, lim,
			Action{Kind: Work, Task: "A"}},
		{"a pause waits in place", two, state.Run{PauseAsked: true}, lim,
			Action{Kind: Wait, Status: state.Paused, Reason: "paused by the operator"}},
		{"an empty plan ends the run", nil, state.Run{}, lim, Action{Kind: Halt, Status: state.New,
			Reason: "the plan is empty"}},
		{"done and skipped is complete", []plan.Task{task("A", plan.Done), task("B", plan.Skipped)}, state.Run{}, lim,
			Action{Kind: Halt, Status: state.Complete}},
		{"a skipped dependency does not unblock", []plan.Task{task("A", plan.Skipped), task("B", plan.Pending, "A")},
			state.Run{}, lim,
			Action{Kind: Halt, Status: state.BlockedStatus, Reason: "no task can be worked on"}},
		{"nothing runnable while a task failed is blocked", []plan.Task{task("A", plan.Failed), task("B", plan.Pending, "A")},
			state.Run{}, lim,
			Action{Kind: Halt, Status: state.BlockedStatus, Reason: "no task can be worked on"}},
		{"a task out of attempts fails first", []plan.Task{tried("A", 3), task("B", plan.Pending)},
			state.Run{Breaker: state.Breaker{Failures: 3}}, lim,
			Action{Kind: FailTask, Task: "A", Reason: "3 of 3 attempts failed"}},
		{"a task without a limit is tried again", []plan.Task{unlimited}, state.Run{}, lim, Action{Kind: Work, Task: "A"}},
		{"failures in a row with attempts left open the breaker", []plan.Task{tried("A", 2)},
			state.Run{Breaker: state.Breaker{Failures: 3}}, lim,
			Action{Kind: OpenBreaker, Reason: "consecutive_failures:3"}},
		{"three tasks given up in a row open the breaker", []plan.Task{task("A", plan.Failed), task("D", plan.Pending)},
			state.Run{Breaker: state.Breaker{FailedTasks: 3}}, lim,
			Action{Kind: OpenBreaker, Reason: "consecutive_failures:3"}},
		{"breaker.failures = 0 never opens", []plan.Task{tried("A", 2)}, state.Run{Breaker: state.Breaker{Failures: 99}},
			Limits{MaxAttempts: 3}, Action{Kind: Work, Task: "A"}},
		{"one failure after half-open opens again", []plan.Task{tried("A", 1)},
			state.Run{Breaker: state.Breaker{State: "half-open", Failures: 1}}, lim,
			Action{Kind: OpenBreaker, Reason: "consecutive_failures:1"}},
		{"an open breaker halts", two, state.Run{Breaker: state.Breaker{State: "open", Reason: "stagnation:5"}}, lim,
			Action{Kind: Halt, Status: state.HaltedStatus, Reason: "stagnation:5"}},
		{"an open breaker with a cool-down waits", two, state.Run{Breaker: state.Breaker{State: "open", Reason: "x",
			Until: &later}}, lim,
			Action{Kind: Wait, Status: state.Waiting, Reason: "x", Until: later}},
		{"after the cool-down one attempt is allowed", two, state.Run{Breaker: state.Breaker{State: "open", Until: &earlier}},
			lim,
			Action{Kind: HalfOpen, Reason: "the cool-down is over"}},
		{"at its very end", two, state.Run{Breaker: state.Breaker{State: "open", Until: &now}}, lim,
			Action{Kind: HalfOpen, Reason: "the cool-down is over"}},
		{"nothing is given up while the breaker is open", []plan.Task{tried("A", 3), task("B", plan.Pending)},
			state.Run{Breaker: state.Breaker{State: "open", Reason: "x"}}, lim,
			Action{Kind: Halt, Status: state.HaltedStatus, Reason: "x"}},
		{"stagnation below half plans again", []plan.Task{task("A", plan.Pending), task("B", plan.Done),
			task("C", plan.Pending)},
			state.Run{Breaker: state.Breaker{Stagnation: 5}}, lim, Action{Kind: Replan, Reason: "stagnation:5"}},
		{"once a session only", []plan.Task{tried("A", 1), tried("B", 2)},
			state.Run{SessionReplans: 1, Breaker: state.Breaker{Stagnation: 5}}, lim,
			Action{Kind: BlockTask, Task: "B", Reason: "stagnation:5"}},
		{"stagnation above half blocks the worst task", []plan.Task{task("A", plan.Done), tried("B", 2),
			task("C", plan.Done)},
			state.Run{Breaker: state.Breaker{Stagnation: 5}}, lim, Action{Kind: BlockTask, Task: "B", Reason: "stagnation:5"}},
		{"a task that nobody has tried gets its try", []plan.Task{task("A", plan.Blocked), task("B", plan.Pending)},
			state.Run{SessionReplans: 1, Breaker: state.Breaker{Stagnation: 5}}, lim, Action{Kind: Work, Task: "B"}},
		{"one that was tried is blocked before", []plan.Task{task("A", plan.Pending), tried("B", 1)},
			state.Run{SessionReplans: 1, Breaker: state.Breaker{Stagnation: 5}}, lim,
			Action{Kind: BlockTask, Task: "B", Reason: "stagnation:5"}},
		{"steps that a task may take are no standstill of its own", []plan.Task{stepped("A", 4)},
			state.Run{SessionReplans: 1, Breaker: state.Breaker{Stagnation: 5}},
			Limits{Stagnation: 5, SkipStagnant: true, MaxPartial: 5}, Action{Kind: Work, Task: "A"}},
		{"steps without a limit open the breaker", []plan.Task{stepped("A", 4)},
			state.Run{SessionReplans: 1, Breaker: state.Breaker{Stagnation: 5}}, Limits{Stagnation: 5, SkipStagnant: true},
			Action{Kind: OpenBreaker, Reason: "stagnation:5"}},
		{"where nothing can be worked on the run is blocked", []plan.Task{task("A", plan.Failed)},
			state.Run{SessionReplans: 1, Breaker: state.Breaker{Stagnation: 5}}, lim,
			Action{Kind: Halt, Status: state.BlockedStatus, Reason: "no task can be worked on"}},
		{"the default of the breaker lets a task have its attempts", []plan.Task{more("A", 3)},
			state.Run{LastFailTask: "A", Breaker: state.Breaker{Failures: 3}}, lim,
			Action{Kind: Work, Task: "A"}},
		{"until they are used up", []plan.Task{more("A", 5)}, state.Run{LastFailTask: "A",
			Breaker: state.Breaker{Failures: 5}}, lim,
			Action{Kind: FailTask, Task: "A", Reason: "5 of 5 attempts failed"}},
		{"a number that a person gave holds", []plan.Task{more("A", 3)},
			state.Run{LastFailTask: "A", Breaker: state.Breaker{Failures: 3}},
			Limits{MaxAttempts: 3, Failures: 3, FailuresGiven: true},
			Action{Kind: OpenBreaker, Reason: "consecutive_failures:3"}},
		{"failures of several tasks are not one task's attempts", []plan.Task{more("A", 2)},
			state.Run{LastFailTask: "A", Breaker: state.Breaker{Failures: 3}}, lim,
			Action{Kind: OpenBreaker, Reason: "consecutive_failures:3"}},
		{"a task without a limit is bounded by the breaker", []plan.Task{unlimited},
			state.Run{LastFailTask: "A", Breaker: state.Breaker{Failures: 3}}, lim,
			Action{Kind: OpenBreaker, Reason: "consecutive_failures:3"}},
		{"what agents left out is a person's to decide", []plan.Task{task("A", plan.Done), aside("B"),
			task("C", plan.Pending, "B")}, state.Run{}, lim,
			Action{Kind: Halt, Status: state.NeedsReview, Reason: "set_aside: B amendment: too hard (iteration 2)"}},
		{"which comes after what can be worked on", []plan.Task{aside("A"), task("B", plan.Pending)}, state.Run{}, lim,
			Action{Kind: Work, Task: "B"}},
		{"a failed task beside it blocks", []plan.Task{aside("A"), task("B", plan.Failed)}, state.Run{}, lim,
			Action{Kind: Halt, Status: state.BlockedStatus, Reason: "no task can be worked on"}},
		{"stagnation without recovery opens the breaker", two, state.Run{Breaker: state.Breaker{Stagnation: 5}},
			Limits{Stagnation: 5},
			Action{Kind: OpenBreaker, Reason: "stagnation:5"}},
		{"a complete plan is complete, whatever was spent", []plan.Task{task("A", plan.Done)},
			state.Run{Cost: state.Costs{Total: 5}}, Limits{TotalMicroUSD: 1},
			Action{Kind: Halt, Status: state.Complete}},
		{"the session's money", two, state.Run{Cost: state.Costs{Session: 50_020_000}}, Limits{SessionMicroUSD: 50_000_000},
			Action{Kind: OpenBreaker, Reason: "cost_limit:$50.02"}},
		{"which then ends the run", two, state.Run{Cost: state.Costs{Session: 50_020_000},
			Breaker: state.Breaker{State: "open", Reason: "cost_limit:$50.02"}},
			Limits{SessionMicroUSD: 50_000_000}, Action{Kind: Halt, Status: state.HaltedStatus, Reason: "cost_limit:$50.02"}},
		{"a limit that was raised closes the breaker", two, state.Run{Cost: state.Costs{Total: 3},
			Breaker: state.Breaker{State: "open", Reason: "cost_limit:$3.00"}},
			Limits{TotalMicroUSD: 10}, Action{Kind: Close, Reason: "within the budgets again"}},
		{"the session's tokens", two, state.Run{Used: state.Used{Tokens: 10}}, Limits{SessionTokens: 10},
			Action{Kind: OpenBreaker, Reason: "token_limit:10"}},
		{"the tokens of all sessions", two, state.Run{Tokens: state.Tokens{Input: 4, CacheRead: 6}}, Limits{TotalTokens: 10},
			Action{Kind: OpenBreaker, Reason: "token_limit:10"}},
		{"the session's time", two, state.Run{StartedAt: now.Add(-time.Hour)}, Limits{SessionTime: time.Hour},
			Action{Kind: OpenBreaker, Reason: "time_limit:1h0m0s"}},
		{"the session's time, most of it before a crash", two,
			state.Run{StartedAt: now.Add(-time.Minute), Used: state.Used{EarlierMs: 59 * 60e3}}, Limits{SessionTime: time.Hour},
			Action{Kind: OpenBreaker, Reason: "time_limit:1h0m0s"}},
		{"iterations used up", two, state.Run{SessionIterations: 4}, Limits{MaxIterations: 4},
			Action{Kind: Halt, Status: state.MaxIterations, Reason: "4 iterations"}},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			got := Decide(state.State{Run: r.run, Plan: plan.Plan{Tasks: r.tasks}}, r.lim, now)
			if d := cmp.Diff(r.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestDecideWhileOthersAreWaitedFor: a runnable task comes before any wait, and a wait
// for a machine before one for a person.
func TestDecideWhileOthersAreWaitedFor(t *testing.T) {
	asked := task("B", plan.Blocked)
	asked.BlockedBy = []string{state.AwaitsAnswer + "Q1: which?"}
	taken := task("A", plan.InProgress)
	claims := []state.Claim{{Task: "A", Actor: "ann"}}
	questions := []state.Question{{ID: "Q1", Text: "which?"}}
	work := Action{Kind: Work, Task: "C"}
	for _, c := range []struct {
		why  string
		s    state.State
		want Action
	}{
		{"a claim leaves the other tasks", state.State{Claims: claims,
			Plan: plan.Plan{Tasks: []plan.Task{taken, task("C", plan.Pending)}}}, work},
		{"all that is left is claimed", state.State{Claims: claims, Plan: plan.Plan{Tasks: []plan.Task{taken}}},
			Action{Kind: Wait, Status: state.Waiting, Reason: "claimed by others: A (ann)", Others: true}},
		{"a question leaves the other tasks", state.State{Questions: questions,
			Plan: plan.Plan{Tasks: []plan.Task{asked, task("C", plan.Pending)}}}, work},
		{"all that is left waits for an answer", state.State{Questions: questions,
			Plan: plan.Plan{Tasks: []plan.Task{asked}}},
			Action{Kind: Halt, Status: state.Paused, Reason: "waiting for answers: Q1"}},
		{"an answer may come while another machine works", state.State{Claims: claims, Questions: questions,
			Plan: plan.Plan{Tasks: []plan.Task{taken, asked}}},
			Action{Kind: Wait, Status: state.Waiting, Reason: "claimed by others: A (ann)", Others: true}},
	} {
		if d := cmp.Diff(c.want, Decide(c.s, Limits{}, time.Unix(0, 0))); d != "" {
			t.Errorf("%s:\n%s", c.why, d)
		}
	}
}

func TestJudge(t *testing.T) {
	good := Facts{Claims: true, Outcome: session.Completed, Said: Said{Done: true}, Checks: Checks{Pass: true},
		Change: Change{Any: true}, PartialLeft: true}
	with := func(set func(*Facts)) Facts { f := good; set(&f); return f }
	keep := Verdict{Verdict: state.Keep}
	phase := func(set func(*Facts)) Facts {
		f := Facts{Outcome: session.Completed, Checks: Checks{Pass: true}}
		set(&f)
		return f
	}
	fails := func(reasons ...string) Verdict {
		return Verdict{Verdict: state.Reject, Reasons: reasons, Failure: true}
	}
	rows := []struct {
		why  string
		f    Facts
		want Verdict
	}{
		{"claimed and proved is kept", good, keep},
		{"a claim alone counts for nothing", with(func(f *Facts) {
			f.Checks.Pass, f.Checks.Reasons = false,
				[]string{"checks: test"}
		}), rejectAttempt("checks: test")},
		{"silence is a reject, however green", with(func(f *Facts) { f.Said.Done = false }), rejectAttempt("not_claimed")},
		{"green but unfinished is kept as a step", with(func(f *Facts) { f.Said.Done, f.Said.Unfinished = false, true }),
			Verdict{Verdict: state.Keep, Partial: true}},
		{"steps are limited", with(func(f *Facts) { f.Said.Done, f.Said.Unfinished, f.PartialLeft = false, true, false }),
			rejectAttempt("not_claimed")},
		{"no change is a reject", with(func(f *Facts) { f.Change.Any = false }), rejectAttempt("no_change")},
		{"unless the task says so", with(func(f *Facts) { f.Change.Any, f.Change.NoneOK = false, true }), keep},
		{"a protected path", with(func(f *Facts) { f.Change.Protected = []string{"ralph.toml"} }),
			rejectAttempt("protected: ralph.toml")},
		{"weakened tests", with(func(f *Facts) { f.Checks.Weakened = []string{"removed TestX"} }),
			rejectAttempt("test_weakened: removed TestX")},
		{"reasons come in the order of the gates", with(func(f *Facts) {
			f.Said.Done, f.Checks.Pass, f.Checks.Reasons, f.Change.Protected, f.Change.Any = false, false,
				[]string{"checks: test", "criteria: x"}, []string{"a"}, false
		}), rejectAttempt("not_claimed", "checks: test", "criteria: x", "protected: a", "no_change")},
		{"a crash is named by its signal", with(func(f *Facts) { f.Outcome, f.Detail = session.Crashed, "signal 9" }),
			rejectAttempt("crashed: signal 9")},
		{"a hang", with(func(f *Facts) { f.Outcome, f.Detail = session.Hang, "idle 5m" }), rejectAttempt("hang: idle 5m")},
		{"a limit of the provider costs nothing", with(func(f *Facts) { f.Outcome = session.RateLimited }),
			reject("rate_limited")},
		{"a full window costs nothing", with(func(f *Facts) { f.Outcome = session.ContextLimit }), reject("context_limit")},
		{"an interruption costs nothing", with(func(f *Facts) { f.Outcome = session.Interrupted }), reject("interrupted")},
		{"the operator's skip costs nothing", with(func(f *Facts) { f.Skipped = true }), reject("skipped")},
		{"blocked by the agent", with(func(f *Facts) { f.Said.Blocked, f.Said.Done = "needs a key", false }),
			Verdict{Verdict: state.Reject, Reasons: []string{"blocked"}, Block: true}},
		{"who crashed blocks nothing", with(func(f *Facts) {
			f.Said.Blocked, f.Said.Done, f.Outcome = "needs a key", false, session.Crashed
		}), rejectAttempt("crashed")},
		{"a copied secret", with(func(f *Facts) { f.Change.Secrets = []string{"a.txt"} }), rejectAttempt("secret: a.txt")},
		{"a question without an answer is no attempt", with(func(f *Facts) {
			f.Said = Said{Question: "Q1: which?"}
			f.Change.Any = false
		}), Verdict{Verdict: state.Reject, Reasons: []string{"question: Q1: which?"}, Block: true, Waits: true}},
		{"however its run ended", with(func(f *Facts) {
			f.Said, f.Outcome, f.Detail = Said{Question: "Q1: which?"}, session.Hang, "timeout 1h"
		}), Verdict{Verdict: state.Reject, Reasons: []string{"question: Q1: which?"}, Block: true, Waits: true}},
		{"a green step before it is kept", with(func(f *Facts) {
			f.Said = Said{Question: "Q1: which?", Unfinished: true}
		}), Verdict{Verdict: state.Keep, Partial: true, Waits: true}},
		{"who asks and goes on is judged by the work", with(func(f *Facts) {
			f.Said.Question, f.Checks.Pass, f.Checks.Reasons = "Q1: which?", false, []string{"checks: test"}
		}), rejectAttempt("checks: test")},
		{"a question hides nothing that was done to git", with(func(f *Facts) {
			f.Said, f.Tampered = Said{Question: "Q1: which?"}, []string{"refs"}
		}), rejectAttempt("tampered: refs")},
		{"a budget of the iteration counts as a failure", with(func(f *Facts) {
			f.Outcome, f.Detail = session.BudgetExceeded,
				"iteration_usd"
		}), rejectAttempt("limit: iteration_usd")},
		{"what was finished when one of the session was crossed is kept",
			with(func(f *Facts) { f.Outcome, f.Detail = session.BudgetExceeded, "session_usd" }), keep},
		{"a budget of the session does not", with(func(f *Facts) {
			f.Said.Done, f.Outcome, f.Detail = false, session.BudgetExceeded,
				"session_usd"
		}), reject("limit: session_usd")},
		{"a handoff that does not count is named, and costs no attempt of green work",
			with(func(f *Facts) { f.Said.Done, f.Said.Problem = false, "is not JSON" }),
			fails("not_claimed", "handoff: is not JSON")},
		{"and costs an attempt where the work is red", with(func(f *Facts) {
			f.Said.Done, f.Said.Problem, f.Checks.Pass, f.Checks.Reasons = false, "is not JSON", false, []string{"checks: test"}
		}), rejectAttempt("not_claimed", "checks: test", "handoff: is not JSON")},
		{"a program that the machine lacks costs no attempt", with(func(f *Facts) {
			f.Checks = Checks{Environment: "pytest",
				Reasons: []string{"checks: test"}}
		}),
			reject("environment: pytest not found")},
		{"and hides nothing that was done to git", with(func(f *Facts) {
			f.Checks.Environment, f.Tampered = "pytest",
				[]string{"refs"}
		}),
			rejectAttempt("tampered: refs")},
		{"a step before the agent is not the agent's", with(func(f *Facts) {
			f.Outcome, f.Detail = session.NotStarted,
				"database"
		}),
			fails("step: database")},
		{"tampering comes first", with(func(f *Facts) { f.Tampered = []string{"hooks"} }), rejectAttempt("tampered: hooks")},
		{"too large", with(func(f *Facts) { f.Change.TooLarge = []string{"big.bin"} }), rejectAttempt("too_large: big.bin")},
		{"a file that nobody can read", with(func(f *Facts) { f.Change.Unreadable = []string{"locked"} }),
			rejectAttempt("unreadable: locked")},
		{"a repository inside", with(func(f *Facts) { f.Change.Nested = []string{"sub"} }), rejectAttempt("nested: sub")},
		{"a step after the agent", with(func(f *Facts) { f.Checks.StepFailed = "lint" }), rejectAttempt("step: lint")},
		{"a bug without a test", with(func(f *Facts) { f.Checks.Unreproduced = "no test fails" }),
			rejectAttempt("reproduction: no test fails")},
		{"the agent wants to try again", with(func(f *Facts) { f.Said = Said{Retry: "lost"} }), rejectAttempt("retry: lost")},
		{"its turns were used up", with(func(f *Facts) { f.Outcome, f.Said = session.MaxTurns, Said{} }),
			rejectAttempt("max_turns")},

		{"a phase needs neither a claim nor a change", phase(func(*Facts) {}), keep},
		{"what was said about a task is not asked for", phase(func(f *Facts) {
			f.Said = Said{Blocked: "x", Retry: "y",
				Problem: "z"}
		}), keep},
		{"a wrong product is a failure and no attempt",
			phase(func(f *Facts) { f.Checks = Checks{Reasons: []string{"plan: no task was added"}} }),
			fails("plan: no task was added")},
		{"that nothing counts where the run was spare", phase(func(f *Facts) { f.Spare, f.Outcome = true, session.Hang }),
			reject("hang")},
		{"a phase stays in its folder", phase(func(f *Facts) { f.Change.OutOfPhase = []string{"a.go"} }),
			fails("out_of_phase: a.go")},
		{"and leaves nothing that cannot be read", phase(func(f *Facts) { f.Change.Unreadable = []string{"specs/a.md"} }),
			fails("unreadable: specs/a.md")},
		{"a full window ends a phase", phase(func(f *Facts) { f.Outcome, f.Detail = session.ContextLimit, "full" }),
			fails("context_limit: full")},
		{"a limit of the provider costs a phase nothing", phase(func(f *Facts) { f.Outcome = session.UsageLimit }),
			reject("usage_limit")},
		{"nor does a budget of all", phase(func(f *Facts) { f.Outcome, f.Detail = session.BudgetExceeded, "total_usd" }),
			reject("limit: total_usd")},
		{"a budget of the iteration is a failure", phase(func(f *Facts) {
			f.Outcome, f.Detail = session.BudgetExceeded,
				"iteration_tokens"
		}), fails("limit: iteration_tokens")},
		{"a missing program is nobody's failure", phase(func(f *Facts) { f.Checks = Checks{Environment: "make"} }),
			reject("environment: make not found")},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			if d := cmp.Diff(r.want, Judge(r.f)); d != "" {
				t.Error(d)
			}
		})
	}
}
