package plan

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// key reads one key of a foreign task. A key that no format of ours knows is
// recorded as lost, not refused: it is another tool's, and may be right there.
func (r *taskReader) key(key string, n node) {
	t := r.t
	switch norm(key) {
	case "title", "name":
		r.place("title", n)
		if s, ok := r.text(n, r.name, key); ok && t.Title == "" {
			t.Title = s
		}
	case "description", "body":
		r.place("description", n)
		if s, ok := r.text(n, r.name, key); ok {
			r.description(s)
		}
	case "details":
		if s, ok := r.text(n, r.name, key); ok {
			r.details = strings.TrimSpace(s)
		}
	case "status", "state":
		r.place("status", n)
		r.status(n)
	case "passes", "done", "completed":
		r.place("status", n)
		r.passed = r.flag(n, key) || r.passed
	case "priority":
		r.place("priority", n)
		r.priority(n)
	case "dependson", "dependencies":
		r.place("depends_on", n)
		r.dependencies(n, key)
	case "teststrategy":
		r.place("criteria", n)
		if s, ok := r.text(n, r.name, key); ok {
			t.Criteria = append(t.Criteria, cutBullets(s)...)
		}
	case "criteria", "acceptancecriteria", "verificationcriteria", "acceptance", "steps", "teststeps", "verificationsteps", "successcriteria":
		r.place("criteria", n)
		t.Criteria = append(t.Criteria, r.criteria(n, key)...)
	case "verification":
		r.place("criteria", n)
		if o, ok := n.value.(*object); ok {
			r.verification(key, o)
		} else {
			t.Criteria = append(t.Criteria, r.criteria(n, key)...)
		}
	case "testcommand", "verifycommand", "verificationcommand":
		r.place("verify", n)
		t.Verify = append(t.Verify, r.items(n, key)...)
	case "story", "task", "summary", "subject", "content", "text", "requirement":
		if s, ok := n.value.(string); ok {
			r.titles = append(r.titles, otherText{key, clean(s)})
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
				r.warn(n.line, t.ID, "%s: %s is 0, which means no limit here", r.name, key)
			}
		}
	case "retrycount", "retries":
		r.field("attempts", key, n)
	case "actualtokensused":
		r.field("actual_tokens", key, n)
	case "completionnotes":
		r.field("notes", key, n)
	case "blockers":
		r.field("blocked_by", key, n)
	case "costusd":
		r.place("cost_micro_usd", n)
		if num, ok := n.value.(number); ok {
			if v, err := parseDollars(string(num)); err == nil {
				t.CostMicroUSD = v
				return
			}
		}
		r.wrong(n, r.name, key, "an amount in dollars")
	case "completedat":
		r.place("completed_at", n)
		if s, ok := n.value.(string); ok {
			if at, ok := moment(s); ok {
				t.CompletedAt = &at
				return
			}
		}
		r.warn(n.line, t.ID, "%s: %s is not a time and was left out", r.name, key)
	case "metadata":
		// Our own export keeps here what task-master has no field for.
		if m, ok := n.value.(*object); ok && r.format == FormatTaskMaster {
			if s, ok := m.fields["git_ralph_id"].value.(string); ok {
				if r.renamed == nil {
					r.renamed = make(map[TaskID]TaskID)
				}
				r.renamed[t.ID] = TaskID(s)
				t.ID, r.at.id = TaskID(s), TaskID(s)
				if len(m.keys) == 1 {
					return
				}
			}
		}
		r.lost.add(key, "", t.ID)
	default:
		for _, f := range taskFields {
			if norm(f.name) == norm(key) && f.name != "cost_micro_usd" && f.name != "failure" {
				r.field(f.name, key, n)
				return
			}
		}
		if r.says(n) {
			r.lost.add(key, "", t.ID)
		}
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

// says: an empty list or text says nothing, so nothing is lost with it.
func (r *taskReader) says(n node) bool {
	switch v := n.value.(type) {
	case string:
		return v != ""
	case []node:
		return len(v) > 0
	case *object:
		return len(v.keys) > 0
	case bool:
		return v
	}
	return n.value != nil
}

func (r *taskReader) place(field string, n node) { r.at.fields[field] = n.line }

// field reads a value into the field of ours with that name.
func (r *taskReader) field(name, key string, n node) {
	f, _ := fieldNamed(name)
	r.place(name, n)
	switch to := f.at(r.t).(type) {
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
	case **time.Time, *TaskID, *Status, *[]TaskID: // have cases of their own
	}
}

// status maps the words of all formats. An unknown word is a problem and not
// pending: work that is finished would be done again.
func (r *taskReader) status(n node) {
	s, ok := n.value.(string)
	if !ok {
		r.wrong(n, r.name, "status", "a text")
		return
	}
	switch norm(s) {
	case "pending", "todo", "open", "ready", "backlog", "notstarted", "":
		r.t.Status = Pending
	case "inprogress":
		r.t.Status = InProgress
	case "review":
		r.t.Status = Pending
		r.warn(n.line, r.t.ID, "%s was in review and is pending now", r.name)
	case "done", "complete", "completed", "closed":
		r.t.Status = Done
	case "failed":
		r.t.Status = Failed
	case "blocked":
		r.t.Status = Blocked
	case "skipped":
		r.t.Status = Skipped
	case "deferred", "cancelled", "canceled":
		r.t.Status = Skipped
		r.t.BlockedBy = append(r.t.BlockedBy, norm(s))
	default:
		r.bad(n.line, r.t.ID, "write one of "+statusNames, "%s has the status %q, which is not known", r.name, clip(s, 40))
	}
}

// priorityWord reads the words of task-master and of issue labels.
func priorityWord(s string) (int, bool) {
	switch norm(s) {
	case "critical", "urgent", "highest", "p0":
		return 0, true
	case "high", "p1":
		return 1, true
	case "medium", "normal", "p2":
		return 2, true
	case "low", "p3":
		return 3, true
	case "lowest", "p4":
		return 4, true
	}
	return 0, false
}

func (r *taskReader) priority(n node) {
	if s, ok := n.value.(string); ok {
		if p, ok := priorityWord(s); ok {
			r.t.Priority = p
			return
		}
	}
	if num, ok := n.value.(number); ok && r.fraction(num) {
		return
	}
	if v, ok := r.count(n, "priority"); ok {
		r.t.Priority = v
	}
}

// fraction remembers a priority such as 2.5: when all are read, they become
// whole numbers in the same order.
func (r *taskReader) fraction(num number) bool {
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
	slices.SortFunc(sorted, (*big.Rat).Cmp)
	sorted = slices.CompactFunc(sorted, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
	for i := range im.plan.Tasks {
		v := at(i) // before the priority changes
		n, _ := slices.BinarySearchFunc(sorted, v, (*big.Rat).Cmp)
		im.plan.Tasks[i].Priority = n + 1
	}
	im.warn(0, "", "priorities with a fraction were numbered anew from 1, in the same order")
}

// dependencies reads ids, "1, 2", and objects that name a task.
func (r *taskReader) dependencies(n node, key string) {
	add := func(id string) { r.t.DependsOn = append(r.t.DependsOn, TaskID(id)) }
	list, ok := n.value.([]node)
	if !ok {
		list = []node{n}
	}
	if len(list) > MaxItems {
		r.bad(n.line, r.t.ID, "", "%s: %s has more than %d entries", r.name, key, MaxItems)
		return
	}
	for _, e := range list {
		switch v := e.value.(type) {
		case nil:
		case string:
			for one := range strings.SplitSeq(v, ",") {
				if one = strings.TrimSpace(one); one != "" {
					add(one)
				}
			}
		case number:
			add(string(v))
		case *object:
			r.dependency(e, key, v)
		default:
			r.wrong(n, r.name, key, "a list of texts")
			return
		}
	}
}

// dependency reads {"taskId": "x"} and {"depends_on_id": "x", "type": "blocks"}.
func (r *taskReader) dependency(e node, key string, o *object) {
	for _, want := range []string{"dependsonid", "taskid", "task", "id", "number"} {
		for _, k := range o.keys {
			id := plainID(o.fields[k])
			if norm(k) != want || id == "" {
				continue
			}
			kind, _ := firstText(o, "type")
			if kind != "" && kind != "blocks" && kind != "blocked_by" && kind != "depends_on" {
				r.lost.add(key, "only those that block are dependencies", r.t.ID)
				return
			}
			r.t.DependsOn = append(r.t.DependsOn, TaskID(id))
			return
		}
	}
	r.wrong(e, r.name, key, "a list of ids")
}

// criteria reads a list, or a text whose lines are bullets.
func (r *taskReader) criteria(n node, key string) []string {
	if s, ok := n.value.(string); ok {
		return cutBullets(clean(s))
	}
	return r.items(n, key)
}

// verification reads {"type": "command", "command": "…", "expected": "…"} and
// {"commands": […]}.
func (r *taskReader) verification(key string, o *object) {
	rest := &object{fields: map[string]node{}}
	for _, k := range o.keys {
		n := o.fields[k]
		switch norm(k) {
		case "commands", "run", "verify":
			if _, ok := n.value.([]node); ok || norm(k) == "commands" {
				r.t.Verify = append(r.t.Verify, r.items(n, k)...)
				continue
			}
		case "type":
			continue
		case "criteria", "steps", "scenario", "checks":
			if _, ok := n.value.([]node); ok {
				r.t.Criteria = append(r.t.Criteria, r.items(n, k)...)
				continue
			}
		}
		rest.keys = append(rest.keys, k)
		rest.fields[k] = n
	}
	if len(rest.keys) == 0 {
		return
	}
	if text, ok := r.itemOf(key, rest); ok {
		r.t.Criteria = append(r.t.Criteria, text)
	}
}

// description of an issue holds its checklist, which is what it is judged by.
func (r *taskReader) description(s string) {
	s = strings.TrimRight(s, " \t\n")
	if r.format != FormatIssues {
		r.t.Description = s
		return
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
func (r *taskReader) labels(n node) {
	list, ok := n.value.([]node)
	if !ok {
		r.wrong(n, r.name, "labels", "a list of labels")
		return
	}
	for _, e := range list {
		label, _ := e.value.(string)
		if o, ok := e.value.(*object); ok {
			label, _ = firstText(o, "name")
		}
		if !r.label(strings.TrimSpace(label), n) && label != "" {
			r.lost.add("labels", "only labels of priority have a meaning", r.t.ID)
		}
	}
}

// label reads priority:high, priority/2, prio-1, P1 and the like.
func (r *taskReader) label(label string, n node) bool {
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
func tags(o *object) []string {
	var out []string
	for _, key := range o.keys {
		if tag, ok := o.fields[key].value.(*object); ok {
			if _, ok := listOf(tag, "tasks"); ok {
				out = append(out, key)
			}
		}
	}
	return out
}

// pickTag is the list to read of a tagged file, the file itself when it is flat.
func (im *importer) pickTag(o *object) *object {
	if _, flat := listOf(o, "tasks"); flat {
		return o
	}
	names := tags(o)
	if len(names) == 0 {
		return o
	}
	want := im.opts.Tag
	if want != "" && !slices.Contains(names, want) {
		im.bad(0, "", "", "the file has no tag %q; it has %s", clip(want, 60), strings.Join(names, ", "))
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
			im.lost.add("tag "+clip(name, 60), "one list is read at a time; this was "+clip(want, 60), "")
		}
	}
	return o.fields[want].value.(*object)
}

// withSubtasks reads one task and its subtasks, which become tasks with dotted
// ids. A subtask waits on what its parent waits on, and the parent, which is
// then the check that the parts make a whole, on its subtasks. siblings are the
// ids of the subtasks of one parent.
func (im *importer) withSubtasks(line int, o *object, parent *Task, siblings map[string]bool) TaskID {
	var subs []node
	own := *o
	if hasSubtasks(o) {
		subs, _ = listOf(o, "subtasks")
		own.fields = cloneFields(o.fields)
		delete(own.fields, "subtasks")
	}
	t, at := im.foreignTask(line, &own)
	if parent != nil {
		if !strings.HasPrefix(string(t.ID), string(parent.ID)+".") && plainID(o.fields["id"]) == string(t.ID) {
			t.ID = parent.ID + "." + t.ID
		}
		at.id = t.ID
		for d, dep := range t.DependsOn {
			// A bare number is a sibling where there is one of that id.
			if siblings[string(dep)] {
				t.DependsOn[d] = parent.ID + "." + dep
			}
		}
		if _, named := o.get("priority"); !named {
			t.Priority = parent.Priority
		}
		t.DependsOn = append(t.DependsOn, parent.DependsOn...)
	}
	first := len(im.plan.Tasks)
	im.plan.Tasks = append(im.plan.Tasks, t)
	im.places.tasks = append(im.places.tasks, at)
	if len(subs) > MaxItems {
		im.bad(line, t.ID, "", "%s has more than %d subtasks", t.ID, MaxItems)
		return t.ID
	}
	inner := make(map[string]bool, len(subs))
	for _, n := range subs {
		if s, ok := n.value.(*object); ok {
			inner[plainID(s.fields["id"])] = true
		}
	}
	for i, n := range subs {
		s, ok := n.value.(*object)
		switch {
		case !ok:
			im.bad(n.line, t.ID, "", "%s: subtask %d is %s, not an object", t.ID, i+1, n.kindOf())
			continue
		case plainID(s.fields["id"]) == "":
			s = &object{keys: append([]string{"id"}, s.keys...), fields: cloneFields(s.fields)}
			s.fields["id"] = node{n.line, number(strconv.Itoa(i + 1))}
		}
		id := im.withSubtasks(n.line, s, &t, inner)
		im.plan.Tasks[first].DependsOn = append(im.plan.Tasks[first].DependsOn, id)
	}
	// Its work is done by the subtasks; a change of its own may not be needed.
	im.plan.Tasks[first].NoChangeExpected = im.plan.Tasks[first].NoChangeExpected || len(subs) > 0
	return t.ID
}

// plainID is an id as it stands in the file.
func plainID(n node) string {
	switch v := n.value.(type) {
	case string:
		return strings.TrimSpace(v)
	case number:
		return string(v)
	}
	return ""
}
