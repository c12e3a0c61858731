package cli

import (
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/notes"
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
		found, err := a.iterations(c.Number)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return noIteration(snap.State, c.Number)
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
	a.handoffText(*rec)
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
				"no iteration is in work at this moment")
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
	a.printf("iteration %d is asked for a handoff and goes on in a fresh session\n", n)
	return nil
}

// handoffText prints a handoff for people.
func (a *App) handoffText(rec notes.Record) {
	h := rec.Handoff
	by := ""
	if rec.Origin.Source == "harness" {
		by = ", made by the harness because the agent left none"
	}
	a.printf("%s of iteration %d, %s%s\n", a.colour(a.Out, "1", "handoff"), rec.Origin.Iteration, rec.Origin.Verdict, by)
	if h.Summary != "" {
		a.printf("\n%s\n", h.Summary)
	}
	if h.Freeform != "" && h.Freeform != h.Summary {
		a.printf("\n%s\n", strings.TrimRight(h.Freeform, "\n"))
	}
	section := func(title string, n int, item func(int) string) {
		if n == 0 {
			return
		}
		a.printf("\n%s\n", a.colour(a.Out, "1", title))
		for i := range n {
			a.printf("  - %s\n", item(i))
		}
	}
	section("deviations", len(h.Deviations), func(i int) string {
		d := h.Deviations[i]
		return "planned " + d.Planned + "; did " + d.Actual + ": " + d.Reason
	})
	section("bugs", len(h.BugsEncountered), func(i int) string {
		b := h.BugsEncountered[i]
		if b.Resolved {
			return b.Description + " (resolved: " + b.Resolution + ")"
		}
		return b.Description + " (open)"
	})
	section("constraints", len(h.ConstraintsDiscovered), func(i int) string {
		k := h.ConstraintsDiscovered[i]
		if k.Workaround != "" {
			return k.Constraint + ": " + k.Impact + "; " + k.Workaround
		}
		return k.Constraint + ": " + k.Impact
	})
	section("architecture", len(h.ArchitecturalNotes), func(i int) string { return h.ArchitecturalNotes[i] })
	section("unfinished", len(h.UnfinishedBusiness), func(i int) string {
		u := h.UnfinishedBusiness[i]
		return "[" + u.Priority + "] " + u.Item + ": " + u.Reason
	})
	section("recommendations", len(h.Recommendations), func(i int) string { return h.Recommendations[i] })
	section("tests added", len(h.TestsAdded), func(i int) string {
		return h.TestsAdded[i].File + ": " + strings.Join(h.TestsAdded[i].TestNames, ", ")
	})
	section("files", len(h.FilesTouched), func(i int) string {
		return h.FilesTouched[i].Action + " " +
			h.FilesTouched[i].Path
	})
	section("research wanted", len(h.RequestResearch), func(i int) string { return h.RequestResearch[i] })
	if r := h.RequestHumanReview; r != nil && r.Needed {
		a.printf("\n%s %s\n", a.colour(a.Out, "33", "the agent asks a person to look at it:"), r.Reason)
	}
	if h.ConfidenceLevel == "low" && rec.Origin.Source != "harness" {
		a.printf("\n%s\n", a.colour(a.Out, "33", "the agent's confidence is low"))
	}
}
