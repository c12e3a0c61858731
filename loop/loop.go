// Package loop owns the state machine: what happens next (Decide), one iteration
// from checkpoint to verdict, how its end is kept or rejected, and how a run
// begins and ends. It stores only events in the journal; package recovery stores
// the rest of an iteration. It reaches agents, tools and the sandbox through the
// interfaces of session, and checks through those in ports.go.
package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/guard"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// Loop runs one branch. All fields are required unless they say otherwise.
type Loop struct {
	session.Host // its repository, journal, sandbox, and where its sessions run
	Engine       *worktree.Engine
	Agent        session.Agent
	// AgentFor returns the driver of another role; nil = Agent for all.
	AgentFor func(session.Role) (session.Agent, error)
	// FallbackAgent works while the provider of the others is limited; nil = the
	// same client with the fallback model.
	FallbackAgent session.Agent
	Prover        Prover
	Policy        *guard.Policy
	// Resolve gives the settings under the overrides of `set`; nil = they are fixed.
	Resolve func(overrides map[string]string) (Settings, error)
	// Prompt holds what the prompt needs from outside the state; the fields
	// that change with an iteration are filled in by the loop.
	Prompt   agentctx.Options
	Settings Settings
	// AgentFiles are the agent's command and scripts, visible in the sandbox.
	AgentFiles []string
	// Fail is told where a write stands; tests end the process there.
	Fail func(step string)
	// Patience is how long a keep waits for locks of others; 0 = ten seconds.
	Patience time.Duration
	// Share joins the run with those on other machines; nil = it works alone.
	Share *Sharing
	// Team are the workers that do the iterations; nil = this process does them.
	Team *Team
	// Mend repairs the state of workers of other runs that have died since this run
	// began: workers of a killed run live a moment longer than it. nil = there are none.
	Mend func() error
	// Gate is the pull request that complete waits for; nil = it waits for none.
	Gate RemoteGate
	// Worker reports whether this loop is one of a team's; nil = it is not.
	Worker *Worker
	// Answer asks a person at the terminal; nil = nobody is there.
	Answer func(ctx context.Context, q state.Question) (string, bool)

	proved       bool         // a fresh checkout was green at the end
	since        int          // iterations since the last housekeeping
	untidy       bool         // a person was told that it failed
	proof        *ProofReport // of the work as a whole, in this session; nil = there was none
	proofOf      object.ID    // the commit that it is of
	overrides    map[string]string
	backoff      time.Duration
	limitedUntil time.Time       // the fallback is used until then
	warned       map[string]bool // skills that were named as missing
	looked       bool            // for repositories in ignored folders:
	ignoredRepos []string
	tools        projectTools // programs in ignored folders
	setUpAgain   bool         // some of them are gone
	gating       gating
	behind       sync.WaitGroup         // removes the folder of the last run while the next one begins
	listed       listing                // the last list of paths
	folders      map[string]folderNames // where files of secrets were looked for
}

// Steps are the places in an iteration where Fail is called.
var Steps = []string{"checkpoint:objects", "checkpoint:ref", "iteration:started", "iteration:agent-ended",
	"iteration:captured",
	"reject:objects", "reject:evidence", "reject:restored", "checkpoint:dropped"}

// End is how a run ended.
type End struct {
	Status state.Status
	Reason string
	State  state.State
	Proved state.Proved
}

// ExitCode is what `start` exits with.
func (e End) ExitCode() int {
	switch e.Status {
	case state.Complete, state.Ready:
		return 0
	case state.BlockedStatus:
		return 3
	case state.MaxIterations:
		return 4
	case state.HaltedStatus:
		return 5
	case state.Paused, state.NeedsReview, state.Stopped:
		return 6
	case state.Interrupted:
		return 130
	case state.New:
		return 8
	}
	return 1
}

