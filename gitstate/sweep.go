package gitstate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// LeftLock is a lock file that was not removed, and why.
type LeftLock struct{ Path, Why string }

// Busy reports whether a git process of somebody else is at work, so that there may be locks.
func (l LeftLock) Busy() bool { return l.Why == whyGit }

// writersDir is where everything that may hold a lock leaves a note.
func (r *Repo) writersDir() string { return filepath.Join(r.Dir(), "writers") }

// lockAge is how old a lock has to be before its age says anything: git holds
// one for milliseconds.
const lockAge = time.Second

// SweepLocks removes git's lock files of dead processes and returns those that it leaves.
// A lock is removed if
//   - one of our dead processes noted its inode or its contents;
//   - or a git process that we started was killed while the lock was made, or the lock is older
//     than this boot of the machine; and no git runs in the repository, nor another program
//     that may hold it.
//
// Every other lock stays, because its owner may live. Where processes cannot be
// examined, only the first reason counts.
func (r *Repo) SweepLocks() (gone []string, left []LeftLock, err error) {
	s := sweeper{repo: r, notes: proc.ReadWriters(r.writersDir())}
	for _, path := range r.lockFiles() {
		why, err := s.remove(path)
		switch {
		case err != nil:
			return gone, left, fmt.Errorf("remove the stale lock %q: %w", path, err)
		case why == "":
			gone = append(gone, path)
		case why != whyGone:
			left = append(left, LeftLock{path, why})
		}
	}
	if len(left) == 0 {
		for path, w := range s.notes {
			if w.Dead() {
				os.Remove(path)
			}
		}
	}
	return gone, left, nil
}

// Locks says for every lock file why it would stay; "" = it is stale.
func (r *Repo) Locks() []LeftLock {
	s := sweeper{repo: r, notes: proc.ReadWriters(r.writersDir())}
	var out []LeftLock
	for _, path := range r.lockFiles() {
		if st, err := os.Lstat(path); err == nil {
			out = append(out, LeftLock{path, s.judge(path, st)})
		}
	}
	return out
}

// sweepAfterCrash is SweepLocks where something says that there may be a lock
// to remove: the note of a dead writer, or a boot since the last look.
func (r *Repo) sweepAfterCrash() error {
	if err := r.Store.Heal(); err != nil {
		return err
	}
	boot := filepath.Join(r.Dir(), "boot")
	now := proc.Self().BootID
	then, _ := os.ReadFile(boot)
	dead := now != "" && strings.TrimSpace(string(then)) != now
	notes := proc.ReadWriters(r.writersDir())
	for _, w := range notes {
		dead = dead || w.Dead()
	}
	if !dead {
		return nil
	}
	r.dropHalfMade(notes)
	// Wait for locks that are too young to be judged: only a very recent crash
	// leaves them.
	for range 10 {
		_, left, err := r.SweepLocks()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(left, func(l LeftLock) bool { return l.Why == whyYoung }) {
			break
		}
		time.Sleep(lockAge / 8)
	}
	if now == "" || strings.TrimSpace(string(then)) == now {
		return nil
	}
	if err := r.EnsureDir(); err != nil {
		return err
	}
	return os.WriteFile(boot, []byte(now+"\n"), 0o600)
}

// CheckoutPrefix begins the names of the folders that hold a fresh checkout.
const CheckoutPrefix = "co-"

// dropHalfMade removes the entries of our linked worktrees and fresh checkouts whose git was
// killed before it gave them a commit: for git fsck such a HEAD is a fault.
func (r *Repo) dropHalfMade(notes map[string]proc.Writer) {
	for _, w := range notes {
		if w.What == "git worktree" && !w.Dead() {
			return // it may be at work on one
		}
	}
	dirs, _ := linkedDirs(r.CommonDir)
	for _, dir := range dirs {
		says := func(name string) string {
			data, _ := readPlain(filepath.Join(dir, name), 4096)
			return strings.TrimSpace(string(data))
		}
		folder := filepath.Base(filepath.Dir(filepath.Dir(says("gitdir"))))
		ours := proc.DeadOwner(folder, CheckoutPrefix) || strings.HasPrefix(says("locked"), linkedReason)
		st, err := os.Lstat(filepath.Join(dir, "HEAD")) // which may be a link
		none := errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().IsRegular() && st.Size() == 0
		if ours && (none || says("HEAD") == object.Zero.String()) {
			os.RemoveAll(dir)
		}
	}
}

