package mcp

import "git-ralph/plan"

func getNextTask() tool {
	return tool{
		name:    "ralph_get_next_task",
		help:    "Get the task of this iteration, whole. The harness chose it; it is the same for the whole run.",
		where:   taskPhase,
		args:    none(),
		offered: coding,
		run: func(b *Box, _ values) (any, error) {
			t, err := b.current("")
			if err != nil {
				return nil, err
			}
			return nextTask{Task: *t, Iteration: b.scope.Iteration, Attempt: b.scope.Attempt, Failure: t.Failure}, nil
		},
	}
}

type nextTask struct {
	Task      plan.Task `json:"task"`
	Iteration int       `json:"iteration"`
	Attempt   int       `json:"attempt"`
	// Failure of the attempt before.
	Failure string `json:"failure,omitempty"`
}
