package weaken

import (
	"slices"
	"strings"
)

// jsReader collects the tests of one JavaScript or TypeScript file: calls of
// test functions with a title, inside calls of suite functions.
type jsReader struct {
	s       *source
	test    bool
	tables  map[string]int
	aliases map[string]string // local name → name of the test function
	count   map[string]int    // how often a name stands in the file
	handles map[string]bool   // parameters of test callbacks: t in ava, tap, node:test
}

func readJS(file string, toks []token) *source {
	r := &jsReader{s: &source{path: file}, test: IsTest(file), tables: map[string]int{}, aliases: map[string]string{},
		handles: map[string]bool{"t": true}}
	nodes := tree(toks)
	r.count = map[string]int{}
	for _, t := range toks {
		if t.kind == ident {
			r.count[t.text]++
		}
	}
	r.top(nodes)
	support := isSupport(file)
	if r.test {
		r.suite(nodes, "", nil, 1)
		if len(r.s.units) == 0 && !supportName(strings.ToLower(simple(strings.TrimSuffix(file, ".js")))) {
			// A script of bare assertions: the file is the test.
			u := unit{name: "(file)", line: 1, test: true, calls: map[string]int{}}
			w := &jsWalker{r: r, u: &u}
			w.list(nodes, 1)
			u.setBody(toks)
			if u.plain > 0 {
				r.s.units = append(r.s.units, u)
			}
		}
	}
	if r.test || support {
		r.functions(nodes)
	}
	return r.s
}

// jsTest and jsSuite are the names that frameworks give to tests and suites;
// the prefixes x and f skip and focus.
func jsTest(name string) bool {
	switch name {
	case "it", "test", "specify", "xit", "xtest", "xspecify", "fit", "ftest":
		return true
	}
	return false
}

func jsSuite(name string) bool {
	switch name {
	case "describe", "context", "suite", "xdescribe", "xcontext", "xsuite", "fdescribe", "fcontext", "fsuite":
		return true
	}
	return false
}

// top notes tables, renamed imports, and code that bends the whole run.
func (r *jsReader) top(list []node) {
	for i, n := range list {
		if n.open == '{' {
			for j := range n.kids {
				if at(n.kids, j) == "as" || at(n.kids, j) == ":" {
					if name := at(n.kids, j-1); jsTest(name) || jsSuite(name) {
						r.aliases[at(n.kids, j+1)] = name
					}
				}
			}
		}
		switch at(list, i) {
		case "const", "let", "var":
			name := at(list, i+1)
			if k := assignment(list, i+2); k > 0 {
				r.note(name, list[k:])
				if jsOwn(name) && at(list, i-1) != "declare" && (definesFunction(list[k:]) || skippingVariant(list[k:])) {
					r.s.escapes = append(r.s.escapes, "redefines "+name)
				}
			}
		case "function":
			if name := at(list, i+1); jsOwn(name) && at(list, i-1) != "declare" {
				r.s.escapes = append(r.s.escapes, "redefines "+name)
			}
		case "process":
			if r.test && !inFolder(r.s.path, "fixtures", "__fixtures__", "fixture") {
				r.ending(list, i)
			}
		}
	}
}

// ending notes `process.exit(…)`, `process.exitCode = 0` and hooks that end the
// process with success whatever happened.
func (r *jsReader) ending(list []node, i int) {
	if at(list, i+1) != "." {
		return
	}
	switch name := at(list, i+2); {
	case (name == "exit" || name == "reallyExit") && group(list, i+3, '('):
		r.s.escapes = append(r.s.escapes, "process."+name)
	case name == "exitCode" && at(list, i+3) == "=" && at(list, i+4) == "0":
		r.s.escapes = append(r.s.escapes, "process.exitCode")
	case (name == "on" || name == "once" || name == "prependListener") && group(list, i+3, '('):
		if hook := text(list[i+3].kids); strings.Contains(hook, "process . exit") ||
			strings.Contains(hook, "process . reallyExit") {
			r.s.escapes = append(r.s.escapes, "process."+name+" that exits")
		}
	}
}

