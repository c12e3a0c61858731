package exchange

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/stable"
	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// key reads one key of a foreign task. An unknown key is recorded as lost, not
// refused: it may be right in the other tool.
func (r *taskReader) key(key string, n located.Node) {
	t := r.t
	switch text.Key(key) {
	case "title", "name":
		r.place("title", n)
		if s, ok := r.text(n, r.name, key); ok && t.Title == "" {
			t.Title = s
		}
	case "description", "body":
		r.place("description", n)
		if s, ok := documentText(n); ok {
			r.description(s)
		} else if s, ok := r.text(n, r.name, key); ok {
			r.description(s)
		}
	case "issuelinks":
		r.place("depends_on", n)
		r.issueLinks(n, key)
	case "details":
		if s, ok := r.text(n, r.name, key); ok {
			r.details = strings.TrimSpace(s)
		}
	case "status", "state":
		r.place("status", n)
		r.status(n)
	case "passes", "done", "completed", "complete", "isdone", "iscompleted", "closed":
		r.place("status", n)
		r.passed = r.finished(n, key) || r.passed
	case "priority":
		r.place("priority", n)
		r.priority(n)
	case "dependson", "dependencies", "deps", "needs", "requires", "prerequisites", "dependency":
		r.place("depends_on", n)
		r.dependencies(n, key)
	case "teststrategy":
		r.place("criteria", n)
		if s, ok := r.text(n, r.name, key); ok {
			t.Criteria = append(t.Criteria, cutBullets(s)...)
		}
	case "criteria", "acceptancecriteria", "verificationcriteria", "acceptance", "steps", "teststeps", "verificationsteps",
		"successcriteria", "definitionofdone", "donewhen":
		r.place("criteria", n)
		t.Criteria = append(t.Criteria, r.criteria(n, key)...)
	case "verification":
		r.place("criteria", n)
		if o, ok := n.Value.(*located.Object); ok {
			r.verification(key, o)
		} else {
			t.Criteria = append(t.Criteria, r.criteria(n, key)...)
		}
	case "testcommand", "verifycommand", "verificationcommand":
		r.place("verify", n)
		t.Verify = append(t.Verify, r.items(n, key)...)
	case "story", "task", "summary", "subject", "content", "text", "requirement", "issue", "goal", "objective", "action",
		"step", "desc", "prompt", "instructions", "taskname":
		if s, ok := n.Value.(string); ok {
			r.titles = append(r.titles, otherText{key, text.Clean(s)})
		} else if r.says(n) {
			r.lost.add(key, "", t.ID)
		}
	case "labels":
		r.labels(n)
	case "order": // read with the list
	case "maxretries":
		r.place("max_attempts", n)
		if v, ok := r.count(n, key); ok {
			t.MaxAttempts = &v
			if v == 0 {
				r.Warn(n.Line, t.ID, "%s: %s is 0, which means no limit here", r.name, key)
			}
		}
	case "costusd":
		r.cost(n, key)
	case "completedat":
		r.completedAt(n, key)
	case "metadata":
		r.metadata(n, key)
	default:
		r.otherKey(key, n)
	}
}

// fieldNames are our fields under the names of other formats.
var fieldNames = map[string]string{"retrycount": "attempts", "retries": "attempts", "actualtokensused": "actual_tokens",
	"completionnotes": "notes", "blockers": "blocked_by"}

func (r *taskReader) cost(n located.Node, key string) {
	r.place("cost_micro_usd", n)
	if num, ok := n.Value.(located.Number); ok {
		if v, err := plan.ParseDollars(string(num)); err == nil {
			r.t.CostMicroUSD = v
			return
		}
	}
	r.wrong(n, r.name, key, "an amount in dollars")
}

func (r *taskReader) completedAt(n located.Node, key string) {
	r.place("completed_at", n)
	if s, ok := n.Value.(string); ok {
		if at, ok := moment(s); ok {
			r.t.CompletedAt = &at
			return
		}
	}
	r.Warn(n.Line, r.t.ID, "%s: %s is not a time and was left out", r.name, key)
}

// metadata is where our own export keeps what task-master has no field for.
func (r *taskReader) metadata(n located.Node, key string) {
	t := r.t
	if m, ok := n.Value.(*located.Object); ok && r.format == FormatTaskMaster {
		if s, ok := m.Fields["git_ralph_id"].Value.(string); ok {
			r.rename(t.ID, plan.TaskID(s))
			t.ID, r.at.ID = plan.TaskID(s), plan.TaskID(s)
			if len(m.Keys) == 1 {
				return
			}
		}
	}
	r.lost.add(key, "", t.ID)
}

func (r *taskReader) otherKey(key string, n located.Node) {
	if name := fieldNames[text.Key(key)]; name != "" {
		r.field(name, key, n)
		return
	}
	for _, f := range plan.TaskFields {
		if text.Key(f.Name) == text.Key(key) && f.Name != "cost_micro_usd" && f.Name != "failure" {
			r.field(f.Name, key, n)
			return
		}
	}
	if r.says(n) {
		r.lost.add(key, "", r.t.ID)
	}
}

