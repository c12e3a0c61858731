package weaken

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverlay(t *testing.T) {
	newRust := replace(rsTwo, "{ a + b }", "{ a.wrapping_add(b) }")
	for _, tt := range []struct {
		why   string
		files []File
		want  map[string]string // path → contents, "-" = deleted
	}{
		{"code alone changes nothing about tests", []File{file("calc.go", "a", "b")}, nil},
		{"a new test file needs no old run", []File{file("new_test.go", "-", goTwo)}, nil},
		{"a changed test file comes back", []File{file("calc_test.go", goTwo, goHelper)},
			map[string]string{"calc_test.go": goTwo}},
		{"a deleted one too", []File{file("calc_test.go", goTwo, "-")}, map[string]string{"calc_test.go": goTwo}},
		{"a moved one must not stand twice", []File{file("calc_test.go", goTwo, "-"), file("arith_test.go", "-", goTwo)},
			map[string]string{"calc_test.go": goTwo, "arith_test.go": "-"}},
		{"test data comes back, new test data stays", []File{file("testdata/a.golden", "1", "2"),
			file("testdata/b.golden", "-", "3")}, map[string]string{"testdata/a.golden": "1"}},
		{"a helper comes back", []File{file("tests/conftest.py", "x = 1", "x = 2")},
			map[string]string{"tests/conftest.py": "x = 1"}},
		{"a snapshot comes back", []File{file("src/__snapshots__/a.snap", "1", "-")},
			map[string]string{"src/__snapshots__/a.snap": "1"}},
		{"a Rust module is put into the new source", []File{file("src/lib.rs", rsTwo,
			replace(newRust, "assert_eq!(add(1, 2), 3);", ""))}, map[string]string{"src/lib.rs": newRust}},
		{"a Rust module that is gone is put behind it", []File{file("src/lib.rs", rsTwo,
			cut(newRust, "\n#[cfg(test)]", ""))}, map[string]string{"src/lib.rs": newRust}},
		{"Rust code alone changes nothing", []File{file("src/lib.rs", rsTwo, newRust)}, nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var got map[string]string
			for _, f := range (Input{Files: tt.files}).Overlay() {
				if got == nil {
					got = map[string]string{}
				}
				got[f.Path] = string(f.After)
				if f.After == nil {
					got[f.Path] = "-"
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("overlay (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeOldTests(t *testing.T) {
	failed := func(names ...string) RunReport {
		r := RunReport{Known: true, Exit: 1}
		for _, n := range names {
			r.Tests = append(r.Tests, TestResult{Unit: "example.org/calc", Name: n, Outcome: Failed})
		}
		return r
	}
	weaker := []File{file("calc_test.go", goTwo, replace(goTwo, "got != 3", "got != 4"))}
	gone := []File{file("calc_test.go", goTwo, cut(goTwo, "func TestDiv", ""))}
	renamed := []File{file("calc_test.go", goTwo, replace(goTwo, "TestDiv", "TestQuotient"))}
	notBuilt := RunReport{Known: true, Exit: 1, NotBuilt: []string{"example.org/calc"}}
	for _, tt := range []struct {
		why   string
		files []File
		old   RunReport
		base  *RunReport
		want  []string
	}{
		{why: "a changed expected value, and the old test fails", files: weaker, old: failed("TestAdd"),
			want: []string{"changed test TestAdd fails as it was before"}},
		{why: "a subtest stands for its test", files: weaker, old: failed("TestAdd/one_two"),
			want: []string{"changed test TestAdd fails as it was before"}},
		{why: "a removed test fails", files: gone, old: failed("TestDiv"),
			want: []string{"removed test TestDiv fails as it was before"}},
		{why: "the old tests pass", files: weaker, old: RunReport{Known: true}},
		{why: "an unchanged test fails: the checks say so themselves", files: weaker, old: failed("TestDiv")},
		{why: "a test of another file fails", files: weaker, old: failed("TestElsewhere")},
		{why: "it was red before", files: weaker, old: failed("TestAdd"), base: ptr(failed("TestAdd"))},
		{why: "a renamed test is the same test", files: renamed, old: failed("TestDiv")},
		{why: "the API was renamed: nothing builds, no test is lost",
			files: []File{file("calc_test.go", goTwo, replace(goTwo, "Add(", "Sum("))}, old: notBuilt},
		{why: "nothing builds, and a test is gone", files: gone, old: notBuilt,
			want: []string{"example.org/calc no longer build, and there are fewer tests: 2 to 1"}},
		{why: "an unknown runner fails, and a test is gone", files: gone, old: RunReport{Exit: 1},
			want: []string{"the old tests no longer build, and there are fewer tests: 2 to 1"}},
		{why: "an unknown runner fails, and no test is gone", files: weaker, old: RunReport{Exit: 1}},
		{why: "a name is gone in a language without a compiler",
			files: []File{file("tests/test_calc.py", pyTwo, replace(pyTwo, "add(", "plus("))},
			old:   RunReport{Known: true, Exit: 1, Tests: []TestResult{{"tests/test_calc.py", "test_add", Unresolved}}}},
		{why: "the helper of a test was changed", files: []File{file("calc_test.go", goHelper,
			replace(goHelper, "if got != want {", "if got < want {"))}, old: failed("TestSum"),
			want: []string{"changed test TestSum fails as it was before"}},
		{why: "a filled-in title of Jest", files: []File{file("calc.test.js", jsEach,
			replace(jsEach, "[1, 2, 3]", "[1, 2, 4]"))},
			old:  RunReport{Known: true, Exit: 1, Tests: []TestResult{{"calc.test.js", "calc/adds 1 and 2", Failed}}},
			want: []string{"changed test calc/adds %d and %d fails as it was before"}},
		{why: "its set-up skips it now, and so it passes", files: []File{file("calc_test.go", goTwo,
			replace(goTwo, "got != 3", "got != 4"))}, old: failed("TestDiv"), base: &RunReport{Known: true},
			want: []string{"test TestDiv fails with the test files as they were before"}},
		{why: "it fails with its own files, too: the checks say so themselves", files: weaker, old: failed("TestDiv"),
			base: ptr(failed("TestDiv"))},
		{why: "a helper of an unchanged file was changed", files: weaker, old: failed("TestElsewhere"),
			base: &RunReport{Known: true},
			want: []string{"test TestElsewhere passes only with what the change did to test files"}},
		{why: "nothing runs in these surroundings", files: gone, old: RunReport{Exit: 127}, base: &RunReport{Exit: 127}},
		{why: "a script of assertions", files: weaker,
			old: ParseRun([]byte("Traceback (most recent call last):\nAssertionError: 4 != 3\n"), 1), base: &RunReport{},
			want: []string{"the test script passes only with what the change did to test files"}},
		{why: "a test of the same name in another package", files: []File{file("div/calc_test.go", goTwo,
			replace(goTwo, "got != 3", "got != 4"))}, old: failed("TestAdd")},
	} {
		t.Run(tt.why, func(t *testing.T) {
			rep := Judge(Input{Files: tt.files})
			var got []string
			for _, f := range JudgeOldTests(rep, tt.old, tt.base) {
				got = append(got, f.Detail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// TestOldTestsWithGo applies the whole rule with the real go tool. One agent breaks
// the code and bends the test to fit, another one renames honestly.
func TestOldTestsWithGo(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go tool on PATH")
	}
	code := "package calc\n\nfunc Add(a, b int) int { return a + b }\n"
	test := "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n" +
		"\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n"
	for _, tt := range []struct {
		why   string
		files []File
		want  []Rule
	}{
		{"the expected value is bent to the broken code", []File{
			file("calc.go", code, replace(code, "a + b", "a - b")),
			file("calc_test.go", test, replace(test, "got != 3", "got != -1"))}, is(OldTests)},
		{"function and test are renamed", []File{
			file("calc.go", code, replace(code, "Add", "Sum")),
			file("calc_test.go", test, replace(test, "Add", "Sum"))}, nil},
		{"the test file is renamed", []File{
			file("calc_test.go", test, "-"), file("add_test.go", "-", test)}, nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			dir := t.TempDir()
			write := func(p string, b []byte) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(p)), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("go.mod", []byte("module example.org/calc\n\ngo 1.24\n"))
			write("calc.go", []byte(code))
			for _, f := range tt.files {
				if f.After != nil {
					write(f.Path, f.After)
				}
			}
			for _, f := range (Input{Files: tt.files}).Overlay() {
				if f.After == nil {
					if err := os.Remove(filepath.Join(dir, f.Path)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(f.Path, f.After)
			}
			cmd := exec.Command(goTool, "test", "./...")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local")
			out, err := cmd.CombinedOutput()
			exit := 0
			if err != nil {
				exit = 1
			}
			run := ParseRun(out, exit)
			if !run.Known && exit != 0 {
				t.Fatalf("the go tool could not be read:\n%s", out)
			}
			rep := Judge(Input{Files: tt.files, Commands: []string{"go test ./..."}})
			got := rulesOf(append(slices.Clone(rep.Findings), JudgeOldTests(rep, run, nil)...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}

// TestOverlayHelpers: a helper outside of test folders is put back when tests
// alone name it.
func TestOverlayHelpers(t *testing.T) {
	helper := file("fixtures.py", "def wanted():\n    return 3\n", "def wanted():\n    return -1\n")
	tree := map[string]string{"test_calc.py": "import fixtures\n", "calc.py": "def add(a, b): ...\n"}
	for _, tt := range []struct {
		why   string
		files []File
		more  map[string]string
		want  []string
	}{
		{why: "named by a test", files: []File{helper}, want: []string{"fixtures.py"}},
		{why: "named by code", files: []File{helper}, more: map[string]string{"calc.py": "import fixtures\n"}},
		{why: "named by nobody", files: []File{helper}, more: map[string]string{"test_calc.py": "import calc\n"}},
		{why: "code that only tests name is still code", files: []File{file("calc.py", "a = 1\n", "a = 2\n")},
			more: map[string]string{"test_calc.py": "import calc\n"}},
		{why: "data that tests compare with", files: []File{file("out.golden.txt", "3\n", "-1\n")},
			more: map[string]string{"test_calc.py": "open('out.golden.txt')\n"}, want: []string{"out.golden.txt"}},
		{why: "data whose name says that it is expected", files: []File{file("want.json", "3\n", "-1\n")},
			more: map[string]string{"test_calc.py": "open('want.json')\n"}, want: []string{"want.json"}},
		{why: "data that a check compares with", files: []File{file("expect.txt", "3\n", "-1\n")},
			more: map[string]string{"test_calc.py": "", "calc.py": "", "accept.py": "open('expect.txt')\n"},
			want: []string{"expect.txt"}},
		{why: "a helper of a check", files: []File{helper}, want: []string{"fixtures.py"},
			more: map[string]string{"test_calc.py": "", "accept.py": "import fixtures\n"}},
		{why: "data that code reads as well", files: []File{file("want.json", "3\n", "-1\n")},
			more: map[string]string{"test_calc.py": "open('want.json')\n", "calc.py": "open('want.json')\n"}},
		{why: "a new conftest.py goes", files: []File{file("conftest.py", "-", "import x\n")}, want: []string{"conftest.py"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			in := Input{Files: tt.files, Paths: []string{"accept.py", "calc.py", "fixtures.py", "test_calc.py"}}
			in.Lookup = func(p string) ([]byte, bool) {
				s, ok := tt.more[p]
				if !ok {
					s, ok = tree[p]
				}
				return []byte(s), ok
			}
			var got []string
			for _, f := range in.Overlay() {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("put back (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeld: lost assertions are forgiven where the old tests ran on the new code
// and passed.
func TestHeld(t *testing.T) {
	lost := Finding{Rule: Assertions, Path: "calc/calc_test.go", Test: "TestAdd"}
	passed := RunReport{Known: true}
	failed := func(unit string) RunReport {
		return RunReport{Known: true, Exit: 1, Tests: []TestResult{{unit, "TestAdd", Failed}}}
	}
	for _, tt := range []struct {
		why  string
		old  []RunReport
		want bool
	}{
		{"they ran and passed", []RunReport{passed}, true},
		{"a check of another kind passed, too", []RunReport{{}, passed}, true},
		{"nothing is known about what ran", []RunReport{{}}, false},
		{"nothing ran", nil, false},
		{"one of the file failed", []RunReport{failed("example.org/calc")}, false},
		{"one of another folder failed", []RunReport{failed("example.org/other")}, true},
		{"they could not be built", []RunReport{{Known: true, Exit: 1, NotBuilt: []string{"example.org/calc"}}}, false},
		{"an unknown runner failed", []RunReport{passed, {Exit: 1}}, false},
	} {
		if got := Held(lost, tt.old); got != tt.want {
			t.Errorf("%s: %v", tt.why, got)
		}
	}
}
