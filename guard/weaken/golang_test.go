package weaken

import "testing"

const goTwo = `package calc

import "testing"

func TestAdd(t *testing.T) {
	if got := Add(1, 2); got != 3 {
		t.Errorf("Add(1, 2) = %d", got)
	}
	if got := Add(-1, 1); got != 0 {
		t.Errorf("Add(-1, 1) = %d", got)
	}
}

func TestDiv(t *testing.T) {
	if _, err := Div(1, 0); err == nil {
		t.Fatal("no error")
	}
}
`

const goTable = `package calc

import "testing"

func TestAdd(t *testing.T) {
	for _, tt := range []struct{ a, b, want int }{
		{1, 2, 3},
		{0, 0, 0},
		{-1, 1, 0},
	} {
		if got := Add(tt.a, tt.b); got != tt.want {
			t.Errorf("Add(%d, %d) = %d", tt.a, tt.b, got)
		}
	}
}
`

const goHelper = `package calc

import "testing"

func checkSum(t *testing.T, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestSum(t *testing.T) { checkSum(t, Sum(1, 2), 3); checkSum(t, Sum(), 0) }
`

const testify = `package calc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoad(t *testing.T) {
	cfg, err := Load("a")
	require.NoError(t, err)
	assert.Equal(t, "a", cfg.Name)
	assert.Len(t, cfg.Items, 3)
}
`

