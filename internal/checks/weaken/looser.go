package weaken

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"git-ralph/guard/script"
)

// Settings of runners and linters are compared member by member here, so that a change
// which leaves out no more than before, or checks more, is none.

var settingKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z_][\w.-]*) ?[=:]`)
})

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

// looserSettings reports whether sections leave more out than before, or differ in
// anything that is not known. moved is that of wideness.
func looserSettings(before, after string, moved func(string, []string) bool) bool {
	old, now := settings(before), settings(after)
	for key := range union(old, now) {
		was, is := old[key], now[key]
		switch {
		case slices.Equal(was, is):
		case leavesOut(key):
			if slices.ContainsFunc(added(was, is), func(w string) bool { return !generatedPath(w) }) {
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

// leavesOut reports whether a setting is a list of what is not looked at.
func leavesOut(key string) bool {
	key = strings.ToLower(key)
	for _, w := range []string{"ignore", "exclude", "norecursedirs", "omit", "disable", "skip"} {
		if strings.Contains(key, w) {
			return true
		}
	}
	return false
}

// generatedPath are folders that hold no tests of a project: hidden ones, and what tools make.
func generatedPath(p string) bool {
	switch p = strings.Trim(p, "*/"); p {
	case "build", "dist", "node_modules", "venv", "env", "htmlcov", "__pycache__", "vendor", "coverage", "_build", "*.egg":
		return true
	}
	return strings.HasPrefix(p, ".")
}

// looserLint compares the settings of a linter that are JSON: rules that are stricter, and
// what is known of the surroundings (globals, parsers), may change.
func looserLint(before, after json.RawMessage) bool {
	var old, now map[string]json.RawMessage
	if json.Unmarshal(relaxed(before), &old) != nil || json.Unmarshal(relaxed(after), &now) != nil {
		return canonical(before) != canonical(after)
	}
	for key := range union(old, now) {
		switch key {
		case "env", "envs", "globals", "parser", "parserOptions", "settings", "plugins", "prettier", "space", "semicolon",
			"esnext",
			"nodeVersion", "$schema", "root", "extensions":
			continue
		case "rules":
			if looserRules(old[key], now[key]) {
				return true
			}
			continue
		}
		if canonical(old[key]) != canonical(now[key]) {
			return true
		}
	}
	return false
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

// decidingCode is the part of a configuration written in JavaScript that decides what
// runs and what counts: without imports, the form of its export, and members about
// coverage, compilers and what is shown.
func decidingCode(p string, content []byte) string {
	var b strings.Builder
	var walk func(list []node)
	walk = func(list []node) {
		for i := 0; i < len(list); i++ {
			n := list[i]
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
				walk(list[i+1].kids)
				i++
				continue
			case word == ";" || word == ",":
				continue
			case (n.kind == ident || n.kind == str) && n.open == 0 && at(list, i+1) == ":" && !decides("", n.text):
				for i+1 < len(list) && at(list, i+1) != "," {
					i++
				}
				i++
				continue
			}
			if n.open != 0 {
				b.WriteByte(n.open)
				walk(n.kids)
				b.WriteByte(closing(n.open))
			} else {
				b.WriteString(n.text)
			}
			b.WriteByte(0)
		}
	}
	walk(tree(lex(content, languageOf(p))))
	return b.String()
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
	case "preset", "extensionsToTreatAsEsm", "reporter", "reporters", "verbose", "globals", "cache", "sourceMap",
		"snapshotSerializers", "snapshotFormat", "moduleFileExtensions", "testURL", "timers", "babel", "typescript",
		"failFast",
		"environmentVariables", "node-arg", "nodeArguments", "nyc-arg", "ts", "jobs", "optimizeDeps", "ssr", "dedupe",
		"isolate",
		"languageOptions":
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
