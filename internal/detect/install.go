package detect

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// installs are the lines that bring programs which checks commonly need, with
// the manager that most people have.
var installs = map[string]string{
	"pnpm": "npm install -g pnpm", "yarn": "npm install -g yarn", "bun": "npm install -g bun",
	"pytest": "python3 -m pip install pytest", "tox": "python3 -m pip install tox", "nox": "python3 -m pip install nox",
	"ruff": "python3 -m pip install ruff", "mypy": "python3 -m pip install mypy", "pyright": "npm install -g pyright",
	"uv": "python3 -m pip install uv", "poetry": "python3 -m pip install poetry", "pdm": "python3 -m pip install pdm",
	"pipenv": "python3 -m pip install pipenv", "hatch": "python3 -m pip install hatch",
	"bundle": "gem install bundler", "rspec": "gem install rspec", "rake": "gem install rake",
	"golangci-lint": "go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest",
	"meson":         "python3 -m pip install meson ninja", "just": "cargo install just",
}

// Install is the line that brings a program, empty when only the system's own
// packages have it.
func Install(program string) string { return installs[program] }

// lackings are what runners say when what a project needs was not installed.
var lackings = sync.OnceValue(func() []lacking {
	return []lacking{
		{regexp.MustCompile(`No module named ['"]?([A-Za-z0-9_]+)`), "the Python module %s",
			`project.setup = ["python3 -m venv .venv", ".venv/bin/pip install -r requirements.txt"] and a check that runs ` +
				`.venv/bin/python`},
		{regexp.MustCompile(`Cannot find (?:module|package) '([^'/.][^']*)'`), "the package %s",
			`project.setup = ["npm install"]`},
		{regexp.MustCompile(`sh: (?:1: |line \d+: )?([A-Za-z0-9_-]+): (?:command )?not found`), "%s",
			`project.setup = ["npm install"] if it is one of the project's packages`},
		{regexp.MustCompile(`Could not find gem '([A-Za-z0-9_-]+)`), "the gem %s", `project.setup = ["bundle install"]`},
		{regexp.MustCompile(`vendor/bin/([a-z]+): (?:not found|No such file)`), "%s",
			`project.setup = ["composer install --no-interaction"]`},
	}
})

type lacking struct {
	in   *regexp.Regexp
	what string
	cure string
}

// Lacking reads the output of a check for what was not installed. It gives a
// sentence with the line for ralph.toml that would, empty when nothing is named.
func Lacking(output string) string {
	for _, l := range lackings() {
		if m := l.in.FindStringSubmatch(output); m != nil {
			return fmt.Sprintf(l.what, strings.TrimSpace(m[1])) + " is not installed; " + l.cure + " in ralph.toml installs it"
		}
	}
	return ""
}
