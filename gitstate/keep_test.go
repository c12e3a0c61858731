package gitstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// TestFailedKeepIsFinished: a process that moved the refs but could not put the index
// in place finds its own intent, although it is alive.
func TestFailedKeepIsFinished(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed on this system")
	}
	ctx := context.Background()
	r, g := watchedRepo(t)
	tip, err := g.ReadRef(ctx, "refs/heads/main")
	must(t, err)
	commit, err := object.ParseID(strings.TrimSpace(r.Git("commit-tree", "-m", "kept", "-p", tip.String(), "HEAD^{tree}")))
	must(t, err)
	index := filepath.Join(r.Dir, ".git/index")
	keep := func(fail func(step string)) error {
		return g.Keep(ctx, Keep{EventID: "event", JournalRef: "refs/ralph/heads/main", BranchRef: "refs/heads/main",
			Parent: tip, Commit: commit, Deadline: 5 * time.Second, Fail: fail,
			Entry: func() (object.ID, object.ID, error) { return object.Zero, commit, nil },
			WriteIndex: func(lock *os.File) error {
				data, err := os.ReadFile(index)
				must(t, err)
				_, err = lock.Write(data)
				return err
			}})
	}
	err = keep(func(step string) {
		if step == "keep:refs-committed" {
			must(t, os.Remove(index+".lock"))
		}
	})
	if err == nil {
		t.Fatal("the index was put in place without its lock")
	}
	in, err := g.ReadIntent()
	must(t, err)
	if in == nil || in.EventID != "event" {
		t.Errorf("its intent: %+v", in)
	}
}

// TestCutShort: a keep of a dead process is found in its own worktree, that of a living one
// is not.
func TestCutShort(t *testing.T) {
	r, main := watchedRepo(t)
	r.Git("worktree", "add", "-q", "--detach", "../linked")
	linked, err := Open(t.Context(), filepath.Join(r.Dir, "../linked"), r.Env)
	must(t, err)
	t.Cleanup(func() { linked.Close() })
	must(t, main.EnsureDir())
	write := func(g *Repo, id proc.Identity) {
		t.Helper()
		data, err := json.Marshal(Intent{Identity: id})
		must(t, err)
		must(t, os.WriteFile(g.intentPath(), data, 0o600))
	}
	look := func(why string, wantMain, wantLinked bool) {
		t.Helper()
		inMain, err1 := main.CutShort()
		inLinked, err2 := linked.CutShort()
		if err := errors.Join(err1, err2); err != nil || inMain != wantMain || inLinked != wantLinked {
			t.Errorf("%s: cut short in the main worktree %v, in the linked one %v, %v", why, inMain, inLinked, err)
		}
	}
	look("no keep", false, false)
	write(linked, proc.Identity{Pid: 1 << 30, BootID: "another", StartTime: 1})
	look("a dead one in the linked worktree", false, true)
	write(main, proc.Self())
	look("a living one in the main worktree", false, true)
	must(t, os.WriteFile(main.intentPath(), []byte("{"), 0o600))
	look("a torn one in the main worktree", true, true)
}

// TestOrphansOfAllWorktrees: an index that a dead process had prepared goes, whichever worktree
// it is of, unless a loop is at work there. That of a living process stays.
func TestOrphansOfAllWorktrees(t *testing.T) {
	r, main := watchedRepo(t)
	must(t, main.EnsureDir())
	open := func(name string) *Repo {
		t.Helper()
		r.Git("worktree", "add", "-q", "--detach", "../"+name)
		w, err := Open(t.Context(), filepath.Join(r.Dir, "../"+name), r.Env)
		must(t, err)
		t.Cleanup(func() { w.Close() })
		return w
	}
	idle, busy := open("idle"), open("busy")
	lock, err := busy.LockWorktree()
	must(t, err)
	defer lock.Release()
	var want []string
	for _, w := range []*Repo{main, idle, busy} {
		for _, pid := range []int{1 << 30, os.Getpid()} {
			path := filepath.Join(w.GitDir, fmt.Sprintf("index.ralph-%d-1", pid))
			must(t, os.WriteFile(path, nil, 0o600))
			if w == busy || pid == os.Getpid() {
				want = append(want, path)
			}
		}
	}
	_, err = main.ReadIntent()
	must(t, err)
	var left []string
	for _, w := range []*Repo{main, idle, busy} {
		paths, err := filepath.Glob(filepath.Join(w.GitDir, "index.ralph-*"))
		must(t, err)
		left = append(left, paths...)
	}
	slices.Sort(want)
	if slices.Sort(left); !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	_, err = idle.ReadIntent()
	must(t, err)
	if lock.Release(); len(orphansIn(busy.GitDir)) != 1 {
		t.Error("the index of the loop at work is gone")
	}
	if _, err = idle.ReadIntent(); err != nil || len(orphansIn(busy.GitDir)) != 0 {
		t.Errorf("an index of a dead process is left: %v", err)
	}
}

