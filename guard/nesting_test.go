package guard

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestNesting: a stack overflow ends the process, so no line within the size limit
// may come near it, whether its brackets are closed or not.
func TestNesting(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(400 << 20))
	p := New("/srv/code/app", "/home/user")
	for _, c := range []struct{ head, unit, end, why string }{
		{"", "(", "", "subshells, and arithmetic"},
		{"", "$(", "", "substitutions"},
		{"", "{ ", "", "blocks"},
		{"", "${a:-", "", "defaults in defaults"},
		{"", "$((1+", "", "arithmetic is parsed by the longest descent"},
		{"((", "a?", "", "ternaries need no bracket"},
		{"((", "a=", "", "nor do assignments"},
		{"((", "!", "", "nor negations"},
		{"[[ ", "! ", "", "the same in tests"},
		{"[[ ", "a && ", "a ]]", "tests are parsed to the right"},
		{"", "if ", "", "conditions in conditions"},
		{"", "if x; then ", "", "branches in branches"},
		{"", "while x; do ", "", "loops in loops"},
		{"", "time ", "", "time of time"},
		{"", "coproc ", "x", "the same"},
		{"", "f() ", "", "functions of functions"},
		{"", "x || ", "x", "a chain nests to the left"},
		{"", "x && ", "x", "a chain nests to the left"},
		{"", "x | ", "x", "a pipe too"},
		{"", "`", "", "back-quotes toggle"},
		{"", "eval ", "x", "evaluation in evaluation"},
		{"", "sudo ", "x", "wrappers in wrappers"},
		{"", `\`, "", "nothing but escapes"},
		{"", "{a,", "", "braces"},
		{"echo ", "{a,b}", "", "braces multiply"},
		{"x=a;", "x=$x$x;", "", "a text that doubles with each step"},
		{"", "a=(", "", "arrays in arrays"},
		{"f() { f; ", "f; ", "}; f", "recursion"},
	} {
		// Any verdict will do, as long as there is one.
		if v := p.Judge(c.head + strings.Repeat(c.unit, (maxText-100)/len(c.unit)) + c.end); v.Verdict == "" {
			t.Errorf("no verdict on nested %q (%s)", c.unit, c.why)
		}
		p.Judge(c.head + strings.Repeat(c.unit, 120) + c.end)
	}
	if v := p.Judge(strings.Repeat("x", maxText+1)); v.Class != ClassUnparsable {
		t.Errorf("a line beyond the limit: %+v", v)
	}
}
