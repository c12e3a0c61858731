// Package worktree brackets an iteration: it records the worktree exactly
// (Checkpoint), says what changed since (Capture), and puts it back byte for
// byte (Restore). It owns the snapshot of the worktree in memory, the local
// checkpoint's tree in the object database (`before/`, `kept/`, `manifest`),
// and the one place that writes the user's index (UpdateIndex).
//
// Promises. Checkpoint, Capture and Restore never write the user's index,
// branches or index.lock. No file is reached through a symbolic link. A file is
// replaced by a temporary file and a rename. What no object holds is never removed
// by a restore: it is stored, or moved aside (Keeper). What is ignored is left alone,
// apart from small files outside ignored folders; so are other repositories,
// sockets, FIFOs and devices. Nothing is trusted that a file's times do not
// prove. What could not be done is reported, all of it.
//
// doc/worktree.md lists what is unusual in a repository and how it is handled.
package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"git-ralph/gitstate/ignore"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// Repo says where the repository is.
type Repo struct {
	Root      string // root of the worktree, absolute
	GitDir    string // of this worktree, absolute
	CommonDir string // shared by all worktrees, absolute
	Git       *proc.Git
	Store     *object.Store
}

// Options are the settings of the engine. The zero value is usable.
type Options struct {
	MaxFile        int64    // bytes; larger new or changed files are named, not stored; 0 = no limit
	CaptureIgnored []string // ignore patterns: ignored paths that belong to the checkpoint all the same
	// Outputs are files that the user's processes write while an iteration runs, such as the loop's
	// standard output, as slash-separated paths. Those that git does not track are not part of a
	// checkpoint and stay as they are.
	Outputs []string
	Workers int // goroutines of a scan; 0 = one a processor, at most 8
	// folder for contents that Restore removes and that are in no object; "" =
	// repositories that the agent made are left and named, the rest is removed
	Aside    string
	Fail     func(step string)
	portable bool // tests: os.Root instead of the system calls of Linux
}

// Engine makes checkpoints of one worktree and restores them. It keeps what it
// learnt in memory, so that the next call is cheaper. Its methods may not be
// called at the same time.
type Engine struct {
	repo     Repo
	opts     Options
	settings settings
	modes    modes
	disk     disk
	conv     converter
	capture  captureRules
	own      []string // git directories inside the worktree under other names
	bufs     bufferPool
	tasks    sync.Pool // *task

	topMu   sync.Mutex
	topText string
	top     *ignore.Rules

	last   *node      // the newest snapshot
	index  *indexView // the index that last's tracked files come from
	looked *node      // while last is nil: a snapshot to find attribute files

	merging []file                 // while base merges: the files of one folder
	bytes   atomic.Pointer[[]byte] // that an index was read into, for the next one
}

// New opens the worktree. It reads git's configuration once.
func New(repo Repo, opts Options) (*Engine, error) {
	if opts.Workers <= 0 {
		opts.Workers = min(runtime.NumCPU(), 8)
	}
	e := &Engine{repo: repo, opts: opts}
	var err error
	if e.settings, err = readSettings(context.Background(), repo.Git); err != nil {
		return nil, err
	}
	open := openDisk
	if opts.portable {
		open = openRootDisk
	}
	if e.disk, err = open(repo.Root); err != nil {
		return nil, fmt.Errorf("open the worktree: %w", err)
	}
	e.modes = defaultModes()
	e.capture = captureRules{rules: (*ignore.Rules)(nil).Push(ignore.Parse(
		[]byte(strings.Join(opts.CaptureIgnored, "\n")), "", e.settings.ignoreCase))}
	for _, d := range []string{repo.GitDir, repo.CommonDir} {
		if rel, err := filepath.Rel(repo.Root, d); err == nil && rel != "." && !strings.HasPrefix(rel, "..") {
			e.own = append(e.own, filepath.ToSlash(rel))
		}
	}
	e.conv = converter{e: e}
	return e, nil
}

// Close releases the worktree's root.
func (e *Engine) Close() error { return e.disk.close() }

func (e *Engine) fail(step string) {
	if e.opts.Fail != nil {
		e.opts.Fail(step)
	}
}

// Failpoints are the steps that Options.Fail is called with, each just before
// the step.
func Failpoints() []string {
	return []string{
		"store blob", "store tree", "store manifest",
		"restore remove", "restore folder", "restore write", "restore rename", "restore mode", "restore done",
		"index write", "index sync",
	}
}

// isOwn reports whether path is the repository's own directory, which may lie in
// the worktree under another name than .git.
func (e *Engine) isOwn(path string) bool {
	for _, o := range e.own {
		if o == path {
			return true
		}
	}
	return false
}

type captureRules struct{ rules *ignore.Rules }

func (c captureRules) match(path string, dir bool) bool {
	return c.rules != nil && c.rules.Match(path, dir) == ignore.Ignored
}

// topRules are the rules that hold above every .gitignore. The result is the
// same pointer as long as the files say the same.
func (e *Engine) topRules() (*ignore.Rules, error) {
	e.topMu.Lock()
	defer e.topMu.Unlock()
	var texts []string
	for _, p := range []string{e.settings.excludesFile, filepath.Join(e.repo.CommonDir, "info", "exclude")} {
		text := ""
		if p != "" {
			if b, err := readRegular(p); err == nil {
				text = string(b)
			}
		}
		texts = append(texts, text)
	}
	all := fmt.Sprintf("%q %q", texts[0], texts[1])
	if e.topText != all {
		e.topText, e.top = all, rulesOf(texts, e.settings.ignoreCase)
	}
	return e.top, nil
}

// readRegular reads a file of settings outside the worktree, which may be
// reached through a link but is a file: nobody waits for a FIFO.
func readRegular(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return os.ReadFile(path)
}

func rulesOf(texts []string, fold bool) *ignore.Rules {
	var r *ignore.Rules
	for _, t := range texts {
		r = r.Push(ignore.Parse([]byte(t), "", fold))
	}
	return r
}
