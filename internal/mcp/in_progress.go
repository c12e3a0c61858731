package mcp

import "git-ralph/plan"

func markInProgress() tool {
	return tool{
		name: "ralph_mark_task_in_progress",
		help: "Say that you have begun with the task of this iteration. The harness has marked it already; nothing else " +
			"depends on this call.",
		where:   taskPhase,
		args:    object{taskIDField()},
		offered: coding,
		run: func(b *Box, v values) (any, error) {
			t, err := b.current(v.text("task_id"))
			if err != nil {
				return nil, err
			}
			if err := b.going(); err != nil {
				return nil, err
			}
			b.got.InProgress = true
			return taskStatus{TaskID: t.ID, Status: plan.InProgress}, nil
		},
	}
}

type taskStatus struct {
	TaskID plan.TaskID `json:"task_id"`
	Status plan.Status `json:"status"`
	Note   string      `json:"note,omitempty"`
}