// TestKeep: branch and journal move together or not at all. The intent stays only if
// something is left to finish.
func TestKeep(t *testing.T) {
	t.Parallel()
	const branch, journal, evidence = "refs/heads/main", "refs/ralph/heads/main", "refs/ralph/evidence/j/1"
	mine := errors.New("mine")
	for _, c := range []struct {
		why string
		// change alters the keep. move sets the branch to a user's commit.
		change func(k *Keep, git func(...string) string, move func())
		is     error
		noted  bool // the error is a NoteError
		locked bool // the error is an IndexLockedError
		moves  bool
		again  bool // the entry is asked for twice
	}{
		{why: "all move", moves: true},
		{why: "the branch moved before", change: func(_ *Keep, _ func(...string) string, move func()) { move() },
			is: ErrBranchMoved},
		{why: "another branch is checked out", change: func(_ *Keep, git func(...string) string, _ func()) {
			git("symbolic-ref", "HEAD", "refs/heads/other")
		}, is: ErrBranchMoved},
		{why: "the branch moves while the index is written", change: func(k *Keep, _ func(...string) string, move func()) {
			k.WriteIndex = func(*os.File) error { move(); return mine }
		}, is: ErrBranchMoved},
		{why: "the index cannot be written", change: func(k *Keep, _ func(...string) string, _ func()) {
			k.WriteIndex = func(*os.File) error { return mine }
		}, is: mine},
		{why: "others do not take it", change: func(k *Keep, _ func(...string) string, _ func()) {
			k.Publish = func(object.ID) error { return mine }
		}, is: mine},
		{why: "the note cannot be written", change: func(k *Keep, _ func(...string) string, _ func()) {
			k.Note = func() error { return mine }
		}, is: mine, noted: true, moves: true},
		{why: "the journal moved meanwhile", change: func(k *Keep, _ func(...string) string, _ func()) {
			entry, asked := k.Entry, 0
			k.Entry = func() (object.ID, object.ID, error) {
				tip, next, err := entry()
				if asked++; asked == 1 {
					tip = k.Parent // the journal is elsewhere
				}
				return tip, next, err
			}
		}, moves: true, again: true},
		{why: "another program holds the index", change: func(k *Keep, git func(...string) string, _ func()) {
			must(t, os.WriteFile(filepath.Join(git("rev-parse", "--absolute-git-dir"), "index.lock"), nil, 0o644))
			k.Deadline = 0
		}, locked: true},
	} {
		keep := func(t *testing.T, link func(from, to string) error) {
			t.Parallel()
			ctx := context.Background()
			r, g := watchedRepo(t)
			g.link = link
			tip, err := g.ReadRef(ctx, branch)
			must(t, err)
			made := func(text string) object.ID {
				id, err := object.ParseID(r.Git("commit-tree", "-m", text, "-p", tip.String(), "HEAD^{tree}"))
				must(t, err)
				return id
			}
			commit, entry, person := made("kept"), made("entry"), made("of a person")
			asked, wrote := 0, "nothing"
			k := Keep{EventID: "event", JournalRef: journal, BranchRef: branch, Parent: tip, Commit: commit,
				EvidenceRef: evidence, Evidence: tip, Deadline: 5 * time.Second,
				Entry: func() (object.ID, object.ID, error) { asked++; return object.Zero, entry, nil },
				WriteIndex: func(lock *os.File) error {
					data, err := os.ReadFile(filepath.Join(r.Dir, ".git/index"))
					must(t, err)
					_, err = lock.Write(data)
					return err
				},
				Note: func() error { wrote = "the note"; return nil }}
			if c.change != nil {
				c.change(&k, r.Git, func() { r.Git("update-ref", branch, person.String()) })
			}
			err = g.Keep(ctx, k)
			var note *NoteError
			var locked *IndexLockedError
			if c.is != nil && !errors.Is(err, c.is) || errors.As(err, &note) != c.noted ||
				errors.As(err, &locked) != c.locked || (err == nil) != (c.is == nil && !c.locked) {
				t.Errorf("it ended with %v", err)
			}
			want := map[string]object.ID{journal: entry, branch: commit, evidence: tip}
			if !c.moves {
				want[journal], want[branch] = object.Zero, tip
				if now := r.Git("rev-parse", branch); now == person.String() {
					want[branch] = person
				}
			}
			for ref, id := range want {
				if now, err := g.ReadRef(ctx, ref); err != nil || now != id {
					t.Errorf("%s is at %s, not %s: %v", ref, now, id, err)
				}
			}
			if (asked == 2) != c.again || asked == 0 || c.moves != (wrote == "the note" || c.noted) {
				t.Errorf("the entry was asked for %d times, and %s written", asked, wrote)
			}
			if _, err := os.Stat(g.intentPath()); c.moves && err == nil {
				t.Error("the intent of what is finished is left")
			}
			if _, err := os.Stat(filepath.Join(r.Dir, ".git/index.lock")); err == nil && !c.locked {
				t.Error("the index is left locked")
			}
		}
		t.Run(c.why, func(t *testing.T) { keep(t, nil) })
		t.Run(c.why+", without hard links", func(t *testing.T) {
			keep(t, func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM} })
		})
	}
}
