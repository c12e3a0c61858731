package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/loop/recovery"
	"git-ralph/notes"
	"git-ralph/plan"
)

// settle carries a verdict out. It is the only writer of an iteration's end: kept
// on the branch, rejected and restored, kept as evidence that did not land, or
// left as it is for a person.
func (l *Loop) settle(ctx context.Context, it *attempt, v Verdict) (Ending, error) {
	if it.moved == nil {
		var err error
		if it, v, err = l.postProcess(ctx, it, v); err != nil {
			return Ending{}, err
		}
	}
	if it.moved != nil {
		return l.endMoved(it)
	}
	hint := permission(it)
	if hint != "" {
		it = it.with(noted("hint: %s", hint))
	}
	l.tellVerdict(it, v, hint)
	var halt *Action
	var err error
	if v.Verdict == state.Keep && l.Worker != nil {
		v, halt, err = l.bring(ctx, it, v)
	} else if v.Verdict == state.Keep {
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
	it, err := l.keep(ctx, it, v)
	if errors.Is(err, gitstate.ErrBranchMoved) {
		return v, nil, l.landOnMoved(ctx, it, v)
	}
	return l.notKept(it, v, err, l.Repo)
}

// notKept ends an attempt whose commit was refused by a hook, by the index of home or by
// another git command. Every other error is returned as it is.
func (l *Loop) notKept(it *attempt, v Verdict, err error, home *gitstate.Repo) (Verdict, *Action, error) {
	var locked *gitstate.IndexLockedError
	var staged *worktree.IndexConflict
	var hook *gitstate.HookError
	switch {
	case errors.As(err, &hook):
		// No ref points to the commit yet, so the attempt is simply rejected.
		v = rejectAttempt("hook: " + hook.Hook)
		it = it.with(findings{advice: "\n" + hook.Error()})
		l.tellVerdict(it, v, "")
		return v, nil, l.reject(it, v)
	case errors.As(err, &staged):
		// The user has staged changes of their own at a path of the attempt.
		if err := home.ClearIntent(); err != nil {
			return v, nil, err
		}
		return v, &Action{Kind: Halt, Status: state.NeedsReview, Reason: staged.Error()},
			l.keepNotLanded(it, v, staged.Error())
	case errors.As(err, &locked):
		// Nothing needs a review: once the lock is gone, the next start continues.
		return v, &Action{Kind: Halt, Status: state.Stopped, Reason: locked.Error()}, l.keepNotLanded(it, v, locked.Error())
	}
	return v, nil, err
}

// keep commits exactly what the agent changed. It returns the attempt with its
// findings, in case it cannot be kept.
func (l *Loop) keep(ctx context.Context, it *attempt, j Verdict) (*attempt, error) {
	if s, err := l.load(); err != nil {
		return it, err
	} else if it.under != "" && !s.Holds(it.under) {
		return it, l.keepNotLanded(it, j, "the claim on the task was lost to another machine")
	} else if it.task.ID != "" && (s.Withdrawn(it.task.ID) || requirementsChanged(s, it.task)) {
		// A person decided otherwise while the agent worked.
		return it, l.keepNotLanded(it, j, "the task was changed meanwhile")
	}
	it, err := it.restoreTheirs()
	if err != nil {
		return it, err
	}
	res := l.result(it, j)
	if len(it.after.Changes) == 0 {
		return it, l.endKept(it, res)
	}
	// The branch must never name files that a power cut could still remove.
	if err := l.Engine.Flush(kept(it.after.Changes)); err != nil {
		return it, err
	}
	defer l.Repo.ReadyRefs("ralph: " + l.commitTitle(it))()
	commit, err := l.commitCode(ctx, it, res)
	if err != nil {
		return it, err
	}
	evidence, err := it.Write(it.tip, it.after.Tree, commit)
	if err != nil {
		return it, fmt.Errorf("store the evidence: %w", err)
	}
	res.Commit, res.Evidence, res.Landed = commit.String(), evidence.String(), true
	if l.Share != nil {
		return l.keepShared(ctx, it, res, commit, evidence)
	}
	_, err = l.keepAs(it, res, commit, evidence)
	return it, err
}

// spot is where kept work lands: a branch, the repository and worktree where it is checked
// out, and what of it moves.
type spot struct {
	repo        *gitstate.Repo
	engine      *worktree.Engine
	branch      string
	tip, commit object.ID
	files       bool // the worktree does not have them yet
}

// keepAs moves the branch to the commit of an attempt.
func (l *Loop) keepAs(it *attempt, res *state.Result, commit, evidence object.ID) (*journal.Snapshot, error) {
	next, err := l.keepOn(it, res, evidence, spot{l.Repo, l.Engine, it.branch, it.tip, commit, res.Brought})
	if err == nil {
		it.Drop()
	}
	return next, err
}

func (l *Loop) patience() time.Duration { return cmp.Or(l.Patience, 10*time.Second) }

// keepOn moves branch and journal in one step, and then the files.
func (l *Loop) keepOn(it *attempt, res *state.Result, evidence object.ID, at spot) (*journal.Snapshot, error) {
	ctx := l.background()
	var next *journal.Snapshot
	var note *recovery.NotesDraft
	k := gitstate.Keep{
		EventID: it.id, Iteration: it.number, JournalRef: l.Journal.Ref(), BranchRef: gitstate.BranchRef(at.branch),
		Parent: at.tip, Commit: at.commit, EvidenceRef: it.EvidenceRef(), Evidence: evidence,
		Message: "ralph: " + l.commitTitle(it), Deadline: l.patience(), Fail: l.fail,
		Entry: func() (object.ID, object.ID, error) {
			snap, err := l.Journal.Load(ctx)
			if err != nil {
				return object.Zero, object.Zero, err
			}
			if l.Share != nil && it.under != "" && !snap.State.Holds(it.under) {
				return object.Zero, object.Zero, errClaimLost
			}
			if note == nil { // both are flushed together
				note = l.draftNote(it.Ready, res, at.commit)
			}
			if next, err = l.Journal.Draft(ctx, snap, l.event(it.Ready, res)); err != nil {
				return object.Zero, object.Zero, err
			}
			return snap.Tip, next.Tip, nil
		},
		WriteIndex: func(lock *os.File) error { return at.engine.UpdateIndex(ctx, lock, at.tip, at.commit) },
		Note: func() (err error) {
			if at.files {
				err = recovery.MoveFiles(ctx, at.engine, at.tip, at.commit, l.Log)
			}
			return errors.Join(err, note.Write())
		},
	}
	if l.Share != nil {
		k.Publish = func(entry object.ID) error {
			err := l.Share.send(ctx, map[string]object.ID{k.JournalRef: entry, k.BranchRef: at.commit})
			l.fail("share:landed")
			return err
		}
	}
	err := at.repo.Keep(ctx, k)
	var late *gitstate.NoteError
	if errors.As(err, &late) {
		l.Log("%v; git ralph fsck --repair writes it again", late)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	l.Journal.Moved(next)
	l.emit("iteration_end", next.State, it.task.ID, res, "iteration %d kept as %s", it.number, res.Commit[:10])
	return next, nil
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
	evidence, err := it.Store(it.tip, it.after.Tree)
	if err != nil {
		return err
	}
	res.Evidence = evidence.String()
	return l.close(it, res)
}

// reject stores the attempt, restores the checkpoint, and records the end.
func (l *Loop) reject(it *attempt, j Verdict) error {
	var evidence object.ID
	var err error
	// What a phase ran after the capture is put back by this restore alone.
	if !it.claims || !it.after.Untouched() {
		it, evidence, err = it.restore(func() (object.ID, error) { return it.Store(it.tip, it.after.Tree) })
	} else {
		evidence, err = it.Store(it.tip, it.after.Tree)
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
	it = it.with(noted("not landed: %s", why))
	j = Verdict{Verdict: state.Keep, Partial: j.Partial}
	it, evidence, err := it.restore(func() (object.ID, error) { return it.Store(it.tip, it.after.Tree) })
	if err != nil {
		return err
	}
	res := l.result(it, j)
	res.Evidence, res.TaskStatus, res.Baseline, res.Amendments, res.Plan = evidence.String(), plan.Pending, nil, nil, nil
	res.Queued = false
	return l.close(it, res)
}

// endUntouched records the end of an iteration whose worktree a person has to
// look at: it is stored as evidence and left as it is.
func (l *Loop) endUntouched(it *attempt, j Verdict) error {
	tree := object.EmptyTree
	if it.after != nil {
		tree = it.after.Tree
	}
	evidence, err := it.Store(it.tip, tree)
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
	l.Journal.Stamp(&e)
	var made state.PlanChange
	if res.Plan != nil {
		made = *res.Plan
	}
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if res.Plan != nil {
			*res.Plan = renumbered(made, s.Plan)
		}
		return e, nil
	})
	if err != nil {
		return err
	}
	l.emit("iteration_end", snap.State, it.task.ID, res, "iteration %d: %s", it.number,
		verdictLine(Verdict{Verdict: res.Verdict, Partial: res.Partial, Reasons: res.Reasons}))
	if res.Untouched {
		return nil
	}
	it.Drop()
	return nil
}

// requirementsChanged reports whether a person changed what the task asks for while it was in work. A
// permission to change tests is no such change: work that passed without it
// passes with it.
func requirementsChanged(s state.State, t plan.Task) bool {
	i := s.Plan.Find(t.ID)
	if i < 0 {
		return false
	}
	t.AllowTestChanges = t.AllowTestChanges || s.Plan.Tasks[i].AllowTestChanges
	return !sameRequirements(s.Plan.Tasks[i], t)
}

// sameRequirements reports whether two versions of a task ask for the same. The
// harness's counters of a task do not matter.
func sameRequirements(a, b plan.Task) bool {
	for _, t := range []*plan.Task{&a, &b} {
		*t = plan.Task{ID: t.ID, Title: t.Title, Description: t.Description, Criteria: t.Criteria, Verify: t.Verify,
			AllowTestChanges: t.AllowTestChanges, NoChangeExpected: t.NoChangeExpected, AllowProtected: t.AllowProtected}
	}
	return reflect.DeepEqual(a, b)
}

// restoreTheirs restores files that the agent must not change, before the rest is
// kept.
func (it *attempt) restoreTheirs() (*attempt, error) {
	notices, err := it.RestorePaths(it.after.PutBack, it.after)
	it = it.with(findings{notices: notices})
	it.KeepIgnored(it.after, it.notices)
	return it, err
}

// restore makes the evidence reachable by store and restores the checkpoint.
func (it *attempt) restore(store func() (object.ID, error)) (*attempt, object.ID, error) {
	evidence, notices, err := it.Restore(it.after, store)
	return it.with(findings{notices: notices}), evidence, err
}

// told is everything that the stages have to tell people.
func (it *attempt) told() []string {
	return it.Told(slices.Concat(it.remarks, it.warnings, it.notices), it.after)
}

// commitTitle is the subject of the code commit.
func (l *Loop) commitTitle(it *attempt) string {
	what := strings.TrimSpace(string(it.task.ID) + " " + it.title())
	if it.task.ID == "" {
		what = string(it.phase)
		if it.title() != "" {
			what += " " + it.title()
		}
	}
	return notes.Title(fmt.Sprintf("%s[%d]: %s", cmp.Or(l.Settings.CommitPrefix, "ralph"), it.number, what))
}

// commitMessage is the message of the code commit. Its trailers keep the trace
// through squash and rebase.
func (l *Loop) commitMessage(it *attempt, res *state.Result) string {
	var b strings.Builder
	b.WriteString(l.commitTitle(it) + "\n\n")
	if s := notes.Narrative(res.Summary); s != "" && res.Summary != notes.NoSummary {
		b.WriteString(s + "\n\n")
	}
	if it.task.ID != "" {
		fmt.Fprintf(&b, "Ralph-Task: %s\n", it.task.ID)
	} else {
		fmt.Fprintf(&b, "Ralph-Phase: %s\n", it.phase)
	}
	fmt.Fprintf(&b, "Ralph-Iteration: %d\nRalph-Event-Id: %s\n", it.number, it.id)
	return b.String()
}

// commitCode makes the code commit as git would: identity, encoding and signature are
// the user's. Nothing points to it yet.
func (l *Loop) commitCode(ctx context.Context, it *attempt, res *state.Result) (object.ID, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var parents []object.ID
	if !it.tip.IsZero() {
		parents = append(parents, it.tip)
	}
	msg := l.commitMessage(it, res)
	if l.Settings.Hooks {
		err := l.Repo.Store.Sync()
		if err != nil {
			return object.Zero, fmt.Errorf("write the kept work: %w", err)
		}
		if msg, err = l.Repo.CommitHooks(ctx, it.after.Keep, msg); err != nil {
			return object.Zero, err
		}
	}
	id, err := l.Repo.Commit(ctx, msg, gitstate.Signing(l.Settings.Sign), it.after.Keep, parents...)
	if err == nil && (l.Worker != nil || l.Share != nil) {
		err = l.Repo.Store.Sync() // git reads it before it is kept
	}
	if err != nil {
		return object.Zero, fmt.Errorf("make the commit: %w", err)
	}
	return id, nil
}

// draftNote makes the note that puts the handoff next to the code commit.
func (l *Loop) draftNote(it *Ready, res *state.Result, commit object.ID) *recovery.NotesDraft {
	return recovery.DraftNotes(l.Repo, map[object.ID]string{commit: state.Note(l.event(it, res))})
}
