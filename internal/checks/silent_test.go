//go:build unix

package checks

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// TestSilentRunners has real runners select one test or none. Their output is discarded by a script
// that starts them by their own path, or by a reporter without numbers. Missing runners are skipped.
// RALPH_TEST_NODE_MODULES names a folder with jest, vitest and mocha.
func TestSilentRunners(t *testing.T) {
	modules := os.Getenv("RALPH_TEST_NODE_MODULES")
	const (
		python = "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n"
		golang = "package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n"
		node   = "const { test } = require('node:test');\ntest('test_a', () => {});\ntest('test_b', () => {});\n"
		js     = "describe('x', () => { it('test_a', () => {}); it('test_b', () => {}); });\n"
		vitest = "import { test } from 'vitest'; test('test_a', () => {}); test('test_b', () => {});\n"
		rust   = "#[test]\nfn test_a() {}\n#[test]\nfn test_b() {}\n"
	)
	type row struct {
		name, program string // the required program; below modules if it begins with ./
		file, text    string
		line          string // PROGRAM is its own path, NAME what selects tests
	}
	for _, c := range long.Sample(t, []row{
		{"unittest", "python3", "test_p.py", python, "PROGRAM -m unittest -k NAME"},
		{"unittest of a file", "python3", "test_p.py", python + "\nunittest.main(verbosity=0)\n",
			"PROGRAM test_p.py -k NAME"},
		{"pytest", "/usr/bin/pytest", "test_p.py", python, "PROGRAM -k NAME || test $? = 5"},
		{"pytest, a module", "/usr/bin/pytest", "test_p.py", python, "/usr/bin/python3 -m pytest -qq -k NAME || test $? = 5"},
		{"go test", "go", "p_test.go", golang, "PROGRAM test -run NAME ./..."},
		{"cargo test", "cargo", "tests/p.rs", rust, "PROGRAM test -q NAME"},
		{"node --test", "node", "p.test.js", node, "PROGRAM --test --test-name-pattern=NAME p.test.js"},
		{"node --test, dots", "node", "p.test.js", node,
			"PROGRAM --test --test-reporter=dot --test-name-pattern NAME p.test.js >&3"},
		{"Jest", "./jest", "p.test.js", js, "PROGRAM --passWithNoTests -t NAME"},
		{"Jest, no reporter", "./jest", "p.test.js", js, "PROGRAM --reporters=./none.js --passWithNoTests -t NAME >&3"},
		{"Vitest", "./vitest", "p.test.mjs", vitest, "PROGRAM run --passWithNoTests -t NAME"},
		{"Mocha", "./mocha", "p.test.js", js, "PROGRAM -R dot p.test.js -g NAME"},
		{"PHPUnit", "phpunit", "PTest.php", "<?php\nclass PTest extends PHPUnit\\Framework\\TestCase {\n" +
			"function test_a() { $this->assertTrue(true); }\nfunction test_b() { $this->assertTrue(true); }\n}\n",
			"PROGRAM --filter NAME PTest.php"},
		{"RSpec", "rspec", "p_spec.rb", "describe('x') { it('test_a') {}; it('test_b') {} }\n", "PROGRAM -e NAME p_spec.rb"},
		{"RSpec, failures alone", "/usr/bin/rspec", "p_spec.rb", "describe('x') { it('test_a') {}; it('test_b') {} }\n",
			"/usr/bin/ruby /usr/bin/rspec -f failures -e NAME p_spec.rb >&3"},
	}, 4) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := c.program
			if strings.HasPrefix(program, "./") {
				program = filepath.Join(cmp.Or(modules, "/nowhere"), ".bin", program[2:])
			}
			program, err := exec.LookPath(program)
			if err != nil {
				t.Skipf("there is no %s", c.program)
			}
			r := runner(t)
			r.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "CARGO_TARGET_DIR="+filepath.Join(r.Dir, "target"))
			if modules != "" {
				if err := os.Symlink(modules, filepath.Join(r.Dir, "node_modules")); err != nil {
					t.Fatal(err)
				}
			}
			write := func(name, text string) {
				t.Helper()
				p := filepath.Join(r.Dir, name)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(c.file, c.text)
			write("go.mod", "module p\n")
			write("package.json", "{}")
			write("none.js", "module.exports = class {};\n")
			write("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
			write("src/lib.rs", "")
			run := func(name string) Result {
				if c.file == "p_test.go" {
					name = strings.Replace(name, "test_a", "TestA", 1)
				}
				line := strings.NewReplacer("PROGRAM", program, "NAME", name).Replace(c.line)
				write("prove.sh", "exec 3>&1 >/dev/null 2>&1\n"+line+"\n")
				res, err := r.Once(context.Background(), Check{Name: "x", Run: "sh prove.sh", Kind: Criterion,
					Timeout: 2 * time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				return res
			}
			if res := run("test_a"); !res.Passed || res.Tests == nil || *res.Tests != 1 {
				t.Errorf("one of two tests: passed %v, %v tests; %s", res.Passed, res.Tests, res.Output)
			}
			if res := run("nope"); !res.NoTests {
				t.Errorf("none of two tests: passed %v, %v tests; %s", res.Passed, res.Tests, res.Output)
			}
		})
	}
}

