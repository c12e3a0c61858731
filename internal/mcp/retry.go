package mcp

import "git-ralph/plan"

const retryUnexplained = "the agent asked for another attempt"

func incrementRetry() tool {
	return tool{
		name: "ralph_increment_retry",
		help: "Give this attempt up and ask for a fresh one. This ends the iteration as rejected: the worktree is put back " +
			"and an attempt is spent. The reason is shown to the next attempt. Leave a handoff and end your run.",
		where: taskPhase,
		args: object{
			{name: "task_id", help: "the task of this iteration", max: plan.MaxID},
			{name: "reason", help: "what went wrong and what the next attempt should do otherwise", max: maxNotes}},
		offered: coding,
		run: func(b *Box, v values) (any, error) {
			t, err := b.current(v.text("task_id"))
			if err != nil {
				return nil, err
			}
			if b.got.Retry == "" {
				if err := b.going(); err != nil {
					return nil, err
				}
			}
			if b.got.Retry = text(v.text("reason")); b.got.Retry == "" {
				b.got.Retry = retryUnexplained
			}
			b.endAs("another attempt was asked for")
			// Attempt counts from 1, so it is also the number spent by this one.
			return retried{TaskID: t.ID, Attempts: b.scope.Attempt, Note: "leave a handoff and end your run"}, nil
		},
	}
}

type retried struct {
	TaskID   plan.TaskID `json:"task_id"`
	Attempts int         `json:"attempts"`
	Note     string      `json:"note"`
}
