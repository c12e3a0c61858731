package checks

import "testing"

// TestRanOfMoreRunners: what each runner prints at the end of a run that passed and of one
// that did not, and how many tests passed or ran.
func TestRanOfMoreRunners(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		n      int
		failed bool
	}{
		"prove":         {"t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=3, \nResult: PASS\n", 3, false},
		"prove, failed": {"Files=2, Tests=5, \nResult: FAIL\n", 5, true},
		"AVA":           {"\n  3 tests passed\n", 3, false},
		"Bazel":         {"//a:a PASSED in 0.1s\n\nExecuted 1 out of 3 tests: 3 tests pass.\n", 3, false},
		"Bazel, failed": {"Executed 2 out of 2 tests: 1 test passes and 1 fails locally.\n", 2, true},
		"Meson": {"Ok:                 2   \nExpected Fail:      0   \nFail:               0   \nUnexpected Pass:    0   \n" +
			"Skipped:            1   \nTimeout:            0   \n", 2, false},
		"Meson, failed":      {"Ok:                 1\nFail:               1\n", 1, true},
		"GoogleTest":         {"[==========] 3 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 3 tests.\n", 3, false},
		"GoogleTest, failed": {"[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.b\n", 2, true},
		"Catch2":             {"All tests passed (5 assertions in 3 test cases)\n", 3, false},
		"Catch2, failed":     {"test cases: 3 | 2 passed | 1 failed\nassertions: 5 | 4 passed | 1 failed\n", 2, true},
		"doctest":            {"[doctest] test cases:  3 |  3 passed | 0 failed | 0 skipped\n", 3, false},
		"doctest, failed":    {"[doctest] test cases:  3 |  2 passed | 1 failed | 0 skipped\n", 2, true},
		"Zig":                {"All 3 tests passed.\n", 3, false},
		"Zig, a build":       {"Build Summary: 3/3 steps succeeded; 4/4 tests passed\n", 4, false},
		"EUnit":              {"  All 3 tests passed.\n", 3, false},
		"Tasty":              {"All 3 tests passed (0.00s)\n", 3, false},
		"Dart":               {"00:00 +0: a\r00:01 +2 ~1: All tests passed!\n", 2, false},
		"Dart, failed":       {"00:01 +1 -1: Some tests failed.\n", 0, true},
		"Swift Testing":      {"✔ Test run with 3 tests in 1 suite passed after 0.001 seconds.\n", 3, false},
		"Swift Testing, failed": {
			"✘ Test run with 3 tests in 1 suite failed after 0.001 seconds with 1 issue.\n", 0, true},
		"Leiningen":       {"Ran 3 tests containing 4 assertions.\n0 failures, 0 errors.\n", 3, false},
		"Pest":            {"  Tests:    1 skipped, 3 passed (4 assertions)\n  Duration: 0.1s\n", 3, false},
		"busted":          {"3 successes / 0 failures / 0 errors / 0 pending : 0.001 seconds\n", 3, false},
		"Alcotest":        {"Test Successful in 0.001s. 3 tests run.\n", 3, false},
		"testthat":        {"[ FAIL 0 | WARN 0 | SKIP 1 | PASS 2 ]\n[ FAIL 0 | WARN 0 | SKIP 1 | PASS 4 ]\n", 4, false},
		"Julia":           {"Test Summary: | Pass  Total  Time\nall           |    3      3  0.1s\n", 3, false},
		"dotnet, normal":  {"Test Run Successful.\nTotal tests: 3\n     Passed: 3\n Total time: 0.5 Seconds\n", 3, false},
		"uvu":             {"  Total:     3\n  Passed:    2\n  Skipped:   1\n", 2, false},
		"Jasmine":         {"3 specs, 0 failures, 1 pending spec\n", 2, false},
		"Jasmine, failed": {"3 specs, 1 failure\n", 3, true},
		"Karma":           {"Chrome: Executed 1 of 3 SUCCESS\rChrome: Executed 3 of 3 SUCCESS (0.01 secs)\n", 3, false},
		"tape":            {"1..3\n# tests 3\n# pass  3\n\n# ok\n", 3, false},
		"node-tap":        {"# { total: 3, pass: 3 }\n# time=1.2ms\n", 3, false},
		"behave":          {"1 feature passed, 0 failed, 0 skipped\n3 scenarios passed, 0 failed, 1 skipped\n", 3, false},
		"Cucumber":        {"4 scenarios (1 skipped, 3 passed)\n9 steps (9 passed)\n", 3, false},
		"Robot Framework": {"2 tests, 2 passed, 0 failed\n3 tests, 3 passed, 0 failed\n", 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			n, known := Ran(c.output)
			if n != c.n || known != (c.n > 0) {
				t.Errorf("ran %d, %v", n, known)
			}
			if got := saysFailed(c.output); got != c.failed {
				t.Errorf("failed: %v", got)
			}
		})
	}
}
