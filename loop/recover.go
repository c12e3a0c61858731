package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/proc"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Recovery mends what a dead process left. It is first in every command that
// writes; no command that only reads calls it.
type Recovery struct {
	Repo    *gitstate.Repo
	Journal *journal.Journal
	Engine  *worktree.Engine
	Log     func(format string, args ...any)
	Now     func() time.Time
	Fail    func(step string)
	// Worker is the name of the worktree of a worker, whose claims are mended; "" =
	// it is that of the branch itself.
	Worker string
	claim  string // under which the iteration ran
}

// RecoverySteps are the places where a recovery can be stopped.
var RecoverySteps = []string{"recover:swept", "recover:stored", "recover:restored", "recover:recorded", "recover:index",
	"recover:note"}

// DivergedError says that somebody moved the branch after the crash, so that
// nothing may be finished.
type DivergedError struct {
	Commit, Evidence, Branch string
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("the branch is neither before nor after the kept commit %s", e.Commit)
}

// Run looks at the journal's newest word and finishes or undoes it, under the
// locks of branch and worktree: of two that come at once the second one finds
// nothing left to do. It does nothing while a living loop holds either.
func (r *Recovery) Run(ctx context.Context) error {
	release, err := r.Repo.LockBriefly(r.Journal.Branch)
	var held *gitstate.HeldError
	if errors.As(err, &held) && !held.Holder.Brief {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	if n, err := r.Repo.EndLeft(); err != nil {
		return fmt.Errorf("end the processes of the dead run: %w", err)
	} else if n > 0 {
		r.Log("ended %d processes that the dead run had left", n)
	}
	intent, err := r.Repo.ReadIntent()
	if err != nil {
		return err
	}
	snap, err := r.Journal.Load(ctx)
	if errors.Is(err, journal.ErrNone) {
		if intent != nil {
			return r.Repo.ClearIntent()
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.finish(ctx, intent, snap.State); err != nil {
		return err
	}
	if r.Worker != "" {
		return r.claims(ctx, snap.State)
	}
	st := snap.State.For(r.Journal.Actor, r.Repo.WorktreeName())
	cur := st.Run.Current
	if cur == nil {
		return dropCheckpoints(ctx, r.Repo, snap.State)
	}
	if cur.Actor != r.Journal.Actor {
		return nil
	}
	started := proc.Identity{Pid: cur.Start.PID, BootID: cur.Start.BootID, StartTime: cur.Start.StartTime}
	if started.Alive() && started != proc.Self() {
		return nil
	}
	return r.interrupted(ctx, st, *cur)
}

// finish ends a keep that its process did not.
func (r *Recovery) finish(ctx context.Context, intent *gitstate.Intent, s state.State) error {
	if intent == nil || intent.Journal != r.Journal.Ref() {
		return nil
	}
	if k := s.Run.LastKeep; k != nil && k.EventID == intent.EventID {
		if err := r.finishKeep(ctx, *k); err != nil {
			return err
		}
	}
	return r.Repo.ClearIntent()
}

// Finish ends the keep of a dead process, and nothing else. The caller is the only
// one who keeps anything in this worktree.
func (r *Recovery) Finish(ctx context.Context) error {
	intent, err := r.Repo.ReadIntent()
	if err != nil || intent == nil {
		return err
	}
	snap, err := r.Journal.Load(ctx)
	if err != nil {
		return err
	}
	return r.finish(ctx, intent, snap.State)
}

// claims ends the iterations of a worker that is dead, and gives back what it had
// only claimed.
func (r *Recovery) claims(ctx context.Context, s state.State) error {
	for _, c := range s.Claims {
		if c.Actor != r.Journal.Actor || c.Worker != r.Worker {
			continue
		}
		by := proc.Identity{Pid: c.PID, BootID: c.BootID, StartTime: c.StartTime}
		if by.Alive() && by != proc.Self() {
			continue
		}
		if c.Current == nil {
			if err := ReleaseClaim(ctx, r.Journal, c, "its worker died"); err != nil {
				return err
			}
			continue
		}
		seen := s.For(c.Actor, c.Worker)
		r.claim = c.ID
		if err := r.interrupted(ctx, seen, *c.Current); err != nil {
			return err
		}
	}
	return nil
}

// ReleaseClaim gives a task back that nobody works on.
func ReleaseClaim(ctx context.Context, j *journal.Journal, c state.Claim, why string) error {
	_, err := j.Append(ctx, func(s state.State) (state.Event, error) {
		if !s.Holds(c.ID) {
			return state.Event{}, journal.ErrNothing
		}
		return state.Event{Type: state.EvClaim, Task: c.Task, Claim: &state.ClaimChange{Action: "release", Over: c.ID,
			Worker: c.Worker, Reason: why}}, nil
	})
	if errors.Is(err, journal.ErrNothing) {
		return nil
	}
	return err
}

// dropCheckpoints removes the refs of checkpoints that no iteration needs: of
// those in work, and of the newest one when a person still has to decide about
// its worktree.
func dropCheckpoints(ctx context.Context, repo *gitstate.Repo, s state.State) error {
	refs, err := repo.ListRefs(ctx, gitstate.LocalPrefix+s.Journal.ID+"/")
	if err != nil || len(refs) == 0 {
		return err
	}
	needed := func(s state.State, event string) bool {
		atWork := func(c state.Current) bool { return c.EventID == event }
		return slices.ContainsFunc(s.InWork(), atWork) || s.Run.Untouched == event
	}
	// The journal of a linked worktree has the same id, and its loop may be at work.
	forks, err := journal.Forks(ctx, repo, s.Journal.ID)
	if err != nil {
		return err
	}
	for name, id := range refs {
		event := strings.TrimPrefix(name, gitstate.LocalPrefix+s.Journal.ID+"/")
		if needed(s, event) || slices.ContainsFunc(forks, func(f journal.Fork) bool { return needed(f.State, event) }) {
			continue
		}
		if err := repo.UpdateRefs("", gitstate.RefUpdate{Name: name, Old: id}); err != nil &&
			!errors.Is(err, gitstate.ErrRefMoved) {
			return fmt.Errorf("drop an old checkpoint: %w", err)
		}
	}
	return nil
}

// finishKeep does what a keep still had to do when its process died after the
// journal had moved.
func (r *Recovery) finishKeep(ctx context.Context, k state.Kept) error {
	parent := object.Zero
	var err error
	if k.Parent != "" {
		if parent, err = object.ParseID(k.Parent); err != nil {
			return err
		}
	}
	commit, err := object.ParseID(k.Commit)
	if err != nil {
		return err
	}
	ref := gitstate.BranchRef(r.Journal.Branch)
	at, err := r.Repo.ReadRef(ctx, ref)
	if err != nil {
		return err
	}
	if at == parent {
		if err := r.Repo.UpdateRefs("ralph: finish a keep after a crash",
			gitstate.RefUpdate{Name: ref, Old: parent, New: commit}); err != nil {
			return fmt.Errorf("finish the keep: %w", err)
		}
		at = commit
	}
	beyond, err := r.Repo.IsAncestor(ctx, commit, at)
	if err != nil {
		return err
	}
	if !beyond {
		return r.diverged(ctx, k)
	}
	head, _, err := r.Repo.Head(ctx)
	if err == nil && head == r.Journal.Branch {
		if k.Rewind || k.Brought {
			if err := moveFiles(ctx, r.Engine, parent, commit, r.Log); err != nil {
				return fmt.Errorf("write the files of %s: %w", k.Commit[:12], err)
			}
		}
		if err := r.mendIndex(ctx, parent, commit); err != nil {
			return fmt.Errorf("finish the keep: %w", err)
		}
	}
	r.fail("recover:index")
	if k.Rewind {
		// A revert carries no handoff.
	} else if e, err := r.Journal.Find(ctx, k.Iteration, k.EventID); err == nil && e.Event.Result != nil &&
		e.Event.Result.Commit == k.Commit {
		if err := WriteNote(r.Repo, commit, state.Note(e.Event)); err != nil {
			r.Log("the note on %s could not be written: %v", k.Commit[:10], err)
		}
	}
	r.fail("recover:note")
	if k.Reset {
		r.Log("finished removing the specs, which a crash had cut short")
	} else if k.Brought {
		r.Log("finished landing %s, which a crash had cut short", k.Commit[:12])
	} else if k.Rewind {
		r.Log("finished going back to iteration %d, which a crash had cut short", k.Iteration)
	} else {
		r.Log("finished keeping iteration %d, which a crash had cut short", k.Iteration)
	}
	return nil
}

// mendIndex sets the paths of a kept commit whose index entry is still the old
// one and whose file is the new one.
func (r *Recovery) mendIndex(ctx context.Context, parent, commit object.ID) error {
	lock, err := r.Repo.LockIndex(10 * time.Second)
	if err != nil {
		return err
	}
	defer lock.Release()
	set, err := r.Engine.RepairIndex(ctx, lock.File(), parent, commit)
	if err != nil || len(set) == 0 {
		return err
	}
	return lock.Commit()
}

func (r *Recovery) diverged(ctx context.Context, k state.Kept) error {
	_, err := r.Journal.Record(ctx, state.Event{Type: state.EvHalt,
		Halt: &state.Halt{Status: state.NeedsReview, Reason: "diverged",
			Detail: fmt.Sprintf("kept commit %s, evidence %s", k.Commit, k.Evidence)}})
	if err == nil {
		err = r.Repo.ClearIntent()
	}
	if err != nil {
		return err
	}
	return refusal.New(refusal.Diverged, "%w", &DivergedError{Commit: k.Commit, Evidence: k.Evidence,
		Branch: r.Journal.Branch}).About(k.Commit, k.Evidence)
}

func (r *Recovery) fail(step string) {
	if r.Fail != nil {
		r.Fail(step)
	}
}

// interrupted ends an iteration whose process died. What lies in the worktree
// is stored first; it is put back to the checkpoint only when nobody has moved
// HEAD, the branch or the index since.
func (r *Recovery) interrupted(ctx context.Context, s state.State, cur state.Current) error {
	if killed, err := proc.SweepEvent(cur.EventID); err != nil {
		return fmt.Errorf("end the processes of the dead run: %w", err)
	} else if len(killed) > 0 {
		r.Log("ended %d processes that the dead run had left", len(killed))
	}
	r.fail("recover:swept")
	local := gitstate.LocalRef(s.Journal.ID, cur.EventID)
	at, err := r.Repo.ReadRef(ctx, local)
	if err != nil {
		return err
	}
	var cp *worktree.Checkpoint
	if !at.IsZero() {
		tree, err := r.Repo.TreeOf(at)
		if err != nil {
			return fmt.Errorf("read the checkpoint: %w", err)
		}
		if cp, err = r.Engine.Load(ctx, tree); err != nil {
			return fmt.Errorf("read the checkpoint: %w", err)
		}
	}
	it := &attempt{&Ready{id: cur.EventID, number: cur.Iteration, started: cur.Since, helped: &helped{state: s},
		record: &record{anchor: at},
		Job:    Job{attempt: cur.Attempt, phase: cur.Phase, under: r.claim},
		origin: origin{branch: cur.Start.Branch, before: cp}}, &Ran{},
		&Examined{facts: Facts{Outcome: session.Interrupted, Detail: "the process died"}}}
	if i := s.Plan.Find(cur.Task); i >= 0 {
		it.task = s.Plan.Tasks[i]
	}
	for _, c := range s.Claims {
		if c.Current != nil && c.Current.EventID == cur.EventID {
			it.under = c.ID
		}
	}
	if cur.Start.Tip != "" {
		if it.tip, err = object.ParseID(cur.Start.Tip); err != nil {
			return err
		}
	}
	l := &Loop{Host: session.Host{Repo: r.Repo, Journal: r.Journal, Now: r.Now, Log: r.Log,
		Sandbox: noSandbox(cur.Start.Sandbox)}, Engine: r.Engine, Fail: r.Fail}
	l.Settings.Driver = cur.Start.Agent

	var evidence object.ID
	untouched := false
	if cp != nil && cur.Start.Worktree == r.Repo.Root {
		if it.after, err = r.Engine.Capture(ctx, cp); err != nil {
			return fmt.Errorf("store what lies in the worktree: %w", err)
		}
		// What an earlier restore of this iteration took out, its evidence was to hold.
		tree, err := r.Repo.TreeOf(at)
		if err == nil {
			it.found, err = ReadFound(r.Repo, tree)
		}
		if err == nil { // of two tries the first was over
			var tries object.TreeEntry
			if tries, _, err = r.Repo.Lookup(tree, firstTry+"worktree"); err == nil {
				it.first = tries.ID
			}
		}
		if err != nil {
			return fmt.Errorf("read what was found in the worktree: %w", err)
		}
		it.notices = noted(it.notices, it.tellSpoiled(it.after.Spoiled, it.number)...)
		same, why, err := r.asRecorded(ctx, cur, cp)
		if err != nil {
			return err
		}
		if !same {
			if evidence, err = r.store(ctx, l, it); err != nil {
				return err
			}
			untouched = true
			r.Log("iteration %d died with its process; %s since, so no file was touched", cur.Iteration, why)
			r.Log("to get the state before it: git ralph restore %d --before; to see what is there: git ralph diff %d",
				cur.Iteration, cur.Iteration)
		} else {
			earlier := len(it.found)
			if evidence, err = l.storeAndRestore(it, func() (object.ID, error) {
				it.more = len(it.found) > earlier
				id, err := r.store(ctx, l, it)
				r.fail("recover:stored")
				return id, err
			}); err != nil {
				return err
			}
			if len(it.after.Changes) > 0 || len(it.found) > 0 || len(it.told()) > 0 {
				r.Log("iteration %d died with its process; the worktree is as before it", cur.Iteration)
				r.Log("what was there, yours or the agent's, is %s: git ralph restore %d gets it back", evidence.String()[:12],
					cur.Iteration)
				for _, n := range it.told() {
					r.Log("%s", n)
				}
			}
		}
	}
	r.fail("recover:restored")
	res := &state.Result{Verdict: state.Reject, Reasons: []string{"interrupted"}, Outcome: string(session.Interrupted),
		Detail: "the process died",
		Title:  it.task.Title, Agent: cur.Start.Agent, Evidence: hex(evidence), TaskStatus: plan.Pending,
		FailText: it.task.Failure,
		Sandbox:  cur.Start.Sandbox, Notices: it.told()}
	if s, ok := session.ReadSpend(r.Repo, cur.EventID); ok {
		res.Tokens, res.CostMicro, res.ContextTokens, res.ContextWindow = s.Tokens, s.CostMicro, s.ContextTokens,
			s.ContextWindow
	}
	if untouched {
		res.Untouched = true
		res.Notices = append(res.Notices, "the worktree was left as it was found")
	}
	rec := l.handoffRecord(it, Verdict{Verdict: state.Reject, Reasons: res.Reasons})
	res.Handoff, res.Summary = rec, notes.OneLine(rec.Summary, 500)
	if it.after != nil {
		for _, c := range it.after.Changes[:min(len(it.after.Changes), 1000)] {
			res.Files = append(res.Files, state.FileChange{Path: c.Path, Kind: string(c.Kind)})
		}
	}
	l.memorise(it, res)
	if _, err := r.Journal.Append(ctx, func(now state.State) (state.Event, error) {
		if !slices.ContainsFunc(now.InWork(), func(c state.Current) bool { return c.EventID == cur.EventID }) {
			return state.Event{}, journal.ErrNothing
		}
		return l.event(it.Ready, res), nil
	}); err != nil && !errors.Is(err, journal.ErrNothing) {
		return err
	}
	r.fail("recover:recorded")
	if err := session.DropSpend(r.Repo, cur.EventID); err != nil {
		r.Log("%v", err)
	}
	if cp != nil && !untouched {
		return l.dropCheckpoint(it.Ready)
	}
	return nil
}

// store makes what lies in the worktree reachable and returns the evidence of
// the iteration. What was stored first stays that: after a recovery that was
// itself cut short it is the attempt, and the worktree only the rest of it.
func (r *Recovery) store(ctx context.Context, l *Loop, it *attempt) (object.ID, error) {
	first, err := r.Repo.EvidenceOf(ctx, it.state.Journal.ID, it.id, "")
	if err != nil {
		return first, err
	}
	if first.IsZero() {
		return l.storeEvidence(it, it.after.Tree)
	}
	held, err := l.worktreeOf(first)
	if err != nil {
		return first, err
	}
	if !it.more && (held == it.after.Tree || len(it.after.Changes)+len(it.after.PutBack) == 0) {
		return first, nil
	}
	second, err := l.storeEvidence(it, it.after.Tree)
	if err != nil {
		return first, err
	}
	it.notices = noted(it.notices, "what the recovery found in the worktree is stored as "+second.String()[:12])
	r.Log("what was in the worktree just now is stored as %s: git ls-tree -r %s", second.String()[:12],
		second.String()[:12])
	return first, nil
}

// asRecorded says whether HEAD, branch and index are as they were when the
// iteration began.
func (r *Recovery) asRecorded(ctx context.Context, cur state.Current, cp *worktree.Checkpoint) (bool, string, error) {
	branch, tip, err := r.Repo.Head(ctx)
	if err != nil {
		var detached *gitstate.Refusal
		if errors.As(err, &detached) {
			return false, "HEAD was detached", nil
		}
		return false, "", err
	}
	switch {
	case gitstate.BranchRef(branch) != cur.Start.HeadRef:
		return false, "HEAD was moved to " + branch, nil
	case hex(tip) != cur.Start.Tip:
		return false, "the branch was moved", nil
	}
	now, err := r.Engine.IndexState(ctx)
	if err != nil {
		return false, "", err
	}
	if !now.Equal(cp.Index) {
		return false, "something was staged", nil
	}
	return true, "", nil
}

// noSandbox is the sandbox of a run that is over: only its name is left.
type noSandbox string

func (n noSandbox) Mechanism() string                { return string(n) }
func (n noSandbox) Wrapper(session.Use) proc.Wrapper { return nil }
func (n noSandbox) OwnLayer(string) string           { return "" }
func (n noSandbox) HasLayer(string) bool             { return true }
func (n noSandbox) DropLayer(string)                 {}
func (n noSandbox) Inside(_, path string) string     { return path }

// CheckJournal says whether the journal and its branch still belong together:
// the newest kept commit must be in the branch, as itself or, after a rebase
// or squash, as a commit that carries its event id.
func CheckJournal(ctx context.Context, repo *gitstate.Repo, j *journal.Journal, s state.State) error {
	k := s.Run.LastKeep
	if k == nil {
		return nil
	}
	commit, err := object.ParseID(k.Commit)
	if err != nil {
		return err
	}
	tip, err := repo.ReadRef(ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return err
	}
	if !tip.IsZero() {
		if repo.Store.Has(commit) {
			if ok, err := repo.IsAncestor(ctx, commit, tip); err != nil || ok {
				return err
			}
		}
		out, err := repo.Git.Line(ctx, "log", "-1", "--format=%H", "--fixed-strings", "--grep=Ralph-Event-Id: "+k.EventID,
			tip.String())
		if err != nil {
			return err
		}
		if out != "" {
			return nil
		}
	}
	return refusal.New(refusal.KeptCommitGone, "the newest kept commit %s (iteration %d) is not in %s any more",
		commit.String()[:12],
		k.Iteration, j.Branch).
		About(commit.String()[:12])
}
