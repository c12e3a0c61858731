package plan

import (
	"slices"
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
		for _, id := range r.items(n, key) {
			for _, one := range strings.FieldsFunc(id, func(c rune) bool { return c == ',' }) {
				t.DependsOn = append(t.DependsOn, TaskID(strings.TrimSpace(one)))
			}
		}
	case "teststrategy":
		r.place("criteria", n)
		if s, ok := r.text(n, r.name, key); ok {
			t.Criteria = append(t.Criteria, cutBullets(s)...)
		}
	case "criteria", "acceptancecriteria", "verificationcriteria":
		r.place("criteria", n)
		t.Criteria = append(t.Criteria, r.items(n, key)...)
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
	if v, ok := r.count(n, "priority"); ok {
		r.t.Priority = v
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

// taskMaster reads one task and its subtasks, which become tasks with dotted
// ids. A subtask waits on what its parent waits on, and the parent, which is
// then the check that the parts make a whole, on its subtasks.
func (im *importer) taskMaster(line int, o *object) {
	subs, _ := listOf(o, "subtasks")
	own := *o
	own.fields = make(map[string]node, len(o.fields))
	for k, v := range o.fields {
		if k != "subtasks" || len(subs) == 0 {
			own.fields[k] = v
		}
	}
	parent, at := im.foreignTask(line, &own)
	first := len(im.plan.Tasks)
	im.plan.Tasks = append(im.plan.Tasks, parent)
	im.places.tasks = append(im.places.tasks, at)
	if len(subs) == 0 {
		return
	}
	if len(subs) > MaxItems {
		im.bad(line, parent.ID, "", "%s has more than %d subtasks", parent.ID, MaxItems)
		return
	}
	siblings := make(map[string]bool, len(subs))
	for _, n := range subs {
		if s, ok := n.value.(*object); ok {
			siblings[plainID(s.fields["id"])] = true
		}
	}
	for i, n := range subs {
		s, ok := n.value.(*object)
		if !ok {
			im.bad(n.line, parent.ID, "", "%s: subtask %d is %s, not an object", parent.ID, i+1, n.kindOf())
			continue
		}
		t, at := im.foreignTask(n.line, s)
		if id := string(t.ID); id == "" {
			im.bad(n.line, parent.ID, "", "%s: subtask %d has no id", parent.ID, i+1)
		} else if !strings.HasPrefix(id, string(parent.ID)+".") && plainID(s.fields["id"]) == id {
			t.ID = parent.ID + "." + t.ID
		}
		at.id = t.ID
		for d, dep := range t.DependsOn {
			// A bare number is a sibling where there is one of that id.
			if siblings[string(dep)] {
				t.DependsOn[d] = parent.ID + "." + dep
			}
		}
		if _, named := s.get("priority"); !named {
			t.Priority = parent.Priority
		}
		t.DependsOn = append(t.DependsOn, parent.DependsOn...)
		im.plan.Tasks = append(im.plan.Tasks, t)
		im.places.tasks = append(im.places.tasks, at)
		im.plan.Tasks[first].DependsOn = append(im.plan.Tasks[first].DependsOn, t.ID)
	}
	// Its work is done by the subtasks; a change of its own may not be needed.
	im.plan.Tasks[first].NoChangeExpected = true
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
