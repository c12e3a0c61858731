package exchange

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/plan/located"
)

// Whatever a tool writes its tasks in, JSON, JSON lines, YAML, a table with commas
// or XML, is read into the same values, and from there by one reader.

// syntax names how a file is written.
type syntax string

const (
	syntaxJSON syntax = "JSON"
	syntaxYAML syntax = "YAML"
	syntaxCSV  syntax = "CSV"
	syntaxXML  syntax = "XML"
)

var yamlTasks = lazyregexp.New(
	`(?m)^(tasks|todos|phases|epics|milestones|stories|user_?stories|features|steps|items):` +
		`[ \t]*(#.*)?$`)

// syntaxOf is how a file is written, "" for text: the name says it, else the content.
func syntaxOf(name string, data []byte) syntax {
	body := bytes.TrimSpace(data)
	ext := strings.ToLower(path.Ext(name))
	switch {
	case len(body) == 0 || slices.Contains([]string{".toml", ".md", ".markdown", ".org", ".rst"}, ext):
		return ""
	case ext == ".csv" || ext == ".tsv":
		return syntaxCSV
	case ext == ".yaml" || ext == ".yml":
		return syntaxYAML
	case looksLikeJSON(body):
		return syntaxJSON
	case ext == ".xml" || bytes.HasPrefix(body, []byte("<?xml")) || bytes.HasPrefix(body, []byte("<rss")):
		return syntaxXML
	case yamlTasks().Match(body):
		if root, fault := located.ParseYAML(data); fault == nil && detectJSON(root) != "" {
			return syntaxYAML
		}
	default:
		head, _, _ := bytes.Cut(body, []byte("\n"))
		if columns, _ := newTable(head).row(); len(columns) > 1 && headOfTable(columns) {
			return syntaxCSV
		}
	}
	return ""
}

// looksLikeJSON tells an object or array from a TOML table header.
func looksLikeJSON(text []byte) bool {
	if text[0] == '{' {
		return true
	}
	if text[0] != '[' {
		return false
	}
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || rest[0] == '{' || rest[0] == '"' || rest[0] == ']' && bytes.Equal(rest, []byte("]"))
}

// parseDocument reads a file that is no text.
func parseDocument(s syntax, data []byte) (located.Node, *located.Fault) {
	switch s {
	case syntaxYAML:
		return located.ParseYAML(data)
	case syntaxCSV:
		return parseTable(data), nil
	case syntaxXML:
		return parseXML(data)
	}
	root, err := located.ParseJSON(data)
	if err == nil {
		if o, ok := root.Value.(*located.Object); ok {
			listStates(o)
		}
		return root, nil
	}
	if list, ok := parseLines(data); ok {
		return list, nil
	}
	return root, err
}

// parseLines reads JSON lines as one list of them.
func parseLines(data []byte) (located.Node, bool) {
	var list []located.Node
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		n, err := located.ParseJSON(line)
		if _, ok := n.Value.(*located.Object); err != nil || !ok {
			return n, false
		}
		list = append(list, onLine(n, number))
	}
	return located.Node{Line: 1, Value: list}, len(list) > 1
}

// onLine is a value that stands on one line of a file.
func onLine(n located.Node, line int) located.Node {
	n.Line = line
	switch v := n.Value.(type) {
	case []located.Node:
		for i := range v {
			v[i] = onLine(v[i], line)
		}
	case *located.Object:
		for key, field := range v.Fields {
			v.Fields[key] = onLine(field, line)
		}
	}
	return n
}

// table reads rows. The columns are separated by that one of , ; and tab which
// is most frequent in the head. A quoted cell may span lines.
type table struct {
	rest  string
	comma byte
	line  int // of the row that was read last
	next  int
}

func newTable(data []byte) *table {
	t := &table{rest: string(data), comma: ',', next: 1}
	head, _, _ := strings.Cut(t.rest, "\n")
	for _, c := range []byte(";\t") {
		if strings.Count(head, string(c)) > strings.Count(head, string(t.comma)) {
			t.comma = c
		}
	}
	return t
}

// row is the next row that holds anything; false at the end.
func (t *table) row() (cells []string, ok bool) {
	for !ok && t.rest != "" {
		t.line, cells = t.next, nil
		for more := true; more; {
			var cell string
			cell, more = t.cell()
			cells = append(cells, strings.TrimSpace(cell))
			ok = ok || cells[len(cells)-1] != ""
		}
	}
	return cells, ok
}

// cell takes the next cell; more says that another one of the row follows.
func (t *table) cell() (cell string, more bool) {
	if rest, quoted := strings.CutPrefix(strings.TrimLeft(t.rest, " "), `"`); quoted {
		var b strings.Builder
		for {
			part, after, closed := strings.Cut(rest, `"`)
			b.WriteString(part)
			t.next += strings.Count(part, "\n")
			if t.rest, rest = after, after; !closed || !strings.HasPrefix(after, `"`) {
				break
			}
			b.WriteByte('"')
			rest = after[1:]
		}
		cell = b.String()
	}
	end := strings.IndexAny(t.rest, string(t.comma)+"\n")
	if end < 0 {
		end = len(t.rest)
	}
	cell += t.rest[:end]
	if end == len(t.rest) {
		t.rest = ""
		return cell, false
	}
	more = t.rest[end] == t.comma
	if !more {
		t.next++
	}
	t.rest = t.rest[end+1:]
	return cell, more
}

