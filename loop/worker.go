package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/share"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Worker makes a Loop one of several that work on one branch: its repository is a
// linked worktree, its journal that of the branch. What it keeps it lands itself, in
// the worktree where the branch is checked out, one worker at a time.
type Worker struct {
	Name   string         // of the linked worktree
	Home   *gitstate.Repo // where the branch is checked out
	Engine *worktree.Engine

	// Shared are folders that its worktree has of the one at home.
	Shared Shared

	turn int // its iteration
}

// Shared are ignored folders of one worktree that a worker has without its own setup.
type Shared struct {
	Names []string // as in worktree.share; none = its own setup is run
	Not   string   // why none although they are asked for
	From  string   // the worktree that they are from
	// Drop removes what the worker has written there.
	Drop func() error
}

// WorkerSteps are the places where a worker can be stopped, besides those of an
// iteration and of a keep.
var WorkerSteps = []string{"worker:claimed", "worker:landing", "worker:landed"}

// WorkOn is one iteration of a worker on a task, from its claim to its landing. The
// caller holds the locks of the linked worktree and of its branch.
func (l *Loop) WorkOn(ctx context.Context, id plan.TaskID) (*Action, error) {
	defer l.behind.Wait()
	l.Journal.OnlyForward()
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	l.limits(s)
	if err := l.setup(ctx, s); err != nil {
		return nil, err
	}
	c, ok, err := l.take(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	l.fail("worker:claimed")
	if s, err = l.load(); err != nil {
		return nil, err
	}
	i := s.Plan.Find(id)
	if i < 0 {
		return nil, nil
	}
	s.Plan.Tasks = slices.Clone(s.Plan.Tasks)
	s.Plan.Tasks[i].Status = plan.Pending // as it was before the claim
	job := taskJob(s.Plan.Tasks[i])
	job.under, job.turn, l.Worker.turn = c.ID, c.Iteration, c.Iteration
	end, err := l.iterate(ctx, s, job)
	if rerr := recovery.ReleaseClaim(l.background(), l.Journal, c, "its iteration did not start"); rerr != nil &&
		err == nil {
		err = rerr
	}
	return end.Halt, err
}

// newClaim is this process's claim on the task at i of the plan.
func newClaim(s state.State, i int, c state.ClaimChange) state.Event {
	self := proc.Self()
	c.Action, c.PID, c.BootID, c.StartTime = "take", self.Pid, self.BootID, self.StartTime
	c.Host, _ = os.Hostname()
	return state.Event{Type: state.EvClaim, Phase: state.Building, Task: s.Plan.Tasks[i].ID,
		Iteration: s.Run.Iteration + 1, Attempt: s.Plan.Tasks[i].Attempts + 1, Claim: &c}
}

// landing is what a worker's result meets on the branch.
type landing struct {
	was, tip, is object.ID
	conflicts    []string
	dir          string             // a checkout of was that nothing has used yet; "" = there is none
	baseline     []state.CheckState // as it is when the result has landed
}

// bring lands what a worker has made: on the branch's tip, proved there in a fresh
// checkout, and then in one step with the journal. Where it does not join the work of
// others or is not green with it, the task goes back with that in its next prompt.
func (l *Loop) bring(ctx context.Context, it *attempt, v Verdict) (Verdict, *Action, error) {
	w := l.Worker
	if s, err := l.load(); err != nil {
		return v, nil, err
	} else if s.Withdrawn(it.task.ID) || requirementsChanged(s, it.task) || !s.Holds(it.under) {
		return v, nil, l.keepNotLanded(it, v, "the task was changed meanwhile")
	}
	it, err := it.restoreTheirs()
	if err != nil {
		return v, nil, err
	}
	res := l.result(it, v)
	if len(it.after.Changes) == 0 {
		return v, nil, l.endKept(it, res)
	}
	commit, err := l.commitCode(ctx, it, res)
	if err != nil {
		return l.notKept(it, v, err, w.Home)
	}
	// The others wait neither for the files of the checkout nor for their removal.
	at := landing{was: commit}
	var remove func()
	if at.dir, remove, err = FreshCheckout(ctx, l.Repo, commit); err != nil {
		return v, nil, err
	}
	defer remove()
	lock, err := w.Home.LockLanding(ctx, l.Journal.Branch)
	if err != nil {
		return v, nil, err
	}
	defer lock.Release()
	l.fail("worker:landing")
	home := &recovery.Recovery{Place: recovery.Place{Repo: w.Home, Engine: w.Engine, Log: l.Log, Now: l.Now, Fail: l.Fail},
		Journal: l.Journal}
	if err := home.Finish(l.background()); err != nil {
		return v, nil, err
	}
	for range 50 {
		if held, err := l.joinOthers(it); err != nil {
			return v, nil, err
		} else if !held {
			return v, nil, l.keepNotLanded(it, v, errClaimLost.Error())
		}
		if err := l.meet(ctx, &at); err != nil {
			return v, nil, err
		}
		if len(at.conflicts) > 0 {
			it, v = l.conflicted(it, at)
			return v, nil, l.reject(it, v)
		}
		if nv, halt, err := l.mayLand(ctx, it, v, &at); err != nil || halt != nil || nv.Verdict != state.Keep {
			return nv, halt, err
		}
		err = l.landAt(it, v, res, at, lock)
		var locked *gitstate.IndexLockedError
		var staged *worktree.IndexConflict
		switch {
		case errors.As(err, &staged), errors.As(err, &locked):
			return l.notKept(it, v, err, w.Home)
		case errors.Is(err, errClaimLost):
			return v, nil, errors.Join(w.Home.ClearIntent(), l.keepNotLanded(it, v, errClaimLost.Error()))
		case errors.Is(err, gitstate.ErrBranchMoved), errors.Is(err, share.ErrMoved):
			continue // a person has committed, or another machine has landed
		case err != nil:
			// What has moved already is finished before the next one lands.
			if ferr := home.Finish(l.background()); ferr != nil {
				l.Log("finish the landing: %v", ferr)
			}
		}
		return v, nil, err
	}
	return v, nil, l.keepNotLanded(it, v, "the branch moved again and again")
}

// joinOthers brings the branch to what other machines have landed, and reports whether
// the worker's claim holds still.
func (l *Loop) joinOthers(it *attempt) (bool, error) {
	if l.Share == nil {
		return true, nil
	}
	if _, err := l.Share.CatchUp(l.background()); err != nil {
		return false, err
	}
	s, err := l.load()
	return err == nil && s.Holds(it.under), err
}

// meet puts the commit on the branch's tip.
func (l *Loop) meet(ctx context.Context, at *landing) (err error) {
	if at.tip, err = l.Repo.ReadRef(ctx, gitstate.BranchRef(l.Journal.Branch)); err != nil {
		return err
	}
	at.is, at.conflicts, err = putOn(ctx, l.Repo, at.was, at.tip, signature(l.Settings.Sign))
	return err
}

// checkout brings the checkout of a landing, when it has one, to the landed result. What
// says how files are written out may change with it: then another one is made.
func (l *Loop) checkout(ctx context.Context, at *landing) (dir string, err error) {
	dir, at.dir = at.dir, ""
	if dir == "" || at.is == at.was {
		return dir, nil
	}
	out, err := l.Repo.Git.Run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", at.was.String(),
		at.is.String(), "--")
	if err != nil {
		return "", fmt.Errorf("compare the landed result: %w", err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if path.Base(name) == ".gitattributes" {
			return "", nil
		}
	}
	repo, err := gitstate.Open(ctx, dir, l.Repo.Git.Env)
	if err != nil {
		return "", fmt.Errorf("check out the landed result: %w", err)
	}
	defer repo.Close()
	if _, err := repo.Git.Run(ctx, "checkout", "--quiet", "--force", "--detach", at.is.String()); err != nil {
		return "", fmt.Errorf("check out the landed result: %w", err)
	}
	return dir, nil
}

// mayLand proves the result as it would be on the branch. A verdict other than keep
// is recorded when it returns.
func (l *Loop) mayLand(ctx context.Context, it *attempt, v Verdict, at *landing) (Verdict, *Action, error) {
	inWay, err := l.Worker.Engine.CheckoutConflicts(ctx, at.tip, at.is)
	if err != nil {
		return v, nil, err
	}
	if len(inWay) > 0 {
		why := "files of yours are in the way of the landing: " + text.List(inWay)
		return v, &Action{Kind: Halt, Status: state.NeedsReview, Reason: why}, l.keepNotLanded(it, v, why)
	}
	// What others have made green since the iteration began stays green.
	s, err := l.load()
	if err != nil {
		return v, nil, err
	}
	req := l.proofRequest(it.Ready, nil)
	req.Baseline, req.Complete = s.Baseline, true
	dir, err := l.checkout(ctx, at)
	if err != nil {
		return v, nil, err
	}
	report, err := l.proveIn(ctx, fresh{commit: at.is, dir: dir}, req)
	switch {
	case ctx.Err() != nil:
		v = reject("interrupted")
		return v, &Action{Kind: Halt, Status: state.Interrupted, Reason: "interrupted"}, l.reject(it, v)
	case err != nil:
		return v, nil, fmt.Errorf("prove the landed result: %w", err)
	case report.Pass:
		at.baseline = report.Baseline
		return v, nil, nil
	}
	for name, out := range report.Outputs {
		it.Add("checks/landing/"+name, out)
	}
	it = it.with(findings{})
	it.report.Runs = append(slices.Clip(it.report.Runs), report.Runs...)
	it.report.FailText = "Your work passed alone. Together with what others have landed since it does not:\n" +
		report.FailText
	v = rejectAttempt("landing: " + strings.TrimPrefix(strings.Join(report.Reasons, "; "), "checks: "))
	l.tellVerdict(it, v, "")
	return v, nil, l.reject(it, v)
}

// conflicted is the verdict on work that does not join what others have landed. The
// next attempt begins at their work and is shown both sides; only when that one meets
// the same again is an attempt spent.
func (l *Loop) conflicted(it *attempt, at landing) (*attempt, Verdict) {
	reason := "conflict: " + text.List(at.conflicts)
	v := Verdict{Verdict: state.Reject, Reasons: []string{reason}}
	if strings.Contains(it.task.Failure, "conflict: ") {
		v = rejectAttempt(reason)
	}
	ctx := l.background()
	side := func(from, to object.ID) string {
		args := append([]string{"diff", "--no-color", "--no-ext-diff", from.String(), to.String(), "--"}, at.conflicts...)
		out, err := l.Repo.Git.Run(ctx, args...)
		if err != nil {
			return err.Error()
		}
		return notes.CutBytes(string(out), 2000)
	}
	mine, err := l.Repo.Store.WriteCommit(object.CommitData{Tree: it.after.Keep, Author: object.Ours(it.started),
		Committer: object.Ours(it.started), Message: "the attempt\n"})
	if err == nil {
		err = l.Repo.Store.Sync()
	}
	if err == nil {
		it = it.with(findings{})
		it.report.FailText = "Another worker changed the same lines and has landed first. Its change is in the files that " +
			"you see now. Do the task again on top of it, so that both are kept.\n\nIts change:\n" + side(it.tip, at.tip) +
			"\nYour change, which is not in the files:\n" + side(it.tip, mine)
	}
	l.tellVerdict(it, v, "")
	return it, v
}

// landAt moves branch and journal, and then the files of the branch's worktree. What is
// left to do in the worker's own worktree waits for nobody: the lock is released before.
func (l *Loop) landAt(it *attempt, v Verdict, res *state.Result, at landing, lock *gitstate.Lock) error {
	w := l.Worker
	evidence, err := it.Write(it.tip, it.after.Tree, at.is)
	if err == nil {
		err = l.Repo.Store.Sync()
	}
	if err != nil {
		return fmt.Errorf("store the evidence: %w", err)
	}
	res.Parent, res.Commit, res.Evidence = at.tip.String(), at.is.String(), evidence.String()
	res.Landed, res.Brought = true, true
	if res.Baseline != nil {
		res.Baseline = at.baseline
	}
	to := spot{w.Home, w.Engine, l.Journal.Branch, at.tip, at.is, true}
	done := func() {}
	if l.Share != nil {
		if done, err = l.Share.lock(l.background()); err != nil {
			return err
		}
	}
	_, err = l.keepOn(it, res, evidence, to)
	if done(); err != nil {
		return err
	}
	l.fail("worker:landed")
	if err := lock.Release(); err != nil {
		l.Log("%v", err)
	}
	// What it made is on the branch: the worktree begins anew with its next task.
	if _, _, err := it.restore(func() (object.ID, error) { return evidence, nil }); err != nil {
		l.Log("%v", err)
	}
	it.Drop()
	return nil
}
