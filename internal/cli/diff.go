package cli

import (
	"errors"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
)

// DiffCmd is `git ralph diff`.
type DiffCmd struct {
	Stat       bool     `help:"As git diff --stat."`
	WordDiff   bool     `help:"As git diff --word-diff."`
	NameOnly   bool     `help:"As git diff --name-only."`
	NameStatus bool     `help:"As git diff --name-status."`
	Args       []string `complete:"iterations" arg:"" optional:"" passthrough:"" help:"N (the newest iteration), M to compare N with, options of git diff, and paths behind --."`
}

// Help says more.
func (DiffCmd) Help() string {
	return "With N: what the attempt changed, from where it started. With N and M: what differs between two attempts. " +
		"Whatever follows the numbers goes to git diff: git ralph diff 7 --stat -- src."
}

// Run has git show the difference, with the person's own pager, colours and
// tools.
func (c *DiffCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	numbers, rest, err := c.numbers()
	if err != nil {
		return err
	}
	if len(numbers) == 0 {
		if snap.State.Run.Iteration == 0 {
			return gitstate.Hint(1, "git ralph start begins the first", "there is no iteration yet")
		}
		numbers = []int{snap.State.Run.Iteration}
	}
	var from, to object.ID
	for i, n := range numbers {
		e, err := a.newestIteration(snap.State, n)
		if err != nil {
			return err
		}
		before, after, err := a.attempt(snap.State, e)
		if err != nil {
			return err
		}
		if i == 0 {
			from, to = before, after
		} else {
			from, to = to, after
		}
	}
	args := []string{a.repo.Git.Path, "diff"}
	for _, o := range []struct {
		on   bool
		flag string
	}{{c.Stat, "--stat"}, {c.WordDiff, "--word-diff"}, {c.NameOnly, "--name-only"}, {c.NameStatus, "--name-status"}} {
		if o.on {
			args = append(args, o.flag)
		}
	}
	opts, paths := rest, []string(nil)
	for i, s := range rest {
		if s == "--" {
			opts, paths = rest[:i], rest[i:]
			break
		}
	}
	args = append(append(args, opts...), from.String(), to.String())
	if paths == nil {
		paths = []string{"--"}
	}
	exit, err := proc.Attach(a.Ctx, proc.Command{Argv: append(args, paths...), Dir: a.Dir, Env: a.Env, Stdin: a.In,
		Stdout: behind(a.Out), Stderr: behind(a.Err)})
	if err == nil && exit.Code != 0 {
		err = &ExitError{Code: exit.Code}
	}
	return err
}

// numbers takes the numbers from the front of the arguments.
func (c *DiffCmd) numbers() ([]int, []string, error) {
	var numbers []int
	rest := c.Args
	for len(rest) > 0 && len(numbers) < 2 {
		n, err := strconv.Atoi(rest[0])
		if err != nil || n <= 0 {
			break
		}
		numbers, rest = append(numbers, n), rest[1:]
	}
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return nil, nil, usage("git ralph diff N, git ralph diff N M, and paths behind --",
			"%q is no number of an iteration", rest[0])
	}
	for _, s := range rest {
		if s == "--" {
			break
		}
		if s == "-h" || s == "--help" {
			return nil, nil, usage("git ralph help diff", "options of git diff are those of git help diff")
		}
	}
	return numbers, rest, nil
}

// newestIteration is the end of iteration n; the newest of several.
func (a *App) newestIteration(s state.State, n int) (journal.Entry, error) {
	found, err := a.iterations(n)
	if err != nil {
		return journal.Entry{}, err
	}
	if len(found) == 0 {
		return journal.Entry{}, noIteration(s, n)
	}
	return found[0], nil
}

// attempt is what an attempt started from and what it left, as trees. What was
// kept is known without evidence, too.
func (a *App) attempt(s state.State, e journal.Entry) (before, after object.ID, err error) {
	r := e.Event.Result
	if before, err = a.treeOfHex(r.Parent); err != nil {
		return before, after, err
	}
	tree, err := a.evidenceTree(s, e)
	if errors.Is(err, errPruned) && r.Commit != "" {
		after, err = a.treeOfHex(r.Commit)
		return before, after, err
	}
	if err != nil {
		return before, after, err
	}
	if r.Parent == "" {
		// Recovery does not record it; the evidence's first parent is where
		// the attempt started.
		if before, err = a.evidenceStart(s, e); err != nil {
			return before, after, err
		}
	}
	entry, ok, err := a.repo.Lookup(tree, "worktree")
	if err != nil {
		return before, after, err
	}
	if !ok {
		return before, object.EmptyTree, nil
	}
	return before, entry.ID, nil
}

func (a *App) evidenceStart(s state.State, e journal.Entry) (object.ID, error) {
	at, err := a.evidence(s, e)
	if err != nil {
		return object.Zero, err
	}
	c, err := a.repo.Store.ReadCommit(at)
	if err != nil || len(c.Parents) == 0 {
		return object.EmptyTree, err
	}
	return a.repo.TreeOf(c.Parents[0])
}

// treeOfHex is the tree of a commit named in an event; "" is an unborn branch.
func (a *App) treeOfHex(commit string) (object.ID, error) {
	if commit == "" {
		return object.EmptyTree, nil
	}
	id, err := object.ParseID(commit)
	if err != nil {
		return object.Zero, err
	}
	return a.repo.TreeOf(id)
}
