package weaken

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"git-ralph/guard/script"
	"git-ralph/internal/text/lazyregexp"
)

// Settings of runners and linters are compared member by member here. A change that
// leaves out no more than before, or checks more, is not a finding.

var settingKey = lazyregexp.New(`^([A-Za-z_][\w.-]*) ?[=:]`)

// settings are the values of each key of flattened INI or TOML lines, word by word.
func settings(text string) map[string][]string {
	out := map[string][]string{}
	key := ""
	for _, l := range strings.Split(text, "\n") {
		if m := settingKey().FindStringSubmatch(l); m != nil {
			key, l = m[1], l[len(m[0]):]
		} else if strings.HasPrefix(l, "[") {
			key, l = l, ""
		}
		words := strings.FieldsFunc(l, func(r rune) bool { return strings.ContainsRune(" ,[]\"'", r) })
		out[key] = append(out[key], words...)
	}
	return out
}

// looserSettings reports whether sections leave out more than before, or differ in
// an unknown setting.
func (c *configJudge) looserSettings(before, after, dir string) bool {
	old, now, moved := settings(before), settings(after), c.moved(dir)
	for key := range union(old, now) {
		was, is := old[key], now[key]
		switch {
		case slices.Equal(was, is):
		case leavesOut(key):
			if c.leavesMoreOut(python, dir, was, is) {
				return true
			}
		case key == "testpaths" && len(was) > 0 && len(is) > 0:
			if slices.ContainsFunc(added(is, was), func(p string) bool { return !moved(p, is) }) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

func union[V any](a, b map[string]V) map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]V{a, b} {
		for k := range m {
			out[k] = true
		}
	}
	return out
}

// leavesOut reports whether a setting lists what is ignored.
func leavesOut(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"ignore", "exclude", "norecursedirs", "omit", "disable", "skip"},
		func(w string) bool { return strings.Contains(key, w) })
}

// generatedPath are folders that hold no tests of a project: hidden ones, and what tools make.
func generatedPath(p string) bool {
	switch p = strings.Trim(p, "*/"); p {
	case "build", "dist", "node_modules", "venv", "env", "htmlcov", "__pycache__", "vendor", "coverage", "_build", "*.egg":
		return true
	}
	return strings.HasPrefix(p, ".")
}

// looserJSON compares settings that are JSON. These may change: lists that leave out no test, rules of a linter that
// are stricter, and what a linter knows of the environment (globals, parsers).
func (c *configJudge) looserJSON(dir string, before, after json.RawMessage) bool {
	old, now := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for raw, to := range map[*json.RawMessage]*map[string]json.RawMessage{&before: &old, &after: &now} {
		if len(*raw) > 0 && json.Unmarshal(relaxed(*raw), to) != nil {
			return canonical(before) != canonical(after)
		}
	}
	for key := range union(old, now) {
		if c.linter != "" && oneOf("env envs globals parser parserOptions settings plugins prettier space semicolon esnext "+
			"nodeVersion $schema root extensions", key) || key == "rules" && !looserRules(old[key], now[key]) {
			continue
		}
		if leavesOut(key) && !c.leavesMoreOut(javascript, dir, list(old[key]), list(now[key])) {
			continue
		}
		if canonical(old[key]) != canonical(now[key]) {
			return true
		}
	}
	return false
}

// list are the texts of a list in JSON, or the one text.
func list(raw json.RawMessage) []string {
	var many []string
	var one string
	if json.Unmarshal(raw, &many) != nil && json.Unmarshal(raw, &one) == nil {
		many = []string{one}
	}
	return many
}

func looserRules(before, after json.RawMessage) bool {
	old, now := map[string]any{}, map[string]any{}
	for raw, to := range map[*json.RawMessage]*map[string]any{&before: &old, &after: &now} {
		if len(*raw) > 0 && json.Unmarshal(*raw, to) != nil {
			return true
		}
	}
	level := func(rule any) int {
		if list, ok := rule.([]any); ok && len(list) > 0 {
			rule = list[0]
		}
		switch rule {
		case "off", 0.0, false:
			return 0
		case "warn", 1.0:
			return 1
		}
		return 2
	}
	for name, rule := range now {
		if was, ok := old[name]; level(rule) < 2 && (!ok || level(was) > level(rule)) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(old)), func(name string) bool {
		_, ok := now[name]
		return !ok && level(old[name]) > 0
	})
}

// decisions is what settings written in JavaScript decide: what they leave out, the levels of a
// linter's rules, and the rest. Imports, the form of the export, and members about coverage, compilers
// and output are not part of it.
type decisions struct {
	rest  strings.Builder
	left  []string
	rules map[string]json.RawMessage
}

