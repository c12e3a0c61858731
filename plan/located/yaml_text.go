package located

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// blockText reads a text behind "|", whose lines are kept, or ">", whose lines
// are joined.
func (p *yamlParser) blockText(parent int, head string) string {
	mark, _ := cutComment(head)
	folded, width, keep := mark[0] == '>', 0, byte(' ')
	for _, c := range []byte(mark[1:]) {
		switch {
		case c == '-' || c == '+':
			keep = c
		case c >= '1' && c <= '9' && width == 0:
			width = max(parent, 0) + int(c-'0')
		default:
			p.fail(p.at, "%q does not begin a block of text: put it into quotation marks", mark)
		}
	}
	var lines []string
	for p.at++; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		if strings.TrimSpace(line) == "" {
			lines = append(lines, "")
			if width > 0 && len(line) > width {
				lines[len(lines)-1] = line[width:]
			}
			continue
		}
		own := len(line) - len(strings.TrimLeft(line, " "))
		if width == 0 && own > parent {
			width = own
		}
		if own < width || width == 0 {
			break
		}
		lines = append(lines, line[width:])
	}
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	out := strings.Join(lines[:end], "\n")
	if folded {
		out = fold(lines[:end])
	}
	switch {
	case keep == '+':
		out += strings.Repeat("\n", len(lines)-end+1)
	case keep == ' ' && end > 0:
		out += "\n"
	}
	return out
}

// fold joins lines as ">" does: those that are indented stay as they are.
func fold(lines []string) string {
	var b strings.Builder
	empty, kept := 0, true // lines since the last text, and whether that stays as it is
	for i, line := range lines {
		if line == "" {
			empty++
			continue
		}
		deep := line[0] == ' ' || line[0] == '\t'
		switch {
		case i == empty: // the first text
			b.WriteString(strings.Repeat("\n", empty))
		case deep || kept:
			b.WriteString(strings.Repeat("\n", empty+1))
		default:
			b.WriteString(glue(empty))
		}
		b.WriteString(line)
		empty, kept = 0, deep
	}
	return b.String()
}

// quoted reads a text in quotation marks that begins at a column of this line,
// and gives back the column behind it.
func (p *yamlParser) quoted(column int) (string, int) {
	first := p.at
	part := p.lines[first][column:]
	quote := part[:1]
	var text strings.Builder
	for {
		if end := closing(part); end >= 0 {
			text.WriteString(part[1:end])
			return p.unquote(quote + text.String()), len(p.lines[p.at]) - len(part) + end
		}
		part = strings.TrimRight(part[1:], " \t")
		empty := 0
		for p.at++; p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == ""; p.at++ {
			empty++
		}
		if p.at == len(p.lines) {
			p.fail(first, "the quotation does not end")
		}
		if slashes := len(part) - len(strings.TrimRight(part, `\`)); quote == `"` && slashes%2 == 1 {
			text.WriteString(part[:len(part)-1] + strings.Repeat("\n", empty)) // the line goes on without a blank
		} else {
			text.WriteString(part + glue(empty))
		}
		part = quote + strings.TrimLeft(p.lines[p.at], " \t")
	}
}

var yamlEscapes = map[byte]string{'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", 'n': "\n", 'v': "\v", 'f': "\f",
	'r': "\r", 'e': "\x1b", ' ': " ", '"': `"`, '/': "/", '\\': `\`, '\t': "\t", 'N': "\u0085", '_': "\u00a0",
	'L': "\u2028", 'P': "\u2029"}

// unquote is the text of a quotation that stands on one line by now.
func (p *yamlParser) unquote(s string) string {
	quote, s := s[0], s[1:len(s)-1]
	if quote == '\'' {
		return strings.ReplaceAll(s, "''", "'")
	}
	var b strings.Builder
	var half rune // the first half of a pair
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]; digits > 0 && i+digits < len(s) {
			v, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			if err != nil {
				p.fail(p.at, "%q is no character", s[i-1:i+1+digits])
			}
			i += digits
			c := rune(v)
			switch {
			case utf16.IsSurrogate(c) && half == 0:
				half = c
				continue
			case half != 0:
				c = utf16.DecodeRune(half, c)
			}
			half = 0
			if !utf8.ValidRune(c) {
				c = utf8.RuneError
			}
			b.WriteRune(c)
			continue
		}
		escape, ok := yamlEscapes[s[i]]
		if !ok {
			p.fail(p.at, "%q is no escape; a back slash is written twice between double quotation marks", s[i-1:i+1])
		}
		b.WriteString(escape)
	}
	return b.String()
}

// flow reads a list or mapping in brackets, which may go over lines. It begins
// at a column of this line, and the column behind it is given back.
func (p *yamlParser) flow(column, depth int) (Node, int) {
	if depth > maxDepth {
		p.fail(p.at, "values nest deeper than %d", maxDepth)
	}
	n := Node{Line: p.at + 1}
	open := p.lines[p.at][column]
	list, o := []Node{}, &Object{Fields: make(map[string]Node)}
	for column++; ; {
		column = p.flowSkip(column)
		switch c := p.lines[p.at][column]; {
		case c == ']' && open == '[':
			n.Value = list
			return n, column + 1
		case c == '}' && open == '{':
			n.Value = o
			return n, column + 1
		case c == ',':
			column++
			continue
		case c == ']' || c == '}':
			p.fail(p.at, "the brackets do not match")
		}
		line := p.at + 1
		var e Node
		e, column = p.flowValue(column, depth)
		column = p.flowSkip(column)
		if p.lines[p.at][column] != ':' {
			if open == '{' {
				p.fail(p.at, "a key between braces has no value")
			}
			list = append(list, e)
			continue
		}
		key, ok := e.Value.(string)
		if num, number := e.Value.(Number); number {
			key, ok = string(num), true
		}
		if !ok || open == '[' {
			p.fail(p.at, "a key that is no text, or a pair outside braces, is not read")
		}
		column = p.flowSkip(column + 1)
		value := Node{Line: line}
		if c := p.lines[p.at][column]; c != ',' && c != '}' {
			value, column = p.flowValue(column, depth)
		}
		o.set(key, value)
	}
}

// flowSkip goes over white space, line ends and comments between brackets.
func (p *yamlParser) flowSkip(column int) int {
	for {
		rest := strings.TrimLeft(p.lines[p.at][column:], " \t")
		if rest != "" && rest[0] != '#' {
			return len(p.lines[p.at]) - len(rest)
		}
		if p.at++; p.at == len(p.lines) {
			p.at--
			p.fail(p.at, "a bracket is not closed")
		}
		column = 0
	}
}

// flowValue reads one value between brackets.
func (p *yamlParser) flowValue(column, depth int) (Node, int) {
	n := Node{Line: p.at + 1}
	line := p.lines[p.at]
	switch line[column] {
	case '[', '{':
		return p.flow(column, depth+1)
	case '"', '\'':
		n.Value, column = p.quoted(column)
		return n, column
	}
	p.special(line[column:])
	words := ""
	for {
		line = p.lines[p.at]
		end := column
		for end < len(line) && strings.IndexByte(",[]{}", line[end]) < 0 &&
			!(line[end] == ':' && (end+1 == len(line) || strings.IndexByte(" \t,]}", line[end+1]) >= 0)) &&
			!(line[end] == '#' && end > 0 && line[end-1] == ' ') {
			end++
		}
		if part := strings.TrimSpace(line[column:end]); part != "" {
			words = strings.TrimSpace(words + " " + part)
		}
		if end < len(line) && line[end] != '#' {
			n.Value = plainValue(words)
			return n, end
		}
		column = p.flowSkip(end)
	}
}
