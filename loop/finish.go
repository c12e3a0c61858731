package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/notes"
	"git-ralph/plan"
)

// settle carries a verdict out. It is the only writer of an iteration's end: kept
// on the branch, rejected and restored, kept as evidence that did not land, or
// left as it is for a person.
func (l *Loop) settle(ctx context.Context, it *attempt, v Verdict) (Ending, error) {
	if it.moved == nil {
		var err error
		if v, err = l.organise(ctx, it, v); err != nil {
			return Ending{}, err
		}
	}
	if it.moved != nil {
		return l.endMoved(it)
	}
	hint := permission(it)
	if hint != "" {
		it.notices = append(it.notices, "hint: "+hint)
	}
	l.tellVerdict(it, v, hint)
	var halt *Action
	var err error
	if v.Verdict == state.Keep {
		v, halt, err = l.land(ctx, it, v)
	} else {
		err = l.reject(it, v)
	}
	if halt == nil && err == nil {
		if halt, err = l.afterwards(ctx, it, v); halt == nil && it.review != "" {
			halt = &Action{Kind: Halt, Status: state.NeedsReview, Reason: it.review}
		}
	}
	return it.ending(v, halt), err
}

func (l *Loop) tellVerdict(it *attempt, v Verdict, hint string) {
	told := map[string]any{"verdict": v.Verdict, "reasons": v.Reasons, "partial": v.Partial}
	if hint != "" {
		told["hint"] = hint
	}
	l.emit("verdict", it.state, it.task.ID, told, "%s", verdictLine(v))
}

// land keeps an attempt, or ends it otherwise where something stands in the way
// of its commit: a hook, the index, a branch that has moved.
func (l *Loop) land(ctx context.Context, it *attempt, v Verdict) (Verdict, *Action, error) {
	err := l.keep(ctx, it, v)
	var locked *gitstate.IndexLockedError
	var staged *worktree.IndexConflict
	var hook *gitstate.HookError
	switch {
	case errors.As(err, &hook):
		// Nothing points to the attempt yet: what a hook refuses is no keep.
		v = rejectAttempt("hook: " + hook.Hook)
		it.report.FailText = strings.TrimSpace(it.report.FailText + "\n" + hook.Error())
		l.tellVerdict(it, v, "")
		return v, nil, l.reject(it, v)
	case errors.As(err, &staged):
		// Somebody staged something of their own at a path of the attempt.
		if err := l.Repo.ClearIntent(); err != nil {
			return v, nil, err
		}
		return v, &Action{Kind: Halt, Status: state.NeedsReview, Reason: staged.Error()}, l.keepNotLanded(it, v, staged.Error())
	case errors.As(err, &locked):
		// Nobody has to agree to anything: with the lock gone the next start goes on.
		return v, &Action{Kind: Halt, Status: state.Stopped, Reason: locked.Error()}, l.keepNotLanded(it, v, locked.Error())
	case errors.Is(err, gitstate.ErrBranchMoved):
		return v, nil, l.landOnMoved(ctx, it, v)
	}
	return v, nil, err
}

// title is what the iteration was about, in its commit as well.
func (it *attempt) title() string { return or(it.task.Title, it.made.title) }

func verdictLine(j Verdict) string {
	switch {
	case j.Partial:
		return "keep (partial)"
	case len(j.Reasons) > 0:
		return string(j.Verdict) + ": " + strings.Join(j.Reasons, "; ")
	}
	return string(j.Verdict)
}

