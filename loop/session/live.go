package session

import (
	"time"

	"git-ralph/plan"
)

// Live is one line of `start --json` and of the live view.
type Live struct {
	Time      time.Time   `json:"time"`
	Event     string      `json:"event"`
	Iteration int         `json:"iteration,omitempty"`
	Task      plan.TaskID `json:"task,omitempty"`
	Worker    int         `json:"worker,omitempty"` // of several
	Message   string      `json:"message"`
	Data      any         `json:"data,omitempty"`
}
