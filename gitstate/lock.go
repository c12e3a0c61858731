package gitstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"git-ralph/internal/proc"
)

// Holder says which process holds a lock.
type Holder struct {
	proc.Identity
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	// Brief says that a command repairs what a crash left, and runs no loop: who
	// finds the lock held by it waits.
	Brief bool `json:"brief,omitempty"`
}

// Alive says whether that process still runs on this machine.
func (h Holder) Alive() bool {
	host, _ := os.Hostname()
	return h.Pid > 0 && h.Host == host && h.Identity.Alive()
}

// HeldError says that another loop has the branch or the worktree.
type HeldError struct {
	What   string
	Holder Holder
	// Worktree reports whether it is the worktree: another one may still have a loop.
	Worktree bool
}

func (e *HeldError) Error() string {
	if e.Holder.Brief {
		return fmt.Sprintf("process %d on %s has been repairing %s since %s", e.Holder.Pid, e.Holder.Host, e.What,
			e.Holder.Since.Local().Format("15:04:05"))
	}
	return fmt.Sprintf("another loop holds %s: process %d on %s since %s", e.What, e.Holder.Pid, e.Holder.Host,
		e.Holder.Since.Local().Format("15:04:05"))
}

// Lock is held until Release or the end of the process, whatever ends it: the
// kernel gives it back.
type Lock struct{ f *os.File }

func (r *Repo) lockFile(kind, name string) string {
	return filepath.Join(r.Dir(), "lock-"+kind+"-"+FileName(name))
}

// WorktreeName is the name of this worktree: "main" or the folder of a linked one.
func (r *Repo) WorktreeName() string { return r.worktreeOf(r.GitDir) }

// worktreeOf is the name of the worktree with a git directory.
func (r *Repo) worktreeOf(gitDir string) string {
	if gitDir == r.CommonDir {
		return "main"
	}
	return filepath.Base(gitDir)
}

const thisWorktree = "this worktree"

// LockBranch takes the branch for one loop.
func (r *Repo) LockBranch(branch string) (*Lock, error) {
	return r.lock("the branch "+branch, r.lockFile("branch", branch), forLoop)
}

// LockWorktree takes this worktree for one loop.
func (r *Repo) LockWorktree() (*Lock, error) {
	return r.lock(thisWorktree, r.lockFile("worktree", r.WorktreeName()), forLoop)
}

// LockBriefly takes branch and worktree for a recovery. What this process
// holds already counts as taken.
func (r *Repo) LockBriefly(branch string) (release func(), err error) {
	b, err := r.lock("the branch "+branch, r.lockFile("branch", branch), forRecovery)
	if err != nil {
		return nil, err
	}
	w, err := r.lock(thisWorktree, r.lockFile("worktree", r.WorktreeName()), forRecovery)
	if err != nil {
		b.Release()
		return nil, err
	}
	return func() { w.Release(); b.Release() }, nil
}

// briefWait bounds how long one waits for a recovery of another process.
const briefWait = 30 * time.Second

// lockTerm is how long a lock is held: a recovery waits for another one, a loop does not wait for a loop.
type lockTerm bool

const (
	forRecovery lockTerm = true
	forLoop     lockTerm = false
)

func (r *Repo) lock(what, path string, brief lockTerm) (*Lock, error) {
	if err := r.EnsureDir(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	// A child of a killed loop that had not yet become another program holds
	// the lock for a moment longer than its parent.
	began := time.Now()
	for err = flock(f); errors.Is(err, errLocked); err = flock(f) {
		h, ok := readHolder(f)
		alive := ok && h.Alive()
		if alive && brief == forRecovery && h.Identity == proc.Self() {
			f.Close()
			return &Lock{}, nil // held by the recovering command itself
		}
		wait := 3 * time.Second
		if alive && h.Brief {
			wait = briefWait
		}
		if alive && !h.Brief || time.Since(began) > wait {
			f.Close()
			return nil, &HeldError{What: what, Holder: h, Worktree: what == thisWorktree}
		}
		time.Sleep(Jitter())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	host, _ := os.Hostname()
	data, err := json.Marshal(Holder{Identity: proc.Self(), Host: host, Since: time.Now().UTC().Truncate(time.Second),
		Brief: bool(brief)})
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt(data, 0)
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	return &Lock{f}, nil
}

// Release gives the lock back. The file stays: removing it would let two
// processes lock two files of one name.
func (l *Lock) Release() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := errors.Join(l.f.Truncate(0), l.f.Close())
	l.f = nil
	return err
}

func readHolder(f io.ReaderAt) (Holder, bool) {
	buf := make([]byte, 4096)
	n, _ := f.ReadAt(buf, 0)
	var h Holder
	if json.Unmarshal(buf[:n], &h) != nil || h.Pid == 0 {
		return h, false
	}
	return h, true
}

// BranchHolder says which living process holds the branch for a loop.
func (r *Repo) BranchHolder(branch string) (Holder, bool) {
	f, err := os.Open(r.lockFile("branch", branch))
	if err != nil {
		return Holder{}, false
	}
	defer f.Close()
	h, ok := readHolder(f)
	return h, ok && !h.Brief && h.Alive()
}
