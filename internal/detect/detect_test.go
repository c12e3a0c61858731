package detect

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/internal/config"
)

// TestFile: the file that init writes is short, loads without a warning, and says
// what was found.
func TestFile(t *testing.T) {
	for _, tt := range detectTests() {
		d := In(tt.files)
		data, notes := File(d)
		if n := strings.Count(string(data), "\n"); n > MaxLines {
			t.Errorf("%s: %d lines\n%s", tt.why, n, data)
		}
		r, err := config.Load(config.Sources{Files: []config.File{{Name: config.FileName, Data: data}}})
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.why, err, data)
			continue
		}
		want := config.Default()
		want.Project.Setup = d.Setup
		want.Toolchain = d.Toolchain
		want.Toolchain.Preset = "none"
		if d.Preset != "" {
			want.Toolchain.Preset = d.Preset
		}
		for _, c := range d.Checks {
			c.Timeout, c.When = 10*time.Minute, "each"
			want.Checks = append(want.Checks, c)
		}
		if diff := cmp.Diff(want, r.Settings, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
		if len(r.Warnings) > 0 || len(notes) > 0 {
			t.Errorf("%s: warnings %q, notes %q", tt.why, r.Warnings, notes)
		}
	}
}

// TestFileLeavesOut: a check without room is named. Tests are left out last.
func TestFileLeavesOut(t *testing.T) {
	d := Found{Preset: "go", Setup: []string{"true"}}
	for i := range 7 {
		kind := []string{"test", "lint"}[i%2]
		d.Checks = append(d.Checks, config.Check{Name: fmt.Sprintf("%s-%d", kind, i), Run: "./" + kind, Kind: kind})
	}
	data, notes := File(d)
	if n := strings.Count(string(data), "\n"); n > MaxLines {
		t.Errorf("%d lines:\n%s", n, data)
	}
	if len(notes) != 3 || strings.Contains(string(data), "lint-") || strings.Count(string(data), "name = \"test-") != 4 {
		t.Errorf("notes %q\n%s", notes, data)
	}
}

func TestLacking(t *testing.T) {
	for _, tt := range []struct{ output, want string }{
		{"/usr/bin/python3: No module named pytest", "the Python module pytest is not installed"},
		{"Error: Cannot find module 'tape'\nRequire stack:", "the package tape is not installed"},
		{"Error: Cannot find module './x'", ""},
		{"sh: 1: vitest: not found", "vitest is not installed"},
		{"assertion failed", ""},
	} {
		got := Lacking(tt.output)
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%q: %q", tt.output, got)
		}
	}
}

type detectTest struct {
	why    string
	files  fstest.MapFS
	kind   string
	checks []string // name: run
	setup  string
	note   string // part of one
}

