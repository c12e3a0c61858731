package loop

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/gitstate/object"
)

func TestOnlyAdds(t *testing.T) {
	for why, c := range map[string]struct {
		was, is string
		want    bool
	}{
		"a test at the end":              {"a\nb\n", "a\nb\nc\n", true},
		"a test in the middle":           {"a\nb\n", "a\nc\nb\n", true},
		"one more name is imported":      {"from calc import add\nx\n", "from calc import add, div\nx\n", true},
		"one more name in braces":        {"import { a } from './m'\n", "import { a, b } from './m'\n", true},
		"the name comes from elsewhere":  {"from calc import add\n", "from fakes import add\n", false},
		"another expectation":            {"assert f() == 3\n", "assert f() == 4\n", false},
		"a line that imports nothing":    {"check(a)\n", "check(a, b)\n", false},
		"lines change places":            {"a\nb\n", "b\na\n", false},
		"a line is gone":                 {"a\nb\n", "a\n", false},
		"a line is wanted twice":         {"a\na\n", "a\n", false},
		"an empty file is written first": {"", "a\n", true},
	} {
		t.Run(why, func(t *testing.T) {
			if got := onlyAdds([]byte(c.was), []byte(c.is)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if onlyAdds([]byte("a\n"), nil) {
		t.Error("a file that is gone adds nothing")
	}
}

func TestPoints(t *testing.T) {
	for why, c := range map[string]struct {
		list []stretch
		want []int
	}{
		"none":                            {nil, nil},
		"one":                             {[]stretch{{1, 4}}, []int{4}},
		"two that overlap share one":      {[]stretch{{3, 6}, {1, 4}}, []int{4}},
		"two apart":                       {[]stretch{{5, 6}, {1, 4}}, []int{4, 6}},
		"a long one beside two short":     {[]stretch{{0, 9}, {1, 2}, {4, 5}}, []int{2, 5}},
		"the same version of three files": {[]stretch{{2, 2}, {2, 2}, {2, 3}}, []int{2}},
	} {
		t.Run(why, func(t *testing.T) {
			if diff := cmp.Diff(c.want, points(c.list)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	id := func(n byte) object.ID { return object.ID{n + 1} }
	step := func(n byte, trusted bool) branchCommit {
		return branchCommit{id: id(n), parent: id(n - 1), at: int(n), trusted: trusted}
	}
	for why, c := range map[string]struct {
		history map[string][]branchCommit
		files   map[string]string // by path and commit, the newest version that is not above it
		want    []object.ID
	}{
		"a test that an iteration made is loosened": {
			map[string][]branchCommit{"a_test": {step(0, false), step(2, false)}, "b": {step(1, false)}},
			map[string]string{"a_test0": "strict", "a_test2": "loose"}, []object.ID{id(1)}},
		"it is only added to": {
			map[string][]branchCommit{"a_test": {step(0, false), step(2, false)}},
			map[string]string{"a_test0": "strict", "a_test2": "strict\nmore"}, nil},
		"it was there at the beginning": {
			map[string][]branchCommit{"a_test": {step(2, false)}},
			map[string]string{"a_test-": "strict", "a_test2": "loose"}, nil},
		"a person made it": {
			map[string][]branchCommit{"a_test": {step(0, true), step(2, false)}},
			map[string]string{"a_test0": "strict", "a_test2": "loose"}, nil},
		"a person changed it": {
			map[string][]branchCommit{"a_test": {step(0, false), step(2, true)}},
			map[string]string{"a_test0": "strict", "a_test2": "loose"}, nil},
		"it is no test": {
			map[string][]branchCommit{"a": {step(0, false), step(2, false)}},
			map[string]string{"a0": "strict", "a2": "loose"}, nil},
		"commits without a change lie between": {
			map[string][]branchCommit{"a_test": {step(0, false), step(5, false)}},
			map[string]string{"a_test0": "strict", "a_test5": "loose"}, []object.ID{id(0)}},
	} {
		t.Run(why, func(t *testing.T) {
			read := func(commit object.ID, path string) ([]byte, error) {
				for n := int(commit[0]) - 1; n >= 0; n-- {
					if text, ok := c.files[path+string(rune('0'+n))]; ok {
						return []byte(text), nil
					}
				}
				if text, ok := c.files[path+"-"]; ok {
					return []byte(text), nil
				}
				return nil, nil
			}
			isTest := func(path string, _, _ []byte) bool { return path != "a" && path != "b" }
			got, err := (&Loop{}).between(c.history, isTest, read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
