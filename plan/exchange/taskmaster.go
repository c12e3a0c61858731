package exchange

import (
	"fmt"
	"time"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

type taskMasterJSON struct {
	Master struct {
		Tasks    []taskMasterTask `json:"tasks"`
		Metadata struct {
			Created     *time.Time `json:"created,omitempty"`
			Description string     `json:"description,omitempty"`
		} `json:"metadata"`
	} `json:"master"`
}

type taskMasterTask struct {
	ID           int                 `json:"id"`
	Title        string              `json:"title"`
	Description  string              `json:"description"`
	Details      string              `json:"details"`
	TestStrategy string              `json:"testStrategy"`
	Priority     string              `json:"priority"`
	Status       string              `json:"status"`
	Dependencies []int               `json:"dependencies"`
	Subtasks     []struct{}          `json:"subtasks"`
	Metadata     *taskMasterMetadata `json:"metadata,omitempty"`
}

// taskMasterMetadata is where task-master keeps what users add to a task.
type taskMasterMetadata struct {
	ID plan.TaskID `json:"git_ralph_id"`
}

func exportTaskMaster(p plan.Plan) taskMasterJSON {
	var out taskMasterJSON
	out.Master.Tasks = []taskMasterTask{}
	out.Master.Metadata.Description = text.OneLine(p.Goal)
	out.Master.Metadata.Created = jsonTime(p.Created)
	number := numbers(p)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		w := taskMasterTask{
			ID: number[t.ID], Title: t.Title, Description: t.Description, TestStrategy: bullets(proofs(t, true)),
			Dependencies: []int{}, Subtasks: []struct{}{},
		}
		if fmt.Sprint(w.ID) != string(t.ID) {
			w.Metadata = &taskMasterMetadata{ID: t.ID}
		}
		for _, dep := range t.DependsOn {
			if n, ok := number[dep]; ok {
				w.Dependencies = append(w.Dependencies, n)
			}
		}
		switch {
		case t.Priority <= 1:
			w.Priority = "high"
		case t.Priority == 2:
			w.Priority = "medium"
		default:
			w.Priority = "low"
		}
		switch t.Status {
		case plan.InProgress:
			w.Status = "in-progress"
		case plan.Done:
			w.Status = "done"
		case plan.Blocked:
			w.Status = "blocked"
		case plan.Skipped:
			w.Status = "cancelled"
		default:
			w.Status = "pending"
		}
		out.Master.Tasks = append(out.Master.Tasks, w)
	}
	return out
}
