package cli

import (
	"os"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// AddCmd is `git ralph add`.
type AddCmd struct {
	Text []string `arg:"" optional:"" help:"What is to be done; - reads standard input."`

	ID          string   `name:"id" placeholder:"ID" help:"The task's id instead of the next T-00n."`
	Title       string   `placeholder:"TEXT" help:"The title, when it is not the first line of the text."`
	Priority    *int     `placeholder:"N" help:"The lowest number is worked on first (1)."`
	Depends     []string `complete:"tasks" sep:"," placeholder:"ID" aliases:"depends-on" help:"Tasks that must be done before."`
	Criteria    []string `sep:"none" placeholder:"TEXT" help:"What makes it done, in words; may be repeated."`
	Verify      []string `sep:"none" placeholder:"CMD" help:"A command, or a check's name, that must pass; may be repeated."`
	Skill       []string `sep:"," placeholder:"NAME" help:"Skill files that the agent reads with it."`
	Libraries   []string `name:"library" sep:"," placeholder:"NAME" help:"Libraries that it is about."`
	NeedsDocs   bool     `help:"It needs documentation that the agent may not know."`
	Spec        string   `complete:"specs" placeholder:"FILE" help:"The file under specs/ that it comes from."`
	Type        string   `placeholder:"NAME" help:"The template of the project that its prompt is made from."`
	Notes       string   `placeholder:"TEXT" help:"A remark for the agent."`
	MaxAttempts *int     `placeholder:"N" help:"Attempts before it counts as failed; 0 = no limit."`
	MaxTurns    int      `placeholder:"N" help:"Turns of the agent on it."`
	Model       string   `placeholder:"NAME" help:"The model of the coding agent on it."`

	AllowTestChanges bool     `help:"Tests may be weakened by it."`
	NoChangeExpected bool     `help:"It may be done without a change."`
	AllowProtected   []string `sep:"," placeholder:"GLOB" help:"Protected paths that it may change."`

	Plan string `placeholder:"FILE|-|TEXT" help:"Let the planning agent make tasks of a description."`
	Yes  bool   `short:"y" help:"With --plan: agree to the plan."`
	JSON bool   `name:"json" help:"Print the task as JSON."`
}

// Run adds one task.
func (c *AddCmd) Run(a *App) error {
	if c.Plan != "" {
		return c.addPlan(a)
	}
	text, err := c.text(a)
	if err != nil {
		return err
	}
	var added plan.Task
	var doubts plan.Problems
	if _, _, err := a.change(func(s state.State) (state.Event, error) {
		t, err := c.task(s.Plan, text)
		if err != nil {
			return state.Event{}, err
		}
		after := plan.Plan{Goal: s.Plan.Goal, Created: s.Plan.Created, Retired: s.Plan.Retired,
			Tasks: append(append([]plan.Task{}, s.Plan.Tasks...), t)}
		if err := after.Validate(); err != nil {
			return state.Event{}, err
		}
		if doubts, err = a.critique(s.Plan, after, plan.Places{}); err != nil {
			return state.Event{}, err
		}
		added = t
		return state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "add", Upsert: []plan.Task{t},
			IDs: []plan.TaskID{t.ID}}}, nil
	}); err != nil {
		return err
	}
	a.warnPlan(doubts)
	if c.JSON {
		return a.printJSON(added)
	}
	a.printf("added %s %s%s\n", added.ID, added.Title, a.note())
	return nil
}

// text is what the words of the command line say.
func (c *AddCmd) text(a *App) (string, error) {
	text := strings.Join(c.Text, " ")
	if len(c.Text) == 1 && c.Text[0] == "-" {
		data, err := a.readInput("-")
		if err != nil {
			return "", err
		}
		text = string(data)
	} else if len(c.Text) == 1 && c.Title == "" && !strings.ContainsAny(text, " \n") {
		if st, err := os.Stat(text); err == nil && st.Mode().IsRegular() {
			return "", usage("git ralph import "+text+" reads a list of tasks; git ralph add --title "+text+
				" adds a task of that name",
				"%s is a file, not the text of a task", text)
		}
	}
	if text = strings.TrimSpace(text); text == "" && strings.TrimSpace(c.Title) == "" {
		return "", usage(`git ralph add "what is to be done"`, "a task needs a text")
	}
	return text, nil
}

// task makes the task for the plan as it is now.
func (c *AddCmd) task(p plan.Plan, text string) (plan.Task, error) {
	title := strings.TrimSpace(c.Title)
	t := plan.FromText(p, text)
	if title != "" {
		t = plan.FromText(p, title)
		t.Title, t.Description = title, text
	}
	if c.ID != "" {
		if err := plan.ValidID(c.ID); err != nil {
			return t, usage("letters, digits, dots, underscores and hyphens, at most 64", "task id %w", err)
		}
		if i := p.Find(plan.TaskID(c.ID)); i >= 0 {
			return t, gitstate.Hint(1, "without --id it gets "+string(plan.NextID(p))+"; git ralph edit changes a task",
				"there is a task %s already: %s", p.Tasks[i].ID, p.Tasks[i].Title)
		}
		t.ID = plan.TaskID(c.ID)
	}
	if c.Priority != nil {
		t.Priority = *c.Priority
	}
	if verify := trimmed(c.Verify); len(verify) < len(c.Verify) {
		return t, usage("leave --verify out, or write the command that passes when the task is done",
			"the verify command is empty")
	}
	deps, err := taskIDs(p, trimmed(c.Depends))
	if err != nil {
		return t, err
	}
	t.DependsOn, t.Criteria, t.Verify = deps, trimmed(c.Criteria), trimmed(c.Verify)
	t.Skills, t.Libraries, t.NeedsDocs, t.Spec, t.Type, t.Notes = trimmed(c.Skill), trimmed(c.Libraries), c.NeedsDocs,
		c.Spec, c.Type, c.Notes
	t.MaxAttempts, t.MaxTurns, t.Model = c.MaxAttempts, c.MaxTurns, strings.TrimSpace(c.Model)
	t.AllowTestChanges, t.NoChangeExpected, t.AllowProtected = c.AllowTestChanges, c.NoChangeExpected,
		trimmed(c.AllowProtected)
	return t, nil
}

// trimmed is the list without blanks around and empty entries.
func trimmed(in []string) []string {
	var out []string
	for _, s := range in {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
