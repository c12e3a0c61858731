package exchange

import (
	"time"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

type implementationJSON struct {
	Tasks     []implementationTask `json:"tasks"`
	CreatedAt *time.Time           `json:"created_at,omitempty"`
}

type implementationTask struct {
	ID                   plan.TaskID   `json:"id"`
	Description          string        `json:"description"`
	Priority             int           `json:"priority"`
	Status               string        `json:"status"`
	Dependencies         []plan.TaskID `json:"dependencies"`
	VerificationCriteria []string      `json:"verification_criteria"`
	Blockers             []string      `json:"blockers"`
	EstimatedTokens      int64         `json:"estimated_tokens"`
	ActualTokensUsed     *int64        `json:"actual_tokens_used"`
	CompletionNotes      *string       `json:"completion_notes"`
	CompletedAt          *time.Time    `json:"completed_at"`
	RetryCount           int           `json:"retry_count"`
}

// exportImplementation puts the title first in the description, where that
// format's prompt shows it and where Import finds it again.
func exportImplementation(p plan.Plan) implementationJSON {
	out := implementationJSON{Tasks: []implementationTask{}, CreatedAt: jsonTime(p.Created)}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		w := implementationTask{
			ID: t.ID, Description: t.Title, Priority: t.Priority, Dependencies: text.OrEmpty(t.DependsOn),
			VerificationCriteria: proofs(t, false), Blockers: text.OrEmpty(t.BlockedBy),
			EstimatedTokens: t.EstimatedTokens, RetryCount: t.Attempts,
		}
		if t.Description != "" && plan.TitleFrom(t.Description) == t.Title {
			w.Description = t.Description
		} else if t.Description != "" {
			w.Description += "\n\n" + t.Description
		}
		switch t.Status {
		case plan.Done:
			w.Status = "complete"
		case plan.Failed, plan.Blocked:
			w.Status = "blocked"
		case plan.Skipped: // finished, as far as that tool can say
			w.Status = "complete"
		default:
			w.Status = string(t.Status)
		}
		if t.ActualTokens != 0 {
			w.ActualTokensUsed = &t.ActualTokens
		}
		if t.Notes != "" {
			w.CompletionNotes = &t.Notes
		}
		if t.CompletedAt != nil {
			w.CompletedAt = jsonTime(*t.CompletedAt)
		}
		out.Tasks = append(out.Tasks, w)
	}
	return out
}
