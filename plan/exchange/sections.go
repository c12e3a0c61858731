package exchange

import (
	"slices"
	"strings"
	"unicode"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// A Markdown file is also a work list when its sections are headed "Task 1: …"
// and have fields below; then boxes in them are criteria. Without boxes it may be
// a table with a column of states, or bullets of which some are ticked off. What
// is read is what says of itself whether it is done; prose stays prose.

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
	if looksLikeID(word) && unicode.IsUpper(rune(word[0])) && strings.ContainsAny(word, "-") &&
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
	case "state":
		key = "status"
	case "verification", "verificationcommand", "test", "testcommand", "verifycommand":
		key = "verify"
	case "acceptance", "criteria", "acceptancecriterion", "donewhen", "definitionofdone":
		key = "acceptancecriteria"
	}
	return key, value, ok && slices.Contains([]string{"status", "dependson", "verify", "priority", "acceptancecriteria"},
		key)
}

// headedTasks reads sections with fields. Sections alone are not enough: a guide
// has numbered steps as well.
func (im *importer) headedTasks(lines []string) bool {
	type section struct {
		at, level int
		id        plan.TaskID
		title     string
		done      bool
	}
	var found []section
	fields, last, fence := 0, -1, "" // sections that have a field, the newest of them
	for n, line := range lines {
		open := fence != ""
		if fence = fenceAfter(fence, line); open || fence != "" {
			continue
		}
		if level, id, title, ok := taskHeading(line); ok {
			done, known, _ := marked(strings.TrimLeft(line, "# "))
			found = append(found, section{n, level, id, title, done})
			if known {
				fields, last = fields+1, len(found)-1
			}
		} else if key, _, ok := fieldLine(line); ok && len(found) > 0 && last < len(found)-1 && (key == "status" ||
			key == "dependson" || key == "verify") {
			fields, last = fields+1, len(found)-1
		}
	}
	if len(found) == 0 || 2*fields < len(found) {
		return false
	}
	for i, s := range found {
		end := len(lines)
		if i+1 < len(found) {
			end = found[i+1].at
		}
		for n := s.at + 1; n < end; n++ { // a heading of the same or a higher level ends it
			if l := len(lines[n]) - len(strings.TrimLeft(lines[n], "#")); l > 0 && l <= s.level &&
				strings.HasPrefix(lines[n][l:], " ") {
				end = n
			}
		}
		m := newMarkdownTask("", s.done, -2, s.at+1)
		m.task.ID, m.task.Title, m.at.ID = s.id, s.title, s.id
		im.sectionBody(m, lines[s.at+1:end], s.at+2)
		t, at := m.finish(im)
		im.plan.Tasks = append(im.plan.Tasks, t)
		im.places.Tasks = append(im.places.Tasks, at)
	}
	im.outside(lines, func(n int) bool { return n >= found[0].at })
	return true
}

// sectionBody reads the lines below the heading of a task.
func (im *importer) sectionBody(m *markdownTask, lines []string, first int) {
	fence, list := "", false
	for n, line := range lines {
		body := strings.TrimSpace(line)
		open := fence != ""
		fence = fenceAfter(fence, line)
		if open || fence != "" {
			m.prose = append(m.prose, line)
			continue
		}
		if list {
			if item, ok := cutBullet(body); ok {
				if _, text, box := cutBox(body); box {
					item = text
				}
				m.criterion(item, first+n)
				continue
			}
			list = body == ""
			if list {
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
		list = key == "acceptancecriteria" && value == ""
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
		m.task.Status = s
	case "dependson":
		var ids []plan.TaskID
		for one := range strings.FieldsFuncSeq(value, func(c rune) bool { return c == ',' || c == ';' || c == '&' }) {
			one = strings.Trim(strings.TrimSpace(one), "`*[]()#. ")
			for _, word := range []string{"task ", "story ", "issue ", "step "} {
				one, _ = text.CutPrefixFold(one, word)
			}
			switch text.Key(one) {
			case "", "none", "nothing", "n/a", "na", "–", "—":
				continue
			}
			if plan.ValidID(one) != nil {
				return false // prose
			}
			ids = append(ids, plan.TaskID(one))
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
			if len(word) != 1 || word[0] < '0' || word[0] > '9' {
				return false
			}
			p = int(word[0] - '0')
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

// statusWord reads what a person writes behind "Status": the mark or the first
// words decide.
func statusWord(s string) (plan.Status, bool) {
	done, known, rest := marked(strings.Trim(s, "*`_ "))
	if done {
		return plan.Done, true
	}
	word := strings.ToLower(strings.Trim(rest, "*`_. "))
	for _, row := range []struct {
		status plan.Status
		words  []string
	}{
		{plan.Pending, []string{"not started", "not done", "pending", "todo", "to do", "open", "ready", "planned", "backlog",
			"incomplete", "in progress", "in-progress", "wip", "started", "partial"}},
		{plan.Done, []string{"done", "complete", "closed", "finished", "implemented", "merged"}},
		{plan.Blocked, []string{"blocked"}},
		{plan.Failed, []string{"failed"}},
		{plan.Skipped, []string{"skipped", "deferred", "cancelled", "canceled", "dropped"}},
	} {
		for _, w := range row.words {
			if strings.HasPrefix(word, w) {
				return row.status, true
			}
		}
	}
	return plan.Pending, known
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
			t, at := m.finish(im)
			im.plan.Tasks = append(im.plan.Tasks, t)
			im.places.Tasks = append(im.places.Tasks, at)
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

// tickedList reports whether items are a list of work: some are struck out or ticked
// off behind, or ticks and open marks stand in front, and some are still open.
// Lists of features, and of what to do and what not, are none.
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
		default:
			im.lost.add("text outside the list", "", "")
		}
	}
}
