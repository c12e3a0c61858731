package weaken

import (
	"path"
	"slices"
	"strings"
)

// pyLine is a logical line with the lines that are indented below it. In
// `if x: y` the part behind the colon is the only line below.
type pyLine struct {
	toks []node
	col  int
	line int
	pos  int
	end  int // behind the whole block
	kids []*pyLine
}

// pyLines makes logical lines: brackets and back-slashes join, semicolons cut.
func pyLines(toks []token) []*pyLine {
	var flat []*pyLine
	var cur []token
	depth := 0
	col := 0
	flush := func() {
		if len(cur) == 0 {
			return
		}
		flat = append(flat, &pyLine{toks: tree(cur), col: col, line: cur[0].line, pos: cur[0].pos, end: cur[len(cur)-1].end})
		cur = nil
	}
	for i, t := range toks {
		if t.first && depth == 0 && !(i > 0 && toks[i-1].is("\\")) {
			flush()
			col = t.col
		}
		if t.kind == punct {
			switch t.text {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth = max(0, depth-1)
			case "\\":
				continue
			case ";":
				if depth == 0 {
					flush()
					continue
				}
			}
		}
		cur = append(cur, t)
	}
	flush()
	pos := 0
	return pyBlock(flat, &pos, 0)
}

func pyBlock(flat []*pyLine, pos *int, col int) []*pyLine {
	var out []*pyLine
	for *pos < len(flat) && flat[*pos].col >= col {
		l := flat[*pos]
		*pos++
		inlineBody(l)
		if *pos < len(flat) && flat[*pos].col > l.col {
			l.kids = append(l.kids, pyBlock(flat, pos, flat[*pos].col)...)
			l.end = max(l.end, l.kids[len(l.kids)-1].end)
		}
		out = append(out, l)
	}
	return out
}

// inlineBody moves what stands behind the colon of a compound statement to a
// line below it.
func inlineBody(l *pyLine) {
	switch at(l.toks, 0) {
	case "if", "elif", "else", "for", "while", "with", "try", "except", "finally", "def", "class", "async", "match",
		"case":
	default:
		return
	}
	for i := range l.toks {
		if at(l.toks, i) == "lambda" {
			return
		}
		if at(l.toks, i) == ":" {
			if rest := l.toks[i+1:]; len(rest) > 0 {
				l.kids = []*pyLine{{toks: rest, col: l.col, line: l.line, pos: rest[0].pos, end: l.end}}
				l.toks = l.toks[:i+1]
			}
			return
		}
	}
}

// pyReader collects the tests of one Python file.
type pyReader struct {
	s         *source
	test      bool // the file's name is one that is collected
	tables    map[string]int
	skipNames map[string]string // local names that stand for a skip, with what it is
}

func readPython(file string, toks []token) *source {
	r := &pyReader{s: &source{bases: map[string][]string{}}, test: IsTest(file), tables: map[string]int{},
		skipNames: map[string]string{}}
	lines := pyLines(toks)
	r.names(lines)
	var fileSkips []string
	if r.test || path.Base(file) == "conftest.py" {
		fileSkips = r.topSkips(lines)
	}
	if path.Base(file) == "conftest.py" {
		r.hooks(lines)
		r.s.escapes = append(r.s.escapes, fileSkips...)
	}
	if !r.test && !isSupport(file) {
		return r.s
	}
	r.loaders(lines)
	r.scope(lines, "", true, fileSkips)
	return r.s
}

// names notes module tables and names that are bound to skips.
func (r *pyReader) names(lines []*pyLine) {
	for _, l := range lines {
		if at(l.toks, 1) == "=" && len(l.toks) > 2 {
			name, value := at(l.toks, 0), l.toks[2:]
			if n, ok := pyRows(value); ok {
				r.tables[name] = n
			}
			if w := pySkipWord(value); name != "pytestmark" && w != "" {
				r.skipNames[name] = w
			}
		}
		for i := range l.toks {
			if at(l.toks, i) == "as" && skipping(at(l.toks, i-1)) {
				r.skipNames[at(l.toks, i+1)] = at(l.toks, i-1)
			}
		}
	}
}

