package weaken

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseRun reads recorded output of the real runners. In each, one test passes,
// one fails, one lacks a name of the tested code and one is skipped. One file or
// package cannot be loaded, if the format shows it.
func TestParseRun(t *testing.T) {
	for _, tt := range []struct {
		file     string
		failed   []string
		missing  []string
		notBuilt []string
		passed   []string
		skipped  []string
	}{
		{file: "go-plain.txt", failed: []string{"TestAdd", "TestAdd/one_two", "TestPanic"},
			notBuilt: []string{"example.org/calc/nobuild"}},
		{file: "go-v.txt", failed: []string{"TestAdd", "TestAdd/one_two", "TestPanic"},
			notBuilt: []string{"example.org/calc/nobuild"}, passed: []string{"TestAdd/zero", "TestBefore", "TestFine",
				"TestFine"}, skipped: []string{"TestSkip"}},
		{file: "go-json.txt", failed: []string{"TestAdd", "TestAdd/one_two", "TestPanic"},
			notBuilt: []string{"example.org/calc/nobuild"}, passed: []string{"TestAdd/zero", "TestBefore", "TestFine",
				"TestFine"}, skipped: []string{"TestSkip"}},
		{file: "pytest-plain.txt", notBuilt: []string{"tests/test_gone.py"}},
		{file: "pytest-q.txt", failed: []string{"test_add", "test_setup"}, missing: []string{"TestMore.test_div"}},
		{file: "pytest-v.txt", failed: []string{"test_add", "test_setup"}, missing: []string{"TestMore.test_div"},
			passed: []string{"TestMore.test_fine"}, skipped: []string{"test_skip"}},
		{file: "unittest-plain.txt", failed: []string{"CalcTest.test_add"}, missing: []string{"CalcTest.test_div"},
			notBuilt: []string{"test_gone2"}},
		{file: "unittest-v.txt", failed: []string{"CalcTest.test_add"}, missing: []string{"CalcTest.test_div"},
			notBuilt: []string{"test_gone2"}, passed: []string{"CalcTest.test_ok"}, skipped: []string{"CalcTest.test_skip"}},
		{file: "jest-plain.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			notBuilt: []string{"gone.test.js"}},
		{file: "jest-verbose-colour.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			notBuilt: []string{"gone.test.js"}, passed: []string{"calc/adds"}, skipped: []string{"calc/later"}},
		{file: "vitest-plain.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			notBuilt: []string{"gone.test.js"}},
		{file: "vitest-verbose.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			notBuilt: []string{"gone.test.js"}, passed: []string{"calc/adds"}, skipped: []string{"calc/later"}},
		{file: "mocha-spec.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			passed: []string{"calc/adds"}, skipped: []string{"calc/later"}},
		{file: "node-spec.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			notBuilt: []string{"/src/gone.test.js"}, passed: []string{"calc/adds", "top"}, skipped: []string{"calc/later"}},
		{file: "node-tap.txt", failed: []string{"calc/adds negative"}, missing: []string{"calc/divides"},
			notBuilt: []string{"/src/gone.test.js"}, passed: []string{"calc/adds", "top"}, skipped: []string{"calc/later"}},
		{file: "cargo-fail.txt", failed: []string{"tests::negative"}, passed: []string{"outer", "tests::adds"},
			skipped: []string{"tests::slow"}},
		{file: "cargo-nobuild.txt", notBuilt: []string{"tests/gone.rs"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			out, err := os.ReadFile(filepath.Join("testdata", "runs", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			r := ParseRun(stripForTest(out), 1)
			if !r.Known {
				t.Error("the runner was not recognised")
			}
			for _, wrapped := range []string{"npm warn Unknown config\n\n> calc@1.0.0 test\n> run the tests\n\n%s" +
				"npm error code ELIFECYCLE\n", "run the tests\n%smake: *** [Makefile:2: test] Error 1\n",
				"1 file is formatted, 0 errors\n%s", "All matched files use Prettier code style!\n\n%s"} {
				again := ParseRun([]byte(strings.Replace(wrapped, "%s", string(stripForTest(out)), 1)), 1)
				if diff := cmp.Diff(r, again); diff != "" {
					t.Errorf("inside of %q (-bare +wrapped):\n%s", wrapped, diff)
				}
			}
			got := map[Outcome][]string{}
			for _, res := range r.Tests {
				got[res.Outcome] = append(got[res.Outcome], res.Name)
			}
			for o := range got {
				slices.Sort(got[o])
			}
			want := map[Outcome][]string{}
			for o, names := range map[Outcome][]string{Failed: tt.failed, Unresolved: tt.missing, Passed: tt.passed,
				NotRun: tt.skipped} {
				if names != nil {
					want[o] = names
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notBuilt, r.NotBuilt); diff != "" {
				t.Errorf("not built (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseScripts: the failure of an assertion program, or of a runner without its own
// parser, is recognised. A failed build or a missing program is no failed test.
func TestParseScripts(t *testing.T) {
	for _, tt := range []struct {
		why, out string
		failed   bool
	}{
		{"C", "t: test_calc.c:4: main: Assertion `add(1, 2) == 3' failed.\nmake: *** [Makefile:2: test] Aborted\n", true},
		{"C on a Mac", "Assertion failed: (add(1, 2) == 3), function main, file t.c, line 4.\n", true},
		{"Java", "Exception in thread \"main\" java.lang.AssertionError\n\tat CalcTest.main(CalcTest.java:3)\n", true},
		{"Rust", "thread 'main' panicked at src/main.rs:3:5:\nassertion `left == right` failed\n", true},
		{"Perl", "t/add.t .. \n#   Failed test at t/add.t line 3.\nResult: FAIL\n", true},
		{"GoogleTest", "[  FAILED  ] Calc.Adds (0 ms)\n", true},
		{"Catch2", "test cases: 2 | 1 passed | 1 failed\n", true},
		{"Python", "Traceback (most recent call last):\nAssertionError: 42\n", true},
		{"a compiler", "test_calc.c:4: error: implicit declaration of function 'sub'\nmake: *** [t] Error 1\n", false},
		{"a Java class that is not there", "Exception in thread \"main\" java.lang.NoClassDefFoundError: Calc\n", false},
		{"Perl that finds no function", "Undefined subroutine &main::add called at t/add.t line 3.\nResult: FAIL\n", false},
		{"Catch2, fine", "test cases: 2 | 2 passed\n", false},
	} {
		if got := len(ParseRun([]byte(tt.out), 2).Failures()) > 0; got != tt.failed {
			t.Errorf("%s: failed %v", tt.why, got)
		}
	}
}

// stripForTest removes colours, as callers of ParseRun do.
func stripForTest(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); i++ {
		if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '[' {
			for i += 2; i < len(b) && (b[i] < '@' || b[i] > '~'); i++ {
			}
			continue
		}
		out = append(out, b[i])
	}
	return out
}

// TestParseJavaReports has the lines with which Surefire and Gradle name a failure.
// The rest of their output does not concern single tests.
func TestParseJavaReports(t *testing.T) {
	for _, tt := range []struct {
		why, out string
		failed   []string
		notBuilt bool
	}{
		{"Surefire names class and method",
			"[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in " +
				"calc.CalcTest\n[ERROR] calc.CalcTest.adds -- Time elapsed: 0.01 s <<< FAILURE!\n" +
				"org.opentest4j.AssertionFailedError: expected: <3> but was: <4>\n", []string{"CalcTest.adds"}, false},
		{"Maven's compiler", "[ERROR] COMPILATION ERROR : \n[ERROR] CalcTest.java:[9,5] cannot find symbol\n", nil, true},
		{"Gradle names class and method",
			"CalcTest > adds() FAILED\n    org.opentest4j.AssertionFailedError at CalcTest.java:8\n\n" +
				"2 tests completed, 1 failed\n", []string{"CalcTest.adds"}, false},
		{"Gradle's compiler", "> Task :compileTestJava FAILED\n", nil, true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			r := ParseRun([]byte(tt.out), 1)
			var failed []string
			for _, f := range r.Failures() {
				failed = append(failed, f.Name)
			}
			if diff := cmp.Diff(tt.failed, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if got := len(r.NotBuilt) > 0; got != tt.notBuilt {
				t.Errorf("not built = %v", r.NotBuilt)
			}
		})
	}
}
