package weaken

import (
	"path"
	"slices"
	"strings"
)

// javaReader collects the tests of Java, Kotlin, Groovy and Scala files:
// annotated methods, the testX methods of TestCase classes, and helpers.
type javaReader struct {
	s       *source
	test    bool
	file    string
	foreign string         // where Test comes from when that is no known framework
	junit3  bool           // the file imports the old framework, where methods are tests by their names
	tables  map[string]int // lengths of the providers of arguments, by method name
}

func readJava(file string, toks []token) *source {
	r := &javaReader{s: &source{bases: map[string][]string{}}, file: file, test: IsTest(file), tables: map[string]int{}}
	if !r.test && !isSupport(file) {
		return r.s
	}
	nodes := tree(toks)
	for i := range nodes {
		if at(nodes, i) == "import" {
			r.foreign += foreignTest(nodes[i+1 : min(len(nodes), i+20)])
		}
		r.junit3 = r.junit3 || at(nodes, i) == "junit" && at(nodes, i-1) != "." && at(nodes, i+2) == "framework"
	}
	r.providers(nodes)
	r.members(nodes, "", false, nil)
	return r.s
}

// foreignTest is the name of an imported Test that is of no known framework.
func foreignTest(list []node) string {
	name := ""
	for i := range list {
		if at(list, i) == ";" || i > 0 && list[i].first {
			break
		}
		name += at(list, i)
	}
	for _, known := range []string{"junit", "testng", "kotlin.test", "jqwik"} {
		if strings.Contains(name, known) {
			return ""
		}
	}
	if !strings.HasSuffix(name, ".Test") {
		return ""
	}
	return name
}

// providers notes how many cases methods such as
// `static Stream<Arguments> cases() { return Stream.of(a, b); }` give.
func (r *javaReader) providers(list []node) {
	for i, n := range list {
		if n.open == 0 {
			continue
		}
		if n.open == '{' && group(list, i-1, '(') {
			name := at(list, i-2)
			for j := range n.kids {
				if at(n.kids, j) == "of" && group(n.kids, j+1, '(') && (at(n.kids, j-2) == "Stream" || at(n.kids, j-2) == "List") ||
					at(n.kids, j) == "asList" && group(n.kids, j+1, '(') {
					r.tables[name] = rows(n.kids[j+1].kids)
					break
				}
				if at(n.kids, j) == "return" && j+2 < len(n.kids) {
					for k := j + 1; k < min(len(n.kids), j+8); k++ {
						if n.kids[k].open == '{' {
							r.tables[name] = rows(n.kids[k].kids)
							break
						}
					}
				}
			}
		}
		r.providers(n.kids)
	}
}

// javaMark is an annotation with its arguments.
type javaMark struct {
	name string
	args []node
}

func (m javaMark) skip() string {
	switch m.name {
	case "Disabled", "Ignore", "Ignored", "DisabledOnOs", "DisabledIf", "DisabledOnJre", "DisabledIfEnvironmentVariable",
		"DisabledIfSystemProperty", "EnabledIf", "EnabledOnOs", "EnabledOnJre", "EnabledIfEnvironmentVariable",
		"EnabledIfSystemProperty", "PendingFeature", "IgnoreIf", "Requires", "FlakyTest", "Tag", "Category",
		"EnabledForJreRange":
		if m.name == "Tag" || m.name == "Category" { // what build files commonly leave out
			low := strings.ToLower(text(m.args))
			if !strings.Contains(low, "slow") && !strings.Contains(low, "disabled") && !strings.Contains(low, "skip") &&
				!strings.Contains(low, "ignore") && !strings.Contains(low, "flaky") {
				return ""
			}
		}
		return "@" + m.name
	case "Test":
		s := strings.ReplaceAll(text(m.args), " ", "")
		if strings.Contains(s, "enabled=false") {
			return "@Test(enabled=false)"
		}
		if strings.Contains(s, "expected=Throwable") || strings.Contains(s, "expected=Exception.") ||
			strings.Contains(s, "expected=AssertionError") {
			return "@Test(" + s + ")"
		}
	}
	return ""
}

