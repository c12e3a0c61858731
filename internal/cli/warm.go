package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/guard/sandbox"
	"git-ralph/internal/config"
	"git-ralph/internal/text"
	"git-ralph/loop"
	"git-ralph/loop/session"
)

// layerOf is the folder for a worker's writes to shared folders. It lies
// beside its worktree and goes with it.
func layerOf(root string) string { return root + ".layer" }

// dropLayer removes it.
func dropLayer(root string) error { return sandbox.RemoveHomeUpper(layerOf(root)) }

// checkShared refuses folders of worktree.share that workers cannot share safely.
// The setup may still make a missing one.
func (a *App) checkShared(ctx context.Context, set *config.Resolved, repo *gitstate.Repo) error {
	hidden := expandHome(set.Guard.Hidden, os.Getenv("HOME"))
	for _, name := range set.Worktree.Share {
		full := filepath.Join(repo.Root, filepath.FromSlash(name))
		if _, err := sharedFolder(repo.Root, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gitstate.Hint(8, "take it out of worktree.share, or name the folder itself",
				"worktree.share: %w", err)
		}
		out, err := repo.Git.Run(ctx, "ls-files", "-z", "--", ":(top,literal)"+name)
		if err != nil {
			return fmt.Errorf("look for tracked files in %s: %w", name, err)
		}
		if first, _, ok := strings.Cut(string(out), "\x00"); ok {
			return gitstate.Hint(8, "take it out of worktree.share: workers get tracked files from git",
				"worktree.share: %s has tracked files, such as %s", name, first)
		}
		in := strings.NewReader(name + "/\x00")
		if out, err := repo.Git.RunWith(ctx, in, nil, "check-ignore", "-z", "--stdin"); err != nil || len(out) == 0 {
			return gitstate.Hint(8, "write "+name+"/ into .gitignore and commit it, or take it out of worktree.share",
				"worktree.share: git does not ignore %s", name)
		}
		for _, h := range hidden {
			if h == full || inside(h, full) || inside(full, h) {
				return gitstate.Hint(8, "take one of them out", "worktree.share: %s contains, or is in, %s of guard.hidden",
					name, h)
			}
		}
	}
	return nil
}

// sharedFolder is a folder of worktree.share. No part of its path may be a link.
func sharedFolder(root, name string) (string, error) {
	full := root
	for part := range strings.SplitSeq(name, "/") {
		full = filepath.Join(full, part)
		st, err := os.Lstat(full)
		if err != nil {
			return "", fmt.Errorf("%s is not there: %w", name, fs.ErrNotExist)
		}
		if !st.IsDir() {
			kind := "a file"
			if st.Mode()&fs.ModeSymlink != 0 {
				kind = "a symbolic link"
			}
			return "", fmt.Errorf("%s is %s and no folder", strings.TrimPrefix(full, root+"/"), kind)
		}
	}
	return full, nil
}

// share decides, by doing it once, whether workers share the folders of
// worktree.share, all of them or none; why says why not.
func (a *App) share(ctx context.Context, set *config.Resolved, box session.Sandbox, base string) (why string) {
	b, ok := box.(*boundary)
	if !ok || b.report.Mechanism != sandbox.Namespaces {
		return "the sandbox is " + box.Mechanism()
	}
	for _, name := range set.Worktree.Share {
		lower, err := sharedFolder(a.repo.Root, name)
		if err == nil {
			err = sandbox.TryShare(ctx, b.report, lower, base)
		}
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// shareArgs are the arguments for workers about the shared folders.
func (a *App) shareArgs(ctx context.Context, set *config.Resolved, box session.Sandbox, base string) []string {
	if len(set.Worktree.Share) == 0 {
		return nil
	}
	if why := a.share(ctx, set, box, base); why != "" {
		a.warn("each worker runs the setup itself, because worktree.share has no effect: %s", why)
		return []string{"--not-shared=" + why}
	}
	var out []string
	for _, name := range set.Worktree.Share {
		out = append(out, "--share="+name)
	}
	return out
}

// warm shows the shared folders of home to what runs in the worker's worktree.
// Checks start from the home folder that the setup there has filled.
func (c *WorkerCmd) warm(l *loop.Loop, home *gitstate.Repo, root string) error {
	l.Worker.Shared.Not = c.NotShared
	b, ok := l.Sandbox.(*boundary)
	if !ok || len(c.Share) == 0 {
		return nil
	}
	for _, name := range c.Share {
		lower, err := sharedFolder(home.Root, name)
		if err != nil {
			return fmt.Errorf("share a folder: %w", err)
		}
		b.shares = append(b.shares, sandbox.Share{Lower: lower, Target: filepath.Join(root, filepath.FromSlash(name))})
	}
	b.shareFrom = home.Root
	if b.base.Home != "" {
		var err error
		if b.uppers[false], err = sandbox.HomeUpperDir(b.base.Home, home.CommonDir, purpose(homeOfChecks, home)); err != nil {
			return err
		}
	}
	for _, env := range []*[]string{&l.Settings.CheckEnv, &l.Settings.AgentEnv} {
		*env = sharedEnv(*env, home.Root, root, c.Share)
	}
	l.Worker.Shared = loop.Shared{Names: c.Share, From: home.Root, Drop: func() error { return dropLayer(root) }}
	return nil
}

// sharedEnv is an environment in which paths into a shared folder are replaced by its
// path in the worker's worktree.
func sharedEnv(env []string, from, to string, names []string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		key, val, _ := strings.Cut(kv, "=")
		for _, name := range names {
			val = text.ReplacePath(val, filepath.Join(from, name), filepath.Join(to, name))
		}
		out[i] = key + "=" + val
	}
	return out
}
