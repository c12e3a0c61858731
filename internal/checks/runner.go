package checks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
)

// DefaultTimeout is the wall clock of a check that names none.
const DefaultTimeout = 10 * time.Minute

// DefaultMaxOutput is how much output of one check is kept, in bytes.
const DefaultMaxOutput = 10 << 20

// StartFunc starts a process under the guard of an iteration; it has the
// signature of session.Starter and of proc.Group.Start.
type StartFunc func(ctx context.Context, cmd proc.Command) (*proc.Process, error)

// Scope is a set of processes that ends together; *proc.Group is one.
type Scope interface {
	Start(ctx context.Context, cmd proc.Command) (*proc.Process, error)
	// Close returns when no process of the scope is left.
	Close() error
}

// Runner runs commands of the project, one after the other. The zero value of
// every field but Start (or Open) and Dir has a meaning.
type Runner struct {
	// Start starts the commands; required unless Open is set. What a command
	// leaves behind in its process group is gone when it ends; what left the
	// group lives until the caller closes what Start belongs to.
	Start StartFunc
	// Open gives every command a scope of its own, which is closed before the
	// next one starts, so that a server that one check left behind cannot serve
	// the next.
	Open func() (Scope, error)
	Dir  string   // the worktree's root, absolute
	Env  []string // complete; nothing is added to it
	// Shell runs a line that is appended to it; nil = sh -c, on Windows cmd /C.
	Shell []string
	// Timeout is the wall clock of one run without a time of its own; 0 = DefaultTimeout.
	Timeout time.Duration
	// Grace is the time between TERM and KILL; 0 = proc.DefaultGrace.
	Grace time.Duration
	// MaxOutput is what is kept of the output of one run, half from each end; 0 = DefaultMaxOutput.
	MaxOutput int
	// FlakyReruns is how often a red check is run again, with Again.
	FlakyReruns int
	// Again runs a red check once more from a clean start, where nothing is left
	// of its first run; nil = red is red.
	Again func(ctx context.Context, c Check) (Result, error)
	// Now is the clock for durations; nil = time.Now.
	Now func() time.Time
	// Started and Done tell what goes on; they may be nil.
	Started func(Check)
	Done    func(Result)
}

// Run runs checks in order and returns one result for each. Every one is run,
// also when one before it is red: the agent is told everything at once. The
// only error is the end of ctx; the results are then those that were complete.
func (r *Runner) Run(ctx context.Context, checks []Check) ([]Result, error) {
	var results []Result
	first := map[string]int{} // command → result of its first run in this call
	for _, c := range checks {
		if i, ok := first[c.Run]; ok {
			same := results[i]
			same.Name, same.Kind, same.AllowFailure, same.Hidden = c.Name, c.kind(), c.AllowFailure, c.Hidden
			same.asCriterion()
			results = append(results, same)
			continue
		}
		if r.Started != nil {
			r.Started(c)
		}
		res, err := r.check(ctx, c)
		if err != nil {
			return results, err
		}
		first[c.Run] = len(results)
		results = append(results, res)
		if r.Done != nil {
			r.Done(res)
		}
	}
	return results, nil
}

// check runs one check and, when it is red, again. The output of the first
// run is kept: it is worth fixing even when a clean start only shows that the
// check needs something that is not in the repository.
func (r *Runner) check(ctx context.Context, c Check) (Result, error) {
	res, err := r.once(ctx, c)
	if err != nil {
		return res, err
	}
	res.Attempts = 1
	for r.Again != nil && res.Attempts <= r.FlakyReruns && !res.Passed && !res.TimedOut && !res.NoTests &&
		(res.Limit == "" || res.Limit == proc.LimitMemory) && res.Problem == "" && res.Missing == "" {
		again, err := r.Again(ctx, c)
		if err != nil {
			return res, err
		}
		res.Attempts++
		res.DurationMs += again.DurationMs
		if again.Passed {
			res.Passed, res.Flaky, res.ExitCode, res.Tests, res.Limit = true, true, again.ExitCode, again.Tests, ""
			res.Tested, res.Quiet, res.SaysFailed = again.Tested, again.Quiet, again.SaysFailed
		}
	}
	return res, nil
}

// Once runs one check, and never again.
func (r *Runner) Once(ctx context.Context, c Check) (Result, error) { return r.once(ctx, c) }

// errTimeout is the cause of a context that ended at the check's own limit.
var errTimeout = errors.New("timeout")

