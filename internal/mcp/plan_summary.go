package mcp

import (
	"slices"

	"git-ralph/plan"
)

// maxListed bounds the tasks of a summary: an answer goes into the agent's
// window.
const maxListed = 200

func getPlanSummary() tool {
	return tool{
		name: "ralph_get_plan_summary",
		help: "Get the goal, the number of tasks in each state and the tasks, each with status, priority and what it " +
			"waits on.",
		where:   "every run",
		args:    none(),
		offered: everyone,
		run:     func(b *Box, _ values) (any, error) { return b.planSummary(), nil },
	}
}

type planSummary struct {
	Goal      string        `json:"goal"`
	Counts    plan.Counts   `json:"tasks"`
	Percent   int           `json:"completion_percentage"`
	Remaining int           `json:"remaining_tasks"`
	Current   plan.TaskID   `json:"current_task,omitempty"`
	List      []taskSummary `json:"list"`
	// Omitted is how many tasks are not in the list, finished ones first.
	Omitted int `json:"omitted,omitempty"`
}

type taskSummary struct {
	ID        plan.TaskID   `json:"id"`
	Title     string        `json:"title"`
	Status    plan.Status   `json:"status"`
	Priority  int           `json:"priority"`
	DependsOn []plan.TaskID `json:"depends_on"`
	// Added by this run; it joins the plan when the run is kept.
	Added bool `json:"added,omitempty"`
}

func (b *Box) planSummary() planSummary {
	p := b.plan()
	s := planSummary{Goal: brief(p.Goal, 1000), Counts: p.Counts(), Percent: p.PercentComplete(),
		Remaining: p.Remaining(), List: []taskSummary{}}
	if b.scope.Task != nil {
		s.Current = b.scope.Task.ID
	}
	known := len(b.scope.State.Plan.Tasks)
	// Unfinished tasks take the places first; the order stays the plan's.
	var listed []int
	for _, finished := range []bool{false, true} {
		for i := range p.Tasks {
			if done := p.Tasks[i].Status == plan.Done || p.Tasks[i].Status == plan.Skipped; done == finished &&
				len(listed) < maxListed {
				listed = append(listed, i)
			}
		}
	}
	slices.Sort(listed)
	for _, i := range listed {
		t := &p.Tasks[i]
		deps := t.DependsOn[:min(len(t.DependsOn), 50)]
		s.List = append(s.List, taskSummary{ID: t.ID, Title: brief(t.Title, 200), Status: t.Status, Priority: t.Priority,
			DependsOn: append([]plan.TaskID{}, deps...), Added: i >= known})
	}
	s.Omitted = len(p.Tasks) - len(listed)
	return s
}
