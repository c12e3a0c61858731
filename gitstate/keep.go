package gitstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// ErrBranchMoved says that a commit of somebody else came onto the branch.
var ErrBranchMoved = errors.New("the branch has moved")

// IndexLockedError says that the index stayed locked until the deadline.
type IndexLockedError struct{ Path string }

func (e *IndexLockedError) Error() string { return "another git command holds " + e.Path }

// Intent is what a crash during a keep leaves behind: which of our lock files
// are stale once the process is dead, and which keep to finish. It is only a
// hint for recovery; the journal decides.
type Intent struct {
	proc.Identity
	EventID string        `json:"event_id"`
	Journal string        `json:"journal"` // ref
	Branch  string        `json:"branch"`  // ref
	Parent  string        `json:"parent"`
	Commit  string        `json:"commit"`
	Locks   []OwnLockFile `json:"locks"`
	// Iteration is the one that is kept; 0 = it is the keep of none.
	Iteration int `json:"iteration,omitempty"`
}

// OwnLockFile is a lock file that we made, told apart by its inode from one
// of the same name that somebody else made later.
type OwnLockFile struct {
	Path  string `json:"path"`
	Inode uint64 `json:"inode"`
}

func (r *Repo) intentPath() string {
	if name := r.WorktreeName(); name != "main" {
		return filepath.Join(r.Dir(), "intent."+FileName(name))
	}
	return filepath.Join(r.Dir(), "intent")
}

// KeepSteps are the names of the places where a keep can be stopped.
var KeepSteps = []string{"keep:objects", "keep:evidence", "keep:intent", "keep:index-lock", "keep:index-written",
	"keep:refs-prepared", "keep:published",
	"keep:refs-committed", "keep:index-renamed", "keep:note", "keep:intent-removed"}

// Keep is one recoverable step from an accepted attempt to a commit. The
// order of its writes is the contract; the journal's move is the commit point.
type Keep struct {
	EventID     string
	Iteration   int // whose work it is, 0 = none's: a revert, or what is brought over
	JournalRef  string
	BranchRef   string
	Parent      object.ID // the branch's tip as the start event recorded it
	Commit      object.ID
	EvidenceRef string // "" = there is none: a revert needs no worktree to be made again
	Evidence    object.ID
	Message     string // for the reflogs
	Deadline    time.Duration

	// Entry makes the journal's next entry on its present tip and returns both. It runs
	// beside WriteIndex, and again when the journal moved; everything it wrote is synced.
	Entry func() (tip, entry object.ID, err error)
	// WriteIndex writes the new index into the open lock file and flushes it. nil = no
	// worktree is moved (the branch is not checked out here).
	WriteIndex func(lock *os.File) error
	// Publish pushes branch and entry while the local refs are locked. On its error
	// neither moves here. nil = there is no remote.
	Publish func(entry object.ID) error
	// Note writes the note; its failure is reported and not fatal.
	Note func() error
	// Fail is told where the keep stands; tests end the process there.
	Fail func(step string)
}

// Keep carries k out. ErrBranchMoved and IndexLockedError mean that neither
// the branch nor the journal has moved.
func (r *Repo) Keep(ctx context.Context, k Keep) error {
	step := func(name string) {
		if k.Fail != nil {
			k.Fail(name)
		}
	}
	if err := r.Store.Sync(); err != nil {
		return fmt.Errorf("write the kept work: %w", err)
	}
	step("keep:objects")
	if k.EvidenceRef != "" {
		if _, err := r.Anchor(k.EvidenceRef, k.Evidence); err != nil {
			return fmt.Errorf("anchor the evidence: %w", err)
		}
	}
	step("keep:evidence")

	draft := sync.OnceValue(func() (e drafted) {
		e.tip, e.entry, e.err = k.Entry()
		return e
	})
	go draft()
	defer draft() // it is waited for: what it writes is the caller's again
	lock, err := r.lockIndex(ctx, &k, step)
	if err != nil {
		return err
	}
	defer lock.release()
	if k.WriteIndex != nil {
		if err := k.WriteIndex(lock.f); err != nil {
			// After a user's commit meanwhile the index does not fit either.
			if now, rerr := r.ReadRef(ctx, k.BranchRef); rerr == nil && now != k.Parent {
				os.Remove(r.intentPath())
				return fmt.Errorf("%w: %s is at %s", ErrBranchMoved, k.BranchRef, now)
			}
			return fmt.Errorf("write the index: %w", err)
		}
	}
	step("keep:index-written")
	if err := r.commitKeep(ctx, &k, draft, step); err != nil {
		return err
	}
	step("keep:refs-committed")
	if err := lock.rename(); err != nil {
		return fmt.Errorf("put the index in place: %w", err)
	}
	step("keep:index-renamed")
	var noteErr error
	if k.Note != nil {
		noteErr = k.Note()
	}
	step("keep:note")
	if err := os.Remove(r.intentPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the intent: %w", err)
	}
	step("keep:intent-removed")
	if noteErr != nil {
		return &NoteError{noteErr}
	}
	return nil
}

