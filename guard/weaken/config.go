package weaken

import (
	"path"
	"slices"
	"strings"

	"git-ralph/guard/script"
	"git-ralph/internal/text/lazyregexp"
)

// configJudge follows the commands of the checks to the files that decide what
// they do, and compares those.
type configJudge struct {
	*judge
	files map[string]File
	seen  map[string]bool // commands and recipes that were followed already
	// linter is the linter or compiler whose settings are compared; "" = none.
	linter string
}

// configuration looks at every check command.
func (j *judge) configuration() {
	c := &configJudge{judge: j, files: map[string]File{}, seen: map[string]bool{}}
	for _, f := range j.in.Files {
		if f.changed() {
			c.files[f.Path] = f
		}
	}
	if len(c.files) == 0 {
		return
	}
	for _, line := range j.in.Commands {
		c.line(line, "", 0)
	}
}

// content is a file at the checkpoint.
func (c *configJudge) content(p string) []byte {
	if f, ok := c.files[p]; ok {
		return f.Before
	}
	if c.in.Lookup != nil {
		if b, ok := c.in.Lookup(p); ok {
			return b
		}
	}
	return nil
}

// line follows one shell line that runs in dir.
func (c *configJudge) line(line, dir string, depth int) {
	c.text(line, simpleCommand{dir: dir}, depth)
}

// text follows the commands of a line or a script. in says where it stands: its
// folder, and the script that it is.
func (c *configJudge) text(text string, in simpleCommand, depth int) {
	key := in.dir + "\x00" + in.by + "\x00" + text
	if depth > 8 || c.seen[key] {
		return
	}
	c.seen[key] = true
	commands := commandsOf(text, in.dir, in.by)
	for i, cmd := range commands {
		if len(cmd.words) > 1 && in.by == "" && i == len(commands)-1 && (cmd.words[0] == "." || cmd.words[0] == "source") {
			cmd.words = append([]string{"sh"}, cmd.words[1:]...) // its end is the end of the line
		}
		if cmd.by = in.by; in.lookedAt() && !cmd.lookedAt() {
			cmd.use, cmd.pipe = script.Output, in.pipe
		}
		filled := c.fed(cmd, commands[:i])
		if len(filled) == 0 {
			filled = []simpleCommand{cmd}
		}
		for _, cmd := range filled {
			c.tasks(cmd, depth)
			cmd, inner := cmd.unwrap()
			if strings.HasPrefix(inner, "$(…)") { // sh -c "$(cat file)"
				for _, one := range c.printed(cmd, commands[:i]) {
					c.command(simpleCommand{words: []string{"sh", one}, dir: cmd.dir, by: cmd.by, from: cmd.from}, depth)
				}
			} else if inner != "" {
				c.text(inner, cmd, depth+1)
			} else if again := c.fed(cmd, commands[:i]); len(again) > 0 && depth < 8 { // behind a wrapper
				for _, one := range again {
					c.text(quoted(one.words), one, depth+1)
				}
			} else if len(cmd.words) > 0 {
				c.command(cmd, depth)
			}
		}
	}
}

// quoted is a command as the line of a shell.
func quoted(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "' ")
	}
	return b.String()
}

