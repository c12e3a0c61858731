package checks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/guard/weaken"
)

func TestParseTests(t *testing.T) {
	got := ParseTests(Result{ExitCode: 1,
		Output: []byte("\x1b[31m--- FAIL: TestA (0.00s)\x1b[0m\nFAIL\texample.org/a\t0.1s\n\xff")})
	want := weaken.RunReport{Exit: 1, Known: true, Tests: []weaken.TestResult{{Unit: "example.org/a", Name: "TestA",
		Outcome: weaken.Failed}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestParseTestsWithoutNames: a runner's last lines say that tests failed, without their names.
func TestParseTestsWithoutNames(t *testing.T) {
	for _, tt := range []struct {
		why, output string
		exit        int
		failed      bool
	}{
		{"cargo test -q", "running 1 test\nF\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n", 101, true},
		{"unittest behind tail", "Ran 2 tests in 0.001s\n\nFAILED (failures=2)\n", 0, true},
		{"node, counts alone", "# pass 1\n# fail 1\n", 1, true},
		{"what could not be imported", "Ran 1 test in 0.001s\n\nFAILED (errors=1)\n", 1, false},
		{"pytest that collects nothing", "====== 1 error in 0.05s ======\n", 2, false},
		{"go that does not build", "FAIL\tex.com/p [build failed]\nFAIL\n", 1, false},
		{"fine", "Ran 2 tests in 0.001s\n\nOK\n", 0, false},
	} {
		if got := len(ParseTests(Result{ExitCode: tt.exit, Output: []byte(tt.output)}).Failures()) > 0; got != tt.failed {
			t.Errorf("%s: failed %v", tt.why, got)
		}
	}
}

func TestCommands(t *testing.T) {
	got := Commands([]Check{{Run: "a"}}, nil, []Check{{Run: "b"}})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
