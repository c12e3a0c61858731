package detect

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

func golang(f *folder) {
	f.out.Preset = "go"
	pattern := "./..."
	if !f.has("go.mod") {
		// The root of a workspace is not a module: ./... finds nothing there.
		var modules []string
		for _, dir := range workspaceDirs(f.read("go.work")) {
			modules = append(modules, "./"+path.Join(dir, "..."))
		}
		if len(modules) == 0 {
			f.note("go.work names no module, so there is nothing to test yet")
			return
		}
		pattern = strings.Join(modules, " ")
		f.out.Toolchain.Test = "go test " + pattern
		f.out.Toolchain.Lint = "go vet " + pattern
		f.out.Toolchain.Typecheck = "go vet " + pattern
	}
	f.check("vet", "go vet "+pattern, "typecheck")
	if f.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
		f.check("lint", "golangci-lint run", "lint")
	}
	f.test("go test " + pattern)
}

// workspaceDirs are the directories of the use directives of a go.work file.
func workspaceDirs(text string) []string {
	var dirs []string
	block := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case block && words[0] == ")":
			block = false
		case block:
			dirs = append(dirs, words[0])
		case words[0] == "use" && len(words) > 1 && words[1] == "(":
			block = true
		case words[0] == "use" && len(words) > 1:
			dirs = append(dirs, words[1])
		}
	}
	// Quoted names and those outside the repository are left to the user.
	return slices.DeleteFunc(dirs, func(d string) bool {
		return !plainPath(d) || strings.HasPrefix(path.Clean(d), "..") || path.IsAbs(d)
	})
}

func rust(f *folder) {
	f.out.Preset = "rust"
	manifest := decodeTOML(f.read("Cargo.toml"))
	all := ""
	if dig(manifest, "workspace") != nil {
		all = " --workspace"
	}
	if f.has("rustfmt.toml", ".rustfmt.toml") {
		f.check("format", "cargo fmt --check", "format")
	}
	if f.has("clippy.toml", ".clippy.toml") || dig(manifest, "lints", "clippy") != nil ||
		dig(manifest, "workspace", "lints", "clippy") != nil {
		f.check("clippy", "cargo clippy --all-targets"+all, "lint")
	}
	f.test("cargo test" + all)
}

func maven(f *folder) {
	run := "mvn"
	if f.has("mvnw") {
		run = "./mvnw"
	}
	f.test(run + " -q -B test")
}

func gradle(f *folder) {
	run := "gradle"
	if f.has("gradlew") {
		run = "./gradlew"
	}
	f.test(run + " -q test")
}

func ruby(f *folder) {
	bundle := ""
	if f.has("Gemfile") {
		bundle = "bundle exec "
		f.out.Setup = []string{"bundle install"}
	}
	if f.has(".rubocop.yml") {
		f.check("lint", bundle+"rubocop", "lint")
	}
	rake := f.read("Rakefile")
	switch {
	case f.has("bin/rails") && f.hasDir("test"):
		f.test("bin/rails test")
	case f.has(".rspec") || f.hasDir("spec"):
		f.test(bundle + "rspec")
	case strings.Contains(rake, "TestTask") || rakeTest().MatchString(rake):
		f.test(bundle + "rake test")
	default:
		f.note("the Ruby project has no spec folder and no test task")
	}
}

var rakeTest = lazyregexp.New(`(?m)^\s*task[ (]+:?["']?test\b`)

func php(f *folder) {
	var pkg struct {
		Scripts    map[string]any `json:"scripts"`
		RequireDev map[string]any `json:"require-dev"`
	}
	if f.has("composer.json") {
		f.out.Setup = []string{"composer install --no-interaction"}
		if err := json.Unmarshal([]byte(f.read("composer.json")), &pkg); err != nil {
			f.note("composer.json could not be read, so its scripts are not used")
		}
	}
	if f.has("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon") {
		f.check("typecheck", "vendor/bin/phpstan analyse --no-progress", "typecheck")
	}
	switch {
	case pkg.Scripts["test"] != nil:
		f.test("composer test")
	case pkg.RequireDev["pestphp/pest"] != nil:
		f.test("vendor/bin/pest")
	case f.has("phpunit.xml", "phpunit.xml.dist") || pkg.RequireDev["phpunit/phpunit"] != nil:
		f.test("vendor/bin/phpunit")
	default:
		f.note("the PHP project names no tests")
	}
}

func dotNet(f *folder) { f.test("dotnet test") }

func elixir(f *folder) {
	f.out.Setup = []string{"mix deps.get"}
	if f.has(".formatter.exs") {
		f.check("format", "mix format --check-formatted", "format")
	}
	if f.has(".credo.exs") {
		f.check("lint", "mix credo", "lint")
	}
	f.test("mix test")
}

func cmake(f *folder) {
	if !f.mentions([]string{"CMakeLists.txt", "tests/CMakeLists.txt", "test/CMakeLists.txt"},
		[]string{"enable_testing", "include(CTest)", "add_test", "gtest_discover_tests", "catch_discover_tests"}) {
		f.check("build", "cmake -S . -B build && cmake --build build", "test")
		f.note("CMakeLists.txt registers no tests, so the build alone is checked")
		return
	}
	f.test("cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure")
}

func meson(f *folder) {
	f.test("meson setup --reconfigure build && meson test -C build --print-errorlogs")
}

// The targets that are offered where a project has none of the known kinds, or
// one without tests.
var (
	makeTarget = lazyregexp.New(`(?m)^(test|tests|check|lint)[ \t]*:($|[^=])`)
	justRecipe = lazyregexp.New(`(?m)^@?(test|tests|check|lint)[ \t]*:($|[^=])`)
)

// scripts looks for the usual entry points of a project of no known kind.
func scripts(f *folder) {
	for _, tool := range []struct {
		command string
		files   []string
		targets *regexp.Regexp
	}{
		{"make", []string{"GNUmakefile", "makefile", "Makefile"}, makeTarget()},
		{"just", []string{"justfile", "Justfile", ".justfile"}, justRecipe()},
	} {
		for _, file := range tool.files {
			targets := map[string]bool{}
			for _, m := range tool.targets.FindAllStringSubmatch(f.read(file), -1) {
				targets[m[1]] = true
			}
			if targets["lint"] {
				f.check("lint", tool.command+" lint", "lint")
			}
			for _, name := range []string{"test", "tests", "check"} {
				if targets[name] {
					f.test(tool.command + " " + name)
					break
				}
			}
			if len(f.out.Checks) > 0 {
				return
			}
		}
	}
	for _, file := range []string{"test.sh", "run_tests.sh", "run-tests.sh", "tests/run.sh", "test/run.sh",
		"scripts/test.sh", "script/test", "bin/test"} {
		if f.has(file) {
			f.test("sh " + file)
			return
		}
	}
}
