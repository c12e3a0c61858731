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
		if t.kind == punct && len(t.text) == 1 {
			switch c := t.text[0]; c {
			case '(', '[', '{':
				if depth >= maxDepth {
					continue
				}
				n := node{token: t, open: c}
				n.kids, n.last = subtree(toks, pos, closing(c), depth+1)
				kids = append(kids, n)
				continue
			case ')', ']', '}':
				if c == closer {
					return kids, t.end
				}
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
	}
	return '}'
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
			case "true", "false", "True", "False", "None", "null", "undefined", "nil", "not", "is", "Some", "Ok":
			default:
				return false
			}
		}
	}
	return true
}

// trivial reports whether an assertion with these arguments can never fail by
// what the tested code does: the compared ones are literals, or the same.
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
	return literalOnly(parts[1])
}

// flatten gives the tokens of a list back in order, brackets included.
func flatten(list []node) []token { return appendTokens(nil, list) }

func appendTokens(out []token, list []node) []token {
	for _, n := range list {
		out = append(out, n.token)
		if n.open != 0 {
			out = appendTokens(out, n.kids)
			out = append(out, token{kind: punct, text: string(closing(n.open)), pos: n.last - 1, end: n.last, line: n.line})
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
