package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
)

// warm is the home folder of checks, criteria and steps in the worktree. The
// set-up and the baseline filled it before any agent wrote code, so that caches
// are warm; no later command changes it.
func warm(journalID string) session.Home { return session.Home{Layer: "warm-" + journalID} }

// fresh is a commit to check out by itself, and how to run there.
type fresh struct {
	commit object.ID
	over   []ChangedFile // files put over those of the commit; a nil After removes
	env    []string      // nil = the environment of checks
	bare   bool          // without the set-up commands
	home   session.Home  // set: instead of a layer of this proof's own
	dir    string        // a checkout of it that nothing has used; "" = it is made, and removed afterwards
}

// setupError says that the set-up commands failed in a fresh checkout.
type setupError struct{ err error }

func (e *setupError) Error() string { return fmt.Sprintf("the setup failed: %v", e.err) }
func (e *setupError) Unwrap() error { return e.err }

// inFresh runs f in a fresh checkout, after the set-up commands. f sees only the
// commit and the user's own home folder, nothing that an iteration, a check or
// another proof left. What the set-up writes to the home folder is visible to f.
// It is removed afterwards, together with every process.
func (l *Loop) inFresh(ctx context.Context, c fresh, f func(ProofRequest) error) error {
	dir := c.dir
	if dir == "" {
		var remove func()
		var err error
		if dir, remove, err = FreshCheckout(ctx, l.Repo, c.commit); err != nil {
			return err
		}
		defer remove()
	}
	if err := putOver(dir, c.over); err != nil {
		return err
	}
	if c.env == nil {
		c.env = l.Settings.CheckEnv
	}
	held := heldBy(l.Repo.Root, dir, c.env)
	layer := l.Sandbox.OwnLayer(gitstate.NewID(l.Now()))
	defer l.Sandbox.DropLayer(layer)
	if c.home.Layer == "" {
		c.home.Layer = layer
	}
	run := func(home session.Home, f func(ProofRequest) error) error {
		return l.Sandboxed(gitstate.NewID(l.Now()), session.Use{Dir: dir, Home: home}, func(start session.Starter) error {
			return f(ProofRequest{Start: start, Dir: dir, Env: checkoutEnv(c.env, l.Repo.Root, dir, held), Fresh: true})
		})
	}
	if !c.bare {
		err := run(session.Home{Layer: layer, Fill: true}, func(req ProofRequest) error { return l.Prover.Setup(ctx, req) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return &setupError{err}
		}
	}
	return run(c.home, f)
}

// proveFresh runs setup and checks with nothing but the files of one commit.
func (l *Loop) proveFresh(ctx context.Context, commit object.ID, req ProofRequest) (ProofReport, error) {
	return l.proveIn(ctx, fresh{commit: commit}, req)
}

func (l *Loop) proveIn(ctx context.Context, c fresh, req ProofRequest) (ProofReport, error) {
	var report ProofReport
	err := l.inFresh(ctx, c, func(at ProofRequest) error {
		req.Start, req.Dir, req.Env, req.Fresh = at.Start, at.Dir, at.Env, true
		var err error
		report, err = l.Prover.Prove(ctx, req)
		return err
	})
	var setup *setupError
	if errors.As(err, &setup) {
		return ProofReport{Reasons: []string{"setup"}, FailText: setup.err.Error()}, nil
	}
	return report, err
}

// FreshCheckout makes a linked worktree with the files of a commit.
func FreshCheckout(ctx context.Context, repo *gitstate.Repo, commit object.ID) (dir string, remove func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	base := filepath.Join(cache, "git-ralph", "checkouts")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", nil, refusal.New(refusal.NoCacheFolder, "make a fresh checkout: %w", err)
	}
	dropDeadCheckouts(ctx, repo, base)
	parent, err := os.MkdirTemp(base, proc.OwnedPrefix(gitstate.CheckoutPrefix))
	if err != nil {
		return "", nil, fmt.Errorf("make a fresh checkout: %w", err)
	}
	dir = filepath.Join(parent, filepath.Base(repo.Root))
	remove = func() {
		bg := context.Background()
		_, err := repo.Git.Run(bg, "worktree", "remove", "--force", "--force", dir)
		if os.RemoveAll(parent); err == nil {
			return
		}
		// A command may have damaged its .git file, so that git does not know it.
		repo.Git.Run(bg, "worktree", "unlock", dir)
		repo.Git.Run(bg, "worktree", "prune")
	}
	if _, err := repo.Git.Run(ctx, "worktree", "add", "--quiet", "--detach", "--lock", dir, commit.String()); err != nil {
		remove()
		return "", nil, fmt.Errorf("make a fresh checkout: %w", err)
	}
	return dir, remove, nil
}

// dropDeadCheckouts removes the checkouts of processes that were killed, and what
// this repository still knows of those that are gone. A failure leaves them to
// the next one.
func dropDeadCheckouts(ctx context.Context, repo *gitstate.Repo, base string) {
	proc.RemoveOrphans(base, gitstate.CheckoutPrefix)
	known, err := os.ReadDir(filepath.Join(repo.CommonDir, "worktrees"))
	if err != nil || len(known) == 0 {
		return
	}
	out, err := repo.Git.Run(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return
	}
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	gone := false
	for _, field := range strings.Split(string(out), "\x00") {
		path, ok := strings.CutPrefix(field, "worktree ")
		if !ok || !Inside(filepath.FromSlash(path), base) {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			repo.Git.Run(ctx, "worktree", "unlock", path)
			gone = true
		}
	}
	if gone {
		repo.Git.Run(ctx, "worktree", "prune")
	}
}

// inWorktree is Sandboxed between iterations: in the worktree, as checks are.
func (l *Loop) inWorktree(home session.Home, readOnly []string, f func(session.Starter) error) error {
	return l.Sandboxed(gitstate.NewID(l.Now()),
		session.Use{Dir: l.Repo.Root, Home: home, ReadOnlyPaths: readOnly, Files: l.AgentFiles}, f)
}
