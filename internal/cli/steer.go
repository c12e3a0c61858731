package cli

import (
	"cmp"
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/plan"
)

// PauseCmd is `git ralph pause`.
type PauseCmd struct{}

// Run pauses the run.
func (PauseCmd) Run(a *App) error {
	waits := false
	_, changed, err := a.change(func(s state.State) (state.Event, error) {
		waits = s.Run.Status == state.Waiting
		if s.Run.PauseAsked {
			return state.Event{}, journal.ErrNothing
		}
		return operator(state.Operator{Command: "pause"}), nil
	})
	if err != nil {
		return err
	}
	_, alive := a.journal.Repo.BranchHolder(a.journal.Branch)
	switch {
	case !changed:
		a.printf("paused already; git ralph resume continues\n")
	case alive && waits:
		a.printf("paused: the loop waits; git ralph resume continues\n")
	case alive:
		a.printf("paused: the iteration in work ends, then the loop waits; git ralph resume continues\n")
	default:
		a.printf("paused; git ralph resume allows git ralph start again\n")
	}
	return nil
}

func operator(o state.Operator) state.Event {
	return state.Event{Type: state.EvOperator, Operator: &o}
}

// ResumeCmd is `git ralph resume`.
type ResumeCmd struct{}

// Run ends a pause and lets an open breaker try once.
func (ResumeCmd) Run(a *App) error {
	var before state.Run
	_, changed, err := a.change(func(s state.State) (state.Event, error) {
		before = s.Run
		if !s.Run.PauseAsked && s.Run.Breaker.State != "open" && s.Run.Status != state.Paused &&
			s.Run.Status != state.NeedsReview {
			return state.Event{}, journal.ErrNothing
		}
		return operator(state.Operator{Command: "resume"}), nil
	})
	if err != nil {
		return err
	}
	_, alive := a.journal.Repo.BranchHolder(a.journal.Branch)
	if !changed {
		if alive {
			a.printf("nothing is paused; the loop is running\n")
		} else {
			a.printf("nothing is paused; git ralph start begins a run\n")
		}
		return nil
	}
	if before.PauseAsked || before.Status == state.Paused {
		a.printf("resumed\n")
	}
	if before.Status == state.NeedsReview {
		a.printf("reviewed: %s\n", before.Reason)
	}
	if before.Breaker.State == "open" {
		a.printf("the circuit breaker (%s) is half open: one attempt, and a success closes it\n", before.Breaker.Reason)
	}
	if !alive {
		a.printf("next: git ralph start\n")
	}
	return nil
}

// StopCmd is `git ralph stop`.
type StopCmd struct {
	Now bool `help:"Stop the agent at once; its attempt is kept as evidence and the checkpoint restored."`
}

// Run ends the running session.
func (c *StopCmd) Run(a *App) error {
	if _, _, err := a.running(); err != nil {
		return err
	}
	session := 0
	_, changed, err := a.change(func(s state.State) (state.Event, error) {
		session = s.Run.Session
		return stopEvent(s, c.Now)
	})
	if err != nil {
		return err
	}
	switch {
	case !changed:
		a.printf("session %d was asked to stop already\n", session)
	case c.Now:
		a.printf("session %d stops now\n", session)
	default:
		a.printf("session %d stops after this iteration; --now does not wait for it\n", session)
	}
	return nil
}

// stopEvent asks the session at work to end; journal.ErrNothing when it was
// asked already.
func stopEvent(s state.State, now bool) (state.Event, error) {
	session := s.Run.Session
	if s.Run.StopAsked == session && session > 0 && (s.Run.StopNow || !now) {
		return state.Event{}, journal.ErrNothing
	}
	o := state.Operator{Command: "stop", Session: session}
	if now {
		o.Command = "stop-now"
	}
	return operator(o), nil
}

// InjectCmd is `git ralph inject`.
type InjectCmd struct {
	Text []string `arg:"" help:"What the agent should know; - reads standard input."`
	Task string   `complete:"tasks" placeholder:"ID" help:"For this task alone, with its next prompt."`
}

// Help says more.
func (InjectCmd) Help() string {
	return "The note is in the next prompt and in those after it until the task of that prompt is finished. While a run " +
		"with several workers goes on, it is in the next prompt of each of them. An agent that is at work now does not " +
		"have it before its task needs another attempt."
}

