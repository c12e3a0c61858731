package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Git runs the user's git binary carefully: by absolute path, with explicit
// directories, without hooks, fsmonitor, optional locks or replace refs, and
// with an environment in which nothing redirects it. A Git value is read-only
// after it is made and may be used from several goroutines.
type Git struct {
	Path     string   // absolute path of the binary
	GitDir   string   // --git-dir; "" lets git discover (only used while opening)
	WorkTree string   // --work-tree; "" = none
	Dir      string   // working directory; "" = WorkTree, else GitDir
	Env      []string // complete, from GitEnv
	Index    string   // a private GIT_INDEX_FILE; "" = the user's index (read only by convention)
	// Writers is a folder in which every git that may hold a lock leaves a note
	// as long as it runs; "" = none.
	Writers string
	// Known remembers git's configuration; nil = it is read at every use.
	Known *KnownConfig
	// Patience bounds how long a git may say nothing; 0 = as fits its command.
	Patience time.Duration
	// Grace is what a git is given to end by itself; 0 = two seconds.
	Grace time.Duration
	// PutBack puts back objects that a prune has removed, and says whether there may be
	// any. A command that failed and that takes no lock is run again then; nil = it is not.
	PutBack func() bool
}

// GitError is a git command that ended with another code than zero.
type GitError struct {
	Args   []string
	Code   int
	Stderr string
}

func (e *GitError) Error() string {
	msg := strings.TrimSpace(e.Stderr)
	if i := strings.IndexByte(msg, '\n'); i >= 0 {
		msg = msg[:i]
	}
	if msg == "" {
		msg = "exit status " + strconv.Itoa(e.Code)
	}
	return fmt.Sprintf("git %s: %s", strings.Join(e.Args, " "), strings.TrimPrefix(msg, "fatal: "))
}

// ExitCode is the exit code of a git command that failed, -1 for other errors.
func ExitCode(err error) int {
	var ge *GitError
	if errors.As(err, &ge) {
		return ge.Code
	}
	return -1
}

// pinned settings come before the subcommand of every call. They make sure
// that nothing in the repository's configuration runs a program of its choice,
// and that what git writes outlives a power cut.
var pinned = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "safe.bareRepository=explicit",
	"-c", "advice.detachedHead=false",
	// What git reports as written must be on the disk: a branch is unreadable
	// when a power cut empties the object that it names.
	"-c", "core.fsync=all",
	"-c", "core.fsyncMethod=fsync",
}

// keptGitVars are the GIT_* variables that name the user or the user's own
// configuration; every other one could redirect git and is dropped.
var keptGitVars = map[string]bool{
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true, "GIT_AUTHOR_DATE": true,
	"GIT_COMMITTER_NAME": true, "GIT_COMMITTER_EMAIL": true, "GIT_COMMITTER_DATE": true,
	"GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true,
	"GIT_CONFIG_PARAMETERS": true, "GIT_CONFIG_COUNT": true, "GIT_EXEC_PATH": true,
	"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_ASKPASS": true, "GIT_SSL_CAINFO": true,
}

// GitEnv is the environment for git made from base (os.Environ form).
func GitEnv(base []string) []string {
	env := make([]string, 0, len(base)+6)
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") && !keptGitVars[name] &&
			!strings.HasPrefix(name, "GIT_CONFIG_KEY_") && !strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
			continue
		}
		if name == "LC_ALL" || name == "LANGUAGE" {
			continue
		}
		env = append(env, kv)
	}
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ADVICE=0", "HUSKY=0", "LEFTHOOK=0")
}

// OutsideOf is env with a PATH that has no folder of root: neither by its name
// nor by where it leads. Relative folders are left out as well.
func OutsideOf(env []string, root string) []string {
	real := root
	if r, err := filepath.EvalSymlinks(root); err == nil {
		real = r
	}
	below := func(dir, root string) bool {
		rel, err := filepath.Rel(root, dir)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	var kept []string
	for _, dir := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(dir) || below(dir, root) || below(dir, real) {
			continue
		}
		if r, err := filepath.EvalSymlinks(dir); err == nil && below(r, real) {
			continue
		}
		kept = append(kept, dir)
	}
	return SetEnv(env, "PATH", strings.Join(kept, string(os.PathListSeparator)))
}

// FindGit looks for git in the PATH of env and returns its absolute path.
func FindGit(env []string) (string, error) {
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			if p := lookIn("git", path); p != "" {
				return p, nil
			}
		}
	}
	if p, err := exec.LookPath("git"); err == nil {
		return filepath.Abs(p)
	}
	return "", errors.New("git was not found on PATH")
}

