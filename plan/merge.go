package plan

import (
	"fmt"
)

// ClashError names the ids that both plans have.
type ClashError struct{ IDs []TaskID }

func (e *ClashError) Error() string {
	if len(e.IDs) == 1 {
		return fmt.Sprintf("the plan has a task %s already", e.IDs[0])
	}
	return fmt.Sprintf("the plan has tasks with these ids already: %s", joinIDs(e.IDs))
}

// Hint is the next move.
func (e *ClashError) Hint() string {
	return "give the new tasks other ids, or replace the old ones with --replace (done tasks stay as they are)"
}

// Merge adds the tasks of in to old. New ids go to the end; ids that old has
// already, without regard to case, are refused as a ClashError that names them
// all, unless replace: then the task takes over what in says and keeps its
// place, its spelling and what it has cost. Done tasks are never touched. The
// result is validated (Problems). old and in stay as they are.
func Merge(old, in Plan, replace bool) (Plan, Change, error) {
	at := make(map[string]int, len(old.Tasks))
	for i := range old.Tasks {
		at[fold(old.Tasks[i].ID)] = i
	}
	if !replace {
		var clash []TaskID
		for i := range in.Tasks {
			if j, ok := at[fold(in.Tasks[i].ID)]; ok {
				clash = append(clash, old.Tasks[j].ID)
			}
		}
		if clash != nil {
			return Plan{}, Change{}, &ClashError{IDs: clash}
		}
	}
	out := old.clone()
	var kept []TaskID
	for i := range in.Tasks {
		t := in.Tasks[i].clone()
		j, ok := at[fold(t.ID)]
		switch {
		case !ok:
			out.Tasks = append(out.Tasks, t)
		case out.Tasks[j].Status == Done:
			kept = append(kept, out.Tasks[j].ID)
		default:
			was := &out.Tasks[j]
			t.ID, t.ActualTokens, t.CostMicroUSD = was.ID, was.ActualTokens, was.CostMicroUSD
			out.Tasks[j] = t
		}
	}
	if in.Goal != "" && (replace || old.Goal == "") {
		out.Goal = in.Goal
	}
	if out.Created.IsZero() {
		out.Created = in.Created
	}
	canonicalDependencies(out.Tasks, nil)
	change := Difference(old, out)
	change.Kept = kept
	return out, change, check(out, Places{}, nil).Err()
}

// Replan puts a new plan in the place of what is left of the old: done and
// skipped tasks stay, in front, everything else is replaced. An id of in that a
// kept task has is refused (ClashError), because the planner may have meant
// another task. The result is validated (Problems).
func Replan(old, in Plan) (Plan, Change, error) {
	kept := Plan{Goal: old.Goal, Created: old.Created}
	for i := range old.Tasks {
		if s := old.Tasks[i].Status; s == Done || s == Skipped {
			kept.Tasks = append(kept.Tasks, old.Tasks[i])
		}
	}
	out, _, err := Merge(kept, in, false)
	if err != nil && out.Tasks == nil {
		return Plan{}, Change{}, err
	}
	if in.Goal != "" {
		out.Goal = in.Goal
	}
	// What an id has cost belongs to it also when its task was planned anew.
	at := indexOf(old)
	for i := len(kept.Tasks); i < len(out.Tasks); i++ {
		if j, ok := at[out.Tasks[i].ID]; ok {
			out.Tasks[i].ActualTokens, out.Tasks[i].CostMicroUSD = old.Tasks[j].ActualTokens, old.Tasks[j].CostMicroUSD
		}
	}
	return out, Difference(old, out), err
}

// clone copies p so that the copy's tasks can be changed alone.
func (p Plan) clone() Plan {
	out := Plan{Goal: p.Goal, Created: p.Created, Tasks: make([]Task, len(p.Tasks))}
	for i := range p.Tasks {
		out.Tasks[i] = p.Tasks[i].clone()
	}
	return out
}