func tree(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func detectTests() []detectTest {
	return []detectTest{
		{"Go", tree("go.mod", "module x\n"), Go, []string{"vet: go vet ./...", "test: go test ./..."}, "", ""},
		{"Go with its linter configured", tree("go.mod", "module x\n", ".golangci.yml", ""), Go,
			[]string{"vet: go vet ./...", "lint: golangci-lint run", "test: go test ./..."}, "", ""},
		{"a workspace whose root is no module",
			tree("go.work", "go 1.26\nuse ./a // main\nuse (\n\t./b/c\n\t../out\n\t\"./q;rm\"\n)\n"), Go,
			[]string{"vet: go vet ./a/... ./b/c/...", "test: go test ./a/... ./b/c/..."}, "", ""},
		{"a workspace of nothing", tree("go.work", "go 1.26\n"), Go, nil, "", "names no module"},
		{"Go beside Node without tests", tree("go.mod", "module x\n", "package.json", "{}"), Go,
			[]string{"vet: go vet ./...", "test: go test ./..."}, "", "it is node, too"},
		{"Go beside Node", tree("go.mod", "module x\n", "package.json",
			`{"scripts":{"test":"jest"},"devDependencies":{"jest":"1"}}`), Go,
			[]string{"vet: go vet ./...", "test: go test ./...", "node-test: npm test"}, "npm install --no-package-lock", ""},
		{"npm with its lockfile", tree("package.json", `{"scripts":{"test":"jest","lint":"eslint .","build":"tsc"}}`,
			"package-lock.json", "{}"), Node,
			[]string{"lint: npm run lint", "test: npm test"}, "npm ci", ""},
		{"npm without one cannot install exactly", tree("package.json", `{"scripts":{"test":"jest"}}`), Node,
			[]string{"test: npm test"}, "", ""},
		{"pnpm",
			tree("package.json",
				`{"scripts":{"test":"vitest run","typecheck":"tsc --noEmit","format:check":"prettier --check ."}}`,
				"pnpm-lock.yaml", ""), Node,
			[]string{"format: pnpm run format:check", "typecheck: pnpm run typecheck", "test: pnpm test"},
			"pnpm install --frozen-lockfile", ""},
		{"packageManager says more than a stale lockfile", tree("package.json",
			`{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}`, "yarn.lock", ""), Node,
			[]string{"test: pnpm test"}, "", ""},
		{"yarn classic", tree("package.json", `{"scripts":{"test":"x","type-check":"tsc"}}`, "yarn.lock", ""), Node,
			[]string{"typecheck: yarn run type-check", "test: yarn test"}, "yarn install --frozen-lockfile", ""},
		{"yarn berry", tree("package.json", `{"scripts":{"test":"x"}}`, "yarn.lock", "", ".yarnrc.yml", ""), Node,
			[]string{"test: yarn test"}, "yarn install --immutable", ""},
		{"bun", tree("package.json", `{"scripts":{"test":"x"}}`, "bun.lock", ""), Node,
			[]string{"test: bun run test"}, "bun install --frozen-lockfile", ""},
		{"the script that npm init writes is no test", tree("package.json",
			`{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`), Node, nil, "", "no test script"},
		{"a test that watches never ends",
			tree("package.json", `{"scripts":{"test":"jest --watch","test:unit":"jest"}}`), Node,
			[]string{"test: npm run test:unit"}, "", "watches and never ends"},
		{"a broken package.json", tree("package.json", `{`), Node, nil, "", "could not be read"},
		{"scripts of no sense", tree("package.json", `{"scripts":{"test":3}}`), Node, nil, "", "no test script"},
		{"Python with uv", tree("pyproject.toml",
			"[project]\nname = \"x\"\n[dependency-groups]\ndev = [\"pytest>=8\"]\n", "uv.lock", ""), PythonUV,
			[]string{"test: uv run pytest"}, "uv sync", ""},
		{"Python with uv's own table and all the tools", tree("pyproject.toml",
			"[tool.uv]\n[tool.pytest.ini_options]\n[tool.ruff.format]\n[tool.mypy]\n"), PythonUV,
			[]string{"format: uv run ruff format --check .", "lint: uv run ruff check .", "typecheck: uv run mypy .",
				"test: uv run pytest"}, "uv sync", ""},
		{"tools among the dependencies",
			tree("pyproject.toml", "[project.optional-dependencies]\ndev = [\"Ruff\", \"pyright[nodejs]\"]\n",
				"uv.lock", ""), PythonUV,
			[]string{"lint: uv run ruff check .", "typecheck: uv run pyright", "test: uv run pytest"}, "uv sync",
			"uv add --dev pytest"},
		{"a broken pyproject.toml", tree("pyproject.toml", "[", "uv.lock", ""), PythonUV,
			[]string{"test: uv run pytest"}, "uv sync", "could not be read"},
		{"poetry", tree("pyproject.toml", "[tool.poetry]\n[tool.poetry.group.dev.dependencies]\nruff = \"*\"\n"), Python,
			[]string{"lint: poetry run ruff check .", "test: poetry run pytest"}, "poetry install", ""},
		{"pip and pytest", tree("requirements.txt", "pytest==8.1\nrequests\n", "x.py", ""), Python,
			[]string{"test: python3 -m pytest"}, "", "-r requirements.txt"},
		{"pytest named by tox.ini is run by tox", tree("tox.ini", "[testenv]\ncommands = pytest\n", "setup.py", ""), Python,
			[]string{"test: tox"}, "", ""},
		{"nox", tree("noxfile.py", "", "setup.py", ""), Python, []string{"test: nox"}, "", ""},
		{"pytest by its files", tree("setup.py", "", "tests/conftest.py", ""), Python, []string{"test: python3 -m pytest"},
			"", ""},
		{"the standard library's tests in a package",
			tree("m.py", "", "tests/__init__.py", "", "tests/test_m.py", "import unittest\n"), Python,
			[]string{"test: python3 -m unittest discover -s tests -t ."}, "", ""},
		{"in a folder", tree("m.py", "", "test/test_m.py", "import unittest\n"), Python,
			[]string{"test: python3 -m unittest discover -s test"}, "", ""},
		{"beside the module", tree("m.py", "", "test_m.py", "import unittest\n"), Python,
			[]string{"test: python3 -m unittest discover"}, "", ""},
		{"pytest by an import", tree("m.py", "", "test_m.py", "import pytest\n"), Python,
			[]string{"test: python3 -m pytest"}, "", ""},
		{"pipenv", tree("Pipfile", "[dev-packages]\npytest = \"*\"\n"), Python, []string{"test: pipenv run pytest"},
			"pipenv install --dev", ""},
		{"Python without tests", tree("setup.py", ""), Python, nil, "", "without tests"},
		{"Maven", tree("pom.xml", "", "a/pom.xml", ""), Maven, []string{"test: mvn -q -B test"}, "", ""},
		{"Gradle with its wrapper", tree("build.gradle.kts", "", "gradlew", ""), Gradle, []string{"test: ./gradlew -q test"},
			"", ""},
		{"Ruby with rspec", tree("Gemfile", "", ".rspec", "", ".rubocop.yml", ""), Ruby,
			[]string{"lint: bundle exec rubocop", "test: bundle exec rspec"}, "bundle install", ""},
		{"Ruby with a test task", tree("Rakefile", "Rake::TestTask.new\n"), Ruby, []string{"test: rake test"}, "", ""},
		{"PHP", tree("composer.json", `{"require-dev":{"phpunit/phpunit":"^10"}}`, "phpstan.neon", ""), PHP,
			[]string{"typecheck: vendor/bin/phpstan analyse --no-progress", "test: vendor/bin/phpunit"},
			"composer install --no-interaction", ""},
		{".NET", tree("x.sln", "", "x/x.csproj", ""), DotNet, []string{"test: dotnet test"}, "", ""},
		{"Elixir", tree("mix.exs", "", ".formatter.exs", ""), Elixir,
			[]string{"format: mix format --check-formatted", "test: mix test"}, "mix deps.get", ""},
		{"CMake", tree("CMakeLists.txt", "enable_testing()\n"), CMake,
			[]string{"test: cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"}, "", ""},
		{"CMake without tests", tree("CMakeLists.txt", ""), CMake,
			[]string{"build: cmake -S . -B build && cmake --build build"}, "", "registers no tests"},
		{"Meson", tree("meson.build", ""), Meson,
			[]string{"test: meson setup --reconfigure build && meson test -C build --print-errorlogs"}, "", ""},
		{"a script", tree("test.sh", "", "a.c", ""), None, []string{"test: sh test.sh"}, "", ""},
		{"a folder with a project of another kind",
			tree("go.mod", "module x\n", "web/package.json", `{"scripts":{"test":"vitest run","lint":"x"}}`,
				"web/pnpm-lock.yaml", ""), Go,
			[]string{"vet: go vet ./...", "test: go test ./...", "web-test: cd web && pnpm test"},
			"cd web && pnpm install --frozen-lockfile", ""},
		{"nothing at the root and two levels down",
			tree("services/api/go.mod", "module x\n", "services/web/package.json", `{"scripts":{"test":"x"}}`,
				"node_modules/a/package.json", `{"scripts":{"test":"x"}}`), Go,
			[]string{"services-api-test: cd services/api && go test ./...", "services-web-test: cd services/web && npm test"},
			"", ""},
		{"a workspace tests its members itself",
			tree("package.json", `{"workspaces":["a"],"scripts":{"test":"x"}}`, "a/package.json", `{"scripts":{"test":"x"}}`),
			Node,
			[]string{"test: npm test"}, "", ""},
		{"a folder whose name would need quotes", tree("a b;c/go.mod", "module x\n"), None, nil, "", "no check was found"},
		{"Rust", tree("Cargo.toml", "[package]\n"), Rust, []string{"test: cargo test"}, "", ""},
		{"a Rust workspace", tree("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n", "a/Cargo.toml", "[package]\n"), Rust,
			[]string{"test: cargo test --workspace"}, "", ""},
		{"Rust with lints and a format", tree("Cargo.toml", "[lints.clippy]\nall = \"warn\"\n", "rustfmt.toml", ""), Rust,
			[]string{"format: cargo fmt --check", "clippy: cargo clippy --all-targets", "test: cargo test"}, "", ""},
		{"Make", tree("Makefile", "CC = cc\ntest: build\n\t./run\nlint:\n\tx\ncheck := 3\n"), None,
			[]string{"lint: make lint", "test: make test"}, "", ""},
		{"just", tree("justfile", "check := \"x\"\ntest:\n  go\n"), None, []string{"test: just test"}, "", ""},
		{"a variable is no target", tree("Makefile", "test := 3\n"), None, nil, "", "no check was found"},
		{"nothing", tree("README", ""), None, nil, "", "no check was found"},
		{"a folder called go.mod", tree("go.mod/x", ""), None, nil, "", "no check was found"},
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range detectTests() {
		d := In(tt.files)
		var got []string
		for _, c := range d.Checks {
			got = append(got, c.Name+": "+c.Run)
			if c.Kind == "" {
				t.Errorf("%s: %s has no kind", tt.why, c.Name)
			}
		}
		if d.Kind != tt.kind || strings.Join(d.Setup, "\n") != tt.setup {
			t.Errorf("%s: kind %s, setup %q", tt.why, d.Kind, d.Setup)
		}
		if diff := cmp.Diff(tt.checks, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
		if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", tt.why, notes, tt.note)
		}
	}
}
