package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/internal/view"
	"git-ralph/plan"
)

// EditCmd is `git ralph edit`.
type EditCmd struct {
	Yes bool `short:"y" help:"Apply the difference without asking."`
}

// Help says more.
func (EditCmd) Help() string {
	return "The whole plan is opened as TOML; what was changed, added, removed or moved is applied as one event when " +
		"the editor ends. " +
		"A plan that makes no sense is opened again, and its file is kept when you give up."
}

const editHead = `# The plan of %s. Save and leave to apply what you changed; leave it as it is to change nothing.
# A task without an id gets the next one. Tasks are worked on by priority, then in this order.
# status: pending, in_progress, done, failed, blocked, skipped

`

// Run opens the plan and applies the difference.
func (c *EditCmd) Run(a *App) error {
	j, err := a.Journal()
	if err != nil {
		return err
	}
	var old plan.Plan
	if snap, err := j.Load(a.Ctx); err == nil {
		old = snap.State.Plan
	} else if !errors.Is(err, journal.ErrNone) {
		return err
	}
	dir, err := os.MkdirTemp("", "git-ralph-edit-")
	if err != nil {
		return fmt.Errorf("make a file for the editor: %w", err)
	}
	file := filepath.Join(dir, "plan.toml")
	before := append(fmt.Appendf(nil, editHead, j.Branch), plan.EncodePlan(old)...)
	if err := os.WriteFile(file, before, 0o600); err != nil {
		return fmt.Errorf("make a file for the editor: %w", err)
	}
	edited, err := c.rounds(a, file, before, old)
	if err != nil {
		if data, rerr := os.ReadFile(file); rerr == nil && bytes.Equal(data, before) {
			os.RemoveAll(dir)
			return err
		}
		return gitstate.Hint(1, "fix it and: git ralph import --replace "+file+", or git ralph edit again",
			"%w; your file is kept: %s", err, file)
	}
	if edited == nil {
		os.RemoveAll(dir)
		a.printf("nothing changed\n")
		return nil
	}
	var change plan.Change
	var now plan.Plan
	_, changed, err := a.change(func(s state.State) (state.Event, error) {
		// What the loop did to tasks meanwhile stands, where the editor left
		// them alone; where both changed one, the person must look again.
		if now, err = rebase(old, *edited, s.Plan); err != nil {
			return state.Event{}, err
		}
		p, d := upsert(s.Plan, now, "edit", "")
		change, old = d, s.Plan
		if d.Empty() {
			return state.Event{}, journal.ErrNothing
		}
		return state.Event{Type: state.EvPlan, Plan: p}, nil
	})
	if err != nil {
		return gitstate.Hint(1, "your file is kept: "+file, "%w", err)
	}
	os.RemoveAll(dir)
	if !changed {
		a.printf("nothing changed\n")
		return nil
	}
	a.printf("%s%s\n", change, a.note())
	a.planChange(change, old, now)
	return nil
}

// rounds opens the editor until the plan can be read, the person gives up, or
// nothing was changed (nil).
func (c *EditCmd) rounds(a *App, file string, before []byte, old plan.Plan) (*plan.Plan, error) {
	for {
		if err := a.openEditor(file); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read what the editor left: %w", err)
		}
		if bytes.Equal(data, before) {
			return nil, nil
		}
		p, places, err := plan.DecodePlan("plan.toml", data)
		if err == nil {
			p = freshIDs(p, data, old)
			var doubts plan.Problems
			if doubts, err = a.critique(old, p, places); err == nil {
				a.warnPlan(doubts)
				return &p, nil
			}
		}
		if !terminal(a.In) || c.Yes {
			return nil, err
		}
		fmt.Fprintln(a.Err, a.colour(a.Err, "31", "error:"), err)
		if !a.ask("edit it again? [y/N] ") {
			return nil, errors.New("the plan was not changed")
		}
	}
}

