package guard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrograms(t *testing.T) {
	for _, tt := range []struct {
		why, line string
		want      []string
	}{
		{"a plain command", "pytest -q tests", []string{"pytest"}},
		{"everything on the way", "ruff check . && mypy src | tee log; npm test", []string{"ruff", "mypy", "tee", "npm"}},
		{"variables before it", "CI=1 go test ./...", []string{"go"}},
		{"a path is a file, not looked up", "./check.sh && bin/tool && /usr/bin/env x", nil},
		{"variables are not known", "$TOOL x && \"$OTHER\"", nil},
		{"what may fail is not needed", "foo || true", nil},
		{"behind a condition", "if which foo; then foo; fi", nil},
		{"behind a question", "command -v foo >/dev/null && foo", nil},
		{"behind a test", "[ -e x ] && foo", nil},
		{"its own function", "f() { foo; }; f && go vet", []string{"go"}},
		{"after a change of PATH", "cat x; . venv/bin/activate && pytest", []string{"cat"}},
		{"after another", "export PATH=$PWD/bin:$PATH; tool", nil},
		{"PATH for one command", "PATH=bin tool; go vet", []string{"go"}},
		{"a subshell keeps its PATH to itself", "(PATH=bin; tool); go vet", []string{"go"}},
		{"twice", "go vet && go test", []string{"go"}},
		{"negated and timed", "! time grep x y", []string{"grep"}},
		{"in a group", "{ make; } 2>&1", []string{"make"}},
		{"no shell line", "if then (", nil},
	} {
		if diff := cmp.Diff(tt.want, Programs(tt.line)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.why, tt.line, diff)
		}
	}
}
