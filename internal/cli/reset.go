package cli

import (
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
)

// ResetCmd is `git ralph reset`.
type ResetCmd struct {
	KeepSpecs bool `help:"Leave specs/*.md where they are."`
	DryRun    bool `help:"Print what would be given up; change nothing."`
	Yes       bool `short:"y" help:"Do not ask."`
}

// Help says more.
func (ResetCmd) Help() string {
	return "Begins a new plan and a new discovery in the same journal. Nothing is erased: history, knowledge, numbers and spend go on. The specs are removed by a commit."
}

// Run begins anew.
func (c *ResetCmd) Run(a *App) error {
	if _, err := a.Load(); err != nil {
		return err
	}
	j, err := a.writable()
	if err != nil {
		return err
	}
	if h, alive := j.Repo.BranchHolder(j.Branch); alive {
		return gitstate.Hint(7, "git ralph stop ends it", "a loop is running on %s (process %d)", j.Branch, h.Pid)
	}
	snap, err := j.Load(a.Ctx)
	if err != nil {
		return err
	}
	specs, err := c.tracked(a)
	if err != nil {
		return err
	}
	if !c.Yes || c.DryRun {
		what := fmt.Sprintf("give up a plan of %s", plural(len(snap.State.Plan.Tasks), "task"))
		if len(specs) > 0 {
			what += fmt.Sprintf(" and remove %s by a commit", strings.Join(specs, ", "))
		}
		if c.DryRun {
			a.printf("this would %s\n", what)
			return nil
		}
		if !terminal(a.In) || !terminal(a.Err) {
			return usage("git ralph reset --yes", "this would %s", what)
		}
		if !a.ask(what + "? [y/N] ") {
			return &ExitError{Code: 1, Err: fmt.Errorf("nothing was changed")}
		}
	}
	// The commit first: when it fails nothing else has happened.
	if len(specs) > 0 {
		if err := c.remove(a, specs); err != nil {
			return err
		}
		a.printf("removed by a commit: %s\n", strings.Join(specs, ", "))
	}
	if err := a.recordOperator(state.Operator{Command: "reset", Tasks: orderOf(snap.State.Plan)}); err != nil {
		return err
	}
	a.printf("a new plan begins; what was done stays in history\nnext: git ralph run \"Build …\", or git ralph import FILE\n")
	return nil
}

// tracked are the specs that git knows.
func (c *ResetCmd) tracked(a *App) ([]string, error) {
	if c.KeepSpecs {
		return nil, nil
	}
	out, err := a.repo.Git.Run(a.Ctx, "ls-files", "-z", "--", ":(top,glob)specs/*.md")
	if err != nil {
		return nil, fmt.Errorf("list the specs: %w", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}

// remove commits the removal of the specs, and nothing else that may be staged.
func (c *ResetCmd) remove(a *App, specs []string) error {
	args := append([]string{"rm", "--quiet", "--"}, literal(specs)...)
	if _, err := a.repo.Git.Run(a.Ctx, args...); err != nil {
		return gitstate.Hint(1, "commit them first, or keep them with --keep-specs", "the specs could not be removed: %w", err)
	}
	args = append([]string{"commit", "--quiet", "-F", "-", "--only", "--"}, literal(specs)...)
	if _, err := a.repo.Git.RunWith(a.Ctx, strings.NewReader("Remove the specs of a plan that was given up\n"), nil, args...); err != nil {
		return gitstate.Hint(1, "commit the removal yourself, then git ralph reset --keep-specs", "the removal of the specs could not be committed: %w", err)
	}
	return nil
}

// literal keeps git from reading names as patterns.
func literal(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = ":(top,literal)" + n
	}
	return out
}
