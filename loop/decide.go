package loop

import (
	"fmt"
	"strings"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Limits are the bounds that Decide weighs a state against; 0 = none.
type Limits struct {
	MaxIterations int // finished building iterations of this start
	MaxAttempts   int // of a task that names none

	SessionMicroUSD, TotalMicroUSD int64
	SessionTokens, TotalTokens     int64
	SessionTime                    time.Duration

	Failures int // in a row that open the breaker
	// FailuresGiven: a person chose Failures, so that it holds for tasks that
	// may be tried more often as well.
	FailuresGiven bool
	MaxPartial    int // green but unfinished steps of a task
	Stagnation    int // iterations without a task done
	Cooldown      time.Duration

	RegeneratePlan bool // on stagnation below half
	SkipStagnant   bool // on stagnation otherwise
}

// ActionKind is what happens next.
type ActionKind string

// The actions.
const (
	Work        ActionKind = "work"         // one iteration on Task
	FailTask    ActionKind = "fail-task"    // Task is out of attempts
	BlockTask   ActionKind = "block-task"   // Task holds the run up
	Replan      ActionKind = "replan"       // ask for a new plan
	OpenBreaker ActionKind = "open-breaker" // Reason
	Close       ActionKind = "close-breaker"
	HalfOpen    ActionKind = "half-open" // the cool-down is over
	Wait        ActionKind = "wait"      // paused, or until Until
	Halt        ActionKind = "halt"      // the run ends with Status and Reason
	RunPhase    ActionKind = "run-phase" // work in Phase
	Prepare     ActionKind = "prepare"   // what comes before the first task
	Prove       ActionKind = "prove"     // the work as a whole; then Status
	Advance     ActionKind = "advance"   // to Phase, for Reason
)

// Action is a decision.
type Action struct {
	Kind   ActionKind
	Task   plan.TaskID
	Phase  state.Phase
	Status state.Status
	Reason string
	Until  time.Time
	Others bool // Wait: all that is left is claimed by other workers
}

// Rules are what Next weighs a state against besides the options of the run.
type Rules struct {
	Limits Limits
	Gates  Gates
	// Prepared reports whether building was prepared since it was entered.
	Prepared bool
}

// Next says what a run does next. It reads nothing but its arguments. A person's
// word comes first. Building is decided by Decide until nothing is left to work on;
// every other phase runs as far as breaker and budgets allow an agent.
func Next(s state.State, c RunOptions, r Rules, now time.Time) Action {
	if a, ok := decideOperator(s.Run); ok {
		return a
	}
	if s.Run.Phase == state.Building && r.Prepared {
		a := Decide(s, r.Limits, now)
		built := a.Status == state.Complete || a.forAside()
		switch {
		case c.Build && built:
			a.Kind = Prove
			return a
		case c.Build || !built && a.Status != state.BlockedStatus:
			return a
		}
	}
	if c.Build {
		return Action{Kind: Prepare}
	}
	a := DecidePhase(s, r.Gates)
	switch {
	case a.Kind != RunPhase:
		return a
	case a.Phase == state.Building:
		return Action{Kind: Prepare}
	}
	if b, ok := decideBreaker(s, r.Limits, now); ok {
		return b
	}
	if reason := overBudget(s.Run, r.Limits, now); reason != "" {
		return Action{Kind: OpenBreaker, Reason: reason}
	}
	return a
}

// Decide says what happens next in the building phase. It reads no clock, file
// or network: a stop and a pause come first, then the end of the plan,
// recovery, the breaker, budgets, and the next task.
func Decide(s state.State, l Limits, now time.Time) Action {
	r := s.Run
	if a, ok := decideOperator(r); ok {
		return a
	}
	if s.Plan.Complete() {
		return Action{Kind: Halt, Status: state.Complete} // no attempt is left that a breaker could stop
	}
	if s.Plan.LeftToPerson() {
		return asideReview(s.Plan)
	}
	if a, ok := decideRecovery(s, l, now); ok {
		return a
	}
	if len(s.Plan.Tasks) == 0 {
		return Action{Kind: Halt, Status: state.New, Reason: "the plan is empty"}
	}
	if reason := overBudget(r, l, now); reason != "" {
		return Action{Kind: OpenBreaker, Reason: reason}
	}
	id, ok := plan.Next(s.Plan)
	if !ok && len(s.Claims) > 0 {
		return Action{Kind: Wait, Status: state.Waiting, Reason: "claimed by others: " + claimed(s.Claims), Others: true}
	}
	if ids := state.Awaited(s); !ok && len(ids) > 0 {
		return Action{Kind: Halt, Status: state.Paused, Reason: "waiting for answers: " + strings.Join(ids, ", ")}
	}
	if !ok {
		return Action{Kind: Halt, Status: state.BlockedStatus, Reason: "no task can be worked on"}
	}
	if l.MaxIterations > 0 && r.SessionIterations >= l.MaxIterations {
		return Action{Kind: Halt, Status: state.MaxIterations, Reason: fmt.Sprintf("%d iterations", r.SessionIterations)}
	}
	return Action{Kind: Work, Task: id}
}

// claimed names tasks with who works on them.
func claimed(claims []state.Claim) string {
	var names []string
	for _, c := range claims[:min(len(claims), 5)] {
		names = append(names, string(c.Task)+" ("+c.Actor+")")
	}
	if len(claims) > 5 {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// asideReview ends a run whose rest was set aside by agents: a person says
// whether it stays out.
func asideReview(p plan.Plan) Action {
	var names []string
	for _, id := range p.SetAside() {
		if len(names) == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, string(id)+" "+p.Tasks[p.Find(id)].AsideReason())
	}
	return Action{Kind: Halt, Status: state.NeedsReview, Reason: state.SetAside +
		notes.OneLine(strings.Join(names, ", "), 1000)}
}

// forAside says that a person is wanted for tasks that were set aside.
func (a Action) forAside() bool {
	return a.Status == state.NeedsReview && strings.HasPrefix(a.Reason, state.SetAside)
}

// stoppedByOperator is why a run ended that was asked to.
const stoppedByOperator = "stopped by the operator"

// decideOperator decides by what a person requested, which comes first.
func decideOperator(r state.Run) (Action, bool) {
	switch {
	case r.StopAsked > 0 && r.StopAsked == r.Session:
		return Action{Kind: Halt, Status: state.Stopped, Reason: stoppedByOperator}, true
	case r.PauseAsked:
		return Action{Kind: Wait, Status: state.Paused, Reason: "paused by the operator"}, true
	}
	return Action{}, false
}

// decideRecovery weighs failures and stagnation.
func decideRecovery(s state.State, l Limits, now time.Time) (Action, bool) {
	b := s.Run.Breaker
	if b.State != "open" {
		for _, t := range s.Plan.Tasks {
			most := l.attempts(t)
			if t.Status == plan.Pending && most > 0 && t.Attempts >= most {
				return Action{Kind: FailTask, Task: t.ID, Reason: fmt.Sprintf("%d of %d attempts failed", t.Attempts, most)}, true
			}
		}
	}
	if a, ok := decideBreaker(s, l, now); ok {
		return a, true
	}
	if l.Stagnation > 0 && b.Stagnation >= l.Stagnation {
		return decideStagnation(s, l)
	}
	return Action{}, false
}

// attempts is how often a task may be tried; 0 = without limit.
func (l Limits) attempts(t plan.Task) int {
	if t.MaxAttempts != nil {
		return *t.MaxAttempts
	}
	return l.MaxAttempts
}

// threshold is the number of failures in a row that opens the breaker. While
// all of them are of one task, that task may use all its attempts first:
// max_attempts = 5 means five.
func threshold(s state.State, l Limits) int {
	i := s.Plan.Find(plan.TaskID(s.Run.LastFailTask))
	if l.Failures <= 0 || l.FailuresGiven || i < 0 {
		return l.Failures
	}
	if t := s.Plan.Tasks[i]; t.Status == plan.Pending && t.Attempts >= s.Run.Breaker.Failures {
		return max(l.Failures, l.attempts(t))
	}
	return l.Failures
}

// decideBreaker weighs failures in a row.
func decideBreaker(s state.State, l Limits, now time.Time) (Action, bool) {
	b := s.Run.Breaker
	open := func(format string, n int) (Action, bool) {
		return Action{Kind: OpenBreaker, Reason: fmt.Sprintf(format, n)}, true
	}
	most := threshold(s, l)
	switch {
	case b.State == "open" && IsBudget(b.Reason) && overBudget(s.Run, l, now) == "":
		return Action{Kind: Close, Reason: "within the budgets again"}, true
	case b.State == "open" && b.Until != nil && !now.Before(*b.Until):
		return Action{Kind: HalfOpen, Reason: "the cool-down is over"}, true
	case b.State == "open" && b.Until != nil:
		return Action{Kind: Wait, Status: state.Waiting, Reason: b.Reason, Until: *b.Until}, true
	case b.State == "open":
		return Action{Kind: Halt, Status: state.HaltedStatus, Reason: b.Reason}, true
	case b.State == "half-open" && b.Failures > 0:
		return open("consecutive_failures:%d", b.Failures)
	case most > 0 && b.Failures >= most:
		return open("consecutive_failures:%d", b.Failures)
	case l.Failures > 0 && b.FailedTasks >= l.Failures:
		return open("consecutive_failures:%d", b.FailedTasks)
	}
	return Action{}, false
}

// decideStagnation decides when no task was finished for a while: plan again,
// block the task with the most attempts, or open the breaker. A task without
// attempts is tried first. A task with partial steps may use up the steps it is
// allowed.
func decideStagnation(s state.State, l Limits) (Action, bool) {
	reason := fmt.Sprintf("stagnation:%d", s.Run.Breaker.Stagnation)
	if l.RegeneratePlan && s.Run.SessionReplans == 0 && s.Plan.PercentComplete() < 50 {
		return Action{Kind: Replan, Reason: reason}, true
	}
	next, ok := plan.Next(s.Plan)
	if !ok {
		return Action{}, false
	}
	if l.SkipStagnant {
		worst := -1
		for i, t := range s.Plan.Tasks {
			if t.Status == plan.Pending && t.Attempts > 0 && (worst < 0 || t.Attempts > s.Plan.Tasks[worst].Attempts) {
				worst = i
			}
		}
		if worst >= 0 {
			return Action{Kind: BlockTask, Task: s.Plan.Tasks[worst].ID, Reason: reason}, true
		}
		if t := s.Plan.Tasks[s.Plan.Find(next)]; t.Partial == 0 || t.Partial < l.MaxPartial {
			return Action{}, false
		}
	}
	return Action{Kind: OpenBreaker, Reason: reason}, true
}

// IsBudget says whether a reason of the breaker is a budget that is used up.
func IsBudget(reason string) bool {
	word, _, _ := strings.Cut(reason, ":")
	return word == "cost_limit" || word == "token_limit" || word == "time_limit"
}

// overBudget names the first budget that is used up.
func overBudget(r state.Run, l Limits, now time.Time) string {
	usd := func(micro int64) string { return fmt.Sprintf("cost_limit:$%.2f", float64(micro)/1e6) }
	switch {
	case l.TotalMicroUSD > 0 && r.Cost.Total >= l.TotalMicroUSD:
		return usd(r.Cost.Total)
	case l.SessionMicroUSD > 0 && r.Cost.Session >= l.SessionMicroUSD:
		return usd(r.Cost.Session)
	case l.TotalTokens > 0 && r.Tokens.Total() >= l.TotalTokens:
		return fmt.Sprintf("token_limit:%d", r.Tokens.Total())
	case l.SessionTokens > 0 && r.Used.Tokens >= l.SessionTokens:
		return fmt.Sprintf("token_limit:%d", r.Used.Tokens)
	case l.SessionTime > 0 && r.SessionTime(now) >= l.SessionTime:
		return "time_limit:" + r.SessionTime(now).Round(time.Second).String()
	}
	return ""
}
