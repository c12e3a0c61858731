package cli

import (
	"fmt"
	"strings"

	"git-ralph/internal/config"
	"git-ralph/loop"
)

// dryRun prints what a start would do, and changes nothing.
func (c *StartCmd) dryRun(a *App, set *config.Resolved) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	if done, err := c.nothingToDo(a, s); done || err != nil {
		return err
	}
	w, err := a.preflight(a.Ctx, set, s, &c.RunFlags, planWork)
	if err != nil {
		return err
	}
	action := loop.Decide(s, w.Settings.Limits, w.Now())
	prompt := w.NextPrompt(s, action.Task)
	if c.Worktree && !c.JSON {
		a.printf("worktree: %s\n", a.whichLinked())
	}
	if c.JSON {
		return a.printJSON(map[string]any{"decision": action.Kind, "task": action.Task, "reason": action.Reason,
			"sandbox": w.Sandbox.Mechanism(), "agent": set.Agent.Driver, "model": set.Agent.Model,
			"prompt": map[string]any{"tokens": prompt.Tokens, "budget": prompt.Budget, "dropped": prompt.Dropped,
				"text": prompt.Text}})
	}
	a.printf("decision: %s\n", strings.TrimSpace(fmt.Sprintf("%s %s", action.Kind,
		strings.TrimSpace(string(action.Task)+" "+action.Reason))))
	a.printf("agent: %s %s\n", set.Agent.Driver, set.Agent.Model)
	a.printf("sandbox: %s\n", w.Sandbox.Mechanism())
	for _, ck := range set.Checks {
		a.printf("check: %s: %s\n", ck.Name, ck.Run)
	}
	if prompt.Text != "" {
		a.printf("prompt: about %d of %d tokens\n\n%s", prompt.Tokens, prompt.Budget, prompt.Text)
	}
	return nil
}
