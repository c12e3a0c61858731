package weaken

import (
	"path"
	"slices"
	"strings"
)

// loaded judges the modules that a script of a check loads into its own process.
// Modules of the check are judged like the script; product code must not reach
// out and bend the run.
func (c *configJudge) loaded(p string, content []byte, dir string, depth int) {
	lang := languageOf(p)
	if depth > 8 || len(content) > maxSource || lang == nil { // data is loaded, too
		return
	}
	toks := lex(content, lang)
	uses := map[string]bool{}
	for _, t := range toks {
		if t.kind == ident {
			uses[t.text] = true
		}
	}
	for _, q := range c.modules(p, dir, toks, lang) {
		if c.seen["loaded\x00"+q] {
			continue
		}
		c.seen["loaded\x00"+q] = true
		f, changed := c.files[q]
		switch {
		case changed && IsTest(q) && !f.removed() && holdsTests(q, f.Before): // they are compared one by one
		case !changed || f.removed() && !ofCheckModule(p, q, nil):
		case ofCheckModule(p, q, f.Before):
			c.pick("", q)
		default:
			if more := added(loadedReaching(f.Before, uses, lang), loadedReaching(f.After, uses, lang)); len(more) > 0 {
				c.find(Config, q, "", "changed check configuration %s: it %s in the process of %s", q, more[0], p)
			}
		}
		if before := c.content(q); before != nil {
			c.loaded(q, before, dir, depth+1)
		}
	}
}

func holdsTests(p string, content []byte) bool {
	s := read(p, content)
	return s != nil && len(tests(s)) > 0
}

// ofCheckModule reports whether a module that a check script loads belongs to
// the check: it is named so, loads a test library, or stands with the script in
// a folder of tools.
func ofCheckModule(script, module string, content []byte) bool {
	if testNamed(module) {
		return true
	}
	if d := path.Dir(module); d == path.Dir(script) {
		switch path.Base(d) {
		case "tools", "scripts", "script", "qa", "dev", "hack", "build":
			return true
		}
	}
	lang := languageOf(module)
	if lang == nil || len(content) > maxSource {
		return false
	}
	return slices.ContainsFunc(lex(content, lang), func(t token) bool {
		switch t.text {
		case "unittest", "pytest", "node:test", "vitest", "@jest/globals":
			return t.kind != punct
		}
		return false
	})
}

// modules are the files of the repository that a script loads, those that the
// checkpoint has or that the change adds.
func (c *configJudge) modules(p, dir string, toks []token, lang *language) []string {
	var out []string
	first := func(candidates []string) bool {
		for _, q := range candidates {
			if _, ok := c.files[q]; ok || c.content(q) != nil {
				if !slices.Contains(out, q) {
					out = append(out, q)
				}
				return true
			}
		}
		return false
	}
	here := path.Dir(p)
	for i, t := range toks {
		switch {
		case lang.name == "python" && t.first && (t.is("import") || t.is("from")):
			for _, m := range pythonImports(toks, i) {
				if up := len(m) - len(strings.TrimLeft(m, ".")); up > 0 {
					base := here
					for range up - 1 {
						base = path.Dir(base)
					}
					first(pythonFiles(base, strings.TrimLeft(m, ".")))
					continue
				}
				_ = first(pythonFiles(here, m)) || first(pythonFiles(dir, m)) || first(pythonFiles("src", m))
			}
		case lang.name == "js" && t.kind == str && strings.HasPrefix(t.text, ".") && loads(toks, i):
			q := path.Join(here, t.text)
			if !first([]string{q, q + ".js", q + ".mjs", q + ".cjs", q + ".ts", q + ".tsx", q + "/index.js", q + "/index.ts",
				strings.TrimSuffix(q, ".js") + ".ts"}) {
				c.mainOf(q, func(main string) { first([]string{main, main + ".js"}) })
			}
		case t.kind == str && i > 0 && toks[i-1].is("require_relative"):
			first([]string{path.Join(here, t.text), path.Join(here, t.text) + ".rb"})
		}
	}
	return out
}

// loads reports whether the string at i is what a module loads.
func loads(toks []token, i int) bool {
	return i > 0 && (toks[i-1].is("from") || toks[i-1].is("import")) || i > 1 && toks[i-1].is("(") &&
		(toks[i-2].is("require") || toks[i-2].is("import"))
}

// mainOf follows a folder to what its package.json loads, and notes when that was
// changed: the check then loads something else.
func (c *configJudge) mainOf(dir string, follow func(string)) {
	p := join(dir, "package.json")
	before := packageJSON(c.content(p))
	if main := strings.Trim(string(before.rest["main"]), `"`); main != "" {
		follow(join(dir, main))
	}
	f, ok := c.files[p]
	if !ok || f.added() || f.removed() {
		return
	}
	now := packageJSON(f.After)
	for _, key := range []string{"main", "exports", "module", "imports"} {
		if canonical(before.rest[key]) != canonical(now.rest[key]) {
			c.note(Config, p, "", "changed %q in %s: a check loads what it names", key, p)
		}
	}
}

