package weaken

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"git-ralph/internal/text/lazyregexp"
)

// taskFile is a file with named tasks, in JSON or TOML.
type taskFile struct {
	runners, files string // the programs that start them, and where they are
	// tables are the paths to its tables of tasks; * stands for any name.
	tables string
	all    bool // the runner starts all of them when no name is given
}

var taskFiles = []taskFile{
	{runners: "composer", files: "composer.json", tables: "scripts"},
	{runners: "deno", files: "deno.json deno.jsonc", tables: "tasks"},
	{runners: "poe", files: "pyproject.toml", tables: "tool.poe.tasks"},
	{runners: "poe", files: "poe_tasks.toml", tables: "tasks"},
	{runners: "hatch", files: "pyproject.toml", tables: "tool.hatch.envs.*.scripts"},
	{runners: "hatch", files: "hatch.toml", tables: "envs.*.scripts"},
	{runners: "pdm", files: "pyproject.toml", tables: "tool.pdm.scripts"},
	{runners: "rye", files: "pyproject.toml", tables: "tool.rye.scripts"},
	{runners: "pipenv", files: "Pipfile", tables: "scripts"},
	{runners: "pixi", files: "pixi.toml", tables: "tasks feature.*.tasks target.*.tasks"},
	{runners: "pixi", files: "pyproject.toml",
		tables: "tool.pixi.tasks tool.pixi.feature.*.tasks tool.pixi.target.*.tasks"},
	{runners: "mise rtx", files: "mise.toml .mise.toml mise/config.toml .config/mise.toml", tables: "tasks"},
	{runners: "cargo", files: ".cargo/config.toml .cargo/config", tables: "alias"},
	{runners: "cargo makers", files: "Makefile.toml", tables: "tasks"},
	{runners: "ng", files: "angular.json", tables: "projects.*.architect projects.*.targets"},
	{runners: "npm pnpm yarn bun node", files: "package.json", tables: "wireit"},
	{runners: "tox", files: "tox.toml", tables: "* env", all: true},
	{runners: "tox", files: "pyproject.toml", tables: "tool.tox tool.tox.env", all: true},
}

// tasks follows the tasks that a command starts by name.
func (c *configJudge) tasks(cmd simpleCommand, depth int) {
	for i, w := range cmd.words {
		runner := path.Base(w)
		for _, file := range taskFiles {
			if !oneOf(file.runners, runner) {
				continue
			}
			var names []string
			for _, name := range cmd.words[i+1:] {
				if !strings.HasPrefix(name, "-") {
					names = append(names, name)
					names = append(names, strings.Split(name, ":")...) // hatch run ENV:TASK
				}
			}
			for _, p := range strings.Fields(file.files) {
				c.taskFile(file, join(cmd.dir, p), names, cmd, depth)
			}
		}
	}
}

func (c *configJudge) taskFile(file taskFile, p string, names []string, cmd simpleCommand, depth int) {
	before := c.content(p)
	if before == nil || len(before) > maxSource {
		return
	}
	f, changed := c.files[p]
	old := readTasks(file, p, before)
	now := old
	if changed {
		now = readTasks(file, p, f.After)
	}
	if file.all {
		names = slices.Sorted(maps.Keys(old))
	}
	done := map[string]bool{}
	for len(names) > 0 && len(done) < 200 {
		name := strings.TrimPrefix(names[0], "@")
		names = names[1:]
		was, ok := old[name]
		if !ok || done[name] {
			continue
		}
		done[name] = true
		if !c.runsTask(was, now[name], p) {
			c.find(Config, p, "", "changed task %q of %s", name, p)
		}
		lines, _ := was.lines()
		for _, l := range lines {
			c.line(strings.TrimPrefix(strings.TrimPrefix(l, "@php "), "@"), cmd.dir, depth+1)
		}
		mentioned := func(r rune) bool { return strings.ContainsRune(" \",[]{}:", r) }
		names = append(names, strings.FieldsFunc(was.text, mentioned)...)
	}
}

// task is a task: a line, a list of lines, or a table with them.
type task struct {
	value any
	text  string // all of it as JSON
}

