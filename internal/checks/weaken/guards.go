package weaken

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// goEarlyReturns looks at the body of a test and of its subtests.
func (r *goReader) earlyReturns(body *ast.BlockStmt, handles []string) []string {
	var out []string
	look := func(list []ast.Stmt) {
		for i, st := range list {
			s, ok := st.(*ast.IfStmt)
			if !ok || s.Else != nil || i+1 == len(list) || len(s.Body.List) == 0 || truth(s.Cond) != maybe {
				continue
			}
			ret, ok := s.Body.List[len(s.Body.List)-1].(*ast.ReturnStmt)
			if !ok || len(ret.Results) > 0 {
				continue
			}
			speaks := false
			for _, inner := range s.Body.List {
				ast.Inspect(inner, func(n ast.Node) bool {
					if c, ok := n.(*ast.CallExpr); ok {
						for _, a := range append([]ast.Expr{c.Fun}, c.Args...) {
							sel, _ := a.(*ast.SelectorExpr)
							if sel != nil {
								a = sel.X
							}
							id, _ := a.(*ast.Ident)
							speaks = speaks || id != nil && slices.Contains(handles, id.Name) &&
								(sel == nil || !strings.HasPrefix(sel.Sel.Name, "Log"))
						}
						speaks = speaks || asserting(callee(c))
					}
					return true
				})
			}
			if !speaks {
				out = append(out, here(earlyReturn, string(r.content[r.offset(s.Cond.Pos()):r.offset(s.Cond.End())])))
			}
		}
	}
	look(body.List)
	ast.Inspect(body, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok && len(testHandles(f.Type.Params)) > 0 {
			look(f.Body.List)
		}
		return true
	})
	return out
}

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

// compareAround looks at functions that came new and run with tests that were there:
// set-ups and fixtures that skip, and overrides that hide a test of a base class.
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

// movedBase leaves out that a class became abstract when another one is made from it.
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

var featureName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`feature="([\w-]+)`) })

// gatedWithCode reports whether a test came under a feature of Cargo under which the change
// put code as well, or which it made: then the old tests tell whether that hides something.
func (j *judge) gatedWithCode(skip string) bool {
	m := featureName().FindStringSubmatch(skip)
	if m == nil || strings.HasSuffix(skip, elsewhere) {
		return false
	}
	count := func(f File, content []byte) (n int) {
		if path.Base(f.Path) == "Cargo.toml" {
			return strings.Count("\n"+string(content), "\n"+m[1]+" = [")
		}
		lang := languageOf(f.Path)
		if lang == nil || lang.name != "rust" || IsTest(f.Path) || len(content) > maxSource {
			return 0
		}
		toks := codeOf(f.Path, content, lang)
		for i := 2; i < len(toks); i++ {
			if toks[i].kind == str && toks[i].text == m[1] && toks[i-1].is("=") && toks[i-2].is("feature") {
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

// foreignHelper says how a helper that an altered test newly calls skips, when it stands
// in a file of the same folder that the change did not touch.
func (j *judge) foreignHelper(o, n *unit) []string {
	var out []string
	for name := range n.calls {
		name = strings.TrimPrefix(name, ".")
		if o.calls[name] > 0 || o.calls["."+name] > 0 || len(j.newHelp.all(n, name)) > 0 || len(name) < 4 || out != nil {
			continue
		}
		read := 0
		for _, p := range j.in.Paths {
			if path.Dir(p) != path.Dir(n.file) || path.Ext(p) != path.Ext(n.file) || !IsTest(p) && !isSupport(p) || read > 40 {
				continue
			}
			read++
			b, ok := j.lookup(p)
			if !ok || !strings.Contains(string(b), name) {
				continue
			}
			out = append(out, skipsOf(p, b, name)...)
		}
	}
	slices.Sort(out)
	return out
}

func skipsOf(p string, content []byte, name string) []string {
	s := read(p, content)
	if s == nil {
		return nil
	}
	h := newHelpers([]*source{s}, nil)
	var out []string
	for i := range s.units {
		if u := &s.units[i]; !u.test && simple(u.name) == name {
			for _, skip := range h.skips(u) {
				out = append(out, name+": "+skip)
			}
		}
	}
	return out
}
