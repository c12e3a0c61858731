package cli

import (
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/plan"
)

// ApproveCmd is `git ralph approve`.
type ApproveCmd struct {
	Comment []string `arg:"" optional:"" help:"A remark that is recorded with it."`
}

// Run agrees to what waits for a person.
func (c *ApproveCmd) Run(a *App) error {
	if _, err := a.Load(); err != nil {
		return err
	}
	var before state.State
	moved := false
	var aside []plan.TaskID
	snap, changed, err := a.change(func(s state.State) (state.Event, error) {
		before, aside = s, s.Plan.SetAside()
		if s.Run.Status != state.NeedsReview && len(aside) == 0 {
			if s.Run.Phase == state.Validation && s.Report != nil && s.Report.Approved != nil && s.Report.Approved.Approved ||
				slices.Contains(s.Run.Confirmed, string(s.Run.Phase)) {
				return state.Event{}, journal.ErrNothing
			}
			return state.Event{}, gitstate.Hint(1, "git ralph status shows where the run stands", "nothing waits to be approved")
		}
		var err error
		if moved, err = a.moved(s); err != nil {
			return state.Event{}, err
		}
		if moved && len(aside) == 0 && s.Run.Phase == state.Validation {
			return state.Event{}, gitstate.Hint(1, "git ralph validate looks at what is there now",
				"the branch has moved since it was validated at %s", text.CutBytes(s.Report.Commit, 12))
		}
		return operator(state.Operator{Command: "approve", Text: strings.TrimSpace(strings.Join(c.Comment, " ")),
			Tasks: aside}), nil
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("the %s was approved already\n", before.Run.Phase)
		return nil
	}
	if before.Run.Status == state.NeedsReview && !strings.HasPrefix(before.Run.Reason, state.SetAside) {
		a.printf("approved: %s\n", before.Run.Reason)
	}
	a.eachTask(before.Plan, aside, "left out:")
	var waiting []plan.TaskID
	for _, b := range snap.State.Plan.Blockers() {
		if slices.ContainsFunc(b.On, func(on plan.TaskID) bool { return slices.Contains(aside, on) }) {
			waiting = append(waiting, b.ID)
		}
	}
	if len(waiting) > 0 {
		a.printf("waiting for tasks that will not be done: %s; git ralph skip --cascade, or git ralph edit\n",
			view.JoinIDs(waiting))
	}
	if snap.State.Run.Status == state.Complete {
		a.printf("%s\n", strings.TrimSuffix("complete: "+snap.State.Report.Unmet(), ": "))
	} else {
		if moved {
			a.printf("the branch has other commits than what was proved, so the next run proves it again\n")
		}
		a.printf("next: git ralph %s continues\n", view.GoesOn(snap.State.Run.Phase))
	}
	return nil
}

// RejectCmd is `git ralph reject`.
type RejectCmd struct {
	Why []string `arg:"" help:"What is wrong; shown to the next agent."`
}

// Run sends back what waits for a person.
func (c *RejectCmd) Run(a *App) error {
	why := strings.TrimSpace(strings.Join(c.Why, " "))
	if why == "" {
		return usage(`git ralph reject "what is wrong"`, "a rejection needs a reason")
	}
	if len(why) > 16<<10 {
		return usage("put the details into a file of the project and name it", "a reason of %d bytes is too long", len(why))
	}
	if _, err := a.Load(); err != nil {
		return err
	}
	var before state.State
	var aside []plan.TaskID
	_, _, err := a.change(func(s state.State) (state.Event, error) {
		before = s
		if s.Run.Status != state.NeedsReview {
			return state.Event{}, gitstate.Hint(1,
				"git ralph inject tells the agent something; git ralph status shows where the run stands",
				"nothing waits to be rejected")
		}
		o := state.Operator{Command: "reject", Text: why}
		if strings.HasPrefix(s.Run.Reason, state.SetAside) {
			o.Tasks = s.Plan.SetAside()
		}
		aside = o.Tasks
		return operator(o), nil
	})
	if err != nil {
		return err
	}
	a.printf("rejected: %s\n", before.Run.Reason)
	a.eachTask(before.Plan, aside, "to be done:")
	if before.Run.Phase == state.Validation && before.Report != nil {
		if err := loop.ReturnToBuilding(a.Ctx, a.journal, "rejected by a person"); err != nil {
			return err
		}
		snap, err := a.journal.Load(a.Ctx)
		if err != nil {
			return err
		}
		a.printer().Indented(plan.Difference(before.Plan, snap.State.Plan).Describe(before.Plan, snap.State.Plan), "  ")
	}
	next := "run"
	if len(aside) > 0 {
		next = view.GoesOn(before.Run.Phase)
	}
	a.printf("next: git ralph %s continues with it\n", next)
	return nil
}