// pyRows is the number of elements of a literal list, tuple, set or dict.
func pyRows(value []node) (int, bool) {
	if len(value) != 1 || value[0].open == 0 {
		return 0, false
	}
	return rows(value[0].kids), true
}

// pySkipWord finds a mark that skips or excuses, anywhere in an expression.
func pySkipWord(list []node) string {
	for i, n := range list {
		if n.open != 0 {
			if w := pySkipWord(n.kids); w != "" {
				return w
			}
			continue
		}
		if n.kind == ident && pySkipName(n.text) && !(i+1 < len(list) && at(list, i+1) == "=") {
			if group(list, i+1, '(') && strings.EqualFold(n.text, "skipif") {
				if args := split(list[i+1].kids, ","); len(args) > 0 && foreign(args[0]) {
					return n.text + elsewhere
				}
			}
			return n.text
		}
	}
	return ""
}

func pySkipName(name string) bool {
	switch name {
	case "skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "SkipTest", "importorskip":
		return true
	}
	return skipping(name)
}

// topSkips are constructs of a module or class body that skip all of it.
func (r *pyReader) topSkips(lines []*pyLine) []string {
	var out []string
	for _, l := range lines {
		switch first := at(l.toks, 0); {
		case first == "pytestmark" || first == "collect_ignore" || first == "collect_ignore_glob":
			if first != "pytestmark" || pySkipWord(l.toks) != "" {
				out = append(out, strings.TrimSpace(text(l.toks)))
			}
		case first == "__test__" && at(l.toks, 2) == "False":
			out = append(out, "__test__ = False")
		case first == "raise" && pySkipWord(l.toks) != "":
			out = append(out, "raise SkipTest")
		case first == "pytest" && at(l.toks, 1) == "." && pySkipName(at(l.toks, 2)):
			out = append(out, "pytest."+at(l.toks, 2))
		case strings.Contains(text(l.toks), "importorskip ("):
			out = append(out, "importorskip")
		case pyExit(l.toks):
			r.s.escapes = append(r.s.escapes, strings.TrimSpace(text(l.toks)))
		case first == "if" && at(l.toks, 1) == "__name__":
			// not run when the module is collected
		case first == "if" || first == "else" || first == "try" || first == "except" || first == "elif":
			for _, skip := range r.topSkips(l.kids) {
				if strings.HasPrefix(skip, "collect_ignore") {
					skip += " if " + first + text(header(l.toks))
				}
				out = append(out, skip)
			}
		}
	}
	return out
}

// pyExit sees calls that end the interpreter.
func pyExit(toks []node) bool {
	name := at(toks, 0)
	fn := at(toks, 2)
	return (name == "sys" && fn == "exit" || name == "os" && (fn == "_exit" || fn == "abort") || name == "pytest" &&
		fn == "exit") ||
		(name == "exit" || name == "quit") && group(toks, 1, '(')
}

// hooks are the functions by which conftest.py decides what runs and what the
// outcome is; their text is compared, so that a change of one is seen.
func (r *pyReader) hooks(lines []*pyLine) {
	for _, l := range lines {
		toks := l.toks
		if at(toks, 0) != "def" {
			continue
		}
		name := at(toks, 1)
		for _, p := range []string{"pytest_collection", "pytest_ignore_collect", "pytest_collect", "pytest_runtest",
			"pytest_pyfunc_call",
			"pytest_sessionfinish", "pytest_configure", "pytest_cmdline", "pytest_report", "pytest_itemcollected",
			"pytest_generate_tests", "pytest_load_initial_conftests"} {
			if strings.HasPrefix(name, p) && !registers(p, pyText(l)) {
				r.s.escapes = append(r.s.escapes, "hook "+name+" "+pyText(l))
				break
			}
		}
	}
}

// registers reports whether a hook of the configuration only adds markers and
// the like: it names nothing by which tests are chosen or results changed.
func registers(hook, body string) bool {
	if hook != "pytest_configure" && hook != "pytest_report" {
		return false
	}
	for _, w := range []string{"option", "exit", "ignore", "keyword", "markexpr", "deselect", "skip", "xfail", "outcome",
		"patch", "TestReport", "runtest", "__"} {
		if strings.Contains(body, w) {
			return false
		}
	}
	return true
}