// TestSilentSuite: the tests of a suite without output are counted like those of one with output.
// For Maven and Gradle the reports are read.
func TestSilentSuite(t *testing.T) {
	const report = "<testsuite><testcase name='a'/><testcase name='b'/><testcase name='c'><skipped/></testcase>"
	write := func(folder string) string {
		return "mkdir -p " + folder + " && echo \"" + report + "\" > " + folder + "/TEST-t.PTest.xml\n"
	}
	surefire := write("a/target/surefire-reports")
	two, gone := 2, -1
	for why, c := range map[string]struct {
		run, script, before string // the script is the program that is run
		kind                Kind
		tests               *int
	}{
		"Maven":                       {run: "mvn -q test", script: surefire, tests: &two},
		"Maven, its own program":      {run: "./mvnw -q verify", script: write("target/failsafe-reports"), tests: &two},
		"Maven, a report of before":   {run: "mvn -q test", before: surefire},
		"Maven, tests that are there": {run: "mvn -q test -Dtest=P", script: surefire, kind: Criterion, tests: &two},
		"Maven, tests that are not":   {run: "mvn -q test -Dtest=P", before: surefire, kind: Criterion, tests: &gone},
		"Maven compiles":              {run: "mvn -q compile", kind: Criterion},
		"a linter beside reports":     {run: "mvn -q checkstyle:check", script: surefire, kind: Lint},
		"Gradle, nothing has changed": {run: "./gradlew -q test", before: write("build/test-results/test"), tests: &two},
		"a runner that PATH finds": {run: "cargo test >/dev/null",
			script: "echo 'test result: ok. 2 passed; 0 failed'\n", tests: &two},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			r := runner(t)
			r.Env = []string{"PATH=" + r.Dir + ":" + os.Getenv("PATH")}
			program := filepath.Join(r.Dir, filepath.Base(strings.Fields(c.run)[0]))
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.before != "" {
				cmd := exec.Command("sh", "-c", c.before+"find . -name 'TEST-*' -exec touch -d '2020-01-01' {} +")
				cmd.Dir = r.Dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if c.kind == "" {
				c.kind = Test
			}
			res, err := r.Once(context.Background(), Check{Name: "x", Run: c.run, Kind: c.kind, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.tests == &gone:
				if !res.NoTests {
					t.Errorf("it passed, with %v tests", res.Tests)
				}
			case !res.Passed:
				t.Errorf("it is red: %s", res.Output)
			case c.tests == nil && res.Tests != nil:
				t.Errorf("%d tests are counted", *res.Tests)
			case c.tests != nil && (res.Tests == nil || *res.Tests != *c.tests || res.Quiet):
				t.Errorf("%v tests are counted, quiet %v", res.Tests, res.Quiet)
			}
		})
	}
}
