package weaken

import "strings"

// patchesRunner finds Python that puts something else in the place of what
// judges: `unittest.TestCase.assertEqual = …`, setattr(TestCase, "fail", …). No
// file has to be a test for it; whatever is imported can do it to all tests.
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
	if at(line, 0) == "setattr" && group(line, 1, '(') {
		of := false
		for _, n := range line[1].kids {
			of = of || n.text == "TestCase" || n.text == "unittest"
			if name := strings.Trim(n.text, `"'`); of && n.kind == str && judges(name) {
				return name
			}
		}
		return ""
	}
	of := false
	for i := range line {
		switch word := at(line, i); {
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