func lookIn(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, ext := range []string{"", ".exe"} {
			p := filepath.Join(dir, name+ext)
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && (ext == ".exe" || st.Mode()&0o111 != 0) {
				return p
			}
		}
	}
	return ""
}

// Look finds name in the PATH of env; "" when it is not there.
func Look(name string, env []string) string {
	if filepath.IsAbs(name) {
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			return name
		}
		return ""
	}
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			return lookIn(name, path)
		}
	}
	return ""
}

func (g *Git) cmd(ctx context.Context, extra []string, args []string) *exec.Cmd {
	argv := append([]string{}, pinned...)
	if g.GitDir != "" {
		argv = append(argv, "--git-dir="+g.GitDir)
	}
	if g.WorkTree != "" {
		argv = append(argv, "--work-tree="+g.WorkTree)
	}
	argv = append(argv, args...)
	c := exec.CommandContext(ctx, g.Path, argv...)
	switch {
	case g.Dir != "":
		c.Dir = g.Dir
	case g.WorkTree != "":
		c.Dir = g.WorkTree
	default:
		c.Dir = g.GitDir
	}
	g.endGently(c)
	c.Env = append(append([]string{}, g.Env...), extra...)
	if g.Index != "" {
		c.Env = append(c.Env, "GIT_INDEX_FILE="+g.Index)
	}
	return c
}

// WithIndex is a copy of g that uses a private index file.
func (g *Git) WithIndex(file string) *Git { c := *g; c.Index = file; return &c }

// Run executes git and returns its standard output.
func (g *Git) Run(ctx context.Context, args ...string) ([]byte, error) {
	return g.RunWith(ctx, nil, nil, args...)
}

// Line executes git and returns its output without the final newline.
func (g *Git) Line(ctx context.Context, args ...string) (string, error) {
	out, err := g.Run(ctx, args...)
	return strings.TrimRight(string(out), "\r\n"), err
}

// RunWith executes git with standard input and further environment variables.
// A concurrent prune removes empty object folders, even one that git has just
// made to write into. Git gives up then. A command that only writes objects
// is run again.
func (g *Git) RunWith(ctx context.Context, stdin io.Reader, env []string, args ...string) ([]byte, error) {
	for try := 0; ; try++ {
		var out bytes.Buffer
		err := g.Stream(ctx, stdin, &out, env, args...)
		if err == nil || !slices.Contains(lockless, subcommand(args)) ||
			!(try < 20 && lostFolder(err)) && !(try < 2 && g.mended(err)) {
			return out.Bytes(), err
		}
		if stdin == nil {
			continue
		}
		again, ok := stdin.(io.Seeker)
		if !ok {
			return out.Bytes(), err
		}
		if _, serr := again.Seek(0, io.SeekStart); serr != nil {
			return out.Bytes(), err
		}
	}
}

// mended says whether git may find now what it missed.
func (g *Git) mended(err error) bool {
	const fatal = 128 // a smaller code is an answer
	return g.PutBack != nil && ExitCode(err) >= fatal && g.PutBack()
}

// lostFolder says whether git failed because the folder for its new file was
// removed.
func lostFolder(err error) bool {
	var ge *GitError
	return errors.As(err, &ge) && strings.Contains(ge.Stderr, "unable to create temporary file: No such file or directory")
}

// Stream executes git and copies its standard output to w as it comes.
func (g *Git) Stream(ctx context.Context, stdin io.Reader, w io.Writer, env []string, args ...string) error {
	limit := g.patience(args)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &HungError{args, limit})
	defer cancel()
	c := g.cmd(ctx, env, args)
	var stderr headBuffer
	c.Stdin, c.Stdout, c.Stderr = stdin, w, &stderr
	if err := g.runNoted(c, args); err != nil {
		var hung *HungError
		if errors.As(context.Cause(ctx), &hung) {
			return hung
		}
		var ee *exec.ExitError
		if errors.As(err, &ee) && ctx.Err() == nil {
			return &GitError{Args: args, Code: ee.ExitCode(), Stderr: stderr.String()}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("git %s: %w", subcommand(args), ctx.Err())
		}
		// Git has done its work and said so. A process that it left running, such
		// as the maintenance of a local remote or a shared ssh connection, still
		// holds its output.
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return fmt.Errorf("git %s: %w", subcommand(args), err)
	}
	return nil
}

// Attach runs git with the terminal's own streams (pager, editor, colours).
func (g *Git) Attach(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) (int, error) {
	c := g.cmd(ctx, nil, args)
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, stderr
	err := c.Run()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return ee.ExitCode(), nil
	}
	return 0, err
}

// headBuffer keeps the first 64 KiB: enough for any message, no more.
type headBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *headBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 64<<10 - t.b.Len(); room > 0 {
		t.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (t *headBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
