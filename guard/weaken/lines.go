package weaken

import (
	"path"
	"slices"
	"strings"

	"git-ralph/guard/script"
)

// wideness compares what two command lines run. was and is are the scripts of
// package.json, old and new; moved reports whether a path that a command named is gone
// and what the change made of it is among other paths.
type wideness struct {
	was, is map[string]string
	moved   func(path string, to []string) bool
}

// step is one command of a line that has to pass.
type step struct {
	words []string // without what only starts it; settings such as CI=1 stand in front
	build bool     // it stands in a script that builds: what it makes is tested, it tests nothing
}

// runsAsMuch reports whether a command line still runs every runner that the old
// one ran, on as many tests, and fails when one of them does.
func (w wideness) runsAsMuch(old, now string, build bool) bool {
	before, ok := chain(old, w.was, 0, build)
	after, ok2 := chain(now, w.is, 0, build)
	if !ok || !ok2 {
		return false
	}
	for _, o := range before {
		i := slices.IndexFunc(after, func(n step) bool { return w.asWide(o.words, n.words) })
		if i < 0 && !idlePrograms.has(path.Base(o.words[0])) && (!o.build || runsTests(path.Base(o.words[0]), o.words[1:])) {
			return false
		}
		if i >= 0 {
			after = slices.Delete(slices.Clone(after), i, i+1)
		}
	}
	return !slices.ContainsFunc(after, func(n step) bool { return !n.build && meddles(n.words) })
}

// chain returns the commands of a line that run in sequence and must all pass;
// false for a line of another form. Scripts that it runs are replaced by their
// commands.
func chain(line string, scripts map[string]string, depth int, build bool) ([]step, bool) {
	line = binFolder.Replace(line)
	s, err := script.Read(line)
	if err != nil || depth > 8 || len(s.Functions) > 0 || len(s.Assigned) > 0 ||
		strings.ContainsAny(strings.ReplaceAll(line, "&&", ""), ";|&`") || strings.Contains(line, "$(") {
		return nil, false
	}
	var out []step
	for _, raw := range s.Commands {
		env := slices.DeleteFunc(slices.Clone(raw.Env), harmlessSetting)
		if first := path.Base(raw.Words[0]); first == "env" || first == "cross-env" {
			for _, w := range raw.Words[1:] {
				if name, _, ok := strings.Cut(w, "="); !ok || !isName(name) {
					break
				} else if !harmlessSetting(w) {
					env = append(env, w)
				}
			}
		}
		cmd, inner := simpleCommand{words: raw.Words, use: raw.Use}.unwrap()
		w := started(cmd.words, scripts)
		made := build && raw.Use == script.Redirected // what is built goes into a file
		if inner != "" || raw.Use != script.Plain && !made || len(w) == 0 {
			return nil, false
		}
		switch w[0] { // what measures coverage runs the rest
		case "nyc", "c8":
			for w = w[1:]; len(w) > 0 && strings.HasPrefix(w[0], "-"); {
				w = w[1:]
			}
			if len(w) == 0 {
				return nil, false
			}
		case "exit", "set", "trap":
			return nil, false
		case "npm", "yarn", "pnpm", "bun":
			rest := w[1:]
			if len(rest) > 0 && (rest[0] == "run" || rest[0] == "run-script") {
				rest = rest[1:]
			}
			if len(rest) > 0 && scripts[rest[0]] != "" && (len(rest) == 1 || w[0] != "npm" || rest[1] == "--") {
				for _, name := range []string{"pre" + rest[0], rest[0], "post" + rest[0]} {
					more, ok := chain(scripts[name], scripts, depth+1, build || buildScript(rest[0]))
					if !ok {
						return nil, false
					}
					if n := len(more); name == rest[0] && n > 0 { // what follows goes to its last command
						given := slices.DeleteFunc(slices.Clone(rest[1:]), func(a string) bool { return a == "--" })
						more[n-1].words = append(slices.Clone(more[n-1].words), given...)
					}
					out = append(out, more...)
				}
				continue
			}
		}
		out = append(out, step{append(env, w...), build})
	}
	return out, true
}

