package exchange

import (
	"strings"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// tableTasks reads tables that have a column of states and one of titles.
func (im *importer) tableTasks(lines []string) bool {
	took := make([]bool, len(lines))
	for n := 0; n+2 < len(lines); n++ {
		head, rule := cells(lines[n]), cells(lines[n+1])
		if len(head) < 2 || len(rule) != len(head) || strings.Trim(strings.Join(rule, ""), ":- ") != "" {
			continue
		}
		column := map[string]int{}
		for i, name := range head {
			switch text.Key(strings.Trim(name, "*` ")) {
			case "status", "state", "done":
				column["status"] = i
			case "task", "title", "name", "feature", "item", "story", "description", "what", "work":
				if _, ok := column["title"]; !ok {
					column["title"] = i
				}
			case "id", "#", "no", "no.", "nr", "key":
				column["id"] = i
			case "priority", "prio", "p":
				column["priority"] = i
			case "dependson", "dependencies", "deps", "blockedby":
				column["dependson"] = i
			default:
				column["other"] = i
			}
		}
		if _, ok := column["status"]; !ok {
			continue
		}
		if _, ok := column["title"]; !ok {
			continue
		}
		if !workTable(lines[n+2:], len(head), column["status"]) {
			continue
		}
		took[n], took[n+1] = true, true
		for n += 2; n < len(lines); n++ {
			row := rowOf(lines[n], len(head))
			if row == nil {
				break
			}
			took[n] = true
			im.tableRow(row, head, column, n+1)
		}
	}
	if len(im.plan.Tasks) == 0 {
		return false
	}
	im.outside(lines, func(n int) bool { return took[n] })
	return true
}

// workTable reports whether the rows of a table are work: most states are known, one
// at least is open, and none is the outcome of a test. A word of the writer's own among
// them costs no task: it is open and named.
func workTable(lines []string, width, status int) bool {
	open, known, unknown := false, 0, 0
	for _, line := range lines {
		row := rowOf(line, width)
		if row == nil {
			break
		}
		_, _, word := marked(strings.Trim(row[status], "*` "))
		switch word = text.Key(word); {
		case strings.HasPrefix(word, "pass"), strings.HasPrefix(word, "fail"), word == "ok", word == "verified":
			return false
		}
		s, ok := statusWord(row[status])
		if !ok && row[status] != "" {
			unknown++
			continue
		}
		known++
		open = open || s == plan.Pending || s == plan.Blocked
	}
	return open && unknown < known
}

func (im *importer) tableRow(row, head []string, column map[string]int, line int) {
	m := newMarkdownTask("", false, -2, line)
	done, title := cutMarks(row[column["title"]])
	m.task.ID, m.task.Title = cutTaskID(title)
	if done {
		m.task.Status = plan.Done
	}
	for i, value := range row {
		value = strings.TrimSpace(value)
		switch {
		case i == column["title"] || value == "":
		case i == column["status"]:
			im.sectionField(m, "status", value, line)
		default:
			name, known := "", false
			for _, key := range []string{"id", "priority", "dependson"} {
				if at, ok := column[key]; ok && at == i {
					name, known = key, true
				}
			}
			switch id := strings.Trim(value, "`*#[] "); {
			case name == "id" && plan.ValidID(id) == nil:
				m.task.ID = plan.TaskID(id)
			case known && name != "id" && im.sectionField(m, name, value, line):
			default:
				m.prose = append(m.prose, strings.TrimSpace(head[i])+": "+value)
			}
		}
	}
	m.at.ID = m.task.ID
	im.take(m)
}

// cells are the columns of a row of a table.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") || len(line) < 3 {
		return nil
	}
	return splitCells(line, false)
}

// rowOf is a row below the head of a table, with as many cells as that; nil for another
// line. As everywhere, missing cells are empty and those too many do not count. A bar
// between back-ticks belongs to the code where the row has too many cells otherwise.
func rowOf(line string, width int) []string {
	if line = strings.TrimSpace(line); !strings.HasPrefix(line, "|") {
		return nil
	}
	row := splitCells(line, false)
	if len(row) > width {
		row = splitCells(line, true)
	}
	for len(row) < width {
		row = append(row, "")
	}
	return row[:width]
}

// splitCells cuts a row at its bars, code says whether those between back-ticks are text.
func splitCells(line string, code bool) []string {
	line = strings.TrimPrefix(line, "|")
	var out []string
	var cell strings.Builder
	ticks := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case c == '|' && !(code && ticks):
			out = append(out, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			ticks = ticks != (c == '`')
			cell.WriteByte(c)
		}
	}
	if last := strings.TrimSpace(cell.String()); last != "" {
		out = append(out, last)
	}
	return out
}