// readTasks are the tasks of a file by name; those of several tables with one name are one.
func readTasks(file taskFile, p string, content []byte) map[string]task {
	var root map[string]any
	if strings.HasSuffix(p, ".json") || strings.HasSuffix(p, ".jsonc") {
		if json.Unmarshal(relaxed(content), &root) != nil {
			return nil
		}
	} else if toml.Unmarshal(content, &root) != nil {
		return nil
	}
	all := map[string][]any{}
	var walk func(at any, keys []string)
	walk = func(at any, keys []string) {
		table, _ := at.(map[string]any)
		switch {
		case len(keys) == 0:
			for name, v := range table {
				all[name] = append(all[name], v)
			}
		case keys[0] == "*" && len(keys) > 1:
			for _, name := range slices.Sorted(maps.Keys(table)) {
				walk(table[name], keys[1:])
			}
		case keys[0] == "*":
			walk(at, nil)
		default:
			walk(table[keys[0]], keys[1:])
		}
	}
	for _, t := range strings.Fields(file.tables) {
		walk(root, strings.Split(t, "."))
	}
	out := map[string]task{}
	for name, values := range all {
		var v any = values
		if len(values) == 1 {
			v = values[0]
		}
		text, err := json.Marshal(v)
		if err == nil {
			out[name] = task{v, string(text)}
		}
	}
	return out
}

// lines are the command lines of a task, and the rest of it that decides.
func (t task) lines() (lines []string, rest string) {
	table, ok := t.value.(map[string]any)
	if !ok {
		table = map[string]any{"run": t.value}
	}
	decisive := map[string]any{}
	for key, v := range table {
		switch key {
		case "cmd", "run", "shell", "command", "script", "commands":
			lines = append(lines, commandLines(v)...)
			if args, ok := table["args"].([]any); ok && len(lines) > 0 {
				lines[len(lines)-1] += " " + strings.Join(commandLines(args), " ")
			}
		case "description", "help", "inputs", "outputs", "sources", "files", "output", "alias", "hide", "quiet", "category",
			"packageLock", "clean", "deps", "package", "skip_install":
		default:
			decisive[key] = v
		}
	}
	text, _ := json.Marshal(decisive) // decoded values always encode
	return lines, string(text)
}

// commandLines are a line, or a list of lines or of the words of lines.
func commandLines(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, one := range v {
			if words, ok := one.([]any); ok {
				out = append(out, strings.Join(commandLines(words), " "))
			} else if s, ok := one.(string); ok {
				out = append(out, s)
			}
		}
		return out
	case map[string]any:
		lines, _ := task{value: v}.lines()
		return lines
	}
	return nil
}

// runsTask reports whether a task runs as much as before.
func (c *configJudge) runsTask(was, is task, p string) bool {
	if was.text == is.text {
		return true
	}
	old, rest := was.lines()
	now, restNow := is.lines()
	a, b := strings.Join(old, " && "), strings.Join(now, " && ")
	w := wideness{moved: c.moved(path.Dir(p))}
	return rest == restNow && (a == b || longerLine(a, b) || w.runsAsMuch(a, b, false))
}

// These compare lines of a kind, or all that matches: gains finds one that is new, loses one that is gone.

func gains(kind func() *regexp.Regexp) func(before, after []byte) bool {
	return func(before, after []byte) bool { return len(added(linesOf(kind, before), linesOf(kind, after))) > 0 }
}

func loses(kind func() *regexp.Regexp) func(before, after []byte) bool {
	return func(before, after []byte) bool {
		return len(added(found(kind, after), found(kind, before))) > 0
	}
}

// found is what matches, wherever it stands.
func found(kind func() *regexp.Regexp, content []byte) []string {
	return kind().FindAllString(string(content), -1)
}

func linesOf(kind func() *regexp.Regexp, content []byte) (out []string) {
	for _, l := range iniLines([]byte(stripXMLComments(string(content)))) {
		if l = strings.Join(strings.Fields(l), " "); kind().MatchString(l) {
			out = append(out, strings.TrimSuffix(l, ","))
		}
	}
	return out
}

// fewer reports whether something stands in a file less often than before.
func fewer(kind func() *regexp.Regexp) func(before, after []byte) bool {
	return func(before, after []byte) bool {
		return len(found(kind, after)) < len(found(kind, before))
	}
}

