package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/refusal"
	"git-ralph/plan"
)

// Recovery repairs what a dead process left. It is first in every command that
// writes; no command that only reads calls it.
type Recovery struct {
	Place
	Journal *journal.Journal
	// Worker is the name of the worktree of a worker, whose claims alone are ended; "" =
	// everything that was at work in this worktree.
	Worker string
}

// RecoverySteps are the places where a recovery can be stopped.
var RecoverySteps = []string{"recover:swept", "recover:stored", "recover:restored", "recover:recorded", "recover:index",
	"recover:note"}

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
	ended, err := r.claims(ctx, snap.State)
	if err != nil {
		return err
	}
	left, err := r.endUnended(ctx, snap.State)
	if err != nil || r.Worker != "" {
		return err
	}
	if ended {
		if snap, err = r.Journal.Load(ctx); err != nil {
			return err
		}
	}
	cur := snap.State.Run.Current
	switch {
	case cur == nil:
		return r.drop(ctx, snap.State, left)
	case cur.Actor != r.Journal.Actor, alive(cur.Start.PID, cur.Start.BootID, cur.Start.StartTime):
		return nil
	}
	if err := r.interrupted(ctx, snap.State, *cur, ""); err != nil {
		return err
	}
	// Another run may have died as well, between its checkpoint and its start.
	if snap, err = r.Journal.Load(ctx); err != nil {
		return err
	}
	return r.drop(ctx, snap.State, left)
}

// drop removes checkpoints that nobody needs, unless a worker has just made one. Those
// that are left are of iterations that another recovery ends.
func (r *Recovery) drop(ctx context.Context, s state.State, left []string) error {
	if LivingWorkers(s, r.Journal.Actor) {
		return nil
	}
	return DropCheckpoints(ctx, r.Repo, s, left...)
}

// LivingWorkers reports whether a worker of this machine is at work, also one whose
// parent has died. Between its checkpoint and its start no entry knows its checkpoint.
func LivingWorkers(s state.State, actor string) bool {
	return slices.ContainsFunc(s.Claims, func(c state.Claim) bool {
		return c.Actor == actor && c.Worker != "" && alive(c.PID, c.BootID, c.StartTime)
	})
}

// alive reports whether another process is at work still.
func alive(pid int, boot string, start uint64) bool {
	id := proc.Identity{Pid: pid, BootID: boot, StartTime: start}
	return id.Alive() && id != proc.Self()
}

// GiveBack ends what the claims of this worktree are for, and releases them: a worker's
// own, and those under which it works with other machines.
func (r *Recovery) GiveBack(ctx context.Context) error {
	snap, err := r.Journal.Load(ctx)
	if err == nil {
		_, err = r.claims(ctx, snap.State)
	}
	return err
}

// claims ends the iterations of dead processes that had a claim, and releases what was
// only claimed. It reports whether an iteration was ended.
func (r *Recovery) claims(ctx context.Context, s state.State) (ended bool, err error) {
	worker, why := r.Worker, "its worker died"
	if worker == "" {
		worker, why = r.Repo.WorktreeName(), "left by a run that ended"
	}
	for _, c := range s.Claims {
		if c.Actor != r.Journal.Actor || c.Worker != worker || alive(c.PID, c.BootID, c.StartTime) {
			continue
		}
		ended = ended || c.Current != nil
		if err := r.endClaim(ctx, s, c, why); err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// endClaim ends the iteration that a dead process began under a claim, or releases the
// claim when there is none.
func (r *Recovery) endClaim(ctx context.Context, s state.State, c state.Claim, why string) error {
	if c.Current == nil {
		return ReleaseClaim(ctx, r.Journal, c, why)
	}
	return r.interrupted(ctx, s.For(c.Actor, c.Worker), *c.Current, c.ID)
}

// EndWithout ends what dead workers were at whose worktrees are gone: there lists the
// names of those that are not.
func (r *Recovery) EndWithout(ctx context.Context, there []string) error {
	snap, err := r.Journal.Load(ctx)
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range snap.State.Claims {
		if c.Actor == r.Journal.Actor && !alive(c.PID, c.BootID, c.StartTime) && !slices.Contains(there, c.Worker) {
			if err := r.endClaim(ctx, snap.State, c, "its worktree is gone"); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeadWorkers reports whether a worker of this machine died with its claim.
func DeadWorkers(s state.State, actor string) bool {
	return slices.ContainsFunc(s.Claims, func(c state.Claim) bool {
		return c.Actor == actor && c.Worker != "" && !alive(c.PID, c.BootID, c.StartTime)
	})
}

// Orphans are the claims of workers of another process of this machine, which may live
// on for a while after their run was killed. Mine are the tasks of this process's own.
func Orphans(s state.State, actor string, mine []plan.TaskID) (living, dead bool) {
	for _, c := range s.Claims {
		id := proc.Identity{Pid: c.PID, BootID: c.BootID, StartTime: c.StartTime}
		if c.Actor == actor && c.Worker != "" && !slices.Contains(mine, c.Task) && id != proc.Self() {
			living, dead = living || id.Alive(), dead || !id.Alive()
		}
	}
	return living, dead
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

// DropCheckpoints removes the refs of checkpoints that no iteration needs: of
// those in work, and of the newest one when a person still has to decide about
// its worktree. Those of the events in left stay as well.
func DropCheckpoints(ctx context.Context, repo *gitstate.Repo, s state.State, left ...string) error {
	refs, err := repo.ListRefs(ctx, gitstate.LocalPrefix+s.Journal.ID+"/")
	if err != nil || len(refs) == 0 {
		return err
	}
	// The journal of a linked worktree has the same id, and its loop may be at work.
	forks, err := journal.Forks(ctx, repo, s.Journal.ID)
	if err != nil {
		return err
	}
	for name, id := range refs {
		event := strings.TrimPrefix(name, gitstate.LocalPrefix+s.Journal.ID+"/")
		if slices.Contains(left, event) || needed(s, event) ||
			slices.ContainsFunc(forks, func(f journal.Fork) bool { return needed(f.State, event) }) {
			continue
		}
		if err := repo.UpdateRefs("", gitstate.RefUpdate{Name: name, Old: id}); err != nil &&
			!errors.Is(err, gitstate.ErrRefMoved) {
			return fmt.Errorf("drop an old checkpoint: %w", err)
		}
	}
	return nil
}

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
