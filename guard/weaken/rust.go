package weaken

import (
	"slices"
	"strings"
)

// In Rust tests are functions with a test attribute, wherever they stand, and what macros of the
// project make whose names say so. Helpers stand in test modules and test files.

func (r *reader) rust() { r.items(tree(r.toks), "", r.test, nil) }

// rustSpans reads a source file for where its tests stand.
func rustSpans(file string, toks []token) *reader {
	r := newReader(file, rust, toks)
	r.rust()
	return r
}

// items reads a list of items with their attributes.
func (r *reader) items(list []node, prefix string, inTest bool, skips []string) {
	for i := 0; i < len(list); i++ {
		start := i
		if at(list, i) == "#" && at(list, i+1) == "!" && group(list, i+2, '[') { // of a file or module
			if inTest || r.test {
				for _, skip := range rustSkips([]mark{newMark(list[i+2].kids)}) {
					skips = append(slices.Clone(skips), "#!"+skip[1:])
				}
			}
			i += 2
			continue
		}
		marks, next := marked(list, i)
		i = next
		for rustPrefix.has(at(list, i)) || i < len(list) && (list[i].kind == str && list[i].open == 0 ||
			list[i].open == '(' && at(list, i-1) == "pub") {
			i++
		}
		word, name := at(list, i), at(list, i+1)
		switch {
		case (word == "const" || word == "static") && name != "" && name != "fn":
			for j := i + 2; j < len(list) && at(list, j) != ";"; j++ {
				if n, ok := literalRows(list[j+1:]); ok && at(list, j) == "=" {
					r.tables[name] = n
				}
			}
		case word == "fn" && name != "":
			i = r.rustFunction(list, start, i, prefix, marks, inTest, skips)
		case word == "mod" || word == "impl" || word == "trait":
			body := bodyAt(list, i+1)
			if body == 0 {
				continue
			}
			test := inTest || cfgTest(marks)
			inner, path := skips, prefix
			if test || word == "mod" {
				inner = append(slices.Clone(skips), rustSkips(marks)...)
			}
			if word == "mod" {
				path += name + "::"
			}
			if test && !inTest {
				r.outermost = r.outermost && prefix == ""
				r.modules = append(r.modules, [2]int{list[start].pos, list[body].last})
			}
			r.items(list[body].kids, path, test, inner)
			i = body
		case word == "macro_rules" && name == "!" && i+3 < len(list):
			rules := list[i+3]
			if inTest {
				r.unit(unit{name: at(list, i+2), line: list[i].line, skips: limitsIn(rules.kids)}, rules.kids,
					flatten(list[i+3:i+4]), 1)
			}
			for k, arm := range rules.kids { // tests in the body of a macro
				if arm.open != 0 && at(rules.kids, k-1) == "=>" && holdsRustTest(arm.kids) {
					r.items(arm.kids, prefix, inTest, skips)
				}
			}
			i += 3
		case name == "!" && inTest && i+2 < len(list) && list[i+2].open != 0 && makesTests(word, list[i+2].kids):
			r.made(word, list[i+2], prefix, skips)
			i += 2
		case name == "!" && group(list, i+2, '{'): // proptest! { #[test] fn … }
			r.items(list[i+2].kids, prefix, inTest || cfgTest(marks) || r.test, skips)
			i += 2
		}
	}
}

var rustPrefix = set("pub async unsafe extern crate")

