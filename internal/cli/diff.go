package cli

import (
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
	"git-ralph/internal/view"
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
		e, err := a.reader().Iteration(a.Ctx, snap.State, n)
		if err != nil {
			return err
		}
		before, after, err := a.reader().Attempt(a.Ctx, snap.State, e)
		if err != nil {
			return err
		}
		if i == 0 {
			from, to = before, after
		} else {
			from, to = to, after
		}
	}
	args := append([]string{a.repo.Git.Path, "diff"}, a.withoutDrivers()...)
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
		Stdout: view.Behind(a.Out), Stderr: view.Behind(a.Err)})
	if err == nil && exit.Code != 0 {
		err = &ExitError{Code: exit.Code}
	}
	return err
}

// withoutDrivers keeps git from running programs that the repository's own settings name
// for showing differences: a reading command must not run programs of whoever wrote there.
// Programs of the person's own settings are run, and all when git's options ask for it.
func (a *App) withoutDrivers() []string {
	out, err := a.repo.Git.Run(a.Ctx, "config", "--show-scope", "--name-only", "--get-regexp",
		`^diff\.(external|.*\.(command|textconv))$`)
	if err != nil { // none at all
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if scope, _, _ := strings.Cut(line, "\t"); scope == "local" || scope == "worktree" {
			return []string{"--no-ext-diff", "--no-textconv"}
		}
	}
	return nil
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
			"%q is not an iteration number", rest[0])
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
