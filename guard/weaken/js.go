package weaken

import (
	"slices"
	"strings"
)

// In JavaScript and TypeScript tests are calls of test functions with a title, inside
// calls of suite functions.

// jsFile is what the reader of one file notes.
type jsFile struct {
	aliases map[string]string // local name → name of the test function
	handles map[string]bool   // parameters of test callbacks: t in ava, tap, node:test
	nested  bool              // tests within the walked code are units of their own
}

// The names that frameworks give to tests and suites, the prefixes x and f skip and focus;
// and modifiers.
var (
	jsTests    = set("it test specify xit xtest xspecify fit ftest")
	jsSuites   = set("describe context suite xdescribe xcontext xsuite fdescribe fcontext fsuite")
	jsSkips    = set("skip todo failing fails fixme fail")
	jsVariants = set("skip todo xit xtest xdescribe fixme")
	jsTables   = set("each for")
	jsTakes    = set("each for skipIf runIf extend")
	jsWhen     = set("skipIf runIf")
	jsHooks    = set("beforeAll beforeEach afterAll afterEach use")
	jsOwners   = set("t tt Deno QUnit tap test vitest jest bun nodeTest")
)

// jsOwn are the functions of a framework that a test file must not redefine.
func jsOwn(name string) bool {
	return jsTests.has(name) || jsSuites.has(name) || name == "expect" || name == "assert"
}

// jsAssertions are those of the contexts of ava, tap, tape and node:test.
var jsAssertions = set("is not equal notEqual deepEqual notDeepEqual same notSame strictSame ok notOk true false " +
	"truthy falsy throws throwsAsync notThrows notThrowsAsync like regex notRegex snapshot " +
	"fail equals match matches notMatch has hasStrict rejects resolves strictEqual error type " +
	"assert matchSnapshot doesNotThrow looseEqual deepLooseEqual isNot")

func (r *reader) javascript() {
	r.js = jsFile{aliases: map[string]string{}, handles: map[string]bool{"t": true}}
	nodes := tree(r.toks)
	r.top(nodes)
	if r.test {
		r.js.nested = true
		r.suite(nodes, "", nil, 1)
		r.js.nested = false
		if len(r.s.units) == 0 && !supportName(strings.ToLower(simple(strings.TrimSuffix(r.file, ".js")))) {
			// A script of bare assertions: the file is the test.
			u := unit{name: "(file)", line: 1, test: true}
			r.walker(&u).list(nodes, 1)
			u.setBody(r.toks)
			if u.plain > 0 {
				r.s.units = append(r.s.units, u)
			}
		}
	}
	if r.helps() {
		r.functions(nodes)
	}
}

// top notes tables, renamed imports, and code that bends the whole run.
func (r *reader) top(list []node) {
	for i, n := range list {
		for j := range n.kids {
			if name := at(n.kids, j-1); n.open == '{' && (at(n.kids, j) == "as" || at(n.kids, j) == ":") &&
				(jsTests.has(name) || jsSuites.has(name)) {
				r.js.aliases[at(n.kids, j+1)] = name
			}
		}
		if name, value := r.assigned(list, i); name != "" {
			if len(value) > 0 && value[0].open == '[' {
				r.tables[name] = rows(value[0].kids)
			}
			if jsOwn(name) && at(list, i-1) != "declare" && (definesFunction(value) || skippingVariant(value)) {
				r.s.escapes = append(r.s.escapes, "redefines "+name)
			}
		}
		switch at(list, i) {
		case "function":
			if name := at(list, i+1); jsOwn(name) && at(list, i-1) != "declare" {
				r.s.escapes = append(r.s.escapes, "redefines "+name)
			}
		case "process":
			if r.test && !inFolder(r.file, "fixtures", "__fixtures__", "fixture") && at(list, i+1) == "." {
				r.ending(list, i)
			}
		}
	}
}

// ending notes `process.exit(…)`, `process.exitCode = 0` and hooks that end the
// process with success whatever happened.
func (r *reader) ending(list []node, i int) {
	what := ""
	switch name := at(list, i+2); {
	case name == "exitCode" && at(list, i+3) == "=" && at(list, i+4) == "0":
		what = name
	case !group(list, i+3, '('):
	case name == "exit" || name == "reallyExit":
		what = name
	case name == "on" || name == "once" || name == "prependListener":
		if hook := text(list[i+3].kids); strings.Contains(hook, "process . exit") ||
			strings.Contains(hook, "process . reallyExit") {
			what = name + " that exits"
		}
	}
	if what != "" {
		r.s.escapes = append(r.s.escapes, "process."+what)
	}
}

