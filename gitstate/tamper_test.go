//go:build unix

package gitstate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"git-ralph/fixtures/repo"
)

// watchedRepo is a repository with hooks, info, attributes and a link of the
// user's own, opened.
func watchedRepo(t *testing.T) (*repo.Repo, *Repo) {
	t.Helper()
	r := repo.New(t, nil)
	for path, text := range map[string]string{".git/hooks/pre-commit": "#!/bin/sh\n", ".git/info/exclude": "*.log\n",
		".git/info/attributes": "*.txt text\n"} {
		r.Write(path, text)
	}
	if err := os.Symlink("pre-commit", filepath.Join(r.Dir, ".git/hooks/commit-msg")); err != nil {
		t.Fatal(err)
	}
	g, err := Open(context.Background(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return r, g
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestPutBack: whatever an agent makes of git's own files, they are afterwards
// as they were, and nothing outside of the git directory was written.
func TestPutBack(t *testing.T) {
	for _, c := range []struct {
		why  string
		kind string
		do   func(t *testing.T, git, victim string)
	}{
		{"a setting more", "config", func(t *testing.T, git, victim string) {
			must(t, os.WriteFile(git+"/config", []byte("[core]\n\tfsmonitor = x\n"), 0o644))
		}},
		{"no settings", "config", func(t *testing.T, git, victim string) { must(t, os.Remove(git+"/config")) }},
		{"a folder in place of the settings", "config", func(t *testing.T, git, victim string) {
			must(t, os.Remove(git+"/config"), os.MkdirAll(git+"/config/x", 0o755))
		}},
		{"settings that nobody may read", "config", func(t *testing.T, git, victim string) {
			must(t, os.Chmod(git+"/config", 0))
		}},
		{"settings elsewhere", "config", func(t *testing.T, git, victim string) {
			must(t, os.Remove(git+"/config"), os.Symlink(victim+"/exclude", git+"/config"))
		}},
		{"a FIFO", "config", func(t *testing.T, git, victim string) {
			must(t, os.Remove(git+"/config"), syscall.Mkfifo(git+"/config", 0o644))
		}},
		{"settings of a worktree", "config", func(t *testing.T, git, victim string) {
			must(t, os.WriteFile(git+"/config.worktree", nil, 0o644))
		}},
		{"a hook more", "hooks", func(t *testing.T, git, victim string) {
			must(t, os.WriteFile(git+"/hooks/post-commit", nil, 0o755))
		}},
		{"a hook that runs now", "hooks", func(t *testing.T, git, victim string) {
			must(t, os.Chmod(git+"/hooks/pre-commit", 0o755))
		}},
		{"another target of a link", "hooks", func(t *testing.T, git, victim string) {
			must(t, os.Remove(git+"/hooks/commit-msg"), os.Symlink("/x", git+"/hooks/commit-msg"))
		}},
		{"hooks elsewhere", "hooks", func(t *testing.T, git, victim string) {
			must(t, os.RemoveAll(git+"/hooks"), os.Symlink(victim, git+"/hooks"))
		}},
		{"info leads to files of the user", "info", func(t *testing.T, git, victim string) {
			must(t, os.RemoveAll(git+"/info"), os.Symlink(victim, git+"/info"))
		}},
		{"no info at all", "info", func(t *testing.T, git, victim string) { must(t, os.RemoveAll(git+"/info")) }},
		{"grafts", "info", func(t *testing.T, git, victim string) { must(t, os.WriteFile(git+"/info/grafts", nil, 0o644)) }},
		{"a common directory", "info", func(t *testing.T, git, victim string) {
			must(t, os.WriteFile(git+"/commondir", []byte(victim), 0o644))
		}},
		{"alternates", "alternates", func(t *testing.T, git, victim string) {
			must(t, os.MkdirAll(git+"/objects/info", 0o755), os.WriteFile(git+"/objects/info/alternates", []byte(victim), 0o644))
		}},
		{"alternates elsewhere", "alternates", func(t *testing.T, git, victim string) {
			must(t, os.WriteFile(victim+"/alternates", []byte("/x"), 0o644), os.RemoveAll(git+"/objects/info"),
				os.Symlink(victim, git+"/objects/info"))
		}},
		{"a submodule's settings", "config", func(t *testing.T, git, victim string) {
			must(t, os.MkdirAll(git+"/modules/m", 0o755), os.WriteFile(git+"/modules/m/config", nil, 0o644))
		}},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "-"), func(t *testing.T) {
			r, g := watchedRepo(t)
			victim := filepath.Join(filepath.Dir(r.Dir), "victim")
			must(t, os.Mkdir(victim, 0o755), os.WriteFile(victim+"/exclude", []byte("precious\n"), 0o644))
			before, err := g.TakeSnapshot(context.Background(), nil)
			must(t, err)
			defer before.Close()
			c.do(t, r.Dir+"/.git", victim)
			now, err := g.TakeSnapshot(context.Background(), before)
			must(t, err)
			defer now.Close()
			diff := before.Compare(now)
			if len(diff) == 0 || diff[0].Kind != c.kind {
				t.Fatalf("noticed: %v", diff)
			}
			must(t, before.PutBack(diff))
			again, err := g.TakeSnapshot(context.Background(), before)
			must(t, err)
			defer again.Close()
			if left := before.Compare(again); len(left) > 0 {
				t.Errorf("after it was put back: %v", left)
			}
			if got := r.Git("status", "--porcelain"); got != "" {
				t.Errorf("git status: %s", got)
			}
			data, err := os.ReadFile(victim + "/exclude")
			if err != nil || string(data) != "precious\n" {
				t.Errorf("the user's file outside is %q, %v", data, err)
			}
			if _, err := os.Lstat(victim + "/attributes"); err == nil {
				t.Error("a file was written outside")
			}
		})
	}
}

// TestPlaces: a git directory that was moved away comes back, one that is gone
// is said to be, and neither is taken for what lies in its place.
func TestPlaces(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("where a folder went is known on Linux only")
	}
	r, g := watchedRepo(t)
	before, err := g.TakeSnapshot(context.Background(), nil)
	must(t, err)
	defer before.Close()
	if moved, err := before.Places(); moved || err != nil {
		t.Fatalf("nothing happened: %v, %v", moved, err)
	}
	git, away := filepath.Join(r.Dir, ".git"), filepath.Join(filepath.Dir(r.Dir), "away")
	must(t, os.Rename(git, away), os.WriteFile(git, []byte("gitdir: /x\n"), 0o644))
	if moved, err := before.Places(); !moved || err != nil {
		t.Fatalf("a git directory that was moved: %v, %v", moved, err)
	}
	r.Git("fsck")
	if kept, _ := filepath.Glob(git + "/ralph/aside/planted-*/.git"); len(kept) != 1 {
		t.Errorf("what lay in its place was not kept: %v", kept)
	}
	// Twice is no harder than once, also when nothing lies in its place.
	must(t, os.Rename(git, away))
	if moved, err := before.Places(); !moved || err != nil {
		t.Fatalf("moved once more: %v, %v", moved, err)
	}
	r.Git("fsck")
	must(t, os.RemoveAll(git), os.MkdirAll(git, 0o755))
	var gone *GoneError
	if _, err := before.Places(); !errors.As(err, &gone) || gone.Path != git {
		t.Errorf("a git directory that was replaced: %v", err)
	}
}

