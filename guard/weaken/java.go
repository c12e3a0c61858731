package weaken

import (
	"path"
	"slices"
	"strings"
)

// In Java, Kotlin, Groovy and Scala tests are annotated methods, and the testX methods of
// TestCase classes.

func (r *reader) java() {
	if !r.helps() {
		return
	}
	nodes := tree(r.toks)
	for i := range nodes {
		if at(nodes, i) == "import" {
			r.foreign += foreignTest(nodes[i+1 : min(len(nodes), i+20)])
		}
		r.junit3 = r.junit3 || at(nodes, i) == "junit" && at(nodes, i-1) != "." && at(nodes, i+2) == "framework"
	}
	r.providers(nodes)
	r.members(nodes, "", false, nil)
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
func (r *reader) providers(list []node) {
	for i, n := range list {
		if n.open == '{' && group(list, i-1, '(') {
			r.provider(at(list, i-2), n.kids)
		}
		r.providers(n.kids)
	}
}

func (r *reader) provider(name string, body []node) {
	for j := range body {
		of := at(body, j-2)
		if group(body, j+1, '(') && (at(body, j) == "of" && (of == "Stream" || of == "List") || at(body, j) == "asList") {
			r.tables[name] = rows(body[j+1].kids)
			return
		}
		if at(body, j) == "return" {
			if k := bodyAt(body[:min(len(body), j+8)], j+1); k > 0 {
				r.tables[name] = rows(body[k].kids)
			}
		}
	}
}

// javaSkip is what an annotation keeps from running; "" = nothing.
func javaSkip(m mark) string {
	said := m.compact()
	low := strings.ToLower(said)
	contains := func(w string) bool { return strings.Contains(low, w) }
	switch {
	case java.skipMarks.has(m.name),
		m.is("Tag", "Category") && slices.ContainsFunc([]string{"slow", "disabled", "skip", "ignore", "flaky"}, contains):
		return "@" + m.name
	case !m.is("Test"):
	case contains("enabled=false"):
		return "@Test(enabled=false)"
	case contains("expected=throwable"), contains("expected=exception."), contains("expected=assertionerror"):
		return "@Test" + said[strings.IndexByte(said, '('):]
	}
	return ""
}

// members reads the classes and methods of a list.
func (r *reader) members(list []node, prefix string, legacy bool, skips []string) {
	var marks []mark
	for i := 0; i < len(list); i++ {
		more, next := marked(list, i)
		if marks = append(marks, more...); next > i {
			i = next - 1
			continue
		}
		switch word := at(list, i); {
		case javaTypes.has(word) && at(list, i-1) != "." && i+1 < len(list) && list[i+1].kind == ident:
			i = r.class(list, i, prefix, marks, skips)
			marks = nil
		case list[i].open == '(' && i > 0 && list[i-1].kind == ident && r.method(list, &i, marks, prefix, legacy, skips):
			marks = nil
		case word == ";" || list[i].open == '{':
			marks = nil
		}
	}
}

var (
	javaTypes = set("class object interface record enum")
	// javaDeclares are words at the head of a line that begin a declaration and not the rest of one.
	javaDeclares = set("@ fun class object interface val var private public internal protected override data sealed " +
		"open abstract")
)

// class reads the type at list[i] and returns the index of its last node.
func (r *reader) class(list []node, i int, prefix string, marks []mark, skips []string) int {
	class := prefix + at(list, i+1)
	legacy := false
	j := i + 2
	for ; j < min(len(list), i+lookAhead) && list[j].open != '{' && at(list, j) != ";"; j++ {
		if list[j].first && javaDeclares.has(at(list, j)) {
			return j - 1 // a class of Kotlin without a body
		}
		base := at(list, j+1)
		if (at(list, j) == "extends" || at(list, j) == ":") && base != "" {
			r.s.bases[class] = append(r.s.bases[class], base)
		}
		legacy = legacy || at(list, j) == "TestCase" || r.junit3 && at(list, j) == "extends" &&
			strings.Contains(base, "Test")
	}
	if !group(list, j, '{') {
		return i
	}
	inner := slices.Clone(skips)
	if at(list, i-1) == "abstract" || at(list, i-2) == "abstract" {
		inner = append(inner, abstractClass)
	}
	if prefix != "" && !slices.ContainsFunc(marks, func(m mark) bool { return m.is("Nested") }) {
		inner = append(inner, "inner class without @Nested")
	}
	for _, m := range marks {
		if s := javaSkip(m); s != "" {
			inner = append(inner, s)
		}
	}
	r.members(list[j].kids, class+".", legacy, inner)
	return j
}

// method reads `name (…) throws X { … }` whose parameters are at list[*i], or
// `fun name(…) = …` of Kotlin.
func (r *reader) method(list []node, i *int, marks []mark, prefix string, legacy bool, skips []string) bool {
	if keywords.has(list[*i-1].text) || list[*i-1].text == "synchronized" {
		return false
	}
	for j := *i + 1; j < len(list) && j <= *i+24; j++ {
		switch {
		case list[j].open == '{':
			r.javaUnit(list, *i, list[j:j+1], marks, prefix, legacy, skips)
			*i = j
			return true
		case at(list, j) == "=":
			if !slices.ContainsFunc(list[max(0, *i-4):*i], func(n node) bool { return n.is("fun") }) || j+1 >= len(list) {
				return false
			}
			end := statementEnd(list, j)
			r.javaUnit(list, *i, list[j+1:end], marks, prefix, false, skips)
			*i = end - 1
			return true
		case at(list, j) == ";" || at(list, j) == ")" || list[j].open == '[':
			return false
		}
	}
	return false
}

// javaUnit adds the method whose parameters are at list[i].
func (r *reader) javaUnit(list []node, i int, body []node, marks []mark, prefix string, legacy bool, skips []string) {
	name := list[i-1].text
	u := unit{name: prefix + name, line: list[i-1].line}
	var own []string
	var toks []token
	for _, m := range marks {
		u.test = u.test || r.test && java.testMarks.has(m.name)
		u.rows += r.javaRows(m, name)
		if s := javaSkip(m); s != "" {
			own = append(own, s)
		}
		if m.is("Test") && strings.Contains(text(m.args), "expected") {
			u.plain++ // JUnit 4: @Test(expected = X.class) is an assertion
		}
		if m.is("Test") && r.foreign != "" {
			own = append(own, "@Test is "+r.foreign)
		}
		u.around = u.around || strings.HasPrefix(m.name, "Before")
		toks = append(append(toks, token{kind: ident, text: m.name}), flatten(m.args)...)
	}
	u.test = u.test || r.test && legacy && strings.HasPrefix(name, "test") && len(list[i].kids) == 0
	if u.test {
		u.skips = slices.Concat(own, skips, r.hiding(list, i-1))
	} else {
		u.rows = 0
	}
	statements := body
	if len(body) == 1 && body[0].open == '{' {
		statements = body[0].kids
	}
	r.unit(u, statements, append(toks, flatten(body)...), max(1, u.rows))
}

// hiding are the modifiers in front of a method's name with which no runner calls it.
func (r *reader) hiding(list []node, i int) []string {
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

// javaRows is the number of cases that an annotation declares.
func (r *reader) javaRows(m mark, method string) int {
	switch m.name {
	case "ValueSource", "CsvSource", "EnumSource":
		for _, n := range m.args {
			if n.open == '{' || n.open == '[' {
				return rows(n.kids)
			}
			if m.name == "CsvSource" && n.kind == str && strings.Contains(n.text, "\n") {
				return len(strings.Split(strings.TrimSpace(n.text), "\n"))
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