func TestGoWeakened(t *testing.T) {
	check(t, []row{
		{why: "the failing test is deleted", path: "calc_test.go", before: goTwo, after: cut(goTwo, "func TestDiv", ""),
			want: is(Removed)},
		{why: "the test file is deleted", path: "calc_test.go", before: goTwo, after: "-", want: is(Removed)},
		edit("a test is emptied", "calc_test.go", goTwo, `	if _, err := Div(1, 0); err == nil {
		t.Fatal("no error")
	}
`, "", Assertions),
		edit("t.Skip at the top", "calc_test.go", goTwo, "func TestDiv(t *testing.T) {",
			"func TestDiv(t *testing.T) {\n\tt.Skip(\"later\")", Skipped),
		edit("a skip behind a condition on an old test", "calc_test.go", goTwo, "func TestDiv(t *testing.T) {",
			"func TestDiv(t *testing.T) {\n\tif testing.Short() {\n\t\tt.SkipNow()\n\t}", Skipped),
		edit("a skip through a value", "calc_test.go", goTwo, "func TestDiv(t *testing.T) {",
			"func TestDiv(t *testing.T) {\n\tstop := t.SkipNow\n\tstop()", Skipped),
		edit("a skip hidden in a new helper", "calc_test.go", goTwo, "func TestDiv(t *testing.T) {",
			"func needsNet(t *testing.T) { t.Skip() }\n\nfunc TestDiv(t *testing.T) {\n\tneedsNet(t)", Skipped),
		edit("one of two assertions goes", "calc_test.go", goTwo, `	if got := Add(-1, 1); got != 0 {
		t.Errorf("Add(-1, 1) = %d", got)
	}
`, "", Assertions),
		edit("an error becomes a log line", "calc_test.go", goTwo, `t.Fatal("no error")`, `t.Log("no error")`, Assertions),
		edit("an assertion is commented out", "calc_test.go", goTwo, `t.Fatal("no error")`, `// t.Fatal("no error")`,
			Assertions),
		edit("an assertion moves into a string", "calc_test.go", goTwo, `t.Fatal("no error")`, "_ = `t.Fatal(\"no error\")`",
			Assertions),
		edit("a return before the assertions", "calc_test.go", goTwo, "func TestDiv(t *testing.T) {",
			"func TestDiv(t *testing.T) {\n\treturn", Assertions),
		edit("a condition that is never true", "calc_test.go", goTwo, "err == nil {", "false && err == nil {", Assertions),
		edit("assertions in an else that never runs", "calc_test.go", goTwo, `	if _, err := Div(1, 0); err == nil {
`, "	if true {\n		t.Log(1)\n	} else if _, err := Div(1, 0); err == nil {\n", Assertions),
		edit("a value compared with itself", "calc_test.go", goTwo, "got != 0 {", "got != got {", Assertions),
		{why: "assertions in a function that never runs", path: "calc_test.go", before: goTwo,
			after: replace(replace(goTwo, "	if _, err := Div", "	_ = func() {\n	if _, err := Div"),
				"		t.Fatal(\"no error\")\n	}\n", "		t.Fatal(\"no error\")\n	}\n	}\n"), want: is(Assertions)},
		edit("rows of a table go", "calc_test.go", goTable, "		{-1, 1, 0},\n", "", Cases),
		edit("the whole table goes", "calc_test.go", goTable, "		{1, 2, 3},\n		{0, 0, 0},\n		{-1, 1, 0},\n", "", Cases),
		edit("a helper no longer asserts", "calc_test.go", goHelper, "		t.Errorf(\"got %d, want %d\", got, want)\n", "",
			Assertions),
		{why: "a helper package no longer asserts", path: "internal/testutil/equal.go",
			before: "package testutil\n\nimport \"testing\"\n\nfunc Equal(t *testing.T, a, b int) {\n\tif a != b {\n" +
				"\t\tt.Fatal(a, b)\n\t}\n}\n",
			after: "package testutil\n\nimport \"testing\"\n\nfunc Equal(t *testing.T, a, b int) {}\n", want: is(Assertions)},
		edit("a test loses its name", "calc_test.go", goTwo, "func TestDiv", "func testDiv", Removed),
		edit("Testdiv is no test for the go tool", "calc_test.go", goTwo, "func TestDiv", "func Testdiv", Removed),
		{why: "the file loses its suffix", path: "calc_test.go", before: goTwo, after: "-",
			more: []File{file("calc_tests.go", "-", goTwo)}, want: is(Removed)},
		{why: "the file moves to testdata", path: "calc_test.go", before: goTwo, after: "-",
			more: []File{file("testdata/calc_test.go", "-", goTwo)}, want: is(Removed)},
		{why: "the file moves into a folder with an underscore", path: "calc_test.go", before: goTwo, after: "-",
			more: []File{file("_old/calc_test.go", "-", goTwo)}, want: is(Removed)},
		{why: "a build constraint", path: "calc_test.go", before: goTwo, after: "//go:build integration\n\n" + goTwo,
			want: is(Skipped)},
		{why: "a name that only builds elsewhere", path: "calc_test.go", before: goTwo, after: "-",
			more: []File{file("calc_windows_test.go", "-", goTwo)}, want: is(Skipped)},
		{why: "TestMain exits with 0", path: "main_test.go", before: "-",
			after: "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" +
				"func TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n", want: is(Escape)},
		{why: "TestMain runs nothing", path: "main_test.go", before: "-",
			after: "package calc\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) {}\n", want: is(Escape)},
		edit("a testify assertion goes", "calc_test.go", testify, "	assert.Len(t, cfg.Items, 3)\n", "", Assertions),
		edit("a testify assertion that cannot fail", "calc_test.go", testify, "assert.Len(t, cfg.Items, 3)",
			"assert.True(t, true)", Assertions),
		edit("both sides of a testify assertion are one", "calc_test.go", testify, `assert.Equal(t, "a", cfg.Name)`,
			"assert.Equal(t, cfg.Name, cfg.Name)", Assertions),
		{why: "an example loses its output", path: "calc_test.go",
			before: "package calc\n\nfunc ExampleAdd() {\n\tprintln(Add(1, 2))\n\t// Output: 3\n}\n",
			after:  "package calc\n\nfunc ExampleAdd() {\n\tprintln(Add(1, 2))\n}\n", want: is(Removed)},
		{why: "a fuzz target goes", path: "calc_test.go",
			before: "package calc\n\nimport \"testing\"\n\nfunc FuzzAdd(f *testing.F) {\n" +
				"\tf.Fuzz(func(t *testing.T, a int) {\n\t\tif Add(a, 0) != a {\n\t\t\tt.Fatal(a)\n\t\t}\n\t})\n}\n",
			after: "package calc\n", want: is(Removed)},
		{why: "a removed test is not paid for by an unrelated one", path: "calc_test.go", before: goTwo,
			after: cut(goTwo, "func TestDiv",
				"func TestVersion(t *testing.T) {\n\tif Version == \"\" {\n\t\tt.Error(\"empty version\")\n\t}\n"+
					"\tif Build == 0 {\n\t\tt.Error(\"no build\")\n\t}\n}\n"), want: is(Removed)},
		{why: "a subtest goes", path: "calc_test.go",
			before: "package calc\n\nimport \"testing\"\n\nfunc TestAll(t *testing.T) {\n" +
				"\tt.Run(\"add\", func(t *testing.T) {\n\t\tif Add(1, 1) != 2 {\n\t\t\tt.Error()\n\t\t}\n\t})\n" +
				"\tt.Run(\"sub\", func(t *testing.T) {\n\t\tif Sub(1, 1) != 0 {\n\t\t\tt.Error()\n\t\t}\n\t})\n}\n",
			after: "package calc\n\nimport \"testing\"\n\nfunc TestAll(t *testing.T) {\n" +
				"\tt.Run(\"add\", func(t *testing.T) {\n\t\tif Add(1, 1) != 2 {\n\t\t\tt.Error()\n\t\t}\n\t})\n}\n",
			want: is(Assertions)},
		edit("the error of the tested code is no plumbing", "calc_test.go", tmpDir,
			"	if err := Write(dir); err != nil {\n		t.Fatal(err)\n	}\n", "	_ = Write(dir)\n", Assertions),
		{why: "a table shrinks while its rows are asserted more about", path: "calc_test.go", before: goTable,
			after: replace(replace(goTable, "		{0, 0, 0},\n", ""), "			t.Errorf(", "			t.Error(tt.a)\n			t.Errorf("),
			want:  is(Cases)},
		edit("Ginkgo: PIt", "calc_test.go", ginkgo, `It("adds"`, `PIt("adds"`, Skipped),
		edit("Ginkgo: FIt", "calc_test.go", ginkgo, `It("adds"`, `FIt("adds"`, Skipped),
		edit("Ginkgo: an expectation goes", "calc_test.go", ginkgo, "Expect(Add(1, 2)).To(Equal(3))", "Add(1, 2)",
			Assertions),
		{why: "a file that no longer parses has no tests", path: "calc_test.go", before: goTwo, after: goTwo + "}}",
			want: is(Removed)},
	})
}