// jsOwn are the functions of a framework that a test file must not redefine.
func jsOwn(name string) bool {
	return jsTest(name) || jsSuite(name) || name == "expect" || name == "assert"
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
	end := min(len(value), 8)
	for i := range value[:end] {
		if i > 0 && value[i].first || at(value, i) == ";" || at(value, i) == "," {
			return false
		}
		switch at(value, i) {
		case "skip", "todo", "xit", "xtest", "xdescribe", "fixme":
			return true
		}
	}
	return false
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

// note records the length of a literal array or object.
func (r *jsReader) note(name string, value []node) {
	if len(value) > 0 && value[0].open == '[' {
		r.tables[name] = rows(value[0].kids)
	}
}

func (r *jsReader) named(name string) string {
	if a, ok := r.aliases[name]; ok {
		return a
	}
	return name
}

// jsCall is a call of a test or suite function.
type jsCall struct {
	name  string // after aliases
	mods  []string
	args  []node
	table []node // arguments of .each
	next  int    // index behind the call
	first int
}

// parse reads `it.only.each(…)("title", …)` at list[i].
func (r *jsReader) parse(list []node, i int) (jsCall, bool) {
	name := r.named(at(list, i))
	if !jsTest(name) && !jsSuite(name) || list[i].kind != ident {
		return jsCall{}, false
	}
	if prev := at(list, i-1); prev == "." || prev == "?." {
		switch at(list, i-2) {
		case "t", "tt", "Deno", "QUnit", "tap", "test", "vitest", "jest", "bun", "nodeTest":
		default:
			return jsCall{}, false // regexp.test(…)
		}
	}
	if at(list, i-1) == "function" || at(list, i-1) == "new" {
		return jsCall{}, false
	}
	c := jsCall{name: name, first: i}
	j := i + 1
	for {
		if at(list, j) == "." && j+1 < len(list) && list[j+1].kind == ident {
			mod := at(list, j+1)
			if jsSuite(mod) || jsTest(mod) && mod != "test" { // test.describe(…)
				c.name = mod
			} else {
				c.mods = append(c.mods, mod)
			}
			j += 2
			if (mod == "each" || mod == "for" || mod == "skipIf" || mod == "runIf" || mod == "extend") && group(list, j, '(') {
				if mod == "each" || mod == "for" {
					c.table = list[j].kids
				}
				j++
			} else if mod == "each" && j < len(list) && list[j].kind == str { // it.each`table`
				c.table = []node{list[j]}
				j++
			}
			continue
		}
		break
	}
	if !group(list, j, '(') {
		return jsCall{}, false
	}
	c.args = list[j].kids
	c.next = j + 1
	return c, true
}

// skips are what the modifiers, the name and the options object of a call say.
func (c jsCall) skips() (skips, exclusive []string) {
	name := strings.TrimLeft(c.name, "xf")
	switch {
	case c.name[0] == 'x':
		skips = append(skips, c.name)
	case c.name[0] == 'f' && name != c.name:
		exclusive = append(exclusive, c.name)
	}
	for _, m := range c.mods {
		switch m {
		case "skip", "todo", "failing", "fails", "fixme", "skipIf", "runIf", "fail":
			skips = append(skips, "."+m)
		case "only":
			exclusive = append(exclusive, ".only")
		}
	}
	for _, part := range split(c.args, ",") {
		if len(part) == 1 && part[0].open == '{' { // {skip: true} of node:test
			for _, field := range split(part[0].kids, ",") {
				if len(field) < 3 || at(field, 1) != ":" {
					continue
				}
				switch at(field, 0) {
				case "skip", "todo", "fails":
					if at(field, 2) != "false" {
						skips = append(skips, "{"+at(field, 0)+"}")
					}
				case "only":
					if at(field, 2) != "false" {
						exclusive = append(exclusive, "{only}")
					}
				}
			}
		}
	}
	return skips, exclusive
}

func (r *jsReader) title(args []node) string {
	parts := split(args, ",")
	if len(parts) == 0 {
		return "?"
	}
	if len(parts[0]) == 1 && parts[0][0].kind == str {
		return parts[0][0].text
	}
	return strings.TrimSpace(text(parts[0][:min(len(parts[0]), 6)]))
}

// suite reads tests at any depth of a list.
func (r *jsReader) suite(list []node, prefix string, skips []string, times int) {
	end, outer := reached(list), skips
	early, returns := 0, ""
	if prefix != "" {
		early, returns = firstEarlyReturn(list)
	}
	for i := 0; i < len(list); i++ {
		n := list[i]
		skips = slices.Clone(outer)
		if i >= end {
			skips = append(skips, "behind a return")
		}
		if returns != "" && i > early {
			skips = append(skips, returns)
		}
		if i > 0 && list[i-1].open == '(' && at(list, i-2) == "if" || at(list, i-1) == "else" {
			skips = append(skips, here("under a condition", text(list[i-1].kids)))
		} else if r.uncalled(list, i) {
			skips = append(skips, "in a function that nothing calls")
		}
		if n.open != 0 {
			r.suite(n.kids, prefix, skips, times)
			continue
		}
		c, ok := r.parse(list, i)
		if !ok {
			continue
		}
		own, exclusive := c.skips()
		if !hasBody(c.args) && !slices.Contains(own, ".todo") {
			// test.skip(condition) inside a test; describe.configure() and the like.
			i = c.next - 1
			continue
		}
		r.s.exclusive = append(r.s.exclusive, exclusive...)
		inner := append(slices.Clone(skips), own...)
		title := r.title(c.args)
		base := strings.TrimLeft(c.name, "xf")
		rows := 0
		if c.table != nil {
			if rows = r.eachRows(c.table); rows == 0 {
				inner = append(inner, ".each of nothing")
			}
		}
		if jsSuite(base) {
			r.suite(c.args, prefix+title+"/", append(inner, suiteSkips(c.args)...), times*max(1, rows))
		} else {
			if times > 1 {
				rows = times * max(1, rows) // the rows of a suite are those of each of its tests
			}
			r.unit(c, list, prefix+title, inner, rows)
			r.suite(callbacks(c.args), prefix+title+"/", inner, times) // subtests
		}
		i = c.next - 1
	}
}

// callbacks are the function bodies among arguments.
func callbacks(args []node) []node {
	var out []node
	for _, n := range args {
		if n.open == '{' {
			out = append(out, n)
		}
	}
	return out
}

func hasBody(args []node) bool {
	for i := range args {
		if at(args, i) == "=>" || at(args, i) == "function" {
			return true
		}
	}
	parts := split(args, ",")
	return len(parts) >= 2 && len(parts[len(parts)-1]) >= 1 && len(parts[0]) > 0 && (parts[0][0].kind == str)
}

// suiteSkips sees this.skip() and pending() in hooks of a suite.
func suiteSkips(args []node) []string {
	var out []string
	for _, body := range callbacks(args) {
		for i := range body.kids {
			if at(body.kids, i) == "before" || at(body.kids, i) == "beforeEach" || at(body.kids, i) == "beforeAll" {
				if group(body.kids, i+1, '(') && strings.Contains(text(body.kids[i+1].kids), " . skip (") {
					out = append(out, "skip in "+at(body.kids, i))
				}
			}
		}
	}
	return out
}

func (r *jsReader) eachRows(table []node) int {
	if len(table) == 1 && table[0].kind == str && table[0].open == 0 {
		lines := strings.Split(strings.TrimSpace(table[0].text), "\n")
		return max(0, len(lines)-1) // the first names the columns
	}
	parts := split(table, ",")
	if len(parts) == 1 && len(parts[0]) >= 1 {
		if parts[0][0].open == '[' {
			return rows(parts[0][0].kids)
		}
		if n, ok := r.tables[at(parts[0], 0)]; ok {
			return n
		}
	}
	return 1
}

func (r *jsReader) unit(c jsCall, list []node, name string, skips []string, rows int) {
	u := unit{name: name, line: list[c.first].line, test: true, calls: map[string]int{}, skips: skips, rows: rows}
	w := &jsWalker{r: r, u: &u, skipSub: true}
	times := 1
	if rows > 0 {
		times = rows
	}
	parts := split(c.args, ",")
	body := c.args
	if len(parts) > 1 {
		body = c.args[len(parts[0])+1:]
	}
	for i := range body {
		if at(body, i) == "=>" && group(body, i-1, '(') && len(body[i-1].kids) > 0 {
			r.handles[at(body[i-1].kids, 0)] = true
		} else if at(body, i) == "=>" && i > 0 && body[i-1].kind == ident {
			r.handles[at(body, i-1)] = true
		}
	}
	w.list(body, times)
	statements := callback(body)
	u.skips = append(slices.Clone(u.skips), earlyReturns(statements)...)
	u.dead = reached(statements) < len(statements)
	toks := flatten(body)
	if c.table != nil {
		toks = append(toks, flatten(c.table)...)
	}
	u.setBody(toks)
	r.s.units = append(r.s.units, u)
}

// functions reads helpers: declarations and functions bound to a constant, at
// the top of the file and of its suites.
func (r *jsReader) functions(list []node) {
	for i := range list {
		name := ""
		var body []node
		if c, ok := r.parse(list, i); ok && jsSuite(strings.TrimLeft(c.name, "xf")) {
			for _, b := range callbacks(c.args) {
				r.functions(b.kids)
			}
			continue
		}
		switch {
		case at(list, i) == "function" && group(list, i+2, '('):
			name = at(list, i+1)
			body = functionBody(list, i+3)
		case (at(list, i) == "const" || at(list, i) == "let" || at(list, i) == "var") && i+1 < len(list):
			k := assignment(list, i+2)
			if k == 0 {
				continue
			}
			for j := k; j < len(list) && j < k+8; j++ {
				if at(list, j) == ";" || j > k && list[j].first && at(list, j-1) != "=>" && list[j].open == 0 {
					break
				}
				if at(list, j) == "=>" || at(list, j) == "function" {
					name = at(list, i+1)
					body = functionBody(list, j+1)
					break
				}
			}
		}
		if name == "" || body == nil {
			continue
		}
		u := unit{name: name, line: list[i].line, calls: map[string]int{}}
		w := &jsWalker{r: r, u: &u}
		w.list(body, 1)
		u.setBody(flatten(body))
		r.s.units = append(r.s.units, u)
	}
}

// functionBody is the block, or the expression of an arrow, that begins near i.
func functionBody(list []node, i int) []node {
	for j := i; j < len(list) && j < i+12; j++ {
		if list[j].open == '{' {
			return list[j : j+1]
		}
		if at(list, j) == ";" {
			if j > i {
				return list[i:j]
			}
			return nil
		}
	}
	if i < len(list) {
		return list[i:min(len(list), i+12)]
	}
	return nil
}
