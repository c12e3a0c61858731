//go:build unix

package gitstate

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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

// TestPutBack: whatever an agent does to git's own files, they are restored, and
// nothing outside of the git directory is written.
func TestPutBack(t *testing.T) {
	t.Parallel()
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
			aside := filepath.Join(g.Dir(), "aside", "x")
			kept, err := before.PutBack(diff, now, aside)
			must(t, err)
			none := []string{"no settings", "settings that nobody may read", "a hook that runs now", "no info at all"}
			if os.Geteuid() == 0 && kept == slices.Contains(none, c.why) {
				t.Errorf("something of what was found was kept: %v", kept)
			}
			if c.why == "a setting more" {
				if found, err := os.ReadFile(aside + "/config"); !strings.Contains(string(found), "fsmonitor") {
					t.Errorf("of the found settings %q was kept, %v", found, err)
				}
			}
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

// TestPlaces: a git directory that was moved away is moved back, and one that is
// gone is reported. What lies in its place is never taken for it.
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
	// A second move is undone as well, also when nothing lies in its place.
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

// TestOthersWorktrees: a linked worktree that was being made or removed during the
// snapshot is another process's business. A change in a complete one is not.
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

// TestStaleLocks: a lock that nobody can hold is removed.
func TestStaleLocks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("who holds a lock is known on Linux only")
	}
	r, g := watchedRepo(t)
	long := time.Now().Add(-time.Minute)
	path := func(name string) string { return filepath.Join(r.Dir, ".git", filepath.FromSlash(name)) }
	lay := func(names ...string) {
		for _, name := range names {
			must(t, os.WriteFile(path(name), nil, 0o644), os.Chtimes(path(name), long, long))
		}
	}
	lay("config.lock")
	before, err := g.TakeSnapshot(context.Background(), nil)
	must(t, err)
	defer before.Close()
	remove := func(gone, left int) {
		t.Helper()
		now, err := g.TakeSnapshot(context.Background(), before)
		must(t, err)
		defer now.Close()
		if out, stay := before.RemoveStaleLocks(now); len(out) != gone || len(stay) != left {
			t.Errorf("removed %v, left %v", out, stay)
		}
	}
	lay("index.lock", "refs/heads/main.lock", "HEAD.lock")
	remove(3, 0)
	if _, err := os.Lstat(path("config.lock")); err != nil {
		t.Errorf("the lock that lay there before is not ours to judge: %v", err)
	}
	lock, err := g.LockIndex(0) // as another worker does that lands its work
	must(t, err)
	remove(0, 0)
	lock.Release()

	// Programs with their own git library: the first has the lock open, the second
	// has closed it.
	jar := filepath.Join(filepath.Dir(r.Dir), "org.eclipse.jgit-6.jar")
	must(t, os.WriteFile(jar, nil, 0o644))
	for _, opens := range []string{path("index.lock"), jar} {
		lay("index.lock", "HEAD.lock")
		f, err := os.Open(opens)
		must(t, err)
		c := exec.Command("cat")
		c.Dir, c.ExtraFiles = filepath.Dir(r.Dir), []*os.File{f}
		in, err := c.StdinPipe()
		must(t, err, c.Start(), f.Close())
		if opens == jar {
			remove(0, 2)
		} else {
			remove(1, 1)
		}
		must(t, in.Close(), c.Wait())
		remove(map[bool]int{true: 2, false: 1}[opens == jar], 0)
	}
}

// TestLockThatGoes: a lock that was just made is waited for. Its holder releases it
// meanwhile.
func TestLockThatGoes(t *testing.T) {
	t.Parallel()
	r, g := watchedRepo(t)
	before, err := g.TakeSnapshot(context.Background(), nil)
	must(t, err)
	defer before.Close()
	lock := filepath.Join(r.Dir, ".git", "index.lock")
	must(t, os.WriteFile(lock, []byte("new"), 0o644))
	now, err := g.TakeSnapshot(context.Background(), before)
	must(t, err)
	defer now.Close()
	done := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() {
		defer close(done)
		if err := os.Rename(lock, filepath.Join(r.Dir, ".git", "index")); err != nil {
			t.Errorf("its holder: %v", err)
		}
	})
	gone, left := before.RemoveStaleLocks(now)
	<-done
	if len(gone)+len(left) > 0 {
		t.Errorf("removed %v, left %v", gone, left)
	}
}