// TestOthersWorktrees: a linked worktree that was being made or removed when it was
// looked at is another's affair; a change in one that was complete is not.
func TestOthersWorktrees(t *testing.T) {
	files := map[string]string{"locked": "initializing", "gitdir": "/x/.git\n", "HEAD": "ref: refs/heads/x\n",
		"commondir": "../..\n"}
	for _, c := range []struct {
		why    string
		before []string // files that are there
		after  map[string]string
		others bool
	}{
		{"it was begun", []string{"locked", "gitdir"}, map[string]string{"locked": "for the worker",
			"commondir": "../..\n", "HEAD": "ref: refs/heads/x\n"}, true},
		{"it was unlocked", []string{"locked", "gitdir", "HEAD", "commondir"}, map[string]string{"locked": ""}, true},
		{"it goes", []string{"gitdir", "HEAD", "commondir"}, map[string]string{"HEAD": "", "commondir": ""}, true},
		{"it leads elsewhere", []string{"gitdir", "HEAD", "commondir"}, map[string]string{"commondir": "/else\n"}, false},
		{"it is damaged", []string{"gitdir", "HEAD", "commondir"}, map[string]string{"commondir": ""}, false},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r, g := watchedRepo(t)
			dir := filepath.Join(r.Dir, ".git", "worktrees", "x")
			must(t, os.MkdirAll(dir, 0o755))
			for _, name := range c.before {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o644))
			}
			before, err := g.TakeSnapshot(context.Background(), nil)
			must(t, err)
			defer before.Close()
			for name, text := range c.after {
				if text == "" {
					must(t, os.Remove(filepath.Join(dir, name)))
				} else {
					must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
				}
			}
			now, err := g.TakeSnapshot(context.Background(), before)
			must(t, err)
			defer now.Close()
			diff := before.Compare(now)
			if len(diff) == 0 {
				t.Fatal("nothing differs")
			}
			for _, d := range diff {
				if got := before.OthersWorktree(d, now); got != c.others {
					t.Errorf("%s: %v", d, got)
				}
			}
		})
	}
}

// TestStaleLocks: a lock goes when nobody can hold it.
func TestStaleLocks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("who holds a lock is known on Linux only")
	}
	r, g := watchedRepo(t)
	old := filepath.Join(r.Dir, ".git/config.lock")
	must(t, os.WriteFile(old, nil, 0o644))
	before, err := g.TakeSnapshot(context.Background(), nil)
	must(t, err)
	defer before.Close()
	for _, name := range []string{"index.lock", "refs/heads/main.lock", "HEAD.lock"} {
		must(t, os.WriteFile(filepath.Join(r.Dir, ".git", name), nil, 0o644))
	}
	now, err := g.TakeSnapshot(context.Background(), before)
	must(t, err)
	defer now.Close()
	if gone := before.RemoveStaleLocks(now); len(gone) != 3 {
		t.Errorf("removed: %v", gone)
	}
	if _, err := os.Lstat(old); err != nil {
		t.Errorf("the lock that lay there before is not ours to judge: %v", err)
	}
	lock, err := g.LockIndex(0) // as another worker does that lands its work
	must(t, err)
	defer lock.Release()
	if now, err = g.TakeSnapshot(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	if gone := before.RemoveStaleLocks(now); len(gone) != 0 {
		t.Errorf("removed what a living process of ours holds: %v", gone)
	}
}
