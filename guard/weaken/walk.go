package weaken

import (
	"maps"
	"slices"
	"strings"
)

// tally counts what one test or helper asserts.
type tally struct {
	u     *unit
	conds int // how many conditions the code that is walked stands under
	// sum counts everything, asserted what asserts by itself, and under the part of that which
	// stands under conditions; log is that part in order.
	sum, asserted, under int
	log                  []counted
}

// counted is a call of a name, or an assertion without one.
type counted struct {
	name string
	n    int
}

func newTally(u *unit) tally {
	u.calls, u.callsUnder, u.inside = map[string]int{}, map[string]int{}, map[string]int{}
	return tally{u: u}
}

// asserts counts an assertion. A throw or a fail, which fails by being reached, has
// own 1: its own condition does not count.
func (w *tally) asserts(n, own int) {
	w.u.plain += n
	w.sum += n
	w.asserted += n
	if w.conds > own {
		w.put("", n)
	}
}

func (w *tally) calls(name string, n int) {
	w.u.calls[name] += n
	w.sum += n
	if n > 0 && asserting(name) {
		w.asserted += n
	}
	if w.conds > 0 {
		w.put(name, n)
	}
}

// put records what stands under a condition, or takes it back.
func (w *tally) put(name string, n int) {
	if w.log = append(w.log, counted{name, n}); name == "" {
		w.u.under += n
		w.under += n
		return
	}
	w.u.callsUnder[name] += n
	if n != 0 && asserting(name) {
		w.under += n
	}
}

// back drops the log from a place on: that is asserted in any case.
func (w *tally) back(to int) {
	for _, c := range slices.Clone(w.log[to:]) {
		w.put(c.name, -c.n)
	}
	w.log = w.log[:to]
}

// walker counts what the code of a unit asserts, leaving out what cannot be reached
// and what a handler around it swallows. times is how often code runs for the rows of tables.
type walker struct {
	tally
	r   *reader
	own map[string]int // lengths of the tables in reach
}

func (r *reader) walker(u *unit) *walker {
	return &walker{tally: newTally(u), r: r, own: maps.Clone(r.tables)}
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
		case n.kind == ident && keywords.has(n.text) && at(list, i-1) != "." && at(list, i-1) != "::" &&
			(w.r.l != golang || goKeywords.has(n.text)):
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
		cond, body := condition(list, i)
		if l == golang && len(cond) == 3 && at(cond, 1) == "!=" && at(cond, 2) == "nil" && at(list, body+1) != "else" &&
			at(cond, 0) == w.r.plumbed(list, i) {
			w.list(list[body:body+1], 0)
			return body
		}
		if never(cond) {
			return skipBranch(list, body)
		} else if list[i].text == "if" && always(cond) {
			last := skipBranch(list, body)
			w.list(list[body:last+1], times)
			for at(list, last+1) == "else" { // never runs
				if body = last + 2; at(list, body) == "if" {
					_, body = condition(list, body)
				}
				last = max(last+1, skipBranch(list, body))
			}
			return last
		} else if list[i].text != "while" && truthOf(cond) == maybe && here("", text(cond)) == "" {
			return w.branches(list, i, times)
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
	case "class":
		return i + 1
	case "function", "fn", "fun", "def":
		name, body := at(list, i+1), bodyAt(list, i+1)
		if w.r.count[name] == 1 && body > 0 && at(list, i-1) != "export" && at(list, i-1) != "default" {
			w.list(list[body:body+1], 0) // nothing calls it
			return body
		}
		return i + 1 // a name that is defined here and not called
	}
	return i
}

// branches walks the if at list[i] with what belongs to it. Where there is an else, and each
// branch asserts something, something is always asserted.
func (w *walker) branches(list []node, i, times int) int {
	from := len(w.log)
	all, open := true, true
	for open {
		next := i + 1
		if at(list, i) == "else" && at(list, next) != "if" {
			open = false
		} else {
			if at(list, i) == "else" {
				i++
			}
			var cond []node
			if cond, next = condition(list, i); cond == nil {
				return i
			}
			w.list(cond, times)
		}
		if next >= len(list) {
			return len(list)
		}
		last := max(next, skipBranch(list, next))
		was := w.under
		w.conds++
		w.list(list[next:last+1], times)
		w.conds--
		all = all && w.under > was
		if i = last; !open {
			break
		}
		if word := at(list, last+1); word != "else" && word != "elif" {
			return last
		}
		i = last + 1
	}
	if all {
		w.back(from)
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
	if !always(cond) && !tuple && (never(cond) || !literalOnly(cond)) {
		w.asserts(times, 0)
	}
}

// thrown counts what is thrown at list[i] as an assertion or a skip.
func (w *walker) thrown(list []node, i, times int) int {
	l, end := w.r.l, statementEnd(list, i)
	if l.thrown.has("throw") { // of any class
		w.asserts(times, 1)
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
			w.asserts(times, 1)
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
	before := w.sum
	w.list(body, times*rows)
	if w.sum > before || rows == 0 {
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
	if n := len(value); n > 1 && value[n-1].open == openLiteral[0] && at(value, 0) != "&" && at(value, 0) != "func" &&
		(value[n-2].open != 0 || value[n-2].kind == ident) {
		return rows(value[n-1].kids), true // []T{…}, map[K]V{…} of Go
	}
	if len(value) == 0 || value[0].open == 0 || value[0].open != '[' && len(value) > 1 {
		return 0, false
	}
	if parts := split(value[0].kids, ";"); len(parts) == 2 {
		return 0, false // [x; n]
	}
	return rows(value[0].kids), true
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
		body := functionIn(value)
		called := l == golang && body != len(value)-1 // in its place
		if body > 0 && (w.r.count[table] == 1 || table == "_") && !called {
			end := len(list) - len(value) + body
			if l == golang { // the value ends with its statement
				end = i + 2 + body
			}
			w.list(list[end:end+1], 0) // nothing calls it
			return end
		}
	}
	if l == golang {
		if to, value := w.r.assigned(list, i); goAsserter(value) {
			w.r.goScope.asserters[to] = true
		}
		return w.goName(list, i, times)
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
		w.calls(method, times) // a call on an object is none of a method of the test class
	case l.chains.has(name) && (!member || l.links):
		return w.chain(list, k, times)
	case libraryAssertion(name) && (trivial(args) || refuting(name) && literalOnly(args)), l.idle.has(name):
	case l.asserts.has(full) || l.asserts.has(method):
		w.asserts(times, 1)
	default:
		w.calls(name, times)
		if slices.ContainsFunc(args, handsFunction) {
			was := w.asserted
			w.list(args, times)
			w.u.inside[name] += w.asserted - was
			return k
		}
	}
	return k - 1
}

func handsFunction(n node) bool {
	return n.is("=>") || n.is("function") || n.is("lambda") || n.is("|") || n.is("->")
}

// functionIn is where the body of a function that a value is stands; 0 = it is none.
func functionIn(value []node) int {
	if !definesFunction(value) && !oneOf("func | || move", at(value, 0)) && at(value, 1) != "->" {
		return 0
	}
	return bodyAt(value, 0)
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
		w.asserts(links*times, 0)
	}
	return j - 1
}
