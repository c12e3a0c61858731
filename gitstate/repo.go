// Package gitstate owns the repository: where it lies, its refs and how they
// move, the mechanics of the journal (one commit an entry on
// refs/ralph/heads/<branch>, appended by compare-and-swap), the order of
// writes when an iteration is kept, and the locks and the intent file in
// <git common dir>/ralph/ that make a crash recoverable. Objects are in the
// package object, the worktree in the package worktree.
//
// Refs move only through git's own transaction; go-git's reference storage is
// never written, because it loses acknowledged updates beside git.
package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// Repo is an opened repository with a worktree. Paths are absolute.
type Repo struct {
	Git       *proc.Git
	Store     *object.Store
	Root      string // of the worktree
	GitDir    string // of this worktree
	CommonDir string

	// child waits for the next transaction; questions of agents are recorded
	// while the loop writes.
	child atomic.Pointer[refChild]
	// quiet is the one for refs without a reflog.
	quiet atomic.Pointer[refChild]
	// named is one that was started ahead for its message: see ReadyRefs.
	named atomic.Pointer[refChild]

	identity knownIdentity

	link func(from, to string) error // nil = os.Link; tests take it away
}

// HintError is an error of the loop or a command that a user can repair, with the
// next move. Packages below the loop say a kind instead, as Refusal does.
type HintError struct {
	Err  error
	Hint string
	// Code is the exit code that fits, 0 = 1.
	Code int
}

func (e *HintError) Error() string { return e.Err.Error() }
func (e *HintError) Unwrap() error { return e.Err }

// Hint makes an error with a hint.
func Hint(code int, hint, format string, args ...any) error {
	return &HintError{Err: fmt.Errorf(format, args...), Hint: hint, Code: code}
}

// ErrNoRepository says that the folder is in no repository.
var ErrNoRepository = errors.New("not in a git repository")

// Open finds the repository of dir. Env is the process's environment.
func Open(ctx context.Context, dir string, env []string) (*Repo, error) {
	// A git or other program that an agent put into a PATH folder of the
	// worktree must not be used, not even by git itself.
	clean := proc.OutsideOf(env, worktreeAbove(dir))
	path, err := proc.FindGit(clean)
	if err != nil {
		return nil, refuse(GitMissing, err)
	}
	genv := proc.GitEnv(clean)
	for _, kv := range env {
		// A person may point git at a repository; everything after this call
		// names its directories.
		if strings.HasPrefix(kv, "GIT_DIR=") || strings.HasPrefix(kv, "GIT_WORK_TREE=") ||
			strings.HasPrefix(kv, "GIT_CEILING_DIRECTORIES=") {
			genv = append(genv, kv)
		}
	}
	g := &proc.Git{Path: path, Dir: dir, Env: genv}
	out, err := g.Run(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-dir", "--git-common-dir",
		"--show-object-format", "--show-toplevel")
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if err != nil {
		if strings.Contains(err.Error(), "dubious ownership") {
			return nil, refuse(ForeignOwner, errors.New("the repository belongs to another user"), dir)
		}
		// With safe.bareRepository = explicit git refuses it and names the reason.
		if len(lines) >= 1 && lines[0] == "true" || strings.Contains(err.Error(), "cannot use bare repository") {
			return nil, refuse(BareRepository, errors.New("a bare repository has no worktree for an agent to work in"))
		}
		if len(lines) >= 2 {
			return nil, refuse(OutsideWorktree, errors.New("this is not inside a worktree"))
		}
		if strings.Contains(err.Error(), "not a git repository") {
			return nil, refuse(NoRepository, ErrNoRepository)
		}
		if err := unknownExtension(err); err != nil {
			return nil, err
		}
		return nil, refuse(GitUnusable, fmt.Errorf("open the repository: %w", err), path)
	}
	if len(lines) < 5 {
		return nil, refuse(GitUnusable, fmt.Errorf("open the repository: git said %q", text.Clip(string(out), 100)), path)
	}
	if lines[3] != "sha1" {
		return nil, refuse(ObjectFormat, fmt.Errorf("the repository uses %s object names", lines[3]))
	}
	r := &Repo{Root: filepath.FromSlash(lines[4]), GitDir: filepath.FromSlash(lines[1]),
		CommonDir: filepath.FromSlash(lines[2])}
	if err := r.unspoilt(); err != nil {
		return nil, err
	}
	r.Git = &proc.Git{Path: path, GitDir: r.GitDir, WorkTree: r.Root, Writers: r.writersDir(),
		Env: proc.GitEnv(proc.OutsideOf(env, r.Root)), Known: proc.NewKnownConfig(r.CommonDir)}
	if st, err := os.Stat(filepath.Join(r.CommonDir, "reftable")); err == nil && st.IsDir() {
		return nil, errReftable
	}
	shared := ""
	if cfg, err := os.ReadFile(filepath.Join(r.CommonDir, "config")); err == nil &&
		strings.Contains(strings.ToLower(string(cfg)), "sharedrepository") {
		shared, _ = r.Git.Line(ctx, "config", "core.sharedRepository")
	}
	r.Store = object.Open(r.Git, r.CommonDir, shared)
	r.Git.PutBack = r.Store.PutBack
	return r, nil
}

