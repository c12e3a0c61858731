package plan

import (
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// norm is a key without case and separators: acceptanceCriteria and
// acceptance_criteria are one key, and so are in-progress and in_progress.
func norm(key string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, key))
}

// detectJSON finds the format of a JSON document, empty when it holds no tasks.
// The formats are told apart by the keys that only one of them has.
func detectJSON(root node) Format {
	list, isList := root.value.([]node)
	if isList {
		if len(list) == 0 {
			return FormatJSON
		}
		o, ok := list[0].value.(*object)
		switch {
		case !ok:
			return ""
		case o.has("number") && (!o.has("id") || o.has("html_url", "repository_url", "labels_url")):
			return FormatIssues
		case hasSubtasks(o) && !o.has("depends_on"):
			return FormatTaskMaster
		}
		return FormatJSON
	}
	o, ok := root.value.(*object)
	if !ok {
		return ""
	}
	if len(tags(o)) > 0 {
		if _, flat := listOf(o, "tasks"); !flat {
			return FormatTaskMaster
		}
	}
	groups, used, ok := taskGroups(root)
	if !ok {
		return ""
	}
	if norm(used[0]) == "userstories" {
		return FormatStories
	}
	var all []node
	for _, g := range groups {
		all = append(all, g.nodes...)
	}
	return detectTasks(all)
}

// hasSubtasks says whether a task holds a list of smaller ones.
func hasSubtasks(o *object) bool {
	subs, ok := listOf(o, "subtasks")
	return ok && slices.ContainsFunc(subs, func(n node) bool { _, ok := n.value.(*object); return ok })
}

func listOf(o *object, keys ...string) ([]node, bool) {
	for _, k := range keys {
		if n, ok := o.get(k); ok {
			list, isList := n.value.([]node)
			return list, isList
		}
	}
	return nil, false
}

// detectTasks decides between the formats whose list is called tasks.
func detectTasks(tasks []node) Format {
	score := map[Format]int{}
	for _, n := range tasks {
		o, ok := n.value.(*object)
		if !ok {
			continue
		}
		for _, key := range o.keys {
			switch norm(key) {
			case "dependson", "acceptancecriteria", "order", "retrycount", "maxretries", "needsdocs":
				score[FormatPlan]++
			case "verificationcriteria", "estimatedtokens", "actualtokensused", "completionnotes", "blockers":
				score[FormatImplementation] += 2
			case "subtasks", "teststrategy", "details":
				score[FormatTaskMaster] += 2
			case "dependencies":
				score[FormatImplementation]++
			case "priority":
				word, _ := o.fields[key].value.(string)
				if _, ok := priorityWord(word); ok {
					score[FormatTaskMaster]++
				}
			case "id":
				if _, num := o.fields[key].value.(number); num && o.has("dependencies") {
					score[FormatTaskMaster]++
				}
			case "status":
				switch s, _ := o.fields[key].value.(string); s {
				case "todo": // no other has it
					score[FormatPRD] += 5
				case "complete":
					score[FormatImplementation]++
				case "in-progress", "deferred", "cancelled", "review":
					score[FormatTaskMaster]++
				}
			}
		}
	}
	best, most := FormatPRD, 0
	for _, f := range []Format{FormatPlan, FormatImplementation, FormatTaskMaster, FormatPRD} {
		if score[f] > most {
			best, most = f, score[f]
		}
	}
	return best
}

