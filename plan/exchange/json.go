package exchange

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"git-ralph/internal/stable"
	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// detectJSON finds the format of a JSON document, empty when it holds no tasks.
// The formats are told apart by the keys that only one of them has.
func detectJSON(root located.Node) Format {
	list, isList := root.Value.([]located.Node)
	if isList {
		if len(list) == 0 {
			return FormatJSON
		}
		if _, ok := titlesAlone(root); ok {
			return FormatPRD
		}
		o, ok := list[0].Value.(*located.Object)
		switch {
		case !ok:
			return ""
		case isIssue(o):
			return FormatIssues
		case o.Has("number") && (!o.Has("id") || o.Has("html_url", "repository_url", "labels_url", "node_id",
			"assignees", "milestone", "closed_at", "closedAt", "createdAt", "author")):
			return FormatIssues
		case hasSubtasks(o) && !o.Has("depends_on"):
			return FormatTaskMaster
		}
		return FormatJSON
	}
	o, ok := root.Value.(*located.Object)
	if !ok {
		return ""
	}
	if len(tags(o)) > 0 {
		if _, flat := listOf(o, "tasks"); !flat {
			return FormatTaskMaster
		}
	}
	found, ok := findTasks(root)
	if !ok {
		return ""
	}
	if text.Key(found.key) == "userstories" {
		return FormatStories
	}
	var all []located.Node
	for _, g := range found.groups {
		all = append(all, g.nodes...)
	}
	if len(all) > 0 {
		if o, ok := all[0].Value.(*located.Object); ok && isIssue(o) {
			return FormatIssues
		}
	}
	return detectTasks(all)
}

// hasSubtasks reports whether a task holds a list of smaller ones.
func hasSubtasks(o *located.Object) bool {
	subs, ok := listOf(o, "subtasks")
	return ok && slices.ContainsFunc(subs, func(n located.Node) bool { _, ok := n.Value.(*located.Object); return ok })
}

func listOf(o *located.Object, keys ...string) ([]located.Node, bool) {
	for _, k := range keys {
		if n, ok := o.Get(k); ok {
			list, isList := n.Value.([]located.Node)
			return list, isList
		}
	}
	return nil, false
}

