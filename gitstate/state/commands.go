package state

import (
	"maps"
	"slices"

	"git-ralph/plan"
)

// Command is a text of the journal that a run executes or obeys: a task's verify
// command, a recorded check, a setting that was changed during a run.
type Command struct {
	Task plan.TaskID // "" when it is not a task's
	Text string
}

// Commands lists what a run on this state would execute or obey, each once.
func (s State) Commands() []Command {
	var out commandList
	for _, t := range s.Plan.Tasks {
		out.add(t.ID, t.Verify...)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Run.Overrides)) {
		out.add("", override(key, s.Run.Overrides[key]))
	}
	return out.list
}

// NewCommands lists the commands that an event brings and that the state before
// it did not have. An event that only brings back or takes over what others
// wrote (rewind, merge) brings none.
func NewCommands(old State, e Event) []Command {
	var out commandList
	plans := []*PlanChange{e.Plan}
	if e.Result != nil {
		plans = append(plans, e.Result.Plan)
	}
	for _, p := range plans {
		if p == nil {
			continue
		}
		for _, t := range p.Upsert {
			out.add(t.ID, t.Verify...)
		}
	}
	if e.Amend != nil && e.Amend.Task != nil {
		out.add(e.Amend.Task.ID, e.Amend.Task.Verify...)
	}
	if e.Operator != nil && e.Operator.Command == "set" {
		out.add("", override(e.Operator.Key, e.Operator.Value))
	}
	if e.Result != nil {
		for _, c := range e.Result.Checks {
			out.add(e.Task, c.Command)
		}
	}
	if len(out.list) == 0 {
		return nil
	}
	had := map[string]bool{}
	for _, c := range old.Commands() {
		had[c.Text] = true
	}
	return slices.DeleteFunc(out.list, func(c Command) bool { return had[c.Text] })
}

func override(key, value string) string { return "set " + key + " " + value }

// commandList collects commands, each once.
type commandList struct {
	list []Command
	seen map[Command]bool
}

func (l *commandList) add(task plan.TaskID, texts ...string) {
	for _, text := range texts {
		if c := (Command{task, text}); text != "" && !l.seen[c] {
			if l.seen == nil {
				l.seen = map[Command]bool{}
			}
			l.seen[c] = true
			l.list = append(l.list, c)
		}
	}
}
