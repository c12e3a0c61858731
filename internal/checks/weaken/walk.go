package weaken

import (
	"maps"
	"slices"
	"strings"
)

// reader collects the tests of one file of a language that is read as a tree. What all
// have in common is here; the files of the languages say where their tests stand.
type reader struct {
	s      *source
	l      *language
	file   string
	test   bool           // the file's name is one that runners collect
	tables map[string]int // lengths of the tables of the file

	skipNames map[string]string // local names that stand for a skip, with what it is

	js jsFile

	foreign string // where Test comes from when that is no known framework
	junit3  bool   // the file imports the old framework, where methods are tests by their names

	// modules are the spans of Rust's test modules, lone those of tests outside of them,
	// for the overlay; outermost: all modules stand at the top of the file.
	modules, lone [][2]int
	outermost     bool
}

func newReader(file string, l *language) *reader {
	return &reader{s: &source{path: file, bases: map[string][]string{}}, l: l, file: file, test: IsTest(file),
		tables: map[string]int{}, skipNames: map[string]string{}, outermost: true}
}

// mark is a decorator, an annotation or an attribute.
type mark struct {
	name string // the last part, Test of @org.junit.Test
	all  []node
	args []node
}

// marked reads the marks in front of list[i], and the index behind them.
func marked(list []node, i int) (marks []mark, next int) {
	for ; i < len(list); i++ {
		switch {
		case at(list, i) == "#" && group(list, i+1, '['):
			marks = append(marks, newMark(list[i+1].kids))
			i++
		case at(list, i) == "@" && i+1 < len(list) && list[i+1].kind == ident && list[i+1].open == 0 &&
			at(list, i+1) != "interface":
			j := i + 2
			for at(list, j) == "." || at(list, j-1) == "." {
				j++
			}
			if group(list, j, '(') {
				j++
			}
			marks = append(marks, newMark(list[i+1:min(j, len(list))]))
			i = j - 1
		default:
			return marks, i
		}
	}
	return marks, i
}

func newMark(all []node) mark {
	m := mark{all: all}
	for _, n := range all {
		if n.open == 0 && n.kind == ident {
			m.name = n.text
			continue
		}
		if n.open != 0 {
			m.args = n.kids
			break
		}
	}
	return m
}

// is reports whether a mark is one of some names, with or without packages in front.
func (m mark) is(names ...string) bool { return slices.Contains(names, m.name) }

// compact is the text of a mark without spaces.
func (m mark) compact() string { return strings.ReplaceAll(text(m.all), " ", "") }

// unit adds a test or a helper with what its body says. times is how often it runs.
func (r *reader) unit(u unit, body []node, text []token, times int) {
	u.calls = map[string]int{}
	w := &walker{r: r, u: &u, own: maps.Clone(r.tables)}
	w.block(body, times)
	if u.test {
		_, early := earlyReturns(body)
		u.skips = append(u.skips, early...)
		u.dead = r.l.reached(body) < len(body)
	}
	u.setBody(text)
	r.s.units = append(r.s.units, u)
}

// walker counts what one test or helper asserts, leaving out what cannot be reached
// and what a handler around it swallows. times is how often code runs for the rows of tables.
type walker struct {
	r   *reader
	u   *unit
	own map[string]int // lengths of the tables in reach
}

// block walks statements; what stands behind the first that ends it never runs.
func (w *walker) block(list []node, times int) {
	end := w.r.l.reached(list)
	w.list(list[:end], times)
	w.list(list[end:], 0)
}

// list walks nodes in order.
func (w *walker) list(list []node, times int) {
	for i := 0; i < len(list); i++ {
		switch n := list[i]; {
		case n.open == '{':
			w.block(n.kids, times)
		case n.open != 0:
			w.list(n.kids, times)
		case n.kind == ident && keywords.has(n.text) && at(list, i-1) != "." && at(list, i-1) != "::":
			i = w.statement(list, i, times)
		case n.kind == ident:
			i = w.name(list, i, times)
		}
	}
}