// definesFunction reports whether a value is a function written out here, and not
// one of a module or another value.
func definesFunction(value []node) bool {
	if at(value, 0) == "async" {
		value = value[1:]
	}
	return at(value, 0) == "function" || at(value, 1) == "=>"
}

// skippingVariant reports whether a value is a test function that skips: describe.skip, xit.
func skippingVariant(value []node) bool {
	for i := range value[:min(len(value), 8)] {
		if i > 0 && value[i].first || at(value, i) == ";" || at(value, i) == "," {
			return false
		}
		if jsVariants.has(at(value, i)) {
			return true
		}
	}
	return false
}

// jsCall is a call of a test or suite function.
type jsCall struct {
	name  string // after aliases
	mods  []string
	args  []node
	table []node // arguments of .each
	when  string // what .skipIf and .runIf make of it
	next  int    // index behind the call
	line  int
}

// call reads `it.only.each(…)("title", …)` at list[i].
func (r *reader) call(list []node, i int) (c jsCall, ok bool) {
	name := at(list, i)
	if a, ok := r.js.aliases[name]; ok {
		name = a
	}
	if !jsTests.has(name) && !jsSuites.has(name) || list[i].kind != ident {
		return c, false
	}
	switch at(list, i-1) {
	case ".", "?.":
		if !jsOwners.has(at(list, i-2)) {
			return c, false // regexp.test(…)
		}
	case "function", "new":
		return c, false
	}
	c = jsCall{name: name, line: list[i].line}
	j := i + 1
	for at(list, j) == "." && j+1 < len(list) && list[j+1].kind == ident {
		mod := at(list, j+1)
		if jsHooks.has(mod) { // test.afterAll(…) of Playwright
			return c, false
		}
		if jsSuites.has(mod) || jsTests.has(mod) && mod != "test" { // test.describe(…)
			c.name = mod
		} else {
			c.mods = append(c.mods, mod)
		}
		j += 2
		if jsTakes.has(mod) && group(list, j, '(') {
			switch when := list[j].kids; {
			case jsTables.has(mod):
				c.table = list[j].kids
			case mod == "skipIf" && always(when), mod == "runIf" && never(when):
				c.mods = append(c.mods, "skip")
			case jsWhen.has(mod) && truthOf(when) == maybe:
				c.when = here(underCondition, text(when))
			}
			j++
		} else if mod == "each" && j < len(list) && list[j].kind == str { // it.each`table`
			c.table = []node{list[j]}
			j++
		}
	}
	if !group(list, j, '(') {
		return c, false
	}
	c.args, c.next = list[j].kids, j+1
	return c, true
}

func (c jsCall) suite() bool { return jsSuites.has(strings.TrimLeft(c.name, "xf")) }

// limits are what the modifiers, the name and the options object of a call say.
func (c jsCall) limits() (skips, exclusive []string) {
	switch {
	case c.name[0] == 'x':
		skips = append(skips, c.name)
	case c.name[0] == 'f':
		exclusive = append(exclusive, c.name)
	}
	if c.when != "" {
		skips = append(skips, c.when)
	}
	for _, m := range c.mods {
		if jsSkips.has(m) {
			skips = append(skips, "."+m)
		} else if m == "only" {
			exclusive = append(exclusive, ".only")
		}
	}
	for _, part := range split(c.args, ",") {
		if len(part) != 1 || part[0].open != '{' { // {skip: true} of node:test
			continue
		}
		for _, field := range split(part[0].kids, ",") {
			if len(field) < 3 || at(field, 1) != ":" || at(field, 2) == "false" {
				continue
			}
			switch name := at(field, 0); name {
			case "skip", "todo", "fails":
				skips = append(skips, "{"+name+"}")
			case "only":
				exclusive = append(exclusive, "{only}")
			}
		}
	}
	return skips, exclusive
}

func (c jsCall) title() string {
	parts := split(c.args, ",")
	if len(parts) == 0 {
		return "?"
	}
	if len(parts[0]) == 1 && parts[0][0].kind == str {
		return parts[0][0].text
	}
	return strings.TrimSpace(text(parts[0][:min(len(parts[0]), 6)]))
}