// result puts together the event of an iteration.
func (l *Loop) result(it *attempt, j Verdict) *state.Result {
	rec := l.handoffRecord(it, j)
	var tok state.Tokens
	turns, calls := 0, 0
	for _, r := range it.runs {
		tok = tok.Plus(r.Tokens)
		turns, calls = turns+r.Turns, calls+r.APICalls
	}
	cost := costOf(it.runs)
	res := &state.Result{Verdict: j.Verdict, Partial: j.Partial, Reasons: j.Reasons, Outcome: string(it.facts.Outcome),
		Detail: notes.OneLine(notes.Redact(it.facts.Detail), 500), Title: it.title(), Summary: notes.OneLine(rec.Summary, 500),
		Parent: hex(it.tip), Attempt: j.Attempt, Failure: j.Failure, Agent: l.Settings.Driver, Model: notes.OneLine(it.run.Model, 100),
		Runs: it.runs, Tokens: tok, CostMicro: cost, DurationMs: l.Now().Sub(it.started).Milliseconds(), Turns: turns, APICalls: calls,
		Checks: append(slices.Concat([]state.CheckRun{}, it.steps, it.stepsAfter), it.report.Runs...), PutBack: it.putBack, Notices: it.told(),
		Criteria: it.report.Criteria, Handoff: rec, PromptTokens: it.Ran.prompt.Tokens, Dropped: it.Ran.prompt.Dropped,
		Sandbox: l.Sandbox.Mechanism(), ContextPeak: it.peak, ContextTokens: it.run.Usage.ContextTokens,
		ContextWindow: it.run.Usage.ContextWindow, ClaimedDone: it.facts.Said.Done, Passes: it.passed,
		TestsReleased: it.task.AllowTestChanges, Reproduction: it.reproduced}
	if res.ContextWindow == 0 && res.ContextTokens > 0 {
		res.ContextWindow = int64(l.Settings.Window)
	}
	if it.after != nil {
		for _, c := range it.after.Changes {
			if len(res.Files) == 1000 {
				res.Notices = append(res.Notices, fmt.Sprintf("%d files changed; the first 1000 are listed", len(it.after.Changes)))
				break
			}
			res.Files = append(res.Files, state.FileChange{Path: c.Path, Kind: string(c.Kind)})
		}
	}
	if it.claims {
		l.taskEnd(it, j, res)
	} else {
		res.PhaseDone = it.made.done && j.Verdict == state.Keep
		if res.PhaseDone && len(res.Runs) > 0 {
			res.Runs[len(res.Runs)-1].Reason = "phase_complete"
		}
	}
	l.leavings(it, j, res)
	return res
}

// costOf adds up what runs reported; nil when one that used tokens did not say,
// or when none said anything.
func costOf(runs []state.AgentRun) *int64 {
	var sum *int64
	for _, r := range runs {
		switch {
		case r.CostMicro != nil:
			n := *r.CostMicro
			if sum != nil {
				n += *sum
			}
			sum = &n
		case r.Tokens.Total() > 0:
			return nil
		}
	}
	return sum
}

// taskEnd says what becomes of the task.
func (l *Loop) taskEnd(it *attempt, j Verdict, res *state.Result) {
	switch {
	case j.Block:
		res.TaskStatus, res.BlockedBy = plan.Blocked, []string{notes.OneLine(it.facts.Said.Blocked, 500)}
	case j.Verdict == state.Keep && !j.Partial:
		res.TaskStatus = plan.Done
		if it.report.Baseline != nil {
			res.Baseline = it.report.Baseline
		}
	default:
		res.TaskStatus = plan.Pending
	}
	if j.Verdict == state.Keep && j.Partial && it.report.Baseline != nil {
		res.Baseline = it.report.Baseline
	}
	if j.Verdict == state.Reject && j.Failure && it.run.Outcome != NotStarted {
		res.FailText = l.failText(it, j)
	} else if j.Verdict == state.Reject && !j.Block {
		res.FailText = it.task.Failure // an interruption says nothing new
	}
}

// failText is what the next attempt is told about this one.
func (l *Loop) failText(it *attempt, j Verdict) string {
	var b strings.Builder
	b.WriteString("The attempt was rejected: " + strings.Join(j.Reasons, "; ") + "\n")
	for _, r := range j.Reasons {
		if h := reasonHelp(r); h != "" {
			b.WriteString("- " + h + "\n")
		}
	}
	for _, text := range []string{it.stepFail, it.report.FailText} {
		if text != "" {
			b.WriteString("\n" + text + "\n")
		}
	}
	return notes.CutBytes(notes.Redact(notes.Clean(b.String())), 6000)
}