// NoteError says that all but the note was written.
type NoteError struct{ Err error }

func (e *NoteError) Error() string { return "write the note: " + e.Err.Error() }
func (e *NoteError) Unwrap() error { return e.Err }

// drafted is an entry that the journal may move to, if it is still where the entry begins.
type drafted struct {
	tip, entry object.ID
	err        error
}

// commitKeep moves journal and branch. It tries again as long as only the
// journal has moved meanwhile.
func (r *Repo) commitKeep(ctx context.Context, k *Keep, draft func() drafted, step func(string)) error {
	deadline := time.Now().Add(k.Deadline)
	defer r.Queue(strings.TrimPrefix(k.JournalRef, headsPrefix), k.Deadline/3)()
	e := draft()
	if now, err := r.ReadRef(ctx, k.JournalRef); e.err == nil && err == nil && now != e.tip {
		e.tip, e.entry, e.err = k.Entry() // somebody wrote to it before it was our turn
	}
	for ; ; e.tip, e.entry, e.err = k.Entry() {
		if e.err != nil {
			return e.err
		}
		branch, _, err := r.Head(ctx)
		if k.WriteIndex != nil && (err != nil || BranchRef(branch) != k.BranchRef) {
			return fmt.Errorf("%w: HEAD is elsewhere", ErrBranchMoved)
		}
		if now, err := r.ReadRef(ctx, k.BranchRef); err != nil {
			return err
		} else if now != k.Parent {
			return fmt.Errorf("%w: %s is at %s", ErrBranchMoved, k.BranchRef, now)
		}
		tx, err := r.PrepareRefs(k.Message,
			RefUpdate{k.JournalRef, e.tip, e.entry}, RefUpdate{k.BranchRef, k.Parent, k.Commit})
		if err == nil {
			step("keep:refs-prepared")
			if k.Publish != nil {
				if perr := k.Publish(e.entry); perr != nil {
					return errors.Join(perr, tx.Abort(), r.ClearIntent())
				}
				step("keep:published")
			}
			if err = tx.Commit(); err == nil {
				return nil
			}
		}
		if !errors.Is(err, ErrRefMoved) && !errors.Is(err, ErrRefLocked) || time.Now().After(deadline) {
			return fmt.Errorf("keep the work: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(Jitter()):
		}
	}
}

// indexLock is index.lock, taken by linking a file whose inode the intent
// already names.
type indexLock struct {
	f     *os.File
	tmp   string // our name of the file
	path  string // index.lock; "" when no index is moved
	index string
	note  *proc.Writer
	done  bool
}

func (r *Repo) lockIndex(ctx context.Context, k *Keep, step func(string)) (*indexLock, error) {
	if err := r.EnsureDir(); err != nil {
		return nil, err
	}
	l := &indexLock{index: filepath.Join(r.GitDir, "index")}
	intent := Intent{Identity: proc.Self(), EventID: k.EventID, Journal: k.JournalRef, Branch: k.BranchRef,
		Parent: k.Parent.String(), Commit: k.Commit.String(), Iteration: k.Iteration}
	if k.WriteIndex == nil {
		err := r.writeIntent(intent)
		step("keep:intent")
		return l, err
	}
	l.path = l.index + ".lock"
	f, err := os.CreateTemp(r.GitDir, fmt.Sprintf("index.ralph-%d-*", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("lock the index: %w", err)
	}
	l.f, l.tmp = f, f.Name()
	fail := func(err error) (*indexLock, error) {
		l.release()
		return nil, err
	}
	mode := fs.FileMode(0o644)
	if st, err := os.Stat(l.index); err == nil {
		mode = st.Mode().Perm()
	}
	st, err := f.Stat()
	if err = errors.Join(err, f.Chmod(mode)); err != nil {
		return fail(fmt.Errorf("lock the index: %w", err))
	}
	intent.Locks = []OwnLockFile{{l.path, inode(st)}, {l.tmp, inode(st)}}
	if l.note, err = r.noteIndex(); err != nil {
		return fail(fmt.Errorf("lock the index: %w", err))
	}
	l.note.Locks = map[string]uint64{l.path: inode(st)}
	if err := l.note.Save(); err != nil {
		return fail(fmt.Errorf("lock the index: %w", err))
	}
	if err := r.writeIntent(intent); err != nil {
		return fail(err)
	}
	step("keep:intent")
	deadline := time.Now().Add(k.Deadline)
	for {
		err := r.takeIndexLock(l, intent, mode)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return fail(fmt.Errorf("lock the index: %w", err))
		}
		if gone, _, _ := r.SweepLocks(); len(gone) > 0 {
			continue
		}
		if time.Now().After(deadline) {
			os.Remove(r.intentPath())
			return fail(&IndexLockedError{l.path})
		}
		select {
		case <-ctx.Done():
			os.Remove(r.intentPath())
			return fail(ctx.Err())
		case <-time.After(Jitter()):
		}
	}
	step("keep:index-lock")
	return l, nil
}

// takeIndexLock gives the prepared file the name index.lock. Without hard links, as on FAT
// and on some network file systems, the lock is made as git makes it, and noted after it.
func (r *Repo) takeIndexLock(l *indexLock, intent Intent, mode fs.FileMode) error {
	link := os.Link
	if r.link != nil {
		link = r.link
	}
	err := link(l.tmp, l.path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, ferr := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(ferr, fs.ErrExist) {
		return ferr
	}
	if ferr != nil {
		return err
	}
	l.f.Close()
	os.Remove(l.tmp)
	l.f = f
	st, err := f.Stat()
	if err != nil {
		return err
	}
	intent.Locks, l.note.Locks = []OwnLockFile{{l.path, inode(st)}}, map[string]uint64{l.path: inode(st)}
	return errors.Join(l.note.Save(), r.writeIntent(intent))
}

func (l *indexLock) rename() error {
	l.done = true
	if l.path == "" {
		return nil
	}
	err := errors.Join(os.Rename(l.path, l.index), l.f.Close())
	os.Remove(l.tmp)
	l.note.Done()
	return err
}

// release gives the lock back when the keep did not come to its end.
func (l *indexLock) release() {
	if l.done || l.f == nil {
		return
	}
	l.done = true
	st, err := l.f.Stat()
	l.f.Close()
	if now, serr := os.Stat(l.path); err == nil && serr == nil && os.SameFile(st, now) {
		os.Remove(l.path)
	}
	os.Remove(l.tmp)
	l.note.Done()
}

func (r *Repo) writeIntent(in Intent) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return WriteFile(r.intentPath(), data, 0o600)
}

// ReadIntent returns the intent of a process that is dead, or of a keep of this
// process that has failed; nil when there is none. Its stale lock files are removed.
// The caller holds the lock under which keeps are made.
func (r *Repo) ReadIntent() (*Intent, error) {
	if err := r.sweepAfterCrash(); err != nil {
		return nil, err
	}
	r.dropOrphans()
	in, err := r.intent()
	if in == nil || err != nil {
		return nil, err
	}
	if in.Pid == 0 {
		return nil, r.ClearIntent()
	}
	if in.Alive() && in.Identity != proc.Self() {
		return nil, nil
	}
	for _, l := range in.Locks {
		st, err := os.Lstat(l.Path)
		if err == nil && st.Mode().IsRegular() && inode(st) == l.Inode {
			if err := os.Remove(l.Path); err != nil {
				return nil, fmt.Errorf("remove the stale lock %q: %w", l.Path, err)
			}
		}
	}
	return in, nil
}

// intent reads this worktree's intent; nil when there is none. That of a torn file has no
// process: the machine died while it was written, and nothing after it had begun.
func (r *Repo) intent() (*Intent, error) {
	data, err := os.ReadFile(r.intentPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the intent: %w", err)
	}
	var in Intent
	if json.Unmarshal(data, &in) != nil {
		in = Intent{}
	}
	return &in, nil
}

// CutShort says whether a keep of a dead process waits in this worktree to be finished.
func (r *Repo) CutShort() (bool, error) {
	in, err := r.intent()
	return in != nil && (in.Pid == 0 || !in.Alive()), err
}

// dropOrphans removes prepared index files whose process died before its intent named
// them: here, and in the other worktrees unless a loop is at work there.
func (r *Repo) dropOrphans() {
	for _, path := range orphansIn(r.GitDir) {
		os.Remove(path)
	}
	others, _ := r.linkedDirs()
	for _, dir := range append(others, r.CommonDir) {
		if dir == r.GitDir || len(orphansIn(dir)) == 0 {
			continue
		}
		f, err := os.OpenFile(r.lockFile("worktree", r.worktreeOf(dir)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			continue
		}
		if flock(f) == nil {
			for _, path := range orphansIn(dir) {
				os.Remove(path)
			}
		}
		f.Close()
	}
}

// orphansIn are the prepared index files of dead processes in a git directory.
func orphansIn(dir string) (paths []string) {
	list, _ := os.ReadDir(dir)
	for _, d := range list {
		rest, is := strings.CutPrefix(d.Name(), "index.ralph-")
		pid, _, _ := strings.Cut(rest, "-")
		if n, err := strconv.Atoi(pid); is && err == nil && !proc.Alive(n, 0, "") {
			paths = append(paths, filepath.Join(dir, d.Name()))
		}
	}
	return paths
}

// ClearIntent forgets the intent after its keep was finished or undone.
func (r *Repo) ClearIntent() error {
	if err := os.Remove(r.intentPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the intent: %w", err)
	}
	return nil
}

// MoveRef sets one of our refs that only we write, whatever it was.
func (r *Repo) MoveRef(name string, to object.ID) error {
	for range 20 {
		old, err := r.ReadRef(context.Background(), name)
		if err != nil {
			return err
		}
		if old == to {
			return nil
		}
		err = r.UpdateRefs("", RefUpdate{name, old, to})
		if err == nil || !errors.Is(err, ErrRefMoved) && !errors.Is(err, ErrRefLocked) {
			return err
		}
		time.Sleep(Jitter())
	}
	return fmt.Errorf("move %s: %w", name, ErrRefLocked)
}
