package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/guard"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// examine establishes the facts after the agent is gone: what git's own state
// says, what the worktree holds, what the agent claimed, what the checks say.
func (l *Loop) examine(ctx context.Context, rd *Ready, ran *Ran) (*Examined, error) {
	x := &Examined{facts: Facts{Claims: rd.claims, Spare: rd.spare, Outcome: ran.run.Outcome, Detail: ran.run.Detail,
		Skipped: errors.Is(ran.cause, session.ErrSkipped), Checks: Checks{Pass: true, Environment: ran.lacks}}}
	if rd.proved != nil {
		x.report.Runs = slices.Clone(rd.proved.Runs)
	}
	it := &attempt{rd, ran, x}
	if err := l.checkTamper(it); err != nil || x.moved != nil {
		return x, err
	}
	l.readClaims(it)
	prove := it.judged() && rd.phase == state.Building && ran.lacks == ""
	if prove {
		if err := l.stepsAfter(ctx, it); err != nil {
			return nil, err
		}
	}
	var err error
	if x.after, err = l.Engine.Capture(l.background(), rd.Before); err != nil {
		return nil, fmt.Errorf("see what the agent changed: %w", err)
	}
	l.fail("iteration:captured")
	x.notices = recovery.Noted(x.notices, l.nameForeign(rd.foreign)...)
	if len(ran.steps)+len(x.stepsAfter) == 0 {
		x.notices = recovery.Noted(x.notices, nameBeside(ran.calls, x.after)...)
	}
	l.weighChange(it)
	if prove {
		err := l.prove(ctx, it)
		if err == nil {
			err = l.blameEnvironment(ctx, it)
		}
		if err != nil {
			return nil, err
		}
	}
	err = l.weighProduct(ctx, it)
	if it.blameSpoiled(); err != nil || l.isolated() {
		return x, err
	}
	// Checks and steps ran what the agent wrote, and nothing kept them from
	// all of git.
	return x, l.checkTamper(it)
}

// weighProduct weighs what a job has made that ends by it and by no claim.
func (l *Loop) weighProduct(ctx context.Context, it *attempt) error {
	if it.product == nil {
		return nil
	}
	judged := it.judged()
	it.facts.Said.Done = false
	if !judged {
		return nil
	}
	m, err := it.product.settle(ctx, it)
	it.made = m
	it.notices = append(it.notices, m.notices...)
	if len(m.problems) > 0 {
		it.facts.Checks.Pass = false
		it.facts.Checks.Reasons = append(it.facts.Checks.Reasons, m.problems...)
	}
	return err
}

// judged reports whether the run ended by itself, so that its work is checked.
func (it *attempt) judged() bool {
	switch it.run.Outcome {
	case session.Completed, session.MaxTurns, session.PermissionDenied:
		return !it.facts.Skipped
	case session.BudgetExceeded:
		// What was finished when a budget of the session ended is worth it, too.
		return it.facts.Said.Done && !ofIteration(it.run.Detail)
	}
	return false
}

// readClaims finds out what the agent said, and whether it counts.
func (l *Loop) readClaims(it *attempt) {
	raw, problem := it.tools.Handoff, error(nil)
	var claim *bool // what the handoff says about the task
	bad := ""       // why it does not count
	if raw == nil {
		raw, problem = session.ReadHandoff(session.HandoffFile(it.use.RunDir))
	}
	if raw == nil && it.run.Structured != nil {
		raw = it.run.Structured
	}
	if problem != nil {
		bad = problem.Error()
	}
	if raw != nil {
		h, problems := notes.ParseHandoff(raw)
		m, repaired := notes.Repaired{}, false
		if len(problems) > 0 {
			m, repaired = notes.RepairHandoff(raw)
		}
		switch {
		case len(problems) == 0:
			it.left.handoff, claim = h, &h.TaskCompleted.FullyComplete
		case repaired:
			// What is wrong with the form says nothing about the work.
			it.left.handoff, claim = &m.Handoff, m.Claim
			if h := it.left.handoff; h.TaskCompleted.TaskID == "" {
				h.TaskCompleted.TaskID = string(it.task.ID)
			}
			for _, fault := range notes.Faults(problems) {
				it.notice("handoff: %s", notes.OneLine(fault, 500))
			}
		default:
			it.left.raw, it.left.problems = raw, problems
			bad = problems[0].String()
		}
	}
	c := it.tools
	yes, no := false, false
	if c.Complete != nil && c.Complete.TaskID == it.task.ID {
		yes = true
	}
	if h := it.left.handoff; h != nil {
		switch {
		case it.task.ID != "" && !strings.EqualFold(h.TaskCompleted.TaskID, string(it.task.ID)):
			bad = fmt.Sprintf("it is about %q", notes.OneLine(h.TaskCompleted.TaskID, 64))
		case claim == nil: // it does not say
		case *claim:
			yes = true
		default:
			no = true
		}
	}
	p := &it.facts
	p.Said.Done = yes && !no
	p.Said.Unfinished = no
	p.Said.Problem = bad
	if c.Blocked != nil {
		p.Said.Blocked = cmp.Or(c.Blocked.Text, "no reason given")
	}
	p.Said.Retry = c.Retry
	if len(c.Unanswered) > 0 {
		p.Said.Question = l.stillOpen(c.Unanswered)
	}
}

