package exchange

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// cutBox reads "- [x] text": a list mark, a box, and what follows. The list mark may
// be missing, and signs stand for boxes.
func cutBox(line string) (done bool, text string, ok bool) {
	rest, bullet := line, false
	for again := true; again; bullet = bullet || again { // "- 1. [ ] text" stands in two lists
		if inner, ok := cutBullet(rest); ok {
			rest = inner
		} else {
			again = false
		}
	}
	for mark, box := range map[string]string{"☐ ": "[ ] ", "⬜ ": "[ ] ", "☑ ": "[x] ", "☑️ ": "[x] ", "☒ ": "[x] "} {
		if after, ok := strings.CutPrefix(rest, mark); ok {
			rest = box + after
		}
	}
	inner, text, ok := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	if !ok || !strings.HasPrefix(rest, "[") {
		return false, "", false
	}
	if text != "" && text[0] != ' ' && text[0] != '\t' {
		// "[x](link)", "[x][link]", "[x]: link" and "[x]y", but "[ ]text" and an optional task "[ ]* text".
		if strings.ContainsRune("([:", rune(text[0])) || strings.TrimSpace(inner) != "" && !bullet {
			return false, "", false
		}
		text = strings.TrimPrefix(text, "*")
	}
	if !bullet && (text == "" || inner == "") {
		return false, "", false
	}
	text = strings.TrimSpace(text)
	switch strings.TrimSpace(inner) {
	case "", "~", "/", "-", ">", "<", ".", "!", "?", "*": // not begun, and the marks of what is begun
		return false, text, len(inner) <= 3
	case "x", "X", "✓", "✔", "✅", "☑", "✔️", "☑️":
		return true, text, true
	}
	return false, "", false
}

// cutBullet takes off "- ", "* ", "+ ", "• ", "1. " or "1) ".
func cutBullet(line string) (string, bool) {
	if rest, ok := strings.CutPrefix(line, "• "); ok {
		return strings.TrimLeft(rest, " \t"), true
	}
	digits := 0
	for digits < len(line) && digits < 9 && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	mark := digits + 1
	switch {
	case len(line) <= mark || line[mark] != ' ' && line[mark] != '\t':
		return "", false
	case digits == 0 && strings.IndexByte("-*+", line[0]) < 0:
		return "", false
	case digits > 0 && line[digits] != '.' && line[digits] != ')':
		return "", false
	}
	return strings.TrimLeft(line[mark:], " \t"), true
}

// fenceAfter is the fence that is open after line, "" for none. Text between
// fences is an example and not a list. A fence ends with as many marks as it began
// with, or more; "```make```" is code on one line.
func fenceAfter(open, line string) string {
	line = strings.TrimSpace(line)
	if line == "" || line[0] != '`' && line[0] != '~' {
		return open
	}
	mark := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	rest := line[len(mark):]
	switch {
	case len(mark) < 3, open == "" && mark[0] == '`' && strings.Contains(rest, "`"):
	case open == "":
		return mark
	case mark[0] == open[0] && len(mark) >= len(open) && rest == "":
		return ""
	}
	return open
}

// uncommented takes the boxes out of comments, which are templates; found says whether
// there were any.
func uncommented(words string) (out string, found bool) {
	if !strings.Contains(words, "<!--") {
		return words, false
	}
	lines := strings.Split(words, "\n")
	fence := ""
	for i := 0; i < len(lines); i++ {
		open := fence != ""
		if fence = fenceAfter(fence, lines[i]); open || fence != "" ||
			!strings.HasPrefix(strings.TrimSpace(lines[i]), "<!--") {
			continue
		}
		end := slices.IndexFunc(lines[i:], func(line string) bool { return strings.Contains(line, "-->") })
		if end < 0 {
			break // no comment
		}
		for end += i; i <= end; i++ {
			if isBox(strings.TrimSpace(lines[i])) {
				lines[i], found = "", true
			}
		}
		i--
	}
	return strings.Join(lines, "\n"), found
}

