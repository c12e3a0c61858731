package cli

import (
	"errors"
	"os"

	"git-ralph/gitstate"
	"git-ralph/guard"
	"git-ralph/internal/view"
)

// GuardCmd is `git ralph guard`.
type GuardCmd struct {
	JSONL   bool     `name:"jsonl" help:"Read one {\"command\":\"…\"} object a line from standard input and answer each with a verdict."`
	JSON    bool     `name:"json" help:"Print the verdict as JSON."`
	Command []string `arg:"" optional:"" passthrough:"" help:"A shell line in quotes, or a command and its words."`
}

// Help says more.
func (GuardCmd) Help() string {
	return "git ralph guard -- 'git commit -m x' says whether an agent may run that, and what it is told. " +
		"Exit 0: allowed, 1: denied. It works outside a repository, too, with the default policy; nothing is run."
}

// Run explains a verdict.
func (c *GuardCmd) Run(a *App) error {
	words := c.Command
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if c.JSONL == (len(words) > 0) {
		return usage("git ralph guard -- 'git push', or git ralph guard --jsonl < commands.jsonl",
			"name one command, or say --jsonl")
	}
	p, err := a.guardPolicy()
	if err != nil {
		return err
	}
	if c.JSONL {
		return guard.AnswerJSONL(a.In, a.raw(), p)
	}
	var v guard.Verdict
	if len(words) == 1 {
		v = p.Judge(words[0])
	} else {
		v = p.JudgeArgv(words, p.Worktree)
	}
	switch {
	case c.JSON:
		if err := a.printJSON(v); err != nil {
			return err
		}
	case v.Allowed():
		a.printf("%s\n", a.colour(a.Out, "32", "allow"))
		if len(words) == 1 {
			if line, ok := p.Rewrite(words[0]); ok {
				a.printf("  runs as  %s\n", line)
			}
		}
	default:
		a.printf("%s\n", a.colour(a.Out, "31", "deny"))
		a.printer().Table([][]string{{"  class", v.Class}, {"  reason", v.Reason}, {"  instead", view.OrDash(v.Instead)}})
	}
	if !v.Allowed() {
		return &ExitError{Code: 1}
	}
	return nil
}

// guardPolicy is the policy of this project, or the default one where there is
// no repository.
func (a *App) guardPolicy() (*guard.Policy, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	if _, err := a.Repo(); err != nil {
		if errors.Is(err, gitstate.ErrNoRepository) {
			return guard.New(a.Dir, home), nil
		}
		return nil, err
	}
	set, err := a.Settings(nil, nil)
	if err != nil {
		return nil, err
	}
	return a.policy(set)
}