// freshIDs gives tasks that the file names no id for one that the old plan did
// not have either: the id of a task that was taken out would make them one.
func freshIDs(p plan.Plan, data []byte, old plan.Plan) plan.Plan {
	for i, t := range p.Tasks {
		if old.Find(t.ID) >= 0 && !bytes.Contains(data, []byte(t.ID)) {
			p.Tasks[i].ID = plan.NextID(plan.Plan{Tasks: append(append([]plan.Task{}, old.Tasks...), p.Tasks...),
				Retired: old.Retired})
		}
	}
	return p
}

// openEditor runs the editor that git would: GIT_EDITOR, core.editor, VISUAL,
// EDITOR. It runs as a git alias: git finds a shell on every system.
func (a *App) openEditor(file string) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	editor, err := a.gitVar("GIT_EDITOR")
	if err != nil || editor == "" {
		return gitstate.Hint(1, "git config --global core.editor NAME, or set EDITOR", "no editor is configured")
	}
	if terminal(a.Err) {
		fmt.Fprint(a.Err, "waiting for your editor to close the file"+view.Styled(a.Err, "\r"))
	}
	exit, err := proc.Attach(a.Ctx, proc.Command{Argv: []string{repo.Git.Path, "-c", "alias.ralph-editor=!" + editor,
		"ralph-editor", file},
		Dir: repo.Root, Env: a.Env, Stdin: a.In, Stdout: view.Behind(a.Out), Stderr: view.Behind(a.Err)})
	if terminal(a.Err) {
		fmt.Fprint(a.Err, view.Styled(a.Err, "\r\x1b[K"))
	}
	if err != nil {
		return fmt.Errorf("open the editor: %w", err)
	}
	if !exit.Success() {
		return fmt.Errorf("the editor %q ended with %s", editor, exit)
	}
	return nil
}

// gitVar asks git for one of its variables, in the environment of the person.
func (a *App) gitVar(name string) (string, error) {
	repo, err := a.Repo()
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	exit, err := proc.Attach(a.Ctx, proc.Command{Argv: []string{repo.Git.Path, "var", name}, Dir: repo.Root, Env: a.Env,
		Stdout: &out})
	if err == nil && !exit.Success() {
		err = fmt.Errorf("git var %s: %s", name, exit)
	}
	return strings.TrimSpace(out.String()), err
}

// rebase applies a person's changes since base to the present plan.
func rebase(base, edited, now plan.Plan) (plan.Plan, error) {
	theirs := plan.Difference(base, now)
	if theirs.Empty() {
		edited.Retired = now.Retired
		return edited, edited.Validate()
	}
	mine := plan.Difference(base, edited)
	touched := map[plan.TaskID]bool{}
	for _, id := range mine.Removed {
		touched[id] = true
	}
	for _, t := range mine.Changed {
		touched[t.ID] = true
	}
	var both []plan.TaskID
	for _, t := range theirs.Changed {
		if touched[t.ID] {
			both = append(both, t.ID)
		}
	}
	for _, id := range theirs.Removed {
		if touched[id] {
			both = append(both, id)
		}
	}
	for _, id := range theirs.Added {
		if edited.Find(id) >= 0 {
			both = append(both, id)
		}
	}
	if len(both) > 0 {
		return now, fmt.Errorf("%s changed while you were editing", view.JoinIDs(both))
	}
	out := plan.Plan{Goal: now.Goal, Created: now.Created, Retired: now.Retired}
	if mine.Goal {
		out.Goal = edited.Goal
	}
	// The order is the person's; what came meanwhile stands last.
	for _, t := range edited.Tasks {
		i := now.Find(t.ID)
		switch {
		case touched[t.ID] || base.Find(t.ID) < 0:
			out.Tasks = append(out.Tasks, t)
		case i >= 0:
			out.Tasks = append(out.Tasks, now.Tasks[i])
		}
	}
	for _, id := range theirs.Added {
		out.Tasks = append(out.Tasks, now.Tasks[now.Find(id)])
	}
	return out, out.Validate()
}