// indent is the width of the white space at the start, tabs to the next four.
func indent(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// words reads a file that is text.
func (im *importer) words(words string) {
	switch {
	case strings.EqualFold(path.Base(im.Source), "todo.txt"):
		im.todoTxt(words)
	case strings.EqualFold(path.Ext(im.Source), ".org") && im.org(words):
	case im.frontMatter(text.Clean(words)):
	default:
		words, found := uncommented(text.Clean(words))
		im.markdown(unquote(words))
		if found {
			im.lost.add("boxes in comments", "", "")
		}
	}
}

// unquote removes the "> " of quoted checklists.
func unquote(words string) string {
	lines := strings.Split(words, "\n")
	in := false
	for i, line := range lines {
		rest, quoted := strings.CutPrefix(line, "> ")
		if _, _, box := cutBox(strings.TrimSpace(rest)); quoted && (in || box) {
			lines[i], in = rest, true
		} else {
			in = false
		}
	}
	return strings.Join(lines, "\n")
}

// markdown reads a checklist. Each box of the outermost level is a task.
// Indented lines below it are its text, and indented boxes its criteria.
func (im *importer) markdown(words string) {
	if im.headedTasks(strings.Split(text.Clean(words), "\n")) {
		return
	}
	var current *markdownTask
	fence, inside := "", false // inside: of the present task
	number := 0
	finish := func() {
		if current != nil {
			im.take(current)
			current = nil
		}
	}
	for line := range strings.SplitSeq(text.Clean(words), "\n") {
		number++
		body := strings.TrimSpace(line)
		if current != nil && inside && body != "" && indent(line) < current.indent+2 {
			fence = "" // what the task's text has left open ends with it
		}
		open := fence != "" // since an earlier line
		if open || current != nil || indent(line) < 4 {
			fence = fenceAfter(fence, line)
		}
		if !open {
			inside = fence != "" && current != nil && indent(line) >= current.indent+2
		}
		fenced := open || fence != ""
		if current != nil && (body == "" || open || indent(line) >= current.indent+2) {
			current.line(line, body, number, fenced, im)
			continue
		}
		finish() // text of the outermost level belongs to no task
		done, title, box := cutBox(body)
		head, first := strings.CutPrefix(body, "# ")
		switch {
		case box && !fenced:
			current = newMarkdownTask(title, done, indent(line), number)
		case first && !fenced && im.plan.Goal == "" && len(im.plan.Tasks) == 0:
			im.plan.Goal = text.OneLine(head)
		case strings.HasPrefix(body, "#") && !fenced:
			im.lost.add("headings", "a plan has no sections", "")
		case body != "":
			im.lost.add("text outside the list", "", "")
		}
	}
	finish()
	if len(im.plan.Tasks) == 0 {
		goal := im.plan.Goal
		im.plan.Goal, im.lost = "", losses{}
		if !im.sections(words) {
			im.plan.Goal = goal
		}
	}
}

// markdownTask is a task whose lines are still being read.
type markdownTask struct {
	task   plan.Task
	at     plan.Place
	indent int // of its list mark
	prose  []string
}

func newMarkdownTask(title string, done bool, indent, line int) *markdownTask {
	m := &markdownTask{task: plan.Task{Status: plan.Pending, Priority: 1}, indent: indent}
	m.task.ID, m.task.Title = cutTaskID(title)
	if done {
		m.task.Status = plan.Done
	}
	m.at = plan.Place{ID: m.task.ID, Line: line, Fields: map[string]int{"id": line, "title": line}}
	return m
}

// cutTaskID reads the id before a title: "**T-001** title", "`T-001` title",
// "T-001: title", and bare "T-001 title" or "T001 title". Words such as UTF-8
// look like ids of other forms, so those need a mark.
func cutTaskID(text string) (plan.TaskID, string) {
	for _, mark := range []string{"**", "`"} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			id, title, ok := strings.Cut(rest, mark)
			id = strings.TrimRight(id, ":. ")
			title = strings.TrimLeft(title, ":.-–— \t")
			if ok && title != "" && looksLikeID(id) {
				return plan.TaskID(id), title
			}
			// "**T-001 — title**" and "**T-001: title** more"
			word, inner, _ := strings.Cut(id, " ")
			bare, name := strings.TrimLeft(inner, ":.-–— \t"), strings.TrimRight(word, ":.")
			if ok && mark == "**" && bare != "" && (bare != inner || strings.HasSuffix(word, ":")) && looksLikeID(name) {
				return plan.TaskID(name), strings.TrimSpace(bare + " " + title)
			}
			return "", text
		}
	}
	word, title, _ := strings.Cut(text, " ")
	title = strings.TrimSpace(title)
	id, colon := strings.CutSuffix(word, ":")
	if title == "" || !looksLikeID(id) {
		return "", text
	}
	bare := strings.TrimPrefix(strings.TrimPrefix(id, "T"), "-")
	if colon || id[0] == 'T' && len(bare) >= 3 && strings.Trim(bare, "0123456789") == "" {
		return plan.TaskID(id), title
	}
	return "", text
}

