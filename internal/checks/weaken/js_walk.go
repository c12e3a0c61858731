package weaken

import "strings"

// jsWalker counts what one test or helper asserts.
type jsWalker struct {
	r *jsReader
	u *unit
	// skipSub leaves subtests out: they are units of their own.
	skipSub bool
}

// list walks nodes in order. In a block, nothing behind a return or throw
// statement is reached.
func (w *jsWalker) list(list []node, times int) {
	for i := 0; i < len(list); i++ {
		n := list[i]
		if n.open == '{' {
			w.block(n.kids, times)
			continue
		}
		if n.open != 0 {
			w.list(n.kids, times)
			continue
		}
		if n.kind != ident {
			continue
		}
		switch n.text {
		case "if", "while":
			if group(list, i+1, '(') && never(list[i+1].kids) {
				i = skipBranch(list, i+2)
				continue
			}
		case "for":
			if next, ok := w.loop(list, i, times); ok {
				i = next
				continue
			}
		case "try":
			if group(list, i+1, '{') && swallows(list, i+2) {
				w.block(list[i+1].kids, 0)
				i++
				continue
			}
		case "throw":
			if at(list, i-1) != "." { // x.should.throw(…) counts by its should
				w.u.plain += times
			}
			continue
		}
		if next := w.name(list, i, times); next > i {
			i = next
		}
	}
}

// block walks statements up to the first that ends it.
func (w *jsWalker) block(list []node, times int) {
	end := reached(list)
	w.list(list[:end], times)
	w.list(list[end:], 0)
}

// statementStart reports whether list[i] begins a statement.
func statementStart(list []node, i int) bool {
	if i == 0 {
		return true
	}
	switch at(list, i-1) {
	case ";", ":":
		return true
	case "else", "do", "=>":
		return false
	}
	return list[i-1].open == '{' || list[i].first || list[i-1].open == '('
}

// guarded reports whether the statement at i is the body of an if or a loop.
func guarded(list []node, i int) bool {
	if i == 0 {
		return false
	}
	if at(list, i-1) == "else" {
		return true
	}
	if list[i-1].open != '(' {
		return at(list, i-1) == ":" && i >= 2 // a case clause
	}
	switch at(list, i-2) {
	case "if", "while", "for":
		return true
	}
	return false
}

// statementEnd is the index behind the statement at i: its semicolon, or the
// first token of a new line that cannot go on with it.
func statementEnd(list []node, i int) int {
	for j := i + 1; j < len(list); j++ {
		if at(list, j) == ";" {
			return j + 1
		}
		if list[j].first && list[j].open == 0 && list[j].kind == ident {
			switch at(list, j-1) {
			case ".", "+", "-", "*", "=", "&&", "||", "?", ":", ",", "=>", "await", "return", "throw":
				if j-1 == i {
					return j // a bare return
				}
				continue
			}
			return j
		}
	}
	return len(list)
}

// skipBranch is the last index of the statement at i.
func skipBranch(list []node, i int) int {
	if group(list, i, '{') {
		return i
	}
	return statementEnd(list, i) - 1
}

// swallows reports whether the handlers at list[i] take failed assertions
// without a word.
func swallows(list []node, i int) bool {
	if at(list, i) != "catch" {
		return false
	}
	i++
	caught := ""
	if group(list, i, '(') {
		caught = at(list[i].kids, 0)
		i++
	}
	return group(list, i, '{') && !speaksOut(list[i].kids) && !passesOn(list[i].kids, caught)
}

// passesOn reports whether a handler gives what it caught to a function that can
// do something about it, callback(err) but not console.log(err), or keeps it.
func passesOn(list []node, caught string) bool {
	if caught == "" {
		return false
	}
	for i, n := range list {
		if n.open == 0 {
			if at(list, i) == caught && at(list, i-1) == "=" {
				return true
			}
			continue
		}
		if n.open == '(' && i > 0 && list[i-1].kind == ident {
			switch list[i-1].text {
			case "log", "warn", "error", "debug", "info", "trace", "print", "println":
				continue // told to nobody who could fail
			case "String", "stringify", "if", "while", "switch":
			default:
				for k := range n.kids {
					if at(n.kids, k) == caught {
						return true
					}
				}
			}
		}
		if passesOn(n.kids, caught) {
			return true
		}
	}
	return false
}

func speaksOut(list []node) bool {
	for i, n := range list {
		if n.open != 0 {
			if speaksOut(n.kids) {
				return true
			}
			continue
		}
		if n.kind == ident && (n.text == "throw" || n.text == "expect" || n.text == "assert" || n.text == "panic" ||
			n.text == "reject" ||
			asserting(n.text) || n.text == "done" || n.text == "t" && at(list, i+1) == ".") {
			return true
		}
	}
	return false
}

// loop handles for (const x of table) and gives the index of the body.
func (w *jsWalker) loop(list []node, i, times int) (int, bool) {
	j := i + 1
	if at(list, j) == "await" {
		j++
	}
	if !group(list, j, '(') || j+1 >= len(list) {
		return 0, false
	}
	head := list[j].kids
	for k := range head {
		if at(head, k) != "of" {
			continue
		}
		rows, ok := w.rows(head[k+1:])
		if !ok {
			return 0, false
		}
		w.times(list[j+1:j+2], times, rows)
		return j + 1, true
	}
	return 0, false
}