// json reads every JSON format. They share one table of keys: files are often
// a cross of two of them, and a key means the same in all.
func (im *importer) json(data []byte) {
	root, err := parseDocument(data)
	if err != nil {
		im.bad(err.line, "", "", "the file is not valid JSON: %s", err.text)
		return
	}
	if o, ok := root.value.(*object); ok && im.format == FormatTaskMaster {
		root.value = im.pickTag(o)
	}
	groups, used, ok := taskGroups(root)
	if !ok {
		im.bad(root.line, "", knownFormatsHint, "the JSON holds no list of tasks")
		return
	}
	if o, ok := root.value.(*object); ok {
		im.head(o, used)
	}
	if len(groups) > 1 || len(groups) == 1 && len(groups[0].names) > 0 {
		im.lost.add(used[0], "a plan has no sections", "")
	}
	var orders []*big.Rat
	for g := range groups {
		for _, n := range groups[g].nodes {
			o, ok := n.value.(*object)
			if !ok {
				im.bad(n.line, "", "", "task %d is %s, not an object", len(im.plan.Tasks)+1, n.kindOf())
				continue
			}
			im.withSubtasks(n.line, o, nil, nil)
			for len(orders) < len(im.plan.Tasks) {
				groups[g].tasks = append(groups[g].tasks, len(orders))
				orders = append(orders, im.order(o))
			}
		}
	}
	if len(im.plan.Tasks) == 0 && len(im.problems) == 0 {
		im.bad(root.line, "", knownFormatsHint, "the list of tasks is empty")
		return
	}
	im.joinGroups(groups)
	im.wholePriorities()
	im.sortByOrder(orders)
	for i := range im.plan.Tasks {
		for d, dep := range im.plan.Tasks[i].DependsOn {
			if id, ok := im.renamed[dep]; ok {
				im.plan.Tasks[i].DependsOn[d] = id
			}
		}
	}
}

// head reads the keys beside the list.
func (im *importer) head(o *object, used []string) {
	goals := make(map[string]string)
	for _, key := range o.keys {
		n := o.fields[key]
		if slices.Contains(used, key) {
			continue
		}
		switch norm(key) {
		case "goal", "description", "project", "projectname", "name", "title", "feature":
			if s, ok := im.text(n, "", key); ok {
				goals[norm(key)] = s
			}
		case "metadata", "meta":
			if m, ok := n.value.(*object); ok {
				for _, k := range m.keys {
					switch norm(k) {
					case "description", "projectname":
						if s, ok := im.text(m.fields[k], "", k); ok {
							goals[norm(k)] = s
						}
					case "created", "createdat":
						im.created(m.fields[k])
					case "taskcount", "completedcount": // counted again anyway
					default:
						im.lost.add(key+"."+k, "", "")
					}
				}
			}
		case "created", "createdat":
			im.created(n)
		default:
			if n.value != nil {
				im.lost.add(key, "", "")
			}
		}
	}
	for _, key := range []string{"goal", "description", "feature", "project", "projectname", "title", "name"} {
		s := oneLine(goals[key])
		switch {
		case s == "":
		case im.plan.Goal == "":
			im.plan.Goal = s
		case im.plan.Goal != s:
			im.lost.add(key, "the goal is one line", "")
		}
	}
}

func (im *importer) created(n node) {
	if s, ok := n.value.(string); ok {
		if at, ok := moment(s); ok {
			im.plan.Created = at
			return
		}
	}
	if n.value != nil {
		im.warn(n.line, "", "the time of creation is not a time and was left out")
	}
}

// order is the place a task asks for, nil when it names none.
func (im *importer) order(o *object) *big.Rat {
	if n, ok := o.get("order"); ok {
		if num, ok := n.value.(number); ok && len(num) < 20 {
			if r, ok := new(big.Rat).SetString(string(num)); ok {
				return r
			}
		}
		im.bad(n.line, "", "", "order is %s; it must be a number", n.kindOf())
	}
	return nil
}

// sortByOrder puts tasks where `order` says; those without one stay behind
// those with one, in the order of the file.
func (im *importer) sortByOrder(orders []*big.Rat) {
	index := make([]int, len(im.plan.Tasks))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		switch x, y := orders[a], orders[b]; {
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		default:
			return x.Cmp(y)
		}
	})
	tasks := make([]Task, len(index))
	places := make([]place, len(index))
	for to, from := range index {
		tasks[to], places[to] = im.plan.Tasks[from], im.places.tasks[from]
	}
	im.plan.Tasks, im.places.tasks = tasks, places
}

