package cli

import (
	"strconv"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
)

// ShowCmd is `git ralph show`.
type ShowCmd struct {
	What       string `complete:"iterations or tasks" arg:"" optional:"" help:"The number of an iteration (the newest one), or the id of a task."`
	Prompt     bool   `help:"Print the prompt that the agent read."`
	Transcript bool   `help:"Print what the agent did, as lines of JSON."`
	Output     string `placeholder:"CHECK" help:"Print the whole output of a check."`
	JSON       bool   `name:"json" help:"Print an object for each iteration of that number."`
}

// Help says more.
func (ShowCmd) Help() string {
	return "Prompt, transcript and outputs come from the iteration's evidence, which is pruned after evidence.keep " +
		"iterations; the journal's part stays."
}

// Run shows an iteration or a task.
func (c *ShowCmd) Run(a *App) error {
	brief()
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	n, err := strconv.Atoi(c.What)
	if c.What == "" {
		if n = s.Run.Iteration; n == 0 {
			return gitstate.Hint(1, "git ralph start begins the first", "there is no iteration yet")
		}
	} else if err != nil {
		return c.task(a, s)
	}
	found, err := a.reader().Iterations(a.Ctx, n)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return c.unfinished(a, s, n)
	}
	if c.Prompt || c.Transcript || c.Output != "" {
		return c.evidence(a, s, found)
	}
	if !c.JSON {
		defer a.page()()
	}
	for i, e := range found {
		d, err := a.reader().Show(a.Ctx, s, e)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := a.printJSON(d); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.printf("\n%s\n\n", a.colour(a.Out, "2", "the same number, given by another machine:"))
		}
		d.Print(a.printer(), e)
	}
	return nil
}

// unfinished shows an iteration that has only begun.
func (c *ShowCmd) unfinished(a *App, s state.State, n int) error {
	starts, err := a.journal.Starts(a.Ctx, n)
	if err != nil {
		return err
	}
	if len(starts) == 0 {
		return view.NoIteration(s, n)
	}
	e := starts[0]
	if c.JSON {
		return a.printJSON(view.DescribeStart(e))
	}
	a.printf("%s\n", a.colour(a.Out, "1", view.Subject(e)))
	a.printf("started %s, not ended yet\n", view.Moment(e.Event.Time))
	return nil
}

// task shows a task with its iterations.
func (c *ShowCmd) task(a *App, s state.State) error {
	ids, err := taskIDs(s.Plan, []string{c.What})
	if err != nil {
		return err
	}
	t := s.Plan.Tasks[s.Plan.Find(ids[0])]
	if c.JSON {
		return a.printJSON(t)
	}
	entries, err := a.journal.TaskIterations(a.Ctx, t.ID)
	if err != nil {
		return err
	}
	defer a.page()()
	a.printer().Task(t, s.Plan, entries)
	return nil
}

// evidence prints a file of the evidence.
func (c *ShowCmd) evidence(a *App, s state.State, found []journal.Entry) error {
	for _, e := range found {
		part, name := "output", c.Output
		if c.Prompt {
			part = "prompt"
		} else if c.Transcript {
			part = "transcript"
		}
		data, err := a.reader().Text(a.Ctx, s, e, part, name)
		if err != nil {
			return err
		}
		if _, err := a.raw().Write(data); err != nil {
			return err
		}
	}
	return nil
}
