package weaken

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// around reports whether a function runs with each test of its class or file.
func around(name string) bool {
	switch simple(name) {
	case "setUp", "setUpClass", "setUpModule", "asyncSetUp", "setup_module", "setup_class", "setup_method",
		"setup_function",
		"tearDown", "setup":
		return true
	}
	return false
}

// compareAround checks new functions that run with existing tests: set-ups and
// fixtures that skip, and overrides that hide a test of a base class.
func (j *judge) compareAround() {
	was := map[string]bool{}
	classes := map[string]bool{}
	had := map[string]bool{}
	for _, s := range j.before {
		for i := range s.units {
			u := &s.units[i]
			was[s.path+"\x00"+u.name] = true
			classes[s.path+"\x00"+strings.TrimSuffix(u.name, simple(u.name))] = true
			had[s.path] = had[s.path] || u.test
		}
	}
	for _, s := range j.after {
		for i := range s.units {
			u := &s.units[i]
			if was[s.path+"\x00"+u.name] {
				continue
			}
			skips := j.newHelp.skips(u)
			if had[s.path] && !u.test && len(skips) > 0 && (u.around || around(u.name)) {
				j.find(Skipped, s.path, u.name, "%s in %s", skips[0], u.name)
			}
			class := strings.TrimSuffix(u.name, simple(u.name))
			silent := len(skips) > 0 || j.newHelp.weight(u) == 0 && !runs(u)
			if silent && class != "" && classes[s.path+"\x00"+class] && j.inherits(s, class, simple(u.name)) {
				j.find(Skipped, s.path, u.name, "%s hides the test that it overrides", u.name)
			}
		}
	}
}

// abstractClass is the skip of tests in a class that is not run by itself.
const abstractClass = "abstract class"

// movedBase forgives an abstract class when another class is derived from it.
func (j *judge) movedBase(skips []string, n *unit) []string {
	if !slices.Contains(skips, abstractClass) {
		return skips
	}
	class := simple(strings.TrimSuffix(n.name, "."+simple(n.name)))
	for _, s := range j.after {
		for _, bases := range s.bases {
			if slices.Contains(bases, class) {
				return slices.DeleteFunc(skips, func(s string) bool { return s == abstractClass })
			}
		}
	}
	return skips
}

var gateName = lazyregexp.New(`feature="([\w-]+)|cfg(?:_attr)?\((?:not\()?(\w+)[,)]`)

// knownGates are not defined by projects.
var knownGates = set("test windows unix miri loom debug_assertions all any not")

// gatedWithCode reports whether a test was put behind a Cargo feature or a build flag of the
// project that the change made, or behind which it put code as well. Then the old tests tell
// whether that hides something.
func (j *judge) gatedWithCode(skip string) bool {
	m := gateName().FindStringSubmatch(skip)
	if m == nil || strings.HasSuffix(skip, elsewhere) || knownGates.has(m[2]) {
		return false
	}
	gate := m[1] + m[2]
	count := func(f File, content []byte) (n int) {
		if path.Base(f.Path) == "Cargo.toml" {
			return strings.Count("\n"+string(content), "\n"+gate+" = [")
		}
		lang := languageOf(f.Path)
		if lang == nil || lang.name != "rust" || IsTest(f.Path) || len(content) > maxSource {
			return 0
		}
		toks := codeOf(f.Path, content, lang)
		for i := 2; i < len(toks); i++ {
			named := toks[i].text == gate && (toks[i-1].is("=") && toks[i-2].is("feature") ||
				m[2] != "" && toks[i].kind == ident && toks[i-1].is("("))
			if named || m[2] != "" && toks[i].kind == str && strings.HasSuffix(toks[i].text, "rustc-cfg="+gate) {
				n++
			}
		}
		return n
	}
	more := 0
	for _, f := range j.in.Files {
		more += count(f, f.After) - count(f, f.Before)
	}
	return more > 0
}

