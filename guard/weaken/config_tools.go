package weaken

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// settingFiles are the settings of a tool: files of the command's folder that are compared as a
// whole, those of them whose addition counts, prefixes of names, sections of shared files
// (FILE:SECTION) and members of package.json. NAME stands for the tool. Of files with other uses
// only parts are compared.
type settingFiles struct {
	whole, new, stems, sections, members string
	parts                                []part
}

// part is what decides in files that have other uses as well.
type part struct {
	// names are patterns, below the command's folder; behind "*/" they are names in
	// every folder.
	names string
	// worse reports whether the file decides otherwise than before; decides takes out of
	// it what does.
	worse   func(before, after []byte) bool
	decides func([]byte) string
	// These are regular expressions: of lines that may not be new, of texts that may not
	// be gone, and of texts of which there may not be fewer.
	gains, loses, fewer string
	// With gone, a removed file counts as empty, else as a finding. A new one counts with new.
	gone, new bool
}

func (x part) isWorse(before, after []byte) bool {
	texts := func(pattern string, content []byte) []string {
		return regexp.MustCompile(pattern).FindAllString(string(content), -1)
	}
	lines := func(pattern string, content []byte) (out []string) {
		kind := regexp.MustCompile(pattern)
		for _, l := range iniLines([]byte(stripXMLComments(string(content)))) {
			if l = strings.Join(strings.Fields(l), " "); kind.MatchString(l) {
				out = append(out, strings.TrimSuffix(l, ","))
			}
		}
		return out
	}
	return x.worse != nil && x.worse(before, after) || x.decides != nil && x.decides(before) != x.decides(after) ||
		x.gains != "" && len(added(lines(x.gains, before), lines(x.gains, after))) > 0 ||
		x.loses != "" && len(added(texts(x.loses, after), texts(x.loses, before))) > 0 ||
		x.fewer != "" && len(texts(x.fewer, after)) < len(texts(x.fewer, before))
}

// plainLines are the lines of a file without comments.
func plainLines(content []byte) string { return strings.Join(iniLines(content), "\n") }

