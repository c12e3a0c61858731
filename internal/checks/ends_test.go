package checks

import "testing"

// The last lines of runners, recorded from their real output.
func TestSaysFailed(t *testing.T) {
	for _, tt := range []struct {
		why, output string
		want        bool
	}{
		{"unittest", "Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n", true},
		{"unittest, fine", "Ran 2 tests in 0.001s\n\nOK (skipped=1)\n", false},
		{"unittest runs a suite that fails on purpose, and is fine",
			"FAILED (errors=1)\n...\nRan 3 tests in 0.1s\n\nOK\n", false},
		{"pytest", "========= 1 failed, 2 passed in 0.12s =========\n", true},
		{"pytest -q", "1 failed, 2 passed in 0.12s\n", true},
		{"pytest cannot collect", "=========== 1 error in 0.05s ============\n", true},
		{"pytest, expected failures", "===== 2 passed, 1 xfailed in 0.12s =====\n", false},
		{"node", "# tests 2\n# pass 1\n# fail 1\n# cancelled 0\n", true},
		{"node, its own reporter", "ℹ pass 1\nℹ fail 0\n", false},
		{"jest", "Tests:       1 failed, 2 passed, 3 total\n", true},
		{"jest, fine", "Tests:       1 skipped, 2 passed, 3 total\n", false},
		{"vitest", "      Tests  1 failed | 2 passed (3)\n", true},
		{"vitest, fine", "      Tests  3 passed (3)\n", false},
		{"mocha", "  2 passing (4ms)\n  1 failing\n", true},
		{"mocha, fine", "  2 passing (4ms)\n", false},
		{"cargo", "test result: FAILED. 1 passed; 1 failed; 0 ignored\n", true},
		{"cargo, fine", "test result: ok. 1 passed; 0 failed; 0 ignored\n", false},
		{"rspec", "3 examples, 1 failure\n", true},
		{"rspec, fine", "3 examples, 0 failures\n", false},
		{"minitest", "2 runs, 2 assertions, 1 failures, 0 errors, 0 skips\n", true},
		{"minitest, fine", "2 runs, 2 assertions, 0 failures, 0 errors, 0 skips\n", false},
		{"phpunit", "FAILURES!\nTests: 2, Assertions: 2, Failures: 1.\n", true},
		{"phpunit, fine", "OK (2 tests, 2 assertions)\n", false},
		{"go", "--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\tex.com/p\t0.003s\nok  \tex.com/q\t0.002s\nFAIL\n", true},
		{"go, its last line alone", "FAIL\n", true},
		{"go, fine, of a tool that prints what it tested", "FAIL\nok  \tex.com/p\t0.003s\n", false},
		{"surefire, whose failures are ignored", "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[INFO] \n" +
			"[ERROR] There are test failures.\n\nPlease refer to x\n[INFO] BUILD SUCCESS\n", true},
		{"surefire, fine", "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n", false},
		{"gradle, whose failures are ignored",
			"There were failing tests. See the report at: file:///x\n\nBUILD SUCCESSFUL in 2s\n", true},
		{"gotestsum", "DONE 3 tests, 1 failure in 0.4s\n", true},
		{"gotestsum, fine", "DONE 3 tests, 1 skipped in 0.4s\n", false},
		{"nextest", "     Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped\n", true},
		{"nextest, fine", "     Summary [   0.1s] 3 tests run: 3 passed, 0 skipped\n", false},
		{"ctest", "67% tests passed, 1 tests failed out of 3\n", true},
		{"ctest, fine", "100% tests passed, 0 tests failed out of 3\n", false},
		{"deno", "FAILED | 1 passed | 1 failed (3ms)\n", true},
		{"deno, fine", "ok | 2 passed | 0 failed (3ms)\n", false},
		{"bun", " 1 pass\n 1 fail\n", true},
		{"bun, fine", " 2 pass\n 0 fail\n", false},
		{"mix", "2 doctests, 3 tests, 1 failure\n", true},
		{"bats, fine", "3 tests, 0 failures\n", false},
		{"dotnet", "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3\n", true},
		{"dotnet, fine", "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3\n", false},
		{"swift", "\t Executed 3 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds\n", true},
		{"swift, fine", "\t Executed 3 tests, with 0 failures (0 unexpected) in 0.1 (0.2) seconds\n", false},
		{"a program that speaks of failures", "FAILED to open the cache, going on\n2 failed logins\n", false},
	} {
		t.Run(tt.why, func(t *testing.T) {
			if got := saysFailed(tt.output); got != tt.want {
				t.Errorf("saysFailed(%q) = %v", tt.output, got)
			}
		})
	}
}