func (m javaMark) test() bool {
	switch m.name {
	case "Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Theory", "Property", "Example",
		"ArchTest":
		return true
	}
	return false
}

// members reads the classes and methods of a list.
func (r *javaReader) members(list []node, prefix string, legacy bool, skips []string) {
	var marks []javaMark
	for i := 0; i < len(list); i++ {
		if at(list, i) == "@" && i+1 < len(list) && list[i+1].kind == ident && at(list, i+1) != "interface" {
			j := i + 1
			for at(list, j+1) == "." {
				j += 2
			}
			m := javaMark{name: at(list, j)}
			if group(list, j+1, '(') {
				m.args = list[j+1].kids
				j++
			}
			marks = append(marks, m)
			i = j
			continue
		}
		switch word := at(list, i); {
		case (word == "class" || word == "object" || word == "interface" || word == "record" || word == "enum") &&
			at(list, i-1) != "." && i+1 < len(list) && list[i+1].kind == ident:
			j := i + 2
			old := false
			for j < min(len(list), i+lookAhead) && list[j].open != '{' && at(list, j) != ";" &&
				!(list[j].first && declares(at(list, j))) {
				if (at(list, j) == "extends" || at(list, j) == ":") && at(list, j+1) != "" {
					class := prefix + at(list, i+1)
					r.s.bases[class] = append(r.s.bases[class], at(list, j+1))
				}
				old = old || at(list, j) == "TestCase" || r.junit3 && at(list, j) == "extends" &&
					strings.Contains(at(list, j+1), "Test")
				j++
			}
			if group(list, j, '{') {
				inner := slices.Clone(skips)
				if at(list, i-1) == "abstract" || at(list, i-2) == "abstract" {
					inner = append(inner, abstractClass)
				}
				nested := func(m javaMark) bool { return m.name == "Nested" }
				if prefix != "" && !slices.ContainsFunc(marks, nested) {
					inner = append(inner, "inner class without @Nested")
				}
				for _, m := range marks {
					if s := m.skip(); s != "" {
						inner = append(inner, s)
					}
				}
				r.members(list[j].kids, prefix+at(list, i+1)+".", old, inner)
				i = j
			} else if j < len(list) && list[j].first {
				i = j - 1 // a class of Kotlin without a body
			}
			marks = nil
		case list[i].open == '(' && i > 0 && list[i-1].kind == ident && r.method(list, &i, marks, prefix, legacy, skips):
			marks = nil
		case word == ";" || list[i].open == '{':
			marks = nil
		}
	}
}

// declares reports whether a word at the head of a line begins a declaration of its
// own and not the rest of one.
func declares(word string) bool {
	switch word {
	case "@", "fun", "class", "object", "interface", "val", "var", "private", "public", "internal", "protected",
		"override", "data", "sealed", "open", "abstract":
		return true
	}
	return false
}

// method reads `name (…) throws X { … }` whose parameters are at list[*i].
func (r *javaReader) method(list []node, i *int, marks []javaMark, prefix string, legacy bool, skips []string) bool {
	name := list[*i-1].text
	switch name {
	case "if", "for", "while", "switch", "catch", "synchronized", "try", "new", "return":
		return false
	}
	j := *i + 1
	for j < len(list) && list[j].open != '{' {
		switch at(list, j) {
		case ";", ")":
			return false
		case "=":
			return r.expression(list, i, j, marks, prefix, skips) // Kotlin
		}
		if list[j].open != 0 && list[j].open != '(' || j > *i+24 {
			return false
		}
		j++
	}
	if !group(list, j, '{') {
		return false
	}
	r.unit(name, list[*i-1], list[j:j+1], list[*i], marks, prefix, legacy, skips, r.hiding(list, *i-1))
	*i = j
	return true
}

func (r *javaReader) expression(list []node, i *int, eq int, marks []javaMark, prefix string, skips []string) bool {
	fun := false
	for k := max(0, *i-4); k < *i; k++ {
		fun = fun || at(list, k) == "fun"
	}
	if !fun || eq+1 >= len(list) {
		return false
	}
	end := statementEnd(list, eq)
	r.unit(list[*i-1].text, list[*i-1], list[eq+1:end], list[*i], marks, prefix, false, skips, r.hiding(list, *i-1))
	*i = end - 1
	return true
}

