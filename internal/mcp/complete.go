package mcp

import (
	"slices"

	"git-ralph/plan"
)

// maxNotes is how much text a claim about a task may carry, in characters.
const maxNotes = 10000

func markComplete() tool {
	return tool{
		name: "ralph_mark_task_complete",
		help: "Report the task of this iteration as complete, after its criteria are met and the checks pass. " +
			"This is a claim: the harness runs the checks when your run has ended, and they decide. The figures in the answer " +
			"hold if they pass.",
		where: taskPhase,
		args: object{taskIDField(),
			{name: "verification_notes",
				help: "how you saw that every criterion is met: commands and what they printed", max: maxNotes}},
		offered: coding,
		run: func(b *Box, v values) (any, error) {
			t, err := b.current(v.text("task_id"))
			if err != nil {
				return nil, err
			}
			if err := b.going(); err != nil {
				return nil, err
			}
			b.got.Complete = claim(t, v.text("verification_notes"))
			would := b.plan()
			would.Tasks = slices.Clone(would.Tasks)
			if i := would.Find(t.ID); i >= 0 {
				would.Tasks[i].Status = plan.Done
			}
			return completion{TaskID: t.ID, Percent: would.PercentComplete(), Remaining: would.Remaining()}, nil
		},
	}
}

// completion is how the plan would stand. The percentage is 0 to 100, rounded
// down, the same as percent_complete of `git ralph status --json`.
type completion struct {
	TaskID    plan.TaskID `json:"task_id"`
	Percent   int         `json:"completion_percentage"`
	Remaining int         `json:"remaining_tasks"`
}