// statement handles the keyword at i and returns the last index that it used.
func (w *walker) statement(list []node, i, times int) int {
	l := w.r.l
	if l.layout && !statementStart(list, i) {
		return i // `if` and `for` of an expression
	}
	switch list[i].text {
	case "if", "elif", "while":
		if cond, body := condition(list, i); never(cond) {
			return skipBranch(list, body)
		}
	case "for":
		if over, body := iterated(list, i); body > 0 {
			if rows, ok := w.rows(over); ok {
				w.times(list[body:body+1], times, rows)
				return body
			}
		}
	case "with":
		if cond, body := condition(list, i); suppresses(cond) {
			w.block(list[body].kids, 0)
			return body
		}
	case "try":
		if group(list, i+1, '{') && l.swallowed(list, i+2) {
			w.block(list[i+1].kids, 0)
			return i + 1
		}
	case "throw", "raise":
		return w.thrown(list, i, times)
	case "assert":
		if l.statement && !(group(list, i+1, '(') && !l.layout && at(list, i+2) != ";") {
			w.assertion(list[i+1:max(i+1, statementEnd(list, i))], times)
			return i
		}
		return w.name(list, i, times)
	case "function", "fn", "fun", "def", "class":
		return i + 1 // a name that is defined here and not called
	}
	return i
}

// assertion counts an assert statement. A tuple that is not empty is always true.
func (w *walker) assertion(list []node, times int) {
	cond := list
	for i := range list {
		if word := at(list, i); word == "," || word == ":" || word == ";" {
			cond = list[:i]
			break
		}
	}
	tuple := len(cond) == 1 && cond[0].open == '(' && len(split(cond[0].kids, ",")) > 1
	if !always(cond) && !tuple {
		w.u.plain += times
	}
}

// thrown counts what is thrown at list[i] as an assertion or a skip.
func (w *walker) thrown(list []node, i, times int) int {
	l, end := w.r.l, statementEnd(list, i)
	if l.thrown.has("throw") { // of any class
		w.u.plain += times
		return i
	}
	for k := i + 1; k < end; k++ {
		switch name := at(list, k); {
		case l.thrownSkip.has(name) || l.layout && skipping(name):
			w.u.skips = append(w.u.skips, list[i].text+" "+name)
			return end - 1
		case l.thrown.has(name):
			if group(list, k+1, '(') && len(list[k+1].kids) == 1 && list[k+1].kids[0].kind == ident &&
				list[k+1].kids[0].open == 0 && !l.layout {
				continue // new AssertionError(e) only wraps
			}
			w.u.plain += times
		}
	}
	return i
}

// suppresses reports whether a with statement swallows failed assertions.
func suppresses(head []node) bool {
	for i := range head {
		if at(head, i) == "suppress" && group(head, i+1, '(') && python.takes(head[i+1].kids) {
			return true
		}
	}
	return false
}

// times walks a body that runs once a row.
func (w *walker) times(body []node, times, rows int) {
	before := w.u.total()
	w.list(body, times*rows)
	if w.u.total() > before || rows == 0 {
		w.u.rows = max(1, w.u.rows) * rows
	}
}

// rows is the number of elements of a literal table, or of one that has a name.
func (w *walker) rows(value []node) (int, bool) {
	if n, ok := literalRows(value); ok {
		return n, true
	}
	for len(value) > 0 && (at(value, 0) == "&" || at(value, 0) == "mut") {
		value = value[1:]
	}
	if len(value) != 1 && !(at(value, 1) == "." && w.r.l == rust) {
		return 0, false
	}
	n, ok := w.own[at(value, 0)]
	return n, ok
}

// literalRows is the length of [a, b], (a, b), {a: b}, &[a, b] or vec![a, b].
func literalRows(value []node) (int, bool) {
	for len(value) > 0 && (at(value, 0) == "&" || at(value, 0) == "mut" || at(value, 0) == "vec" || at(value, 0) == "!") {
		value = value[1:]
	}
	if len(value) == 0 || value[0].open == 0 || value[0].open != '[' && len(value) > 1 {
		return 0, false
	}
	if parts := split(value[0].kids, ";"); len(parts) == 2 {
		return 0, false // [x; n]
	}
	return rows(value[0].kids), true
}