func (d *decisions) read(list []node) {
	for i := 0; i < len(list); i++ {
		n := list[i]
		named := (n.kind == ident || n.kind == str) && n.open == 0
		value := i + 2 // behind key: and name =
		switch word := at(list, i); {
		case word == "import" && n.first:
			i = statementEnd(list, i) - 1
			continue
		case word == "module" && at(list, i+1) == "." && at(list, i+2) == "exports" && at(list, i+3) == "=":
			i += 3
			continue
		case word == "export" && at(list, i+1) == "default":
			i++
			continue
		case word == "defineConfig" && group(list, i+1, '('):
			d.read(list[i+1].kids)
			i++
			continue
		case word == ";" || word == ",":
			continue
		case named && at(list, i+1) == ":" && !decides("", n.text):
			for i+1 < len(list) && at(list, i+1) != "," {
				i++
			}
			i++
			continue
		case named && leavesOut(n.text) && (at(list, i+1) == "." && oneOf("push concat unshift", at(list, i+2)) &&
			d.leaves(list, i+3) || oneOf(": =", at(list, i+1)) && d.leaves(list, value)):
			if i = value; !group(list, i, '[') {
				i++
			}
			continue
		case named && leavesOut(n.text) && group(list, i+1, '(') && d.leaves(list, i+1):
			i++
			continue
		case n.text == "rules" && named && at(list, i+1) == ":" && group(list, value, '{') && d.levels(list[value].kids):
			i = value
			continue
		}
		if n.open != 0 {
			d.rest.WriteByte(n.open)
			d.read(n.kids)
			d.rest.WriteByte(closing(n.open))
		} else {
			d.rest.WriteString(n.text)
		}
		d.rest.WriteByte(0)
	}
}

// leaves takes a group of nothing but strings as what is left out.
func (d *decisions) leaves(list []node, i int) bool {
	if !group(list, i, '[') && !group(list, i, '(') {
		return false
	}
	if kids := list[i].kids; len(kids) == 1 && kids[0].open == '[' {
		return d.leaves(kids, 0) // globalIgnores([…])
	}
	plain := func(n node) bool { return n.kind == str && n.open == 0 || n.is(",") }
	for _, n := range list[i].kids {
		if !plain(n) {
			return false
		}
	}
	for _, n := range list[i].kids {
		if n.kind == str {
			d.left = append(d.left, n.text)
		}
	}
	return true
}

// levels takes the rules of a linter whose levels are written out.
func (d *decisions) levels(list []node) bool {
	found := map[string]json.RawMessage{}
	for _, rule := range split(list, ",") {
		if len(rule) != 3 || at(rule, 1) != ":" {
			return false
		}
		level := rule[2]
		if level.open == '[' && len(level.kids) > 0 {
			level = level.kids[0]
		}
		raw := level.text
		if level.kind == str {
			raw = `"` + raw + `"`
		}
		found[rule[0].text] = json.RawMessage(raw)
	}
	for name, level := range found {
		for d.rules[name] != nil { // of another part of the settings
			name += "+"
		}
		d.rules[name] = level
	}
	return true
}

// looserCode compares settings that are written in JavaScript.
func (c *configJudge) looserCode(p string, before, after []byte) bool {
	old, now := decisions{rules: map[string]json.RawMessage{}}, decisions{rules: map[string]json.RawMessage{}}
	old.read(tree(lex(before, languageOf(p))))
	now.read(tree(lex(after, languageOf(p))))
	was, err := json.Marshal(old.rules)
	is, err2 := json.Marshal(now.rules)
	return err != nil || err2 != nil || c.renamed(old.rest.String()) != now.rest.String() || looserRules(was, is) ||
		c.leavesMoreOut(javascript, path.Dir(p), old.left, now.left)
}

// renamed are settings with the new names of files that the change gave another one.
func (c *configJudge) renamed(text string) string {
	for _, p := range c.paths() {
		f := c.files[p]
		same := func(q string) bool { return c.files[q].added() && bytes.Equal(c.files[q].After, f.Before) }
		if all := c.paths(); f.removed() && len(f.Before) > 0 && strings.Contains(text, p) {
			if i := slices.IndexFunc(all, same); i >= 0 {
				text = strings.ReplaceAll(text, p, all[i])
			}
		}
	}
	return text
}