// cutBullets makes a list of a text whose lines are all bullets; another text
// is one entry.
func cutBullets(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		item, ok := cutBullet(line)
		if !ok {
			out = nil
			break
		}
		out = append(out, item)
	}
	if s = strings.TrimSpace(s); out == nil && s != "" {
		return []string{s}
	}
	return out
}

// says: an empty list or text says nothing, so its loss is not reported.
func (r *taskReader) says(n located.Node) bool {
	switch v := n.Value.(type) {
	case string:
		return v != ""
	case []located.Node:
		return len(v) > 0
	case *located.Object:
		return len(v.Keys) > 0
	case bool:
		return v
	}
	return n.Value != nil
}

func (r *taskReader) place(field string, n located.Node) { r.at.Fields[field] = n.Line }

// field reads a value into our field with that name.
func (r *taskReader) field(name, key string, n located.Node) {
	f, _ := plan.FieldNamed(name)
	r.place(name, n)
	switch to := f.At(r.t).(type) {
	case *string:
		if s, ok := r.text(n, r.name, key); ok {
			*to = s
		}
	case *[]string:
		*to = append(*to, r.items(n, key)...)
	case *bool:
		*to = r.flag(n, key)
	case *int:
		*to, _ = r.count(n, key)
	case *int64:
		*to, _ = r.whole(n, key)
	case **int:
		if v, ok := r.count(n, key); ok {
			*to = &v
		}
	case **time.Time, *plan.TaskID, *plan.Status, *[]plan.TaskID: // have cases of their own
	}
}

// fraction remembers a priority such as 2.5: when all are read, they become
// whole numbers in the same order.
func (r *taskReader) fraction(num located.Number) bool {
	if len(num) > 20 || strings.ContainsAny(string(num), "eE") {
		return false
	}
	v, ok := new(big.Rat).SetString(string(num))
	if !ok || v.IsInt() {
		return false
	}
	if r.fractions == nil {
		r.fractions = map[int]*big.Rat{}
	}
	r.fractions[len(r.plan.Tasks)] = v
	return true
}

// wholePriorities gives all tasks new priorities where one was a fraction.
func (im *importer) wholePriorities() {
	if len(im.fractions) == 0 {
		return
	}
	at := func(i int) *big.Rat {
		if v := im.fractions[i]; v != nil {
			return v
		}
		return big.NewRat(int64(im.plan.Tasks[i].Priority), 1)
	}
	var sorted []*big.Rat
	for i := range im.plan.Tasks {
		sorted = append(sorted, at(i))
	}
	stable.Sort(sorted, (*big.Rat).Cmp)
	sorted = slices.CompactFunc(sorted, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
	for i := range im.plan.Tasks {
		v := at(i) // before the priority changes
		n, _ := slices.BinarySearchFunc(sorted, v, (*big.Rat).Cmp)
		im.plan.Tasks[i].Priority = n + 1
	}
	im.Warn(0, "", "priorities with a fraction were renumbered from 1, in the same order")
}

// description of an issue holds its checklist, which is what it is judged by.
func (r *taskReader) description(s string) {
	s = strings.TrimRight(s, " \t\n")
	if r.format != FormatIssues {
		r.t.Description = s
		return
	}
	s, found := uncommented(s)
	if found {
		r.lost.add("boxes in comments", "", r.t.ID)
	}
	var prose []string
	fence := ""
	for line := range strings.SplitSeq(s, "\n") {
		fence = fenceAfter(fence, line)
		if _, text, ok := cutBox(strings.TrimSpace(line)); ok && fence == "" && text != "" {
			r.t.Criteria = append(r.t.Criteria, text)
			continue
		}
		prose = append(prose, line)
	}
	r.t.Description = strings.TrimSpace(strings.Join(prose, "\n"))
}

// labels of an issue: {"name": "priority:high"} or plain names.
func (r *taskReader) labels(n located.Node) {
	list, ok := n.Value.([]located.Node)
	if s, words := n.Value.(string); words {
		for one := range strings.SplitSeq(s, ",") {
			list, ok = append(list, located.Node{Line: n.Line, Value: one}), true
		}
	}
	if !ok {
		r.wrong(n, r.name, "labels", "a list of labels")
		return
	}
	for _, e := range list {
		label, _ := e.Value.(string)
		if o, ok := e.Value.(*located.Object); ok {
			label, _ = firstText(o, "name")
		}
		if !r.label(strings.TrimSpace(label), n) && label != "" {
			r.lost.add("labels", "only labels of priority have a meaning", r.t.ID)
		}
	}
}

// label reads priority:high, priority/2, prio-1, P1 and the like.
func (r *taskReader) label(label string, n located.Node) bool {
	word := strings.ToLower(label)
	for _, prefix := range []string{"priority", "prio"} {
		rest, ok := strings.CutPrefix(word, prefix)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, ":/- =")
		if p, ok := priorityWord(rest); ok {
			r.t.Priority = p
			r.place("priority", n)
			return true
		}
		if len(rest) == 1 && rest[0] >= '0' && rest[0] <= '9' {
			r.t.Priority = int(rest[0] - '0')
			r.place("priority", n)
			return true
		}
	}
	if p, ok := priorityWord(word); ok && len(word) == 2 {
		r.t.Priority = p
		r.place("priority", n)
		return true
	}
	return false
}

