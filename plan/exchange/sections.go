package exchange

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// A Markdown file is also a work list if its sections are headed "Task 1: …" and
// have fields; boxes in them are then criteria. Without boxes it may be a table
// with a column of states, or bullets of which some are ticked off. Only items
// with a state are read; prose stays prose.

// sections reads a file without boxes; false when it is no work list.
func (im *importer) sections(words string) bool {
	lines := strings.Split(text.Clean(words), "\n")
	for _, read := range []func([]string) bool{im.tableTasks, im.tickedBullets} {
		if read(lines) {
			return true
		}
	}
	return false
}

// taskHeading reads "## Task 1: title", "### T-001: title" and "## [T-001] title".
func taskHeading(line string) (level int, id plan.TaskID, title string, ok bool) {
	line = strings.TrimSpace(line)
	level = len(line) - len(strings.TrimLeft(line, "#"))
	if level < 1 || level > 6 || len(line) == level || line[level] != ' ' {
		return 0, "", "", false
	}
	_, rest := cutMarks(strings.TrimSpace(strings.Trim(line[level:], "# ")))
	for _, word := range []string{"task", "story", "user story", "issue", "ticket", "feature", "step", "item"} {
		after, found := text.CutPrefixFold(rest, word+" ")
		if !found {
			continue
		}
		number, title, _ := strings.Cut(strings.TrimLeft(after, "#"), " ")
		number = strings.TrimRight(number, ":.)-–— ")
		title = strings.TrimLeft(title, ":.-–— ")
		if number != "" && strings.Trim(number, "0123456789.") == "" && plan.ValidID(number) == nil {
			if title == "" {
				title = rest
			}
			return level, plan.TaskID(number), title, true
		}
	}
	if inner, after, found := strings.Cut(strings.TrimPrefix(rest, "["), "]"); strings.HasPrefix(rest, "[") && found &&
		looksLikeID(inner) {
		return level, plan.TaskID(inner), strings.TrimLeft(after, ":.-–— "), true
	}
	word, after, _ := strings.Cut(rest, " ")
	word = strings.TrimRight(word, ":.")
	counted := strings.HasPrefix(word, "T") && strings.Trim(word[1:], "0123456789") == ""
	if looksLikeID(word) && unicode.IsUpper(rune(word[0])) && (counted || strings.Contains(word, "-")) &&
		strings.Trim(after, "-–—: ") != "" {
		return level, plan.TaskID(word), strings.TrimLeft(after, ":.-–— "), true
	}
	return 0, "", "", false
}

// fieldLine reads "**Status**: done", "- **Depends on:** Task 1", "Priority: high".
func fieldLine(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if item, bullet := cutBullet(line); bullet {
		line = item
	}
	key, value, ok = strings.Cut(strings.ReplaceAll(line, "__", "**"), ":")
	key = text.Key(strings.Trim(key, "*_ "))
	value = strings.TrimSpace(strings.Trim(strings.TrimSpace(value), "*"))
	switch key {
	case "dependencies", "deps", "blockedby", "dependency":
		key = "dependson"
	case "state", "completed", "done":
		key = "status"
	case "verification", "verificationcommand", "test", "testcommand", "verifycommand":
		key = "verify"
	case "acceptance", "criteria", "acceptancecriterion", "donewhen", "definitionofdone":
		key = "acceptancecriteria"
	}
	return key, value, ok && slices.Contains([]string{"status", "dependson", "verify", "priority", "acceptancecriteria"},
		key)
}

// section is a heading and its facts.
type section struct {
	at, level int
	id        plan.TaskID
	title     string
	done      bool
	named     bool // as a task, with a number or an id
	counted   bool // as one of a list: "Task 2", "T2"
	field     bool // a state or a dependency follows
}

