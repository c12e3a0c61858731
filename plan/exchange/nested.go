package exchange

import (
	"bytes"
	"slices"

	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// listKeys are the names under which files keep their tasks, and groupKeys those
// of lists whose elements are no tasks but hold a list of them: the phases of an
// implementation plan, the epics of a backlog. The first that fits is read.
var (
	listKeys = []string{"userstories", "tasks", "features", "stories", "subtasks", "items", "todos", "issues",
		"requirements", "workitems"}
	groupKeys = []string{"phases", "epics", "milestones", "sprints", "sections", "groups", "modules", "categories",
		"features", "stories"}
	innerKeys = []string{"subtasks", "tasks", "userstories", "stories", "features", "items", "issues"}
)

// taskGroup is one list of tasks of a file; most files have one, without a name.
type taskGroup struct {
	names []string // by which other groups wait on it
	after []string // names of groups that come first
	nodes []located.Node
	tasks []int // their places in the plan, once read
}

// taskGroups finds the tasks of a JSON document; false when it holds none. used
// are the keys of the document that they stand under.
func taskGroups(root located.Node) (groups []taskGroup, used []string, ok bool) {
	switch v := root.Value.(type) {
	case []located.Node:
		return []taskGroup{{nodes: v}}, nil, true
	case *located.Object:
		for _, want := range listKeys {
			for _, key := range v.Keys {
				if text.Key(key) != want {
					continue
				}
				if list, ok := titlesAlone(want, v.Fields[key]); ok {
					return []taskGroup{{nodes: list}}, []string{key}, true
				}
				if list, ok := elements(v.Fields[key]); ok && !holdsLists(list, false) {
					return []taskGroup{{nodes: list}}, []string{key}, true
				}
			}
		}
		for _, want := range groupKeys {
			for _, key := range v.Keys {
				if text.Key(key) != want {
					continue
				}
				if list, ok := elements(v.Fields[key]); ok && holdsLists(list, want != "features" && want != "stories") {
					return groupsOf(list), []string{key}, true
				}
			}
		}
		for _, want := range listKeys { // tasks that hold lists of their own
			for _, key := range v.Keys {
				if text.Key(key) != want {
					continue
				}
				if list, ok := elements(v.Fields[key]); ok {
					return []taskGroup{{nodes: list}}, []string{key}, true
				}
			}
		}
		if v.Has("id") && v.Has("title") { // a file of lines that has one
			return []taskGroup{{nodes: []located.Node{root}}}, v.Keys, true
		}
		for _, key := range v.Keys { // "data": {"tasks": […]}
			if inner, ok := v.Fields[key].Value.(*located.Object); ok &&
				(text.Key(key) == "data" || text.Key(key) == "plan" || text.Key(key) == "prd") {
				if groups, _, ok := taskGroups(located.Node{Line: v.Fields[key].Line, Value: inner}); ok {
					return groups, []string{key}, true
				}
			}
		}
	}
	return nil, nil, false
}

// titlesAlone makes tasks of a list of texts, where its name leaves no doubt.
func titlesAlone(name string, n located.Node) ([]located.Node, bool) {
	list, ok := n.Value.([]located.Node)
	if !ok || len(list) == 0 || name != "tasks" && name != "todos" {
		return nil, false
	}
	var out []located.Node
	for _, e := range list {
		if s, ok := e.Value.(string); !ok || s == "" {
			return nil, false
		}
		out = append(out, located.Node{Line: e.Line, Value: &located.Object{Keys: []string{"title"},
			Fields: map[string]located.Node{"title": e}}})
	}
	return out, true
}

// elements is a list of objects. An object whose values are all objects is one
// too: its keys are the ids.
func elements(n located.Node) ([]located.Node, bool) {
	switch v := n.Value.(type) {
	case []located.Node:
		for _, e := range v {
			if _, ok := e.Value.(*located.Object); ok {
				return v, true
			}
		}
		return v, len(v) == 0
	case *located.Object:
		var out []located.Node
		for _, key := range v.Keys {
			o, ok := v.Fields[key].Value.(*located.Object)
			if !ok {
				return nil, false
			}
			if !o.Has("id") {
				o = &located.Object{Keys: append([]string{"id"}, o.Keys...), Fields: cloneFields(o.Fields)}
				o.Fields["id"] = located.Node{Line: v.Fields[key].Line, Value: key}
			}
			out = append(out, located.Node{Line: v.Fields[key].Line, Value: o})
		}
		return out, true
	}
	return nil, false
}

func cloneFields(m map[string]located.Node) map[string]located.Node {
	out := make(map[string]located.Node, len(m)+1)
	for k, v := range m {
		out[k] = v
	}
	return out
}

// inner is the list of tasks that an element of a group list holds. Subtasks
// beside a status or a description of their parent belong to a task, not to a
// group: they are read with it.
func inner(o *located.Object) ([]located.Node, string, bool) {
	for _, want := range innerKeys {
		for _, key := range o.Keys {
			if text.Key(key) == want {
				if list, ok := elements(o.Fields[key]); ok && len(list) > 0 {
					return list, key, true
				}
			}
		}
	}
	return nil, "", false
}

// holdsLists reports whether the elements are groups: most of them hold a list of
// tasks under one of innerKeys, and they are not tasks with subtasks. Subtasks
// are such a list where the name of the list says that its elements are groups.
func holdsLists(list []located.Node, named bool) bool {
	n := 0
	for _, e := range list {
		o, ok := e.Value.(*located.Object)
		if !ok {
			return false
		}
		if _, key, ok := inner(o); ok && (named || text.Key(key) != "subtasks" || o.Has("phase", "phase_id", "phaseId")) {
			n++
		}
	}
	return 2*n > len(list)
}

func groupsOf(list []located.Node) []taskGroup {
	var out []taskGroup
	for _, e := range list {
		o, ok := e.Value.(*located.Object)
		if !ok {
			continue
		}
		nodes, _, _ := inner(o)
		g := taskGroup{nodes: nodes}
		for _, key := range o.Keys {
			switch n := o.Fields[key]; text.Key(key) {
			case "id", "phase", "phaseid", "number", "name", "title", "key":
				if s := plainID(n); s != "" {
					g.names = append(g.names, s)
				}
			case "dependson", "dependencies", "after":
				if deps, ok := n.Value.([]located.Node); ok {
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
			id := plan.Fold(im.plan.Tasks[i].ID)
			clash = clash || id != "" && seen[id]
			seen[id] = true
		}
	}
	for n, g := range groups {
		if !clash {
			break
		}
		label := plan.NumberedID(n + 1)
		if len(g.names) > 0 && plan.ValidID(g.names[0]) == nil {
			label = plan.TaskID(g.names[0])
		}
		own := map[plan.TaskID]bool{}
		for _, i := range g.tasks {
			own[im.plan.Tasks[i].ID] = true
		}
		for _, i := range g.tasks {
			t := &im.plan.Tasks[i]
			if t.ID != "" {
				t.ID = label + "." + t.ID
				im.places.Tasks[i].ID = t.ID
			}
			for d, dep := range t.DependsOn {
				if own[dep] {
					t.DependsOn[d] = label + "." + dep
				}
			}
		}
	}
	plan.NumberTasks(im.plan.Tasks, im.places, im.opts.Known)
	for _, g := range groups {
		for _, name := range g.after {
			at := slices.IndexFunc(groups, func(other taskGroup) bool { return slices.Contains(other.names, name) })
			if at < 0 {
				im.lost.add("phases.depends_on", "it names no phase: "+text.Clip(name, 40), "")
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
func (im *importer) lastOf(g taskGroup) []plan.TaskID {
	awaited := map[plan.TaskID]bool{}
	for _, i := range g.tasks {
		for _, dep := range im.plan.Tasks[i].DependsOn {
			awaited[dep] = true
		}
	}
	var out []plan.TaskID
	for _, i := range g.tasks {
		if id := im.plan.Tasks[i].ID; !awaited[id] {
			out = append(out, id)
		}
	}
	return out
}

// parseDocument reads a JSON document, or JSON lines as one list of them.
func parseDocument(data []byte) (located.Node, *located.Fault) {
	root, err := located.ParseJSON(data)
	if err == nil {
		return root, nil
	}
	var list []located.Node
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		n, lerr := located.ParseJSON(line)
		if _, ok := n.Value.(*located.Object); lerr != nil || !ok {
			return root, err
		}
		list = append(list, onLine(n, number))
	}
	if len(list) < 2 {
		return root, err
	}
	return located.Node{Line: 1, Value: list}, nil
}

// onLine is a value that stands on one line of a file.
func onLine(n located.Node, line int) located.Node {
	n.Line = line
	switch v := n.Value.(type) {
	case []located.Node:
		for i := range v {
			v[i] = onLine(v[i], line)
		}
	case *located.Object:
		for key, field := range v.Fields {
			v.Fields[key] = onLine(field, line)
		}
	}
	return n
}
