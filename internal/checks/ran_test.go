package checks

import "testing"

func TestRan(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		n      int
		known  bool
	}{
		"pytest":                      {"collected 3 items\n\n====== 2 passed, 1 skipped in 0.03s ======\n", 2, true},
		"pytest, failures come first": {"==== 1 failed, 4 passed in 1.20s ====\n", 4, true},
		"pytest -q":                   {"...\n3 passed in 0.01s\n", 3, true},
		"pytest, all deselected":      {"==== 3 deselected in 0.01s ====\n", 0, true},
		"pytest, nothing":             {"==== no tests ran in 0.00s ====\n", 0, true},
		"unittest":                    {"..\n----\nRan 2 tests in 0.000s\n\nOK\n", 2, true},
		"unittest, skipped":           {"Ran 3 tests in 0.000s\n\nOK (skipped=2)\n", 1, true},
		"unittest, nothing":           {"Ran 0 tests in 0.000s\n\nOK\n", 0, true},
		"go test, quiet, says nothing of how many": {"ok  \tx/a\t0.011s\n", 0, false},
		"go test, quiet, no package has any":       {"?   \tx/a\t[no test files]\n", 0, true},
		"go test, no test has the name":            {"ok  \tx/a\t0.011s [no tests to run]\n", 0, true},
		"go test in JSON, no package has any": {`{"Action":"output","Package":"x","Output":"?   \tx\t[no test files]\n"}` +
			"\n", 0, true},
		"go test without a package": {
			"go: warning: \"./...\" matched no packages\nno packages to test\n", 0, true},
		"gradle without sources of tests":      {"> Task :compileJava\n> Task :app:test NO-SOURCE\n", 0, true},
		"gradle, one of two projects has some": {"> Task :a:test NO-SOURCE\n> Task :b:test\n", 0, false},
		"one runner without any beside one that does not count": {
			"No tests found, exiting with code 0\nok  \tx/a\t0.011s\n", 0, false},
		"unittest, a class was skipped before another run": {
			"Ran 0 tests in 0.1s\n\nOK (skipped=1)\nRan 2 tests in 0.1s\n\nOK\n", 2, true},
		"jest prints its totals again":  {"Tests:       4 passed, 4 total\n\nTests:       4 passed, 4 total\n", 4, true},
		"unittest, two runs":            {"Ran 2 tests in 0.1s\n\nOK\nRan 3 tests in 0.1s\n\nOK\n", 5, true},
		"jest":                          {"Tests:       1 skipped, 4 passed, 5 total\n", 4, true},
		"jest, a name without a test":   {"Tests:       3 skipped, 3 total\n", 0, true},
		"vitest":                        {"      Tests  1 failed | 2 passed (3)\n", 2, true},
		"vitest, a name without a test": {" Test Files  1 skipped (1)\n      Tests  3 skipped (3)\n", 0, true},
		"mocha":                         {"\n  0 passing (2ms)\n", 0, true},
		"node": {"# tests 2\n# suites 0\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
			2, true},
		"node, filtered": {"ℹ tests 2\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ cancelled 0\nℹ skipped 2\nℹ todo 0\n", 0, true},
		"cargo, several binaries": {"running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 " +
			"filtered out\n" +
			"running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n", 1, true},
		"surefire": {"[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s -- in A\n[INFO] " +
			"Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n", 2, true},
		"rspec":    {"0 examples, 0 failures\n", 0, true},
		"minitest": {"2 runs, 4 assertions, 0 failures, 0 errors, 1 skips\n", 1, true},
		"phpunit":  {"OK (3 tests, 5 assertions)\n", 3, true},
		"phpunit, all skipped": {
			"OK, but incomplete, skipped, or risky tests!\nTests: 3, Assertions: 0, Skipped: 3.\n", 0, true},
		"phpunit, skipped and incomplete": {
			"OK, but there were issues!\nTests: 4, Assertions: 1, Warnings: 1, Skipped: 1, Incomplete: 2.\n", 1, true},
		"phpunit, incomplete":             {"OK, but there were issues!\nTests: 2, Assertions: 1, Incomplete: 1.\n", 1, true},
		"phpunit, failed":                 {"FAILURES!\nTests: 3, Assertions: 3, Failures: 1.\n", 3, true},
		"unittest, a failure is expected": {"Ran 2 tests in 0.1s\n\nOK (skipped=1, expected failures=1)\n", 0, true},
		"node, to be done": {
			"ℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 1\n", 1, true},
		"swift": {"\t Executed 3 tests, with 0 failures (0 unexpected) in 0.001 (0.003) seconds\n", 3, true},
		"swift, skipped": {
			"\t Executed 2 tests, with 2 tests skipped and 0 failures (0 unexpected) in 0.001 (0.003) seconds\n", 0, true},
		"phpunit none": {"No tests executed!\n", 0, true},
		"dotnet":       {"Passed!  - Failed:     0, Passed:     7, Skipped:     0, Total:     7\n", 7, true},
		"ctest none":   {"No tests were found!!!\n", 0, true},
		"ctest, skipped and disabled": {"100% tests passed, 0 tests failed out of 4\n\n" +
			"The following tests did not run:\n\t  2 - two (Skipped)\n\t  3 - three (Disabled)\n\t 14 - a b (Skipped)\n",
			2, true},
		"bats": {"2 tests, 0 failures\n", 2, true},
		"deno": {"ok | 0 passed | 0 failed | 3 filtered out (3ms)\n", 0, true},
		"go test -v": {"=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\nPASS\nok  \tx/a\t0.01s\n",
			2, true},
		"go test -json": {`{"Action":"run","Package":"x","Test":"TestA"}` + "\n" +
			`{"Action":"pass","Package":"x","Test":"TestA","Elapsed":0}` + "\n" +
			`{"Action":"pass","Package":"x","Elapsed":0}` + "\n", 1, true},
		"go test":  {"ok  \tx/a\t0.01s\n", 0, false},
		"a linter": {"3 files checked, 0 errors\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if n, known := Ran(c.output); n != c.n || known != c.known {
				t.Errorf("%d, %v; want %d, %v", n, known, c.n, c.known)
			}
		})
	}
}

