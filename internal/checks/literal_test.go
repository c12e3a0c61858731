package checks

import (
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequired: the texts of which a match has at least one.
func TestRequired(t *testing.T) {
	for pattern, want := range map[string][]string{
		`(?m)^Ran (\d+) tests? in`: {" test"},
		`a(?:bcd|efgh)+`:           {"bcd", "efgh"},
		`(?i)abc`:                  nil,
		`ab|\d`:                    nil,
		`(?:abc)?d`:                {"d"},
		`(?:abc){2}`:               {"abc"},
		`x*`:                       nil,
	} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, required(parsed)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", pattern, diff)
		}
	}
	for i, f := range compiledTallies() {
		if len(f.words) == 0 {
			t.Errorf("%s is tried on every text", tallies[i].pattern)
		}
	}
}

// FuzzFiltered: what is left out would have matched nothing.
func FuzzFiltered(f *testing.F) {
	for _, s := range []string{"3 passed in 0.1s\n", "Ran 2 tests in 0.1s\n\nOK (skipped=1)\n",
		"Tests:  4 passed, 4 total\n",
		"# tests 2\n# pass 2\n# skipped 0\n", "[  FAILED  ] 1 test\n", "FAIL\nok  \tx\t0.1s\n", "Result: FAIL\n",
		"Test Summary: | Pass  Total\na |    3      3\n", "  3 passing (2ms)\n  1 failing\n"} {
		f.Add(s)
	}
	all := append(append([]filtered{}, compiledTallies()...), ends()...)
	f.Fuzz(func(t *testing.T, s string) {
		for _, re := range all {
			if diff := cmp.Diff(re.FindAllStringSubmatch(s, -1), re.find(s)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", re, diff)
			}
		}
	})
}

// BenchmarkRan reads a megabyte of a verbose run, as after each check.
func BenchmarkRan(b *testing.B) {
	s := strings.Repeat("--- PASS: TestSome/row_1 (0.00s)\n    a_test.go:12: a line of the test, value 42\n", 1<<20/80)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Ran(s)
		saysFailed(s)
	}
}