// headedTasks reads sections that are tasks. Named sections are tasks if half of
// them have a field or they are counted from one. Other sections need a state.
// Headings alone are not enough: a guide also has numbered steps.
func (im *importer) headedTasks(lines []string) bool {
	all := headings(lines)
	var named, stated []section
	fields, counted := 0, true
	levels := map[int]int{}
	for _, s := range all {
		if s.named {
			named = append(named, s)
			if s.field {
				fields++
			}
			counted = counted && s.counted && strings.TrimLeft(string(s.id), "T") == strconv.Itoa(len(named))
		} else if s.field {
			stated = append(stated, s)
			levels[s.level]++
		}
	}
	boxes := slices.ContainsFunc(lines, func(line string) bool { // which are the tasks then
		_, _, box := cutBox(strings.TrimSpace(line))
		return box && indent(line) < 2
	})
	switch {
	case len(named) > 0 && 2*fields >= len(named), len(named) > 1 && counted && !boxes:
	case len(stated) > 1 && levels[stated[0].level] == len(stated) && !boxes:
		named = stated
	default:
		return false
	}
	taken := make([]bool, len(lines))
	for _, s := range named {
		end := len(lines)
		for _, next := range all { // a heading of the same or a higher level ends it, or the next task
			if next.at > s.at && next.at < end && (next.level <= s.level || slices.Contains(named, next)) {
				end = next.at
			}
		}
		m := newMarkdownTask("", s.done, -2, s.at+1)
		m.task.ID, m.task.Title, m.at.ID = s.id, s.title, s.id
		im.sectionBody(m, lines[s.at+1:end], s.at+2)
		for n := s.at; n < end; n++ {
			taken[n] = true
		}
		im.take(m)
	}
	im.outside(lines, func(n int) bool { return taken[n] })
	return true
}

// headings are the headings of a text.
func headings(lines []string) []section {
	var all []section
	fence := ""
	for n, line := range lines {
		open := fence != ""
		if fence = fenceAfter(fence, line); open || fence != "" {
			continue
		}
		body := strings.TrimSpace(line)
		level := len(body) - len(strings.TrimLeft(body, "#"))
		if level > 0 && level < 7 && strings.HasPrefix(body[level:], " ") {
			s := section{at: n, level: level}
			var known bool
			s.done, known, s.title = marked(strings.TrimSpace(strings.Trim(body[level:], "# ")))
			if _, id, title, ok := taskHeading(line); ok {
				s.id, s.title, s.named, s.field = id, title, true, known
				word := strings.ToLower(strings.TrimLeft(body[level:], " #[✅🚧⏳"))
				s.counted = strings.HasPrefix(word, "task ") || strings.HasPrefix(word, "t"+strings.TrimLeft(string(id), "T"))
			}
			all = append(all, s)
			continue
		}
		if key, value, ok := fieldLine(line); ok && len(all) > 0 {
			last := &all[len(all)-1]
			_, state := statusWord(value)
			state = state && key == "status" && len(strings.Fields(value)) < 5
			last.field = last.field || state || last.named && slices.Contains([]string{"status", "dependson", "verify"}, key)
		}
	}
	return all
}

// sectionBody reads the lines below the heading of a task.
func (im *importer) sectionBody(m *markdownTask, lines []string, first int) {
	fence, list, margin := "", false, 0 // of the field whose list is being read
	for n, line := range lines {
		body := strings.TrimSpace(line)
		open := fence != ""
		fence = fenceAfter(fence, line)
		if open || fence != "" {
			m.prose = append(m.prose, line)
			continue
		}
		if list {
			_, _, field := fieldLine(line)
			if item, ok := cutBullet(body); ok && !field && indent(line) >= margin {
				if _, text, box := cutBox(body); box {
					item = text
				}
				m.criterion(item, first+n)
				continue
			}
			if list = body == ""; list {
				continue
			}
		}
		if _, text, ok := cutBox(body); ok && text != "" {
			m.criterion(text, first+n)
			continue
		}
		key, value, ok := fieldLine(line)
		if !ok || !im.sectionField(m, key, value, first+n) {
			m.prose = append(m.prose, line)
			continue
		}
		list, margin = key == "acceptancecriteria" && value == "", indent(line)
		if _, bullet := cutBullet(body); bullet {
			margin++
		}
	}
}