func (c *configJudge) command(cmd simpleCommand, depth int) {
	w := cmd.words
	name := path.Base(w[0])
	if strings.HasPrefix(name, "python") || name == "py" || name == "pypy3" {
		c.shadows(cmd.dir)
		if i := slices.Index(w, "-m"); i > 0 && i+1 < len(w) {
			cmd.words = w[i+1:]
			c.tool(w[i+1], cmd, depth)
			module := strings.ReplaceAll(w[i+1], ".", "/")
			for _, p := range []string{module + ".py", module + "/__main__.py"} {
				if c.content(join(cmd.dir, p)) != nil {
					c.script(p, cmd, depth, false)
				}
			}
			return
		}
		name = "python"
	}
	switch name {
	case "source", ".":
		c.sourced(firstArgument(w[1:]), cmd, depth)
	case "sh", "bash", "dash", "zsh", "ksh", "ash":
		c.script(firstArgument(w[1:]), cmd, depth, strings.Contains(strings.Join(w[1:min(len(w), 3)], " "), "-e"))
	case "python", "ruby", "perl", "php", "Rscript", "lua", "tsx", "ts-node", "deno", "pwsh", "powershell", "osascript",
		"expect", "elixir", "julia":
		args := w[1:]
		if i := slices.Index(w, "-c"); i > 0 && i+1 < len(w) && name == "python" {
			c.loaded(join(cmd.dir, "(command).py"), []byte(w[i+1]), cmd.dir, depth)
			return
		}
		if name == "deno" && len(args) > 0 && (args[0] == "run" || args[0] == "test") {
			args = args[1:]
			c.parts(cmd.dir, part{names: "deno.json deno.jsonc", decides: denoTests})
		}
		c.script(firstArgument(args), cmd, depth, false)
	case "java":
		if target := firstArgument(w[1:]); strings.HasSuffix(target, ".java") {
			c.script(target, cmd, depth, false)
		}
	case "diff", "cmp":
		for _, arg := range w[1:] { // what is there already is what is expected
			if p, known := c.resolve(arg, cmd); known && !strings.HasPrefix(arg, "-") && languageOf(p) == nil {
				c.pick("", p)
			}
		}
	case "node":
		if i := slices.IndexFunc(w, func(a string) bool { return a == "-e" || a == "-p" || a == "--eval" }); i > 0 &&
			i+1 < len(w) {
			c.loaded(join(cmd.dir, "(command).js"), []byte(w[i+1]), cmd.dir, depth)
			return
		}
		c.script(firstArgument(w[1:]), cmd, depth, false)
		for i := range w {
			if (w[i] == "-r" || w[i] == "--require" || w[i] == "--import") && i+1 < len(w) {
				c.script(w[i+1], cmd, depth, false)
			}
		}
	case "go":
		c.golang(cmd)
		if len(w) > 2 && w[1] == "run" {
			target := firstArgument(w[2:])
			if strings.HasSuffix(target, ".go") {
				c.script(target, cmd, depth, false)
			} else if checkNamed(target) {
				for _, p := range c.paths() {
					if path.Dir(p) == join(cmd.dir, target) && strings.HasSuffix(p, ".go") && !IsTest(p) {
						c.pick("", p)
					}
				}
			}
		}
	case "make", "gmake", "gnumake":
		c.makefile(cmd, depth)
	case "just":
		c.justfile(cmd, depth)
	case "npm", "pnpm", "yarn", "bun":
		c.node(name, cmd, depth)
	case "task":
		c.pick(cmd.dir, "Taskfile.yml", "Taskfile.yaml", "taskfile.yml")
	case "rake":
		c.pick(cmd.dir, "Rakefile", "rakefile")
	default:
		c.tool(name, cmd, depth)
		if strings.Contains(w[0], "/") {
			c.script(w[0], cmd, depth, false)
		}
	}
}

// firstArgument is the first word that is no option.
func firstArgument(words []string) string {
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			return words[i]
		}
		switch words[i] {
		case "-r", "--require", "--import", "--loader", "-W", "-X", "-o", "-I":
			i++
		}
	}
	return ""
}

// pick compares the named files as a whole. Any change except of comments and
// layout is a finding; a new file is not.
func (c *configJudge) pick(dir string, names ...string) {
	for _, n := range names {
		p := join(dir, n)
		f, ok := c.files[p]
		if !ok || f.added() {
			continue
		}
		if f.removed() || significant(p, f.Before) != significant(p, f.After) && !c.sameDecisions(p, f) {
			c.changed(p)
		}
	}
}

// sameDecisions reports whether a change to the settings of a runner or a linter of
// JavaScript has no effect on what runs.
func (c *configJudge) sameDecisions(p string, f File) bool {
	switch lang := languageOf(p); {
	case strings.HasSuffix(p, "ignore") && c.linter != "":
		return !c.leavesMoreOut(javascript, path.Dir(p), iniLines(f.Before), iniLines(f.After))
	case strings.HasPrefix(path.Base(p), ".eslintrc") && lang == nil:
		return !c.looserJSON(path.Dir(p), f.Before, f.After)
	case lang != nil && lang.name == "js" && max(len(f.Before), len(f.After)) < maxSource:
		return !c.looserCode(p, f.Before, f.After)
	}
	return false
}

func (c *configJudge) changed(p string) { c.weaker(p, "changed check configuration %s", p) }

