package cli

import (
	"context"
	"os"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/plan"
)

// planTree shows a plan as what waits on what.
func (a *App) planTree(s state.State) { a.printf("%s", plan.Tree(s.Plan)) }

// planDifference shows what planning changed of a plan that was there before.
func (a *App) planDifference(old, new state.State) {
	if len(old.Plan.Tasks) == 0 {
		return
	}
	d := plan.Difference(old.Plan, new.Plan)
	a.printf("\n%s %s\n", a.colour(a.Out, "1", "difference:"), d)
	a.planChange(d, old.Plan, new.Plan)
}

// planChange lists what changed, and how the texts of the changed tasks did.
func (a *App) planChange(d plan.Change, old, new plan.Plan) {
	a.printer().Indented(d.Describe(old, new), "  ")
	for _, c := range d.Changed {
		was, is := old.Tasks[old.Find(c.ID)], new.Tasks[new.Find(c.ID)]
		a.printf("  %s\n%s", a.colour(a.Out, "1", string(c.ID)),
			a.difference(string(plan.EncodeTask(was)), string(plan.EncodeTask(is)), 1, "  "))
	}
}

// addPlan lets the planning agent make tasks of a description.
func (c *AddCmd) addPlan(a *App) error {
	text, err := a.description(c.Plan)
	if err != nil {
		return err
	}
	if err := a.begun(); err != nil {
		return err
	}
	f := &RunFlags{Yes: c.Yes}
	var old state.State
	end, ran, err := a.launch(launch{flags: f, quiet: c.JSON,
		before: func(s state.State, set *config.Resolved) (bool, error) {
			old = s
			return false, a.waiting(s, set, c.Yes)
		},
		run: func(ctx context.Context, l *loop.Loop, _ state.State) (loop.End, error) {
			return l.Run(ctx, loop.RunOptions{Phase: state.Planning, Only: true, Add: true, Request: text, Reason: "add"})
		}})
	if err != nil || !ran {
		return err
	}
	d := plan.Difference(old.Plan, end.State.Plan)
	if c.JSON {
		added := []plan.Task{}
		for _, id := range d.Added {
			added = append(added, end.State.Plan.Tasks[end.State.Plan.Find(id)])
		}
		if err := a.printJSON(added); err != nil {
			return err
		}
		return endError(end)
	}
	if planned(end) {
		a.printf("\n")
		a.planTree(end.State)
		a.planDifference(old, end.State)
	}
	a.summary(end)
	return endError(end)
}

// description is the text of --plan: a file, @FILE, - or the words themselves.
func (a *App) description(arg string) (string, error) {
	if st, err := os.Stat(arg); err == nil && st.Mode().IsRegular() {
		arg = "@" + arg
	}
	text, err := a.sentence([]string{arg})
	if err == nil && strings.TrimSpace(text) == "" {
		err = usage(`git ralph add --plan "what is to be done"`, "there is nothing to make tasks of")
	}
	return text, err
}

// ArchiveCmd is `git ralph archive`.
type ArchiveCmd struct {
	DryRun bool `help:"Print what would be taken out of the plan; change nothing."`
	JSON   bool `name:"json" help:"Print the ids as JSON."`
}

// Help says more.
func (ArchiveCmd) Help() string {
	return "Takes done and skipped tasks out of the plan. Their life stays in the journal: git log ralph/heads/<branch> " +
		"-- tasks/<id>.toml."
}

// Run takes finished tasks out of the working set.
func (c *ArchiveCmd) Run(a *App) error {
	var gone []plan.TaskID
	var before plan.Plan
	_, changed, err := a.changeTasks(func(s state.State) (state.Event, error) {
		if s.Run.Current != nil {
			return state.Event{}, gitstate.Hint(1, "git ralph stop ends the run after this iteration",
				"an iteration is being worked on")
		}
		after, ids := plan.Archive(s.Plan)
		before, gone = s.Plan, ids
		if len(ids) == 0 || c.DryRun {
			return state.Event{}, journal.ErrNothing
		}
		p, _ := upsert(s.Plan, after, "archive", "")
		return state.Event{Type: state.EvPlan, Plan: p}, nil
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(view.List(gone))
	}
	switch {
	case len(gone) == 0:
		a.printf("no task is done or skipped\n")
	case changed:
		a.eachTask(before, gone, "archived")
	default:
		a.eachTask(before, gone, "would be archived")
	}
	return nil
}
