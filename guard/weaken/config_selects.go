package weaken

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// selector is a setting of a runner that names what it runs. Settings that change are
// compared elsewhere; here a setting is new, and a test that is there is not among it.
type selector struct {
	tools, files string
	// section holds the keys: of an INI or TOML file, a member of package.json, or a
	// member of settings in JavaScript.
	section, keys string
	lang          *language
	// runs reports whether the runner looks at a file as long as nothing is selected.
	runs func(p string) bool
}

var selectors = []selector{
	{"pytest py.test", "pytest.ini .pytest.ini tox.ini", "pytest", "testpaths", python, collected},
	{"pytest py.test", "setup.cfg", "tool:pytest", "testpaths", python, collected},
	{"pytest py.test", "pyproject.toml", "tool.pytest", "testpaths", python, collected},
	{"vitest", "vitest.config.* vite.config.*", "test", "include dir", javascript, named},
	{"jest react-scripts", "jest.config.*", "", "roots", javascript, named},
	{"jest react-scripts", "package.json", "jest", "roots", javascript, named},
	{"playwright", "playwright.config.*", "", "testDir", javascript, named},
	{"mocha", ".mocharc.*", "", "spec", javascript, func(p string) bool { return strings.HasPrefix(p, "test/") }},
	{"mocha", "package.json", "mocha", "spec", javascript, func(p string) bool { return strings.HasPrefix(p, "test/") }},
	{"bun", "bunfig.toml", "test", "root", javascript, named},
}

// collected reports whether pytest takes a file for tests by its name.
func collected(p string) bool {
	base := path.Base(p)
	return strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py")
}

// named reports whether a file in JavaScript is a test by its name.
func named(p string) bool {
	return strings.Contains(path.Base(p), ".test.") || strings.Contains(path.Base(p), ".spec.")
}

// selects finds new settings of a runner that leave out a test of the checkpoint.
func (c *configJudge) selects(tool, dir string) {
	for _, p := range c.paths() {
		f := c.files[p]
		for _, s := range selectors {
			if join("", path.Dir(p)) != dir || !oneOf(s.tools, tool) || f.removed() ||
				!slices.ContainsFunc(strings.Fields(s.files), func(n string) bool { return matches(n, path.Base(p)) }) {
				continue
			}
			is := s.values(p, f.After)
			if len(is) == 0 || len(s.values(p, f.Before)) > 0 {
				continue
			}
			if left := c.notSelected(s, dir, is); left != "" {
				c.find(Config, p, "", "a new setting in %s leaves out %s", p, left)
			}
		}
	}
}

// values are the paths and patterns that the setting names.
func (s selector) values(p string, content []byte) []string {
	keys := strings.Fields(s.keys)
	switch ext := path.Ext(p); {
	case len(content) > maxSource:
		return nil
	case path.Base(p) == "package.json":
		content = packageJSON(content).rest[s.section]
		return valuesOf(tree(lex(content, javascript)), "", keys)
	case languageOf(p) == javascript || ext == ".json" || ext == ".jsonc":
		return valuesOf(tree(lex(content, javascript)), s.section, keys)
	}
	text := strings.Join(iniLines(content), "\n")
	if s.section != "" {
		text = sections(content, s.section)
	}
	var out []string
	for key, values := range settings(text) {
		if slices.Contains(keys, key) {
			out = append(out, slices.DeleteFunc(values, func(v string) bool { return v == "-" })...)
		}
	}
	return out
}

// valuesOf are the texts of the members with one of the keys, directly in the members
// named section, or anywhere if that is "".
func valuesOf(list []node, section string, keys []string) []string {
	var out []string
	for i, n := range list {
		key := n.open == 0 && (n.kind == ident || n.kind == str) && at(list, i+1) == ":" && i+2 < len(list)
		switch {
		case key && section == "" && slices.Contains(keys, n.text):
			texts := list[i+2 : i+3]
			if group(list, i+2, '[') {
				texts = list[i+2].kids
			}
			for _, v := range texts {
				if v.kind == str && v.open == 0 {
					out = append(out, strings.Trim(v.text, "\"'`"))
				}
			}
		case key && section == n.text && group(list, i+2, '{'):
			// Only its own members: those of members of it mean something else.
			flat := slices.Clone(list[i+2].kids)
			for k := range flat {
				if flat[k].open != '[' {
					flat[k].kids = nil
				}
			}
			out = append(out, valuesOf(flat, "", keys)...)
		case n.open != 0:
			out = append(out, valuesOf(n.kids, section, keys)...)
		}
	}
	return out
}

