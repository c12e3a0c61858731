package gitstate

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/object"
)

// gitIn is a git in a folder that does nothing until the function is called.
func gitIn(t *testing.T, dir string, args ...string) (end func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "git")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\necho\nread x\n"), 0o755))
	// Not our child: those are known to hold no lock.
	c := exec.Command("sh", append([]string{"-c", `exec 3<&0; "$0" "$@" <&3 & wait`, path}, args...)...)
	c.Dir = dir
	in, err := c.StdinPipe()
	must(t, err)
	out, err := c.StdoutPipe()
	must(t, err, c.Start())
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	return func() { must(t, in.Close()); c.Wait() }
}

// TestGitOfAnotherWorktree: what this one wrote keeps its second name, and a lock stays, while a
// git is at work in the main worktree or in another linked one: a prune there removes the objects
// of all, and a lock may be its own.
func TestGitOfAnotherWorktree(t *testing.T) {
	t.Parallel()
	r, _ := openRepo(t)
	linked := filepath.Join(t.TempDir(), "linked")
	_, err := r.Git.Run(t.Context(), "worktree", "add", "-q", "-b", "other", linked)
	must(t, err)
	w, err := Open(t.Context(), linked, r.Git.Env)
	must(t, err)
	defer w.Close()
	for name, c := range map[string]struct {
		here *Repo
		dir  string
	}{"main": {w, r.Root}, "linked": {r, linked}} {
		id, err := c.here.Store.Write(object.Blob, []byte(name))
		must(t, err, c.here.Store.Sync())
		spare := func() bool {
			_, err := os.Lstat(filepath.Join(r.CommonDir, "objects", "ralph", id.String()))
			return err == nil
		}
		end := gitIn(t, c.dir, "prune", "--expire=now")
		must(t, c.here.ReleaseObjects())
		if !spare() {
			t.Errorf("a prune runs in the %s worktree, and the object has no second name", name)
		}
		lock := filepath.Join(r.CommonDir, "packed-refs.lock")
		long := time.Now().Add(-time.Minute)
		must(t, os.WriteFile(lock, nil, 0o644), os.Chtimes(lock, long, long))
		if gone, _, err := c.here.SweepLocks(); err != nil || slices.Contains(gone, lock) {
			t.Errorf("a git runs in the %s worktree: removed %v, %v", name, gone, err)
		}
		must(t, os.Remove(lock))
		end()
		must(t, c.here.ReleaseObjects())
		if spare() {
			t.Errorf("no prune runs, and the object of the %s worktree has two names", name)
		}
	}
}

// TestMainWorktree: it is known from a linked worktree, or everywhere.
func TestMainWorktree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want func(dir string) []string
	}{
		"plain":       {[]string{"init", "-q", "x"}, func(dir string) []string { return []string{filepath.Join(dir, "x")} }},
		"bare":        {[]string{"init", "-q", "--bare", "x"}, func(string) []string { return nil }},
		"a git apart": {[]string{"init", "-q", "--separate-git-dir=y", "x"}, func(string) []string { return []string{"/"} }},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		r, _ := openRepo(t)
		git := func(args ...string) string {
			cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
			cmd.Dir, cmd.Env = dir, r.Git.Env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %q: %s", args, out)
			}
			return strings.TrimSpace(string(out))
		}
		git(c.args...)
		tree := git("-C", "x", "hash-object", "-t", "tree", "-w", os.DevNull)
		git("-C", "x", "update-ref", "HEAD", git("-C", "x", "commit-tree", "-m", "x", tree))
		git("-C", "x", "worktree", "add", "-q", "-b", "l", filepath.Join(dir, "l"))
		w, err := Open(t.Context(), filepath.Join(dir, "l"), r.Git.Env)
		must(t, err)
		if got := w.mainWorktree(); !slices.Equal(got, c.want(dir)) {
			t.Errorf("%s: %q", name, got)
		}
		must(t, w.Close())
	}
}