// inherits reports whether a base of a class has a test of a name, in the same file or in
// one that is called like the base.
func (j *judge) inherits(s *source, class, test string) bool {
	for _, base := range s.bases[strings.TrimSuffix(class, ".")] {
		sources := slices.Clone(j.before)
		names := []string{path.Join(path.Dir(s.path), base+path.Ext(s.path))}
		for _, p := range j.in.Paths {
			if lang := languageOf(p); lang != nil && lang.name == s.lang && len(names) < 60 &&
				(strings.TrimSuffix(path.Base(p), path.Ext(p)) == base || path.Dir(p) == path.Dir(s.path)) {
				names = append(names, p)
			}
		}
		for _, p := range names {
			if b, ok := j.lookup(p); ok {
				if o := read(p, b); o != nil {
					sources = append(sources, o)
				}
			}
		}
		for _, o := range sources {
			for i := range o.units {
				if u := &o.units[i]; u.test && simple(u.name) == test &&
					strings.HasSuffix(strings.TrimSuffix(u.name, "."+test), base) {
					return true
				}
			}
		}
	}
	return false
}

func (j *judge) lookup(p string) ([]byte, bool) {
	if j.in.Lookup == nil {
		return nil, false
	}
	return j.in.Lookup(p)
}

// foreignHelper says how a helper that an altered test newly calls skips, or how a decorator
// that it newly has swallows failures. It looks in files that are not read otherwise.
func (j *judge) foreignHelper(o, n *unit) []string {
	var out []string
	for name := range n.calls {
		name = strings.TrimPrefix(name, ".")
		if o.calls[name] > 0 || o.calls["."+name] > 0 || len(j.newHelp.all(n, name)) > 0 || len(name) < 4 || out != nil {
			continue
		}
		beside := func(p string) bool { return path.Dir(p) == path.Dir(n.file) && (IsTest(p) || isSupport(p)) }
		for _, h := range j.defining(n, name, beside) {
			for i := range h.units {
				if u := &h.units[i]; !u.test && simple(u.name) == name {
					for _, skip := range newHelpers([]*source{h}, nil).skips(u) {
						out = append(out, name+": "+skip)
					}
				}
			}
		}
	}
	for _, name := range added(o.wraps, n.wraps) {
		for _, h := range j.defining(n, name, func(string) bool { return true }) {
			if slices.ContainsFunc(h.units, func(u unit) bool { return simple(u.name) == name && u.drops }) {
				out = append(out, "@"+name+" swallows what fails")
			}
		}
	}
	slices.Sort(out)
	return out
}

// defining reads the files of the test's language that contain a name: unchanged files, and
// changed files with code.
func (j *judge) defining(n *unit, name string, wanted func(string) bool) []*source {
	var out []*source
	look := func(p string, content []byte) {
		if path.Ext(p) == path.Ext(n.file) && wanted(p) && len(out) < 40 && len(content) < maxSource &&
			bytes.Contains(content, []byte(name)) {
			lang := languageOf(p)
			r := newReader(p, lang, lex(content, lang))
			r.all = true
			s := r.read(content)
			out = append(out, s)
		}
	}
	changed := map[string]bool{}
	for _, f := range j.in.Files {
		if changed[f.Path] = true; f.After != nil && !IsTest(f.Path) && !isSupport(f.Path) {
			look(f.Path, f.After)
		}
	}
	const maxFiles = 400
	for _, p := range j.in.Paths[:min(len(j.in.Paths), maxFiles)] {
		if !changed[p] && path.Ext(p) == path.Ext(n.file) && wanted(p) {
			if b, ok := j.lookup(p); ok {
				look(p, b)
			}
		}
	}
	return out
}

// uncalled reports whether list[i] is the body of a function whose name stands nowhere else
// in the file.
func (r *reader) uncalled(list []node, i int) bool {
	name := ""
	switch {
	case at(list, i-1) == "=>" && i > 1 && list[i-2].open == '(' && at(list, i-3) == "=":
		if name = at(list, i-4); at(list, i-6) == "export" {
			return false
		}
	case list[i].open == '{' && i > 2 && list[i-1].open == '(' && at(list, i-3) == "function":
		if name = at(list, i-2); at(list, i-4) == "export" || at(list, i-4) == "default" {
			return false
		}
	}
	return name != "" && r.count[name] == 1
}
