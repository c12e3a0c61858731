package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// ResetCmd is `git ralph reset`.
type ResetCmd struct {
	KeepSpecs bool `help:"Leave specs/*.md where they are."`
	DryRun    bool `help:"Print what would be given up; change nothing."`
	Yes       bool `short:"y" help:"Do not ask."`
}

// Help says more.
func (ResetCmd) Help() string {
	return "Begins a new plan and a new discovery in the same journal. Nothing is erased: history, knowledge, numbers " +
		"and spend go on. The specs are removed by a commit."
}

// Run begins anew.
func (c *ResetCmd) Run(a *App) error {
	if _, err := a.Load(); err != nil {
		return err
	}
	j := a.journal
	if h, alive := j.Repo.BranchHolder(j.Branch); alive {
		return gitstate.Hint(7, "git ralph stop ends it", "a loop is running on %s (process %d)", j.Branch, h.Pid)
	}
	done, err := a.exclusive()
	if err != nil {
		return err
	}
	defer done()
	if err := inTheWay(worktree.Unfinished(filesOf(j.Repo))); err != nil {
		return err
	}
	e, err := a.engine(nil)
	if err != nil {
		return err
	}
	if err := a.recoverRun(j, e, nil); err != nil {
		return err
	}
	snap, err := j.Load(a.Ctx)
	if err != nil {
		return err
	}
	specs, err := c.tracked(a)
	if err != nil {
		return err
	}
	r := recovery.Rewinder{Repo: a.repo, Journal: j, Engine: e, Sign: a.gitBool("commit.gpgsign"), Log: a.warn,
		Fail: a.failpoint()}
	if len(specs) > 0 { // refused now rather than after the question
		if _, _, _, err := r.Without(a.Ctx, specs); err != nil {
			return err
		}
	}
	if !c.Yes || c.DryRun {
		what := fmt.Sprintf("give up a plan of %s", view.Plural(len(snap.State.Plan.Tasks), "task"))
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
	err = r.Reset(a.Ctx, specs, orderOf(snap.State.Plan))
	var locked *gitstate.IndexLockedError
	if errors.As(err, &locked) {
		return gitstate.Hint(1, "try again when it is done", "nothing was changed: %w", err)
	} else if err != nil {
		return err
	}
	if len(specs) > 0 {
		a.printf("removed by a commit: %s\n", strings.Join(specs, ", "))
	}
	a.printf(
		"a new plan begins; what was done stays in history\nnext: git ralph run \"Build …\", or git ralph import FILE\n")
	return nil
}

// tracked are the specs that the branch has.
func (c *ResetCmd) tracked(a *App) ([]string, error) {
	if head, err := a.repo.HeadCommit(a.Ctx); c.KeepSpecs || err != nil || head.IsZero() {
		return nil, err
	}
	out, err := a.repo.Git.Run(a.Ctx, "ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD", "specs/")
	if err != nil {
		return nil, fmt.Errorf("list the specs: %w", err)
	}
	return slices.DeleteFunc(strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), func(path string) bool {
		return filepath.Dir(path) != "specs" || filepath.Ext(path) != ".md"
	}), nil
}
