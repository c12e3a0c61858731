package plan

import (
	"bytes"
	"slices"
)

// listKeys are the names under which files keep their tasks, and groupKeys those
// of lists whose elements are no tasks but hold a list of them: the phases of an
// implementation plan, the epics of a backlog. The first that fits is read.
var (
	listKeys  = []string{"userstories", "tasks", "features", "stories", "subtasks", "items", "todos", "issues", "requirements", "workitems"}
	groupKeys = []string{"phases", "epics", "milestones", "sprints", "sections", "groups", "modules", "categories", "features", "stories"}
	innerKeys = []string{"subtasks", "tasks", "userstories", "stories", "features", "items", "issues"}
)

// taskGroup is one list of tasks of a file; most files have one, without a name.
type taskGroup struct {
	names []string // by which other groups wait on it
	after []string // names of groups that come first
	nodes []node
	tasks []int // their places in the plan, once read
}

// taskGroups finds the tasks of a JSON document; false when it holds none. used
// are the keys of the document that they stand under.
func taskGroups(root node) (groups []taskGroup, used []string, ok bool) {
	switch v := root.value.(type) {
	case []node:
		return []taskGroup{{nodes: v}}, nil, true
	case *object:
		for _, want := range listKeys {
			for _, key := range v.keys {
				if norm(key) != want {
					continue
				}
				if list, ok := elements(v.fields[key]); ok && !holdsLists(list) {
					return []taskGroup{{nodes: list}}, []string{key}, true
				}
			}
		}
		for _, want := range groupKeys {
			for _, key := range v.keys {
				if norm(key) != want {
					continue
				}
				if list, ok := elements(v.fields[key]); ok && holdsLists(list) {
					return groupsOf(list), []string{key}, true
				}
			}
		}
		for _, want := range listKeys { // tasks that hold lists of their own
			for _, key := range v.keys {
				if norm(key) != want {
					continue
				}
				if list, ok := elements(v.fields[key]); ok {
					return []taskGroup{{nodes: list}}, []string{key}, true
				}
			}
		}
		for _, key := range v.keys { // "data": {"tasks": […]}
			if inner, ok := v.fields[key].value.(*object); ok && (norm(key) == "data" || norm(key) == "plan" || norm(key) == "prd") {
				if groups, _, ok := taskGroups(node{v.fields[key].line, inner}); ok {
					return groups, []string{key}, true
				}
			}
		}
	}
	return nil, nil, false
}

// elements is a list of objects. An object whose values are all objects is one
// too: its keys are the ids.
func elements(n node) ([]node, bool) {
	switch v := n.value.(type) {
	case []node:
		for _, e := range v {
			if _, ok := e.value.(*object); ok {
				return v, true
			}
		}
		return v, len(v) == 0
	case *object:
		var out []node
		for _, key := range v.keys {
			o, ok := v.fields[key].value.(*object)
			if !ok {
				return nil, false
			}
			if !o.has("id") {
				o = &object{keys: append([]string{"id"}, o.keys...), fields: cloneFields(o.fields)}
				o.fields["id"] = node{v.fields[key].line, key}
			}
			out = append(out, node{v.fields[key].line, o})
		}
		return out, true
	}
	return nil, false
}

func cloneFields(m map[string]node) map[string]node {
	out := make(map[string]node, len(m)+1)
	for k, v := range m {
		out[k] = v
	}
	return out
}

// inner is the list of tasks that an element of a group list holds. Subtasks
// beside a status or a description of their parent belong to a task, not to a
// group: they are read with it.
func inner(o *object) ([]node, string, bool) {
	for _, want := range innerKeys {
		for _, key := range o.keys {
			if norm(key) == want {
				if list, ok := elements(o.fields[key]); ok && len(list) > 0 {
					return list, key, true
				}
			}
		}
	}
	return nil, "", false
}

// holdsLists says whether the elements are groups: most of them hold a list of
// tasks under one of innerKeys, and they are not tasks with subtasks.
func holdsLists(list []node) bool {
	n := 0
	for _, e := range list {
		o, ok := e.value.(*object)
		if !ok {
			return false
		}
		if _, key, ok := inner(o); ok && (norm(key) != "subtasks" || o.has("phase", "phase_id", "phaseId")) {
			n++
		}
	}
	return 2*n > len(list)
}

