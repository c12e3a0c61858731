package plan

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// DecodeTask reads one task file. It is the way every command loads the plan,
// so the good case is one strict pass; only when that fails is the file read
// again for everything that is wrong with it, as Problems with lines. It does
// not say whether the task makes sense: Validate does, on the whole plan.
func DecodeTask(name string, data []byte) (Task, error) {
	t := Task{Status: Pending, Priority: 1}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil || oddTime(t.CompletedAt) {
		return decodeTaskSlowly(name, data)
	}
	if t.CompletedAt != nil {
		at := t.CompletedAt.UTC()
		t.CompletedAt = &at
	}
	return t, nil
}

// oddTime: the decoder puts a moment without a zone into this machine's.
func oddTime(t *time.Time) bool { return t != nil && t.Location() == time.Local }

func decodeTaskSlowly(name string, data []byte) (Task, error) {
	c := &collector{source: name}
	doc := c.document(data)
	var t Task
	if doc != nil {
		t, _ = c.task(node{line: 1, value: doc}, 0, true)
	}
	return t, c.problems.Err()
}

// DecodeHead reads plan.toml of the journal. Unknown keys are errors.
func DecodeHead(name string, data []byte) (Head, error) {
	c := &collector{source: name}
	var h Head
	if doc := c.document(data); doc != nil {
		for _, key := range doc.keys {
			n := doc.fields[key]
			switch key {
			case "goal":
				c.into(&h.Goal, "goal", n)
			case "created":
				c.time(&h.Created, "created", n)
			case "order":
				h.Order = c.ids("order", n)
			case "retired":
				h.Retired = c.ids("retired", n)
			default:
				c.unknown(n.line, "", key, []string{"goal", "created", "order", "retired"})
			}
		}
	}
	return h, c.problems.Err()
}

// ids have no limit of their own: they are as many as there are tasks.
func (c *collector) ids(key string, n node) []TaskID {
	list, ok := n.value.([]node)
	if !ok {
		c.bad(n.line, "", "", "%s is %s; it must be a list of ids", key, n.kindOf())
	}
	var out []TaskID
	for i, e := range list {
		id, ok := e.value.(string)
		if !ok {
			c.bad(e.line, "", "", "%s: entry %d is %s; it must be an id", key, i+1, e.kindOf())
			continue
		}
		out = append(out, TaskID(id))
	}
	return out
}

// DecodePlan reads a whole plan in our own TOML and validates it: what `edit`
// gives back. All problems come at once, as Problems with lines. A task without
// an id gets one. Statuses stay as they are; Import is the way for a plan from
// elsewhere.
func DecodePlan(name string, data []byte) (Plan, Places, error) {
	c := &collector{source: name}
	p, places := c.plan(data)
	numberTasks(p.Tasks, places, nil)
	canonicalDependencies(p.Tasks, nil)
	if len(c.problems.Errors()) == 0 {
		c.problems = append(c.problems, check(p, places, nil)...)
	}
	return p, places, c.problems.Err()
}

// collector gathers what is wrong with a file while it is read.
type collector struct {
	source   string
	problems Problems
}

func (c *collector) bad(line int, task TaskID, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Source: c.source, Line: line, Task: task, Text: fmt.Sprintf(format, args...), hint: hint,
	})
}

func (c *collector) warn(line int, task TaskID, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Source: c.source, Line: line, Task: task, Text: fmt.Sprintf(format, args...), Warning: true,
	})
}

func (c *collector) document(data []byte) *object {
	doc, err := parseTOML(data)
	if err != nil {
		c.bad(err.line, "", "the file is not valid TOML; mend the line and try again", "%s", err.text)
	}
	return doc
}