// notSelected is a test of the checkpoint that none of the patterns has; "" = none is left out.
func (c *configJudge) notSelected(s selector, dir string, patterns []string) string {
	var forms []*regexp.Regexp
	for _, pattern := range patterns {
		form, ok := selection(pattern)
		if !ok {
			return "" // unknown
		}
		forms = append(forms, form)
	}
	for _, q := range c.in.Paths {
		rel := q
		if dir != "" {
			var below bool
			if rel, below = strings.CutPrefix(q, dir+"/"); !below {
				continue
			}
		}
		if f, ok := c.files[q]; ok && f.removed() || languageOf(q) != s.lang || !s.runs(rel) || !IsTest(q) ||
			slices.ContainsFunc(strings.Split(path.Dir(rel), "/"), func(d string) bool { return d != "." && generatedPath(d) }) {
			continue
		}
		if !slices.ContainsFunc(forms, func(re *regexp.Regexp) bool { return re.MatchString(rel) }) {
			return q
		}
	}
	return ""
}

// selection is a folder, a file or a glob as a regular expression. It is false for what
// takes something out again and for what is no glob.
func selection(pattern string) (*regexp.Regexp, bool) {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "<rootDir>"), "/")
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	if pattern == "" || pattern == "." {
		return regexp.MustCompile(""), true
	}
	var b strings.Builder
	var open []byte // groups: { and those of extended globs
	for i := 0; i < len(pattern); i++ {
		switch ch := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case strings.IndexByte("?*+@", ch) >= 0 && strings.HasPrefix(pattern[i+1:], "("):
			b.WriteString("(?:")
			open = append(open, ch)
			i++
		case ch == '!' || ch == '$' || ch == '\\' || ch == '^':
			return nil, false
		case ch == '*':
			b.WriteString("[^/]*")
		case ch == '?':
			b.WriteString("[^/]")
		case ch == '{' || ch == '(':
			b.WriteString("(?:")
			open = append(open, '@')
		case (ch == '}' || ch == ')') && len(open) > 0:
			b.WriteByte(')')
			if last := open[len(open)-1]; last != '@' {
				b.WriteByte(last)
			}
			open = open[:len(open)-1]
		case (ch == ',' || ch == '|') && len(open) > 0:
			b.WriteByte('|')
		case ch == '[' || ch == ']' || ch == '-':
			b.WriteByte(ch)
		default:
			b.WriteString(regexp.QuoteMeta(string(ch)))
		}
	}
	re, err := regexp.Compile("^(?:" + b.String() + ")(?:/|$)")
	return re, err == nil
}

// targets are what a project.json of Nx runs.
func targets(content []byte) string {
	rest := packageJSON(content).rest
	return canonical(rest["targets"]) + canonical(rest["architect"])
}

// packages follows the scripts of packages below the folder, which runners of many
// packages start by name.
func (c *configJudge) packages(cmd simpleCommand, depth int) {
	var scripts []string
	for _, w := range cmd.words[1:] {
		if _, value, ok := strings.Cut(w, "="); ok && strings.HasPrefix(w, "--target") {
			w = value
		}
		if !strings.HasPrefix(w, "-") {
			scripts = append(scripts, strings.FieldsFunc(w, func(r rune) bool { return r == ',' || r == ':' })...)
		}
	}
	changed := map[string]bool{} // folders with something that changed below
	for _, p := range c.paths() {
		for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
			changed[d] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(changed)) {
		under := cmd.dir == "" || strings.HasPrefix(dir, cmd.dir+"/")
		content := c.content(join(dir, "package.json"))
		if !under || content == nil || inFolder(dir+"/x", "node_modules") {
			continue
		}
		for _, script := range scripts {
			if packageJSON(content).Scripts[script] != "" {
				c.node("npm", simpleCommand{words: []string{"npm", "run", script}, dir: dir}, depth+1)
			}
		}
	}
}

// ofPackages reports whether a package manager runs a script in other packages than the one of
// its folder.
func ofPackages(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return oneOf("-r --recursive --workspaces --workspace -ws -w --filter -F workspaces workspace", name)
	})
}