// foreignTask reads one task of any JSON format.
func (im *importer) foreignTask(line int, o *object) (Task, place) {
	t := Task{Status: Pending, Priority: 1}
	at := place{line: line, fields: make(map[string]int)}
	idKey := "id"
	if im.format == FormatIssues && o.has("number") {
		idKey = "number" // what people call it; "id" is the host's own
	}
	if n, ok := o.get(idKey); ok {
		switch v := n.value.(type) {
		case string:
			t.ID = TaskID(strings.TrimSpace(v))
		case number:
			t.ID = TaskID(v)
		default:
			im.bad(n.line, "", "", "task %d: the id is %s; it must be a text or a number", len(im.plan.Tasks)+1, n.kindOf())
		}
		at.fields["id"] = n.line
	}
	at.id = t.ID
	r := taskReader{importer: im, t: &t, name: taskName(len(im.plan.Tasks), t.ID), at: &at}
	for _, key := range o.keys {
		n := o.fields[key]
		switch {
		case n.value == nil, key == idKey:
		case im.format == FormatIssues && key == "id": // number stands for it
		default:
			r.key(key, n)
		}
	}
	r.finish()
	im.settle(&t)
	return t, at
}

// titleKeys hold the title of a task that has none, the best one first.
var titleKeys = []string{"story", "task", "summary", "subject", "content", "text", "requirement"}

// taskReader reads the keys of one foreign task.
type taskReader struct {
	*importer
	t    *Task
	name string // how problems call the task
	at   *place

	details string      // of a task-master task, shown after the description
	passed  bool        // some flag says that the task is done
	titles  []otherText // under keys that hold a title where there is no title
}

// otherText is a text that may stand in for a missing one.
type otherText struct{ key, text string }

// finish puts together what several keys said, in whatever order they stood.
func (r *taskReader) finish() {
	t := r.t
	for _, key := range titleKeys {
		for _, o := range r.titles {
			switch {
			case norm(o.key) != key:
			case t.Title == "":
				t.Title = o.text
			case oneLine(t.Title) != oneLine(o.text):
				r.lost.add(o.key, "", t.ID)
			}
		}
	}
	if r.passed {
		t.Status = Done
	}
	if r.details != "" && r.details != t.Description {
		t.Description = strings.TrimSpace(t.Description + "\n\n" + r.details)
	}
	if title := oneLine(t.Title); utf8.RuneCountInString(title) > MaxTitle {
		t.Description = strings.TrimSpace(title + "\n\n" + t.Description)
		t.Title = TitleFrom(title)
		r.warn(r.at.line, t.ID, "%s: the title was longer than %d characters and is now in the description", r.name, MaxTitle)
	} else {
		t.Title = title
	}
}

// text reads a value that should be text, as most tools that write JSON would.
func (im *importer) text(n node, name, key string) (string, bool) {
	switch v := n.value.(type) {
	case string:
		return clean(v), true
	case number:
		return string(v), true
	case []node:
		var lines []string
		for _, e := range v {
			s, ok := e.value.(string)
			if !ok {
				im.wrong(n, name, key, "a text")
				return "", false
			}
			lines = append(lines, clean(s))
		}
		return strings.Join(lines, "\n"), true
	}
	im.wrong(n, name, key, "a text")
	return "", false
}

func (im *importer) wrong(n node, name, key, want string) {
	if name != "" {
		key = name + ": " + key
	}
	im.bad(n.line, "", "", "%s is %s; it must be %s", key, n.kindOf(), want)
}