func (m *markdownTask) criterion(text string, line int) {
	m.place("criteria", line)
	m.task.Criteria = append(m.task.Criteria, text)
}

// sectionField takes one field of a section; false leaves the line in the prose.
func (im *importer) sectionField(m *markdownTask, key, value string, line int) bool {
	r := taskReader{importer: im, t: &m.task, name: plan.TaskName(len(im.plan.Tasks), m.task.ID), at: &m.at}
	switch key {
	case "status":
		m.place("status", line)
		s, ok := statusWord(value)
		if !ok {
			im.Warn(line, m.task.ID, "%s: the status %q is not known; the task is pending", r.name, text.Clip(value, 40))
			return false
		}
		if m.task.Status = s; s == plan.Pending && saysDone(value) {
			im.Warn(line, m.task.ID, "%s: the status %q does not say that all is done; the task is pending", r.name,
				text.Clip(value, 40))
		}
	case "dependson":
		ids, ok := dependencyWords(value)
		if !ok {
			return false // prose
		}
		m.place("depends_on", line)
		m.task.DependsOn = append(m.task.DependsOn, ids...)
	case "verify":
		commands := codeSpans(value)
		if len(commands) == 0 {
			if value == "" {
				return false
			}
			m.criterion(value, line)
			return true
		}
		m.place("verify", line)
		m.task.Verify = append(m.task.Verify, commands...)
	case "priority":
		word, _, _ := strings.Cut(strings.Trim(value, "`* "), " ")
		p, ok := priorityWord(strings.Trim(word, "()"))
		if !ok {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 || n > 1000 {
				return false
			}
			p = n
		}
		m.place("priority", line)
		m.task.Priority = p
	case "acceptancecriteria":
		if value != "" {
			m.criterion(value, line)
		}
	}
	return true
}

// dependencyWords reads "T-001, Task 2 and #3."; false for what is prose.
func dependencyWords(value string) (ids []plan.TaskID, ok bool) {
	value = strings.NewReplacer(" and ", ",", " und ", ",", " + ", ",", ";", ",", "&", ",").Replace(value)
	for one := range strings.SplitSeq(value, ",") {
		one = strings.Trim(strings.TrimSpace(one), "`*[]()#. ")
		for _, word := range []string{"task ", "story ", "issue ", "step "} {
			one, _ = text.CutPrefixFold(one, word)
		}
		one = strings.TrimPrefix(one, "#")
		switch text.Key(one) {
		case "", "none", "nothing", "n/a", "na", "–", "—", "null", "nil":
			continue
		}
		if plan.ValidID(one) != nil {
			return nil, false
		}
		ids = append(ids, plan.TaskID(one))
	}
	return ids, true
}

// isBox reports whether a line is a box of a checklist.
func isBox(line string) bool {
	_, _, ok := cutBox(line)
	return ok
}

// codeSpans are the texts between back-ticks.
func codeSpans(s string) []string {
	var out []string
	for i, part := range strings.Split(s, "`") {
		if part = strings.TrimSpace(part); i%2 == 1 && part != "" {
			out = append(out, part)
		}
	}
	return out
}

// doneMarks and openMarks are what people put before or behind an item.
var (
	doneMarks = []string{"✅", "☑️", "☑", "✔️", "✔", "✓", "[DONE]", "[done]", "(done)", "(DONE)", "[x]", "[X]"}
	openMarks = []string{"⬜", "☐", "🔲", "❌", "⏳", "🚧", "🔄", "[TODO]", "[todo]", "[ ]"}
)

// cutMarks takes marks of a state off an item.
func cutMarks(s string) (done bool, rest string) {
	done, _, rest = marked(s)
	return done, rest
}

