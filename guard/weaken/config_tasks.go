package weaken

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
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
		if done[name] {
			continue
		}
		done[name] = true
		for i, was := range old[name] {
			if i >= len(now[name]) || !c.runsTask(was, now[name][i], p) {
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
}

// task is a task: a line, a list of lines, or a table with them.
type task struct {
	value any
	text  string // all of it as JSON
}

// readTasks are the tasks of a file by name, one of each table that has it.
func readTasks(file taskFile, p string, content []byte) map[string][]task {
	var root map[string]any
	if strings.HasSuffix(p, ".json") || strings.HasSuffix(p, ".jsonc") {
		if json.Unmarshal(relaxed(content), &root) != nil {
			return nil
		}
	} else if toml.Unmarshal(content, &root) != nil {
		return nil
	}
	out := map[string][]task{}
	var walk func(at any, keys []string)
	walk = func(at any, keys []string) {
		table, _ := at.(map[string]any)
		switch {
		case len(keys) == 0:
			for name, v := range table {
				if text, err := json.Marshal(v); err == nil { // no NaN of TOML
					out[name] = append(out[name], task{v, string(text)})
				}
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
	return out
}

// lines are the command lines of a task, and the rest of it that decides.
func (t task) lines() (lines []string, rest string) {
	table, ok := t.value.(map[string]any)
	if !ok {
		table = map[string]any{"run": t.value}
	}
	decisive := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		switch v := table[key]; key {
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
			} else if text, err := json.Marshal(one); err == nil {
				out = append(out, string(text)) // another task by its name, for example
			}
		}
		return out
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