// stillOpen is the first of some questions that nobody has answered since, as its id and
// text; "" = none.
func (l *Loop) stillOpen(texts []string) string {
	s, err := l.load()
	if err != nil {
		return ""
	}
	for _, q := range OpenQuestions(s) {
		if slices.ContainsFunc(texts, func(t string) bool { return sameQuestion(q.Text, t) }) {
			return q.ID + ": " + notes.OneLine(q.Text, 300)
		}
	}
	return ""
}

// stepsAfter runs the steps between the agent and the checks; what they change
// is part of the iteration.
func (l *Loop) stepsAfter(ctx context.Context, it *attempt) error {
	return l.guarded(it.Ready, worktreeAccess(it.use.ReadOnly), func(start session.Starter) error {
		r, err := l.Prover.Steps(ctx, "after", l.proofRequest(it.Ready, start))
		it.stepsAfter = r.Runs
		it.AddOutputs(r.Outputs)
		it.facts.Checks.StepFailed, it.stepFail = r.Failed, r.FailText
		return err
	})
}

// worktreeAccess is what checks and steps may do to the worktree.
type worktreeAccess bool

const (
	readOnly  worktreeAccess = true
	readWrite worktreeAccess = false
)

// guarded lets f start checks or steps of an iteration in the worktree.
func (l *Loop) guarded(it *Ready, readOnly worktreeAccess, f func(session.Starter) error) error {
	use := it.use
	use.Agent, use.ReadOnly = false, bool(readOnly)
	return l.sandboxed(it, use, f)
}

// weighChange derives from the difference what the verdict needs to know.
func (l *Loop) weighChange(it *attempt) {
	p, a := &it.facts, it.after
	p.Change.Any = len(a.Changes) > 0
	p.Change.NoneOK = it.task.NoChangeExpected
	p.Change.TooLarge, p.Change.Nested, p.Change.Unreadable = a.TooLarge, a.Nested, a.Unreadable
	for _, path := range a.Special {
		it.notices = append(it.notices, recovery.NotCaptured+path)
	}
	for _, path := range a.Excluded {
		it.notices = append(it.notices, recovery.NotCapturedNow+path)
	}
	p.PartialLeft = l.Settings.Limits.MaxPartial <= 0 || it.task.Partial < l.Settings.Limits.MaxPartial
	it.putBack = append(it.putBack, a.PutBack...)
	for _, path := range a.IgnoredChanged {
		it.notices = append(it.notices, recovery.IgnoredChanged+path)
	}
	it.notices = recovery.Noted(it.notices, it.TellSpoiled(a.Spoiled)...)
	p.Change.Secrets = l.copiedSecrets(it.secrets, a.Changes)
	match := guard.Protected{Globs: l.Settings.Protected}
	allow := guard.Protected{Globs: it.task.AllowProtected}
	protect := func(path string) {
		if _, hit := match.Match(path); !hit {
			return
		}
		if _, ok := allow.Match(path); !ok {
			p.Change.Protected = append(p.Change.Protected, path)
		}
	}
	if it.phase == state.Building {
		// What git does not know of, untracked or ignored, is protected as well.
		for _, path := range slices.Concat(a.PutBack, a.IgnoredChanged) {
			protect(path)
		}
	}
	for _, c := range a.Changes {
		switch it.phase {
		case state.Discovery:
			if !strings.HasPrefix(c.Path, "specs/") {
				p.Change.OutOfPhase = append(p.Change.OutOfPhase, c.Path)
			}
		case state.Planning:
			p.Change.OutOfPhase = append(p.Change.OutOfPhase, c.Path)
		case state.Building:
			protect(c.Path)
		}
	}
}

// prove runs checks and criteria on the attempt and puts back whatever they
// changed among the captured paths.
func (l *Loop) prove(ctx context.Context, it *attempt) error {
	err := l.guarded(it.Ready, readWrite, func(start session.Starter) error {
		var err error
		req := l.proofRequest(it.Ready, start)
		req.Again = func(f func(ProofRequest) error) error { return l.inCheckout(ctx, it, nil, f) }
		req.Complete = it.landing
		for _, c := range it.after.Changes {
			req.Changed = append(req.Changed, c.Path)
		}
		it.report, err = l.Prover.Prove(ctx, req)
		return err
	})
	if ctx.Err() != nil {
		it.facts.Outcome = session.Interrupted
		return nil
	}
	if err != nil {
		return fmt.Errorf("run the checks: %w", err)
	}
	it.facts.Checks.Pass, it.facts.Checks.Reasons = it.report.Pass, it.report.Reasons
	it.notices = recovery.Noted(it.notices, it.report.Fewer...)
	if l.Settings.Fresh == "each" && it.report.Pass && it.phase == state.Building {
		if err := l.proveAlone(ctx, it); err != nil {
			return err
		}
	}
	it.AddOutputs(it.report.Outputs)
	if len(it.report.Runs) > 0 {
		back, err := it.RestoreCaptured(it.after)
		it.notices = recovery.Noted(it.notices, back.Notices...)
		if err != nil {
			return fmt.Errorf("put back what the checks changed: %w", err)
		}
	}
	if err := l.weakened(ctx, it); err != nil {
		return err
	}
	return l.reproduce(ctx, it)
}