// TestFetchedShallow: a fetch's changes to the list of shallow commits stay, an agent's do
// not. No commit seems to be missing afterwards.
func TestFetchedShallow(t *testing.T) {
	for _, c := range []struct {
		why, clone, do string
		explained      bool
	}{
		{"a deeper clone", "--depth=1", "git fetch -q --depth=3", true},
		{"a clone made whole", "--depth=2", "git fetch -q --unshallow", true},
		{"deepened by one", "--depth=1", "git fetch -q --deepen=1", true},
		{"a whole clone cut", "", "git fetch -q --depth=1", true},
		{"cut at what is new", "", "git -C ../work commit -q --allow-empty -m a; " +
			"git -C ../work commit -q --allow-empty -m b; git fetch -q --depth=1", true},
		{"deeper without a word of it", "--depth=1", "git fetch -q --depth=3; rm .git/FETCH_HEAD", true},
		{"cut by an agent", "", "git rev-parse HEAD~1 > .git/shallow", false},
		{"removed by an agent", "--depth=1", "rm .git/shallow", false},
		{"garbage", "--depth=1", "echo garbage > .git/shallow", false},
		{"a link", "--depth=1", "rm .git/shallow; ln -s config .git/shallow", false},
		{"both", "--depth=1", "git fetch -q --depth=3; rm .git/FETCH_HEAD; git rev-parse HEAD~1 >> .git/shallow", false},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r := repo.New(t, nil)
			for _, m := range []string{"one", "two", "three", "four"} {
				r.Git("commit", "-q", "--allow-empty", "-m", m)
			}
			clone := filepath.Join(filepath.Dir(r.Dir), "clone")
			r.Git(strings.Fields("clone -q " + c.clone + " file://" + r.Dir + " " + clone)...)
			g, err := Open(context.Background(), clone, r.Env)
			must(t, err)
			t.Cleanup(func() { g.Close() })
			before, err := g.TakeSnapshot(context.Background(), nil)
			must(t, err)
			defer before.Close()
			run := exec.Command("sh", "-c", c.do)
			run.Dir, run.Env = clone, r.Env
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			now, err := g.TakeSnapshot(context.Background(), before)
			must(t, err)
			defer now.Close()
			diff := slices.DeleteFunc(before.Compare(now), func(d Difference) bool { return d.Kind != "info" })
			if len(diff) != 1 || !g.IsShallow(diff[0]) {
				t.Fatalf("noticed: %v", diff)
			}
			found, _ := os.ReadFile(clone + "/.git/shallow")
			ok := g.Fetched(context.Background(), before, now, diff[0])
			if ok != c.explained {
				t.Fatalf("explained: %v", ok)
			}
			if !ok {
				_, err := before.PutBack(diff, now, filepath.Join(g.Dir(), "aside", "x"))
				must(t, err)
			} else if is, _ := os.ReadFile(clone + "/.git/shallow"); string(is) != string(found) {
				t.Errorf("%q, the fetch made %q", is, found)
			}
			r.Git("-C", clone, "fsck", "--connectivity-only")
			want := map[string]string{"both": "3", "cut by an agent": "5"}[c.why]
			if got := r.Git("-C", clone, "rev-list", "--count", "HEAD"); want != "" && got != want {
				t.Errorf("%s commits are seen, not %s", got, want)
			}
		})
	}
}

// TestBegunOperations: a bisect that an agent begins is found like a merge. A HEAD that git
// cannot read is told from one that points elsewhere.
func TestBegunOperations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r, g := watchedRepo(t)
	before, err := g.TakeSnapshot(ctx, nil)
	must(t, err)
	defer before.Close()
	git, id := filepath.Join(r.Dir, ".git"), strings.Repeat("a", 40)
	found := func() []Difference {
		now, err := g.TakeSnapshot(ctx, before)
		must(t, err)
		defer now.Close()
		return before.Compare(now)
	}
	must(t, os.WriteFile(git+"/BISECT_LOG", nil, 0o644))
	if d := found(); len(d) != 1 || d[0].Name != "BISECT_LOG" || d[0].Unreadable() {
		t.Errorf("a bisect: %v", d)
	}
	must(t, os.Remove(git+"/BISECT_LOG"))
	for text, unreadable := range map[string]bool{"": true, "\n": true, "main\n": true, "ref: main\n": true,
		"ref: refs/heads/other\n": false, id + "\n": false} {
		must(t, os.WriteFile(git+"/HEAD", []byte(text), 0o644))
		if d := found(); len(d) != 1 || d[0].Unreadable() != unreadable {
			t.Errorf("HEAD %q: %v", text, d)
		}
	}
	must(t, os.Remove(git+"/HEAD"))
	if d := found(); len(d) != 1 || !d[0].Unreadable() {
		t.Errorf("no HEAD: %v", d)
	}
}