var (
	// mixTests are the lines of a project in Elixir that say which files hold tests, and what "test" runs.
	mixTests = lazyregexp.New(`\btest_(paths|pattern|load_filters)|(^| |\[|")test"?: [^:]`)
	// netTests are the lines of a project in .NET that take a file out, or choose among the tests.
	netTests = lazyregexp.New(`<Compile [^>]*(Remove|Exclude)=|<IsTestProject>\s*false|EnableDefault(Compile)?Items|` +
		`VSTest|RunSettingsFilePath|DefaultItemExcludes|TestingPlatformCommandLine`)
	// testProject is the file of a project of tests, as a solution names it.
	testProject  = lazyregexp.New(`(?i)[\w.]*test[\w.]*\.(cs|fs|vb)proj`)
	rspecChooses = lazyregexp.New(`--(tag|example|pattern|exclude-pattern|dry-run|only-failures|default-path|fail)|` +
		`(^| )-[etP] `)
	anyLine  = lazyregexp.New(`.`)
	sbtTests = lazyregexp.New(`Tests\.|[tT]est\s*/\s*\S*([sS]kip|test|sources|unmanaged|exclude|include)|aggregate|` +
		`excludeFilter`)
	bazelFlags = lazyregexp.New(`test_tag_filters|test_filter|build_tests_only|deleted_packages|flaky|run_under|` +
		`test_(size|timeout|lang)_filters|nobuild|test_env`)
	bazelTests = lazyregexp.New(`_test\(`)
	bazelTags  = lazyregexp.New(`"(manual|flaky|exclusive|no-sandbox)"|flaky = |target_compatible_with`)
	cmakeTests = lazyregexp.New(`(?i)\b(add_test|\w+_discover_tests|gtest_add_tests|enable_testing)\s*\(|` +
		`\binclude\s*\(\s*CTest\s*\)`)
	mesonTests = lazyregexp.New(`\b(test|benchmark)\s*\(`)
	zigTests   = lazyregexp.New(`addTest\(|dependOn\(|addRunArtifact\(`)
	swiftTests = lazyregexp.New(`\.testTarget\(`)
	swiftOut   = lazyregexp.New(`\bexclude:|\bsources:|-skip`)
	dartTests  = lazyregexp.New(`paths|filename|tags|skip|on_platform|override|timeout: none|include:`)
	gradleProp = lazyregexp.New(`(?i)skip|test|exclude|ignore`)
	antTests   = lazyregexp.New(`<(junit\w*|test|batchtest|testng|testclasses)\b`)
	antOut     = lazyregexp.New(`(haltonfailure|failonerror|haltonerror)="(false|no|off)"|` +
		`\b(unless|if|excludes?)=|<exclude`)
	yarnRuns   = lazyregexp.New(`yarnPath|plugins|path:|enableScripts`)
	pnpmRuns   = lazyregexp.New(`(?i)scriptShell|shellEmulator|ignoreScripts|nodeOptions|pnpmfile|configDependencies`)
	leinTests  = lazyregexp.New(`:test-(paths|selectors)|:aliases|"test"`)
	erlTests   = lazyregexp.New(`eunit|\bct_|alias|\btests\b|{dir`)
	duneTests  = lazyregexp.New(`\(tests?\b`)
	duneOut    = lazyregexp.New(`enabled_if|\(modules|\(dirs|data_only_dirs|vendored_dirs`)
	cabalTests = lazyregexp.New(`(?m)^test-suite `)
	nimbleTask = lazyregexp.New(`(?m)^ *exec .*|^task .*`)
)

// denoTests are the settings of Deno without what says what the project is and needs.
func denoTests(content []byte) string {
	members := packageJSON(relaxed(content)).rest
	for _, key := range strings.Fields("imports version name exports license publish lock tasks") {
		delete(members, key)
	}
	out, err := json.Marshal(members)
	if err != nil || members == nil {
		return string(content)
	}
	return canonical(out)
}

// eitherWorse joins two comparisons.
func eitherWorse(a, b func(before, after []byte) bool) func(before, after []byte) bool {
	return func(before, after []byte) bool { return a(before, after) || b(before, after) }
}
