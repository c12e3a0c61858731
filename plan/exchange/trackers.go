package exchange

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// idKeys hold the id of a task, the best one first.
var idKeys = []string{"id", "key", "identifier", "taskid", "issuekey", "issueid", "storyid", "featureid", "stepid",
	"ticket", "ref", "number", "nr", "no", "#", "uuid", "uid", "gid"}

// idKey is the key of an object's id, "id" when it has none. Trackers have one
// id for people and one of their own.
func (im *importer) idKey(o *located.Object) string {
	first := idKeys
	switch {
	case im.format == FormatIssues && o.Has("number"):
		return "number"
	case im.tracker():
		first = append([]string{"issuekey", "key"}, idKeys...)
	}
	for _, want := range first {
		for _, k := range o.Keys {
			if text.Key(k) == want && plainID(o.Fields[k]) != "" {
				return k
			}
		}
	}
	return "id"
}

// foreignID turns a tool's id, which may have any characters, into a valid one.
func (im *importer) foreignID(line int, id string) plan.TaskID {
	if plan.ValidID(id) == nil || id == "" || im.format == FormatJSON {
		return plan.TaskID(id)
	}
	signs := strings.Map(func(r rune) rune {
		if r < 0x80 && plan.ValidID("a"+string(r)) == nil {
			return r
		}
		return '-'
	}, id)
	other := text.CutBytes(strings.Trim(signs, "-._"), plan.MaxID)
	if plan.ValidID(other) != nil {
		return plan.TaskID(id) // refused where ids are judged
	}
	im.rename(plan.TaskID(id), plan.TaskID(other))
	im.Warn(line, plan.TaskID(other), "the id %q is %s here: ids are letters, digits, '.', '_' and '-'", text.Clip(id, 60),
		other)
	return plan.TaskID(other)
}

// rename records the new id for an id of the file.
func (im *importer) rename(from, to plan.TaskID) {
	if im.renamed == nil {
		im.renamed = make(map[plan.TaskID]plan.TaskID)
	}
	im.renamed[from] = to
}

// isIssue tells an issue of a tracker whose fields stand in an object of their own.
func isIssue(o *located.Object) bool {
	f, ok := o.Fields["fields"].Value.(*located.Object)
	return ok && f.Has("summary")
}

// flatIssue puts the fields of such an issue beside its key.
func flatIssue(o *located.Object) *located.Object {
	if !isIssue(o) {
		return o
	}
	f := o.Fields["fields"].Value.(*located.Object)
	out := &located.Object{Fields: cloneFields(f.Fields), Keys: slices.Clone(f.Keys)}
	for _, k := range o.Keys {
		if k == "fields" || k == "expand" || k == "self" {
			continue
		}
		if !out.Has(k) {
			out.Keys = append(out.Keys, k)
		}
		out.Fields[k] = o.Fields[k]
	}
	return out
}

// nameOf is the word that an object of a tracker stands for: a status, a priority.
func nameOf(n located.Node) located.Node {
	if o, ok := n.Value.(*located.Object); ok {
		if s, ok := firstText(o, "name", "value", "title", "label"); ok {
			return located.Node{Line: n.Line, Value: s}
		}
	}
	return n
}

// documentText is the text of a document that is a tree of nodes; false for any
// other object.
func documentText(n located.Node) (string, bool) {
	o, ok := n.Value.(*located.Object)
	if !ok {
		return "", false
	}
	kind, _ := o.Fields["type"].Value.(string)
	if s, ok := o.Fields["text"].Value.(string); ok && kind == "text" {
		return s, true
	}
	children, ok := o.Fields["content"].Value.([]located.Node)
	if !ok && kind != "hardBreak" {
		return "", kind != "" && !o.Has("content")
	}
	var parts []string
	for _, c := range children {
		if s, ok := documentText(c); ok {
			parts = append(parts, s)
		}
	}
	switch kind {
	case "doc", "bulletList", "orderedList":
		return strings.Join(parts, "\n"), true
	case "listItem":
		return "- " + strings.Join(parts, "\n  "), true
	case "hardBreak":
		return "\n", true
	}
	return strings.Join(parts, ""), true
}

