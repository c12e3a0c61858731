package config

import (
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// decodeTOML reads a file of another tool; nil when it is broken, which is
// that tool's to say.
func decodeTOML(text string) map[string]any {
	var m map[string]any
	if err := toml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &m); err != nil {
		return nil
	}
	return m
}

// dig goes down tables; nil when one is missing.
func dig(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// usesUV says that the project is Python and managed by uv.
func (p *project) usesUV() bool {
	if !p.has("pyproject.toml") {
		return false
	}
	return p.has("uv.lock", "uv.toml") || dig(decodeTOML(p.read("pyproject.toml")), "tool", "uv") != nil
}

func (p *project) python() {
	p.out.Kind, p.out.Preset = KindPythonUV, "python-uv"
	p.out.Setup = []string{"uv sync"}
	py := decodeTOML(p.read("pyproject.toml"))
	if py == nil {
		p.note("pyproject.toml could not be read, so only pytest is a check")
	}
	packages := map[string]bool{}
	collectPackages(packages, dig(py, "project", "dependencies"))
	collectPackages(packages, dig(py, "project", "optional-dependencies"))
	collectPackages(packages, dig(py, "dependency-groups"))
	collectPackages(packages, dig(py, "tool", "uv", "dev-dependencies"))

	if dig(py, "tool", "ruff", "format") != nil {
		p.check("format", "uv run ruff format --check .", "format")
	}
	if packages["ruff"] || dig(py, "tool", "ruff") != nil || p.has("ruff.toml", ".ruff.toml") {
		p.check("lint", "uv run ruff check .", "lint")
	}
	switch {
	case packages["mypy"] || dig(py, "tool", "mypy") != nil || p.has("mypy.ini", ".mypy.ini"):
		p.check("typecheck", "uv run mypy .", "typecheck")
	case packages["pyright"] || dig(py, "tool", "pyright") != nil || p.has("pyrightconfig.json"):
		p.check("typecheck", "uv run pyright", "typecheck")
		p.out.Toolchain.Typecheck = "uv run pyright"
	}
	p.check("test", "uv run pytest", "test")
	if py != nil && !packages["pytest"] && dig(py, "tool", "pytest") == nil && !p.has("pytest.ini", "conftest.py") {
		p.note("pytest is not among the dependencies; uv add --dev pytest")
	}
}

var packageName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*`) })

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