// detectTasks decides between the formats whose list is called tasks.
func detectTasks(tasks []located.Node) Format {
	score := map[Format]int{}
	for _, n := range tasks {
		o, ok := n.Value.(*located.Object)
		if !ok {
			continue
		}
		for _, key := range o.Keys {
			switch text.Key(key) {
			case "dependson", "acceptancecriteria", "order", "retrycount", "maxretries", "needsdocs":
				score[FormatPlan]++
			case "verificationcriteria", "estimatedtokens", "actualtokensused", "completionnotes", "blockers":
				score[FormatImplementation] += 2
			case "subtasks", "teststrategy", "details":
				score[FormatTaskMaster] += 2
			case "dependencies":
				score[FormatImplementation]++
			case "priority":
				word, _ := o.Fields[key].Value.(string)
				if _, ok := priorityWord(word); ok {
					score[FormatTaskMaster]++
				}
			case "id":
				if _, num := o.Fields[key].Value.(located.Number); num && o.Has("dependencies") {
					score[FormatTaskMaster]++
				}
			case "status":
				switch s, _ := o.Fields[key].Value.(string); s {
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
	root, err := parseDocument(im.syntax, data)
	if err != nil {
		im.Bad(err.Line, "", "", "the file is not valid %s: %s", im.syntax, err.Text)
		return
	}
	im.document(root)
}

// document reads the tasks of a document, in whatever syntax it was.
func (im *importer) document(root located.Node) {
	if o, ok := root.Value.(*located.Object); ok && im.format == FormatTaskMaster {
		root.Value = im.pickTag(o)
	}
	found, ok := findTasks(root)
	if !ok {
		im.Bad(root.Line, "", knownFormatsHint, "the %s contains no list of tasks", im.syntax)
		return
	}
	for _, b := range found.beside {
		im.head(b.object, b.used)
	}
	groups := found.groups
	if len(groups) > 1 || len(groups) == 1 && len(groups[0].names) > 0 {
		im.lost.add(cmp.Or(found.key, "groups"), "a plan has no sections", "")
		for _, key := range found.beside[max(len(found.beside)-1, 0):] {
			for _, used := range key.used {
				im.lost.add(used, "a plan has no sections", "")
			}
		}
	}
	var orders []*big.Rat
	for g := range groups {
		for _, key := range groups[g].left {
			im.lost.add(cmp.Or(found.key, "groups")+"."+key, "one list of a group is read", "")
		}
		for _, n := range groups[g].nodes {
			if words, ok := titleAlone(n); ok {
				n = titled(words)
			}
			o, ok := n.Value.(*located.Object)
			if !ok {
				im.Bad(n.Line, "", "", "task %d is %s, not an object", len(im.plan.Tasks)+1, n.Kind())
				continue
			}
			im.withSubtasks(n.Line, o, nil, nil)
			for len(orders) < len(im.plan.Tasks) {
				groups[g].tasks = append(groups[g].tasks, len(orders))
				orders = append(orders, im.order(o))
			}
		}
	}
	if len(im.plan.Tasks) == 0 && len(im.Problems) == 0 {
		im.Bad(root.Line, "", knownFormatsHint, "the list of tasks is empty")
		return
	}
	im.joinGroups(groups)
	im.unknownStates()
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
func (im *importer) head(o *located.Object, used []string) {
	goals := make(map[string]string)
	for _, key := range o.Keys {
		n := o.Fields[key]
		if slices.Contains(used, key) {
			continue
		}
		switch text.Key(key) {
		case "goal", "description", "project", "projectname", "name", "title", "feature":
			if o, ok := n.Value.(*located.Object); ok {
				goals[text.Key(key)] = im.named(key, o)
			} else if s, ok := im.text(n, "", key); ok {
				goals[text.Key(key)] = s
			}
		case "metadata", "meta":
			if _, ok := n.Value.(*located.Object); !ok && n.Value != nil {
				im.lost.add(key, "", "")
			}
			if m, ok := n.Value.(*located.Object); ok {
				for _, k := range m.Keys {
					switch text.Key(k) {
					case "description", "projectname":
						if s, ok := im.text(m.Fields[k], "", k); ok {
							goals[text.Key(k)] = s
						}
					case "created", "createdat":
						im.created(m.Fields[k])
					case "taskcount", "completedcount": // counted again anyway
					default:
						im.lost.add(key+"."+k, "", "")
					}
				}
			}
		case "created", "createdat":
			im.created(n)
		default:
			if n.Value != nil {
				im.lost.add(key, "", "")
			}
		}
	}
	for _, key := range []string{"goal", "description", "feature", "project", "projectname", "title", "name"} {
		s := text.OneLine(goals[key])
		switch {
		case s == "":
		case im.plan.Goal == "":
			im.plan.Goal = s
		case im.plan.Goal != s:
			im.lost.add(key, "the goal is one line", "")
		}
	}
}

// named is the name of a project that is an object; what else it says is lost.
func (im *importer) named(key string, o *located.Object) string {
	name := ""
	for _, k := range o.Keys {
		s, ok := o.Fields[k].Value.(string)
		switch text.Key(k) {
		case "name", "title", "goal":
			if ok && name == "" {
				name = s
				continue
			}
		}
		im.lost.add(key+"."+k, "", "")
	}
	return name
}

func (im *importer) created(n located.Node) {
	if s, ok := n.Value.(string); ok {
		if at, ok := moment(s); ok {
			im.plan.Created = at
			return
		}
	}
	if n.Value != nil {
		im.Warn(n.Line, "", "the time of creation is not a time and was left out")
	}
}

// order is the place a task asks for, nil when it names none.
func (im *importer) order(o *located.Object) *big.Rat {
	if n, ok := o.Get("order"); ok {
		if num, ok := n.Value.(located.Number); ok && len(num) < 20 && smallExponent(string(num)) {
			if r, ok := new(big.Rat).SetString(string(num)); ok {
				return r
			}
		}
		im.Bad(n.Line, "", "", "order is %s; it must be a number", n.Kind())
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
	stable.Sort(index, func(a, b int) int {
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
	tasks := make([]plan.Task, len(index))
	places := make([]plan.Place, len(index))
	for to, from := range index {
		tasks[to], places[to] = im.plan.Tasks[from], im.places.Tasks[from]
	}
	im.plan.Tasks, im.places.Tasks = tasks, places
}

// foreignTask reads one task of any JSON format.
func (im *importer) foreignTask(line int, o *located.Object) (plan.Task, plan.Place) {
	t := plan.Task{Status: plan.Pending, Priority: 1}
	at := plan.Place{Line: line, Fields: make(map[string]int)}
	o = flatIssue(o)
	idKey := im.idKey(o)
	if n, ok := o.Get(idKey); ok {
		switch v := n.Value.(type) {
		case string:
			t.ID = im.foreignID(n.Line, strings.TrimSpace(v))
		case located.Number:
			t.ID = plan.TaskID(v)
		default:
			im.Bad(n.Line, "", "", "task %d: the id is %s; it must be a text or a number", len(im.plan.Tasks)+1, n.Kind())
		}
		at.Fields["id"] = n.Line
	}
	at.ID = t.ID
	r := taskReader{importer: im, t: &t, name: plan.TaskName(len(im.plan.Tasks), t.ID), at: &at}
	for _, key := range o.Keys {
		n := o.Fields[key]
		switch {
		case n.Value == nil, key == idKey:
		case im.format == FormatIssues && key == "id": // number, or key, stands for it
		default:
			r.key(key, n)
		}
	}
	for _, key := range o.Twice {
		im.lost.add(key+" that is given twice", "the last value counts", t.ID)
	}
	r.finish()
	im.settle(&t)
	return t, at
}

// titleKeys can hold the title if there is no title key, the best one first.
var titleKeys = []string{"story", "task", "taskname", "summary", "subject", "content", "text", "requirement", "issue",
	"desc", "objective", "goal", "action", "step", "instructions", "prompt"}

// longTexts are those that hold the description if the task has a title.
var longTexts = []string{"summary", "content", "text", "desc", "prompt", "instructions"}

// taskReader reads the keys of one foreign task.
type taskReader struct {
	*importer
	t    *plan.Task
	name string // how problems call the task
	at   *plan.Place

	details string      // of a task-master task, shown after the description
	passed  bool        // some flag says that the task is done
	titles  []otherText // values of titleKeys
}

// otherText is a text that may stand in for a missing one.
type otherText struct{ key, text string }

// finish puts together what several keys said, in whatever order they stood.
func (r *taskReader) finish() {
	t := r.t
	for _, key := range titleKeys {
		for _, o := range r.titles {
			switch {
			case text.Key(o.key) != key:
			case t.Title == "":
				t.Title = o.text
			case t.Description == "" && slices.Contains(longTexts, key):
				t.Description = strings.TrimSpace(o.text)
			case text.OneLine(t.Title) != text.OneLine(o.text):
				r.lost.add(o.key, "", t.ID)
			}
		}
	}
	if r.passed {
		t.Status = plan.Done
	}
	t.Title = strings.TrimPrefix(t.Title, "["+string(t.ID)+"] ") // as some trackers print it
	if r.details != "" && r.details != t.Description {
		t.Description = strings.TrimSpace(t.Description + "\n\n" + r.details)
	}
	if title := text.OneLine(t.Title); utf8.RuneCountInString(title) > plan.MaxTitle {
		t.Description = strings.TrimSpace(title + "\n\n" + t.Description)
		t.Title = plan.TitleFrom(title)
		r.Warn(r.at.Line, t.ID, "%s: the title was longer than %d characters and is now in the description", r.name,
			plan.MaxTitle)
	} else {
		t.Title = title
	}
}

// text reads a value that should be text, as most tools that write JSON would.
func (im *importer) text(n located.Node, name, key string) (string, bool) {
	switch v := n.Value.(type) {
	case string:
		return text.Clean(v), true
	case located.Number:
		return string(v), true
	case []located.Node:
		var lines []string
		for _, e := range v {
			s, ok := e.Value.(string)
			if !ok {
				im.wrong(n, name, key, "a text")
				return "", false
			}
			lines = append(lines, text.Clean(s))
		}
		return strings.Join(lines, "\n"), true
	}
	im.wrong(n, name, key, "a text")
	return "", false
}

func (im *importer) wrong(n located.Node, name, key, want string) {
	if name != "" {
		key = name + ": " + key
	}
	im.Bad(n.Line, "", "", "%s is %s; it must be %s", key, n.Kind(), want)
}

// whole reads a whole number; 25000.0 and 2.5e4 are whole.
func (r *taskReader) whole(n located.Node, key string) (int64, bool) {
	num, ok := n.Value.(located.Number)
	if s, text := n.Value.(string); text {
		num, ok = located.Number(strings.TrimSpace(s)), true
	}
	if ok && len(num) <= 32 && !strings.ContainsAny(string(num), "/_xXpPbBoO") {
		if smallExponent(string(num)) {
			if v, ok := new(big.Rat).SetString(string(num)); ok && v.IsInt() && v.Num().IsInt64() {
				return v.Num().Int64(), true
			}
		}
	}
	r.wrong(n, r.name, key, "a whole number")
	return 0, false
}

// smallExponent says that a number can be expanded: 1e999999 has a million digits.
func smallExponent(num string) bool {
	e := strings.IndexAny(num, "eE")
	return e < 0 || len(num)-e <= 4
}

// count reads a number that fits the field of an int on every machine.
func (r *taskReader) count(n located.Node, key string) (int, bool) {
	v, ok := r.whole(n, key)
	if ok && (v > 1<<31-1 || v < -1<<31) {
		r.Bad(n.Line, r.t.ID, "", "%s: %s is %d, which is out of range", r.name, key, v)
		return 0, false
	}
	return int(v), ok
}

func (r *taskReader) flag(n located.Node, key string) bool {
	b, ok := n.Value.(bool)
	if s, words := n.Value.(string); words && r.syntax == syntaxCSV {
		b, ok = strings.EqualFold(s, "true"), true
	}
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
