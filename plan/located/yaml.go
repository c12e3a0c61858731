package located

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// ParseYAML reads the YAML that plans are written in: mappings and lists, in
// blocks or in brackets, and texts plain, quoted or as blocks. What else the
// language has (anchors, aliases, tags, keys that are no texts, several
// documents) is refused by name, and numbers stay as they were written.
func ParseYAML(data []byte) (n Node, fault *Fault) {
	p := &yamlParser{lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Fault:
			n, fault = Node{}, r
		default:
			panic(r)
		}
	}()
	p.document()
	n = p.block(-1, 0)
	if p.skip() {
		p.fail(p.at, "the line is indented less than what it belongs to, or more")
	}
	return n, nil
}

// yamlParser goes down the lines. What it has read of a line is replaced by
// blanks, so that "- key: value" is a mapping that stands further right.
type yamlParser struct {
	lines []string
	at    int
}

func (p *yamlParser) fail(line int, format string, args ...any) {
	panic(&Fault{line + 1, fmt.Sprintf(format, args...)})
}

// document leaves what stands between the marks of the only document.
func (p *yamlParser) document() {
	for i, begun := 0, false; i < len(p.lines); i++ {
		line := strings.TrimRight(p.lines[i], " \t")
		mark := line == "---" || strings.HasPrefix(line, "--- ")
		switch {
		case line == "..." || mark && begun:
			for k := i + 1; k < len(p.lines); k++ {
				if body := strings.TrimSpace(p.lines[k]); body != "" && body[0] != '#' && body != "..." {
					p.fail(k, "a second document begins here; one is read")
				}
			}
			p.lines = p.lines[:i]
		case mark:
			p.lines[i], begun = "   "+line[3:], true
		case strings.HasPrefix(line, "%") && !begun:
			p.lines[i] = ""
		case line != "" && !strings.HasPrefix(strings.TrimSpace(line), "#"):
			begun = true
		}
	}
}

// skip goes to the next line that says something; false at the end.
func (p *yamlParser) skip() bool {
	for ; p.at < len(p.lines); p.at++ {
		if body := strings.TrimLeft(p.lines[p.at], " \t"); body != "" && body[0] != '#' {
			if strings.HasPrefix(strings.TrimLeft(p.lines[p.at], " "), "\t") {
				p.fail(p.at, "the indentation contains a tab; YAML indents with spaces")
			}
			return true
		}
	}
	return false
}

// indent is the column at which the present line begins.
func (p *yamlParser) indent() int {
	return len(p.lines[p.at]) - len(strings.TrimLeft(p.lines[p.at], " "))
}

// block reads the value that begins on a line indented more than parent, null
// where there is none.
func (p *yamlParser) block(parent, depth int) Node {
	line := p.at + 1
	if depth > maxDepth {
		p.fail(p.at, "values nest deeper than %d", maxDepth)
	}
	if !p.skip() || p.indent() <= parent {
		return Node{Line: line}
	}
	column := p.indent()
	rest := p.lines[p.at][column:]
	if isItem(rest) {
		return p.list(column, depth)
	}
	if _, _, ok := p.cutKey(rest); ok {
		return p.mapping(column, depth)
	}
	return p.scalar(parent, column)
}

func isItem(rest string) bool { return rest == "-" || strings.HasPrefix(rest, "- ") }

func (p *yamlParser) list(column, depth int) Node {
	n, list := Node{Line: p.at + 1}, []Node{}
	for p.skip() && p.indent() == column && isItem(p.lines[p.at][column:]) {
		p.lines[p.at] = strings.Repeat(" ", column+1) + p.lines[p.at][column+1:]
		list = append(list, p.block(column, depth+1))
	}
	n.Value = list
	return n
}

func (p *yamlParser) mapping(column, depth int) Node {
	n, o := Node{Line: p.at + 1}, &Object{Fields: make(map[string]Node)}
	for p.skip() && p.indent() == column {
		rest := p.lines[p.at][column:]
		key, width, ok := p.cutKey(rest)
		line := p.at
		switch {
		case !ok:
			p.fail(line, "this is not a key: put a colon and a space after it, or quotation marks around it")
		case key == "<<":
			p.fail(line, "merge keys (<<) are not read: write the values out")
		}
		p.lines[line] = strings.Repeat(" ", column+width) + rest[width:]
		var value Node
		switch body := strings.TrimSpace(rest[width:]); {
		case body != "" && body[0] != '#':
			value = p.scalar(column, len(p.lines[line])-len(strings.TrimLeft(p.lines[line], " \t")))
		default:
			p.at++
			// A list may stand under its key without being indented.
			if p.skip() && p.indent() == column && isItem(p.lines[p.at][column:]) {
				value = p.list(column, depth+1)
			} else {
				value = p.block(column, depth+1)
			}
		}
		if _, table := value.Value.(*Object); !table {
			value.Line = line + 1 // a problem with a value is looked for at its key
		}
		o.set(key, value)
	}
	n.Value = o
	return n
}