// Run goes through what its options ask for until the work is done and proved, a person is wanted,
// or something ends the run. Next decides, everything else here carries out:
//
//	discovery ─specs─▶ planning ─plan─▶ building ─nothing runnable─▶ validation ─report─▶ complete
//	                                       ▲                             │
//	                                       └──────── what failed ────────┘
//
//	building: prepare once, then work on a task, fail, block or replan it, until none is left;
//	anywhere: wait while a person paused the run, open, test and close the breaker, halt
//
// The caller holds the locks of branch and worktree and has called Recover. When ctx
// ends, the iteration in work is kept as evidence and the checkpoint restored.
func (l *Loop) Run(ctx context.Context, c RunOptions) (End, error) {
	defer l.behind.Wait()
	if l.Share != nil {
		defer l.Share.beat(ctx)()
	}
	if err := l.begin(); err != nil {
		return End{}, err
	}
	if err := l.beginRun(c); err != nil {
		return End{}, l.broken(err)
	}
	var t attempts
	prepared := false // for building
	ctx, release := l.stoppable(ctx)
	defer release()
	for ctx.Err() == nil {
		s, orphans, err := l.mended()
		if err != nil {
			return End{}, l.broken(err)
		}
		if l.Share != nil {
			s = l.Share.among(s, time.Now())
		}
		var halt *Action
		a, err := l.inPlace(ctx, l.next(s, c, prepared))
		if err != nil {
			return End{}, l.broken(err)
		}
		switch a.Kind {
		case Prepare:
			halt, err = l.makeReady(ctx, s, c)
			prepared = true
		case Work:
			halt, err = l.workOn(ctx, s, a.Task)
		case Await:
			err = l.await(ctx)
		case RunPhase:
			halt, err = l.runPhase(ctx, s, a.Phase, c, &t)
		case Prove:
			halt, err = l.proveEnd(ctx, s, a)
		case Advance:
			t, prepared = attempts{}, false
			if err = l.advance(s, a); c.Only {
				halt = &Action{Kind: Halt, Status: state.Ready}
			}
		case FailTask:
			err = l.failTask(a)
		case BlockTask:
			err = l.blockTask(a)
		case Replan:
			halt, err = l.replan(ctx, a)
		case OpenBreaker:
			err = l.breaker("open", a.Reason)
		case HalfOpen:
			err = l.breaker("half-open", a.Reason)
		case Close:
			err = l.breaker("closed", a.Reason)
		case Wait:
			halt, err = l.waitOrHalt(ctx, a, orphans)
		case Halt:
			halt = &a
		}
		if err == nil && halt != nil && halt.Status == state.Complete {
			if halt, err = l.passGate(ctx, s, *halt); err == nil && halt != nil {
				halt, err = l.stillComplete(ctx, c, *halt)
			}
		}
		if err == nil && halt != nil {
			if err = l.endRun(c); err == nil {
				return l.end(halt.Status, halt.Reason)
			}
		}
		if err != nil && ctx.Err() == nil {
			return End{}, l.broken(err)
		}
	}
	l.drain()
	cut := interrupted(ctx)
	return l.end(cut.Status, cut.Reason)
}

// next is the decision: Next for one worker, Assign where several share the tasks.
func (l *Loop) next(s state.State, c RunOptions, prepared bool) Action {
	a := Next(s, c, Rules{l.limits(s), l.Settings.Gates(), prepared}, l.Now())
	if l.Team != nil {
		return l.Team.next(s, a, l.Journal.Actor, l.Settings.Limits)
	} else if l.Share != nil {
		return Assign(s, a, "", nil, 1, l.Settings.Limits)
	}
	return a
}

// head is the branch that is checked out, and its commit. It is an error if a person has checked
// out another one than that of the journal: nothing is done there.
func (l *Loop) head(ctx context.Context) (branch string, tip object.ID, err error) {
	if branch, tip, err = l.Repo.Head(ctx); err == nil && l.Worker == nil && branch != l.Journal.Branch {
		err = &elsewhereError{branch, l.Journal.Branch}
	}
	return branch, tip, err
}

// elsewhereError says that another branch is checked out.
type elsewhereError struct{ at, of string }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("%s is checked out now, and this is the run of %s: git switch %s", e.at, e.of, e.of)
}

// inPlace is the decision for the branch that is checked out. The run ends where it would do
// something and that is another branch, as soon as no worker is at work.
func (l *Loop) inPlace(ctx context.Context, a Action) (Action, error) {
	switch a.Kind {
	case Prepare, Work, RunPhase, Prove, Replan:
	default:
		return a, nil
	}
	_, _, err := l.head(ctx)
	var elsewhere *elsewhereError
	switch {
	case !errors.As(err, &elsewhere):
		return a, err
	case l.Team != nil && len(l.Team.busy) > 0:
		return Action{Kind: Await}, nil
	}
	return Action{Kind: Halt, Status: state.Stopped, Reason: elsewhere.Error()}, nil
}

// waitOrHalt carries out Wait. A run that waits for workers which nobody runs any more halts.
func (l *Loop) waitOrHalt(ctx context.Context, a Action, orphans bool) (*Action, error) {
	switch {
	case !a.Others:
		return nil, l.wait(ctx, a)
	case l.Share != nil:
		return nil, l.waitForOthers(ctx, a)
	case orphans:
		l.Sleep(ctx, lookEvery)
		return nil, nil
	}
	return &Action{Kind: Halt, Status: state.BlockedStatus, Reason: a.Reason}, nil
}