func (r *javaReader) unit(name string, nameNode node, body []node, params node, marks []javaMark, prefix string,
	legacy bool, skips, mods []string) {
	u := unit{name: prefix + name, line: nameNode.line, calls: map[string]int{}}
	for _, m := range marks {
		if r.test && m.test() {
			u.test = true
		}
		if n := r.rows(m, name); n > 0 {
			u.rows += n
		}
		if s := m.skip(); s != "" {
			u.skips = append(u.skips, s)
		}
		if m.name == "Test" && strings.Contains(text(m.args), "expected") {
			u.plain++ // JUnit 4: @Test(expected = X.class) is an assertion
		}
	}
	u.test = u.test || r.test && legacy && strings.HasPrefix(name, "test") && len(params.kids) == 0
	if !u.test {
		u.skips, u.rows = nil, 0
	} else {
		u.skips = append(append(u.skips, skips...), mods...)
		if r.foreign != "" && slices.ContainsFunc(marks, func(m javaMark) bool { return m.name == "Test" }) {
			u.skips = append(u.skips, "@Test is "+r.foreign)
		}
	}
	u.around = slices.ContainsFunc(marks, func(m javaMark) bool { return strings.HasPrefix(m.name, "Before") })
	w := &javaWalker{u: &u}
	w.list(body, max(1, u.rows))
	if len(body) == 1 && body[0].open == '{' && u.test {
		u.skips = append(u.skips, earlyReturns(body[0].kids)...)
		u.dead = reached(body[0].kids) < len(body[0].kids)
	}
	toks := []token{}
	for _, m := range marks {
		toks = append(toks, token{kind: ident, text: m.name})
		toks = append(toks, flatten(m.args)...)
	}
	u.setBody(append(toks, flatten(body)...))
	r.s.units = append(r.s.units, u)
}

// hiding are the modifiers in front of a method's name with which no runner calls it.
func (r *javaReader) hiding(list []node, i int) []string {
	var out []string
	for k := i - 1; k >= max(0, i-8); k-- {
		switch word := at(list, k); {
		case word == "private", word == "static" && path.Ext(r.file) == ".java":
			out = append(out, word)
		case word == ";" || word == "" && list[k].open == '{':
			return out
		}
	}
	return out
}

// rows is the number of cases that an annotation declares.
func (r *javaReader) rows(m javaMark, method string) int {
	switch m.name {
	case "ValueSource", "CsvSource", "EnumSource":
		for _, n := range m.args {
			if n.open == '{' || n.open == '[' {
				return rows(n.kids)
			}
		}
		if m.name == "CsvSource" {
			for _, n := range m.args {
				if n.kind == str && strings.Contains(n.text, "\n") {
					return len(strings.Split(strings.TrimSpace(n.text), "\n"))
				}
			}
		}
		return 1
	case "MethodSource":
		for _, n := range m.args {
			if n.kind == str && n.open == 0 {
				return r.tables[simple(strings.ReplaceAll(n.text, "#", "."))]
			}
		}
		return r.tables[method]
	}
	return 0
}

// javaWalker counts what one method asserts.
type javaWalker struct{ u *unit }

func (w *javaWalker) list(list []node, times int) {
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
		case "try":
			if group(list, i+1, '{') && javaSwallows(list, i+2) {
				w.block(list[i+1].kids, 0)
				i++
				continue
			}
		case "throw":
			if at(list, i+1) == "new" && strings.Contains(at(list, i+2), "Abort") ||
				strings.HasPrefix(at(list, i+2), "AssumptionViolated") ||
				at(list, i+2) == "SkipException" {
				w.u.skips = append(w.u.skips, at(list, i+2))
			}
			if at(list, i+1) == "new" && (at(list, i+2) == "AssertionError" || at(list, i+2) == "AssertionFailedError") &&
				!(group(list, i+3, '(') && len(list[i+3].kids) == 1 &&
					list[i+3].kids[0].kind == ident) { // new AssertionError(e) only wraps
				w.u.plain += times
			}
			continue
		case "assert":
			if !group(list, i+1, '(') || group(list, i+1, '(') && at(list, i+2) == ";" {
				if !always(list[i+1 : max(i+1, statementEnd(list, i)-1)]) {
					w.u.plain += times
				}
				continue
			}
		}
		i = w.call(list, i, times)
	}
}

