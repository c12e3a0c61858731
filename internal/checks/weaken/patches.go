package weaken

import (
	"slices"
	"strings"
)

// patchesRunner finds Python that puts something else in the place of what
// judges: `unittest.TestCase.assertEqual = …`, setattr(TestCase, "fail", …) and
// mock.patch. No file has to be a test for it; whatever is imported can do it to all tests.
func patchesRunner(toks []token) []string {
	var out []string
	var walk func([]*pyLine)
	walk = func(lines []*pyLine) {
		for _, l := range lines {
			if name := patched(l.toks); name != "" {
				out = append(out, "replaces "+name)
			}
			walk(l.kids)
		}
	}
	walk(pyLines(toks))
	return out
}

// patched is the judging method that a line replaces, "" for none.
func patched(line []node) string {
	of := false
	for i, n := range line {
		word := at(line, i)
		switch {
		case n.open != 0:
			if name := patched(n.kids); name != "" {
				return name
			}
			if by := at(line, i-1); by != "setattr" && by != "patch" && by != "object" {
				break
			}
			on := false
			for _, k := range n.kids {
				on = on || k.text == "TestCase" || k.text == "unittest"
				if k.kind != str {
					continue
				}
				path := strings.Split(strings.Trim(k.text, `"'`), ".")
				if name := path[len(path)-1]; judges(name) && (on || slices.Contains(path, "TestCase")) {
					return name
				}
			}
		case word == "TestCase" || word == "unittest":
			of = true
		case of && judges(word) && at(line, i-1) == "." && at(line, i+1) == "=":
			return word
		}
	}
	return ""
}

// judges says whether a method of unittest.TestCase decides about a test.
func judges(name string) bool {
	switch name {
	case "fail", "run", "debug", "__call__", "subTest", "main", "failureException":
		return true
	}
	return strings.HasPrefix(name, "assert") || strings.HasPrefix(name, "_base")
}
