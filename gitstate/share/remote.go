// Package share brings the journal of a branch to a plain git remote and back:
// the refs refs/ralph/heads/<branch>, refs/notes/ralph and, where it is wanted,
// refs/ralph/evidence/*. It owns the copies of what a remote had, in
// refs/ralph/remotes/<remote>/<branch>, and the heartbeats
// refs/ralph/alive/<actor>.
//
// Everything that crosses the network goes through the user's git. Refs of a
// remote move forward only; nothing is forced, so that a push that was accepted
// is the one place where two machines agree on what came first.
package share

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
	"git-ralph/internal/stable"
)

// AlivePrefix is where each machine shows a remote that it is alive.
const AlivePrefix = "refs/ralph/alive/"

// ErrMoved says that somebody else has pushed meanwhile.
var ErrMoved = errors.New("the remote has moved")

// UnreachableError says that a remote gave no answer that could be used.
type UnreachableError struct {
	Remote string
	Err    error
}

func (e *UnreachableError) Error() string {
	why := e.Err.Error()
	var ge *proc.GitError
	if errors.As(e.Err, &ge) && strings.TrimSpace(ge.Stderr) != "" {
		why, _, _ = strings.Cut(strings.TrimSpace(ge.Stderr), "\n")
		why = strings.TrimPrefix(why, "fatal: ")
	}
	return fmt.Sprintf("%s cannot be reached: %s", e.Remote, why)
}
func (e *UnreachableError) Unwrap() error { return e.Err }

// RefusedError says that a remote does not take a ref, and why.
type RefusedError struct{ Remote, Ref, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s refuses %s: %s", e.Remote, e.Ref, e.Reason)
}

// RewrittenError says that a remote's ref does not descend from its old value.
type RewrittenError struct{ Remote, Ref string }

func (e *RewrittenError) Error() string {
	return fmt.Sprintf("%s of %s was rewritten: it no longer contains what was fetched last", e.Ref,
		e.Remote)
}

// Remote is a git remote by name, address or path.
type Remote struct {
	Repo *gitstate.Repo
	Name string
	// Ask reports whether git may ask a person for a password.
	Ask bool
	// Timeout bounds each conversation with it; 0 = as long as git takes.
	Timeout time.Duration
}

// Open looks up a remote: its name must be configured, or be an address.
func Open(ctx context.Context, repo *gitstate.Repo, name string) (*Remote, error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return nil, fmt.Errorf("%q is no remote", name)
	}
	r := &Remote{Repo: repo, Name: name}
	if r.named(ctx) || strings.ContainsAny(name, "/:") || filepath.IsAbs(name) {
		return r, nil
	}
	return nil, fmt.Errorf("there is no remote %q", name)
}

func (r *Remote) named(ctx context.Context) bool {
	out, err := r.Repo.Git.Line(ctx, "remote")
	return err == nil && slices.Contains(strings.Fields(out), r.Name)
}

// TrackRef follows the journal of a branch on the remote; "" when the remote has
// no name, and nothing is kept.
func (r *Remote) TrackRef(ctx context.Context, branch string) string {
	if !r.named(ctx) {
		return ""
	}
	return gitstate.RemotePrefix + r.Name + "/" + branch
}

func (r *Remote) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, r.Timeout)
}

// run starts git for a conversation with the remote.
func (r *Remote) run(ctx context.Context, args ...string) ([]byte, error) {
	return r.runWith(ctx, nil, args...)
}

func (r *Remote) runWith(ctx context.Context, env []string, args ...string) ([]byte, error) {
	if r.Ask {
		env = append(env, "GIT_TERMINAL_PROMPT=1")
	} else if proc.Getenv(r.Repo.Git.Env, "GIT_SSH_COMMAND") == "" && proc.Getenv(r.Repo.Git.Env, "GIT_SSH") == "" {
		if config, err := r.Repo.Git.Config(ctx); err != nil {
			return nil, err
		} else if own, _ := config.Get("core.sshcommand"); own == "" {
			env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
		}
	}
	// A remote that is set up as a mirror takes no refs by name.
	args = append([]string{"-c", "remote." + r.Name + ".mirror=false"}, args...)
	return r.Repo.Git.RunWith(ctx, nil, env, args...)
}

