package weaken

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzPaths give the fuzzer every reader and every settings file.
func fuzzPaths() []string {
	return []string{"a_test.go", "tests/test_a.py", "conftest.py", "a.test.ts", "src/lib.rs", "tests/a.rs",
		"src/test/java/ATest.java",
		"spec/a_spec.rb", "test/a.cc", "t.sh", "Makefile", "justfile", "package.json", "tsconfig.json", "pyproject.toml",
		"pom.xml",
		"build.gradle", "go.mod", "Cargo.toml", "vite.config.ts", ".github/workflows/x.yml", "a.snap",
		"composer.json", "deno.json", "pixi.toml", "tox.toml", "mix.exs", "a.csproj", "App.sln", "BUILD", "meson.build",
		"Package.swift", "bunfig.toml", "vitest.config.ts", ".mocharc.yml", "pyproject.toml", "packages/a/package.json"}
}

func fuzzCommands() []string {
	return []string{"sh t.sh", "make test", "just test", "npm test", "npx tsc", "pytest", "mvn test", "gradle test",
		"go test ./...", "cargo test", "vitest", "python -m mypy",
		"composer test", "deno task test", "pixi run test", "tox", "mix test", "dotnet test", "bazel test //...",
		"meson test", "swift test", "bun test", "mocha", "poe test", "pnpm -r test"}
}

// FuzzJudge gives both sides of a file any contents. Judge must return, must answer
// the same twice, and must find nothing without a change.
func FuzzJudge(f *testing.F) {
	for i, seed := range []string{goTwo, pyTwo, "collect_ignore = []", jsTwo, rsTwo, rsInner, javaTwo,
		"describe do\nend", "TEST(a, b) {}", "set -e\ntrue",
		"test:\n\ttrue\n", "test:\n  true\n", `{"scripts":{"test":"x"}}`, `{"compilerOptions":{}}`, "[tool.pytest]\na = 1",
		"<plugin>surefire</plugin>",
		"test { }", "module x", "[lib]\ntest = false", "export default { test: {} }", "on: push", "exports[`a`]",
		`{"scripts":{"test":["a","@b"],"b":"x"}}`, `{"tasks":{"test":{"command":"a"}}}`, "[tasks]\ntest = {cmd = \"a\"}",
		"[env_run_base]\ncommands = [[\"a\"]]", "test_paths: [\"a\"]", "<Compile Remove=\"a\" />", "\"a.Tests.csproj\"",
		"py_test(", "test('a', b)", ".testTarget(", "[test]\nroot = \"a\"", "test: { include: ['{a,b}/**/*.@(c|d)'] }",
		"spec:\n  - a", "[tool.pytest.ini_options]\ntestpaths = [\"a\"]", `{"scripts":{"test":"jest"}}`} {
		f.Add(uint8(i), []byte(seed), []byte(""))
		f.Add(uint8(i), []byte(seed), []byte(seed[:len(seed)/2]))
		f.Add(uint8(i), []byte("((((\"'`/*"), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, which uint8, before, after []byte) {
		paths := fuzzPaths()
		p := paths[int(which)%len(paths)]
		in := Input{Files: []File{{Path: p, Before: before, After: after}}, Commands: fuzzCommands(),
			Paths: []string{"test/a.test.ts", "tests/test_a.py", "packages/a/package.json"}}
		one := Judge(in)
		if diff := cmp.Diff(one, Judge(in)); diff != "" {
			t.Errorf("two answers:\n%s", diff)
		}
		if rep := Judge(Input{Files: []File{{Path: p, Before: before, After: bytes.Clone(before)}},
			Commands: fuzzCommands()}); len(rep.Findings) > 0 {
			t.Errorf("no change, but %v", rep.Findings)
		}
		in.Overlay()
	})
}

// FuzzMove moves a test file unchanged: its tests must be found again.
func FuzzMove(f *testing.F) {
	for i, seed := range []string{goTwo, goTable, pyTwo, pyUnit, jsTwo, jsEach, rsInner, javaTwo} {
		f.Add(uint8(i), []byte(seed))
	}
	pairs := [][2]string{{"a_test.go", "b/c_test.go"}, {"tests/test_a.py", "tests/unit/test_b.py"},
		{"a.test.js", "src/__tests__/b.spec.js"},
		{"tests/a.rs", "tests/b.rs"}, {"src/test/java/ATest.java", "src/test/java/b/BTest.java"},
		{"spec/a_spec.rb", "spec/b_spec.rb"}}
	f.Fuzz(func(t *testing.T, which uint8, content []byte) {
		p := pairs[int(which)%len(pairs)]
		rep := Judge(Input{Files: []File{{Path: p[0], Before: content}, {Path: p[1], After: content}}})
		if len(rep.Findings) > 0 {
			t.Errorf("a moved file: %v", rep.Findings)
		}
	})
}

// FuzzParseRun gives the parsers of test output anything.
func FuzzParseRun(f *testing.F) {
	f.Add([]byte("--- FAIL: TestA (0.00s)\nFAIL\tx\t0.1s\n"))
	f.Add([]byte("FAILED a.py::t - x\n== 1 passed ==\n"))
	f.Add([]byte("TAP version 13\nnot ok 1 - a\n"))
	f.Add([]byte("  1 passing\n\n  1) a\n       b:\n"))
	f.Add([]byte("ℹ tests 1\n✖ a/b.js\n"))
	f.Add([]byte("Test Suites: 1\nFAIL a.js\n  ● a › b\n"))
	f.Add([]byte("[ERROR] A.b <<< FAILURE!\n > x() FAILED\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		r := ParseRun(out, 1)
		JudgeOldTests(Judge(Input{Files: []File{{Path: "a_test.go", Before: []byte(goTwo), After: []byte("package a")}}}),
			r, &r)
	})
}
