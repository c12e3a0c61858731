package plan

import (
	"fmt"
	"slices"
	"strings"
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

// KnownTasks says what to do with tasks that the plan already has.
type KnownTasks bool

// The values of KnownTasks.
const (
	ReplaceKnown KnownTasks = true
	RefuseKnown  KnownTasks = false
)

// Merge adds the tasks of in to old. New ids go to the end. Ids that old has
// already, in any case, are refused as a ClashError that names them all. With
// replace, such a task takes over in's version and keeps its place, its
// spelling and its costs. Done tasks are never changed. The result is validated
// (Problems). old and in stay as they are.
func Merge(old, in Plan, replace KnownTasks) (Plan, Change, error) {
	at := make(map[string]int, len(old.Tasks))
	for i := range old.Tasks {
		at[Fold(old.Tasks[i].ID)] = i
	}
	if replace == RefuseKnown {
		var clash []TaskID
		for i := range in.Tasks {
			if j, ok := at[Fold(in.Tasks[i].ID)]; ok {
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
		j, ok := at[Fold(t.ID)]
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
	if in.Goal != "" && (replace == ReplaceKnown || old.Goal == "") {
		out.Goal = in.Goal
	}
	if out.Created.IsZero() {
		out.Created = in.Created
	}
	CanonicalDependencies(out.Tasks, nil)
	change := Difference(old, out)
	change.Kept = kept
	return out, change, Check(out, Places{}, nil).Err()
}

// ReplacedReason is the first entry in blocked_by of a task that a new plan has
// replaced. Its verify commands go on to bind (Carried).
const ReplacedReason = "replaced"

// Replan replaces the unfinished rest of the old plan by a new one. Done and
// skipped tasks stay, the others are set aside, and the new ones follow. An id
// that the old plan has used is refused, because the planner may mean another
// task. The result is validated (Problems).
func Replan(old, in Plan, iteration int, reason string) (Plan, []TaskID, error) {
	kept := old.clone()
	var aside []TaskID
	for i := range kept.Tasks {
		if t := &kept.Tasks[i]; t.Status != Done && t.Status != Skipped {
			t.PutAside(iteration, ReplacedReason, reason)
			aside = append(aside, t.ID)
		}
	}
	out, _, err := Merge(kept, in, RefuseKnown)
	if in.Goal != "" && out.Tasks != nil {
		out.Goal = in.Goal
	}
	return out, aside, err
}

// Carried are the verify commands of tasks that new plans have replaced, each
// once. They are run when the plan is complete, whatever took their place.
func (p Plan) Carried() []string {
	var out []string
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if !t.replaced() {
			continue
		}
		for _, v := range t.Verify {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func (t *Task) replaced() bool {
	return t.Status == Skipped && len(t.BlockedBy) > 0 && t.BlockedBy[0] == ReplacedReason
}

// CarriedBy are the replaced tasks that a verify command comes from.
func (p Plan) CarriedBy(verify string) []TaskID {
	var out []TaskID
	for i := range p.Tasks {
		if t := &p.Tasks[i]; t.replaced() &&
			slices.ContainsFunc(t.Verify, func(v string) bool { return strings.TrimSpace(v) == verify }) {
			out = append(out, t.ID)
		}
	}
	return out
}

// clone copies p so that the copy's tasks can be changed alone.
func (p Plan) clone() Plan {
	out := Plan{Goal: p.Goal, Created: p.Created, Tasks: make([]Task, len(p.Tasks)), Retired: p.Retired}
	for i := range p.Tasks {
		out.Tasks[i] = p.Tasks[i].clone()
	}
	return out
}