func (w *javaWalker) block(list []node, times int) {
	end := reached(list)
	w.list(list[:end], times)
	w.list(list[end:], 0)
}

// javaSwallows reports a handler that takes AssertionError, or all of Throwable,
// without a word.
func javaSwallows(list []node, i int) bool {
	for at(list, i) == "catch" && group(list, i+1, '(') && group(list, i+2, '{') {
		for j := range list[i+1].kids {
			switch at(list[i+1].kids, j) {
			case "Throwable", "AssertionError", "Error", "AssertionFailedError":
				caught := at(list[i+1].kids, len(list[i+1].kids)-1)
				if body := list[i+2].kids; !speaksOut(body) && !passesOn(body, caught) && !setsFlag(body) {
					return true
				}
			}
		}
		i += 3
	}
	return false
}

// setsFlag sees failed.set(true) and failed = true, which a test looks at later.
func setsFlag(list []node) bool {
	for i := range list {
		if list[i].open != 0 && setsFlag(list[i].kids) {
			return true
		}
		if at(list, i) == "set" && at(list, i-1) == "." || at(list, i) == "=" && at(list, i+1) == "true" {
			return true
		}
	}
	return false
}

func (w *javaWalker) call(list []node, i, times int) int {
	n := list[i]
	if !group(list, i+1, '(') {
		return i
	}
	if group(list, i+2, '{') || at(list, i+2) == "throws" {
		return i // a method of an anonymous class is defined, not called
	}
	args := list[i+1].kids
	member := at(list, i-1) == "."
	if strings.HasPrefix(n.text, "assume") {
		w.u.skips = append(w.u.skips, n.text)
		return i
	}
	if owner := at(list, i-2); member && owner != "this" && owner != "super" && !asserting(n.text) {
		// A call on an object is none of a method of the test class.
		w.u.calls["."+n.text] += times
		return i
	}
	switch {
	case n.text == "skip" && at(list, i-1) != ".":
		w.u.skips = append(w.u.skips, n.text)
	case n.text == "assertThat" || n.text == "assertThatThrownBy" || n.text == "expectThat" || n.text == "that":
		// The chain behind it is the assertion; each link can be one.
		j, links := i+2, 0
		fixed := literalOnly(args)
		for at(list, j) == "." && group(list, j+2, '(') {
			if name := at(list, j+1); name != "as" && name != "describedAs" && name != "extracting" &&
				name != "withFailMessage" && name != "asList" && name != "first" {
				links++
			}
			fixed = fixed && (len(list[j+2].kids) == 0 || literalOnly(list[j+2].kids))
			j += 3
		}
		if two := split(args, ","); links == 0 && len(two) >= 2 {
			links = 1 // Hamcrest: assertThat(x, is(1))
		}
		if !fixed {
			w.u.plain += links * times
		}
		w.list(args, times)
		return j - 1
	case libraryAssertion(n.text) && trivial(args):
	case n.text == "fail":
		w.u.plain += times
	case strings.HasPrefix(n.text, "should") && at(list, i-1) == ".":
		w.u.plain += times
	default:
		w.u.calls[n.text] += times
	}
	return i
}

// leavesSurefire reports whether a Java test moves to a file whose name Maven
// does not collect.
func leavesSurefire(old, now string) bool {
	return path.Ext(now) == ".java" && surefire(old) && !surefire(now)
}

func surefire(file string) bool {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	for _, end := range []string{"Test", "Tests", "TestCase", "IT", "ITCase"} {
		if strings.HasSuffix(stem, end) {
			return true
		}
	}
	return strings.HasPrefix(stem, "Test") || strings.HasPrefix(stem, "IT")
}

// gradle reports whether the checks run Gradle, which collects by content.
func (j *judge) gradle() bool {
	return slices.ContainsFunc(j.in.Commands, func(c string) bool { return strings.Contains(c, "gradle") })
}
