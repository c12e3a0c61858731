package checks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/checks/weaken"
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

func TestCommands(t *testing.T) {
	got := Commands([]Check{{Run: "a"}}, nil, []Check{{Run: "b"}})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
