package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	agentctx "git-ralph/context"
	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// PromptCmd is `git ralph prompt`.
type PromptCmd struct {
	Task     string   `complete:"tasks" arg:"" optional:"" help:"The task; without it the one that comes next."`
	Sections bool     `help:"Print the sizes of the sections instead of the text."`
	System   bool     `help:"Print the addition to the client's system prompt instead."`
	Mode     string   `complete:"modes" placeholder:"M" help:"As loop.mode would make it."`
	Template optional `help:"Print the template of a role as it is in force; without one, list the roles."`
	JSON     bool     `name:"json" help:"Print {tokens, budget, sections, text}."`
}

// optional is a flag whose value may be left out: --template, --template=ROLE.
type optional struct {
	Given bool
	Value string
}

// Decode reads the flag.
func (o *optional) Decode(ctx *kong.DecodeContext) error {
	o.Given = true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		o.Value, _ = ctx.Scan.Pop().Value.(string)
	}
	return nil
}

// IsBool says that the next word is not the flag's.
func (o *optional) IsBool() bool { return true }

// promptDoc is `prompt --json`.
type promptDoc struct {
	Tokens int `json:"tokens"`
	Budget int `json:"budget"`
	// BytesPerToken is what the estimate divides by.
	BytesPerToken float64      `json:"bytes_per_token"`
	Sections      []sectionDoc `json:"sections"`
	Text          string       `json:"text"`
	System        string       `json:"system"`
	Task          plan.TaskID  `json:"task"`
}

type sectionDoc struct {
	Name    agentctx.Name `json:"name"`
	Tokens  int           `json:"tokens"`
	Dropped bool          `json:"dropped"`
}

// Run prints the next prompt.
func (c *PromptCmd) Run(a *App) error {
	brief()
	if c.Template.Given {
		return c.template(a)
	}
	// A large state is read once and the process ends: collecting garbage on
	// the way would take a quarter of the time.
	debug.SetGCPercent(400)
	snap, err := a.Load()
	if err != nil {
		return err
	}
	flags := map[string]string{}
	if c.Mode != "" {
		flags["loop.mode"] = c.Mode
	}
	set, err := a.Settings(flags, nil)
	if err != nil {
		return err
	}
	if !a.trusted(set) {
		a.warn("the %s of this repository is not trusted yet: git ralph trust", config.FileName)
	}
	if c.Task == "" && c.Mode == "" && !c.Sections && !c.System {
		if text, own, err := a.ownPrompt(snap.State); err != nil || own {
			factor := cmp.Or(agentctx.FamilyOf(set.Agent.Model, set.Agent.Driver).Bytes, agentctx.DefaultBytesPerToken)
			return c.print(a, text, snap.State, factor, err)
		}
	}
	id, err := c.task(snap.State)
	if err != nil {
		return err
	}
	s := snap.State
	if _, alive := a.reader().Holder(a.Ctx, a.journal.Branch); !alive {
		s = inNextSession(s)
	}
	p, err := a.nextPrompt(set, s, id)
	if err != nil {
		return err
	}
	if c.JSON {
		d := promptDoc{Tokens: p.Tokens, Budget: p.Budget, BytesPerToken: p.BytesPerToken, Sections: []sectionDoc{},
			Text: p.Text, System: p.System, Task: id}
		for _, s := range p.Sections {
			d.Sections = append(d.Sections, sectionDoc{s.Name, s.Tokens, s.Dropped})
		}
		return a.printJSON(d)
	}
	defer a.page()()
	switch {
	case c.Sections:
		a.printf("%s: about %d of %d tokens, at %g bytes a token\n\n", id, p.Tokens, p.Budget, p.BytesPerToken)
		var rows [][]string
		for _, s := range p.Sections {
			word := ""
			if s.Dropped {
				word = a.colour(a.Out, "33", "left out: over the budget")
			} else if s.Reduced {
				word = a.colour(a.Out, "33", "made smaller")
			}
			rows = append(rows, []string{"  " + string(s.Name), fmt.Sprintf("%6d", s.Tokens), word})
		}
		rows = append(rows, []string{"  system addition", fmt.Sprintf("%6d", agentctx.Tokens(len(p.System), p.BytesPerToken)),
			"not in the budget"})
		a.printer().Table(rows)
	case c.System:
		a.printf("%s\n", strings.TrimRight(p.System, "\n"))
	default:
		a.printf("%s\n", strings.TrimRight(p.Text, "\n"))
	}
	return nil
}

