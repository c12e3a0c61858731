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
		Skipped: errors.Is(ran.cause, session.ErrSkipped), Checks: Checks{Pass: true, Environment: ran.lacks},
		PartialLeft: l.Settings.Limits.MaxPartial <= 0 || rd.task.Partial < l.Settings.Limits.MaxPartial}}
	if rd.proved != nil {
		x.report.Runs = slices.Clone(rd.proved.Runs)
	}
	it := &attempt{rd, ran, x}
	f, err := l.checkTamper(rd)
	if x.add(f); err != nil || x.moved != nil {
		return x, err
	}
	x.facts.Said, x.left, f = l.readClaims(rd, ran)
	x.add(f)
	prove := it.judged() && rd.phase == state.Building && ran.lacks == ""
	if prove {
		r, err := l.stepsAfter(ctx, rd)
		if err != nil {
			return nil, err
		}
		x.stepsAfter, x.facts.Checks.StepFailed, x.stepFail = r.Runs, r.Failed, r.FailText
	}
	if x.after, err = l.Engine.Capture(l.background(), rd.Before); err != nil {
		return nil, fmt.Errorf("see what the agent changed: %w", err)
	}
	l.fail("iteration:captured")
	x.add(findings{notices: l.nameForeign(rd.foreign)})
	if len(ran.steps)+len(x.stepsAfter) == 0 {
		x.add(findings{notices: nameBeside(ran.calls, x.after)})
	}
	x.putBack = slices.Clone(x.after.PutBack)
	x.facts.Change, f = l.weighChange(rd, x.after)
	x.add(f)
	if prove {
		p, err := l.prove(ctx, it)
		if err == nil {
			p, err = l.blameEnvironment(ctx, it, p)
		}
		if err != nil {
			return nil, err
		}
		x.prove(p)
	}
	if rd.product != nil {
		judged := it.judged()
		x.facts.Said.Done = false
		if judged {
			x.made, err = rd.product.settle(ctx, it)
			x.make(x.made)
		}
	}
	if x.add(rd.blameSpoiled()); err != nil || l.isolated() {
		return x, err
	}
	// Checks and steps ran the agent's code, and no sandbox protected all of
	// git.
	f, err = l.checkTamper(rd)
	x.add(f)
	return x, err
}

// make takes over the result of a job that ends without an agent's claim.
func (x *Examined) make(m made) {
	x.add(findings{notices: m.notices})
	if c := m.validated; c != nil {
		x.putBack = append(x.putBack, c.putBack...)
		x.report.Runs, x.report.Criteria = append(x.report.Runs, c.runs...), append(x.report.Criteria, c.criteria...)
		if c.after != nil {
			x.after = c.after
			x.facts.Change.Any, x.facts.Change.TooLarge, x.facts.Change.Nested = false, nil, nil
		}
		if c.interrupted {
			x.facts.Outcome = session.Interrupted
		}
	}
	if len(m.problems) > 0 {
		x.facts.Checks.Pass = false
		x.facts.Checks.Reasons = append(x.facts.Checks.Reasons, m.problems...)
	}
}

// judged reports whether the run ended by itself; only then is its work
// checked.
func (it *attempt) judged() bool {
	switch it.run.Outcome {
	case session.Completed, session.MaxTurns, session.PermissionDenied:
		return !it.facts.Skipped
	case session.BudgetExceeded:
		// Work that was finished when a session budget ran out is checked as
		// well.
		return it.facts.Said.Done && !ofIteration(it.run.Detail)
	}
	return false
}

