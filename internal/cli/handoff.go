package cli

import (
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
)

// HandoffCmd is `git ralph handoff`.
type HandoffCmd struct {
	Number int  `complete:"iterations" arg:"" optional:"" name:"n" help:"The iteration; without it the newest handoff."`
	Now    bool `help:"Ask the running iteration for a handoff and a fresh session."`
	JSON   bool `name:"json" help:"Print the document."`
}

// Run prints a handoff, or asks for one.
func (c *HandoffCmd) Run(a *App) error {
	if c.Now {
		return c.now(a)
	}
	snap, err := a.Load()
	if err != nil {
		return err
	}
	rec := snap.State.Handoff
	if c.Number != 0 {
		found, err := a.reader().Iterations(a.Ctx, c.Number)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return view.NoIteration(snap.State, c.Number)
		}
		rec = found[0].Event.Result.Handoff
	}
	if rec == nil {
		return gitstate.Hint(1, "git ralph log shows what happened", "there is no handoff yet")
	}
	if c.JSON {
		return a.printJSON(rec)
	}
	defer a.page()()
	a.printer().Handoff(*rec)
	return nil
}

// now asks the agent that works at this moment.
func (c *HandoffCmd) now(a *App) error {
	if _, _, err := a.running(); err != nil {
		return err
	}
	n := 0
	_, changed, err := a.change(func(s state.State) (state.Event, error) {
		if s.Run.Current == nil {
			return state.Event{}, gitstate.Hint(1, "git ralph status shows what the loop does",
				"no iteration is running")
		}
		n = s.Run.Current.Iteration
		if s.Run.AskHandoff == n {
			return state.Event{}, journal.ErrNothing
		}
		return operator(state.Operator{Command: "handoff-now"}), nil
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("iteration %d was asked already\n", n)
		return nil
	}
	a.printf("iteration %d is asked for a handoff and continues in a fresh session\n", n)
	return nil
}