// limitsIn are the attributes in the body of a macro that keep what it makes from running.
func limitsIn(list []node) []string {
	var out []string
	for i, n := range list {
		if group(list, i+1, '[') && at(list, i) == "#" {
			if limit := rustLimit(newMark(list[i+1].kids)); limit != "" && limit != "should_panic" {
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
	is := false
	for i := range body {
		switch {
		case at(body, i) == "#" && group(body, i+1, '['):
			is = is || rust.testMarks.has(newMark(body[i+1].kids).name)
		case at(body, i) == "fn":
			if name := at(body, i+1); is && name != "" && name[0] != '$' {
				return true
			}
			is = false
		}
	}
	return false
}

// makesTests reports whether a macro of the project makes tests of what it is
// given: its name says so, and what it gets begins with the name of a test.
func makesTests(name string, args []node) bool {
	if !slices.ContainsFunc(splitWords(name), func(w string) bool {
		return strings.HasSuffix(w, "test") || w == "tests" || w == "case" || w == "cases"
	}) {
		return false
	}
	_, i := marked(args, 0)
	args = args[i:]
	return len(args) > 1 && args[0].kind == ident && (args[1].open != 0 ||
		slices.Contains([]string{",", ":", "=>", ";"}, at(args, 1)))
}

// made reads `rgtest!(name, |dir, cmd| { … })`, one test, or
// `parse_tests! { name: (input, want), … }`, a test a row. What the macro itself
// asserts counts with it.
func (r *reader) made(macro string, args node, prefix string, skips []string) {
	units := [][]node{args.kids}
	if parts := split(args.kids, ","); len(parts) > 0 && (at(parts[0], 1) == ":" || at(parts[0], 1) == "=>") {
		units = parts
	}
	for _, part := range units {
		marks, i := marked(part, 0)
		for _, m := range marks {
			if limit := rustLimit(m); limit != "" {
				skips = append(slices.Clone(skips), "#["+limit+"]")
			}
		}
		if part = part[i:]; len(part) == 0 {
			continue
		}
		r.unit(unit{name: prefix + at(part, 0), line: part[0].line, test: true, plain: 1, skips: slices.Clone(skips)},
			part[1:], flatten(part[1:]), 1)
		r.s.units[len(r.s.units)-1].calls[macro]++
	}
}

// cfgTest reports #[cfg(test)], also inside all(…), among attributes.
func cfgTest(marks []mark) bool {
	return slices.ContainsFunc(marks, func(m mark) bool { return at(m.all, 0) == "cfg" && namesTest(m.args) })
}

func namesTest(list []node) bool {
	for i := range list {
		if at(list, i) == "test" && at(list, i+1) != "=" ||
			list[i].open != 0 && at(list, i-1) != "not" && namesTest(list[i].kids) {
			return true
		}
	}
	return false
}

// rustLimit is the text of an attribute that excludes code from the build,
// skips it, or lets it fail.
func rustLimit(m mark) string {
	switch word := at(m.all, 0); word {
	case "ignore", "should_panic":
		return word
	case "cfg":
		if !cfgTest([]mark{m}) || len(m.args) > 1 {
			return m.compact()
		}
	case "cfg_attr":
		return m.compact()
	}
	return ""
}

func rustSkips(marks []mark) []string {
	var out []string
	for _, m := range marks {
		limit := rustLimit(m)
		if limit == "" {
			continue
		}
		skip := "#[" + limit + "]"
		if parts := split(m.args, ","); group(m.all, 1, '(') && len(parts) > 0 {
			if holds, known := cfgHolds(parts[0]); known && holds == (at(m.all, 0) == "cfg") {
				skip += elsewhere
			}
		}
		out = append(out, skip)
	}
	return out
}

// rustFunction reads `fn name…{}` at list[i], whose attributes begin at start, and returns the
// index of its last node.
func (r *reader) rustFunction(list []node, start, i int, prefix string, marks []mark, inTest bool, skips []string) int {
	j := i + 2
	for j < min(len(list), i+lookAhead) && list[j].open != '{' && at(list, j) != ";" {
		j++
	}
	if !group(list, j, '{') {
		return j
	}
	u := unit{name: prefix + at(list, i+1), line: list[i].line}
	var body []token
	for _, m := range marks {
		if rust.testMarks.has(m.name) {
			u.test = true
			if first := at(m.all, 0); first == "case" || first == "test_case" {
				u.rows++
			}
		}
		body = append(body, flatten(m.all)...)
	}
	if group(list, i+2, '(') && u.rows == 0 { // #[values] on the arguments of rstest
		params := list[i+2].kids
		for k := range params {
			if at(params, k) == "values" && group(params, k+1, '(') {
				u.rows += len(split(params[k+1].kids, ","))
			}
		}
	}
	if !u.test && !inTest {
		return j
	}
	if !inTest {
		r.lone = append(r.lone, [2]int{list[i].pos, list[j].last})
	}
	if u.test {
		u.skips = slices.Concat(skips, rustSkips(marks))
		if slices.ContainsFunc(marks, func(m mark) bool { return at(m.all, 0) == "should_panic" }) {
			u.plain++
		}
	}
	r.unit(u, list[j].kids, append(body, flatten(list[i+2:j+1])...), max(1, u.rows))
	return j
}