// binFolder names programs of node_modules as everybody else does.
var binFolder = strings.NewReplacer("$(yarn bin jest)", "jest", "$(npm bin)/", "", "$(yarn bin)/", "", "$(yarn bin)",
	"",
	"./node_modules/.bin/", "", "node_modules/.bin/", "")

// started are the words of a command without what only starts it: `node --no-warnings
// node_modules/jest/bin/jest.js` and `yarn node jest` are jest, `python -m pytest` is pytest.
func started(w []string, scripts map[string]string) []string {
	for range 4 {
		if len(w) < 2 {
			return w
		}
		switch name := path.Base(w[0]); {
		case (name == "yarn" || name == "pnpm" || name == "bunx") && scripts[w[1]] == "" &&
			(w[1] == "node" || runsTests(w[1], w[2:])):
			w = w[1:]
		case name == "node":
			rest := w[1:]
			for len(rest) > 0 && harmlessFlag(rest[0]) {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				return w
			}
			program := path.Base(strings.TrimSuffix(rest[0], path.Ext(rest[0])))
			if strings.HasPrefix(rest[0], "-") || !runsTests(program, nil) {
				return append([]string{"node"}, rest...)
			}
			w = append([]string{program}, rest[1:]...)
		case strings.HasPrefix(name, "python") && w[1] == "-m" && len(w) > 2:
			w = w[2:]
		default:
			return w
		}
	}
	return w
}

// buildScript reports whether a package script builds, by its name.
func buildScript(name string) bool {
	for _, w := range splitWords(strings.ReplaceAll(name, ":", "-")) {
		switch strings.TrimPrefix(strings.TrimPrefix(w, "pre"), "post") {
		case "build", "builds", "prepare", "pare", "compile", "bundle", "transpile", "dist", "generate", "clean":
			return true
		case "test", "tests", "lint", "check", "verify":
			return false
		}
	}
	return false
}

// harmlessSetting are variables that choose how code is compiled or shown.
func harmlessSetting(assignment string) bool {
	name, _, _ := strings.Cut(assignment, "=")
	switch name {
	case "NODE_ENV", "BABEL_ENV", "FORCE_COLOR", "NO_COLOR", "TZ", "LANG", "LC_ALL", "PYTHONUNBUFFERED", "PYTHONWARNINGS":
		return true
	}
	return strings.HasPrefix(name, "TS_NODE_") || strings.HasPrefix(name, "npm_config_")
}

// meddles reports whether a new command can change what the other commands see.
func meddles(words []string) bool {
	if strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if len(words) == 0 {
		return true
	}
	switch path.Base(words[0]) {
	case "rm", "rimraf", "del", "del-cli", "mv", "cp", "shx", "cpy":
		return slices.ContainsFunc(words[1:], func(p string) bool {
			switch first, _, _ := strings.Cut(strings.TrimPrefix(p, "./"), "/"); first {
			case "dist", "build", "out", "coverage", ".coverage", "coverage.xml", "es", "esm", "cjs", ".nyc_output", "rm",
				"rimraf":
				return false
			default:
				return !strings.HasPrefix(p, "-")
			}
		})
	case "sed", "perl", "ln", "touch", "truncate", "tee", "chmod", "git", "sh", "bash", "node", "python", "python3",
		"eval", "source", "kill":
		return !runsTests(path.Base(words[0]), words[1:]) && !(len(words) > 1 && buildNamed(words[1]))
	}
	return false
}

// runnersOf are the runners of one ecosystem; each collects all tests when it is not told
// otherwise.
func runnersOf(words []string) string {
	switch name := path.Base(words[0]); name {
	case "jest", "vitest", "mocha", "ava", "tap", "jasmine", "karma", "react-scripts":
		return "js"
	case "node":
		if slices.Contains(words, "--test") || len(words) > 1 && languageOf(words[1]) != nil && testNamed(words[1]) {
			return "js"
		}
	case "pytest", "py.test", "nosetests", "nose2", "trial", "unittest":
		return "python"
	case "python", "python3":
		if len(words) > 1 && (words[1] == "setup.py" && slices.Contains(words, "test") ||
			strings.HasSuffix(words[1], ".py") && testNamed(words[1])) {
			return "python"
		}
	}
	return ""
}