// hasBody reports whether a call is given what to run; else it is test.skip(condition)
// inside a test, describe.configure() and the like.
func (c jsCall) hasBody() bool {
	for i := range c.args {
		if at(c.args, i) == "=>" || at(c.args, i) == "function" {
			return true
		}
	}
	parts := split(c.args, ",")
	return len(parts) >= 2 && len(parts[len(parts)-1]) >= 1 && len(parts[0]) > 0 && parts[0][0].kind == str
}

// suite reads tests at any depth of a list.
func (r *reader) suite(list []node, prefix string, outer []string, times int) {
	end := r.l.reached(list)
	early, returns := 0, []string(nil)
	if prefix != "" {
		early, returns = earlyReturns(list)
	}
	for i := 0; i < len(list); i++ {
		n := list[i]
		skips := slices.Clone(outer)
		if hoisted := group(list, i, '{') && group(list, i-1, '(') && at(list, i-3) == "function"; i >= end && !hoisted {
			skips = append(skips, "behind a return")
		}
		if len(returns) > 0 && i > early {
			skips = append(skips, returns[0])
		}
		if i > 0 && list[i-1].open == '(' && at(list, i-2) == "if" || at(list, i-1) == "else" {
			skips = append(skips, here(underCondition, text(list[i-1].kids)))
		} else if r.uncalled(list, i) {
			skips = append(skips, "in a function that nothing calls")
		}
		if n.open != 0 {
			r.suite(n.kids, prefix, skips, times)
			continue
		}
		c, ok := r.call(list, i)
		if !ok {
			continue
		}
		i = c.next - 1
		own, exclusive := c.limits()
		if !c.hasBody() && !slices.Contains(own, ".todo") {
			continue
		}
		r.s.exclusive = append(r.s.exclusive, exclusive...)
		skips = append(skips, own...)
		rows := 0
		if c.table != nil {
			if rows = r.eachRows(c.table); rows == 0 {
				skips = append(skips, ".each of nothing")
			}
		}
		name := prefix + c.title()
		if c.suite() {
			r.suite(c.args, name+"/", append(skips, suiteSkips(c.args)...), times*max(1, rows))
			continue
		}
		if times > 1 {
			rows = times * max(1, rows) // the rows of a suite are those of each of its tests
		}
		r.testCall(c, name, skips, rows)
		r.suite(callbacks(c.args), name+"/", skips, times) // subtests
	}
}

// callbacks are the function bodies among arguments.
func callbacks(args []node) []node {
	return slices.DeleteFunc(slices.Clone(args), func(n node) bool { return n.open != '{' })
}

// callback is the body of the function among the arguments of a call.
func callback(args []node) []node {
	for i := range args {
		if args[i].open == '{' && i > 0 && (at(args, i-1) == "=>" || args[i-1].open == '(') {
			return args[i].kids
		}
	}
	return nil
}

// suiteSkips sees this.skip() and pending() in hooks of a suite.
func suiteSkips(args []node) []string {
	var out []string
	for _, body := range callbacks(args) {
		for i := range body.kids {
			switch hook := at(body.kids, i); hook {
			case "before", "beforeEach", "beforeAll":
				if group(body.kids, i+1, '(') && strings.Contains(text(body.kids[i+1].kids), " . skip (") {
					out = append(out, "skip in "+hook)
				}
			}
		}
	}
	return out
}

func (r *reader) eachRows(table []node) int {
	if len(table) == 1 && table[0].kind == str && table[0].open == 0 {
		lines := strings.Split(strings.TrimSpace(table[0].text), "\n")
		return max(0, len(lines)-1) // the first names the columns
	}
	if parts := split(table, ","); len(parts) == 1 && len(parts[0]) >= 1 {
		if parts[0][0].open == '[' {
			return rows(parts[0][0].kids)
		}
		if n, ok := r.tables[at(parts[0], 0)]; ok {
			return n
		}
	}
	return 1
}

