package exchange

import (
	"git-ralph/internal/text"
	"git-ralph/plan"
)

type prdTask struct {
	ID                 plan.TaskID   `json:"id"`
	Title              string        `json:"title"`
	Description        string        `json:"description"`
	Priority           int           `json:"priority"`
	Status             string        `json:"status"`
	Dependencies       []plan.TaskID `json:"dependencies"`
	AcceptanceCriteria []string      `json:"acceptance_criteria"`
}

type prdStory struct {
	ID                 plan.TaskID `json:"id"`
	Title              string      `json:"title"`
	Description        string      `json:"description"`
	AcceptanceCriteria []string    `json:"acceptanceCriteria"`
	Priority           int         `json:"priority"`
	Passes             bool        `json:"passes"`
	Notes              string      `json:"notes"`
}

func exportPRD(p plan.Plan) any {
	out := struct {
		Description string    `json:"description,omitempty"`
		Tasks       []prdTask `json:"tasks"`
	}{text.OneLine(p.Goal), []prdTask{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		w := prdTask{
			ID: t.ID, Title: t.Title, Description: t.Description, Priority: t.Priority,
			Dependencies: text.OrEmpty(t.DependsOn), AcceptanceCriteria: proofs(t, false),
		}
		switch t.Status {
		case plan.Done, plan.Skipped:
			w.Status = "done"
		case plan.Failed, plan.Blocked:
			w.Status = "failed"
		case plan.InProgress:
			w.Status = "in_progress"
		default:
			w.Status = "todo"
		}
		out.Tasks = append(out.Tasks, w)
	}
	return out
}

func exportStories(p plan.Plan) any {
	out := struct {
		Description string     `json:"description,omitempty"`
		UserStories []prdStory `json:"userStories"`
	}{text.OneLine(p.Goal), []prdStory{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		out.UserStories = append(out.UserStories, prdStory{
			ID: t.ID, Title: t.Title, Description: t.Description, AcceptanceCriteria: proofs(t, false),
			Priority: t.Priority, Passes: t.Status == plan.Done || t.Status == plan.Skipped, Notes: t.Notes,
		})
	}
	return out
}
