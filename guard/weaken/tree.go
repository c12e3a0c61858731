package weaken

import "strings"

// node is a token or a bracketed group; the readers of the languages with
// braces work on trees of them. A closing bracket without its partner is
// dropped, an opening one without is closed by the end of the text.
type node struct {
	token
	open byte // '(', '[' or '{' for a group, else 0
	kids []node
	last int // offset behind the group
}

func tree(toks []token) []node {
	pos := 0
	kids, _ := subtree(toks, &pos, 0, 0)
	return kids
}

// maxDepth bounds the recursion on hostile input; deeper brackets are ignored.
const maxDepth = 150

// lookAhead bounds the search for the body of a declaration, in nodes, so that
// text without any does not cost the square of its length.
const lookAhead = 500

func subtree(toks []token, pos *int, closer byte, depth int) (kids []node, end int) {
	for *pos < len(toks) {
		t := toks[*pos]
		*pos++
		if t.kind == punct {
			c := t.text[0]
			switch t.text {
			case ")", "]", "}", closeLiteral:
				if c == closer {
					return kids, t.end
				}
				continue
			case "(", "[", "{", openLiteral:
				if depth >= maxDepth {
					continue
				}
				n := node{token: t, open: c}
				n.kids, n.last = subtree(toks, pos, closing(c), depth+1)
				kids = append(kids, n)
				continue
			}
		}
		kids = append(kids, node{token: t, last: t.end})
	}
	if len(toks) > 0 {
		end = toks[len(toks)-1].end
	}
	return kids, end
}

func closing(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	case openLiteral[0]:
		return closeLiteral[0]
	}
	return '}'
}

// The brackets of sets and dictionaries in languages with indented blocks, so that
// they differ from those of blocks.
const openLiteral, closeLiteral = "<{", ">}"

// blocks gives a language with indented blocks brackets around them, instead of their colons,
// and a semicolon behind each line. What it adds has no width. Lines that are nothing
// but a string are left out.
func blocks(toks []token) []token {
	var out []token
	var cols []int // of the open blocks
	add := func(text string, near token) {
		out = append(out, token{kind: punct, text: text, pos: near.end, end: near.end, line: near.line})
	}
	var line []token
	last := -1 // the indentation of the line before
	flush := func() {
		if len(line) == 0 || len(line) == 1 && line[0].kind == str {
			line = nil
			return
		}
		col := line[0].col
		for len(cols) > 0 && col < cols[len(cols)-1] {
			cols = cols[:len(cols)-1]
			add("}", line[0])
			last = -1
		}
		if n := len(out); last >= 0 && col > last && n > 0 {
			if out[n-1].text == ";" {
				out = out[:n-1]
			}
			add("{", line[0])
			cols = append(cols, col)
		}
		last = col
		body := []token(nil)
		if at := colon(line); at > 0 {
			line, body = line[:at], line[at+1:]
		}
		out = append(out, line...)
		if len(body) > 0 {
			add("{", body[0])
			out = append(out, body...)
			add("}", body[len(body)-1])
		} else {
			add(";", line[len(line)-1])
		}
		line = nil
	}
	depth := 0
	for i, t := range toks {
		begins := t.first && depth == 0 && !(i > 0 && toks[i-1].is("\\"))
		if begins {
			flush()
		}
		if t.kind == punct {
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth = max(0, depth-1)
			}
			switch t.text {
			case "{":
				t.text = openLiteral
			case "}":
				t.text = closeLiteral
			case "\\":
				continue
			case ";":
				if depth == 0 {
					flush()
					continue
				}
			}
		}
		t.first = begins
		line = append(line, t)
	}
	flush()
	for range cols {
		add("}", out[len(out)-1])
	}
	return out
}

// colon is where the head of a compound statement ends; 0 = the line is none.
func colon(line []token) int {
	if !compound.has(line[0].text) || line[0].kind != ident {
		return 0
	}
	depth := 0
	for i, t := range line {
		switch {
		case t.kind == str:
		case t.is("lambda") && depth == 0:
			return 0
		case t.is("(") || t.is("[") || t.is(openLiteral):
			depth++
		case t.is(")") || t.is("]") || t.is(closeLiteral):
			depth--
		case t.is(":") && depth == 0:
			return i
		}
	}
	return 0
}

