package weaken

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestHostileSizes gives Judge input that would exhaust stack or memory without
// limits for depth and size. Judge must return, and a file must not pass because
// its size hides its tests.
func TestHostileSizes(t *testing.T) {
	const n = 300_000
	for _, tt := range []struct {
		why, path string
		after     []byte
	}{
		{"templates within templates", "a.test.js", []byte(strings.Repeat("`${", n))},
		{"brackets within brackets", "a.test.js", []byte(strings.Repeat("([{", n))},
		{"suites within suites", "a.test.js", []byte(strings.Repeat("describe('a', () => {", n/10))},
		{"comments within comments", "src/lib.rs", []byte(strings.Repeat("/*", n))},
		{"modules within modules", "src/lib.rs", []byte(strings.Repeat("#[cfg(test)] mod a {", n/10))},
		{"blocks within blocks", "tests/test_a.py", []byte(indented(1500))},
		{"conditions within conditions", "tests/test_a.py", []byte("def test_a():\n    assert " +
			strings.Repeat("(not ", n))},
		{"operators upon operators", "a_test.go", []byte("package a\n\nfunc TestA(t *testing.T) {\n\tif " +
			strings.Repeat("!", n) + "x {\n\t}\n}\n")},
		{"classes within classes", "src/test/java/ATest.java", []byte(strings.Repeat("class A {", n/5))},
		{"a file that is too large to be read", "a.test.js", append([]byte(jsTwo), bytes.Repeat([]byte(" "), maxSource)...)},
	} {
		t.Run(tt.why, func(t *testing.T) {
			before := map[string]string{"a.test.js": jsTwo, "src/lib.rs": rsTwo, "tests/test_a.py": pyTwo, "a_test.go": goTwo,
				"src/test/java/ATest.java": javaTwo}[tt.path]
			rep := Judge(Input{Files: []File{{Path: tt.path, Before: []byte(before), After: tt.after}},
				Commands: []string{"npm test", "pytest"}})
			if len(rep.Findings) == 0 {
				t.Error("the tests are gone and nothing is found")
			}
		})
	}
}

// TestManyConditions: conditions are counted in one walk over the file.
func TestManyConditions(t *testing.T) {
	var before strings.Builder
	before.WriteString("test('adds', () => {\n")
	for i := range 10_000 {
		fmt.Fprintf(&before, "  if (ready%d) {\n    expectAdd%d(() => more%d());\n  }\n", i, i, i)
	}
	before.WriteString("  expect(add(1, 2)).toBe(3);\n});\n")
	after := replace(before.String(), "  expect(add(1, 2)).toBe(3);\n", "")
	if rep := Judge(Input{Files: []File{file("a.test.js", before.String(), after)}}); len(rep.Findings) == 0 {
		t.Error("an assertion is gone and nothing is found")
	}
}

func indented(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "if x:\n")
	}
	return b.String()
}

// TestManyTests has as many removed and new tests as a rewrite of a large
// project: pairing them must stay bounded.
func TestManyTests(t *testing.T) {
	var before, after strings.Builder
	before.WriteString("package a\n")
	after.WriteString("package a\n")
	for i := range 2000 {
		n := string(rune('a'+i%26)) + strings.Repeat("x", i%17) + string(rune('a'+i/26%26))
		before.WriteString("func Test" + strings.ToUpper(n) + string(rune('A'+i/676)) + "(t *testing.T) {\n\tif old_" + n +
			"() != 1 {\n\t\tt.Error()\n\t}\n}\n")
		after.WriteString("func TestNew" + strings.ToUpper(n) + string(rune('A'+i/676)) + "(t *testing.T) {\n\tif fresh_" +
			n + "() != 2 {\n\t\tt.Error()\n\t}\n}\n")
	}
	rep := Judge(Input{Files: []File{file("a_test.go", before.String(), after.String())}})
	if len(rep.Old) < 1000 || len(rep.Findings) == 0 {
		t.Errorf("%d old tests, %d findings", len(rep.Old), len(rep.Findings))
	}
}
