package weaken

import (
	"path"
	"slices"
	"strings"
)

// In Python tests are functions and methods named test*; the last definition of a name counts.

// pyHooks are the functions by which conftest.py decides what runs and what the outcome is.
var pyHooks = set("pytest_collection* pytest_ignore_collect* pytest_collect* pytest_runtest* pytest_pyfunc_call* " +
	"pytest_sessionfinish* pytest_cmdline* pytest_itemcollected* pytest_generate_tests* " +
	"pytest_load_initial_conftests* pytest_configure* pytest_report*")

// pyLeftOut are marks of tests that projects leave out.
var pyLeftOut = set("slow broken manual wip quarantine quarantined nightly disabled")

func (r *reader) python() {
	top := tree(blocks(r.toks))
	all := lines(top)
	r.names(all)
	conftest := path.Base(r.file) == "conftest.py"
	var skips []string
	if r.test || conftest {
		skips = r.topSkips(all)
	}
	if conftest {
		r.hooks(all)
		r.s.escapes = append(r.s.escapes, skips...)
	}
	if r.helps() {
		r.loaders(all)
		r.scope(all, "", true, skips)
	}
}

// names notes module tables and names that are bound to skips.
func (r *reader) names(all []line) {
	for _, l := range all {
		if name, value := r.assigned(append(slices.Clone(l.head), node{token: token{kind: punct, text: ";"}}),
			0); name != "" {
			if n, ok := pyRows(value); ok {
				r.tables[name] = n
			}
			if w := pySkipWord(value); name != "pytestmark" && w != "" {
				r.skipNames[name] = w
			}
		}
		for i := range l.head {
			if word := at(l.head, i-1); at(l.head, i) == "as" && skipping(word) {
				r.skipNames[at(l.head, i+1)] = word
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
		if n.kind != ident || at(list, i+1) == "=" || !python.skipMarks.has(n.text) && !skipping(n.text) {
			continue
		}
		if group(list, i+1, '(') && strings.EqualFold(n.text, "skipif") {
			if args := split(list[i+1].kids, ","); len(args) > 0 && foreign(args[0]) {
				return n.text + elsewhere
			}
		}
		return n.text
	}
	return ""
}

// topSkips are constructs of a module or class body that skip all of it.
func (r *reader) topSkips(all []line) []string {
	var out []string
	for _, l := range all {
		whole := strings.TrimSpace(text(l.head))
		switch first := at(l.head, 0); {
		case first == "pytestmark" || first == "collect_ignore" || first == "collect_ignore_glob":
			if first != "pytestmark" || pySkipWord(l.head) != "" {
				out = append(out, whole)
			}
		case first == "__test__" && at(l.head, 2) == "False":
			out = append(out, "__test__ = False")
		case first == "raise" && pySkipWord(l.head) != "":
			out = append(out, "raise SkipTest")
		case first == "pytest" && at(l.head, 1) == "." &&
			(python.skipMarks.has(at(l.head, 2)) || skipping(at(l.head, 2))):
			out = append(out, "pytest."+at(l.head, 2))
		case strings.Contains(whole, "importorskip ("):
			out = append(out, "importorskip")
		case r.l.exitCall(l.head, 0):
			r.s.escapes = append(r.s.escapes, whole)
		case first == "if" && at(l.head, 1) == "__name__": // not run when the module is collected
		case first == "if" || first == "else" || first == "try" || first == "except" || first == "elif":
			for _, skip := range r.topSkips(lines(l.block)) {
				if strings.HasPrefix(skip, "collect_ignore") {
					skip += " if " + whole + " "
				}
				out = append(out, skip)
			}
		}
	}
	return out
}

// hooks compares the text of hooks, so that a change of one is seen.
func (r *reader) hooks(all []line) {
	for _, l := range all {
		name := at(l.head, 1)
		if at(l.head, 0) == "def" && pyHooks.has(name) && !registers(name, text(l.block)) {
			r.s.escapes = append(r.s.escapes, "hook "+name+" "+text(l.block))
		}
	}
}

// registers reports whether a hook of the configuration only adds markers and
// the like: it names nothing by which tests are chosen or results changed.
func registers(hook, body string) bool {
	if !strings.HasPrefix(hook, "pytest_configure") && !strings.HasPrefix(hook, "pytest_report") {
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
func (r *reader) loaders(all []line) {
	for _, l := range all {
		switch body := text(l.block); {
		case at(l.head, 0) == "def" && at(l.head, 1) == "load_tests":
			given := "tests"
			if group(l.head, 2, '(') {
				if params := split(l.head[2].kids, ","); len(params) > 1 {
					given = at(params[1], 0)
				}
			}
			loads := strings.Contains(body, "loader . ")
			handed := strings.Contains(body, "return "+given) || strings.Contains(body, "( "+given) ||
				strings.Contains(body, "("+given) || loads
			if !handed || given != "" && strings.Contains(body, given+" = ") && !loads {
				r.s.escapes = append(r.s.escapes, "load_tests leaves tests out")
			}
		case at(l.head, 0) == "atexit" && strings.Contains(text(l.head), "_exit"):
			r.s.escapes = append(r.s.escapes, "os._exit at the exit")
		}
	}
}

// scope reads the functions of a module or class body. collected says whether
// tests in it run.
func (r *reader) scope(all []line, class string, collected bool, skips []string) {
	based := map[string]bool{} // classes that others of the file are made from: those run their tests
	for _, l := range all {
		if at(l.head, 0) == "class" && group(l.head, 2, '(') {
			for k := range l.head[2].kids {
				based[at(l.head[2].kids, k)] = true
			}
		}
	}
	var marks []mark
	for _, l := range all {
		if at(l.head, 0) == "@" {
			marks = append(marks, newMark(l.head[1:]))
			continue
		}
		head := l.head
		if at(head, 0) == "async" {
			head = head[1:]
		}
		inside := lines(l.block)
		name := at(head, 1)
		switch at(head, 0) {
		case "class":
			var bases []node
			if group(head, 2, '(') {
				bases = slices.DeleteFunc(slices.Clone(head[2].kids),
					func(n node) bool { return n.text == "object" && n.open == 0 })
				for k := range bases {
					if base := at(bases, k); base != "" && base != "," && at(bases, k+1) != "." && at(bases, k+1) != "=" {
						r.s.bases[class+name] = append(r.s.bases[class+name], base)
					}
				}
			}
			inner := slices.Concat(skips, r.markSkips(marks), r.topSkips(inside))
			if strings.HasPrefix(name, "Test") && len(bases) == 0 && definesInit(inside) {
				inner = append(inner, "class with __init__ is not collected")
			}
			r.scope(inside, class+name+".", collected && (strings.HasPrefix(name, "Test") || len(bases) > 0 || based[name]),
				inner)
		case "def":
			r.function(l, head, marks, class, collected, skips)
		case "if", "elif":
			if cond := head[1:]; !never(cond) {
				inner := skips
				if !always(cond) {
					inner = append(slices.Clone(skips), here(underCondition, text(cond)))
				}
				r.scope(inside, class, collected, inner)
			}
		case "else", "try", "except", "finally", "with", "for":
			r.scope(inside, class, collected, skips)
		case "del":
			r.forget(class + name)
		default:
			if name == "." && at(head, 2) == "__test__" && at(head, 4) == "False" ||
				name == "=" && strings.HasPrefix(at(head, 0), "test") { // rebound: what was defined is not run
				r.forget(class + at(head, 0))
			}
		}
		marks = nil
	}
}

func definesInit(all []line) bool {
	return slices.ContainsFunc(all, func(l line) bool { return at(l.head, 0) == "def" && at(l.head, 1) == "__init__" })
}

func (r *reader) forget(name string) {
	r.s.units = slices.DeleteFunc(r.s.units, func(u unit) bool { return u.name == name })
}

// markSkips are the decorators that skip or excuse.
func (r *reader) markSkips(marks []mark) []string {
	var out []string
	for _, m := range marks {
		word, name := pySkipWord(m.all), at(m.all, 0)
		skip := ""
		switch own := r.skipNames[name]; {
		case own != "" && len(m.all) == 1:
			skip, word = name, own
		case word != "":
			skip = strings.TrimSuffix(strings.ReplaceAll(text(m.all[:min(len(m.all), 5)]), " ", ""), "()")
		case name == "pytest" && at(m.all, 2) == "mark" && pyLeftOut.has(at(m.all, 4)):
			skip = "pytest.mark." + at(m.all, 4)
		case own != "":
			skip, word = name, own
		default:
			continue
		}
		if strings.HasSuffix(word, elsewhere) {
			skip += elsewhere
		}
		out = append(out, "@"+skip)
	}
	return out
}

func (r *reader) function(l line, head []node, marks []mark, class string, collected bool, skips []string) {
	name := at(head, 1)
	u := unit{name: class + name, line: l.number(), test: r.test && collected && strings.HasPrefix(name, "test")}
	times := 1
	var body []token
	for _, m := range marks {
		if at(m.all, len(m.all)-1) == "fixture" || len(m.all) > 1 && at(m.all, len(m.all)-2) == "fixture" {
			u.test = false
		}
		if n, ok := r.paramRows(m); ok {
			times *= n
			u.rows = max(1, u.rows) * n
		}
		u.around = u.around || strings.Contains(text(m.all), "autouse = True")
		body = append(body, flatten(m.all)...)
	}
	if u.test {
		u.skips = slices.Concat(skips, r.markSkips(marks), pyNotRun(l, marks))
		u.needs = pyNeeds(head, marks)
		for _, m := range marks {
			u.wraps = append(u.wraps, m.name)
		}
	} else if group(head, 2, '(') {
		u.params = paramNames(head[2].kids)
	}
	r.forget(u.name) // a second definition replaces the first
	r.unit(u, l.block, append(append(body, flatten(head[min(2, len(head)):])...), flatten(l.block)...), times)
}

// paramRows is the number of cases that a decorator declares.
func (r *reader) paramRows(m mark) (int, bool) {
	if len(m.all) == 0 || m.all[len(m.all)-1].open != '(' {
		return 0, false
	}
	kids := m.all[len(m.all)-1].kids
	args := split(kids, ",")
	switch at(m.all, len(m.all)-2) {
	case "parametrize":
		if len(args) >= 2 {
			return r.pyTable(args[1])
		}
	case "expand", "parameterized", "unpack_data":
		if len(args) >= 1 {
			return r.pyTable(args[0])
		}
	case "data", "named_data":
		return rows(kids), len(args) >= 1
	}
	return 0, false
}

func (r *reader) pyTable(value []node) (int, bool) {
	if len(value) == 3 && at(value, 1) == "=" {
		value = value[2:]
	}
	if n, ok := pyRows(value); ok || len(value) != 1 {
		return n, ok
	}
	n, ok := r.tables[at(value, 0)]
	return n, ok
}

// pyNotRun finds a test that is a coroutine without need, or a generator: runners call it
// without running its body.
func pyNotRun(l line, marks []mark) []string {
	toks := flatten(l.block)
	has := func(word string) bool { return slices.ContainsFunc(toks, func(t token) bool { return t.is(word) }) }
	if at(l.head, 0) == "async" && !has("await") && !has("async") {
		return []string{"async without await"}
	}
	if len(marks) == 0 && slices.ContainsFunc(lines(l.block), func(k line) bool { return at(k.head, 0) == "yield" }) {
		return []string{"yield in a test"}
	}
	return nil
}

// pyNeeds are the fixtures and decorators that a test names.
func pyNeeds(head []node, marks []mark) []string {
	var out []string
	if group(head, 2, '(') {
		for _, p := range split(head[2].kids, ",") {
			out = append(out, at(p, 0))
		}
	}
	for _, m := range marks {
		out = append(out, at(m.all, 0))
		if strings.Contains(text(m.all[:min(len(m.all), 5)]), "usefixtures") {
			for _, n := range m.all[len(m.all)-1].kids {
				if n.kind == str {
					out = append(out, n.text)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" || s == "self" })
}