// once runs one check to its end. The error is only the end of ctx.
func (r *Runner) once(ctx context.Context, c Check) (Result, error) {
	limit := c.Timeout
	if limit <= 0 {
		limit = r.Timeout
	}
	if limit <= 0 {
		limit = DefaultTimeout
	}
	began := time.Now()
	res, err := r.execute(ctx, c, shellCommand(r.Shell, c.Run), limit)
	if err != nil || res.Problem != "" {
		return res, err
	}
	if c.Kind != "setup" && c.Kind != "step" {
		res.countTests()
		if res.Passed && res.Quiet {
			if err := r.countSilent(ctx, c, &res, began, limit); err != nil {
				return res, err
			}
		}
	}
	if !res.Passed && !res.TimedOut && !res.NoTests {
		res.Missing = missingProgram(c.Run, res.ExitCode, res.Output)
	}
	return res, nil
}

// execute runs one command, which is what c says or a form of it, and tells how it ended.
func (r *Runner) execute(ctx context.Context, c Check, cmd proc.Command, limit time.Duration) (Result, error) {
	res := Result{Name: c.Name, Kind: c.kind(), Command: c.Run, ExitCode: -1, AllowFailure: c.AllowFailure,
		Hidden: c.Hidden}
	if err := ctx.Err(); err != nil {
		return res, fmt.Errorf("run %q: %w", c.Name, err)
	}
	now := r.Now
	if now == nil {
		now = time.Now
	}
	keep := r.MaxOutput
	if keep <= 0 {
		keep = DefaultMaxOutput
	}
	start, end, err := r.scope()
	if err != nil {
		res.Problem = err.Error()
		return res, nil
	}
	runCtx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()

	out := proc.NewHeadTail(keep)
	cmd.Dir, cmd.Env, cmd.Grace = r.Dir, r.Env, r.Grace
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.Stdout, cmd.Stderr = out, out
	began, kills := now(), proc.MemoryKills()
	p, err := start(runCtx, cmd)
	var exit proc.Exit
	if err == nil {
		exit, err = p.Wait()
	}
	res.DurationMs = now().Sub(began).Milliseconds()
	if cerr := end(); err == nil {
		err = cerr
	}
	res.Output, res.OutputBytes = out.Bytes(), out.Total()
	if ctx.Err() != nil {
		return res, fmt.Errorf("run %q: %w", c.Name, ctx.Err())
	}
	if err != nil {
		res.Problem = err.Error()
		return res, nil
	}
	res.ExitCode = exit.Code
	res.TimedOut = exit.Stopped && context.Cause(runCtx) == errTimeout
	res.Passed = exit.Success() && !res.TimedOut
	if !res.Passed && !res.TimedOut {
		// A test runner exits with its own code when the kernel kills its test.
		if res.Limit = exit.Limit; res.Limit == "" && kills >= 0 && proc.MemoryKills() > kills {
			res.Limit = proc.LimitMemory
		}
	}
	return res, nil
}

// outputText is what a command printed as text without colours.
func outputText(b []byte) string { return StripEscapes(strings.ToValidUTF8(string(b), "\uFFFD")) }

// countTests reads from the output how many tests ran. An output that was cut in
// the middle does not tell. Of a failure it only notes that there were tests.
func (r *Result) countTests() {
	text := outputText(r.Output)
	n, known := Ran(text)
	r.Spoke = known || uncounted(text)
	if !r.Passed || r.OutputBytes > int64(len(r.Output)) {
		return
	}
	if known {
		r.Tests = &n
	}
	r.SaysFailed = saysFailed(text)
	r.Tested = r.Tests != nil && *r.Tests > 0 || uncounted(text)
	r.Quiet = r.Tests == nil && !r.Tested && !upToDate().MatchString(text)
	if RanNothing(r.Kind, r.Command, text) {
		r.Passed, r.NoTests = false, true
	}
}

// proves reports whether the tests that the command asks for must have run.
func (r *Result) proves() bool { return r.Kind == Criterion || NamesTests(r.Command) }

// ran notes how many tests ran when the output did not say. The output still does not speak of
// tests, because the next run may not be counted.
func (r *Result) ran(n int) { r.Tests, r.Tested, r.Quiet = &n, n > 0, false }

// countSilent counts the tests of a command that succeeded and says nothing of them.
func (r *Runner) countSilent(ctx context.Context, c Check, res *Result, began time.Time, limit time.Duration) error {
	if res.Kind != Test && !res.proves() {
		return nil
	}
	if leadsTo(r.Dir, c.Run, startsJava) {
		n, found := reportsSince(r.Dir, began)
		switch {
		case found:
			res.ran(n)
			return nil
		case res.proves() && leadsTo(r.Dir, c.Run, asksMaven):
			res.Passed, res.NoTests = false, true // Surefire writes a report of each class that it runs
			return nil
		}
	}
	return r.recount(ctx, c, res, limit)
}