// marked reads the marks of an item: known says whether there was any.
func marked(s string) (done, known bool, rest string) {
	rest = strings.TrimSpace(s)
	for again := true; again; {
		again = false
		for i, marks := range [][]string{doneMarks, openMarks} {
			for _, mark := range marks {
				cut, ok := strings.CutPrefix(rest, mark)
				if !ok {
					cut, ok = strings.CutSuffix(rest, mark)
				}
				if ok && strings.TrimSpace(cut) != "" {
					rest, known, again = strings.TrimSpace(cut), true, true
					done = done || i == 0
				}
			}
		}
		if inner, after, ok := strings.Cut(strings.TrimPrefix(rest, "~~"), "~~"); strings.HasPrefix(rest, "~~") && ok &&
			inner != "" {
			rest, known, again, done = strings.TrimSpace(inner+after), true, true, true
		}
	}
	return done, known, rest
}

// tickedBullets reads lists in which at least one bullet of the outermost level
// carries the mark of a state.
func (im *importer) tickedBullets(lines []string) bool {
	took := make([]bool, len(lines))
	fence := ""
	var block []int // the bullets of one list, until a heading
	any := false
	flush := func() {
		var items []string
		for _, n := range block {
			item, _ := cutBullet(strings.TrimSpace(lines[n]))
			items = append(items, item)
		}
		if !tickedList(items) {
			block = nil
		}
		for i, n := range block {
			any = true
			item, _ := cutBullet(strings.TrimSpace(lines[n]))
			done, title := cutMarks(item)
			m := newMarkdownTask(title, done, indent(lines[n]), n+1)
			end := len(lines)
			if i+1 < len(block) {
				end = block[i+1]
			}
			took[n] = true
			for k := n + 1; k < end && (strings.TrimSpace(lines[k]) == "" || indent(lines[k]) >= m.indent+2); k++ {
				took[k] = true
				m.line(lines[k], strings.TrimSpace(lines[k]), k+1, false, im)
			}
			im.take(m)
		}
		block = nil
	}
	for n, line := range lines {
		open := fence != ""
		if fence = fenceAfter(fence, line); open || fence != "" {
			continue
		}
		if strings.HasPrefix(line, "#") {
			flush()
		} else if _, ok := cutBullet(strings.TrimSpace(line)); ok && indent(line) < 2 {
			block = append(block, n)
		}
	}
	flush()
	if !any {
		return false
	}
	im.outside(lines, func(n int) bool { return took[n] })
	return true
}

// tickedList reports whether items are a work list: some are open, and some are
// struck out or ticked behind, or ticks and open marks are in front. Lists of
// features, and of dos and don'ts, are not.
func tickedList(items []string) bool {
	ticked, open, sign := false, false, false
	for _, item := range items {
		if strings.Contains(item, "❌") {
			return false
		}
		done, known, _ := marked(item)
		open = open || !done
		if !known {
			continue
		}
		if !done { // an open mark
			sign = true
			continue
		}
		ticked = true
		sign = sign || strings.HasPrefix(item, "~~")
		for _, mark := range doneMarks {
			sign = sign || strings.HasSuffix(item, mark)
		}
	}
	return ticked && open && sign
}

// outside takes the goal from the first heading and names what belongs to no task.
func (im *importer) outside(lines []string, taken func(n int) bool) {
	for n, line := range lines {
		body := strings.TrimSpace(line)
		head, first := strings.CutPrefix(body, "# ")
		switch {
		case first && im.plan.Goal == "":
			im.plan.Goal = text.OneLine(head)
		case taken(n) || body == "":
		case strings.HasPrefix(body, "#"):
			im.lost.add("headings", "a plan has no sections", "")
		case isBox(body):
			im.lost.add("boxes outside of the tasks", "the sections with fields are the tasks here", "")
		default:
			im.lost.add("text outside the list", "", "")
		}
	}
}
