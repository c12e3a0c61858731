package exchange

import (
	"slices"
	"strings"

	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// listKeys are names of task lists. groupKeys are names of lists whose elements
// are groups with a task list: phases of an implementation plan, epics of a
// backlog. The first that fits is read.
var (
	listKeys = []string{"userstories", "tasks", "features", "stories", "subtasks", "items", "todos", "issues",
		"requirements", "workitems", "steps", "todo", "tickets", "cards", "actions", "checklist", "tasklist", "item", "task"}
	groupKeys = []string{"phases", "epics", "milestones", "sprints", "sections", "groups", "modules", "categories",
		"stages", "workstreams", "tracks", "waves", "iterations", "lists", "columns", "features", "stories"}
	innerKeys = []string{"subtasks", "tasks", "userstories", "stories", "features", "items", "issues", "todos", "steps",
		"cards"}
	// titleLists hold tasks where their entries are texts alone.
	titleLists = []string{"tasks", "todos", "todo", "steps", "stories", "features", "userstories", "checklist",
		"backlog", "actions", "tasklist"}
)

// taskGroup is one list of tasks of a file; most files have one, without a name.
type taskGroup struct {
	names []string // by which other groups refer to it
	after []string // names of groups that come first
	nodes []located.Node
	tasks []int    // their places in the plan, once read
	left  []string // keys of further lists of tasks, which are not read
}

// taskList is where the tasks of a document are. What stands beside them, at each
// level down to them, belongs to the plan as a whole.
type taskList struct {
	groups []taskGroup
	key    string // their key, "" for a document that is a list
	beside []besideTasks
}

type besideTasks struct {
	object *located.Object
	used   []string // keys that are read elsewhere
}

// findTasks finds the tasks of a JSON document; false when it holds none.
func findTasks(root located.Node) (taskList, bool) {
	switch v := root.Value.(type) {
	case []located.Node:
		if list, ok := titlesAlone(root); ok {
			return taskList{groups: []taskGroup{{nodes: list}}}, true
		}
		if holdsLists(v, false) && !holdsTasks(v) {
			return taskList{groups: groupsOf(v)}, true
		}
		return taskList{groups: []taskGroup{{nodes: v}}}, true
	case *located.Object:
		if groups, key, ok := knownLists(v); ok {
			return taskList{groups, key, []besideTasks{{v, []string{key}}}}, true
		}
		if o := flatIssue(v); o.Has("id", "key") && o.Has("title", "summary") { // one line of JSON lines
			return taskList{[]taskGroup{{nodes: []located.Node{root}}}, "", nil}, true
		}
		for _, key := range v.Keys { // "data": {"tasks": […]}
			if inner, ok := v.Fields[key].Value.(*located.Object); ok {
				if l, ok := findTasks(located.Node{Line: v.Fields[key].Line, Value: inner}); ok && l.key != "" {
					l.beside = append([]besideTasks{{v, []string{key}}}, l.beside...)
					return l, true
				}
			}
		}
		for _, key := range v.Keys { // "name: done"
			if list, ok := statesByName(v.Fields[key]); ok {
				return taskList{[]taskGroup{{nodes: list}}, key, []besideTasks{{v, []string{key}}}}, true
			}
		}
		l := taskList{}
		beside := besideTasks{object: v}
		for _, key := range v.Keys { // under names of their own, however deep
			if found := deepLists(key, v.Fields[key], 0); len(found) > 0 {
				l.groups, l.key, beside.used = append(l.groups, found...), key, append(beside.used, key)
			}
		}
		if len(l.groups) > 0 {
			l.beside = []besideTasks{beside}
			return l, true
		}
	}
	return taskList{}, false
}

// deepLists are the lists below a value whose entries are all tasks by their keys.
func deepLists(key string, n located.Node, depth int) []taskGroup {
	switch v := n.Value.(type) {
	case []located.Node:
		if holdsTasks(v) {
			return []taskGroup{{names: []string{key}, nodes: v}}
		}
	case *located.Object:
		var out []taskGroup
		for _, k := range v.Keys {
			if depth < 5 {
				out = append(out, deepLists(k, v.Fields[k], depth+1)...)
			}
		}
		return out
	}
	return nil
}

// knownLists looks for the tasks of an object under the names that they have.
func knownLists(v *located.Object) ([]taskGroup, string, bool) {
	find := func(keys []string, read func(want string, n located.Node) ([]taskGroup, bool)) ([]taskGroup, string, bool) {
		for _, want := range keys {
			for _, key := range v.Keys {
				if text.Key(key) != want {
					continue
				}
				if groups, ok := read(want, v.Fields[key]); ok {
					return groups, key, true
				}
			}
		}
		return nil, "", false
	}
	one := func(list []located.Node) []taskGroup { return []taskGroup{{nodes: list}} }
	for _, pass := range []struct {
		keys []string
		read func(want string, n located.Node) ([]taskGroup, bool)
	}{
		{listKeys, func(_ string, n located.Node) ([]taskGroup, bool) {
			list, ok := elements(n)
			return one(list), ok && !holdsLists(list, false)
		}},
		{groupKeys, func(want string, n located.Node) ([]taskGroup, bool) {
			list, ok := elements(n)
			return groupsOf(list), ok && holdsLists(list, want != "features" && want != "stories")
		}},
		{listKeys, func(_ string, n located.Node) ([]taskGroup, bool) { // tasks that hold lists of their own
			list, ok := elements(n)
			return one(list), ok
		}},
		{titleLists, func(_ string, n located.Node) ([]taskGroup, bool) {
			list, ok := titlesAlone(n)
			return one(list), ok
		}},
		{groupKeys, func(_ string, n located.Node) ([]taskGroup, bool) {
			list, ok := elements(n)
			return one(list), ok && holdsTasks(list)
		}},
	} {
		if groups, key, ok := find(pass.keys, pass.read); ok {
			return groups, key, true
		}
	}
	return nil, "", false
}

// statesByName makes tasks of names that have a state each.
func statesByName(n located.Node) ([]located.Node, bool) {
	o, ok := n.Value.(*located.Object)
	if !ok || len(o.Keys) < 2 {
		return nil, false
	}
	var out []located.Node
	for _, k := range o.Keys {
		s, _ := o.Fields[k].Value.(string)
		if _, known := stateWords()[text.Key(s)]; s == "" || !known {
			return nil, false
		}
		name := located.Node{Line: o.Fields[k].Line, Value: k}
		out = append(out, located.Node{Line: name.Line, Value: &located.Object{Keys: []string{"id", "title", "status"},
			Fields: map[string]located.Node{"id": name, "title": name, "status": o.Fields[k]}}})
	}
	return out, true
}

// titledObject reports whether an object says what is to be done.
func titledObject(o *located.Object) bool {
	return slices.ContainsFunc(flatIssue(o).Keys, func(k string) bool {
		key := text.Key(k)
		return key == "title" || key == "name" || key == "description" || slices.Contains(titleKeys, key)
	})
}

// holdsTasks reports whether each entry has a title and a state or another key of
// tasks.
func holdsTasks(list []located.Node) bool {
	for _, e := range list {
		o, ok := e.Value.(*located.Object)
		if !ok {
			return false
		}
		state := false
		for _, k := range flatIssue(o).Keys {
			key := text.Key(k)
			state = state || slices.Contains([]string{"status", "state", "done", "passes", "completed", "priority",
				"acceptance", "acceptancecriteria", "dependson", "dependencies"}, key)
		}
		if !state || !titledObject(o) {
			return false
		}
	}
	return len(list) > 0
}

// titlesAlone makes tasks of a list of texts.
func titlesAlone(n located.Node) ([]located.Node, bool) {
	list, ok := n.Value.([]located.Node)
	if !ok || len(list) == 0 {
		return nil, false
	}
	var out []located.Node
	for _, e := range list {
		if s, ok := e.Value.(string); !ok || strings.TrimSpace(s) == "" {
			return nil, false
		}
		out = append(out, titled(e))
	}
	return out, true
}

// titleAlone is an entry that is a text, or a text with a colon that YAML took for
// a key.
func titleAlone(n located.Node) (located.Node, bool) {
	switch v := n.Value.(type) {
	case string:
		return n, true
	case *located.Object:
		if s, ok := v.Fields[strings.Join(v.Keys, "\n")].Value.(string); ok && len(v.Keys) == 1 && !titledObject(v) {
			return located.Node{Line: n.Line, Value: v.Keys[0] + ": " + s}, true
		}
	}
	return n, false
}

// titled is a task of which nothing but the title is known; marks of a list in
// front of it say whether it is done.
func titled(n located.Node) located.Node {
	title, _ := n.Value.(string)
	o := &located.Object{Keys: []string{"title"}, Fields: map[string]located.Node{}}
	box := strings.TrimSpace(title)
	if !strings.HasPrefix(box, "- ") && !strings.HasPrefix(box, "* ") {
		box = "- " + box
	}
	done, rest, ok := cutBox(box)
	if ok && rest != "" {
		title = rest
		o.Keys = append(o.Keys, "done")
		o.Fields["done"] = located.Node{Line: n.Line, Value: done}
	}
	o.Fields["title"] = located.Node{Line: n.Line, Value: title}
	return located.Node{Line: n.Line, Value: o}
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
			if !ok || !titledObject(o) {
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
		_, key, ok := inner(o)
		key = text.Key(key)
		if ok && (named || key != "subtasks" && key != "steps" || o.Has("phase", "phase_id", "phaseId")) {
			n++
		}
	}
	return 2*n > len(list)
}

// innerTitles is inner for a group whose tasks are texts alone. Steps may be criteria.
func innerTitles(o *located.Object) ([]located.Node, string, bool) {
	for _, key := range o.Keys {
		name := text.Key(key)
		if name != "steps" && slices.Contains(innerKeys, name) && slices.Contains(titleLists, name) {
			if list, ok := titlesAlone(o.Fields[key]); ok {
				return list, key, true
			}
		}
	}
	return nil, "", false
}

// groupsOf are the groups of a list. A task may stand among them.
func groupsOf(list []located.Node) []taskGroup {
	var out []taskGroup
	for _, e := range list {
		o, ok := e.Value.(*located.Object)
		if !ok {
			continue
		}
		nodes, read, ok := inner(o)
		if !ok {
			nodes, read, ok = innerTitles(o)
		}
		g := taskGroup{nodes: nodes}
		lists := false
		for _, key := range o.Keys {
			there, list := o.Fields[key].Value.([]located.Node)
			if !list || !slices.Contains(innerKeys, text.Key(key)) {
				continue
			}
			lists = lists || text.Key(key) != "steps"
			if key != read && len(there) > 0 {
				g.left = append(g.left, key)
			}
		}
		if !ok && !lists && titledObject(o) { // no group but a task
			out = append(out, taskGroup{nodes: []located.Node{e}})
			continue
		}
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
	count := map[string]int{}
	for _, g := range groups {
		for _, i := range g.tasks {
			count[plan.Fold(im.plan.Tasks[i].ID)]++
		}
	}
	now := map[plan.TaskID][]plan.TaskID{} // by the ids of the file
	for n, g := range groups {
		if slices.ContainsFunc(g.tasks, func(i int) bool {
			id := im.plan.Tasks[i].ID
			return id != "" && count[plan.Fold(id)] > 1
		}) {
			im.labelGroup(n, g, now)
		}
	}
	for _, g := range groups { // dependencies on other groups' tasks get the new ids
		for _, i := range g.tasks {
			for d, dep := range im.plan.Tasks[i].DependsOn {
				if ids := now[dep]; len(ids) == 1 && count[plan.Fold(dep)] == 1 {
					im.plan.Tasks[i].DependsOn[d] = ids[0]
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

// labelGroup puts the name of a group before the ids of its tasks.
func (im *importer) labelGroup(n int, g taskGroup, now map[plan.TaskID][]plan.TaskID) {
	label := plan.NumberedID(n + 1)
	if len(g.names) > 0 && plan.ValidID(g.names[0]) == nil && len(g.names[0]) < plan.MaxID/3 {
		label = plan.TaskID(g.names[0])
	}
	own := map[plan.TaskID]plan.TaskID{}
	for _, i := range g.tasks {
		t := &im.plan.Tasks[i]
		if t.ID == "" {
			continue
		}
		id := plan.TaskID(text.CutBytes(string(label+"."+t.ID), plan.MaxID))
		own[t.ID], now[t.ID] = id, append(now[t.ID], id)
		t.ID, im.places.Tasks[i].ID = id, id
	}
	for _, i := range g.tasks {
		for d, dep := range im.plan.Tasks[i].DependsOn {
			if id, ok := own[dep]; ok {
				im.plan.Tasks[i].DependsOn[d] = id
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