// asCriterion is what a check's result says of a task: nothing if its output says that no test ran.
func (r *Result) asCriterion() {
	if r.Kind == Criterion && r.Passed && r.Tests != nil && *r.Tests == 0 {
		r.Passed, r.NoTests = false, true
	}
}

// upToDate are the words of runners that had nothing to do.
var upToDate = lazyregexp.New(`(?i)up[- ]to[- ]date|nothing to be done|cached|from cache|no changes`)

// noTestRan is said of a command that succeeded without one.
const noTestRan = "no test ran"

// scope is how one command is started, and what ends its processes.
func (r *Runner) scope() (StartFunc, func() error, error) {
	if r.Open == nil {
		return r.Start, func() error { return nil }, nil
	}
	s, err := r.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a scope for the command: %w", err)
	}
	return s.Start, s.Close, nil
}

// Setup runs the commands of project.setup in order and stops at the first that
// fails; the results tell all that ran. They are no checks: nothing is run
// again, and the error names what failed.
func (r *Runner) Setup(ctx context.Context, commands []string, timeout time.Duration) ([]Result, error) {
	var results []Result
	for _, line := range commands {
		res, err := r.once(ctx, Check{Name: line, Run: line, Kind: "setup", Timeout: timeout})
		if err != nil {
			return results, err
		}
		results = append(results, res)
		if r.Done != nil {
			r.Done(res)
		}
		if !res.Passed {
			said := strings.Join(Tail(res.Output, 8), "\n  ")
			return results, errors.New(strings.TrimRight(fmt.Sprintf("setup %q: %s\n  %s", line, failure(res), said), "\n "))
		}
	}
	return results, nil
}

// failure is why a result did not pass, in a few words.
func failure(r Result) string {
	switch {
	case r.TimedOut:
		return "timeout"
	case r.Problem != "":
		return r.Problem
	case r.Missing != "" && r.ExitCode == 126 && strings.Contains(r.Missing, "/"):
		return fmt.Sprintf("%s may not be run (exit code 126): chmod +x %s, or name what runs it, as in sh %s", r.Missing,
			r.Missing, r.Missing)
	case r.Missing != "":
		return fmt.Sprintf("environment: %s not found (exit code %d)", r.Missing, r.ExitCode)
	case r.Limit != "":
		return "limit: " + r.Limit
	case r.NoTests:
		return noTestRan
	default:
		return fmt.Sprintf("exit code %d", r.ExitCode)
	}
}

// StepReport is what became of one step in one iteration.
type StepReport struct {
	Name string
	End  Move   // Skip, Pass, Forgive or Fail
	Last Result // of the last attempt; the zero value when it was skipped
	// Tries is how many times the command was run.
	Tries int
}

// Steps runs the steps of one side of the agent in order. It returns what
// became of each, the states of all steps that are to be persisted (a copy; those
// of the other side are carried over), and whether the iteration may go on: the
// first step that fails without continue_on_error ends it. wait pauses between
// attempts and ends early with ctx; the only error is the end of ctx.
func (r *Runner) Steps(ctx context.Context, steps []Step, side When, states map[string]StepState,
	wait func(context.Context, time.Duration) error) ([]StepReport, map[string]StepState, bool, error) {
	now := r.Now
	if now == nil {
		now = time.Now
	}
	next := make(map[string]StepState, len(states))
	for k, v := range states {
		next[k] = v
	}
	var reports []StepReport
	for _, s := range steps {
		if s.when() != side {
			continue
		}
		rep := StepReport{Name: s.Name}
		for {
			move := s.Next(next[s.Name], rep.Tries, rep.Last, now())
			if move.Kind != Try {
				rep.End = move
				break
			}
			if move.Delay > 0 {
				if err := wait(ctx, move.Delay); err != nil {
					return reports, next, false, fmt.Errorf("run step %q: %w", s.Name, err)
				}
			}
			res, err := r.once(ctx, Check{Name: s.Name, Run: s.Run, Kind: "step", Timeout: s.Timeout})
			if err != nil {
				return reports, next, false, err
			}
			rep.Tries++
			res.Attempts = rep.Tries
			rep.Last = res
		}
		if rep.End.Kind != Skip {
			if st := s.After(next[s.Name], rep.End, now()); st == (StepState{}) {
				delete(next, s.Name)
			} else {
				next[s.Name] = st
			}
			if r.Done != nil {
				r.Done(rep.Last)
			}
		}
		reports = append(reports, rep)
		if rep.End.Kind == Fail {
			return reports, next, false, nil
		}
	}
	return reports, next, true, nil
}
