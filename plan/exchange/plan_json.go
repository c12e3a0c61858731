package exchange

import (
	"git-ralph/internal/text"
	"git-ralph/plan"
)

type planJSON struct {
	Tasks []planTask `json:"tasks"`
}

type planTask struct {
	ID                 plan.TaskID   `json:"id"`
	Title              string        `json:"title"`
	Description        string        `json:"description"`
	Status             string        `json:"status"`
	Order              int           `json:"order"`
	Skills             []string      `json:"skills"`
	NeedsDocs          bool          `json:"needs_docs"`
	Libraries          []string      `json:"libraries"`
	AcceptanceCriteria []string      `json:"acceptance_criteria"`
	DependsOn          []plan.TaskID `json:"depends_on"`
	MaxTurns           int           `json:"max_turns,omitempty"`
	RetryCount         int           `json:"retry_count"`
	MaxRetries         *int          `json:"max_retries,omitempty"`
}

func exportPlan(p plan.Plan) planJSON {
	out := planJSON{Tasks: []planTask{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		status := t.Status
		if status == plan.Blocked { // what it would do with one: leave it to a person
			status = plan.Failed
		}
		out.Tasks = append(out.Tasks, planTask{
			ID: t.ID, Title: t.Title, Description: t.Description, Status: string(status), Order: i + 1,
			Skills: text.OrEmpty(t.Skills), NeedsDocs: t.NeedsDocs, Libraries: text.OrEmpty(t.Libraries),
			AcceptanceCriteria: proofs(t, false), DependsOn: text.OrEmpty(t.DependsOn),
			MaxTurns: t.MaxTurns, RetryCount: t.Attempts, MaxRetries: t.MaxAttempts,
		})
	}
	return out
}