// print shows the prompt that this run's agent was given.
func (c *PromptCmd) print(a *App, text string, s state.State, factor float64, err error) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return a.printJSON(promptDoc{Tokens: agentctx.Tokens(len(text), factor), Sections: []sectionDoc{}, Text: text,
			BytesPerToken: factor, Task: s.Run.Current.Task})
	}
	a.printf("%s\n", strings.TrimRight(text, "\n"))
	return nil
}

// task is the task meant, or the next one.
func (c *PromptCmd) task(s state.State) (plan.TaskID, error) {
	if c.Task != "" {
		ids, err := taskIDs(s.Plan, []string{c.Task})
		if err != nil {
			return "", err
		}
		return ids[0], nil
	}
	if cur := s.Run.Current; cur != nil && cur.Task != "" {
		return cur.Task, nil
	}
	id, ok := plan.Next(s.Plan)
	switch {
	case ok:
		return id, nil
	case len(s.Plan.Tasks) == 0:
		return "", gitstate.Hint(1, "git ralph import FILE, or git ralph add \"a task\"", "the plan is empty")
	case s.Plan.Complete():
		return "", gitstate.Hint(1, "git ralph prompt ID shows what a task's prompt would be", "every task is done")
	}
	return "", gitstate.Hint(1, "git ralph tasks says what each waits for; git ralph prompt ID shows a task's prompt",
		"no task can be worked on now")
}

// inNextSession is the state as a start would make it before its first
// prompt, which names the session.
func inNextSession(s state.State) state.State {
	n := s.Run.Session + 1
	s, _ = state.Apply(s, state.Event{Type: state.EvSession, Session: n, Time: s.Run.LastAt,
		Sess: &state.SessionChange{Action: "begin", Number: n, Budgets: s.Run.BudgetsGoOn(),
			Mode: s.Run.Mode, Driver: s.Run.Driver, Sandbox: s.Run.Sandbox}})
	if s.Run.Phase != state.Building {
		s, _ = state.Apply(s, state.Event{Type: state.EvPhase, Time: s.Run.LastAt,
			PhaseTo: &state.PhaseChange{From: s.Run.Phase, To: state.Building, Rounds: s.Run.Rounds}})
	}
	return s
}

// nextPrompt assembles the prompt with the loop's own function.
func (a *App) nextPrompt(set *config.Resolved, s state.State, id plan.TaskID) (agentctx.Prompt, error) {
	opts, err := a.promptOptions(set, a.repo.Root)
	if err != nil {
		return agentctx.Prompt{}, err
	}
	// Nothing is tried for a command that only reads: what the last run found
	// holds, else what a start would insist on.
	opts.Sandbox = set.Guard.Sandbox != "off" && (s.Run.Sandbox == "" || view.Bound(s.Run.Sandbox))
	l := &loop.Loop{Host: session.Host{Repo: a.repo, Log: a.warn, Now: time.Now}, Settings: a.loopSettings(set),
		Prompt: opts}
	return l.NextPrompt(s, id), nil
}

// template prints one template, or their names.
func (c *PromptCmd) template(a *App) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	opts, err := a.promptOptions(set, repo.Root)
	if err != nil {
		return err
	}
	want := c.Template.Value
	if want == "" {
		want = c.Task
	}
	var names []string
	for _, r := range agentctx.Roles() {
		if string(r) == want {
			file, text := opts.Templates.Source(r)
			if terminal(a.Out) {
				a.printf("%s\n\n", a.colour(a.Out, "2", file))
			}
			a.printf("%s\n", strings.TrimRight(text, "\n"))
			return nil
		}
		names = append(names, string(r))
	}
	if want == "" {
		a.printf("%s\n", strings.Join(names, "\n"))
		return nil
	}
	return usage("roles: "+strings.Join(names, ", "), "there is no template %q", want)
}