// cutKey reads the key that a line begins with and the colon behind it.
func (p *yamlParser) cutKey(rest string) (key string, width int, ok bool) {
	if rest == "?" || strings.HasPrefix(rest, "? ") {
		p.fail(p.at, "keys that are no texts (?) are not read")
	}
	if rest[0] == '"' || rest[0] == '\'' {
		end := closing(rest)
		if end < 0 {
			return "", 0, false
		}
		after := strings.TrimLeft(rest[end:], " ")
		width = len(rest) - len(after) + 1
		if after == "" || after[0] != ':' || len(after) > 1 && after[1] != ' ' && after[1] != '\t' {
			return "", 0, false
		}
		return p.unquote(rest[:end]), width, true
	}
	if strings.IndexByte("[{&*!|>@`%", rest[0]) >= 0 {
		return "", 0, false
	}
	for i := range len(rest) {
		switch {
		case rest[i] == '#' && i > 0 && rest[i-1] == ' ':
			return "", 0, false
		case rest[i] == ':' && (i+1 == len(rest) || rest[i+1] == ' ' || rest[i+1] == '\t'):
			return strings.TrimSpace(rest[:i]), i + 1, true
		}
	}
	return "", 0, false
}

// closing is the offset behind the quotation that s begins with, -1 when it
// does not end on this line.
func closing(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] != s[0]:
		case s[0] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// scalar reads a value that begins at a column of this line and belongs to what
// is indented by parent.
func (p *yamlParser) scalar(parent, column int) Node {
	n := Node{Line: p.at + 1}
	rest := p.lines[p.at][column:]
	switch rest[0] {
	case '|', '>':
		n.Value = p.blockText(parent, rest)
	case '"', '\'':
		n.Value, column = p.quoted(column)
		p.ended(column)
	case '[', '{':
		var at int
		n, at = p.flow(column, 0)
		p.ended(at)
	default:
		p.special(rest)
		n.Value = plainValue(p.plain(parent, column))
	}
	return n
}

var yamlSpecial = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([&*][\w-]|!)`) })

// special refuses anchors, aliases and tags.
func (p *yamlParser) special(rest string) {
	if yamlSpecial().MatchString(rest) {
		p.fail(p.at, "anchors (&), aliases (*) and tags (!) are not read: write the value out, "+
			"or put a text that begins so into quotation marks: %.20q", rest)
	}
}

// ended goes to the next line if only a comment is left of this one.
func (p *yamlParser) ended(column int) {
	if rest := strings.TrimSpace(p.lines[p.at][column:]); rest != "" && rest[0] != '#' {
		p.fail(p.at, "there is more after the end of the value: %.30q", rest)
	}
	p.at++
}

// plain joins the lines of a text without quotation marks.
func (p *yamlParser) plain(parent, column int) string {
	// Allow a colon in the first line, although others are strict: its meaning
	// is clear, and people write "title: Fix: the parser".
	first, comment := cutComment(p.lines[p.at][column:])
	var words strings.Builder
	words.WriteString(first)
	empty := 0
	for p.at++; p.at < len(p.lines) && !comment; p.at++ {
		line := p.lines[p.at]
		body := strings.TrimSpace(line)
		if body == "" {
			empty++
			continue
		}
		if len(line)-len(strings.TrimLeft(line, " ")) <= parent || body[0] == '#' {
			break
		}
		body, comment = cutComment(body)
		if strings.Contains(body, ": ") || strings.HasSuffix(body, ":") {
			p.fail(p.at, "this key is indented further than what it belongs to, or is a text that needs quotation marks")
		}
		words.WriteString(glue(empty) + body)
		empty = 0
	}
	return words.String()
}

// glue is the text between two lines of a folded text.
func glue(empty int) string {
	if empty == 0 {
		return " "
	}
	return strings.Repeat("\n", empty)
}

func cutComment(s string) (string, bool) {
	s = strings.TrimSpace(s)
	for i := 1; i < len(s); i++ {
		if s[i] == '#' && (s[i-1] == ' ' || s[i-1] == '\t') {
			return strings.TrimSpace(s[:i]), true
		}
	}
	return s, false
}

var yamlNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$`)
})

// plainValue is the value of a text without quotation marks.
func plainValue(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if yamlNumber().MatchString(s) {
		return Number(strings.TrimPrefix(s, "+"))
	}
	return s
}