// pythonImports are the modules that the statement at i loads, with the dots of
// relative ones; `from a import b` may mean a.b.
func pythonImports(toks []token, i int) []string {
	name := func(k int) (string, int) {
		s := ""
		for ; k < len(toks) && !(toks[k].first && k > i); k++ {
			if toks[k].kind != ident && !toks[k].is(".") || toks[k].is("import") || toks[k].is("as") {
				break
			}
			s += toks[k].text
		}
		return s, k
	}
	var out []string
	if toks[i].is("from") {
		base, k := name(i + 1)
		out = append(out, base)
		sep := "."
		if strings.Trim(base, ".") == "" {
			sep = ""
		}
		for k++; k < len(toks) && (toks[k].line == toks[i].line || toks[k].is(",") || toks[k-1].is(",") ||
			toks[k-1].is("(")); k++ {
			if toks[k].kind == ident && !toks[k-1].is("as") && !toks[k].is("as") {
				out = append(out, base+sep+toks[k].text)
			}
		}
		return out
	}
	for k := i + 1; k < len(toks); {
		m, next := name(k)
		if m != "" {
			out = append(out, m)
		}
		if next < len(toks) && toks[next].is("as") {
			next += 2
		}
		if next >= len(toks) || !toks[next].is(",") {
			break
		}
		k = next + 1
	}
	return out
}

func pythonFiles(dir, module string) []string {
	q := path.Join(dir, strings.ReplaceAll(module, ".", "/"))
	return []string{q + ".py", q + "/__init__.py"}
}

// loadedReaching is how code ends or bends the process that loads it. uses are
// the names that the loading script holds.
func loadedReaching(content []byte, uses map[string]bool, lang *language) []string {
	if lang == nil || len(content) > maxSource {
		return nil
	}
	toks := lex(content, lang)
	var out []string
	is := func(i int, words string) bool {
		return i >= 0 && i < len(toks) && toks[i].kind != str && oneOf(words, toks[i].text)
	}
	fn, top, guarded, depth := "", true, false, 0
	for i, t := range toks {
		if lang.name == "python" && t.first && t.col == 0 {
			top = !is(i, "def class async @")
			guarded = is(i, "if") && is(i+1, "__name__")
		}
		if is(i, "def function") && i+1 < len(toks) {
			fn = toks[i+1].text
		}
		switch {
		case is(i, "{"):
			depth++
		case is(i, "}"):
			depth--
		}
		if t.kind != ident {
			continue
		}
		fails := i+2 < len(toks) && toks[i+1].is("(") && !toks[i+2].is(")") && !toks[i+2].is("0") &&
			!toks[i+2].is("None") && !toks[i+2].is("False")
		switch lang.name {
		case "python":
			ends := is(i, "exit") && is(i-1, ".") && is(i-2, "sys") || is(i, "exit quit SystemExit") &&
				!is(i-1, ". def import")
			switch {
			case is(i, "_exit abort kill") && is(i-2, "os"):
				out = append(out, "ends the run (os."+t.text+")")
			case ends && !fails && !guarded && (top || uses[fn]):
				out = append(out, "ends the run ("+t.text+")")
			case is(i, "register") && is(i-2, "atexit"):
				out = append(out, "registers an exit hook")
			case is(i, "builtins __builtins__ unittest sys") && assigned(toks, i):
				out = append(out, "changes "+t.text)
			}
		case "js":
			switch {
			case is(i, "exit reallyExit kill abort") && is(i-2, "process") && !fails && (depth == 0 || uses[fn]):
				out = append(out, "ends the run (process."+t.text+")")
			case is(i, "exitCode") && is(i-2, "process") && is(i+1, "="):
				out = append(out, "sets the exit code")
			case is(i, "on once") && is(i-2, "process") && i+2 < len(toks) &&
				(toks[i+2].text == "exit" || toks[i+2].text == "uncaughtException" || toks[i+2].text == "unhandledRejection"):
				out = append(out, "registers an exit hook")
			case is(i, "assert globalThis global") && assigned(toks, i):
				out = append(out, "changes "+t.text)
			}
		}
	}
	return out
}

// assigned reports whether an attribute or an element of the name at i is set.
func assigned(toks []token, i int) bool {
	for k := i + 1; k < min(len(toks), i+8) && toks[k].line == toks[i].line; k++ {
		if toks[k].is("=") {
			return k > i+1
		}
		if toks[k].is("(") || toks[k].is(",") || toks[k].is(":") {
			return false
		}
	}
	return false
}