// assigned is the name that gets a value at list[i], and the value; "" = none does.
func (r *reader) assigned(list []node, i int) (name string, value []node) {
	k := i
	if r.l.declares.has(at(list, i)) {
		if k++; at(list, k) == "mut" {
			k++
		}
		if v := assignment(list, k+1); v > 0 {
			return at(list, k), list[v:]
		}
		return "", nil
	}
	if r.l.layout && at(list, i+1) == "=" && statementStart(list, i) {
		return at(list, i), list[i+2 : max(i+2, statementEnd(list, i+1)-1)]
	}
	return "", nil
}

// assignment finds the value of a declaration, past a type annotation; 0 = none.
func assignment(list []node, i int) int {
	for j := i; j < len(list) && j < i+12; j++ {
		switch at(list, j) {
		case "=":
			return j + 1
		case ";":
			return 0
		}
	}
	return 0
}

// name handles the identifier at i and returns the last index that it used.
func (w *walker) name(list []node, i, times int) int {
	l, name := w.r.l, list[i].text
	owner, member := "", at(list, i-1) == "." || at(list, i-1) == "?."
	if member {
		owner = at(list, i-2)
	}
	if table, value := w.r.assigned(list, i); table != "" {
		if n, ok := literalRows(value); ok {
			w.own[table] = n
		}
	}
	if l == javascript {
		if next, ok := w.jsName(list, i, times); ok {
			return next
		}
	}
	full, method := name, ""
	if member {
		full, method = owner+"."+name, "."+name
	}
	skips := l.skips.has(full) || l.skips.has(method)
	if skips && l.layout { // also when it is handed on
		w.u.skips = append(w.u.skips, strings.TrimPrefix(full, "."))
		return i
	}
	k := i + 1
	if macro := at(list, k) == "!" && k+1 < len(list) && list[k+1].open != 0 && l == rust; macro {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "debug_"), "prop_")
		k++
	} else if k = turbofish(list, k); !group(list, k, '(') {
		return i
	}
	args := list[k].kids
	switch {
	case w.r.skipNames[name] != "" || skips:
		w.u.skips = append(w.u.skips, name)
	case l.methods && (group(list, k+1, '{') || at(list, k+1) == "throws"): // of an anonymous class: defined, not called
	case member && foreignSkip(name, owner):
	case l.methods && member && owner != "this" && owner != "super" && !asserting(name):
		w.u.calls[method] += times // a call on an object is none of a method of the test class
	case l.chains.has(name) && (!member || l.links):
		return w.chain(list, k, times)
	case libraryAssertion(name) && trivial(args), l.idle.has(name):
	case l.asserts.has(full) || l.asserts.has(method):
		w.u.plain += times
	default:
		w.u.calls[name] += times
	}
	return k - 1
}

// turbofish is the index behind ::<T> at i, or i.
func turbofish(list []node, i int) int {
	if at(list, i) != "::" || at(list, i+1) != "<" {
		return i
	}
	depth := 0
	for k := i + 1; k < len(list) && k < i+40; k++ {
		switch at(list, k) {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return k + 1
			}
		}
	}
	return i
}

// chain counts what is asserted about the value in the brackets at list[j]:
// expect(value).not.toBe(1), assertThat(value).isNotNull().hasSize(2). Without a link it
// asserts nothing, but for assertThat(x, is(1)).
func (w *walker) chain(list []node, j, times int) int {
	l, value := w.r.l, list[j].kids
	w.list(value, times)
	links, fixed, same := 0, literalOnly(value), false
	for j++; at(list, j) == "." || at(list, j) == "?."; {
		name := at(list, j+1)
		if l.links && !group(list, j+2, '(') {
			break
		}
		j += 2
		if !group(list, j, '(') {
			links, same = max(links, 1), false
			continue
		}
		args := list[j].kids
		if !l.links {
			w.list(args, times)
			links = 1
		} else if !l.neutral.has(name) {
			links++
		}
		if strings.HasSuffix(name, "InlineSnapshot") && len(args) == 0 {
			links = 0 // without its text it takes whatever comes
		}
		fixed = fixed && (len(args) == 0 || literalOnly(args))
		same = len(args) > 0 && text(args) == text(value)
		j++
	}
	if links == 0 && l.links && len(split(value, ",")) >= 2 {
		links = 1
	}
	if !fixed && !same {
		w.u.plain += links * times
	}
	return j - 1
}