// weaker records that settings became weaker. If the same change upgrades the linter, it is only a
// note: the rules switched off are then mostly new ones of that version.
func (c *configJudge) weaker(p, format string, args ...any) {
	if c.linter != "" && !c.files[p].removed() && c.raised(c.linter) {
		c.note(Config, p, "", format, args...)
		return
	}
	c.find(Config, p, "", format, args...)
}

// raised reports whether the change requires another version of a linter or of one of its plugins.
func (c *configJudge) raised(linter string) bool {
	names := []string{linter}
	if jsLinters.has(linter) {
		names = []string{"eslint", `"xo"`, "stylelint", "prettier", "tslint", "biome", "tsconfig", `"typescript"`}
	}
	for _, p := range c.paths() {
		base := path.Base(p)
		if !manifests.has(base) && !strings.HasPrefix(base, "requirements") {
			continue
		}
		versions := func(content []byte) (out []string) {
			for _, l := range iniLines(content) {
				named := func(n string) bool { return strings.Contains(l, n) }
				if slices.ContainsFunc(names, named) && versionNumber().MatchString(l) {
					out = append(out, strings.Trim(l, " ,"))
				}
			}
			return out
		}
		if f := c.files[p]; len(added(versions(f.Before), versions(f.After))) > 0 {
			return true
		}
	}
	return false
}

var (
	jsLinters = set("eslint standard xo stylelint prettier commitlint oxlint markdownlint biome tsc vue-tsc tsd")
	linters   = set("ruff mypy dmypy pyright basedpyright flake8 pylint black isort eslint standard xo stylelint " +
		"prettier commitlint oxlint markdownlint biome tsc vue-tsc tsd rubocop")
	manifests     = set("package.json pyproject.toml setup.cfg setup.py tox.ini Gemfile")
	versionNumber = lazyregexp.New(`["'=~^>@] ?v?\d+(\.\d+|["'])`)
)

// significant is the part of a settings file that is no comment and no layout.
func significant(p string, content []byte) string {
	if len(content) > maxSource {
		return string(content)
	}
	if lang := languageOf(p); lang != nil {
		var b strings.Builder
		for _, t := range lex(content, lang) {
			b.WriteString(t.text)
			b.WriteByte(0)
		}
		return b.String()
	}
	base := path.Base(p)
	if strings.HasSuffix(base, ".json") || strings.HasSuffix(base, ".jsonc") || strings.HasSuffix(base, ".json5") ||
		strings.HasSuffix(base, "rc") && strings.HasPrefix(strings.TrimSpace(string(content)), "{") {
		var b strings.Builder
		for _, t := range lex(content, &language{slash: true, single: true}) {
			b.WriteString(t.text)
			b.WriteByte(0)
		}
		return b.String()
	}
	if strings.HasSuffix(base, ".xml") {
		return strings.Join(strings.Fields(stripXMLComments(string(content))), " ")
	}
	return strings.Join(iniLines(content), "\n")
}

func stripXMLComments(s string) string {
	for {
		a := strings.Index(s, "<!--")
		if a < 0 {
			return s
		}
		b := strings.Index(s[a:], "-->")
		if b < 0 {
			return s[:a]
		}
		s = s[:a] + s[a+b+3:]
	}
}

// iniLines are the lines of a file with # or ; comments, without them; the
// indentation stays, because YAML and INI mean something by it.
func iniLines(content []byte) []string {
	var out []string
	for l := range strings.Lines(string(content)) {
		l = strings.TrimRight(l, " \t\r\n")
		t := strings.TrimSpace(l)
		if t == "" || t[0] == '#' || t[0] == ';' {
			continue
		}
		if i := strings.Index(l, " #"); i >= 0 && strings.Count(l[:i], `"`)%2 == 0 && strings.Count(l[:i], "'")%2 == 0 {
			l = strings.TrimRight(l[:i], " \t")
		}
		out = append(out, l)
	}
	return out
}

// sections returns the sections of an INI or TOML file whose header begins
// with one of the prefixes, with their lines.
func sections(content []byte, prefixes ...string) string {
	var out []string
	in := false
	for _, l := range iniLines(content) {
		t := strings.TrimSpace(l)
		if strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]") && !strings.HasPrefix(l, " ") &&
			!strings.ContainsAny(t, `"',`) || strings.HasPrefix(t, "[[") {
			header := strings.Trim(t, "[] ")
			in = slices.ContainsFunc(prefixes, func(p string) bool {
				return header == p || strings.HasPrefix(header, p+".") || strings.HasPrefix(header, p+":")
			})
		}
		if in && !harmlessLine(strings.Trim(t, `"', `)) {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, "\n")
}