const ginkgo = `package calc

var _ = Describe("Add", func() {
	It("adds", func() { Expect(Add(1, 2)).To(Equal(3)) })
	It("keeps zero", func() { Expect(Add(0, 0)).To(BeZero()) })
})
`

func TestGoHonest(t *testing.T) {
	check(t, []row{
		edit("a clause of a switch that returns", "calc_test.go", goTwo, "func TestDiv(t *testing.T) {",
			"func TestDiv(t *testing.T) {\n\tswitch x := f(); x {\n\tcase 1:\n\t\tt.Error(x)\n\t\treturn\n\t}"),
		{why: "a new test", path: "calc_test.go", before: goTwo,
			after: goTwo + "\nfunc TestNeg(t *testing.T) {\n\tif Neg(1) != -1 {\n\t\tt.Error()\n\t}\n}\n"},
		{why: "a new test file", path: "new_test.go", before: "-", after: goTwo},
		{why: "a new test may be skipped on a system", path: "calc_test.go", before: goTwo,
			after: goTwo + "\nfunc TestUnix(t *testing.T) {\n\tif runtime.GOOS == \"windows\" {\n" +
				"\t\tt.Skip(\"no sockets\")\n\t}\n\tif Sock() == nil {\n\t\tt.Error()\n\t}\n}\n"},
		edit("a renamed test", "calc_test.go", goTwo, "TestDiv", "TestDivideByZero"),
		{why: "a moved file", path: "calc_test.go", before: goTwo, after: "-",
			more: []File{file("arith/calc_test.go", "-", goTwo)}},
		{why: "a moved file in another package", path: "calc_test.go", before: goTwo, after: "-",
			more: []File{file("arith/add_test.go", "-", replace(goTwo, "package calc", "package arith_test"))}},
		edit("the tested function is renamed", "calc_test.go", goTwo, "Div(", "Quotient("),
		{why: "a test moves to another file", path: "calc_test.go", before: goTwo, after: cut(goTwo, "func TestDiv", ""),
			more: []File{file("div_test.go", "-", "package calc\n\nimport \"testing\"\n\n"+after(goTwo, "func TestDiv"))}},
		{why: "two tests swap their names", path: "calc_test.go", before: goTwo,
			after: replace(replace(replace(goTwo, "TestAdd", "TestX"), "TestDiv", "TestAdd"), "TestX", "TestDiv")},
		edit("assertions become a table", "calc_test.go", goTwo, `	if got := Add(1, 2); got != 3 {
		t.Errorf("Add(1, 2) = %d", got)
	}
	if got := Add(-1, 1); got != 0 {
		t.Errorf("Add(-1, 1) = %d", got)
	}
`, `	for _, tt := range []struct{ a, b, want int }{{1, 2, 3}, {-1, 1, 0}} {
		if got := Add(tt.a, tt.b); got != tt.want {
			t.Errorf("Add(%d, %d) = %d", tt.a, tt.b, got)
		}
	}
`),
		edit("a table becomes subtests", "calc_test.go", goTable,
			"		if got := Add(tt.a, tt.b); got != tt.want {\n"+"			t.Errorf(\"Add(%d, %d) = %d\", tt.a, tt.b, got)\n		}\n",
			"		t.Run(\"\", func(t *testing.T) {\n			if got := Add(tt.a, tt.b); got != tt.want {\n"+
				"				t.Errorf(\"Add(%d, %d) = %d\", tt.a, tt.b, got)\n			}\n		})\n"),
		{why: "a table gets a name", path: "calc_test.go", before: goTable,
			after: replace(replace(goTable, "	for _, tt := range []struct", "	cases := []struct"), "		{-1, 1, 0},\n	} {",
				"		{-1, 1, 0},\n	}\n	for _, tt := range cases {")},
		edit("a table of maps grows", "calc_test.go", goTable, "		{-1, 1, 0},\n", "		{-1, 1, 0},\n		{5, 5, 10},\n"),
		{why: "three tests become one table", path: "calc_test.go", before: goThree,
			after: "package calc\n\nimport \"testing\"\n\nfunc TestUpper(t *testing.T) {\n" +
				"\tfor in, want := range map[string]string{\"alpha\": \"ALPHA\", \"beta\": \"BETA\", \"gamma\": \"GAMMA\"} {\n" +
				"\t\tif got := Upper(in); got != want {\n\t\t\tt.Errorf(\"Upper(%q) = %q\", in, got)\n\t\t}\n\t}\n}\n"},
		{why: "one table becomes three tests", path: "calc_test.go",
			before: "package calc\n\nimport \"testing\"\n\nfunc TestUpper(t *testing.T) {\n" +
				"\tfor in, want := range map[string]string{\"alpha\": \"ALPHA\", \"beta\": \"BETA\", \"gamma\": \"GAMMA\"} {\n" +
				"\t\tif got := Upper(in); got != want {\n\t\t\tt.Errorf(\"Upper(%q) = %q\", in, got)\n\t\t}\n\t}\n}\n",
			after: goThree},
		edit("a test is split", "calc_test.go", goTwo, "	if got := Add(-1, 1); got != 0 {",
			"}\n\nfunc TestAddNegative(t *testing.T) {\n	if got := Add(-1, 1); got != 0 {"),
		{why: "assertions move into a helper", path: "calc_test.go", before: goTwo,
			after: "package calc\n\nimport \"testing\"\n\nfunc checkAdd(t *testing.T, a, b, want int) {\n\tt.Helper()\n" +
				"\tif got := Add(a, b); got != want {\n\t\tt.Errorf(\"Add(%d, %d) = %d\", a, b, got)\n\t}\n}\n\n" +
				"func TestAdd(t *testing.T) {\n\tcheckAdd(t, 1, 2, 3)\n\tcheckAdd(t, -1, 1, 0)\n}\n\n" +
				after(goTwo, "func TestDiv")},
		{why: "a helper is inlined", path: "calc_test.go", before: goHelper,
			after: "package calc\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif got := Sum(1, 2); got != 3 {\n" +
				"\t\tt.Errorf(\"got %d\", got)\n\t}\n\tif got := Sum(); got != 0 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n"},
		{why: "a helper is renamed and moved", path: "calc_test.go", before: goHelper,
			after: "package calc\n\nimport \"testing\"\n\n" +
				"func TestSum(t *testing.T) { equalInts(t, Sum(1, 2), 3); equalInts(t, Sum(), 0) }\n",
			more: []File{file("helper_test.go", "-",
				"package calc\n\nimport \"testing\"\n\nfunc equalInts(t *testing.T, got, want int) {\n\tt.Helper()\n"+
					"\tif got != want {\n\t\tt.Errorf(\"got %d, want %d\", got, want)\n\t}\n}\n")}},
		{why: "testify replaces bare comparisons", path: "calc_test.go", before: goTwo,
			after: "package calc\n\nimport (\n\t\"testing\"\n\n\t\"github.com/stretchr/testify/assert\"\n)\n\n" +
				"func TestAdd(t *testing.T) {\n\tassert.Equal(t, 3, Add(1, 2))\n\tassert.Equal(t, 0, Add(-1, 1))\n}\n\n" +
				"func TestDiv(t *testing.T) {\n\t_, err := Div(1, 0)\n\tassert.Error(t, err)\n}\n"},
		{why: "testify through an object", path: "calc_test.go", before: testify,
			after: replace(replace(testify, "assert.Equal(t, ", "is.Equal("), "	cfg, err", "	is := assert.New(t)\n	cfg, err")},
		edit("comments only", "calc_test.go", goTwo, "func TestDiv",
			"// TestDiv divides by zero; t.Skip would hide it.\nfunc TestDiv"),
		edit("a string that looks like a skip", "calc_test.go", goTwo, `"no error"`, `"t.Skip() is no error"`),
		{why: "production code changes", path: "calc.go",
			before: "package calc\n\nfunc Add(a, b int) int { return a - b }\n",
			after:  "package calc\n\nfunc Add(a, b int) int { return a + b }\n"},
		{why: "production code with checks is deleted", path: "valid.go",
			before: "package calc\n\nfunc checkAll(x int) {\n\tif x < 0 {\n\t\tpanic(x)\n\t}\n}\n", after: "package calc\n"},
		{why: "a skip goes", path: "calc_test.go", before: replace(goTwo, "func TestDiv(t *testing.T) {",
			"func TestDiv(t *testing.T) {\n\tt.Skip()"), after: goTwo},
		{why: "TestMain that passes the code on", path: "main_test.go", before: "-",
			after: "package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" +
				"func TestMain(m *testing.M) { setup(); os.Exit(m.Run()) }\n"},
		{why: "a benchmark goes", path: "calc_test.go", before: goTwo +
			"\nfunc BenchmarkAdd(b *testing.B) {\n\tfor b.Loop() {\n\t\tAdd(1, 2)\n\t}\n}\n", after: goTwo},
		edit("loops and layout of an equal strength", "calc_test.go", goTwo, "	if _, err := Div(1, 0); err == nil {\n",
			"	_, err := Div(1, 0)\n\n	if err == nil {\n"),
		edit("a stricter test", "calc_test.go", goTwo, `		t.Fatal("no error")
	}
`, `		t.Fatal("no error")
	}
	if !errors.Is(err, ErrZero) {
		t.Fatal(err)
	}
`),
		edit("a temporary folder becomes the test's own", "calc_test.go", tmpDir,
			"	dir, err := os.MkdirTemp(\"\", \"x\")\n	if err != nil {\n		t.Fatal(err)\n	}\n", "	dir := t.TempDir()\n"),
		{why: "assertions move into a function that returns an error", path: "calc_test.go", before: goTwo,
			after: "package calc\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc sums() error {\n" +
				"\tif got := Add(1, 2); got != 3 {\n\t\treturn fmt.Errorf(\"Add(1, 2) = %d\", got)\n\t}\n" +
				"\tif got := Add(-1, 1); got != 0 {\n\t\treturn fmt.Errorf(\"Add(-1, 1) = %d\", got)\n\t}\n\treturn nil\n}\n\n" +
				"func TestAdd(t *testing.T) {\n\tif err := sums(); err != nil {\n\t\tt.Error(err)\n\t}\n}\n\n" +
				after(goTwo, "func TestDiv")},
		{why: "a table is written out", path: "calc_test.go", before: goTable,
			after: "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n" +
				"\t\tt.Error(1)\n\t}\n\tif Add(0, 0) != 0 {\n" +
				"\t\tt.Error(2)\n\t}\n\tif Add(-1, 1) != 0 {\n\t\tt.Error(3)\n\t}\n}\n"},
		edit("a method called Skip that skips no test", "calc_test.go", goTwo, "Div(1, 0); err",
			"Div(skipSpace(1), in.Skip(0)); err"),
		{why: "a suite of testify moves as it is", path: "s_test.go", before: suite, after: "-",
			more: []File{file("suite_test.go", "-", suite)}},
	})
}