// errReftable refuses reftable repositories: git ralph reads HEAD and refs as
// files and would find none there.
var errReftable = refuse(RefFormat,
	errors.New("the repository keeps its refs in tables (reftable), and git ralph reads files"))

// unknownExtension returns the refusal for a repository that needs a newer git;
// nil for other errors.
func unknownExtension(err error) error {
	var ge *proc.GitError
	if !errors.As(err, &ge) {
		return nil
	}
	_, names, ok := strings.Cut(ge.Stderr, "unknown repository extension")
	if !ok {
		return nil
	}
	_, names, _ = strings.Cut(names, ":")
	names = strings.Join(strings.Fields(names), " ")
	if strings.Contains(strings.ToLower(names), "refstorage") {
		return errReftable
	}
	return refuse(UnknownExtension, fmt.Errorf("this git does not know an extension of the repository: %s", names))
}

// worktreeAbove guesses the worktree that dir lies in, before git can be asked.
func worktreeAbove(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// ReleaseObjects drops the protection of new objects from gc once refs lead to
// them and no gc runs.
func (r *Repo) ReleaseObjects() error { return r.Store.Release(r.workPlaces()...) }

// Close ends helper processes.
func (r *Repo) Close() error {
	err := errors.Join(r.ReleaseObjects(), r.Store.Close())
	for _, waits := range []*atomic.Pointer[refChild]{&r.child, &r.quiet} {
		if c := waits.Swap(nil); c != nil {
			err = errors.Join(err, c.close())
		}
	}
	return err
}

// Dir is <git common dir>/ralph, for locks, intents and caches.
func (r *Repo) Dir() string { return filepath.Join(r.CommonDir, "ralph") }

// EnsureDir makes Dir.
func (r *Repo) EnsureDir() error {
	if err := os.MkdirAll(r.Dir(), 0o700); err != nil {
		return fmt.Errorf("make the folder of git ralph in the git directory: %w", err)
	}
	return nil
}

// MinVersion is the oldest git that works.
var MinVersion = [2]int{2, 38}

// GitVersion asks git for its version: the text, and whether it is new enough.
func (r *Repo) GitVersion(ctx context.Context) (string, bool, error) {
	out, err := r.Git.Line(ctx, "version")
	if err != nil {
		return "", false, err
	}
	v := strings.TrimPrefix(out, "git version ")
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 {
		return v, false, nil
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(strings.TrimFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' }))
	ok := err1 == nil && err2 == nil && (major > MinVersion[0] || major == MinVersion[0] && minor >= MinVersion[1])
	return v, ok, nil
}

// Head says which branch is checked out: its short name and its commit (Zero
// while unborn).
func (r *Repo) Head(ctx context.Context) (branch string, tip object.ID, err error) {
	data, err := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	if err != nil {
		return "", object.Zero, fmt.Errorf("read HEAD: %w", err)
	}
	target, _ := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: ")
	if !strings.HasPrefix(string(data), "ref: ") {
		target = ""
	}
	branch, ok := strings.CutPrefix(target, "refs/heads/")
	if !ok {
		return "", object.Zero, r.detached()
	}
	tip, err = r.ReadRef(ctx, target)
	return branch, tip, err
}

// detached says why HEAD names no branch.
func (r *Repo) detached() error {
	for _, o := range []struct {
		file, name string
		kind       Kind
	}{
		{"rebase-merge", "rebase", RebaseInProgress},
		{"rebase-apply", "rebase", RebaseInProgress},
		{"BISECT_LOG", "bisect", BisectInProgress},
	} {
		if _, err := os.Stat(filepath.Join(r.GitDir, o.file)); err == nil {
			return refuse(o.kind, fmt.Errorf("a %s is in progress, and HEAD is detached meanwhile", o.name))
		}
	}
	return refuse(DetachedHead, errors.New("HEAD is detached, and a journal belongs to a branch"))
}

// HeadCommit is the commit of HEAD, also when it is detached; Zero when unborn.
func (r *Repo) HeadCommit(ctx context.Context) (object.ID, error) {
	line, err := r.Git.Line(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil {
		if proc.ExitCode(err) == 1 {
			return object.Zero, nil
		}
		return object.Zero, err
	}
	return object.ParseID(line)
}

// TreeOf is the tree of a commit; the empty tree for Zero.
func (r *Repo) TreeOf(commit object.ID) (object.ID, error) {
	if commit.IsZero() {
		return object.EmptyTree, nil
	}
	c, err := r.Store.ReadCommit(commit)
	if err != nil {
		return object.Zero, err
	}
	return c.Tree, nil
}

// IsAncestor says whether a is b or an ancestor of b.
func (r *Repo) IsAncestor(ctx context.Context, a, b object.ID) (bool, error) {
	if a == b {
		return true, nil
	}
	_, err := r.Git.Run(ctx, "merge-base", "--is-ancestor", a.String(), b.String())
	if err == nil {
		return true, nil
	}
	if proc.ExitCode(err) == 1 {
		return false, nil
	}
	return false, err
}

// WriteFile writes one of our files by temporary file and rename, flushed.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	tmp := f.Name()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}
