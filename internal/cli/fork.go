package cli

import (
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
)

// ForkCmd is `git ralph fork`.
type ForkCmd struct {
	Number int    `arg:"" name:"n" help:"The iteration after which the fork begins; 0 is before the first."`
	Branch string `arg:"" help:"The name of the new branch."`
	JSON   bool   `name:"json" help:"Print the fork as JSON."`
}

// Help says more.
func (ForkCmd) Help() string {
	return "A new branch with the code as it was after iteration N, and a journal of its own with the plan, the memory " +
		"and the knowledge of that time. Numbers and spend go on from there. " +
		"The branch that is checked out, its journal and its files stay as they are."
}

// Run makes the branch and its journal.
func (c *ForkCmd) Run(a *App) error {
	if _, err := a.Load(); err != nil {
		return err
	}
	if err := a.branchName(c.Branch); err != nil {
		return err
	}
	repo := a.journal.Repo
	for _, ref := range []string{gitstate.BranchRef(c.Branch), gitstate.JournalRef(c.Branch)} {
		if at, err := repo.ReadRef(a.Ctx, ref); err != nil {
			return err
		} else if !at.IsZero() {
			return gitstate.Hint(1, "choose another name; git ralph status on "+c.Branch+" says what it is",
				"%s exists", ref)
		}
	}
	p, err := recovery.FindFork(a.Ctx, a.journal, c.Number)
	if err != nil {
		return err
	}
	to, err := journal.Open(a.Ctx, repo, c.Branch)
	if err != nil {
		return err
	}
	if err := a.clearName(to); err != nil {
		return err
	}
	s, err := recovery.Fork(a.Ctx, a.journal, to, p)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]any{"branch": c.Branch, "commit": p.Commit.String(), "journal": s.Journal.ID,
			"fork_of": s.Journal.Origins[0]})
	}
	c.tell(a, s, p)
	return nil
}

func (c *ForkCmd) tell(a *App, s state.State, p recovery.ForkPoint) {
	n := s.Plan.Counts()
	a.printf("%s is a fork of %s after iteration %d, at %s: %d of %d tasks done\n", c.Branch, a.journal.Branch, c.Number,
		p.Commit.String()[:12], n.Done, n.Wanted())
	a.printf("next: git switch %s && git ralph start\n", text.Shell(c.Branch))
}

// branchName refuses what git would not take as the name of a branch.
func (a *App) branchName(name string) error {
	if _, err := a.repo.Git.Line(a.Ctx, "check-ref-format", "--branch", name); err != nil ||
		strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
		return usage("letters, digits, - and /", "%q is no name of a branch", name)
	}
	return nil
}