// mended returns the state after repairing what dead workers of another run left.
// orphans reports whether workers of that run are still alive.
func (l *Loop) mended() (s state.State, orphans bool, err error) {
	if s, err = l.load(); err != nil || l.Mend == nil {
		return s, false, err
	}
	var mine []plan.TaskID
	if l.Team != nil {
		mine = l.Team.tasks()
	}
	orphans, dead := recovery.Orphans(s, l.Journal.Actor, mine)
	if dead {
		if err = l.Mend(); err == nil {
			s, err = l.load()
		}
	}
	return s, orphans, err
}

// workOn is one iteration on a task, unless nothing would prove it.
func (l *Loop) workOn(ctx context.Context, s state.State, id plan.TaskID) (*Action, error) {
	l.proof = nil
	if halt := l.unproved(s, id); halt != nil {
		if l.Team != nil && len(l.Team.busy) > 0 {
			return nil, l.await(ctx) // what is at work may make a check green
		}
		return halt, nil
	}
	s, err := l.followGate(ctx, s)
	if err != nil {
		return nil, err
	}
	if l.Team != nil {
		return nil, l.send(ctx, id)
	}
	l.housekeep(ctx)
	job := taskJob(s.Plan.Tasks[s.Plan.Find(id)])
	if l.Share == nil {
		end, err := l.iterate(ctx, s, job)
		return end.Halt, err
	}
	if _, err := l.Share.CatchUp(ctx); err != nil {
		return nil, err
	}
	c, ok, err := l.take(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	job.under, job.turn = c.ID, c.Iteration
	if s, err = l.load(); err != nil {
		return nil, err
	}
	job.task = s.Plan.Tasks[s.Plan.Find(id)]
	end, err := l.iterate(ctx, s, job)
	if err != nil {
		return nil, err
	}
	l.Share.done++
	l.publishEnd()
	return end.Halt, nil
}

// proveEnd runs the checks in a fresh checkout at the end of a run that stops
// after building. It runs before the user is asked about tasks set aside, so
// that their approval completes the run. Failed checks are reported but do not
// prevent the question.
func (l *Loop) proveEnd(ctx context.Context, s state.State, a Action) (*Action, error) {
	asked := a.Status == state.NeedsReview
	a.Kind = Halt
	if asked && !s.Plan.Settled() {
		return &a, nil
	}
	end, err := l.complete(ctx, s)
	l.proved = err == nil && end.Status == state.Complete
	if asked && l.proved {
		_, tip, terr := l.Repo.Head(ctx)
		l.proved = terr == nil && tip == l.proofOf
	}
	if asked && ctx.Err() == nil {
		return &a, err
	}
	return &end, err
}

// interrupted is how a run ends whose context has ended.
func interrupted(ctx context.Context) Action {
	if errors.Is(context.Cause(ctx), session.ErrStopNow) {
		return Action{Kind: Halt, Status: state.Stopped, Reason: stoppedByOperator}
	}
	return Action{Kind: Halt, Status: state.Interrupted, Reason: "interrupted"}
}

// background outlives Ctrl-C: what an iteration leaves is always written.
func (l *Loop) background() context.Context { return context.Background() }

func (l *Loop) load() (state.State, error) {
	snap, err := l.Journal.Load(l.background())
	if err != nil {
		return state.State{}, err
	}
	if l.Share != nil {
		return snap.State.For(l.Journal.Actor, l.Repo.WorktreeName()), nil
	}
	return snap.State, nil
}

// record appends an event that does not depend on the state.
func (l *Loop) record(e state.Event) error {
	_, err := l.Journal.Record(l.background(), e)
	return err
}

func (l *Loop) emit(event string, s state.State, task plan.TaskID, data any, format string, args ...any) {
	if l.Emit != nil {
		iteration := s.Run.Iteration
		if l.Worker != nil && l.Worker.turn > 0 { // others have begun meanwhile
			iteration = l.Worker.turn
		}
		l.Emit(session.Live{Time: l.Now(), Event: event, Iteration: iteration, Task: task,
			Message: fmt.Sprintf(format, args...), Data: data})
	}
}

// limits are the limits under the overrides of the state.
func (l *Loop) limits(s state.State) Limits {
	if l.Resolve != nil && !maps.Equal(s.Run.Overrides, l.overrides) {
		set, err := l.Resolve(s.Run.Overrides)
		if err != nil {
			l.Log("settings changed with `set` are left out: %v", err)
		} else {
			l.Settings = set
		}
		l.overrides = maps.Clone(s.Run.Overrides)
	}
	lim := l.Settings.Limits
	lim.RegeneratePlan = lim.RegeneratePlan && l.mayReplan(s)
	return lim
}

// mayReplan reports whether an agent may replan by itself: only when there are
// specs. Otherwise the user's plan is the only statement of what is wanted.
func (l *Loop) mayReplan(s state.State) bool {
	if s.Run.Breaker.Stagnation < l.Settings.Limits.Stagnation {
		return false // nothing asks
	}
	specs, err := ReadSpecs(l.Repo.Root)
	return err == nil && len(specs) > 0
}

func (l *Loop) fail(step string) {
	if l.Fail != nil {
		l.Fail(step)
	}
}

func (l *Loop) failTask(a Action) error {
	l.emit("stuck", state.State{}, a.Task, nil, "%s failed: %s", a.Task, a.Reason)
	return l.giveUp(&state.TaskChange{Action: "fail", IDs: []plan.TaskID{a.Task}, Status: plan.Failed, Reason: a.Reason,
		Rule: "attempts_exhausted"})
}

func (l *Loop) blockTask(a Action) error {
	l.emit("stuck", state.State{}, a.Task, nil, "%s is blocked: %s", a.Task, plan.HeldUp(a.Reason))
	return l.giveUp(&state.TaskChange{Action: "block", IDs: []plan.TaskID{a.Task}, Status: plan.Blocked, Reason: a.Reason,
		Rule: "stagnation"})
}

// giveUp ends the work on a task. Its failures do not count against the next
// one; only tasks that failed in a row do (Breaker.FailedTasks). A breaker that
// is half-open allows one attempt, and that one has failed.
func (l *Loop) giveUp(c *state.TaskChange) error {
	_, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		c.ResetFailures = s.Run.Breaker.State != "half-open"
		return state.Event{Type: state.EvTask, Phase: state.Building, Task: c.IDs[0], TaskSet: c}, nil
	})
	return err
}

