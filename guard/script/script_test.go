package script

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      []Command
	}{
		{"words are without quotes", `sh 't.sh' "a b" c\ d`, []Command{{Words: []string{"sh", "t.sh", "a b", "c d"}}}},
		{"what only a shell knows stays", `sh "$dir/t.sh" $(ls)`,
			[]Command{{Words: []string{"ls"}, Use: Output}, {Words: []string{"sh", "$dir/t.sh", "$(…)"}}}},
		{"captured", `x="$(sh a.sh)"`, []Command{{Words: []string{"sh", "a.sh"}, Use: Output}}},
		{"piped on", `sh a.sh | grep -q x`,
			[]Command{{Words: []string{"sh", "a.sh"}, Use: Output, Pipe: "grep"}, {Words: []string{"grep", "-q", "x"}}}},
		{"into a file, not into a device", "a > out\nb > /dev/null",
			[]Command{{Words: []string{"a"}, Use: Redirected, Into: "out"}, {Words: []string{"b"}}}},
		{"settings in front", "A=1 b", []Command{{Words: []string{"b"}, Env: []string{"A=1"}}}},
		{"a condition", "if a; then b; fi", []Command{{Words: []string{"a"}, Use: InCondition}, {Words: []string{"b"}}}},
		{"a failure that ends it is none", "a || exit 1", []Command{{Words: []string{"a"}}, {Words: []string{"exit", "1"}}}},
		{"one that is handled is", "a || b=1", []Command{{Words: []string{"a"}, Use: InCondition}}},
		{"in a function", "f() { a; }", []Command{{Words: []string{"a"}, Func: "f"}}},
		{"only when it is run itself", `if [ "$0" = x ]; then a; fi`,
			[]Command{{Words: []string{"[", "$0", "=", "x", "]"}, Use: InCondition}, {Words: []string{"a"}, Once: true}}},
	} {
		s, err := Read(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
		if diff := cmp.Diff(c.want, s.Commands); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
	s, err := Read("A=1\nf() { local B=2; C=3; }\nexport D=4\n[ $x = 1 ] && g $y\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Assignment{{Name: "A", Value: "1"}, {Name: "C", Value: "3", Func: "f"}, {Name: "D", Value: "4"}}
	if diff := cmp.Diff(want, s.Assigned); diff != "" {
		t.Errorf("assignments (-want +got):\n%s", diff)
	}
	if !s.Compared["x"] || s.Used["x"] || !s.Used["y"] {
		t.Errorf("compared %v, used %v", s.Compared, s.Used)
	}
	if _, err := Read("if"); err == nil {
		t.Error("half a script is read")
	}
}
