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
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
)

// complete proves that the work stands: every check that binds is green on
// nothing but the branch's tip, whatever was red before the run.
func (l *Loop) complete(ctx context.Context) (Action, error) {
	done := Action{Kind: Halt, Status: state.Complete}
	s, err := l.load()
	if err != nil {
		return done, err
	}
	_, tip, err := l.Repo.Head(ctx)
	if err != nil {
		return done, err
	}
	report, err := l.proveTip(ctx, tip, s)
	if ctx.Err() != nil {
		return interrupted(), nil
	}
	if err != nil || report.Pass {
		return done, err
	}
	l.Log("the tip of the branch does not stand alone: %s\n%s", strings.Join(report.Reasons, "; "), report.FailText)
	return Action{Kind: Halt, Status: state.HaltedStatus, Reason: freshChecks + strings.TrimPrefix(strings.Join(report.Reasons, "; "), "checks: ")}, nil
}

// freshChecks begins the reason of a run that ended with red checks.
const freshChecks = "fresh_checks: "

// proveTip runs the checks, and the baseline excuses none of them: in a fresh
// checkout of the branch's tip, or where the settings forbid one in the
// worktree, which is put back.
func (l *Loop) proveTip(ctx context.Context, tip object.ID, s state.State) (ProofReport, error) {
	req := ProofRequest{Baseline: s.Baseline, Unexcused: true}
	if tip.IsZero() || l.Settings.Fresh == "never" {
		req.Result = func(c state.CheckRun) { l.emit("check", s, "", c, "%s: %s", c.Name, passed(c)) }
		return l.proveInPlace(ctx, req)
	}
	req.Result = func(c state.CheckRun) { l.emit("check", s, "", c, "fresh checkout, %s: %s", c.Name, passed(c)) }
	return l.proveFresh(ctx, tip, req)
}

// proveFresh runs setup and checks in a linked worktree of ours with nothing
// but the files of one commit.
func (l *Loop) proveFresh(ctx context.Context, commit object.ID, req ProofRequest) (ProofReport, error) {
	dir, remove, err := FreshCheckout(ctx, l.Repo, commit)
	if err != nil {
		return ProofReport{}, err
	}
	defer remove()
	runDir, err := newRunDir(l.RunBase)
	if err != nil {
		return ProofReport{}, err
	}
	defer os.RemoveAll(runDir)
	g, err := proc.NewGroup(proc.GroupOptions{EventID: gitstate.NewID(l.Now()), Wrap: l.Sandbox.Wrapper(Use{Dir: dir, RunDir: runDir, Files: l.AgentFiles})})
	if err != nil {
		return ProofReport{}, err
	}
	req.Start, req.Dir, req.Env, req.Fresh = g.Start, dir, l.Settings.CheckEnv, true
	var report ProofReport
	if err = l.Prover.Setup(ctx, req); err != nil {
		report = ProofReport{Reasons: []string{"setup"}, FailText: err.Error()}
		err = nil
	} else {
		report, err = l.Prover.Prove(ctx, req)
	}
	if cerr := g.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	return report, err
}

// FreshCheckout makes a linked worktree of ours with the files of a commit.
func FreshCheckout(ctx context.Context, repo *gitstate.Repo, commit object.ID) (dir string, remove func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	base := filepath.Join(cache, "git-ralph", "checkouts")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", nil, fmt.Errorf("make a fresh checkout: %w", err)
	}
	parent, err := os.MkdirTemp(base, "co-")
	if err != nil {
		return "", nil, fmt.Errorf("make a fresh checkout: %w", err)
	}
	dir = filepath.Join(parent, filepath.Base(repo.Root))
	remove = func() {
		bg := context.Background()
		repo.Git.Run(bg, "worktree", "remove", "--force", "--force", dir)
		os.RemoveAll(parent)
		// What ran there may have spoilt its .git file, so that git did not know it.
		repo.Git.Run(bg, "worktree", "unlock", dir)
		repo.Git.Run(bg, "worktree", "prune")
	}
	if _, err := repo.Git.Run(ctx, "worktree", "add", "--quiet", "--detach", "--lock", dir, commit.String()); err != nil {
		remove()
		return "", nil, fmt.Errorf("make a fresh checkout: %w", err)
	}
	return dir, remove, nil
}
