package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/text"
)

// Change is what differs between two plans, by id.
type Change struct {
	Added   []TaskID      `json:"added,omitempty"`
	Removed []TaskID      `json:"removed,omitempty"`
	Changed []TaskChanged `json:"changed,omitempty"`
	// Kept are tasks that a merge was given and left alone, because they are done.
	Kept []TaskID `json:"kept,omitempty"`
	// Reordered reports whether the tasks of both plans stand in another order.
	Reordered bool `json:"reordered,omitempty"`
	// Goal reports whether the goal is another.
	Goal bool `json:"goal,omitempty"`
}

// TaskChanged names the fields of a task that differ.
type TaskChanged struct {
	ID     TaskID   `json:"id"`
	Fields []string `json:"fields"`
}

// Empty reports whether there is no difference.
func (c Change) Empty() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 && !c.Reordered && !c.Goal
}

// String is one line: "3 added, 1 removed, 2 changed, reordered".
func (c Change) String() string {
	var parts []string
	count := func(n int, word string) {
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+word)
		}
	}
	count(len(c.Added), "added")
	count(len(c.Removed), "removed")
	count(len(c.Changed), "changed")
	count(len(c.Kept), "kept as done")
	if c.Reordered {
		parts = append(parts, "reordered")
	}
	if c.Goal {
		parts = append(parts, "new goal")
	}
	if len(parts) == 0 {
		return "no change"
	}
	return strings.Join(parts, ", ")
}

// Difference compares two plans. Added and Changed are in the order of the new
// plan, Removed in that of the old.
func Difference(old, new Plan) Change {
	c := Change{Goal: old.Goal != new.Goal}
	before := indexOf(old)
	after := indexOf(new)
	for i := range old.Tasks {
		if _, ok := after[old.Tasks[i].ID]; !ok {
			c.Removed = append(c.Removed, old.Tasks[i].ID)
		}
	}
	last := -1
	for i := range new.Tasks {
		t := &new.Tasks[i]
		j, ok := before[t.ID]
		if !ok {
			c.Added = append(c.Added, t.ID)
			continue
		}
		if j < last {
			c.Reordered = true
		}
		last = j
		if fields := changedFields(&old.Tasks[j], t); fields != nil {
			c.Changed = append(c.Changed, TaskChanged{ID: t.ID, Fields: fields})
		}
	}
	return c
}

func indexOf(p Plan) map[TaskID]int {
	at := make(map[TaskID]int, len(p.Tasks))
	for i := range p.Tasks {
		at[p.Tasks[i].ID] = i
	}
	return at
}

// Describe writes a change for people, one line a task: "+" added, "-"
// removed, "~" changed with what was and what is.
func (c Change) Describe(old, new Plan) string {
	before, after := indexOf(old), indexOf(new)
	var b strings.Builder
	if c.Goal {
		fmt.Fprintf(&b, "~ goal: %s → %s\n", quoted(old.Goal), quoted(new.Goal))
	}
	for _, id := range c.Removed {
		fmt.Fprintf(&b, "- %s %s\n", id, old.Tasks[before[id]].Title)
	}
	for _, id := range c.Added {
		fmt.Fprintf(&b, "+ %s %s%s\n", id, new.Tasks[after[id]].Title, dependencyNote(new.Tasks[after[id]].DependsOn))
	}
	for _, ch := range c.Changed {
		was, is := &old.Tasks[before[ch.ID]], &new.Tasks[after[ch.ID]]
		var parts []string
		for _, name := range ch.Fields {
			f, _ := FieldNamed(name)
			parts = append(parts, name+" "+changeOf(f.At(was), f.At(is)))
		}
		fmt.Fprintf(&b, "~ %s %s\n", ch.ID, strings.Join(parts, "; "))
	}
	for _, id := range c.Kept {
		fmt.Fprintf(&b, "= %s is done and stays as it is\n", id)
	}
	if c.Reordered {
		b.WriteString("~ the order of the tasks\n")
	}
	return b.String()
}

func dependencyNote(ids []TaskID) string {
	if len(ids) == 0 {
		return ""
	}
	return " (after " + joinIDs(ids) + ")"
}

func joinIDs(ids []TaskID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// changeOf says how a value changed, short: values of one line as they are,
// lists by what came and went.
func changeOf(was, is any) string {
	switch was := was.(type) {
	case *string:
		is := *is.(*string)
		if strings.Contains(*was+is, "\n") || len(*was)+len(is) > 120 {
			return fmt.Sprintf("(%d → %d bytes)", len(*was), len(is))
		}
		return quoted(*was) + " → " + quoted(is)
	case *[]string:
		return listChange(*was, *is.(*[]string))
	case *[]TaskID:
		a, b := *was, *is.(*[]TaskID)
		return listChange(stringsOf(a), stringsOf(b))
	}
	return scalar(was) + " → " + scalar(is)
}

func scalar(v any) string {
	switch v := v.(type) {
	case *TaskID:
		return string(*v)
	case *Status:
		return string(*v)
	case *bool:
		return strconv.FormatBool(*v)
	case *int:
		return strconv.Itoa(*v)
	case *int64:
		return strconv.FormatInt(*v, 10)
	case **int:
		if *v != nil {
			return strconv.Itoa(**v)
		}
	case **time.Time:
		if *v != nil {
			return (*v).UTC().Format(time.RFC3339)
		}
	}
	return "unset"
}

func listChange(was, is []string) string {
	var parts []string
	for _, s := range is {
		if !slices.Contains(was, s) {
			parts = append(parts, "+"+quoted(s))
		}
	}
	for _, s := range was {
		if !slices.Contains(is, s) {
			parts = append(parts, "-"+quoted(s))
		}
	}
	if parts == nil {
		return "reordered"
	}
	return strings.Join(parts, " ")
}

func stringsOf(ids []TaskID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

func quoted(s string) string { return strconv.Quote(text.Clip(text.OneLine(s), 60)) }