// readClaims finds out what the agent said, and whether it counts.
func (l *Loop) readClaims(rd *Ready, ran *Ran) (said Said, was left, f findings) {
	raw, problem := ran.tools.Handoff, error(nil)
	var claim *bool // what the handoff says about the task
	bad := ""       // why it does not count
	if raw == nil {
		raw, problem = session.ReadHandoff(session.HandoffFile(rd.use.RunDir))
	}
	if raw == nil && ran.run.Structured != nil {
		raw = ran.run.Structured
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
			was.handoff, claim = h, &h.TaskCompleted.FullyComplete
		case repaired:
			// What is wrong with the form says nothing about the work.
			was.handoff, claim = &m.Handoff, m.Claim
			if h := was.handoff; h.TaskCompleted.TaskID == "" {
				h.TaskCompleted.TaskID = string(rd.task.ID)
			}
			for _, fault := range notes.Faults(problems) {
				f.note("handoff: %s", notes.OneLine(fault, 500))
			}
		default:
			was.raw, was.problems = raw, problems
			bad = problems[0].String()
		}
	}
	c := ran.tools
	yes, no := false, false
	if c.Complete != nil && c.Complete.TaskID == rd.task.ID {
		yes = true
	}
	if h := was.handoff; h != nil {
		switch {
		case rd.task.ID != "" && !strings.EqualFold(h.TaskCompleted.TaskID, string(rd.task.ID)):
			bad = fmt.Sprintf("it is about %q", notes.OneLine(h.TaskCompleted.TaskID, 64))
		case claim == nil: // it does not say
		case *claim:
			yes = true
		default:
			no = true
		}
	}
	said.Done = yes && !no
	said.Unfinished = no
	said.Problem = bad
	if c.Blocked != nil {
		said.Blocked = cmp.Or(c.Blocked.Text, "no reason given")
	}
	said.Retry = c.Retry
	if len(c.Unanswered) > 0 {
		said.Question = l.stillOpen(c.Unanswered)
	}
	return said, was, f
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
func (l *Loop) stepsAfter(ctx context.Context, rd *Ready) (r StepReport, err error) {
	err = l.guarded(rd, worktreeAccess(rd.use.ReadOnly), func(start session.Starter) (err error) {
		r, err = l.Prover.Steps(ctx, "after", l.proofRequest(rd, start))
		return err
	})
	rd.AddOutputs(r.Outputs)
	return r, err
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
func (l *Loop) weighChange(rd *Ready, a *worktree.Capture) (c Change, f findings) {
	c = Change{Any: len(a.Changes) > 0, NoneOK: rd.task.NoChangeExpected,
		TooLarge: a.TooLarge, Nested: a.Nested, Unreadable: a.Unreadable, Secrets: l.copiedSecrets(rd.secrets, a.Changes)}
	// All of these are named, however many they are.
	for _, path := range a.Special {
		f.notices = append(f.notices, recovery.NotCaptured+path)
	}
	for _, path := range a.Excluded {
		f.notices = append(f.notices, recovery.NotCapturedNow+path)
	}
	for _, path := range a.IgnoredChanged {
		f.notices = append(f.notices, recovery.IgnoredChanged+path)
	}
	f.notices = recovery.Noted(f.notices, rd.TellSpoiled(a.Spoiled)...)
	match := guard.Protected{Globs: l.Settings.Protected}
	allow := guard.Protected{Globs: rd.task.AllowProtected}
	protect := func(path string) {
		if _, hit := match.Match(path); !hit {
			return
		}
		if _, ok := allow.Match(path); !ok {
			c.Protected = append(c.Protected, path)
		}
	}
	if rd.phase == state.Building {
		// Untracked and ignored files are protected as well.
		for _, path := range slices.Concat(a.PutBack, a.IgnoredChanged) {
			protect(path)
		}
	}
	for _, change := range a.Changes {
		switch rd.phase {
		case state.Discovery:
			if !strings.HasPrefix(change.Path, "specs/") {
				c.OutOfPhase = append(c.OutOfPhase, change.Path)
			}
		case state.Planning:
			c.OutOfPhase = append(c.OutOfPhase, change.Path)
		case state.Building:
			protect(change.Path)
		}
	}
	return c, f
}

// prove runs checks and criteria on the attempt and puts back whatever they
// changed among the captured paths.
func (l *Loop) prove(ctx context.Context, it *attempt) (proof, error) {
	p := proof{report: it.report, checks: it.facts.Checks, reproduced: it.reproduced}
	err := l.guarded(it.Ready, readWrite, func(start session.Starter) error {
		var err error
		req := l.proofRequest(it.Ready, start)
		req.Again = func(f func(ProofRequest) error) error { return l.inCheckout(ctx, it, nil, f) }
		req.Complete = it.landing
		for _, c := range it.after.Changes {
			req.Changed = append(req.Changed, c.Path)
		}
		p.report, err = l.Prover.Prove(ctx, req)
		return err
	})
	if ctx.Err() != nil {
		p.interrupted = true
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("run the checks: %w", err)
	}
	p.checks.Pass, p.checks.Reasons = p.report.Pass, p.report.Reasons
	p.notices = recovery.Noted(nil, p.report.Fewer...)
	if l.Settings.Fresh == "each" && p.report.Pass && it.phase == state.Building {
		if p, err = l.proveAlone(ctx, it, p); err != nil {
			return p, err
		}
	}
	it.AddOutputs(p.report.Outputs)
	if len(p.report.Runs) > 0 {
		back, err := it.RestoreCaptured(it.after)
		p.add(findings{notices: back.Notices})
		if err != nil {
			return p, fmt.Errorf("put back what the checks changed: %w", err)
		}
	}
	if l.Settings.TestGuard && !it.task.AllowTestChanges && len(it.after.Changes) > 0 {
		weak, err := l.weakened(ctx, it, p.report.Runs)
		if err != nil {
			return p, err
		}
		p.checks.Weakened = weak.Findings
		for _, n := range weak.Notes {
			p.note("tests: %s", notes.OneLine(n, 300))
		}
	}
	return l.reproduce(ctx, it, p)
}

// proveAlone runs the checks of an iteration once more with nothing but what it
// would commit.
func (l *Loop) proveAlone(ctx context.Context, it *attempt, p proof) (proof, error) {
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
		p.interrupted = true
		return p, nil
	case err != nil:
		return p, fmt.Errorf("run the checks in a fresh checkout: %w", err)
	case !ran:
		p.checks.Pass, p.checks.Reasons = false, []string{"fresh_checks: setup"}
		return p, nil
	}
	for name, out := range alone.Outputs {
		it.Add("checks/fresh/"+name, out)
	}
	if !alone.Pass {
		p.checks.Pass = false
		for _, r := range alone.Reasons {
			p.checks.Reasons = append(p.checks.Reasons, "fresh_"+r)
		}
		p.report.Runs = append(p.report.Runs, alone.Runs...)
	}
	return p, nil
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

// nameBeside names the tracked files that changed during the run and that no tool call
// of the agent can have changed. It names none when the driver does not report tool
// calls. The caller asks only where no step ran.
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
