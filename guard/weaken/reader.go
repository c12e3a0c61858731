package weaken

import (
	"slices"
	"strings"
)

// reader collects the tests of one file of a language that is read as a tree. The
// common part is here; the files of the languages say where tests are.
type reader struct {
	s      *source
	l      *language
	file   string
	toks   []token
	test   bool           // the file's name is one that runners collect
	all    bool           // helpers are read whatever the file is called
	tables map[string]int // lengths of the tables of the file
	count  map[string]int // how often a name stands in the file

	skipNames map[string]string // local names that stand for a skip, with what it is

	js      jsFile
	goScope goScope

	foreign string // where Test comes from when that is no known framework
	junit3  bool   // the file imports the old framework, where methods are tests by their names

	// modules are the spans of Rust's test modules, lone those of tests outside of them,
	// for the overlay; outermost: all modules stand at the top of the file.
	modules, lone [][2]int
	outermost     bool
}

func newReader(file string, l *language, toks []token) *reader {
	count := map[string]int{}
	for _, t := range toks {
		if t.kind == ident {
			count[t.text]++
		}
	}
	return &reader{count: count, toks: toks, s: &source{path: file, bases: map[string][]string{}}, l: l, file: file,
		test: IsTest(file), tables: map[string]int{}, skipNames: map[string]string{}, outermost: true}
}

// helps reports whether the file can hold what tests lean on.
func (r *reader) helps() bool { return r.test || r.all || isSupport(r.file) }

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
	w := r.walker(&u)
	w.block(body, times)
	if u.test {
		_, early := earlyReturns(body)
		u.skips = append(u.skips, early...)
		u.dead = r.l.reached(body) < len(body)
	}
	u.setBody(text)
	for _, p := range u.params {
		n, called := u.calls[p]
		named := func(t token) bool { return t.is(p) }
		u.drops = u.drops || called && n == 0 || !called && !slices.ContainsFunc(flatten(body), named)
	}
	r.s.units = append(r.s.units, u)
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
	if r.l.methods && at(list, i+1) == "=" && i > 0 && list[i-1].kind == ident && list[i-1].open == 0 {
		return at(list, i), list[i+2:] // Runnable later = …
	}
	if word := at(list, i+1); r.l == golang && at(list, i-1) != "." && (word == ":=" || word == "=") {
		end := statementEnd(list, i+1)
		if at(list, end-1) == ";" {
			end--
		}
		return at(list, i), list[i+2 : max(i+2, end)]
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

// paramNames are the names of parameters that stand for themselves.
func paramNames(list []node) []string {
	var out []string
	for _, p := range split(list, ",") {
		if name := at(p, 0); isName(name) && name[0] != '_' && name != "self" && name != "cls" && name != "this" {
			out = append(out, name)
		}
	}
	return out
}