// looksLikeID: a valid id with a digit that begins in upper case, is a dotted
// number or has a hyphen.
func looksLikeID(id string) bool {
	return plan.ValidID(id) == nil && strings.ContainsAny(id, "0123456789") && !strings.HasSuffix(id, ".") &&
		(unicode.IsUpper(rune(id[0])) || strings.Trim(id, "0123456789.") == "" || strings.Contains(id, "-"))
}

// line reads one line below a task.
func (m *markdownTask) line(raw, body string, number int, fenced bool, im *importer) {
	if !fenced {
		if _, text, ok := cutBox(body); ok {
			if text != "" {
				m.place("criteria", number)
				m.task.Criteria = append(m.task.Criteria, text)
			}
			return
		}
		bullet, ok := cutBullet(body)
		if !ok {
			bullet = body
		}
		if (ok || strings.HasPrefix(body, "**") || strings.HasPrefix(text.Key(body), "deps:") ||
			strings.HasPrefix(text.Key(body), "dependson:")) && m.known(bullet, number, im) {
			return
		}
	}
	m.prose = append(m.prose, raw)
}

func (m *markdownTask) place(field string, line int) {
	if _, ok := m.at.Fields[field]; !ok {
		m.at.Fields[field] = line
	}
}

// known reads the bullets that our export writes: "depends on: T-001, T-002",
// "verify: `cmd`", "priority: 2".
func (m *markdownTask) known(bullet string, line int, im *importer) bool {
	key, value, ok := strings.Cut(bullet, ":")
	value = strings.TrimSpace(strings.Trim(strings.TrimSpace(value), "*"))
	if !ok || value == "" {
		return false
	}
	switch text.Key(strings.Trim(key, "*_ ")) {
	case "id":
		id := strings.Trim(value, " `*")
		if m.task.ID != "" || plan.ValidID(id) != nil {
			return false
		}
		m.task.ID, m.at.ID = plan.TaskID(id), plan.TaskID(id)
	case "dependson", "deps", "dependencies", "blockedby":
		ids, ok := dependencyWords(value)
		if !ok {
			return false // prose
		}
		m.place("depends_on", line)
		m.task.DependsOn = append(m.task.DependsOn, ids...)
	case "verify":
		cmd, ok := cutCode(value)
		if !ok {
			return false
		}
		m.place("verify", line)
		m.task.Verify = append(m.task.Verify, cmd)
	case "priority":
		return im.sectionField(m, "priority", value, line)
	default:
		return false
	}
	return true
}

// cutCode reads a code span with any number of back-ticks around it.
func cutCode(s string) (string, bool) {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	if ticks == 0 || len(s) < 2*ticks+1 || !strings.HasSuffix(s, strings.Repeat("`", ticks)) {
		return "", false
	}
	code := s[ticks : len(s)-ticks]
	if ticks > 1 { // the blanks that keep the marks apart
		code = strings.TrimSuffix(strings.TrimPrefix(code, " "), " ")
	}
	return code, code != ""
}

// finish makes the description of the lines that were nothing else, without
// the indentation that the list gave them.
func (m *markdownTask) finish(im *importer) (plan.Task, plan.Place) {
	margin := -1
	for _, line := range m.prose {
		if strings.TrimSpace(line) != "" && (margin < 0 || indent(line) < margin) {
			margin = indent(line)
		}
	}
	for i, line := range m.prose {
		m.prose[i] = strings.TrimRight(outdent(line, margin), " \t")
	}
	m.task.Description = strings.Trim(strings.Join(m.prose, "\n"), "\n")
	r := taskReader{importer: im, t: &m.task, name: plan.TaskName(len(im.plan.Tasks), m.task.ID), at: &m.at}
	r.finish()
	im.settle(&m.task)
	return m.task, m.at
}

// take puts a task that was read into the plan.
func (im *importer) take(m *markdownTask) {
	t, at := m.finish(im)
	im.plan.Tasks = append(im.plan.Tasks, t)
	im.places.Tasks = append(im.places.Tasks, at)
}

// outdent takes at most width columns of white space off the start.
func outdent(line string, width int) string {
	for column := 0; line != "" && column < width; line = line[1:] {
		switch line[0] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return line
		}
	}
	return line
}
