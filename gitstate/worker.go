package gitstate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"git-ralph/gitstate/object"
)

// workerPrefix begins the branches of workers. Nothing of theirs lasts: each begins
// its task at the tip of the branch that it works for.
const workerPrefix = "ralph-workers/"

// WorkerBranch is the branch of a worker for a branch.
func WorkerBranch(of string, slot int) string { return workerPrefix + of + "/" + strconv.Itoa(slot) }

// WorkerPlace is the folder below base for the linked worktree of a worker.
func (r *Repo) WorkerPlace(base, of string, slot int) string {
	sum := sha256.Sum256([]byte(r.CommonDir + "\x00" + of + "\x00" + strconv.Itoa(slot)))
	return filepath.Join(base, fmt.Sprintf("%x", sum[:8]), filepath.Base(r.Root))
}

// MakeWorker makes the linked worktree of a worker in the folder place, or finds it
// there, and returns it. What an earlier call left half done is removed first.
func (r *Repo) MakeWorker(ctx context.Context, of string, slot int, place string, env []string) (Linked, error) {
	l := Linked{Of: of, Branch: WorkerBranch(of, slot), Root: place, Worker: slot}
	dirs, err := r.linkedDirs()
	if err != nil {
		return l, err
	}
	for _, dir := range dirs {
		if have, ok := readLinked(dir); ok && have.Worker == slot && have.Of == of && have.Root == place && have.There() {
			return have, nil
		}
	}
	tip, err := r.ReadRef(ctx, BranchRef(of))
	if err != nil {
		return l, err
	}
	if tip.IsZero() {
		return l, refuse(NoCommit, fmt.Errorf("%s has no commit yet that a worker could begin at", of))
	}
	if err := r.clearLinked(l); err != nil {
		return l, err
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return l, fmt.Errorf("make the worktree of a worker: %w", err)
	}
	if _, err := r.Git.Run(ctx, "worktree", "add", "--quiet", "--force", "--lock", "--reason", linkedReason+" for "+of,
		"-B", l.Branch, place, tip.String()); err != nil {
		return l, fmt.Errorf("make the worktree of a worker: %w", err)
	}
	repo, err := Open(ctx, place, env)
	if err != nil {
		return l, fmt.Errorf("make the worktree of a worker: %w", err)
	}
	defer repo.Close()
	l.GitDir = repo.GitDir
	if err := l.mark(place); err != nil {
		return l, fmt.Errorf("make the worktree of a worker: %w", err)
	}
	return l, nil
}

// Workers are the linked worktrees of workers for a branch.
func (r *Repo) Workers(of string) ([]Linked, error) {
	dirs, err := r.linkedDirs()
	var out []Linked
	for _, dir := range dirs {
		if l, ok := readLinked(dir); ok && l.Of == of && l.Worker > 0 {
			out = append(out, l)
		}
	}
	return out, err
}

// Begin brings the worktree of a worker to a commit: whatever lies there that is not
// ignored is gone. What was worth something is on the branch or in the evidence.
func (r *Repo) Begin(ctx context.Context, branch string, at object.ID) error {
	if _, err := r.Git.Run(ctx, "checkout", "--quiet", "--force", "-B", branch, at.String()); err != nil {
		return fmt.Errorf("bring the worker's worktree to %s: %w", at.String()[:12], err)
	}
	if _, err := r.Git.Run(ctx, "clean", "-ffdq"); err != nil {
		return fmt.Errorf("clean the worker's worktree: %w", err)
	}
	return nil
}

// DropWorker removes the linked worktree of a worker and its branch.
func (r *Repo) DropWorker(ctx context.Context, l Linked) error {
	if _, err := r.Git.Run(ctx, "worktree", "remove", "--force", "--force", l.Root); err != nil {
		return fmt.Errorf("remove the worktree of a worker: %w", err)
	}
	if err := os.RemoveAll(filepath.Dir(l.Root)); err != nil {
		return fmt.Errorf("remove the worktree of a worker: %w", err)
	}
	at, err := r.ReadRef(ctx, BranchRef(l.Branch))
	if err != nil || at.IsZero() {
		return err
	}
	return r.UpdateRefs("", RefUpdate{Name: BranchRef(l.Branch), Old: at})
}

// LockLanding waits until nobody else lands anything on a branch.
func (r *Repo) LockLanding(ctx context.Context, branch string) (*Lock, error) {
	return r.await(ctx, "the landing on "+branch, r.lockFile("landing", branch))
}

// LockSharing waits until no other process brings a branch up to a remote's or
// exchanges it with that remote.
func (r *Repo) LockSharing(ctx context.Context, branch string) (*Lock, error) {
	return r.await(ctx, "the sharing of "+branch, r.lockFile("sharing", branch))
}

func (r *Repo) await(ctx context.Context, what, file string) (*Lock, error) {
	for {
		l, err := r.lock(what, file, forLoop)
		var held *HeldError
		if !errors.As(err, &held) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(Jitter()):
		}
	}
}
