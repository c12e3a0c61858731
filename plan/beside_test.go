package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"add the login endpoint", nil},
		{"change lib/parse.js and README.md.", []string{"lib/parse.js", "README.md"}},
		{"everything in internal/cli/ is renamed", []string{"internal/cli"}},
		{"see https://example.com/a/b for it", nil},
		{"version 1.2 is enough, e.g. now", nil},
		{"all of src/**", []string{"src"}},
	} {
		if diff := cmp.Diff(c.want, Paths(Task{Title: c.text})); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestNextBeside(t *testing.T) {
	p := Plan{Tasks: []Task{
		{ID: "a", Title: "lib/x.js", Status: InProgress},
		{ID: "b", Title: "more of lib/x.js", Status: Pending},
		{ID: "c", Title: "the folder lib/", Status: Pending},
		{ID: "d", Title: "after a", Status: Pending, DependsOn: []TaskID{"a"}},
		{ID: "e", Title: "something else", Status: Pending, Priority: 2},
		{ID: "f", Title: "urgent", Status: Pending, Priority: 1},
	}}
	for _, c := range []struct {
		why  string
		busy []TaskID
		want TaskID
	}{
		{"names no path of a, and is more urgent than e", []TaskID{"a"}, "f"},
		{"what is busy is not taken twice", []TaskID{"a", "f"}, "e"},
		{"nothing is left", []TaskID{"a", "f", "e"}, ""},
		{"nobody is at work: the plan's order", nil, "b"},
	} {
		if got, ok := NextBeside(p, c.busy); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q", c.why, got)
		}
	}
}