// loaders sees what bends a run of unittest from inside a test module: a
// load_tests that does not hand on the tests it gets, and hooks at the exit.
func (r *pyReader) loaders(lines []*pyLine) {
	for _, l := range lines {
		switch body := pyText(l); {
		case at(l.toks, 0) == "def" && at(l.toks, 1) == "load_tests":
			given := "tests"
			if group(l.toks, 2, '(') {
				if params := split(l.toks[2].kids, ","); len(params) > 1 {
					given = at(params[1], 0)
				}
			}
			handed := strings.Contains(body, "return "+given) || strings.Contains(body, "( "+given) ||
				strings.Contains(body, "loader . ")
			if !handed || given != "" && strings.Contains(body, given+" = ") && !strings.Contains(body, "loader . ") {
				r.s.escapes = append(r.s.escapes, "load_tests leaves tests out")
			}
		case at(l.toks, 0) == "atexit" && strings.Contains(text(l.toks), "_exit"):
			r.s.escapes = append(r.s.escapes, "os._exit at the exit")
		}
	}
}

func pyText(l *pyLine) string {
	var b strings.Builder
	for _, k := range l.kids {
		writeText(&b, k.toks)
		b.WriteString(pyText(k))
	}
	return b.String()
}

// scope reads the functions of a module or class body. collected says whether
// tests in it run.
func (r *pyReader) scope(lines []*pyLine, class string, collected bool, skips []string) {
	var marks [][]node
	based := map[string]bool{} // classes that others of the file are made from: those run their tests
	for _, l := range lines {
		if at(l.toks, 0) == "class" && group(l.toks, 2, '(') {
			for k := range l.toks[2].kids {
				based[at(l.toks[2].kids, k)] = true
			}
		}
	}
	for _, l := range lines {
		toks := l.toks
		if at(toks, 0) == "@" {
			marks = append(marks, toks[1:])
			continue
		}
		if at(toks, 0) == "async" {
			toks = toks[1:]
		}
		switch at(toks, 0) {
		case "class":
			name := at(toks, 1)
			var bases []node
			if group(toks, 2, '(') {
				bases = slices.DeleteFunc(slices.Clone(toks[2].kids),
					func(n node) bool { return n.text == "object" && n.open == 0 })
				for k := range bases {
					if base := at(bases, k); base != "" && at(bases, k+1) != "." && at(bases, k+1) != "=" && at(bases, k) != "," {
						r.s.bases[class+name] = append(r.s.bases[class+name], base)
					}
				}
			}
			inner := append(slices.Clone(skips), r.markSkips(marks)...)
			inner = append(inner, r.topSkips(l.kids)...)
			ok := collected && (strings.HasPrefix(name, "Test") || len(bases) > 0 || based[name])
			if strings.HasPrefix(name, "Test") && len(bases) == 0 && definesInit(l.kids) {
				inner = append(inner, "class with __init__ is not collected")
			}
			r.scope(l.kids, class+name+".", ok, inner)
		case "def":
			r.function(l, toks, marks, class, collected, skips)
		case "if", "elif":
			cond := header(toks)
			if inner := skips; !never(cond) {
				if !always(cond) {
					inner = append(slices.Clone(skips), here("under a condition", text(cond)))
				}
				r.scope(l.kids, class, collected, inner)
			}
		case "else", "try", "except", "finally", "with", "for":
			r.scope(l.kids, class, collected, skips)
		case "del":
			r.forget(class + at(toks, 1))
		default:
			if at(toks, 1) == "." && at(toks, 2) == "__test__" && at(toks, 4) == "False" {
				r.forget(class + at(toks, 0))
			}
			if at(toks, 1) == "=" && strings.HasPrefix(at(toks, 0), "test") {
				r.forget(class + at(toks, 0)) // rebound: what was defined is not run
			}
		}
		marks = nil
	}
}

func definesInit(lines []*pyLine) bool {
	return slices.ContainsFunc(lines, func(l *pyLine) bool {
		return at(l.toks, 0) == "def" &&
			at(l.toks, 1) == "__init__"
	})
}

func (r *pyReader) forget(name string) {
	r.s.units = slices.DeleteFunc(r.s.units, func(u unit) bool { return u.name == name })
}