// reasonHelp explains a reason to the agent.
func reasonHelp(reason string) string {
	word, _, _ := strings.Cut(reason, ":")
	switch word {
	case "not_claimed":
		return "nothing said that the task is complete: call ralph_mark_task_complete, or leave a handoff with fully_complete = true, when it is"
	case "no_change":
		return "no file was changed"
	case "protected":
		return "these files may not be changed; they were put back"
	case "test_weakened":
		return "tests may not be removed, skipped or made to assert less; mend the code"
	case "reproduction":
		return "write the test of the bug first, or add a case to one that is there: it has to fail on the code as it was and pass with the change"
	case "too_large":
		return "large generated files may not be committed; add them to .gitignore or do not make them"
	case "nested":
		return "a repository inside the worktree is not part of the project; do not run git init or git clone here"
	case "hang":
		return "the run was ended because nothing happened any more; do not start servers or wait for input"
	case "max_turns":
		return "the turns were used up; do a smaller step and hand it off with fully_complete = false"
	case "handoff":
		return "the handoff could not be used: write one JSON object about this task to the file named by $RALPH_HANDOFF_FILE, or call ralph_submit_handoff or ralph_mark_task_complete"
	case "hook":
		return "a commit hook of the repository refused the work"
	case "tampered":
		return "git is read-only for you; the harness commits your work"
	}
	return ""
}

// handoffRecord is the handoff of the iteration: the agent's when it is valid,
// else one built from the facts.
func (l *Loop) handoffRecord(it *attempt, j Verdict) *notes.Record {
	rec := &notes.Record{Origin: notes.Origin{Iteration: it.number, Task: string(it.task.ID), EventID: it.id, Verdict: string(j.Verdict), Source: "agent"}}
	if it.after != nil {
		n := len(it.after.Changes)
		rec.Origin.Files = &n
	}
	if it.left.handoff != nil {
		rec.Handoff = *it.left.handoff
		return rec
	}
	in := notes.SynthInput{Iteration: it.number, Attempt: it.attempt, TaskID: string(it.task.ID), Title: it.title(),
		Outcome: string(it.facts.Outcome), Detail: it.facts.Detail, Claimed: it.facts.Said.Done,
		Tail: notes.Clean(it.lastText), Raw: it.left.raw, Problems: it.left.problems}
	if it.after != nil {
		for _, c := range it.after.Changes {
			if len(in.Files) < 200 {
				in.Files = append(in.Files, notes.FileTouched{Path: c.Path, Action: string(c.Kind)})
			}
		}
	}
	rec.Handoff = notes.Synthesize(in)
	rec.Origin.Source = "harness"
	return rec
}

func (l *Loop) event(it *Ready, res *state.Result) state.Event {
	return state.Event{ID: it.id, Time: l.Now().UTC().Truncate(time.Millisecond), Type: state.EvIteration, Phase: it.phase,
		Iteration: it.number, Task: it.task.ID, Attempt: it.attempt, Result: res}
}

// keep commits exactly what the agent changed.
func (l *Loop) keep(ctx context.Context, it *attempt, j Verdict) error {
	if s, err := l.load(); err != nil {
		return err
	} else if it.task.ID != "" && (taskGone(s, it.task) || taskEdited(s, it.task)) {
		// A person decided otherwise while the agent worked.
		return l.keepNotLanded(it, j, "the task was changed meanwhile")
	}
	if len(it.after.PutBack) > 0 {
		report, err := l.Engine.PutBack(l.background(), it.before, it.after.PutBack, l.untilEvidence(it.Ready, it.after))
		it.notices = noted(it.notices, l.tellRestored(it.Ready, report)...)
		if err != nil {
			return fmt.Errorf("put back what is not the agent's to change: %w", err)
		}
	}
	res := l.result(it, j)
	if len(it.after.Changes) == 0 {
		return l.endKept(it, res)
	}
	// A branch never names what a power cut could take out of the worktree.
	if err := l.Engine.Flush(kept(it.after.Changes)); err != nil {
		return err
	}
	commit, err := l.commitCode(ctx, it, res)
	if err != nil {
		return err
	}
	evidence, err := l.writeEvidence(it.Ready, it.after.Tree, commit)
	if err != nil {
		return fmt.Errorf("store the evidence: %w", err)
	}
	res.Commit, res.Evidence, res.Landed = commit.String(), evidence.String(), true
	var next *journal.Snapshot
	err = l.Repo.Keep(l.background(), gitstate.Keep{
		EventID: it.id, JournalRef: l.Journal.Ref(), BranchRef: gitstate.BranchRef(it.branch),
		Parent: it.tip, Commit: commit, EvidenceRef: l.evidenceRef(it.Ready), Evidence: evidence,
		Message: "ralph: " + l.commitTitle(it), Deadline: 10 * time.Second, Fail: l.fail,
		Entry: func() (object.ID, object.ID, error) {
			snap, err := l.Journal.Load(l.background())
			if err != nil {
				return object.Zero, object.Zero, err
			}
			if next, err = l.Journal.Draft(l.background(), snap, l.event(it.Ready, res)); err != nil {
				return object.Zero, object.Zero, err
			}
			return snap.Tip, next.Tip, nil
		},
		WriteIndex: func(lock *os.File) error {
			return l.Engine.UpdateIndex(l.background(), lock, it.tip, commit)
		},
		Note: func() error { return l.writeNote(it.Ready, res, commit) },
	})
	var noteErr *gitstate.NoteError
	if errors.As(err, &noteErr) {
		l.Log("%v; git ralph fsck --repair writes it again", noteErr)
		err = nil
	}
	if err != nil {
		return err
	}
	l.Journal.Moved(next)
	l.emit("iteration_end", next.State, it.task.ID, res, "iteration %d kept as %s", it.number, res.Commit[:10])
	return l.dropCheckpoint(it.Ready)
}