// issueLinks takes the issues that block this one out of its links.
func (r *taskReader) issueLinks(n located.Node, key string) {
	list, ok := n.Value.([]located.Node)
	if !ok {
		list = []located.Node{n}
	}
	for _, e := range list {
		o, ok := e.Value.(*located.Object)
		if !ok {
			r.lost.add(key, "", r.t.ID)
			continue
		}
		if kind, ok := o.Fields["type"].Value.(*located.Object); ok { // JSON
			inward, _ := firstText(kind, "inward")
			if other, ok := o.Fields["inwardIssue"].Value.(*located.Object); ok && strings.EqualFold(inward, "is blocked by") {
				r.dependsOn(plainID(other.Fields["key"]))
				continue
			}
		}
		if kind, ok := o.Fields["issuelinktype"]; ok { // XML
			r.issueLinks(kind, key)
			continue
		}
		if links, ok := o.Fields["inwardlinks"].Value.(*located.Object); ok {
			if s, _ := firstText(links, "description"); strings.EqualFold(s, "is blocked by") {
				r.blockers(links.Fields["issuelink"])
				continue
			}
		}
		r.lost.add(key, "only those that block are dependencies", r.t.ID)
	}
}

func (r *taskReader) blockers(n located.Node) {
	switch v := n.Value.(type) {
	case []located.Node:
		for _, e := range v {
			r.blockers(e)
		}
	case *located.Object:
		r.dependsOn(plainID(v.Fields["issuekey"]))
	}
}

func (r *taskReader) dependsOn(id string) {
	if id != "" {
		r.t.DependsOn = append(r.t.DependsOn, plan.TaskID(id))
	}
}

// byTitle resolves dependencies that name a task by its title.
func (im *importer) byTitle(known map[string]plan.TaskID) {
	ids := map[string]plan.TaskID{}
	titles := map[string]plan.TaskID{}
	for i := range im.plan.Tasks {
		t := &im.plan.Tasks[i]
		ids[plan.Fold(t.ID)] = t.ID
		key := strings.ToLower(text.OneLine(t.Title))
		if _, twice := titles[key]; twice {
			titles[key] = ""
		} else {
			titles[key] = t.ID
		}
	}
	for i := range im.plan.Tasks {
		for d, dep := range im.plan.Tasks[i].DependsOn {
			id := titles[strings.ToLower(text.OneLine(string(dep)))]
			if id != "" && ids[plan.Fold(dep)] == "" && known[plan.Fold(dep)] == "" {
				im.plan.Tasks[i].DependsOn[d] = id
			}
		}
	}
}

// secondIDs gives a task another id where a file of another tool gives one twice.
func (im *importer) secondIDs() {
	if im.format == FormatTOML || im.format == FormatJSON {
		return
	}
	taken := map[string]bool{}
	for i := range im.plan.Tasks {
		taken[plan.Fold(im.plan.Tasks[i].ID)] = false
	}
	for i := range im.plan.Tasks {
		t := &im.plan.Tasks[i]
		if !taken[plan.Fold(t.ID)] {
			taken[plan.Fold(t.ID)] = true
			continue
		}
		for n := 2; ; n++ {
			id := plan.TaskID(fmt.Sprintf("%s-%d", text.CutBytes(string(t.ID), plan.MaxID-6), n))
			if _, there := taken[plan.Fold(id)]; there {
				continue
			}
			im.Warn(im.places.Tasks[i].Line, id, "the id %s is given twice; here it is %s, and what waits on %s waits "+
				"on the first", t.ID, id, t.ID)
			taken[plan.Fold(id)] = true
			t.ID, im.places.Tasks[i].ID = id, id
			break
		}
	}
}

// listStates gives each card of a board the name of the list that it is in.
func listStates(root *located.Object) {
	lists, _ := root.Fields["lists"].Value.([]located.Node)
	cards, _ := root.Fields["cards"].Value.([]located.Node)
	names := map[string]located.Node{}
	for _, l := range lists {
		if o, ok := l.Value.(*located.Object); ok {
			names[plainID(o.Fields["id"])] = o.Fields["name"]
		}
	}
	for _, c := range cards {
		o, ok := c.Value.(*located.Object)
		if !ok || o.Has("status") {
			continue
		}
		if name, there := names[plainID(o.Fields["idList"])]; there {
			o.Keys = append(o.Keys, "status")
			o.Fields["status"] = name
		}
	}
}