// List asks for refs by their full names; a name that ends in /* is a prefix.
func (r *Remote) List(ctx context.Context, names ...string) (map[string]object.ID, error) {
	ctx, cancel := r.limit(ctx)
	defer cancel()
	out, err := r.run(ctx, append([]string{"ls-remote", "--quiet", "--refs", "--", r.Name}, names...)...)
	if err != nil {
		return nil, &UnreachableError{r.Name, err}
	}
	refs := map[string]object.ID{}
	for line := range strings.Lines(string(out)) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		// git matches the end of a name: refs/x/refs/heads/main is another one.
		wanted := slices.ContainsFunc(names, func(n string) bool {
			prefix, many := strings.CutSuffix(n, "*")
			return n == name || many && strings.HasPrefix(name, prefix)
		})
		id, err := object.ParseID(hash)
		if ok && wanted && err == nil {
			refs[name] = id
		}
	}
	return refs, nil
}

// Fetch brings refs here. Specs are "ref" for the objects alone, or "ref:to".
// Nothing of the user's own refs moves.
func (r *Remote) Fetch(ctx context.Context, specs ...string) error {
	return r.fetch(ctx, nil, specs...)
}

func (r *Remote) fetch(ctx context.Context, env []string, specs ...string) error {
	if len(specs) == 0 {
		return nil
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	_, err := r.runWith(ctx, env, append([]string{"fetch", "--no-progress", "--no-tags", "--no-write-fetch-head",
		"--no-prune", "--no-recurse-submodules", "--no-auto-maintenance", "--no-filter",
		"--refmap=", "--", r.Name}, specs...)...)
	var ge *proc.GitError
	if errors.As(err, &ge) && strings.Contains(ge.Stderr, "(non-fast-forward)") {
		return &RewrittenError{r.Name, rejectedRef(ge.Stderr)}
	}
	if err != nil {
		return &UnreachableError{r.Name, err}
	}
	return nil
}

func rejectedRef(text string) string {
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, "[rejected]"); ok {
			return strings.Fields(rest + " ref")[0]
		}
	}
	return "a ref"
}

// Push moves refs of the remote forward, all or none. ErrMoved when one of them
// has moved meanwhile; an UnreachableError leaves open whether it was taken.
func (r *Remote) Push(ctx context.Context, to map[string]object.ID) error {
	if len(to) == 0 {
		return nil
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	args := []string{"push", "--porcelain", "--no-follow-tags", "--no-thin", "--recurse-submodules=no", "--no-verify"}
	if len(to) > 1 {
		args = append(args, "--atomic")
	}
	args = append(args, "--", r.Name)
	for _, ref := range slices.Sorted(maps.Keys(to)) {
		from := to[ref].String()
		if to[ref].IsZero() {
			from = ""
		}
		args = append(args, from+":"+ref)
	}
	out, err := r.run(ctx, args...)
	if err == nil {
		return nil
	}
	var ge *proc.GitError
	if errors.As(err, &ge) && strings.Contains(ge.Stderr, "does not support --atomic push") {
		return r.pushEach(ctx, to)
	}
	return r.refused(string(out), err)
}

// pushEach is for remotes that know no transactions: the journal goes last,
// because it is what others believe.
func (r *Remote) pushEach(ctx context.Context, to map[string]object.ID) error {
	refs := slices.Sorted(maps.Keys(to))
	stable.Sort(refs, func(a, b string) int {
		return strings.Count(a, gitstate.JournalRef("")) - strings.Count(b, gitstate.JournalRef(""))
	})
	for _, ref := range refs {
		if err := r.Push(ctx, map[string]object.ID{ref: to[ref]}); err != nil {
			return err
		}
	}
	return nil
}

// moved are the words in which git says that a ref is not where it was.
var moved = []string{"fetch first", "non-fast-forward", "stale info", "failed to update ref", "cannot lock ref",
	"incorrect old value", "already exists", "failed to lock", "failed to update", "unable to lock"}

// refused reads the lines of `git push --porcelain`.
func (r *Remote) refused(out string, err error) error {
	var first *RefusedError
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) < 3 || f[0] != "!" {
			continue
		}
		_, ref, _ := strings.Cut(f[1], ":")
		why := f[2]
		if slices.ContainsFunc(moved, func(m string) bool { return strings.Contains(why, m) }) {
			return fmt.Errorf("%w: %s: %s", ErrMoved, ref, why)
		}
		// In a refused atomic push, the other refs only say "atomic".
		if first == nil || strings.Contains(first.Reason, "atomic") {
			first = &RefusedError{r.Name, ref, why}
		}
	}
	var ge *proc.GitError
	switch {
	case first == nil || strings.Contains(first.Reason, "remote failed"):
		return &UnreachableError{r.Name, err}
	case strings.Contains(first.Reason, "atomic") && errors.As(err, &ge) && strings.Contains(ge.Stderr, "cannot lock ref"):
		return fmt.Errorf("%w: %s", ErrMoved, strings.TrimSpace(ge.Stderr))
	}
	return first
}