// lockFiles lists the lock files of the repository and its linked worktrees.
func (r *Repo) lockFiles() []string {
	linked, _ := linkedDirs(r.CommonDir)
	var out []string
	for _, dir := range append([]string{r.CommonDir}, linked...) {
		for _, path := range locksOf(dir) {
			if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
				out = append(out, path)
			}
		}
		for _, below := range []string{"refs", "logs"} {
			filepath.WalkDir(filepath.Join(dir, below), func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".lock") {
					out = append(out, path)
				}
				return nil
			})
		}
	}
	return out
}

// The files that git changes under a lock, beside its references, which have names of
// capital letters in the folder itself (ORIG_HEAD, MERGE_HEAD, MERGE_RR).
var (
	lockedHere  = []string{"index", "config", "config.worktree", "packed-refs", "shallow", "gc.pid"}
	lockedBelow = []string{"info/sparse-checkout", "objects/maintenance", "objects/info/commit-graph",
		"objects/info/commit-graphs/commit-graph-chain", "objects/pack/multi-pack-index"}
)

// locksOf lists the lock files of git in a git directory, whatever kind of file they are, but
// for those in its folders of references. A lock with another name is another program's.
func locksOf(dir string) []string {
	var out []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		of, is := strings.CutSuffix(e.Name(), ".lock")
		if is && (slices.Contains(lockedHere, of) || isRootRef(of)) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	for _, of := range lockedBelow {
		path := filepath.Join(dir, filepath.FromSlash(of)+".lock")
		if _, err := os.Lstat(path); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// isRootRef says whether git takes a name for that of a reference beside HEAD, see gitglossary(7).
func isRootRef(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == ""
}

// gitRunning says whether a git works here; known = false where nobody can tell.
type gitRunning struct{ yes, known bool }

// sweeper decides about locks.
type sweeper struct {
	repo    *Repo
	notes   map[string]proc.Writer
	running *gitRunning // nil = nobody has looked
}

const (
	whyGone  = "gone"
	whyYoung = "it was made just now"
	whyGit   = "a git process is running in the repository"
)

// remove removes a lock, or says why it stays.
func (s *sweeper) remove(path string) (why string, err error) {
	st, err := os.Lstat(path)
	if err != nil {
		return whyGone, nil
	}
	if why := s.judge(path, st); why != "" {
		return why, nil
	}
	// Since the check only another sweeper can have removed it.
	if now, err := os.Lstat(path); err != nil || !os.SameFile(st, now) {
		return whyGone, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return "", nil
}

// judge is "" when nobody alive can hold the lock.
func (s *sweeper) judge(path string, st os.FileInfo) string {
	while := false
	for _, w := range s.notes {
		if !w.Dead() {
			if ino, ok := w.Locks[path]; ok && ino == inode(st) {
				return fmt.Sprintf("process %d holds it", w.Owner.Pid)
			}
			continue
		}
		if ino, ok := w.Locks[path]; ok && ino == inode(st) {
			return ""
		}
		if want, ok := w.Refs[path]; ok && holds(path, want) {
			return ""
		}
		while = while || !st.ModTime().Before(w.Since.Add(-20*time.Millisecond))
	}
	if booted := bootTime(); !while && (booted.IsZero() || !st.ModTime().Before(booted)) {
		if s.git().yes {
			return whyGit
		}
		return "nothing says whose it is"
	}
	if time.Since(st.ModTime()) < lockAge {
		return whyYoung
	}
	if git := s.git(); git.yes {
		return whyGit
	} else if !git.known {
		return "processes cannot be looked at here"
	}
	if who := proc.LockHolder(path, st, s.repo.workPlaces()...); who != "" {
		return who + " may hold it"
	}
	return ""
}

// holds says whether a lock file of a ref holds the value, which only one
// transaction ever writes: an entry's id is made of its time and chance.
func holds(path, value string) bool {
	data, err := readPlain(path, 64)
	return err == nil && value != "" && string(bytes.TrimSpace(data)) == value
}

func (s *sweeper) git() gitRunning {
	if s.running == nil {
		idle := map[int]bool{}
		for _, w := range s.notes {
			if w.Idle {
				idle[w.Child.Pid] = true
			}
		}
		running, known := proc.GitRunning(func(pid int, _ string) bool { return idle[pid] }, s.repo.workPlaces()...)
		s.running = &gitRunning{running, known}
	}
	return *s.running
}