// markSkips are the decorators that skip or excuse.
func (r *pyReader) markSkips(marks [][]node) []string {
	var out []string
	for _, m := range marks {
		if w := pySkipWord(m); w != "" {
			mark := "@" + strings.TrimSuffix(strings.ReplaceAll(text(m[:min(len(m), 5)]), " ", ""), "()")
			if strings.HasSuffix(w, elsewhere) {
				mark += elsewhere
			}
			out = append(out, mark)
			continue
		}
		if at(m, 0) == "pytest" && at(m, 2) == "mark" {
			switch word := at(m, 4); word {
			case "slow", "broken", "manual", "wip", "quarantine", "quarantined", "nightly",
				"disabled": // what projects leave out
				out = append(out, "@pytest.mark."+word)
			}
		}
		if len(m) > 0 && r.skipNames[at(m, 0)] != "" {
			mark := "@" + at(m, 0)
			if strings.HasSuffix(r.skipNames[at(m, 0)], elsewhere) {
				mark += elsewhere
			}
			out = append(out, mark)
		}
	}
	return out
}

func (r *pyReader) function(l *pyLine, toks []node, marks [][]node, class string, collected bool, skips []string) {
	name := at(toks, 1)
	u := unit{name: class + name, line: l.line, calls: map[string]int{}}
	u.test = r.test && collected && strings.HasPrefix(name, "test")
	times := 1
	for _, m := range marks {
		if at(m, len(m)-1) == "fixture" || len(m) > 1 && at(m, len(m)-2) == "fixture" {
			u.test = false
		}
		if n, ok := r.paramRows(m); ok {
			times *= n
			u.rows = max(1, u.rows) * n
		}
	}
	u.skips = append(slices.Clone(skips), r.markSkips(marks)...)
	if u.test {
		u.skips = append(u.skips, pyEarlyReturns(l.kids)...)
		u.skips = append(u.skips, pyNotRun(l, marks)...)
		for i, k := range l.kids {
			u.dead = u.dead || i+1 < len(l.kids) && pyEnds(k, "")
		}
		u.needs = append(u.needs, pyNeeds(toks, marks)...)
	} else {
		u.skips = nil
	}
	for _, m := range marks {
		u.around = u.around || strings.Contains(text(m), "autouse = True")
	}
	w := &pyWalker{r: r, u: &u, tables: map[string]int{}}
	w.block(l.kids, times)
	var body []token
	for _, m := range marks {
		body = append(body, flatten(m)...)
	}
	if len(toks) > 2 {
		body = append(body, flatten(toks[2:])...)
	}
	u.setBody(append(body, pyTokens(l.kids)...))
	r.forget(u.name) // a second definition replaces the first
	r.s.units = append(r.s.units, u)
}

func pyTokens(lines []*pyLine) []token {
	var out []token
	for _, l := range lines {
		if len(l.toks) == 1 && l.toks[0].kind == str && l.toks[0].open == 0 {
			continue // a docstring
		}
		out = append(out, flatten(l.toks)...)
		out = append(out, pyTokens(l.kids)...)
	}
	return out
}

// paramRows is the number of cases that a decorator declares.
func (r *pyReader) paramRows(mark []node) (int, bool) {
	if len(mark) == 0 || mark[len(mark)-1].open != '(' {
		return 0, false
	}
	args := split(mark[len(mark)-1].kids, ",")
	switch at(mark, len(mark)-2) {
	case "parametrize":
		if len(args) >= 2 {
			return r.rows(args[1])
		}
	case "expand", "parameterized", "unpack_data":
		if len(args) >= 1 {
			return r.rows(args[0])
		}
	case "data", "named_data":
		if len(args) >= 1 {
			return rows(mark[len(mark)-1].kids), true
		}
	}
	return 0, false
}

func (r *pyReader) rows(value []node) (int, bool) {
	if len(value) == 3 && at(value, 1) == "=" {
		value = value[2:]
	}
	if n, ok := pyRows(value); ok {
		return n, true
	}
	if len(value) == 1 {
		n, ok := r.tables[at(value, 0)]
		return n, ok
	}
	return 0, false
}
