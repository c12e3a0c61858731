package plan

import (
	"slices"
	"strings"
	"time"

	"git-ralph/internal/text"
)

// Field is one field of a task under its name in our own formats. at gives a
// pointer to it, whose type says how it is read, written and compared: *string,
// *TaskID, *Status, *[]string, *[]TaskID, *bool, *int, *int64, **int,
// **time.Time.
type Field struct {
	Name string
	At   func(*Task) any
}

// TaskFields is every field of a task in the order of our files: what it is,
// what it waits on, what proves it, its results. Long texts of the harness come
// last, so that `git log -p` shows a change of status near the top.
var TaskFields = [...]Field{
	{"id", func(t *Task) any { return &t.ID }},
	{"title", func(t *Task) any { return &t.Title }},
	{"status", func(t *Task) any { return &t.Status }},
	{"priority", func(t *Task) any { return &t.Priority }},
	{"depends_on", func(t *Task) any { return &t.DependsOn }},
	{"description", func(t *Task) any { return &t.Description }},
	{"criteria", func(t *Task) any { return &t.Criteria }},
	{"verify", func(t *Task) any { return &t.Verify }},
	{"skills", func(t *Task) any { return &t.Skills }},
	{"libraries", func(t *Task) any { return &t.Libraries }},
	{"needs_docs", func(t *Task) any { return &t.NeedsDocs }},
	{"spec", func(t *Task) any { return &t.Spec }},
	{"type", func(t *Task) any { return &t.Type }},
	{"model", func(t *Task) any { return &t.Model }},
	{"max_turns", func(t *Task) any { return &t.MaxTurns }},
	{"max_attempts", func(t *Task) any { return &t.MaxAttempts }},
	{"allow_test_changes", func(t *Task) any { return &t.AllowTestChanges }},
	{"no_change_expected", func(t *Task) any { return &t.NoChangeExpected }},
	{"allow_protected", func(t *Task) any { return &t.AllowProtected }},
	{"estimated_tokens", func(t *Task) any { return &t.EstimatedTokens }},
	{"attempts", func(t *Task) any { return &t.Attempts }},
	{"rung", func(t *Task) any { return &t.Rung }},
	{"partial", func(t *Task) any { return &t.Partial }},
	{"actual_tokens", func(t *Task) any { return &t.ActualTokens }},
	{"cost_micro_usd", func(t *Task) any { return &t.CostMicroUSD }},
	{"completed_at", func(t *Task) any { return &t.CompletedAt }},
	{"blocked_by", func(t *Task) any { return &t.BlockedBy }},
	{"skipped_by", func(t *Task) any { return &t.SkippedBy }},
	{"skipped_in", func(t *Task) any { return &t.SkippedIn }},
	{"notes", func(t *Task) any { return &t.Notes }},
	{"failure", func(t *Task) any { return &t.Failure }},
}

// FieldNamed is the field of a task by its key.
func FieldNamed(name string) (Field, bool) {
	for _, f := range TaskFields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// changedFields names the fields in which two tasks differ, in the order of
// taskFields. An empty list is no list, and a moment is the same in every zone.
func changedFields(a, b *Task) []string {
	var out []string
	for _, f := range TaskFields {
		if !SameValue(f.At(a), f.At(b)) {
			out = append(out, f.Name)
		}
	}
	return out
}

// SameValue compares what two Field.At returned: an empty list is no list.
func SameValue(a, b any) bool {
	switch a := a.(type) {
	case *string:
		return *a == *b.(*string)
	case *TaskID:
		return *a == *b.(*TaskID)
	case *Status:
		return *a == *b.(*Status)
	case *bool:
		return *a == *b.(*bool)
	case *int:
		return *a == *b.(*int)
	case *int64:
		return *a == *b.(*int64)
	case *[]string:
		return slices.Equal(*a, *b.(*[]string))
	case *[]TaskID:
		return slices.Equal(*a, *b.(*[]TaskID))
	case **int:
		b := *b.(**int)
		return *a == nil && b == nil || *a != nil && b != nil && **a == *b
	case **time.Time:
		b := *b.(**time.Time)
		return *a == nil && b == nil || *a != nil && b != nil && (*a).Equal(*b)
	}
	panic("plan: a field of a task has a type that sameValue does not know")
}

// clone copies a task so that the copy's lists can be changed alone.
func (t Task) clone() Task {
	t.DependsOn = slices.Clone(t.DependsOn)
	t.Criteria = slices.Clone(t.Criteria)
	t.Verify = slices.Clone(t.Verify)
	t.Skills = slices.Clone(t.Skills)
	t.Libraries = slices.Clone(t.Libraries)
	t.BlockedBy = slices.Clone(t.BlockedBy)
	t.AllowProtected = slices.Clone(t.AllowProtected)
	if t.MaxAttempts != nil {
		n := *t.MaxAttempts
		t.MaxAttempts = &n
	}
	if t.CompletedAt != nil {
		c := *t.CompletedAt
		t.CompletedAt = &c
	}
	return t
}

// synonym is what other tools call our fields; a wrong key is more often one
// of these than a slip of the finger.
func synonym(key string) string {
	switch strings.ToLower(key) {
	case "dependencies", "dependson", "depends", "after":
		return "depends_on"
	case "acceptance_criteria", "acceptancecriteria", "verification_criteria":
		return "criteria"
	case "max_retries":
		return "max_attempts"
	case "retry_count", "retries":
		return "attempts"
	case "blockers":
		return "blocked_by"
	case "name", "summary":
		return "title"
	case "details", "body":
		return "description"
	case "task":
		return "tasks"
	case "cost_usd", "cost":
		return "cost_micro_usd"
	case "check", "checks", "tests", "commands":
		return "verify"
	}
	return ""
}

// nearest is the known key that was most likely meant, empty when none is near.
func nearest(key string, known []string) string {
	if s := synonym(key); s != "" && slices.Contains(known, s) {
		return s
	}
	best, bestDistance := "", len(key)/3+2
	if len(key) > 2*MaxID {
		return "" // a key that long is no slip, and the distance is quadratic
	}
	for _, k := range known {
		if d := text.Distance(strings.ToLower(key), k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}