// headOfTable reports whether the columns are those of a list of work.
func headOfTable(columns []string) bool {
	title, more := false, false
	for _, c := range columns {
		key := text.Key(c)
		title = title || slices.Contains(columnTitles, key)
		more = more || key == "status" || key == "state" || key == "priority" || slices.Contains(idKeys, key) ||
			key == "description"
	}
	return title && more
}

// columnTitles are what trackers call the column of titles.
var columnTitles = []string{"title", "summary", "name", "task", "taskname", "cardname", "subject", "issue", "story",
	"feature"}

// columnNames are columns of trackers by the names of their fields.
var columnNames = map[string]string{"cardname": "title", "carddescription": "description", "listname": "status",
	"section/column": "status", "inwardissuelink(blocks)": "depends_on", "blockedby(dependencies)": "depends_on",
	"notes": "description", "taskname": "title", "issuedescription": "description", "blockedby": "depends_on",
	"storypoints": "estimate"}

// parseTable makes an object of each row. A column that stands several times, as
// trackers write lists, becomes one.
func parseTable(data []byte) located.Node {
	t := newTable(data)
	head, _ := t.row()
	has := map[string]bool{}
	for i := range head {
		has[text.Key(head[i])] = true
	}
	list := []located.Node{}
	for {
		row, ok := t.row()
		if !ok {
			return located.Node{Line: 1, Value: list}
		}
		line := t.line
		o := &located.Object{Fields: map[string]located.Node{}}
		for i, cell := range row {
			if cell == "" {
				continue
			}
			key := "column " + string(rune('A'+i%26))
			if i < len(head) && head[i] != "" {
				key = head[i]
			}
			if name := columnNames[text.Key(key)]; name != "" && !has[text.Key(name)] {
				key = name
			}
			addField(o, key, located.Node{Line: line, Value: cell})
		}
		list = append(list, located.Node{Line: line, Value: o})
	}
}

// addField adds a value to those that a key has.
func addField(o *located.Object, key string, n located.Node) {
	there, ok := o.Fields[key]
	if !ok {
		o.Keys = append(o.Keys, key)
		o.Fields[key] = n
		return
	}
	list, ok := there.Value.([]located.Node)
	if !ok {
		list = []located.Node{there}
	}
	o.Fields[key] = located.Node{Line: there.Line, Value: append(list, n)}
}

// xmlPart is a comment, an instruction, a verbatim part, or a mark of an element.
var xmlPart = lazyregexp.New(`(?s)<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(.*?)\]\]>|<![^>]*>|` +
	`<(/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>`)

var xmlAttribute = lazyregexp.New(`([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

var xmlEntity = lazyregexp.New(`&(?:#\d{1,7}|lt|gt|amp|quot|apos|nbsp);`)

func xmlText(s string) string {
	return xmlEntity().ReplaceAllStringFunc(s, func(e string) string {
		if n, err := strconv.Atoi(strings.Trim(e, "&#;")); err == nil && utf8.ValidRune(rune(n)) {
			return string(rune(n))
		}
		return map[string]string{"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": `"`, "&apos;": "'", "&nbsp;": " "}[e]
	})
}

// xmlElement is an element that is not closed yet.
type xmlElement struct {
	name  string
	text  strings.Builder
	value *located.Object
	line  int
}

// parseXML makes an object of each element that holds others, and a text of the
// rest. It reads what trackers write: no document types, and no names of spaces.
func parseXML(data []byte) (located.Node, *located.Fault) {
	empty := func() *located.Object { return &located.Object{Fields: map[string]located.Node{}} }
	stack := []*xmlElement{{value: empty()}}
	line, at := 1, 0
	fault := func() (located.Node, *located.Fault) {
		return located.Node{}, &located.Fault{Line: line, Text: "an element is not closed, or a sign < stands alone"}
	}
	for _, m := range xmlPart().FindAllSubmatchIndex(data, -1) {
		part := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return string(data[m[2*n]:m[2*n+1]])
		}
		top, between := stack[len(stack)-1], data[at:m[0]]
		if bytes.IndexByte(between, '<') >= 0 {
			return fault()
		}
		top.text.WriteString(xmlText(string(between)) + part(1))
		line += bytes.Count(data[at:m[0]], []byte("\n"))
		begun := line
		line += bytes.Count(data[m[0]:m[1]], []byte("\n"))
		at = m[1]
		name := part(3)
		if name == "" {
			continue
		}
		if part(2) == "" {
			top = &xmlElement{name: name, line: begun, value: empty()}
			if name == "issuelinktype" || name == "inwardlinks" { // only these have attributes that matter
				for _, a := range xmlAttribute().FindAllStringSubmatch(part(4), -1) {
					addField(top.value, a[1], located.Node{Line: begun, Value: xmlText(a[2] + a[3])})
				}
			}
			if stack = append(stack, top); len(stack) > 100 {
				return fault()
			}
		}
		if part(2) != "" || part(5) != "" {
			if name != top.name {
				return fault()
			}
			stack = stack[:len(stack)-1]
			closeElement(stack[len(stack)-1].value, top)
		}
	}
	if len(stack) > 1 {
		return fault()
	}
	return located.Node{Line: 1, Value: stack[0].value}, nil
}

// closeElement puts an element into the one around it.
func closeElement(into *located.Object, e *xmlElement) {
	n := located.Node{Line: e.line, Value: e.value}
	if len(e.value.Keys) == 0 {
		n.Value = strings.TrimSpace(e.text.String())
	}
	if e.name == "item" && !into.Has("item") { // a list, also of one
		into.Keys = append(into.Keys, "item")
		into.Fields["item"] = located.Node{Line: e.line, Value: []located.Node{n}}
		return
	}
	addField(into, e.name, n)
}
