package mcp

import (
	"encoding/json"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func getStateSummary() tool {
	return tool{
		name: "ralph_get_state_summary",
		help: "Get phase, iteration, attempt, what the run has cost so far, the circuit breaker, and what your calls " +
			"have recorded. Figures are of the start of this iteration.",
		where:   "every run",
		args:    none(),
		offered: everyone,
		run:     func(b *Box, _ values) (any, error) { return b.stateSummary(), nil },
	}
}

type stateSummary struct {
	Phase     state.Phase    `json:"phase"`
	Role      session.Role   `json:"role"`
	Status    state.Status   `json:"status"`
	Iteration int            `json:"iteration"`
	Session   int            `json:"session"`
	Task      plan.TaskID    `json:"task,omitempty"`
	Attempt   int            `json:"attempt,omitempty"`
	Counts    plan.Counts    `json:"tasks"`
	Percent   int            `json:"completion_percentage"`
	Cost      costSummary    `json:"cost_usd"`
	Tokens    int64          `json:"tokens_total"`
	Context   int            `json:"context_percent,omitempty"`
	Breaker   breakerSummary `json:"breaker"`
	Questions int            `json:"open_questions"`
	Recorded  recorded       `json:"recorded"`
}

// costSummary is in dollars. Unknown: some client reported no cost, so that the
// sums are too small.
type costSummary struct {
	Session json.Number `json:"session"`
	Total   json.Number `json:"total"`
	Unknown bool        `json:"unknown,omitempty"`
}

type breakerSummary struct {
	State      string `json:"state"`
	Failures   int    `json:"failures"`
	Stagnation int    `json:"stagnation"`
}

// recorded is what the calls of this run left so far.
type recorded struct {
	Complete  bool `json:"complete"`
	Blocked   bool `json:"blocked"`
	Retry     bool `json:"retry"`
	Handoff   bool `json:"handoff"`
	Learnings int  `json:"learnings"`
	Memory    int  `json:"memory"`
	Tasks     int  `json:"tasks"`
	Criteria  int  `json:"criteria"`
	Knowledge int  `json:"knowledge"`
	Questions int  `json:"questions"`
}

func (b *Box) stateSummary() stateSummary {
	r, p := b.scope.State.Run, b.plan()
	s := stateSummary{Phase: b.scope.Phase, Role: b.scope.Role, Status: r.Status, Iteration: b.scope.Iteration,
		Session: r.Session,
		Attempt: b.scope.Attempt, Counts: p.Counts(), Percent: p.PercentComplete(),
		Cost: costSummary{json.Number(plan.Dollars(r.Cost.Session)), json.Number(plan.Dollars(r.Cost.Total)),
			r.Cost.Unknown},
		Tokens: r.Tokens.Total(), Context: r.ContextPct,
		Breaker: breakerSummary{r.Breaker.State, r.Breaker.Failures, r.Breaker.Stagnation},
		Recorded: recorded{Complete: b.got.Complete != nil, Blocked: b.got.Blocked != nil, Retry: b.got.Retry != "",
			Handoff:   b.got.Handoff != nil,
			Learnings: len(b.got.Learnings), Memory: len(b.got.Memory), Tasks: len(b.got.Tasks), Criteria: len(b.got.Criteria),
			Knowledge: len(b.puts), Questions: b.got.Asked}}
	if b.scope.Task != nil {
		s.Task = b.scope.Task.ID
	}
	for _, q := range b.scope.State.Questions {
		if !q.Answered {
			s.Questions++
		}
	}
	return s
}