func (r *reader) testCall(c jsCall, name string, skips []string, rows int) {
	body := c.args
	if parts := split(c.args, ","); len(parts) > 1 {
		body = c.args[len(parts[0])+1:]
	}
	for i := range body {
		if at(body, i) != "=>" || i == 0 {
			continue
		}
		if before := body[i-1]; before.open == '(' && len(before.kids) > 0 {
			r.js.handles[at(before.kids, 0)] = true
		} else if before.kind == ident && before.open == 0 {
			r.js.handles[before.text] = true
		}
	}
	u := unit{name: name, line: c.line, test: true, skips: skips, rows: rows}
	r.unit(u, body, append(flatten(body), flatten(c.table)...), max(1, rows))
	last := &r.s.units[len(r.s.units)-1]
	statements := callback(body)
	_, early := earlyReturns(statements)
	last.skips = append(last.skips, early...)
	last.dead = r.l.reached(statements) < len(statements)
}

// functions reads helpers: declarations and functions bound to a constant, at
// the top of the file and of its suites.
func (r *reader) functions(list []node) {
	for i := range list {
		if c, ok := r.call(list, i); ok && c.suite() {
			for _, b := range callbacks(c.args) {
				r.functions(b.kids)
			}
			continue
		}
		name, value := r.assigned(list, i)
		var body []node
		var params []string
		if at(list, i) == "function" && group(list, i+2, '(') {
			name, body, params = at(list, i+1), functionBody(list, i+3), paramNames(list[i+2].kids)
		}
		for j := range value[:min(len(value), 8)] {
			if at(value, j) == ";" || j > 0 && value[j].first && at(value, j-1) != "=>" && value[j].open == 0 {
				break
			}
			if at(value, j) == "=>" || at(value, j) == "function" {
				body = functionBody(value, j+1)
				for _, n := range value[:min(len(value), j+3)] {
					if n.open == '(' {
						params = paramNames(n.kids)
					}
				}
				break
			}
		}
		if name != "" && len(body) > 0 {
			r.unit(unit{name: name, line: list[i].line, params: params}, body, flatten(body), 1)
		}
	}
}

// functionBody is the block, or the expression of an arrow, that begins near i.
func functionBody(list []node, i int) []node {
	for j := i; j < min(len(list), i+12); j++ {
		if list[j].open == '{' {
			return list[j : j+1]
		}
		if at(list, j) == ";" {
			return list[i:j]
		}
	}
	return list[min(i, len(list)):min(len(list), i+12)]
}

// jsName handles the names that frameworks of JavaScript give a meaning; ok is false when
// list[i] is none.
func (w *walker) jsName(list []node, i, times int) (next int, ok bool) {
	name, prev, r := list[i].text, at(list, i-1), w.r
	member, args := prev == "." || prev == "?.", group(list, i+1, '(')
	owner := at(list, i-2)
	if r.js.nested && (!member || owner == "t") {
		if c, ok := r.call(list, i); ok {
			if !c.hasBody() {
				skips, _ := c.limits()
				w.u.skips = append(w.u.skips, skips...) // test.skip(condition) of Playwright
			}
			return c.next - 1, true
		}
	}
	handle := member && r.js.handles[owner]
	switch {
	case name == "expect" && !member && at(list, i+1) == ".":
		switch at(list, i+2) {
		case "fail":
			w.asserts(times, 1)
		case "soft", "poll", "element":
			if group(list, i+3, '(') {
				return w.chain(list, i+3, times), true
			}
		}
		return i + 2, true // expect.assertions(2), expect.any(…)
	case member && owner == "this" && name == "skip", name == "pending" && args && !member:
		w.u.skips = append(w.u.skips, name)
	case (name == "assert" || name == "Assert") && (!member || handle && at(list, i+1) == "."): // also t.assert.equal(…)
		method, j := "", i+1
		for ; at(list, j) == "."; j += 2 {
			method = at(list, j+1)
		}
		if !group(list, j, '(') {
			return i, true
		}
		if method == "fail" || !trivial(list[j].kids) {
			w.asserts(times, 0)
		}
		return j - 1, true
	case handle && args && (name == "skip" || name == "todo"):
		w.u.skips = append(w.u.skips, "t."+name)
	case handle && args && jsAssertions.has(name):
		if !trivial(list[i+1].kids) || name == "fail" || name == "snapshot" {
			w.asserts(times, 0)
		}
	case name == "should" && member:
		w.asserts(times, 0)
	case name == "forEach" && member && args:
		rows, ok := w.rows(list[i-2 : i-1])
		if !ok {
			return i, false
		}
		w.times(list[i+1:i+2], times, rows)
		return i + 1, true
	default:
		return i, false
	}
	return i, true
}