// asWide reports whether a command runs the same program, or another runner of the
// same tests, on as much.
func (w wideness) asWide(old, now []string) bool {
	if slices.Equal(old, now) {
		return true
	}
	for len(old) > 0 && strings.Contains(old[0], "=") {
		if len(now) == 0 || now[0] != old[0] {
			return false
		}
		old, now = old[1:], now[1:]
	}
	if len(old) == 0 || len(now) == 0 {
		return false
	}
	replaced := old[0] != now[0]
	switch name := path.Base(old[0]); {
	case replaced && (runnersOf(old) == "" || runnersOf(old) != runnersOf(now)):
		return false
	case !replaced && name == "sphinx-build":
		return len(added(now, old)) == 0 || slices.Contains(now, "-W") || !slices.Contains(old, "-W")
	case !replaced && !runsTests(name, []string{"test"}):
		return false
	}
	oldFlags, oldPaths := arguments(old[1:])
	flags, paths := arguments(now[1:])
	if replaced {
		oldFlags, oldPaths = nil, slices.DeleteFunc(oldPaths, func(p string) bool { return p == "setup.py" || p == "test" })
	}
	name := path.Base(now[0])
	for len(paths) > 0 && oneOf(subcommands[name], paths[0]) {
		if len(oldPaths) > 0 && oldPaths[0] == paths[0] {
			oldPaths = oldPaths[1:]
		} else if name != "vitest" { // which runs all tests without it
			break
		}
		paths = paths[1:]
	}
	if len(oldPaths) == 0 && len(paths) > 0 {
		return false
	}
	for _, p := range oldPaths {
		covered := func(q string) bool { return p == q || strings.HasPrefix(p, strings.TrimSuffix(q, "/")+"/") }
		if len(paths) > 0 && !slices.ContainsFunc(paths, covered) && (w.moved == nil || !w.moved(p, paths)) {
			return false
		}
	}
	harmless := func(f string) bool { return harmlessFlag(f) && !otherMeaning(name, f) }
	return !slices.ContainsFunc(added(oldFlags, flags), func(f string) bool {
		return !harmless(f) && !strings.HasPrefix(f, "--strict") && !moreFeatures(oldFlags, f)
	}) && !slices.ContainsFunc(added(flags, oldFlags), func(f string) bool {
		return !harmless(f) && !slices.ContainsFunc(flags, func(n string) bool { return moreFeatures([]string{f}, n) })
	})
}

// subcommands are words of a runner's line that are no path and choose no tests.
var subcommands = map[string]string{"vitest": "run", "cargo": "test nextest run", "playwright": "test", "deno": "test",
	"mix": "test", "dotnet": "test", "bun": "test", "cypress": "run", "karma": "start", "swift": "test", "flutter": "test",
	"dart": "test", "react-scripts": "test", "ng": "test", "unittest": "discover", "turbo": "run", "lerna": "run",
	"hatch": "test run", "rails": "test", "wdio": "run", "go": "test vet"}

// otherMeaning reports whether a flag that is harmless for most runners is not for this one: it
// prints the version and ends, or it chooses tests.
func otherMeaning(runner, flag string) bool {
	switch flag {
	case "-v":
		return !oneOf("pytest py.test unittest nose2 nosetests trial go cargo prove mix phpunit pest dotnet ruff mypy "+
			"black isort flake8 golangci-lint stestr tox nox bats", runner)
	case "-x":
		return !oneOf("pytest py.test nosetests trial go bats", runner)
	case "-s":
		return !oneOf("pytest py.test nosetests prove", runner)
	}
	return runner == "ctest" && strings.HasPrefix(flag, "-R")
}

