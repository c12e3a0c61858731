package cli

import (
	"context"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
)

// DiscoverCmd is `git ralph discover`.
type DiscoverCmd struct {
	RunFlags
	Text    []string `arg:"" optional:"" help:"What you want; @FILE reads it from a file. Without it a waiting discovery continues."`
	Answers string   `placeholder:"FILE" help:"Answers to the agent's questions: one a line, or JSON."`
}

// Help says more.
func (DiscoverCmd) Help() string {
	return "An agent asks what it cannot find out by itself and writes specs/*.md. They are checked, committed, and " +
		"wait for your approval."
}

// Run runs the discovery phase alone.
func (c *DiscoverCmd) Run(a *App) error {
	return a.goThrough(&c.RunFlags, c.Text, c.Answers, state.Discovery)
}

// PlanCmd is `git ralph plan`.
type PlanCmd struct {
	RunFlags
}

// Help says more.
func (PlanCmd) Help() string {
	return "An agent compares the specs with the code and records tasks; it cannot write to the worktree. Done and " +
		"skipped tasks stay; the rest of an older plan is set aside until you approve it or take a task back, and its " +
		"verify commands still have to pass at the end."
}

// Run runs the planning phase alone.
func (c *PlanCmd) Run(a *App) error { return a.planPhase(&c.RunFlags, "planning") }

// RegenerateCmd is `git ralph regenerate`.
type RegenerateCmd struct {
	RunFlags
}

// Help says more.
func (RegenerateCmd) Help() string {
	return "Lets the planning agent plan again from the specs. Tasks that are not done or skipped are set aside until " +
		"you approve it or take one back; their verify commands still have to pass at the end."
}

// Run plans again.
func (c *RegenerateCmd) Run(a *App) error { return a.planPhase(&c.RunFlags, "regenerate") }

func (a *App) planPhase(f *RunFlags, reason string) error {
	if err := a.enterLinked(f, mayBeginJournal); err != nil {
		return err
	}
	if err := a.begun(); err != nil {
		return err
	}
	var old state.State
	end, ran, err := a.launch(launch{flags: f,
		before: func(s state.State, set *config.Resolved) (bool, error) {
			old = s
			if err := a.readyToPlan(s, set, f); err != nil {
				return true, err
			}
			return false, nil
		},
		run: func(ctx context.Context, l *loop.Loop, _ state.State) (loop.End, error) {
			return l.Run(ctx, loop.RunOptions{Phase: state.Planning, Only: true, Reason: reason})
		}})
	if err != nil || !ran {
		return err
	}
	if !f.JSON {
		if planned(end) {
			a.printf("\n")
			a.planTree(end.State)
			a.planDifference(old, end.State)
		}
		a.summary(end)
	}
	return endError(end)
}

// planned says that a planning phase left a plan.
func planned(end loop.End) bool {
	return end.Status == state.Ready || end.Status == state.NeedsReview && end.State.Run.Phase == state.Planning
}

// readyToPlan refuses to plan from nothing, or from specs that nobody agreed to.
func (a *App) readyToPlan(s state.State, set *config.Resolved, f *RunFlags) error {
	if s.Run.Phase != state.Planning { // a plan that waits for approval may be made anew
		if err := a.waiting(s, set, f.Yes); err != nil {
			return err
		}
	} else if s.Run.PauseAsked {
		return a.waiting(s, set, f.Yes)
	}
	if open := loop.OpenQuestions(s); s.Run.Phase == state.Discovery && len(open) > 0 {
		return gitstate.Hint(6, "git ralph answer "+open[0].ID+" \"…\"; then git ralph discover",
			"the discovery waits for answers to %s", view.Plural(len(open), "question"))
	}
	specs, err := loop.ReadSpecs(a.repo.Root)
	if err != nil {
		return err
	}
	for _, sp := range specs {
		if len(sp.Problems) == 0 {
			return nil
		}
	}
	if s.Run.Request != "" || s.Plan.Goal != "" || set.Project.Goal != "" {
		return nil
	}
	return gitstate.Hint(8,
		`git ralph discover "Build …" writes specs; git ralph add --plan "…" makes tasks of a description`,
		"there are no specs to plan from")
}