func groupsOf(list []node) []taskGroup {
	var out []taskGroup
	for _, e := range list {
		o, ok := e.value.(*object)
		if !ok {
			continue
		}
		nodes, _, _ := inner(o)
		g := taskGroup{nodes: nodes}
		for _, key := range o.keys {
			switch n := o.fields[key]; norm(key) {
			case "id", "phase", "phaseid", "number", "name", "title", "key":
				if s := plainID(n); s != "" {
					g.names = append(g.names, s)
				}
			case "dependson", "dependencies", "after":
				if deps, ok := n.value.([]node); ok {
					for _, d := range deps {
						g.after = append(g.after, plainID(d))
					}
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// joinGroups makes ids unique over groups, each with those of its own group in
// mind, and lets the tasks of a group wait on the groups before it.
func (im *importer) joinGroups(groups []taskGroup) {
	if len(groups) < 2 {
		return
	}
	seen, clash := map[string]bool{}, false
	for _, g := range groups {
		for _, i := range g.tasks {
			id := fold(im.plan.Tasks[i].ID)
			clash = clash || id != "" && seen[id]
			seen[id] = true
		}
	}
	for n, g := range groups {
		if !clash {
			break
		}
		label := numberedID(n + 1)
		if len(g.names) > 0 && ValidID(g.names[0]) == nil {
			label = TaskID(g.names[0])
		}
		own := map[TaskID]bool{}
		for _, i := range g.tasks {
			own[im.plan.Tasks[i].ID] = true
		}
		for _, i := range g.tasks {
			t := &im.plan.Tasks[i]
			if t.ID != "" {
				t.ID = label + "." + t.ID
				im.places.tasks[i].id = t.ID
			}
			for d, dep := range t.DependsOn {
				if own[dep] {
					t.DependsOn[d] = label + "." + dep
				}
			}
		}
	}
	numberTasks(im.plan.Tasks, im.places, im.opts.Known)
	for _, g := range groups {
		for _, name := range g.after {
			at := slices.IndexFunc(groups, func(other taskGroup) bool { return slices.Contains(other.names, name) })
			if at < 0 {
				im.lost.add("phases.depends_on", "it names no phase: "+clip(name, 40), "")
				continue
			}
			for _, i := range g.tasks {
				t := &im.plan.Tasks[i]
				for _, id := range im.lastOf(groups[at]) {
					if !slices.Contains(t.DependsOn, id) {
						t.DependsOn = append(t.DependsOn, id)
					}
				}
			}
		}
	}
}

// lastOf are the tasks of a group that no other of it waits on.
func (im *importer) lastOf(g taskGroup) []TaskID {
	awaited := map[TaskID]bool{}
	for _, i := range g.tasks {
		for _, dep := range im.plan.Tasks[i].DependsOn {
			awaited[dep] = true
		}
	}
	var out []TaskID
	for _, i := range g.tasks {
		if id := im.plan.Tasks[i].ID; !awaited[id] {
			out = append(out, id)
		}
	}
	return out
}

// parseDocument reads a JSON document, or JSON lines as one list of them.
func parseDocument(data []byte) (node, *lineError) {
	root, err := parseJSON(data)
	if err == nil {
		return root, nil
	}
	var list []node
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		n, lerr := parseJSON(line)
		if _, ok := n.value.(*object); lerr != nil || !ok {
			return root, err
		}
		list = append(list, onLine(n, number))
	}
	if len(list) < 2 {
		return root, err
	}
	return node{1, list}, nil
}

// onLine is a value that stands on one line of a file.
func onLine(n node, line int) node {
	n.line = line
	switch v := n.value.(type) {
	case []node:
		for i := range v {
			v[i] = onLine(v[i], line)
		}
	case *object:
		for key, field := range v.fields {
			v.fields[key] = onLine(field, line)
		}
	}
	return n
}
