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

	"git-ralph/internal/text"
	"git-ralph/plan/located"
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

// oddTime reports whether a time had no zone: the decoder then takes this
// machine's.
func oddTime(t *time.Time) bool { return t != nil && t.Location() == time.Local }

func decodeTaskSlowly(name string, data []byte) (Task, error) {
	c := &Collector{Source: name}
	doc := c.document(data)
	var t Task
	if doc != nil {
		t, _ = c.task(located.Node{Line: 1, Value: doc}, 0, taskFile)
	}
	return t, c.Problems.Err()
}

// DecodeHead reads plan.toml of the journal. Unknown keys are errors.
func DecodeHead(name string, data []byte) (Head, error) {
	c := &Collector{Source: name}
	var h Head
	if doc := c.document(data); doc != nil {
		for _, key := range doc.Keys {
			n := doc.Fields[key]
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
				c.unknown(n.Line, "", key, []string{"goal", "created", "order", "retired"})
			}
		}
	}
	return h, c.Problems.Err()
}

// ids have no limit of their own: they are as many as there are tasks.
func (c *Collector) ids(key string, n located.Node) []TaskID {
	list, ok := n.Value.([]located.Node)
	if !ok {
		c.Bad(n.Line, "", "", "%s is %s; it must be a list of ids", key, n.Kind())
	}
	var out []TaskID
	for i, e := range list {
		id, ok := e.Value.(string)
		if !ok {
			c.Bad(e.Line, "", "", "%s: entry %d is %s; it must be an id", key, i+1, e.Kind())
			continue
		}
		out = append(out, TaskID(id))
	}
	return out
}

// DecodePlan reads a whole plan in our own TOML and validates it: what `edit`
// gives back. All problems come at once, as Problems with lines. A task without
// an id gets one. Statuses stay as they are; the folder exchange imports plans
// from elsewhere.
func DecodePlan(name string, data []byte) (Plan, Places, error) {
	c := &Collector{Source: name}
	p, places := c.ReadPlan(data)
	NumberTasks(p.Tasks, places, nil)
	CanonicalDependencies(p.Tasks, nil)
	if len(c.Problems.Errors()) == 0 {
		c.Problems = append(c.Problems, Check(p, places, nil)...)
	}
	return p, places, c.Problems.Err()
}

// Collector gathers what is wrong with a file while it is read.
type Collector struct {
	Source   string
	Problems Problems
}

