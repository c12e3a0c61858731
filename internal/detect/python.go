package detect

import (
	"io/fs"
	"path"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// usesUV says that the project is Python and managed by uv.
func usesUV(f *folder) bool {
	return f.has("uv.lock", "uv.toml") || dig(decodeTOML(f.read("pyproject.toml")), "tool", "uv") != nil
}

// isPython says that the project is Python, managed by something else or by
// nothing.
func isPython(f *folder) bool {
	return !usesUV(f) && (f.has("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "Pipfile",
		"pytest.ini", "conftest.py") ||
		f.any("requirements*.txt", "test_*.py", "tests/test_*.py", "test/test_*.py", "tests/*_test.py", "test/*_test.py"))
}

// pythonFiles is what the files of a Python project say about its tools.
type pythonFiles struct {
	*folder
	py       map[string]any // pyproject.toml
	packages map[string]bool
}

func readPython(f *folder) pythonFiles {
	p := pythonFiles{folder: f, py: decodeTOML(f.read("pyproject.toml")), packages: map[string]bool{}}
	for _, from := range [][]string{{"project", "dependencies"}, {"project", "optional-dependencies"},
		{"dependency-groups"},
		{"tool", "uv", "dev-dependencies"}} {
		collectPackages(p.packages, dig(p.py, from...))
	}
	for _, from := range [][]string{{"tool", "poetry", "dependencies"}, {"tool", "poetry", "dev-dependencies"},
		{"tool", "poetry", "group", "dev", "dependencies"}, {"tool", "poetry", "group", "test", "dependencies"}} {
		collectKeys(p.packages, dig(p.py, from...))
	}
	pipfile := decodeTOML(f.read("Pipfile"))
	collectKeys(p.packages, dig(pipfile, "packages"))
	collectKeys(p.packages, dig(pipfile, "dev-packages"))
	for _, file := range requirementFiles(f) {
		for line := range strings.Lines(f.read(file)) {
			p.packages[strings.ToLower(packageName().FindString(strings.TrimSpace(line)))] = true
		}
	}
	delete(p.packages, "")
	return p
}

func requirementFiles(f *folder) (names []string) {
	found, _ := fs.Glob(f.fsys, path.Join(f.dir, "requirements*.txt"))
	for _, name := range found {
		names = append(names, path.Base(name))
	}
	return names
}

// tools are the checks beside the tests, with the command that runs a program
// of the project's environment before each.
func (p pythonFiles) tools(run string) {
	if dig(p.py, "tool", "ruff", "format") != nil {
		p.check("format", run+"ruff format --check .", "format")
	} else if dig(p.py, "tool", "black") != nil {
		p.check("format", run+"black --check .", "format")
	}
	switch {
	case p.packages["ruff"] || dig(p.py, "tool", "ruff") != nil || p.has("ruff.toml", ".ruff.toml"):
		p.check("lint", run+"ruff check .", "lint")
	case p.has(".flake8") || p.mentions([]string{"setup.cfg", "tox.ini"}, []string{"[flake8]"}):
		p.check("lint", run+"flake8", "lint")
	}
	switch {
	case p.packages["mypy"] || dig(p.py, "tool", "mypy") != nil || p.has("mypy.ini", ".mypy.ini"):
		p.check("typecheck", run+"mypy .", "typecheck")
	case p.packages["pyright"] || dig(p.py, "tool", "pyright") != nil || p.has("pyrightconfig.json"):
		p.check("typecheck", run+"pyright", "typecheck")
	}
}

// usesPytest says that something names pytest.
func (p pythonFiles) usesPytest() bool {
	return p.packages["pytest"] || dig(p.py, "tool", "pytest") != nil ||
		p.has("pytest.ini", "conftest.py", "tests/conftest.py", "test/conftest.py") ||
		p.mentions([]string{"setup.cfg", "tox.ini", "setup.py", "noxfile.py"}, []string{"pytest"}) ||
		p.inTests("import pytest")
}

// testFiles are files that look like tests, at the root and in the usual folders.
func (p pythonFiles) testFiles() (names []string) {
	for _, pattern := range []string{"test_*.py", "*_test.py", "tests/test_*.py", "tests/*_test.py", "test/test_*.py",
		"test/*_test.py", "tests/*/test_*.py"} {
		found, _ := fs.Glob(p.fsys, path.Join(p.dir, pattern))
		names = append(names, found...)
	}
	return names
}

func (p pythonFiles) inTests(text string) bool {
	for i, name := range p.testFiles() {
		if i == 20 {
			break
		}
		root := folder{fsys: p.fsys, dir: "."}
		if strings.Contains(root.read(name), text) {
			return true
		}
	}
	return false
}

func pythonUV(f *folder) {
	f.out.Preset, f.out.Setup = "python-uv", []string{"uv sync"}
	p := readPython(f)
	if p.py == nil {
		f.note("pyproject.toml could not be read, so only pytest is a check")
	}
	p.tools("uv run ")
	if p.packages["pyright"] && !p.packages["mypy"] {
		f.out.Toolchain.Typecheck = "uv run pyright"
	}
	f.test("uv run pytest")
	if p.py != nil && !p.usesPytest() {
		f.note("pytest is not among the dependencies; uv add --dev pytest")
	}
}

// python is for every other manager: each runs programs in its own way, and
// pip's way is that they are there.
func python(f *folder) {
	p := readPython(f)
	run, setup := "python3 -m ", ""
	switch {
	case f.has("poetry.lock") || dig(p.py, "tool", "poetry") != nil:
		run, setup = "poetry run ", "poetry install"
	case f.has("pdm.lock") || dig(p.py, "tool", "pdm") != nil:
		run, setup = "pdm run ", "pdm install"
	case f.has("Pipfile"):
		run, setup = "pipenv run ", "pipenv install --dev"
	case dig(p.py, "tool", "hatch", "envs") != nil:
		run = "hatch run "
	}
	if setup != "" {
		f.out.Setup = []string{setup}
	}
	pip := run == "python3 -m "
	if !pip {
		p.tools(run)
	}
	switch {
	case pip && f.has("tox.ini"):
		f.test("tox")
	case pip && f.has("noxfile.py"):
		f.test("nox")
	case p.usesPytest():
		if pip {
			p.tools(run)
		}
		f.test(run + "pytest")
	case len(p.testFiles()) > 0:
		f.test(unittest(p, run))
	case pip:
		f.note("this is Python without tests that could be found")
	default:
		f.test(run + "pytest")
	}
	if pip && len(p.packages) > 0 && len(f.out.Checks) > 0 {
		f.note("the packages of the project must be there when the checks run; if they are not, " + pipSetup(f))
	}
}

// pipSetup is the line that installs what a project without a manager needs.
func pipSetup(f *folder) string {
	what := ""
	for _, name := range requirementFiles(f) {
		what += " -r " + name
	}
	if f.has("pyproject.toml", "setup.py") {
		what += " -e ."
	}
	return `set project.setup = ["python3 -m venv .venv", ".venv/bin/pip install` + what +
		`"] and run the checks with .venv/bin/python`
}

// unittest is the command that runs tests of the standard library's framework.
func unittest(p pythonFiles, run string) string {
	if run != "python3 -m " {
		run += "python -m "
	}
	command := run + "unittest discover"
	files := p.testFiles()
	if dir := path.Dir(strings.TrimPrefix(files[0], p.dir+"/")); dir != "." {
		command += " -s " + strings.SplitN(dir, "/", 2)[0]
		if p.has(dir + "/__init__.py") {
			command += " -t ."
		}
	}
	if strings.HasSuffix(files[0], "_test.py") && !strings.HasPrefix(path.Base(files[0]), "test") {
		command += " -p '*_test.py'"
	}
	return command
}

var packageName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*`)

// collectPackages gathers the names of requirements from lists, or tables of lists.
func collectPackages(into map[string]bool, v any) {
	switch v := v.(type) {
	case string:
		into[strings.ToLower(packageName().FindString(v))] = true
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				collectPackages(into, text)
			}
		}
	case map[string]any:
		for _, list := range v {
			if items, ok := list.([]any); ok {
				collectPackages(into, items)
			}
		}
	}
}

// collectKeys gathers the names of a table of requirements.
func collectKeys(into map[string]bool, v any) {
	table, _ := v.(map[string]any)
	for name := range table {
		into[strings.ToLower(name)] = true
	}
}
