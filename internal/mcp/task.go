package mcp

import (
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

const taskPhase = "the agent that works on a task in the building phase"

func taskIDField() field {
	return field{name: "task_id", help: "the task of this iteration", required: true, max: plan.MaxID}
}

// current is the task of this iteration when given names it.
func (b *Box) current(given string) (*plan.Task, error) {
	t := b.scope.Task
	if t == nil {
		return nil, refuse("do what the prompt asks and leave a handoff", "this run has no task")
	}
	// Ids are unique without regard to case, so t-003 can mean no other task.
	only := plan.Plan{Tasks: []plan.Task{*t}}
	if given != "" && only.Find(plan.TaskID(given)) < 0 {
		return nil, refuse("this iteration works on "+string(t.ID)+
			"; what concerns other tasks goes into the handoff's plan_amendments",
			"%s is not the task of this iteration", quoted(given))
	}
	return t, nil
}

// going refuses what makes no sense after the agent has ended its iteration.
func (b *Box) going() error {
	if b.ended == "" {
		return nil
	}
	return refuse("leave a handoff and end your run", "this iteration was ended already: %s", b.ended)
}

// end records that the agent gives its iteration up. A claim that the task is
// complete is taken back by it, so that a later look wins over an earlier hope.
func (b *Box) endAs(what string) {
	b.ended = what
	b.got.Complete = nil
}

func claim(t *plan.Task, s string) *session.Claim { return &session.Claim{TaskID: t.ID, Text: text(s)} }

// brief is a text on one line for summaries.
func brief(s string, max int) string { return notes.OneLine(s, max) }