var compound = set("if elif else for while with try except finally def class async match case")

// line is a statement of a block, with the block below it.
type line struct{ head, block []node }

func (l line) number() int { return l.head[0].line }

// lines are the statements of indented blocks.
func lines(list []node) []line {
	var out []line
	start := 0
	for i, n := range list {
		switch {
		case n.open == '{' && i > start:
			out = append(out, line{list[start:i], n.kids})
		case at(list, i) != ";":
			continue
		case i > start:
			out = append(out, line{head: list[start:i]})
		}
		start = i + 1
	}
	if start < len(list) {
		out = append(out, line{head: list[start:]})
	}
	return out
}

// at is the text of list[i] when that is a plain token that is no string.
func at(list []node, i int) string {
	if i < 0 || i >= len(list) || list[i].open != 0 || list[i].kind == str {
		return ""
	}
	return list[i].text
}

func group(list []node, i int, open byte) bool {
	return i >= 0 && i < len(list) && list[i].open == open
}

// text is the content of nodes, separated so that two of them are equal only
// when the code is.
func text(list []node) string {
	var b strings.Builder
	writeText(&b, list)
	return b.String()
}

func writeText(b *strings.Builder, list []node) {
	for _, n := range list {
		if n.open != 0 {
			b.WriteByte(n.open)
			writeText(b, n.kids)
			b.WriteByte(closing(n.open))
		} else {
			if n.kind == str {
				b.WriteByte('"')
			}
			b.WriteString(n.text)
		}
		b.WriteByte(' ')
	}
}

// split cuts a list at separators.
func split(list []node, sep string) [][]node {
	var out [][]node
	start := 0
	for i := range list {
		if at(list, i) == sep {
			out = append(out, list[start:i])
			start = i + 1
		}
	}
	if start < len(list) {
		out = append(out, list[start:])
	}
	return out
}

// literalOnly reports whether an expression consists of literals alone.
func literalOnly(list []node) bool {
	if len(list) == 0 {
		return false
	}
	for _, n := range list {
		switch {
		case n.open != 0:
			if len(n.kids) > 0 && !literalOnly(n.kids) {
				return false
			}
		case n.kind == str || n.kind == number:
		case n.kind == ident:
			switch n.text {
			case "true", "false", "True", "False", "None", "null", "undefined", "nil", "not", "is", "in", "Some", "Ok":
			default:
				return false
			}
		}
	}
	return true
}

// trivial reports whether the tested code cannot make an assertion with these
// arguments fail: the compared values are literals, or the same.
func trivial(args []node) bool {
	parts := split(args, ",")
	if len(parts) == 0 {
		return false
	}
	if len(parts) >= 2 && text(parts[0]) == text(parts[1]) {
		return true
	}
	if !literalOnly(parts[0]) {
		return always(parts[0])
	}
	// A literal alone is only half of assertEquals(3, f()), and assert(false)
	// marks a place that must not be reached.
	if len(parts) == 1 {
		return !never(parts[0])
	}
	// JUnit 4 has its message in front: assertEquals("the sum", 3, add(1, 2)). With a message
	// behind, two different texts would not be equal.
	messageFirst := len(parts) > 2 && parts[0][0].kind == str && !literalOnly(parts[2])
	return literalOnly(parts[1]) && !messageFirst
}

// flatten gives the tokens of a list back in order, brackets included.
func flatten(list []node) []token { return appendTokens(nil, list) }

func appendTokens(out []token, list []node) []token {
	for _, n := range list {
		out = append(out, n.token)
		if n.open != 0 {
			out = appendTokens(out, n.kids)
			pos := n.last - min(1, n.end-n.pos)
			out = append(out, token{kind: punct, text: string(closing(n.open)), pos: pos, end: n.last, line: n.line})
		}
	}
	return out
}

// rows counts the different elements of a list: a row that stands there twice
// tests nothing twice.
func rows(list []node) int {
	seen := map[string]bool{}
	for _, e := range split(list, ",") {
		seen[text(e)] = true
	}
	return len(seen)
}