// harmlessLine reports whether a line of settings is a filter of warnings, or names a flag that Rust's
// code knows.
func harmlessLine(l string) bool {
	return strings.HasPrefix(l, "ignore:") || strings.HasPrefix(l, "cfg(")
}

// section compares sections of a shared file. Where there were no settings,
// narrows judges the new ones.
func (c *configJudge) section(p string, prefixes ...string) {
	f, ok := c.files[p]
	if !ok {
		return
	}
	before, after := sections(f.Before, prefixes...), sections(f.After, prefixes...)
	if before == after {
		return
	}
	// Settings that only grow make nothing weaker unless they leave something out.
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	if (before == "" || len(added(now, old)) == 0) && !narrows(strings.Join(added(old, now), "\n")) {
		return
	}
	if !c.looserSettings(before, after, path.Dir(p)) {
		return
	}
	c.changed(p)
}

// narrows reports whether new settings leave something out, by the words that
// runners and linters use.
func narrows(text string) bool {
	low := strings.ToLower(text)
	for _, w := range []string{"ignore", "exclude", "deselect", "skip", "disable", "omit", "norecursedirs",
		"collect-only", "--co ", "passwithnotests",
		"python_files", "python_functions", "python_classes", "testpathignore", "testnamepattern", "per-file",
		"allow_failure", "continue-on-error",
		"exit-zero", "issues-exit-code", "testmatch", "testregex", "addopts = \"-k", "addopts = -k", "-k ", "-m ", "-p no",
		"follow_imports", "warn_unused_ignores = false",
		"bail", "only", "\"off\"", "'off'", "strict = false", "runner", "failifnotests", "maven.test.skip", "skiptests",
		"grep\x00", "grep:", "default-filter"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// added files that would be read instead of, or before, the present ones.
func (c *configJudge) addedConfig(dir string, names ...string) {
	for _, n := range names {
		p := join(dir, n)
		if f, ok := c.files[p]; ok && f.added() && narrows(significant(p, f.After)) {
			c.find(Config, p, "", "new check configuration %s leaves something out", p)
		}
	}
}

// shadows finds modules at the root that Python would import instead of the
// runner, of the standard library, or at every start.
func (c *configJudge) shadows(dir string) {
	for _, n := range []string{"pytest", "_pytest", "unittest", "sitecustomize", "usercustomize", "mypy", "ruff",
		"pluggy", "flake8", "black", "pylint", "coverage"} {
		forms := []string{n + ".py", n + "/__init__.py", n + "/__main__.py"}
		if n != "sitecustomize" && n != "usercustomize" && slices.ContainsFunc(forms,
			func(p string) bool { return c.content(join(dir, p)) != nil }) {
			continue // the project is that module
		}
		for _, p := range forms {
			p = join(dir, p)
			if f, ok := c.files[p]; ok && !f.removed() {
				c.find(Config, p, "", "%s takes the place of a module that checks use", p)
			}
		}
	}
	for _, n := range strings.Fields(standardModules) {
		for _, p := range []string{n + ".py", n + "/__init__.py"} {
			p = join(dir, p)
			if f, ok := c.files[p]; ok && f.added() {
				c.find(Config, p, "", "%s takes the place of a module that checks use", p)
			}
		}
	}
}

// standardModules are those of Python's library that its runners import, those
// left out that the interpreter has loaded before.
const standardModules = `_collections_abc _pydecimal _strptime _weakrefset argparse ast asyncio atexit base64 bdb bisect calendar cmd code
codecs collections concurrent configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis doctest
email enum errno faulthandler fnmatch fractions functools gc getopt getpass gettext glob hashlib heapq html http importlib inspect io ipaddress
itertools json keyword linecache locale logging math mimetypes multiprocessing numbers opcode operator optparse os pathlib pdb pickle pkgutil
platform posixpath pprint queue random re reprlib runpy select selectors shlex shutil signal site socket sre_compile sre_parse ssl stat string
struct subprocess sysconfig tempfile textwrap threading time timeit token tokenize tomllib traceback types typing urllib uuid warnings weakref
xml zipfile zipimport zlib`
