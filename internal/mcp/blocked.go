package mcp

import "git-ralph/plan"

func markBlocked() tool {
	return tool{
		name: "ralph_mark_task_blocked",
		help: "Give the task of this iteration up because something outside of it is missing. This ends the iteration: " +
			"the worktree is put back, no attempt is spent, and the task waits for a person. Leave a handoff and end your run.",
		where: taskPhase,
		args: object{taskIDField(),
			{name: "reason", help: "what is missing and who can provide it", required: true, max: maxNotes}},
		offered: coding,
		run: func(b *Box, v values) (any, error) {
			t, err := b.current(v.text("task_id"))
			if err != nil {
				return nil, err
			}
			if b.got.Blocked == nil {
				if err := b.going(); err != nil {
					return nil, err
				}
			}
			b.got.Blocked = claim(t, v.text("reason"))
			b.endAs("the task was reported as blocked")
			return taskStatus{TaskID: t.ID, Status: plan.Blocked, Note: "leave a handoff and end your run"}, nil
		},
	}
}