func (l *Loop) breaker(to, reason string) error {
	e := state.Event{Type: state.EvBreaker, Breaker: &state.BreakerChange{State: to, Reason: reason,
		Reset: to == "half-open"}}
	// Waiting brings no budget back.
	if d := l.Settings.Limits.Cooldown; to == "open" && d > 0 && !IsBudget(reason) {
		e.Breaker.Until = l.Now().Add(d).UTC().Format(time.RFC3339)
	}
	return l.record(e)
}

// wait stands still while the run is paused or a time has not come.
func (l *Loop) wait(ctx context.Context, a Action) error {
	return l.waitFor(ctx, a, nil, func(s state.State) bool {
		return s.Run.StopAsked > 0 || a.Status == state.Paused && !s.Run.PauseAsked
	})
}

// waitFor waits until a time has come, over is true, or wants accepts a user's
// request. over may be nil. It may be slow: a request cancels its context.
func (l *Loop) waitFor(ctx context.Context, a Action, over func(context.Context) bool,
	wants func(state.State) bool) error {
	until := ""
	if !a.Until.IsZero() {
		until = a.Until.UTC().Format(time.RFC3339)
	}
	if err := l.record(state.Event{Type: state.EvHalt, Halt: &state.Halt{Status: a.Status, Reason: a.Reason,
		Detail: until}}); err != nil {
		return err
	}
	name := "wait"
	if a.Status == state.Paused {
		name = "pause"
	}
	l.emit(name, state.State{}, "", nil, "%s", a.Reason)
	asks, ended := l.asks(wants), false
	for ctx.Err() == nil && !ended && (a.Until.IsZero() || l.Now().Before(a.Until)) {
		asked, err := asks.during(ctx, func(ctx context.Context) {
			if l.Sleep(ctx, lookEvery); over != nil && ctx.Err() == nil {
				ended = over(ctx)
			}
		})
		if err != nil && ctx.Err() == nil {
			return err
		}
		if asked {
			break
		}
	}
	if ctx.Err() == nil {
		l.emit("resume", state.State{}, "", nil, "going on")
		return l.record(state.Event{Type: state.EvHalt, Halt: &state.Halt{Status: state.Running}})
	}
	return nil
}

// place is where the loop's iterations are recorded.
func (l *Loop) place() recovery.Place {
	return recovery.Place{Repo: l.Repo, Engine: l.Engine, Log: l.Log, Now: l.Now, Fail: l.Fail}
}

// recovery ends what this loop has begun itself, as after a crash.
func (l *Loop) recovery() *recovery.Recovery {
	p := l.place()
	p.Fail = nil
	return &recovery.Recovery{Place: p, Journal: l.Journal}
}