// Bad adds an error, with the next move.
func (c *Collector) Bad(line int, task TaskID, hint, format string, args ...any) {
	c.Problems = append(c.Problems, Problem{
		Source: c.Source, Line: line, Task: task, Text: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// Warn adds what is doubtful.
func (c *Collector) Warn(line int, task TaskID, format string, args ...any) {
	c.Problems = append(c.Problems, Problem{
		Source: c.Source, Line: line, Task: task, Text: fmt.Sprintf(format, args...), Warning: true,
	})
}

func (c *Collector) document(data []byte) *located.Object {
	doc, err := located.ParseTOML(data)
	if err != nil {
		c.Bad(err.Line, "", "the file is not valid TOML; fix the line and try again", "%s", err.Text)
	}
	return doc
}

func (c *Collector) unknown(line int, owner, key string, known []string) {
	of := ""
	if owner != "" {
		of = owner + ": "
	}
	text := fmt.Sprintf("%sunknown key %q", of, text.Clip(key, 80))
	hint := "known keys are " + strings.Join(known, ", ")
	// Past some hundred of them the file is no plan with slips in it.
	if len(c.Problems) < maxShown {
		if near := nearest(key, known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	c.Bad(line, "", hint, "%s", text)
}

// ReadPlan reads goal, created and [[tasks]], or a file of one task alone, as it
// stands in the journal.
func (c *Collector) ReadPlan(data []byte) (Plan, Places) {
	var p Plan
	places := Places{Source: c.Source}
	doc := c.document(data)
	if doc == nil {
		return p, places
	}
	if !doc.Has("tasks") && doc.Has("id", "title") {
		t, at := c.task(located.Node{Line: 1, Value: doc}, 0, taskFile)
		p.Tasks, places.Tasks = []Task{t}, []Place{at}
		return p, places
	}
	for _, key := range doc.Keys {
		n := doc.Fields[key]
		switch key {
		case "goal":
			c.into(&p.Goal, "goal", n)
		case "created":
			c.time(&p.Created, "created", n)
		case "tasks":
			list, ok := n.Value.([]located.Node)
			if !ok {
				c.Bad(n.Line, "", "write each task under its own [[tasks]]", "tasks is %s; a plan is a list of [[tasks]]", n.Kind())
				continue
			}
			for i, e := range list {
				t, at := c.task(e, i, planFile)
				p.Tasks = append(p.Tasks, t)
				places.Tasks = append(places.Tasks, at)
			}
		default:
			c.unknown(n.Line, "", key, []string{"goal", "created", "tasks"})
		}
	}
	return p, places
}

// taskSource is where a task is read from: a file of its own, or a plan.
type taskSource bool

const (
	taskFile taskSource = true
	planFile taskSource = false
)

// task reads the table of one task. Fields that are missing have the values of
// a new task: pending, priority 1.
func (c *Collector) task(n located.Node, i int, alone taskSource) (Task, Place) {
	t := Task{Status: Pending, Priority: 1}
	at := Place{Line: n.Line, Fields: make(map[string]int)}
	o, ok := n.Value.(*located.Object)
	if !ok {
		c.Bad(n.Line, "", "", "task %d is %s, not a table", i+1, n.Kind())
		return t, at
	}
	if id, ok := o.Fields["id"].Value.(string); ok {
		t.ID = TaskID(id)
	}
	at.ID = t.ID
	name := TaskName(i, t.ID)
	if alone == taskFile && ValidID(string(t.ID)) != nil {
		name = "the task"
	}
	for _, key := range o.Keys {
		v := o.Fields[key]
		f, ok := FieldNamed(key)
		if !ok {
			known := make([]string, len(TaskFields))
			for k := range TaskFields {
				known[k] = TaskFields[k].Name
			}
			c.unknown(v.Line, name, key, known)
			continue
		}
		at.Fields[key] = v.Line
		c.into(f.At(&t), name+": "+key, v)
	}
	return t, at
}

func (c *Collector) time(to *time.Time, name string, n located.Node) {
	var t *time.Time
	c.into(&t, name, n)
	if t != nil {
		*to = *t
	}
}

// into stores a value in a field of the same kind, strictly; name begins the
// sentence when the kinds differ.
func (c *Collector) into(to any, name string, n located.Node) {
	wrong := func(want string) {
		c.Bad(n.Line, "", "", "%s is %s; it must be %s", name, n.Kind(), want)
	}
	switch to := to.(type) {
	case *string:
		if s, ok := n.Value.(string); ok {
			*to = text.Clean(s)
		} else {
			wrong("a text")
		}
	case *TaskID:
		if s, ok := n.Value.(string); ok {
			*to = TaskID(s)
		} else {
			wrong("a text")
		}
	case *Status:
		if s, ok := n.Value.(string); ok {
			*to = Status(s)
		} else {
			wrong("a text")
		}
	case *bool:
		if b, ok := n.Value.(bool); ok {
			*to = b
		} else {
			wrong("true or false")
		}
	case *int:
		var v int64
		if c.integer(&v, name, n) {
			if v > math.MaxInt32 || v < math.MinInt32 { // the same limit on every machine
				c.Bad(n.Line, "", "", "%s is %d, which is out of range", name, v)
				return
			}
			*to = int(v)
		}
	case *int64:
		c.integer(to, name, n)
	case **int:
		var v int
		before := len(c.Problems)
		if c.into(&v, name, n); len(c.Problems) == before {
			*to = &v
		}
	case **time.Time:
		t, ok := n.Value.(time.Time)
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

func (c *Collector) integer(to *int64, name string, n located.Node) bool {
	num, ok := n.Value.(located.Number)
	if !ok {
		c.Bad(n.Line, "", "", "%s is %s; it must be a whole number", name, n.Kind())
		return false
	}
	v, err := strconv.ParseInt(string(num), 10, 64)
	if err != nil {
		c.Bad(n.Line, "", "", "%s is %s; it must be a whole number", name, text.Clip(string(num), 40))
		return false
	}
	*to = v
	return true
}

func (c *Collector) texts(name string, n located.Node) []string {
	list, ok := n.Value.([]located.Node)
	if !ok {
		c.Bad(n.Line, "", "", "%s is %s; it must be a list of texts", name, n.Kind())
		return nil
	}
	if len(list) > MaxItems {
		c.Bad(n.Line, "", "", "%s has more than %d entries", name, MaxItems)
		return nil
	}
	var out []string
	for i, e := range list {
		s, ok := e.Value.(string)
		if !ok {
			c.Bad(e.Line, "", "", "%s: entry %d is %s; it must be a text", name, i+1, e.Kind())
			continue
		}
		out = append(out, text.Clean(s))
	}
	return out
}

// CanonicalDependencies writes each dependency as the plan spells the id, drops
// repetitions, and looks in known as well as in tasks (folded id to spelling).
func CanonicalDependencies(tasks []Task, known map[string]TaskID) {
	spelling := make(map[string]TaskID, len(tasks)+len(known))
	for k, id := range known {
		spelling[k] = id
	}
	for i := range slices.Backward(tasks) { // the first of two that clash
		spelling[Fold(tasks[i].ID)] = tasks[i].ID
	}
	for i := range tasks {
		if len(tasks[i].DependsOn) > MaxItems {
			continue // refused by check
		}
		var kept []TaskID
		for _, dep := range tasks[i].DependsOn {
			if id, ok := spelling[Fold(dep)]; ok {
				dep = id
			}
			if !slices.Contains(kept, dep) {
				kept = append(kept, dep)
			}
		}
		tasks[i].DependsOn = kept
	}
}

// NumberTasks gives ids to tasks that have none: T-001, or the first number
// that neither the file nor known uses.
func NumberTasks(tasks []Task, places Places, known []TaskID) {
	used := make(map[string]bool, len(tasks)+len(known))
	for _, id := range known {
		used[Fold(id)] = true
	}
	for i := range tasks {
		used[Fold(tasks[i].ID)] = true
	}
	n := 1
	for i := range tasks {
		if tasks[i].ID != "" {
			continue
		}
		for used[Fold(NumberedID(n))] {
			n++
		}
		tasks[i].ID = NumberedID(n)
		used[Fold(tasks[i].ID)] = true
		places.Tasks[i].ID = tasks[i].ID
	}
}