// items reads a list of texts; a text alone is a list of one.
func (r *taskReader) items(n node, key string) []string {
	var out []string
	add := func(s string) {
		if s = strings.TrimSpace(clean(s)); s != "" {
			out = append(out, s)
		}
	}
	switch v := n.value.(type) {
	case string:
		add(v)
	case []node:
		if len(v) > MaxItems {
			r.bad(n.line, r.t.ID, "", "%s: %s has more than %d entries", r.name, key, MaxItems)
			return nil
		}
		for _, e := range v {
			switch e := e.value.(type) {
			case string:
				add(e)
			case number:
				add(string(e))
			case nil:
			case *object:
				if s, ok := r.itemOf(key, e); ok {
					add(s)
					continue
				}
				r.wrong(n, r.name, key, "a list of texts")
				return nil
			default:
				r.wrong(n, r.name, key, "a list of texts")
				return nil
			}
		}
	default:
		r.wrong(n, r.name, key, "a list of texts")
	}
	return out
}

// commandKeys of a criterion hold the command that proves it, textKeys what it
// says, in the order of preference.
var (
	commandKeys = []string{"testcommand", "command", "verificationcommand", "verifycommand", "verify", "cmd", "run"}
	textKeys    = []string{"text", "criterion", "description", "title", "name", "statement", "expected", "scenario", "step", "action"}
)

// itemOf is the text of an entry that is an object. Its command goes to verify;
// what else it says is lost by name.
func (r *taskReader) itemOf(list string, o *object) (string, bool) {
	var text, command, textKey string
	for _, want := range textKeys {
		for _, k := range o.keys {
			if s, ok := o.fields[k].value.(string); ok && norm(k) == want && s != "" && text == "" {
				text, textKey = s, k
			}
		}
	}
	for _, k := range o.keys {
		n := o.fields[k]
		s, isText := n.value.(string)
		switch {
		case k == textKey || norm(k) == "id":
		case isText && slices.Contains(commandKeys, norm(k)):
			if command = strings.TrimSpace(clean(s)); command != "" && !slices.Contains(r.t.Verify, command) {
				r.t.Verify = append(r.t.Verify, command)
			}
		case r.says(n):
			r.lost.add(list+"."+k, "", r.t.ID)
		}
	}
	if text == "" && command != "" {
		text = "`" + command + "` passes"
		if strings.Contains(command, "`") {
			text = command
		}
	}
	return text, text != ""
}

func firstText(o *object, keys ...string) (string, bool) {
	for _, k := range keys {
		if s, ok := o.fields[k].value.(string); ok && s != "" {
			return s, true
		}
	}
	return "", false
}

// whole reads a whole number; 25000.0 and 2.5e4 are whole.
func (r *taskReader) whole(n node, key string) (int64, bool) {
	num, ok := n.value.(number)
	if s, text := n.value.(string); text {
		num, ok = number(strings.TrimSpace(s)), true
	}
	if ok && len(num) <= 32 && !strings.ContainsAny(string(num), "/_xXpPbBoO") {
		e := strings.IndexAny(string(num), "eE")
		if e < 0 || len(num)-e <= 4 { // an exponent is expanded: 1e999999 is no number of tokens
			if v, ok := new(big.Rat).SetString(string(num)); ok && v.IsInt() && v.Num().IsInt64() {
				return v.Num().Int64(), true
			}
		}
	}
	r.wrong(n, r.name, key, "a whole number")
	return 0, false
}

// count reads a number that fits the field of an int on every machine.
func (r *taskReader) count(n node, key string) (int, bool) {
	v, ok := r.whole(n, key)
	if ok && (v > 1<<31-1 || v < -1<<31) {
		r.bad(n.line, r.t.ID, "", "%s: %s is %d, which is out of range", r.name, key, v)
		return 0, false
	}
	return int(v), ok
}

func (r *taskReader) flag(n node, key string) bool {
	b, ok := n.value.(bool)
	if !ok {
		r.wrong(n, r.name, key, "true or false")
	}
	return b
}

// moment reads the times that programs write: RFC 3339, the same without a
// zone (UTC then), and a date alone.
func moment(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