// haskellTests are the lines of package.yaml below "tests:" and the like.
func haskellTests(content []byte) string {
	var out []string
	in := false
	for _, l := range iniLines(content) {
		if !strings.HasPrefix(l, " ") {
			in = strings.HasPrefix(l, "test")
		}
		if in {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, "\n")
}

func settingsOf(tool string) settingFiles {
	for _, s := range toolSettings {
		if oneOf(s.tools, tool) {
			return s.settingFiles
		}
	}
	return settingFiles{}
}

// tool compares the settings that a runner, linter or compiler reads.
func (c *configJudge) tool(name string, cmd simpleCommand, depth int) {
	dir := cmd.dir
	if c.seen["replaced\x00"+name] {
		return
	}
	if linters.has(name) {
		defer func(was string) { c.linter = was }(c.linter)
		c.linter = name
	}
	if given := cmd.option("-c", "--config", "--config-file", "--rcfile", "-p", "--project",
		"--configuration"); given != "" && !strings.Contains(given, "=") && !buildTools.has(name) {
		// -c names what is compiled where settings are not written in the language.
		if lang := languageOf(given); lang == nil || lang.name == "js" || lang.name == "python" {
			c.pick(dir, given)
		}
	}
	list := func(s string) []string { return strings.Fields(strings.ReplaceAll(s, "NAME", name)) }
	s := settingsOf(name)
	c.stem(dir, list(s.stems)...)
	c.pick(dir, list(s.whole)...)
	c.addedConfig(dir, list(s.new)...)
	shared := map[string][]string{}
	for _, section := range list(s.sections) {
		file, header, _ := strings.Cut(section, ":")
		shared[file] = append(shared[file], header)
	}
	for _, file := range slices.Sorted(maps.Keys(shared)) {
		c.section(join(dir, file), shared[file]...)
	}
	c.packageKeys(dir, list(s.members)...)
	c.parts(dir, s.parts...)
	c.selects(name, dir)
	switch name {
	case "turbo", "nx", "lerna":
		c.packages(cmd, depth)
	case "pytest", "py.test":
		c.shadows(dir)
		c.takesPlace(dir, "pytest.ini", join(dir, "pyproject.toml"), "[tool.pytest")
	case "unittest", "nose2", "nose":
		c.shadows(dir)
	case "tox", "nox":
		c.wrapped(join(dir, map[string]string{"tox": "tox.ini", "nox": "noxfile.py"}[name]))
		c.anyPython(cmd, depth)
	case "invoke", "inv":
		c.script("tasks.py", cmd, depth, false)
		c.anyPython(cmd, depth)
	case "hatch", "pdm", "poetry", "uv", "rye", "pipenv":
		c.anyPython(cmd, depth)
	case "gotestsum":
		c.golang(cmd)
	case "tsc", "vue-tsc", "tsd":
		if given := cmd.option("-p", "--project"); strings.HasSuffix(given, ".json") {
			c.parts(join(dir, path.Dir(given)), tsconfig)
		}
	case "cargo", "cross":
		c.cargo()
	case "phpunit", "pest":
		c.takesPlace(dir, "phpunit.xml", join(dir, "phpunit.xml.dist"), "")
	}
}

// wrapped compares the settings of a wrapper: lines that run a runner must stay,
// and nothing may be left out. The versions and packages that it installs are the
// project's own affair.
func (c *configJudge) wrapped(p string) {
	f, ok := c.files[p]
	if !ok || f.added() {
		return
	}
	if path.Base(p) == "tox.ini" {
		old, now := toxLines(f.Before), toxLines(f.After)
		if old != now && (!(wideness{moved: c.moved(path.Dir(p))}).runsAsMuch(old, now, false) ||
			strings.Count(now, "ignore_") > strings.Count(old, "ignore_")) {
			c.changed(p)
		}
		return
	}
	old, now := iniLines(f.Before), iniLines(f.After)
	runs := func(l string) bool {
		for _, w := range []string{"pytest", "unittest", "coverage", "nose", "trial", "mypy", "ruff", "flake8", "ignore_",
			"commands"} {
			if strings.Contains(l, w) {
				return true
			}
		}
		return false
	}
	if f.removed() || slices.ContainsFunc(added(now, old), runs) ||
		slices.ContainsFunc(added(old, now), func(l string) bool {
			return runs(l) && narrows(l) ||
				strings.Contains(l, "ignore_")
		}) {
		c.changed(p)
	}
}

// buildTools are tools whose settings say what is built, not what is checked. What
// tsc checks is compared option by option.
var buildTools = set("rollup webpack vite esbuild parcel tsup babel docker docker-compose tsc vue-tsc")

// anyPython compares the settings of the runners that a wrapper may start.
func (c *configJudge) anyPython(cmd simpleCommand, depth int) {
	c.tool("pytest", cmd, depth)
	c.tool("unittest", cmd, depth)
}

// stem compares every file of a folder whose name is the stem with any ending.
func (c *configJudge) stem(dir string, stems ...string) {
	for _, p := range c.paths() {
		base := path.Base(p)
		if join("", path.Dir(p)) != dir {
			continue
		}
		for _, s := range stems {
			if base == s || strings.HasPrefix(base, s+".") {
				f := c.files[p]
				if f.added() {
					c.addedConfig(dir, base)
				} else {
					c.pick(dir, base)
				}
				break
			}
		}
	}
}

func (c *configJudge) paths() []string {
	var out []string
	for p := range c.files {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// forgivesMore reports whether more properties of CMake turn a failed test into one that passed,
// or was not run.
func forgivesMore(before, after []byte) bool {
	n := func(text []byte) (n int) {
		for _, w := range []string{"WILL_FAIL", "DISABLED", "SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION"} {
			n += strings.Count(string(text), w)
		}
		return n
	}
	return n(after) > n(before)
}

// takesPlace finds a new file that is read in place of existing settings.
func (c *configJudge) takesPlace(dir, name, other, needle string) {
	p := join(dir, name)
	if f, ok := c.files[p]; ok && f.added() {
		if old := c.content(other); old != nil && strings.Contains(string(old), needle) {
			c.find(Config, p, "", "%s takes the place of %s", p, other)
		}
	}
}

// golang looks for what `go test ./...` leaves out: folders that got a go.mod of
// their own, ignore directives, a workspace.
func (c *configJudge) golang(cmd simpleCommand) {
	if !slices.ContainsFunc(cmd.words, func(w string) bool { return w == "..." || strings.HasSuffix(w, "/...") }) {
		return
	}
	for _, p := range c.paths() {
		f := c.files[p]
		switch {
		case path.Base(p) == "go.mod" && f.added() && join("", path.Dir(p)) != cmd.dir:
			under := path.Dir(p) + "/"
			if slices.ContainsFunc(c.in.Paths, func(q string) bool { return strings.HasPrefix(q, under) && IsTest(q) }) {
				c.find(Config, p, "", "%s cuts tests off from ./...", p)
			}
		case p == join(cmd.dir, "go.mod") && !f.added():
			if more := added(goIgnores(f.Before), goIgnores(f.After)); len(more) > 0 {
				c.find(Config, p, "", "%s ignores %s", p, strings.Join(more, ", "))
			}
		case p == join(cmd.dir, "go.work") && !f.added():
			c.pick(cmd.dir, "go.work")
		}
	}
}

func goIgnores(mod []byte) []string {
	var out []string
	block := false
	for _, l := range strings.Split(string(mod), "\n") {
		l, _, _ = strings.Cut(l, "//")
		f := strings.Fields(l)
		switch {
		case len(f) == 0:
		case f[0] == ")":
			block = false
		case f[0] == "ignore" && len(f) > 1 && f[1] == "(":
			block = true
		case f[0] == "ignore" && len(f) > 1:
			out = append(out, f[1])
		case block:
			out = append(out, f[0])
		}
	}
	return out
}

// parts compares what decides in files that have other uses as well.
func (c *configJudge) parts(dir string, parts ...part) {
	for _, p := range c.paths() {
		f := c.files[p]
		for _, x := range parts {
			found := slices.ContainsFunc(strings.Fields(x.names), func(n string) bool {
				base, everywhere := strings.CutPrefix(n, "*/")
				return everywhere && matches(base, path.Base(p)) || !everywhere && matches(join(dir, n), p)
			})
			if !found || f.added() && !x.new {
				continue
			}
			if f.removed() && !x.gone || x.isWorse(f.Before, f.After) {
				c.changed(p)
			}
		}
	}
}

func matches(pattern, p string) bool { ok, _ := path.Match(pattern, p); return ok }

// cargo compares manifests: what decides which Rust tests and lints run.
func (c *configJudge) cargo() {
	for _, p := range c.paths() {
		if f := c.files[p]; path.Base(p) != "Cargo.toml" || f.added() || f.removed() {
			continue
		} else if cargoTests(f.Before) != cargoTests(f.After) {
			c.changed(p)
			continue
		}
		c.section(p, "lints", "workspace.lints", "profile.test")
	}
}

// cargoTests are the lines of a manifest that take tests or packages away.
func cargoTests(content []byte) string {
	var out []string
	header := ""
	for _, l := range iniLines(content) {
		t := strings.ReplaceAll(strings.TrimSpace(l), " ", "")
		if strings.HasPrefix(t, "[") {
			header = t
		}
		for _, w := range []string{"test=false", "doctest=false", "harness=", "autotests=", "required-features=",
			"default-members=", "exclude="} {
			shown := header == "[[example]]" || header == "[[bench]]"
			if strings.HasPrefix(t, w) && !shown && !(header == "[[bin]]" && w == "required-features=") {
				out = append(out, header+t)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func cargoRunners(content []byte) string {
	var out []string
	for _, l := range iniLines(content) {
		t := strings.TrimSpace(l)
		for _, w := range []string{"runner", "rustflags", "rustc", "rustc-wrapper", "rustdoc", "[alias", "test", "[env"} {
			if strings.HasPrefix(t, w) {
				out = append(out, t)
			}
		}
	}
	return strings.Join(out, "\n")
}

// worsePom compares the parts of a build file that decide about tests. Further
// modules are further tests.
func worsePom(before, after []byte) bool {
	old, now := strings.Split(pomTests(before), "\n"), strings.Split(pomTests(after), "\n")
	module := func(l string) bool { return l == "" || strings.HasPrefix(l, "module ") }
	return len(added(now, old)) > 0 || slices.ContainsFunc(added(old, now), func(l string) bool { return !module(l) })
}

func pomTests(content []byte) string {
	s := stripXMLComments(string(content))
	var out []string
	for rest := s; ; {
		a := strings.Index(rest, "<plugin>")
		if a < 0 {
			break
		}
		b := strings.Index(rest[a:], "</plugin>")
		if b < 0 {
			break
		}
		block := rest[a : a+b]
		if strings.Contains(block, "surefire") || strings.Contains(block, "failsafe") ||
			strings.Contains(block, "checkstyle") || strings.Contains(block, "spotbugs") || strings.Contains(block, "jacoco") {
			out = append(out, strings.Join(strings.Fields(block), " "))
		}
		rest = rest[a+b:]
	}
	for _, word := range []string{"skipTests", "maven.test.skip", "testFailureIgnore", "maven.test.failure.ignore",
		"testSourceDirectory", "skipITs", "surefire.excludes", "<groups>", "<excludedGroups>",
		"<test>", "<it.test>", "failIfNo"} {
		for rest := s; ; {
			i := strings.Index(rest, word)
			if i < 0 {
				break
			}
			out = append(out, strings.Join(strings.Fields(rest[i:min(len(rest), i+60)]), " "))
			rest = rest[i+len(word):]
		}
	}
	for _, m := range strings.Split(s, "<module>")[1:] {
		name, _, _ := strings.Cut(m, "</module>")
		out = append(out, "module "+strings.TrimSpace(name))
	}
	return strings.Join(out, "\n")
}

// gradleTests are the test blocks of a build file.
func gradleTests(content []byte) string {
	var out []string
	var walk func([]node)
	walk = func(list []node) {
		for i, n := range list {
			word := at(list, i)
			if strings.Contains(strings.ToLower(word), "test") && !strings.Contains(word, "mplementation") &&
				!strings.Contains(word, "untime") {
				for k := i + 1; k < min(len(list), i+8); k++ {
					if list[k].open == '{' {
						out = append(out, word+text(list[k].kids))
						break
					}
					if k > i+1 && list[k].first {
						break
					}
				}
			}
			if word == "enabled" || word == "onlyIf" || word == "ignoreFailures" || word == "exclude" || word == "include" {
				out = append(out, text(list[i:min(len(list), i+5)]))
			}
			if n.open != 0 {
				walk(n.kids)
			}
		}
	}
	walk(tree(lex(content, &language{slash: true, triple: true, single: true})))
	return strings.Join(out, "\n")
}