// proveAlone runs the checks of an iteration once more with nothing but what it
// would commit.
func (l *Loop) proveAlone(ctx context.Context, it *attempt) error {
	var alone ProofReport
	ran := false
	err := l.inCheckout(ctx, it, nil, func(req ProofRequest) error {
		var err error
		ran = true
		alone, err = l.Prover.Prove(ctx, req)
		return err
	})
	switch {
	case ctx.Err() != nil:
		it.facts.Outcome = session.Interrupted
		return nil
	case err != nil:
		return fmt.Errorf("run the checks in a fresh checkout: %w", err)
	case !ran:
		it.facts.Checks.Pass, it.facts.Checks.Reasons = false, []string{"fresh_checks: setup"}
		return nil
	}
	for name, out := range alone.Outputs {
		it.Add("checks/fresh/"+name, out)
	}
	if !alone.Pass {
		it.facts.Checks.Pass = false
		for _, r := range alone.Reasons {
			it.facts.Checks.Reasons = append(it.facts.Checks.Reasons, "fresh_"+r)
		}
		it.report.Runs = append(it.report.Runs, alone.Runs...)
	}
	return nil
}

// maxCompared bounds a file whose contents the test guard looks at.
const maxCompared = 1 << 20

func (l *Loop) changedFiles(changes []worktree.Change) ([]ChangedFile, error) {
	var out []ChangedFile
	for _, c := range changes {
		f := ChangedFile{Path: c.Path}
		var err error
		if f.Before, err = l.blob(c.Old.Mode, c.Old.ID); err != nil {
			return nil, err
		}
		if f.After, err = l.blob(c.New.Mode, c.New.ID); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (l *Loop) proofRequest(it *Ready, start session.Starter) ProofRequest {
	env := append(append([]string{}, l.Settings.CheckEnv...), "RALPH_PHASE="+string(it.phase),
		"RALPH_TASK_ID="+string(it.task.ID),
		"RALPH_ITERATION="+strconv.Itoa(it.number))
	req := ProofRequest{Start: start, Dir: l.Repo.Root, Env: env, Baseline: it.state.Baseline,
		Result: func(c state.CheckRun) {
			l.emit("check", it.state, it.task.ID, c, "%s: %s", checkName(c), passed(c))
		}}
	if it.task.ID != "" {
		req.Task = &it.task
	}
	return req
}

// checkName is what a check is called where checks and steps are listed.
func checkName(c state.CheckRun) string {
	if c.Kind == "step" {
		return "step " + c.Name
	}
	return c.Name
}

func passed(c state.CheckRun) string {
	switch {
	case c.Skipped != "":
		return "skipped, " + c.Skipped
	case c.Passed && c.Flaky:
		return "flaky: red, then green in a fresh checkout"
	case c.Passed:
		return "passed"
	case c.AlreadyRed:
		return "already red"
	case c.Tolerated:
		return "failed, and may"
	case c.TimedOut:
		return "timeout"
	case c.Limit != "":
		return "failed: limit: " + c.Limit
	case c.NoTests:
		return "failed: no test ran"
	case c.Problem != "":
		return "failed: " + c.Problem
	}
	return "failed"
}

// nameBeside says which tracked files changed while the agent ran and none of
// its tool calls can have changed them. It says nothing where that cannot be
// known: of a driver whose calls are not told. The caller asks only where no step ran.
func nameBeside(calls session.CallWatch, after *worktree.Capture) (notices []string) {
	var paths []string
	for _, c := range after.Changes {
		if !c.Old.ID.IsZero() && !calls.CanHave(c.Path, after.ChangedAt(c.Path)) {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) > 0 {
		notices = append(notices,
			"changed while it ran, perhaps by you: "+text.List(paths)+" (git ralph start --worktree leaves your files to you)")
	}
	return notices
}

// blob reads a file of a tree for comparison, nil when it is absent, no file,
// or too large to be looked at.
func (l *Loop) blob(mode object.Mode, id object.ID) ([]byte, error) {
	if id.IsZero() || mode != object.ModeRegular && mode != object.ModeExecutable {
		return nil, nil
	}
	_, size, r, err := l.Repo.Store.Open(id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxCompared {
		return nil, nil
	}
	return io.ReadAll(r)
}