// Run gives the agent a note with its next prompt.
func (c *InjectCmd) Run(a *App) error {
	text := strings.Join(c.Text, " ")
	if len(c.Text) == 1 && text == "-" {
		data, err := a.readInput("-")
		if err != nil {
			return err
		}
		text = string(data)
	}
	if text = strings.TrimSpace(text); text == "" {
		return usage(`git ralph inject "use the new API"`, "there is nothing to tell the agent")
	}
	if len(text) > 16<<10 {
		return gitstate.Hint(1, "put it into a file of the project and name that",
			"a note of %d bytes is too long for a prompt; at most 16 KiB", len(text))
	}
	if c.Task != "" {
		return c.forTask(a, text)
	}
	snap, _, err := a.change(func(state.State) (state.Event, error) { return a.noteEvent(text), nil })
	if err != nil {
		return err
	}
	if g := snap.State.Guidance; len(g) > 0 && g[len(g)-1].Workers > 0 {
		a.printf("the note is added to the next prompt of each worker and stays there until those tasks are finished\n")
		return nil
	}
	a.printf("the note is added to the next prompt and stays there until that task is finished\n")
	return nil
}

// forTask adds the note to the next prompt of one task.
func (c *InjectCmd) forTask(a *App, text string) error {
	var id plan.TaskID
	_, _, err := a.changeTasks(func(s state.State) (state.Event, error) {
		ids, err := taskIDs(s.Plan, []string{c.Task})
		if err != nil {
			return state.Event{}, err
		}
		id = ids[0]
		switch t := s.Plan.Tasks[s.Plan.Find(id)]; t.Status {
		case plan.Done, plan.Skipped:
			return state.Event{}, gitstate.Hint(1, "git ralph retry "+string(id)+" makes it pending again",
				"%s is %s: there is no prompt to come", id, t.Status)
		}
		e := a.noteEvent(text)
		e.Operator.Tasks = ids
		return e, nil
	})
	if err != nil {
		return err
	}
	a.printf("the note is added to the next prompt of %s and stays there until that task is finished\n", id)
	return nil
}

// noteEvent gives the agent a note with its next prompt.
func (a *App) noteEvent(text string) state.Event {
	return operator(state.Operator{Command: "inject", Text: text, ID: "G-" + gitstate.NewID(a.journal.Now())})
}

// SetCmd is `git ralph set`.
type SetCmd struct {
	Key   string  `complete:"settable" arg:"" optional:"" help:"The setting, such as mode or limits.session_usd; none lists what can be set."`
	Value *string `arg:"" optional:"" help:"Its value for this run."`
}

// Help says more.
func (SetCmd) Help() string {
	return "The value holds from the next iteration on and until the run's journal is reset, above ralph.toml and git " +
		"config and below the environment and flags."
}

// Run overrides a setting of the run.
func (c *SetCmd) Run(a *App) error {
	if c.Value == nil {
		return c.list(a)
	}
	key, value, err := config.ParseSet(c.Key, *c.Value)
	if err != nil {
		return &gitstate.HintError{Err: err, Hint: hintOf(err), Code: 2}
	}
	_, changed, err := a.change(func(s state.State) (state.Event, error) {
		if have, ok := s.Run.Overrides[key]; ok && have == value {
			return state.Event{}, journal.ErrNothing
		}
		return operator(state.Operator{Command: "set", Key: key, Value: value}), nil
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("%s is %s already\n", key, cmp.Or(value, `""`))
		return nil
	}
	a.printf("%s = %s from the next iteration on\n", key, cmp.Or(value, `""`))
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	if e, err := set.Lookup(key); err == nil && e.Origin.Layer > config.LayerRun {
		a.warn("%s still wins", e.Origin)
	}
	return nil
}

// list shows what can be set, or one key with its value.
func (c *SetCmd) list(a *App) error {
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	keys := config.Settable()
	if c.Key != "" {
		e, err := set.Lookup(config.LongKey(c.Key))
		if err != nil {
			return &gitstate.HintError{Err: err, Hint: hintOf(err), Code: 2}
		}
		return usage(fmt.Sprintf("git ralph set %s VALUE", e.Key), "%s is %s now; name its new value", e.Key,
			config.Text(e.Value))
	}
	var rows [][]string
	for _, key := range keys {
		if e, err := set.Lookup(key); err == nil {
			rows = append(rows, []string{e.Text(), a.colour(a.Out, "2", e.Origin.String())})
		}
	}
	a.printer().Table(rows)
	return nil
}
