package weaken

import (
	"slices"
	"strings"
)

// rustReader collects the tests of one Rust file: functions with a test
// attribute, wherever they stand, and helpers in test modules and test files.
type rustReader struct {
	s     *source
	tests bool // the file is under tests/
	// module is the span of each #[cfg(test)] module, for the overlay.
	modules [][2]int
	// lone are the spans of tests that stand outside of such modules.
	lone [][2]int
	// outermost: all of them stand at the top of the file.
	outermost bool
	tables    map[string]int
}

func readRust(file string, toks []token) *source {
	s, _ := rustSource(file, toks)
	return s
}

func rustSource(file string, toks []token) (*source, *rustReader) {
	r := &rustReader{s: &source{}, tests: IsTest(file), outermost: true, tables: map[string]int{}}
	r.items(tree(toks), "", r.tests, nil)
	return r.s, r
}

// items reads a list of items with their attributes.
func (r *rustReader) items(list []node, prefix string, inTest bool, skips []string) {
	var attrs [][]node
	start := -1
	for i := 0; i < len(list); i++ {
		word := at(list, i)
		if word == "#" && (group(list, i+1, '[') || at(list, i+1) == "!" && group(list, i+2, '[')) {
			if start < 0 {
				start = i
			}
			if at(list, i+1) == "!" { // #![cfg(…)] at the top of a file or module
				if inTest || r.tests {
					for _, mark := range rustSkips([][]node{list[i+2].kids}) {
						skips = append(slices.Clone(skips), "#!"+mark[1:])
					}
				}
				i += 2
				continue
			}
			attrs = append(attrs, list[i+1].kids)
			i++
			continue
		}
		switch {
		case word == "fn" && i+1 < len(list) && list[i+1].kind == ident:
			i = r.function(list, i, prefix, attrs, inTest, skips)
		case (word == "mod" || word == "impl" || word == "trait") && i+1 < len(list):
			j := i + 1
			for j < min(len(list), i+lookAhead) && list[j].open != '{' && at(list, j) != ";" {
				j++
			}
			if group(list, j, '{') {
				test := inTest || cfgTest(attrs)
				inner := skips
				if test || word == "mod" {
					inner = append(slices.Clone(skips), rustSkips(attrs)...)
				}
				name := prefix
				if word == "mod" {
					name += at(list, i+1) + "::"
				}
				if test && !inTest {
					from := list[i].pos
					if start >= 0 {
						from = list[start].pos
					}
					r.outermost = r.outermost && prefix == ""
					r.modules = append(r.modules, [2]int{from, list[j].last})
				}
				r.items(list[j].kids, name, test, inner)
				i = j
			}
		case word == "macro_rules" && at(list, i+1) == "!" && i+3 < len(list):
			if inTest {
				u := unit{name: at(list, i+2), line: list[i].line, calls: map[string]int{}}
				(&rustWalker{r: r, u: &u}).list(list[i+3].kids, 1)
				u.skips = limitsIn(list[i+3].kids)
				u.setBody(flatten(list[i+3 : i+4]))
				r.s.units = append(r.s.units, u)
			}
			for k, arm := range list[i+3].kids { // tests in the body of a macro
				if arm.open != 0 && at(list[i+3].kids, k-1) == "=>" && holdsRustTest(arm.kids) {
					r.items(arm.kids, prefix, inTest, skips)
				}
			}
			i += 3
		case (word == "const" || word == "static") && i+1 < len(list):
			for j := i + 2; j < len(list) && at(list, j) != ";"; j++ {
				if at(list, j) == "=" {
					if n, ok := rustRows(list[j+1:]); ok {
						r.tables[at(list, i+1)] = n
					}
				}
			}
			continue
		case inTest && at(list, i+1) == "!" && i+2 < len(list) && list[i+2].open != 0 && r.makesTests(word, list[i+2].kids):
			r.made(word, list[i+2], prefix, skips)
			i += 2
		case at(list, i+1) == "!" && group(list, i+2, '{'): // proptest! { #[test] fn … }
			r.items(list[i+2].kids, prefix, inTest || cfgTest(attrs) || r.tests, skips)
			i += 2
		default:
			switch word {
			case "pub", "async", "unsafe", "extern", "crate":
				continue
			}
			if list[i].open == '(' && at(list, i-1) == "pub" || list[i].kind == str {
				continue
			}
		}
		attrs, start = nil, -1
	}
}

// limitsIn are the attributes in the body of a macro that keep what it makes from running.
func limitsIn(list []node) []string {
	var out []string
	for i, n := range list {
		if group(list, i+1, '[') && at(list, i) == "#" {
			if limit := rustLimit(list[i+1].kids); limit != "" && limit != "should_panic" {
				out = append(out, "#["+limit+"]")
			}
		}
		out = append(out, limitsIn(n.kids)...)
	}
	return out
}