// moreFeatures reports whether an option of cargo builds with the features that it had, and more.
func moreFeatures(old []string, flag string) bool {
	switch flag {
	case "--all-features", "--workspace", "--all", "--all-targets":
		return true
	}
	features := func(f string) []string {
		name, list, _ := strings.Cut(f, " ")
		if name != "--features" && name != "-F" {
			return nil
		}
		return strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' })
	}
	now := features(flag)
	return now != nil && slices.ContainsFunc(old, func(f string) bool {
		was := features(f)
		return was != nil && len(added(now, was)) == 0
	})
}

// arguments separates options, with the values of those that are known to have one,
// from what is run.
func arguments(words []string) (flags, paths []string) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case !strings.HasPrefix(w, "-"):
			paths = append(paths, w)
		case i+1 < len(words) && !strings.Contains(w, "=") && slices.Contains([]string{"-R", "--reporter", "-r", "--require",
			"--import", "--loader", "--timeout", "-t", "--target", "--ui", "-n", "--config", "-c", "-k", "-m", "--jsx",
			"--moduleResolution", "--cov-report", "--tb", "-p", "--project", "--features",
			"-F"}, w) && !strings.HasPrefix(words[i+1], "-"):
			i++
			flags = append(flags, w+" "+words[i])
		default:
			flags = append(flags, w)
		}
	}
	return flags, paths
}

// harmlessFlag are options of runners that change what they print or how fast they
// are, or load an installed package in front of the tests.
func harmlessFlag(flag string) bool {
	for _, p := range []string{"-r ", "--require ", "--import ", "--loader "} {
		if name, ok := strings.CutPrefix(flag, p); ok {
			return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/")
		}
	}
	switch flag {
	case "-v", "-vv", "-q", "-s", "-x", "-ra", "-rA", "--ci", "--run", "--ui", "--test", "--exit", "--color",
		"--no-color", "--no-cache":
		return true
	}
	for _, p := range []string{"-R ", "-ra", "--reporter", "--verbose", "--color", "--coverage", "--cov", "--runInBand",
		"--maxWorkers",
		"--tb", "--moduleResolution", "--jsx", "--esModuleInterop", "--check-leaks", "--pretty", "--watch=false",
		"--throw-deprecation", "--enable-source-maps", "--experimental-", "--no-warnings", "--no-deprecation", "--trace-",
		"--expose-gc"} {
		if strings.HasPrefix(flag, p) {
			return !strings.HasPrefix(flag, "--coverageT") && !strings.HasPrefix(flag, "--cov-fail-under")
		}
	}
	return false
}

// idlePrograms are commands that check nothing.
var idlePrograms = set("rm rimraf mkdir mkdirp cp echo del del-cli shx cpy rollup webpack esbuild babel tsup clear " +
	"cd")

// toxLines are the commands of a tox.ini as one line, with the defaults of what a
// person may type behind tox.
func toxLines(content []byte) string {
	var out []string
	in, key := "", ""
	for _, l := range iniLines(content) {
		t := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(t, "[") && l[0] == '[':
			in, key = strings.Trim(t, "[] "), ""
		case l[0] != ' ' && l[0] != '\t':
			name, value, _ := strings.Cut(t, "=")
			key, t = strings.TrimSpace(name), strings.TrimSpace(value)
			fallthrough
		default:
			if strings.HasPrefix(in, "testenv") && strings.HasPrefix(key, "commands") && t != "" {
				out = append(out, toxArguments(t))
			} else if strings.HasPrefix(key, "ignore_") && t != "" {
				out = append(out, key+" "+t)
			}
		}
	}
	return strings.Join(out, " && ")
}

func toxArguments(line string) string {
	line = strings.ReplaceAll(line, " []", "") // {posargs} as it once was
	for {
		a := strings.Index(line, "{posargs")
		if a < 0 {
			return strings.Join(strings.Fields(line), " ")
		}
		b := strings.IndexByte(line[a:], '}')
		if b < 0 {
			return line
		}
		value := strings.TrimPrefix(strings.TrimPrefix(line[a:a+b], "{posargs"), ":")
		line = line[:a] + value + line[a+b+1:]
	}
}