func (c *collector) unknown(line int, owner, key string, known []string) {
	of := ""
	if owner != "" {
		of = owner + ": "
	}
	text := fmt.Sprintf("%sunknown key %q", of, clip(key, 80))
	hint := "known keys are " + strings.Join(known, ", ")
	// Past some hundred of them the file is no plan with slips in it.
	if len(c.problems) < maxShown {
		if near := nearest(key, known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	c.bad(line, "", hint, "%s", text)
}

// plan reads goal, created and [[tasks]], or a file of one task alone, as it
// stands in the journal.
func (c *collector) plan(data []byte) (Plan, Places) {
	var p Plan
	places := Places{Source: c.source}
	doc := c.document(data)
	if doc == nil {
		return p, places
	}
	if !doc.has("tasks") && doc.has("id", "title") {
		t, at := c.task(node{line: 1, value: doc}, 0, true)
		p.Tasks, places.tasks = []Task{t}, []place{at}
		return p, places
	}
	for _, key := range doc.keys {
		n := doc.fields[key]
		switch key {
		case "goal":
			c.into(&p.Goal, "goal", n)
		case "created":
			c.time(&p.Created, "created", n)
		case "tasks":
			list, ok := n.value.([]node)
			if !ok {
				c.bad(n.line, "", "write each task under its own [[tasks]]", "tasks is %s; a plan is a list of [[tasks]]", n.kindOf())
				continue
			}
			for i, e := range list {
				t, at := c.task(e, i, false)
				p.Tasks = append(p.Tasks, t)
				places.tasks = append(places.tasks, at)
			}
		default:
			c.unknown(n.line, "", key, []string{"goal", "created", "tasks"})
		}
	}
	return p, places
}

// task reads the table of one task. Fields that are missing have the values of
// a new task: pending, priority 1.
func (c *collector) task(n node, i int, alone bool) (Task, place) {
	t := Task{Status: Pending, Priority: 1}
	at := place{line: n.line, fields: make(map[string]int)}
	o, ok := n.value.(*object)
	if !ok {
		c.bad(n.line, "", "", "task %d is %s, not a table", i+1, n.kindOf())
		return t, at
	}
	if id, ok := o.fields["id"].value.(string); ok {
		t.ID = TaskID(id)
	}
	at.id = t.ID
	name := taskName(i, t.ID)
	if alone && ValidID(string(t.ID)) != nil {
		name = "the task"
	}
	for _, key := range o.keys {
		v := o.fields[key]
		f, ok := fieldNamed(key)
		if !ok {
			known := make([]string, len(taskFields))
			for k := range taskFields {
				known[k] = taskFields[k].name
			}
			c.unknown(v.line, name, key, known)
			continue
		}
		at.fields[key] = v.line
		c.into(f.at(&t), name+": "+key, v)
	}
	return t, at
}

func (c *collector) time(to *time.Time, name string, n node) {
	var t *time.Time
	c.into(&t, name, n)
	if t != nil {
		*to = *t
	}
}

// into stores a value in a field of the same kind, strictly; name begins the
// sentence when the kinds differ.
func (c *collector) into(to any, name string, n node) {
	wrong := func(want string) {
		c.bad(n.line, "", "", "%s is %s; it must be %s", name, n.kindOf(), want)
	}
	switch to := to.(type) {
	case *string:
		if s, ok := n.value.(string); ok {
			*to = clean(s)
		} else {
			wrong("a text")
		}
	case *TaskID:
		if s, ok := n.value.(string); ok {
			*to = TaskID(s)
		} else {
			wrong("a text")
		}
	case *Status:
		if s, ok := n.value.(string); ok {
			*to = Status(s)
		} else {
			wrong("a text")
		}
	case *bool:
		if b, ok := n.value.(bool); ok {
			*to = b
		} else {
			wrong("true or false")
		}
	case *int:
		var v int64
		if c.integer(&v, name, n) {
			if v > math.MaxInt32 || v < math.MinInt32 { // the same limit on every machine
				c.bad(n.line, "", "", "%s is %d, which is out of range", name, v)
				return
			}
			*to = int(v)
		}
	case *int64:
		c.integer(to, name, n)
	case **int:
		var v int
		before := len(c.problems)
		if c.into(&v, name, n); len(c.problems) == before {
			*to = &v
		}
	case **time.Time:
		t, ok := n.value.(time.Time)
		if !ok {
			wrong("a time such as 2026-01-31T15:04:05Z")
			return
		}
		*to = &t
	case *[]string:
		*to = c.texts(name, n)
	case *[]TaskID:
		for _, s := range c.texts(name, n) {
			*to = append(*to, TaskID(s))
		}
	}
}

func (c *collector) integer(to *int64, name string, n node) bool {
	num, ok := n.value.(number)
	if !ok {
		c.bad(n.line, "", "", "%s is %s; it must be a whole number", name, n.kindOf())
		return false
	}
	v, err := strconv.ParseInt(string(num), 10, 64)
	if err != nil {
		c.bad(n.line, "", "", "%s is %s; it must be a whole number", name, clip(string(num), 40))
		return false
	}
	*to = v
	return true
}

func (c *collector) texts(name string, n node) []string {
	list, ok := n.value.([]node)
	if !ok {
		c.bad(n.line, "", "", "%s is %s; it must be a list of texts", name, n.kindOf())
		return nil
	}
	if len(list) > MaxItems {
		c.bad(n.line, "", "", "%s has more than %d entries", name, MaxItems)
		return nil
	}
	var out []string
	for i, e := range list {
		s, ok := e.value.(string)
		if !ok {
			c.bad(e.line, "", "", "%s: entry %d is %s; it must be a text", name, i+1, e.kindOf())
			continue
		}
		out = append(out, clean(s))
	}
	return out
}

// canonicalDependencies writes each dependency as the plan spells the id, drops
// repetitions, and looks besides tasks in known (folded id to spelling).
func canonicalDependencies(tasks []Task, known map[string]TaskID) {
	spelling := make(map[string]TaskID, len(tasks)+len(known))
	for k, id := range known {
		spelling[k] = id
	}
	for i := range slices.Backward(tasks) { // the first of two that clash
		spelling[fold(tasks[i].ID)] = tasks[i].ID
	}
	for i := range tasks {
		if len(tasks[i].DependsOn) > MaxItems {
			continue // refused by check
		}
		var kept []TaskID
		for _, dep := range tasks[i].DependsOn {
			if id, ok := spelling[fold(dep)]; ok {
				dep = id
			}
			if !slices.Contains(kept, dep) {
				kept = append(kept, dep)
			}
		}
		tasks[i].DependsOn = kept
	}
}

// numberTasks gives ids to tasks that have none: T-001, or the first number
// that neither the file nor known uses.
func numberTasks(tasks []Task, places Places, known []TaskID) {
	used := make(map[string]bool, len(tasks)+len(known))
	for _, id := range known {
		used[fold(id)] = true
	}
	for i := range tasks {
		used[fold(tasks[i].ID)] = true
	}
	n := 1
	for i := range tasks {
		if tasks[i].ID != "" {
			continue
		}
		for used[fold(numberedID(n))] {
			n++
		}
		tasks[i].ID = numberedID(n)
		used[fold(tasks[i].ID)] = true
		places.tasks[i].id = tasks[i].ID
	}
}