// holdsRustTest reports whether a test with a name of its own stands in the body of
// a macro.
func holdsRustTest(body []node) bool {
	marked := false
	for i := range body {
		switch {
		case at(body, i) == "#" && group(body, i+1, '['):
			marked = marked || rustTest(body[i+1].kids)
		case at(body, i) == "fn":
			if name := at(body, i+1); marked && name != "" && name[0] != '$' {
				return true
			}
			marked = false
		}
	}
	return false
}

// makesTests reports whether a macro of the project makes tests of what it is
// given: its name says so, and what it gets begins with the name of a test.
func (r *rustReader) makesTests(name string, args []node) bool {
	if !slices.ContainsFunc(splitWords(name), func(w string) bool {
		return strings.HasSuffix(w, "test") || w == "tests" || w == "case" || w == "cases"
	}) {
		return false
	}
	for len(args) > 1 && at(args, 0) == "#" {
		args = args[2:]
	}
	return len(args) > 1 && args[0].kind == ident && (at(args, 1) == "," || at(args, 1) == ":" || at(args, 1) == "=>" ||
		at(args, 1) == ";" || args[1].open != 0)
}

// made reads `rgtest!(name, |dir, cmd| { … })`, one test, or
// `parse_tests! { name: (input, want), … }`, a test a row. What the macro itself
// asserts counts with it.
func (r *rustReader) made(macro string, args node, prefix string, skips []string) {
	units := [][]node{args.kids}
	if parts := split(args.kids, ","); len(parts) > 0 && (at(parts[0], 1) == ":" || at(parts[0], 1) == "=>") {
		units = parts
	}
	for _, part := range units {
		for len(part) > 1 && at(part, 0) == "#" {
			if sk := rustLimit(part[1].kids); sk != "" {
				skips = append(slices.Clone(skips), "#["+sk+"]")
			}
			part = part[2:]
		}
		if len(part) == 0 {
			continue
		}
		u := unit{name: prefix + at(part, 0), line: part[0].line, test: true, plain: 1, calls: map[string]int{macro: 1},
			skips: slices.Clone(skips)}
		(&rustWalker{r: r, u: &u}).list(part[1:], 1)
		u.setBody(flatten(part[1:]))
		r.s.units = append(r.s.units, u)
	}
}

// cfgTest reports #[cfg(test)], also inside all(…), among attributes.
func cfgTest(attrs [][]node) bool {
	for _, a := range attrs {
		if at(a, 0) == "cfg" && group(a, 1, '(') && namesTest(a[1].kids) {
			return true
		}
	}
	return false
}

func namesTest(list []node) bool {
	for i := range list {
		if at(list, i) == "test" && at(list, i+1) != "=" {
			return true
		}
		if list[i].open != 0 && at(list, i-1) != "not" && namesTest(list[i].kids) {
			return true
		}
	}
	return false
}

// rustTest reports whether an attribute makes a function a test.
func rustTest(a []node) bool {
	last := ""
	for i := range a {
		if a[i].open != 0 {
			break
		}
		if a[i].kind == ident {
			last = at(a, i)
		}
	}
	switch last {
	case "test", "rstest", "test_case", "wasm_bindgen_test", "quickcheck", "proptest", "test_log", "case", "test_matrix",
		"traced_test":
		return true
	}
	return false
}

// rustLimit is the text of an attribute that keeps code out of the build, or
// lets it not run, or lets it fail.
func rustLimit(a []node) string {
	switch at(a, 0) {
	case "ignore":
		return "ignore"
	case "should_panic":
		return "should_panic"
	case "cfg":
		if !cfgTest([][]node{a}) || len(split(a[1].kids, ",")) > 1 || len(a[1].kids) > 1 {
			return strings.ReplaceAll(text(a), " ", "")
		}
	case "cfg_attr":
		return strings.ReplaceAll(text(a), " ", "")
	}
	return ""
}

func rustSkips(attrs [][]node) []string {
	var out []string
	for _, a := range attrs {
		if l := rustLimit(a); l != "" {
			mark := "#[" + l + "]"
			if group(a, 1, '(') {
				parts := split(a[1].kids, ",")
				if holds, known := cfgHolds(parts[0]); known && holds == (at(a, 0) == "cfg") {
					mark += elsewhere
				}
			}
			out = append(out, mark)
		}
	}
	return out
}