const tmpDir = `package calc

import (
	"os"
	"testing"
)

func TestWrite(t *testing.T) {
	dir, err := os.MkdirTemp("", "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
}
`

const suite = `package calc

type S struct{ suite.Suite }

func (s *S) TestAdd() {
	s.Equal(3, Add(1, 2))
	s.Require().NoError(Check())
}
`

const goThree = `package calc

import "testing"

func TestAlpha(t *testing.T) {
	if got := Upper("alpha"); got != "ALPHA" {
		t.Errorf("got %q", got)
	}
}

func TestBeta(t *testing.T) {
	if got := Upper("beta"); got != "BETA" {
		t.Errorf("got %q", got)
	}
}

func TestGamma(t *testing.T) {
	if got := Upper("gamma"); got != "GAMMA" {
		t.Errorf("got %q", got)
	}
}
`

// TestSameOnBothSides: an assertion that compares an expression with itself cannot fail. Two
// calls with different values of one type are not the same.
func TestSameOnBothSides(t *testing.T) {
	for text, want := range map[string]bool{
		"Equal(t, x.Name, x.Name)":                                         true,
		"Equal(t, sum([]int{1, 2}), sum([]int{1,2}))":                      true,
		"Equal(t, sum([]int{1, 2}), sum([]int{2, 1}))":                     false,
		"Equal(t, T{A: 1}, T{A: 2})":                                       false,
		"Equal(t, f(func() int { return 1 }), f(func() int { return 2 }))": false,
		"True(t, len(T{1}.list) == len(T{2}.list))":                        false,
		"Equal(t, f(a...), f(a))":                                          false,
		"Equal(t, s[1:], s[:1])":                                           false,
		"Equal(t, a+b, a-b)":                                               false,
		"Equal(t, f(func(a, b int) {}), f(func(a int, b int) {}))":         false,
		"Equal(t, f( a,b ), f(a, b))":                                      true,
		"True(t, x == x)":                                                  true,
	} {
		s := read("a_test.go", []byte("package a\n\nfunc TestA(t *testing.T) { assert."+text+" }\n"))
		if got := s.units[0].plain == 0; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