func TestNamesTests(t *testing.T) {
	for line, want := range map[string]bool{
		"go test -run TestJoin ./...":                 true,
		"go test -run=TestJoin ./...":                 true,
		"go -C sub test -v -run TestJoin":             true,
		"go test ./...":                               false,
		"go vet ./... && go test -run X ./a":          true,
		"uv run pytest -k login":                      true,
		"python3 -m pytest":                           false,
		"python3 -m pytest -q tests/test_login.py":    true,
		"pytest tests/test_a.py::TestB::test_c":       true,
		"pytest --cov=src -q tests":                   false,
		"python -m unittest -k nope":                  true,
		"python -m unittest tests.test_a":             true,
		"python -m unittest":                          false,
		"python -m unittest discover -s tests":        false,
		"npx jest -t 'adds two'":                      true,
		"npx jest src/login.test.ts":                  true,
		"jest --config jest.config.js":                false,
		"npm test":                                    false,
		"npm test -- -t login":                        true,
		"npm run test:unit -- src/a.spec.ts":          true,
		"npx vitest run":                              false,
		"npx mocha 'test/**/*.test.js'":               false,
		"node --test":                                 false,
		"node --test --test-name-pattern=x":           true,
		"cargo test":                                  false,
		"cargo test --workspace --exclude x":          false,
		"cargo test login::works":                     true,
		"cargo +nightly test -- works":                true,
		"bundle exec rspec -e 'logs in'":              true,
		"vendor/bin/phpunit --filter LoginTest":       true,
		"dotnet test --filter FullyQualifiedName~X":   true,
		"mvn -q -Dtest=LoginTest test":                true,
		"./gradlew test --tests 'x.LoginTest'":        true,
		"./gradlew check":                             false,
		"ctest --test-dir build -R login":             true,
		"sh test.sh":                                  false,
		"grep -q TestJoin join.go":                    false,
		"env CI=1 go test -count=1 -run '^TestA$' ./": true,
	} {
		if got := NamesTests(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestRanNothing(t *testing.T) {
	const goNothing = "ok  \tx/a\t0.011s [no tests to run]\n?   \tx/b\t[no test files]\n"
	for name, c := range map[string]struct {
		line, output string
		want         bool
	}{
		"a name that no test has": {"go test -run Nope ./...", goNothing, true},
		"a filter from elsewhere": {"go test ./...", goNothing, true},
		"in verbose form": {"go test -v ./...",
			"testing: warning: no tests to run\nPASS\nok  \tx/a\t0.005s [no tests to run]\n", true},
		"in JSON": {"go test -json -run Nope ./a",
			`{"Action":"output","Package":"x/a","Output":"ok  \tx/a\t0.004s [no tests to run]\n"}` + "\n", true},
		"a script around it": {"make check", goNothing, true},
		"one package has such a test": {"go test -run TestA ./...",
			"ok  \tx/a\t0.01s\nok  \tx/b\t0.01s [no tests to run]\n", false},
		"packages without tests":  {"go test ./...", "?   \tx/a\t[no test files]\nok  \tx/b\t0.01s\n", false},
		"a project without tests": {"go test ./...", "?   \tx/a\t[no test files]\n", false},
		"unittest -k":             {"python3 -m unittest -k nope", "Ran 0 tests in 0.000s\n\nOK\n", true},
		"a pattern of files that none has": {"python3 -m unittest discover -s . -p 'nope*.py'",
			"Ran 0 tests in 0.000s\n\nOK\n", true},
		"a folder that holds no test yet": {"python3 -m unittest discover -s tests", "Ran 0 tests in 0.000s\n\nOK\n",
			false},
		"unittest of a project without tests": {"python3 -m unittest", "Ran 0 tests in 0.000s\n\nOK\n", false},
		"cargo test NAME": {"cargo test nope",
			"test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out\n", true},
		"cargo test of a project without tests": {"cargo test",
			"test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", false},
		"jest -t":                 {"npx jest -t nope", "Tests:       3 skipped, 3 total\n", true},
		"npm test with a pattern": {"npm test -- -t nope", "      Tests  3 skipped (3)\n", true},
		"a file without a test of the name": {"node --test --test-name-pattern nope",
			"ok 1 - /w/z.test.js\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 0\n", true},
		"a file that is a test itself": {"node --test z.test.js",
			"ok 1 - /w/z.test.js\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 0\n", false},
		"pytest whose exit code was thrown away":  {"pytest -k nope; true", "==== 3 deselected in 0.01s ====\n", true},
		"a command that says nothing about tests": {"go build ./... && ./run -k x", "built\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RanNothing(Test, c.line, c.output); got != c.want {
				t.Errorf("%v", got)
			}
			if n, known := Ran(c.output); known && n == 0 && !RanNothing(Criterion, c.line, c.output) {
				t.Error("as a criterion it proves nothing, whatever its line says")
			}
		})
	}
}