// tags are the lists of a tagged task-master file, in its order.
func tags(o *located.Object) []string {
	var out []string
	for _, key := range o.Keys {
		if tag, ok := o.Fields[key].Value.(*located.Object); ok {
			if _, ok := listOf(tag, "tasks"); ok {
				out = append(out, key)
			}
		}
	}
	return out
}

// pickTag is the list to read of a tagged file, the file itself when it is flat.
func (im *importer) pickTag(o *located.Object) *located.Object {
	if _, flat := listOf(o, "tasks"); flat {
		return o
	}
	names := tags(o)
	if len(names) == 0 {
		return o
	}
	want := im.opts.Tag
	if want != "" && !slices.Contains(names, want) {
		im.Bad(0, "", "", "the file has no tag %q; it has %s", text.Clip(want, 60), strings.Join(names, ", "))
		want = ""
	}
	if want == "" {
		want = names[0]
		if slices.Contains(names, "master") {
			want = "master"
		}
	}
	for _, name := range names {
		if name != want {
			im.lost.add("tag "+text.Clip(name, 60), "one list is read at a time; this was "+text.Clip(want, 60), "")
		}
	}
	return o.Fields[want].Value.(*located.Object)
}

// withSubtasks reads one task and its subtasks, which become tasks with dotted
// ids. A subtask also waits on its parent's dependencies. The parent waits on
// its subtasks and then checks that they make a whole. siblings are the ids of
// the subtasks of one parent.
func (im *importer) withSubtasks(line int, o *located.Object, parent *plan.Task, siblings map[string]bool) plan.TaskID {
	var subs []located.Node
	own := *o
	if hasSubtasks(o) {
		subs, _ = listOf(o, "subtasks")
		own.Fields = cloneFields(o.Fields)
		delete(own.Fields, "subtasks")
	}
	t, at := im.foreignTask(line, &own)
	if parent != nil {
		if !strings.HasPrefix(string(t.ID), string(parent.ID)+".") && plainID(o.Fields["id"]) == string(t.ID) {
			t.ID = parent.ID + "." + t.ID
		}
		at.ID = t.ID
		for d, dep := range t.DependsOn {
			// A bare number means the sibling with that id, if there is one.
			if siblings[string(dep)] {
				t.DependsOn[d] = parent.ID + "." + dep
			}
		}
		if _, named := o.Get("priority"); !named {
			t.Priority = parent.Priority
		}
		t.DependsOn = append(t.DependsOn, parent.DependsOn...)
	}
	first := len(im.plan.Tasks)
	im.plan.Tasks = append(im.plan.Tasks, t)
	im.places.Tasks = append(im.places.Tasks, at)
	if len(subs) > plan.MaxItems {
		im.Bad(line, t.ID, "", "%s has more than %d subtasks", t.ID, plan.MaxItems)
		return t.ID
	}
	inner := make(map[string]bool, len(subs))
	for _, n := range subs {
		if s, ok := n.Value.(*located.Object); ok {
			inner[plainID(s.Fields["id"])] = true
		}
	}
	for i, n := range subs {
		s, ok := n.Value.(*located.Object)
		switch {
		case !ok:
			im.Bad(n.Line, t.ID, "", "%s: subtask %d is %s, not an object", t.ID, i+1, n.Kind())
			continue
		case plainID(s.Fields["id"]) == "":
			s = &located.Object{Keys: append([]string{"id"}, s.Keys...), Fields: cloneFields(s.Fields)}
			s.Fields["id"] = located.Node{Line: n.Line, Value: located.Number(strconv.Itoa(i + 1))}
		}
		id := im.withSubtasks(n.Line, s, &t, inner)
		im.plan.Tasks[first].DependsOn = append(im.plan.Tasks[first].DependsOn, id)
	}
	// Its work is done by the subtasks; a change of its own may not be needed.
	im.plan.Tasks[first].NoChangeExpected = im.plan.Tasks[first].NoChangeExpected || len(subs) > 0
	return t.ID
}

// plainID is an id as it stands in the file.
func plainID(n located.Node) string {
	switch v := n.Value.(type) {
	case string:
		return strings.TrimSpace(v)
	case located.Number:
		return string(v)
	}
	return ""
}
