package gitstate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// HookError says that a commit hook of the repository refused.
type HookError struct {
	Hook string
	Err  error
}

func (e *HookError) Error() string { return e.Hook + ": " + e.Err.Error() }
func (e *HookError) Unwrap() error { return e.Err }

// CommitHooks runs pre-commit, prepare-commit-msg and commit-msg for a tree
// that is about to be committed, on a private index. It returns the message as
// the hooks leave it. Hooks that lie in the worktree are refused: an agent can
// change them, and they would run outside the sandbox.
func (r *Repo) CommitHooks(ctx context.Context, tree object.ID, msg string) (string, error) {
	dir := filepath.Join(r.CommonDir, "hooks")
	if own, err := r.userHooksPath(ctx); err != nil {
		return msg, err
	} else if own != "" {
		dir = own
	}
	if rel, err := filepath.Rel(r.Root, dir); err == nil && rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator)) &&
		!strings.HasPrefix(dir, r.CommonDir) {
		return msg, refuse(HooksExposed,
			fmt.Errorf("the hooks lie in the worktree (%s), where an agent can change them", rel))
	}
	tmp, err := proc.TempDir("hooks")
	if err != nil {
		return msg, err
	}
	defer os.RemoveAll(tmp)
	git := r.Git.WithIndex(filepath.Join(tmp, "index"))
	if _, err := git.Run(ctx, "read-tree", tree.String()); err != nil {
		return msg, err
	}
	file := filepath.Join(tmp, "COMMIT_EDITMSG")
	if err := os.WriteFile(file, []byte(msg), 0o600); err != nil {
		return msg, err
	}
	for _, h := range [][]string{{"pre-commit"}, {"prepare-commit-msg", "--", file, "message"},
		{"commit-msg", "--", file}} {
		args := append([]string{"-c", "core.hooksPath=" + dir, "hook", "run", "--ignore-missing"}, h...)
		if _, err := git.Run(ctx, args...); err != nil {
			return msg, &HookError{h[0], err}
		}
	}
	out, err := os.ReadFile(file)
	if err != nil {
		return msg, err
	}
	return string(out), nil
}

// userHooksPath is core.hooksPath as the user has it: our own calls pin it.
func (r *Repo) userHooksPath(ctx context.Context) (string, error) {
	config, err := r.Git.Config(ctx)
	if err != nil {
		return "", err
	}
	path, _ := config.Get("core.hookspath")
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(r.Root, path)
	}
	return path, nil
}