// kept are the paths of changes that left a file.
func kept(changes []worktree.Change) []string {
	var paths []string
	for _, c := range changes {
		if !c.New.ID.IsZero() {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// endKept ends an iteration that is kept without a change.
func (l *Loop) endKept(it *attempt, res *state.Result) error {
	evidence, err := l.storeEvidence(it, it.after.Tree)
	if err != nil {
		return err
	}
	res.Evidence = evidence.String()
	return l.close(it, res)
}

// storeEvidence makes the evidence of an attempt reachable.
func (l *Loop) storeEvidence(it *attempt, tree object.ID) (object.ID, error) {
	// What a keep that did not land has stored serves as well.
	if first, err := l.Repo.EvidenceOf(l.background(), it.state.Journal.ID, it.id, ""); err == nil && !first.IsZero() && !it.more {
		if held, err := l.worktreeOf(first); err == nil && held == tree {
			return first, nil
		}
	}
	evidence, err := l.writeEvidence(it.Ready, tree, object.Zero)
	if err == nil {
		err = l.Repo.Store.Sync()
	}
	if err == nil {
		l.fail("reject:objects")
		_, err = l.Repo.Anchor(l.evidenceRef(it.Ready), evidence)
	}
	if err != nil {
		return evidence, fmt.Errorf("store the attempt as evidence: %w", err)
	}
	l.fail("reject:evidence")
	return evidence, nil
}

// worktreeOf is the tree of the worktree that an evidence commit holds.
func (l *Loop) worktreeOf(evidence object.ID) (object.ID, error) {
	tree, err := l.Repo.TreeOf(evidence)
	if err != nil {
		return object.Zero, err
	}
	held, ok, err := l.Repo.Lookup(tree, "worktree")
	if !ok {
		held.ID = object.EmptyTree
	}
	return held.ID, err
}

// storeAndRestore makes the evidence reachable by store, with everything in it
// that the restore will take out of the worktree, and restores the checkpoint.
func (l *Loop) storeAndRestore(it *attempt, store func() (object.ID, error)) (evidence object.ID, err error) {
	report, err := l.Engine.Restore(l.background(), it.before, l.keeper(it.Ready, it.after, func() (serr error) {
		evidence, serr = store()
		return serr
	}))
	it.notices = noted(it.notices, l.tellRestored(it.Ready, report)...)
	if err != nil {
		return evidence, fmt.Errorf("restore the checkpoint: %w", err)
	}
	return evidence, nil
}

// reject stores the attempt, restores the checkpoint, and records the end.
func (l *Loop) reject(it *attempt, j Verdict) error {
	var evidence object.ID
	var err error
	// What a phase ran after the capture is put back by this restore alone.
	if !it.claims || !it.after.Untouched() {
		evidence, err = l.storeAndRestore(it, func() (object.ID, error) { return l.storeEvidence(it, it.after.Tree) })
	} else {
		evidence, err = l.storeEvidence(it, it.after.Tree)
	}
	if err != nil {
		return err
	}
	l.fail("reject:restored")
	res := l.result(it, j)
	res.Evidence = evidence.String()
	return l.close(it, res)
}

// keepNotLanded: the attempt is good and did not reach the branch; it lies on
// its evidence ref and the worktree is restored.
func (l *Loop) keepNotLanded(it *attempt, j Verdict, why string) error {
	it.notice("not landed: %s", why)
	j = Verdict{Verdict: state.Keep, Partial: j.Partial}
	evidence, err := l.storeAndRestore(it, func() (object.ID, error) { return l.storeEvidence(it, it.after.Tree) })
	if err != nil {
		return err
	}
	res := l.result(it, j)
	res.Evidence, res.TaskStatus, res.Baseline, res.Amendments, res.Plan = evidence.String(), plan.Pending, nil, nil, nil
	return l.close(it, res)
}

// endUntouched records the end of an iteration whose worktree a person has to
// look at: it is stored as evidence and left as it is.
func (l *Loop) endUntouched(it *attempt, j Verdict) error {
	tree := object.EmptyTree
	if it.after != nil {
		tree = it.after.Tree
	}
	evidence, err := l.storeEvidence(it, tree)
	if err != nil {
		return err
	}
	res := l.result(it, j)
	res.Evidence, res.Untouched = evidence.String(), true
	return l.close(it, res)
}

// close appends the iteration's event and lets the checkpoint go, unless the
// worktree was left for a person to look at.
func (l *Loop) close(it *attempt, res *state.Result) error {
	e := l.event(it.Ready, res)
	snap, err := l.Journal.Record(l.background(), e)
	if err != nil {
		return err
	}
	l.emit("iteration_end", snap.State, it.task.ID, res, "iteration %d: %s", it.number, verdictLine(Verdict{Verdict: res.Verdict, Partial: res.Partial, Reasons: res.Reasons}))
	if res.Untouched {
		return nil
	}
	return l.dropCheckpoint(it.Ready)
}

func (l *Loop) dropCheckpoint(it *Ready) error {
	if err := l.Repo.UpdateRefs("", gitstate.RefUpdate{Name: l.localRef(it), Old: it.anchor}); err != nil && !errors.Is(err, gitstate.ErrRefMoved) {
		l.Log("the checkpoint's ref stays: %v", err)
	}
	l.fail("checkpoint:dropped")
	return nil
}

// landOnMoved puts the difference on top of a commit that a person made
// meanwhile, when the paths do not meet and the checks pass again.
func (l *Loop) landOnMoved(ctx context.Context, it *attempt, j Verdict) error {
	branch, tip, err := l.Repo.Head(l.background())
	if err != nil {
		return err
	}
	moved := func() error {
		evidence, err := l.storeEvidence(it, it.after.Tree)
		if err != nil {
			return err
		}
		if err := l.makeWay(it, tip); err != nil {
			return fmt.Errorf("restore the paths of the attempt: %w", err)
		}
		res := l.result(it, reject("branch_moved"))
		res.Evidence = evidence.String()
		return l.close(it, res)
	}
	if branch != it.branch || tip == it.tip {
		return moved()
	}
	if ok, err := l.Repo.IsAncestor(l.background(), it.tip, tip); err != nil || !ok {
		return errors.Join(err, moved())
	}
	met, err := l.leaveTheirs(it, tip)
	if err != nil {
		return err
	}
	if met {
		return moved()
	}
	if it.after.Keep, err = l.rebased(it, tip); err != nil {
		return err
	}
	on := *it.Ready
	on.tip, on.landing = tip, true
	it.Ready = &on
	it.notice("landed on top of %s, which was committed meanwhile", tip.String()[:12])
	if err := l.prove(ctx, it); err != nil {
		return err
	}
	if nv := Judge(it.facts); nv.Verdict != state.Keep {
		return moved()
	}
	if err := l.keep(ctx, it, j); !errors.Is(err, gitstate.ErrBranchMoved) {
		return err
	}
	return moved()
}