// function reads `fn name…{}` at list[i] and returns the index of its last node.
func (r *rustReader) function(list []node, i int, prefix string, attrs [][]node, inTest bool, skips []string) int {
	j := i + 2
	for j < min(len(list), i+lookAhead) && list[j].open != '{' && at(list, j) != ";" {
		j++
	}
	if !group(list, j, '{') {
		return j
	}
	u := unit{name: prefix + at(list, i+1), line: list[i].line, calls: map[string]int{}}
	cases := 0
	panics := false
	for _, a := range attrs {
		if rustTest(a) {
			u.test = true
			if first := at(a, 0); first == "case" || first == "test_case" {
				cases++
			}
		}
		panics = panics || at(a, 0) == "should_panic"
	}
	// #[case] on the arguments of rstest.
	if group(list, i+2, '(') && cases == 0 {
		for k := range list[i+2].kids {
			if at(list[i+2].kids, k) == "values" && group(list[i+2].kids, k+1, '(') {
				cases += len(split(list[i+2].kids[k+1].kids, ","))
			}
		}
	}
	if !u.test && !inTest {
		return j
	}
	if !inTest {
		r.lone = append(r.lone, [2]int{list[i].pos, list[j].last})
	}
	times := 1
	if cases > 0 {
		u.rows, times = cases, cases
	}
	if u.test {
		u.skips = append(slices.Clone(skips), rustSkips(attrs)...)
		if panics {
			u.plain++
		}
	}
	if u.test {
		u.skips = append(u.skips, earlyReturns(list[j].kids)...)
		u.dead = reached(list[j].kids) < len(list[j].kids)
	}
	(&rustWalker{r: r, u: &u}).block(list[j].kids, times)
	var body []token
	for _, a := range attrs {
		body = append(body, flatten(a)...)
	}
	u.setBody(append(body, flatten(list[i+2:j+1])...))
	r.s.units = append(r.s.units, u)
	return j
}

// rustRows is the length of [..], &[..] or vec![..].
func rustRows(value []node) (int, bool) {
	i := 0
	for at(value, i) == "&" || at(value, i) == "mut" {
		i++
	}
	if at(value, i) == "vec" && at(value, i+1) == "!" {
		i += 2
	}
	if !group(value, i, '[') {
		return 0, false
	}
	if parts := split(value[i].kids, ";"); len(parts) == 2 {
		return 0, false // [x; n]
	}
	return rows(value[i].kids), true
}

// rustWalker counts what one function asserts.
type rustWalker struct {
	r      *rustReader
	u      *unit
	tables map[string]int
}

func (w *rustWalker) block(list []node, times int) {
	end := reached(list)
	w.list(list[:end], times)
	w.list(list[end:], 0)
}

func (w *rustWalker) list(list []node, times int) {
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
		if at(list, i+1) == "!" && i+2 < len(list) && list[i+2].open != 0 {
			w.macro(n.text, list[i+2].kids, times)
			i += 2
			continue
		}
		switch n.text {
		case "if", "while":
			if cond, body := condition(list, i); never(cond) && group(list, body, '{') {
				i = body
				continue
			}
		case "let":
			if k := assignment(list, i+2); k > 0 {
				if rows, ok := rustRows(list[k:]); ok {
					if w.tables == nil {
						w.tables = map[string]int{}
					}
					w.tables[at(list, i+1)] = rows
				}
			}
		case "for":
			if next, ok := w.loop(list, i, times); ok {
				i = next
				continue
			}
		}
		if k := turbofish(list, i+1); group(list, k, '(') && n.text != "fn" &&
			!(at(list, i-1) == "." && foreignSkip(n.text, at(list, i-2))) {
			w.u.calls[n.text] += times
		}
	}
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

func (w *rustWalker) loop(list []node, i, times int) (int, bool) {
	for j := i + 1; j < len(list) && j < i+8; j++ {
		if at(list, j) != "in" {
			continue
		}
		k := j + 1
		for k < len(list) && list[k].open != '{' {
			k++
		}
		if k >= len(list) {
			return 0, false
		}
		over := list[j+1 : k]
		rows, ok := rustRows(over)
		if !ok {
			name := 0
			for at(over, name) == "&" || at(over, name) == "mut" {
				name++
			}
			if rows, ok = w.tables[at(over, name)]; !ok {
				rows, ok = w.r.tables[at(over, name)]
			}
		}
		if !ok {
			return 0, false
		}
		before := w.u.total()
		w.block(list[k].kids, times*rows)
		if w.u.total() > before || rows == 0 {
			w.u.rows = max(1, w.u.rows) * rows
		}
		return k, true
	}
	return 0, false
}

// macro counts assertion macros; those of the project are resolved by name.
func (w *rustWalker) macro(name string, args []node, times int) {
	switch {
	case name == "panic" || name == "unreachable" || name == "todo" || name == "unimplemented":
		if name != "todo" && name != "unimplemented" {
			w.u.plain += times
		}
	case strings.HasPrefix(name, "assert") || strings.HasPrefix(name, "debug_assert") ||
		strings.HasPrefix(name, "prop_assert"):
		if !libraryAssertion(name) || !trivial(args) {
			w.u.calls[strings.TrimPrefix(strings.TrimPrefix(name, "debug_"), "prop_")] += times
		}
		w.list(args, times)
	default:
		w.u.calls[name] += times
		w.list(args, times)
	}
}