// leavesMoreOut reports whether new patterns leave out a file that is looked at today: a test, or,
// for a linter, any code.
func (c *configJudge) leavesMoreOut(lang *language, dir string, was, is []string) bool {
	return slices.ContainsFunc(added(was, is), func(pattern string) bool {
		if generatedPath(pattern) || c.linter != "" && shownPath(pattern) {
			return false
		}
		forms, ok := patternForms(pattern)
		return !ok || len(c.in.Paths) == 0 || slices.ContainsFunc(c.in.Paths, func(q string) bool {
			if languageOf(q) != lang || c.linter == "" && !IsTest(q) && !isSupport(q) {
				return false
			}
			return slices.ContainsFunc(forms, func(re *regexp.Regexp) bool {
				return re.MatchString("/"+q) || re.MatchString("/"+c.relative(q, join("", dir)))
			})
		})
	})
}

// patternForms returns both readings of an exclude pattern: a glob, as for most tools, and a
// regular expression, as for Jest. ok is false when it is neither.
func patternForms(pattern string) (forms []*regexp.Regexp, ok bool) {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "<rootDir>"), "./")
	if pattern == "" || strings.HasPrefix(pattern, "!") || strings.ContainsAny(pattern, "{(") {
		return nil, false
	}
	glob := strings.NewReplacer(`\*\*/`, ".*", `\*\*`, ".*", `\*`, "[^/]*", `\?`, ".").Replace(
		regexp.QuoteMeta(strings.Trim(pattern, "/")))
	for _, form := range []string{"(?:^|/)" + glob + "(?:/|$)", pattern} {
		if re, err := regexp.Compile(form); err == nil {
			forms = append(forms, re)
		}
	}
	return forms, true
}

// shownPath reports whether a folder is for documentation: a linter that skips it checks no less code.
func shownPath(p string) bool {
	first, _, _ := strings.Cut(strings.Trim(p, "*./"), "/")
	return oneOf("doc docs documentation example examples website bench benchmark benchmarks", first)
}

// decides reports whether a member of a tool's settings decides which tests run and
// whether they count, not how code is compiled or results are shown.
func decides(tool, key string) bool {
	low := strings.ToLower(key)
	switch {
	case tool == "nyc" || tool == "c8":
		switch key {
		case "check-coverage", "branches", "lines", "functions", "statements", "per-file", "checkCoverage", "perFile":
			return true
		}
		return false
	case low == "coveragethreshold":
		return true
	case strings.HasPrefix(low, "coverage"), strings.HasPrefix(low, "collectcoverage"),
		strings.HasPrefix(low, "transform"),
		strings.HasPrefix(low, "testenvironment"):
		return false
	}
	switch key {
	case "preset", "esbuild", "css", "build", "server", "pool", "poolOptions", "maxWorkers", "minWorkers",
		"maxConcurrency", "displayName", "name", "testTimeout", "hookTimeout", "slowTestThreshold",
		"cacheDirectory", "cacheDir", "haste", "notify", "silent", "logHeapUsage", "clearMocks",
		"restoreMocks", "resetMocks", "watchPlugins", "watchPathIgnorePatterns", "extensionsToTreatAsEsm",
		"reporter", "reporters", "verbose", "globals", "cache", "sourceMap", "snapshotSerializers",
		"snapshotFormat", "moduleFileExtensions", "testURL", "timers", "babel", "typescript", "failFast",
		"environmentVariables", "node-arg", "nodeArguments", "nyc-arg", "ts", "jobs", "optimizeDeps", "ssr",
		"dedupe", "isolate", "languageOptions":
		return false
	}
	return true
}

// buildNamed reports whether a program's name says that it builds.
func buildNamed(p string) bool {
	stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
	return slices.ContainsFunc(splitWords(stem), func(w string) bool {
		switch w {
		case "build", "compile", "bundle", "transpile", "fixup", "package", "dist", "generate", "codegen", "postbuild",
			"prebuild":
			return true
		}
		return false
	})
}

// buildsAsMuch reports whether a script that builds still runs every compiler and linter
// that it ran, and stops where it did.
func buildsAsMuch(before, after []byte) bool {
	old, err := script.Read(string(before))
	if err != nil {
		return false
	}
	now, err := script.Read(string(after))
	if err != nil || stopsAtFailure(iniLines(before), shebang(before)) &&
		!stopsAtFailure(iniLines(after), shebang(after)) {
		return false
	}
	checks := func(s script.Script) (out []string) {
		for _, c := range s.Commands {
			if runsTests(path.Base(c.Words[0]), c.Words[1:]) && c.Use == script.Plain {
				out = append(out, strings.Join(c.Words, " "))
			}
		}
		return out
	}
	return len(added(checks(now), checks(old))) == 0 && len(added(reaching(&old, nil, &old, false),
		reaching(&now, nil, &now, false))) == 0
}