// times walks a body that runs once a row.
func (w *jsWalker) times(body []node, times, rows int) {
	before := w.u.total()
	w.list(body, times*rows)
	if w.u.total() > before || rows == 0 {
		w.u.rows = max(1, w.u.rows) * rows
	}
}

func (w *jsWalker) rows(value []node) (int, bool) {
	if len(value) == 0 {
		return 0, false
	}
	if value[0].open == '[' {
		return rows(value[0].kids), true
	}
	if len(value) == 1 {
		n, ok := w.r.tables[at(value, 0)]
		return n, ok
	}
	return 0, false
}

// name handles the identifier at i and returns the last index it used, or i.
func (w *jsWalker) name(list []node, i, times int) int {
	n := list[i]
	called := group(list, i+1, '(')
	prev := at(list, i-1)
	member := prev == "." || prev == "?."
	if w.skipSub && !member || w.skipSub && at(list, i-2) == "t" {
		if c, ok := w.r.parse(list, i); ok {
			if hasBody(c.args) {
				return c.next - 1
			}
			skips, _ := c.skips()
			w.u.skips = append(w.u.skips, skips...) // test.skip(condition) of Playwright
			return c.next - 1
		}
	}
	switch {
	case n.text == "const" || n.text == "let" || n.text == "var":
		if k := assignment(list, i+2); k > 0 {
			w.r.note(at(list, i+1), list[k:])
		}
	case n.text == "expect" && !member:
		return w.expect(list, i, times)
	case member && at(list, i-2) == "this" && n.text == "skip", n.text == "pending" && called && !member:
		w.u.skips = append(w.u.skips, n.text)
	case member && w.r.handles[at(list, i-2)] && n.text == "assert" && at(list, i+1) == ".": // t.assert.equal(…)
		return w.assert(list, i, times)
	case member && w.r.handles[at(list, i-2)] && (n.text == "skip" || n.text == "todo") && called:
		w.u.skips = append(w.u.skips, "t."+n.text)
	case member && w.r.handles[at(list, i-2)] && called && handleAssertion(n.text):
		if !trivial(list[i+1].kids) || n.text == "fail" || n.text == "snapshot" {
			w.u.plain += times
		}
	case n.text == "should" && member:
		w.u.plain += times
	case n.text == "assert" && !member:
		return w.assert(list, i, times)
	case n.text == "forEach" && member && called:
		if rows, ok := w.rows(list[i-2 : i-1]); ok {
			w.times(list[i+1:i+2], times, rows)
			return i + 1
		}
	case called && n.text != "function":
		if !(member && foreignSkip(n.text, at(list, i-2))) && !(member && (at(list, i-2) == "expect" || n.text == "catch")) {
			w.u.calls[n.text] += times
		}
	}
	return i
}

// expect counts expect(value).matcher(…); without a matcher it asserts nothing.
func (w *jsWalker) expect(list []node, i, times int) int {
	j := i + 1
	if at(list, j) == "." {
		switch at(list, j+1) {
		case "fail":
			w.u.plain += times
			return i
		case "soft", "poll", "element":
			j += 2
		default: // expect.assertions(2), expect.any(…)
			return i
		}
	}
	if !group(list, j, '(') {
		return i
	}
	args := list[j].kids
	w.list(args, times)
	j++
	var matcher []node
	chained := false
	for at(list, j) == "." || at(list, j) == "?." {
		// An inline snapshot without its text takes whatever comes.
		chained = !(strings.HasSuffix(at(list, j+1), "InlineSnapshot") && group(list, j+2, '(') && len(list[j+2].kids) == 0)
		j += 2
		if group(list, j, '(') {
			matcher = list[j].kids
			w.list(matcher, times)
			j++
		} else {
			matcher = nil
		}
	}
	if chained && !(literalOnly(args) && (len(matcher) == 0 || literalOnly(matcher))) &&
		!(len(matcher) > 0 && text(args) == text(matcher)) {
		w.u.plain += times
	}
	return j - 1
}

// assert counts assert(…) and assert.equal(…).
func (w *jsWalker) assert(list []node, i, times int) int {
	j := i + 1
	method := ""
	for at(list, j) == "." {
		method = at(list, j+1)
		j += 2
	}
	if !group(list, j, '(') {
		return i
	}
	if method == "fail" || !trivial(list[j].kids) {
		w.u.plain += times
	}
	w.list(list[j].kids, times)
	return j
}

// handleAssertion are the assertions of ava, tap, tape and node:test contexts.
func handleAssertion(name string) bool {
	switch name {
	case "is", "not", "equal", "notEqual", "deepEqual", "notDeepEqual", "same", "notSame", "strictSame", "ok", "notOk",
		"true", "false",
		"truthy", "falsy", "throws", "throwsAsync", "notThrows", "notThrowsAsync", "like", "regex", "notRegex", "snapshot",
		"fail",
		"equals", "match", "matches", "notMatch", "has", "hasStrict", "rejects", "resolves", "strictEqual", "error", "type",
		"assert",
		"matchSnapshot", "doesNotThrow", "looseEqual", "deepLooseEqual", "isNot":
		return true
	}
	return false
}
