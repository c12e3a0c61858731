package checks

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestGuessKind(t *testing.T) {
	for run, want := range map[string]Kind{
		"go test ./...":            Test,
		"cargo clippy":             Test, // unknown commands block
		"./run.sh":                 Test,
		"npm test -- velvet":       Test, // vet only as a word
		"pytest tests/x_format.py": Test,
		"golangci-lint run":        Lint,
		"shellcheck *.sh":          Lint,
		"npx eslint . --check":     Lint, // the lint words come first
		"flake8 src":               Lint,
		"npx stylelint '**/*.css'": Lint,
		"mypy --strict src":        Typecheck,
		"npx tsc --noEmit":         Typecheck,
		"pnpm vue-tsc":             Typecheck,
		"go vet ./...":             Typecheck,
		"pyright":                  Typecheck,
		"gofmt -l .":               Format,
		"cargo fmt --check":        Format,
		"black --check .":          Format,
		"npm run format":           Format,
		"prettier . --check":       Format,
	} {
		if got := GuessKind(run); got != want {
			t.Errorf("GuessKind(%q) = %s, want %s", run, got, want)
		}
	}
}

func TestCriteria(t *testing.T) {
	configured := []Check{
		{Name: "unit", Run: "go test ./...", Kind: Test},
		{Name: "e2e", Run: "./e2e", Kind: Test},
		{Name: "vet", Run: "go vet ./..."}, // kind guessed: typecheck
		{Name: "fmt", Run: "gofmt -l .", Kind: Format},
		{Name: "lint", Run: "staticcheck ./...", Kind: Lint},
	}
	for _, tt := range []struct {
		why    string
		verify []string
		want   []string // name=command
	}{
		{"a command stands for itself", []string{"sh test.sh"}, []string{"sh test.sh=sh test.sh"}},
		{"a check by its name", []string{"e2e"}, []string{"e2e=./e2e"}},
		{"a kind means every check of it", []string{"test"}, []string{"unit=go test ./...", "e2e=./e2e"}},
		{"tests is test", []string{"tests"}, []string{"unit=go test ./...", "e2e=./e2e"}},
		{"a name comes before a kind", []string{"lint"}, []string{"lint=staticcheck ./..."}},
		{"a guessed kind counts", []string{"typecheck"}, []string{"vet=go vet ./..."}},
		{"format_check", []string{"format_check"}, []string{"fmt=gofmt -l ."}},
		{"all", []string{"all"}, []string{"unit=go test ./...", "e2e=./e2e", "vet=go vet ./...", "fmt=gofmt -l .",
			"lint=staticcheck ./..."}},
		{"meant twice, run once", []string{"unit", "test", "go test ./..."}, []string{"unit=go test ./...", "e2e=./e2e"}},
		{"empty entries are nothing", []string{"", "  "}, nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			var got []string
			for _, c := range Criteria(tt.verify, configured) {
				if c.Kind != Criterion {
					t.Errorf("%s has kind %s", c.Name, c.Kind)
				}
				got = append(got, c.Name+"="+c.Run)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("criteria (-want +got):\n%s", diff)
			}
		})
	}
	if got := Criteria([]string{"lint"}, nil); len(got) != 1 || got[0].Run != "lint" {
		t.Errorf("a kind without a check must become a command that fails, not nothing: %v", got)
	}
}

func TestResultJSON(t *testing.T) {
	r := Result{Name: "test", Kind: Test, Command: "go test", ExitCode: 1, TimedOut: true, AlreadyRed: true,
		DurationMs: 12,
		Output:     []byte("a\xffb"), Attempts: 2}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"test","kind":"test","command":"go ` +
		`test","exit_code":1,"passed":false,"duration_ms":12,"output":"a�b","timeout":true,"already_red":true,"attempts":2}`
	if string(b) != want {
		t.Errorf("JSON = %s\nwant   %s", b, want)
	}
	var back Result
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	r.Output = []byte("a�b")
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"name":1}`), &back); err == nil {
		t.Error("a broken object was read without an error")
	}
}

func TestState(t *testing.T) {
	for want, r := range map[string]Result{
		"passed": {Passed: true}, "flaky": {Passed: true, Flaky: true}, "already red": {AlreadyRed: true},
		"timeout": {TimedOut: true}, "failed": {},
	} {
		if got := r.State(); got != want {
			t.Errorf("State = %q, want %q", got, want)
		}
	}
}

func TestWeigh(t *testing.T) {
	res := func(name string, kind Kind, passed bool) Result {
		return Result{Name: name, Kind: kind, Command: name, Passed: passed}
	}
	red := func(names ...string) Baseline {
		var rs []Result
		for _, n := range names {
			rs = append(rs, res(n, Test, false))
		}
		return Baseline{}.Update(rs)
	}
	timeout := res("slow", Test, false)
	timeout.TimedOut = true
	flaky := res("net", Test, true)
	flaky.Flaky = true
	may := res("nightly", Test, false)
	may.AllowFailure = true
	ran := func(n int, tested bool) Result {
		r := res("test", Test, true)
		r.Tests, r.Tested, r.Spoke = &n, tested, true
		return r
	}
	uncounted := res("test", Test, true)
	uncounted.Tested = true
	none := ran(0, false)
	belied := res("test", Test, true)
	belied.Spoke, belied.SaysFailed = true, true
	quiet := res("test", Test, true)
	quiet.Quiet = true
	silent := quiet
	silent.Name, silent.Kind = "prove it", Criterion
	failing := ran(0, false)
	failing.Passed, failing.Tests, failing.Spoke = false, nil, true
	named := ran(0, false)
	named.Kind = Criterion
	for _, tt := range []struct {
		why      string
		results  []Result
		base     Baseline
		mode     Mode
		strategy Strategy
		pass     bool
		reasons  []string
		already  []string
		tolerate []string
	}{
		{"all green", []Result{res("test", Test, true)}, Baseline{}, Record, Strict, true, nil, nil, nil},
		{"nothing to weigh", nil, Baseline{}, Record, Strict, true, nil, nil, nil},
		{"red names every check once", []Result{res("test", Test, false), res("fmt", Format, true),
			res("lint", Lint, false)}, Baseline{}, Record, Strict, false, []string{"checks: test, lint"}, nil, nil},
		{"a timeout is red and says so", []Result{timeout}, Baseline{}, Record, Strict, false,
			[]string{"checks: slow (timeout)"}, nil, nil},
		{"lenient tolerates lint and format", []Result{res("lint", Lint, false), res("fmt", Format, false)}, Baseline{},
			Record, Lenient, true, nil, nil, []string{"lint", "fmt"}},
		{"lenient does not tolerate types", []Result{res("tsc", Typecheck, false)}, Baseline{}, Record, Lenient, false,
			[]string{"checks: tsc"}, nil, nil},
		{"tests_only looks at tests alone", []Result{res("lint", Lint, false), res("tsc", Typecheck, false),
			res("test", Test, true)}, Baseline{}, Record, TestsOnly, true, nil, nil, nil},
		{"tests_only still wants tests", []Result{res("test", Test, false)}, Baseline{}, Record, TestsOnly, false,
			[]string{"checks: test"}, nil, nil},
		{"red before and after is already red", []Result{res("test", Test, false)}, red("test"), Record, Strict, true,
			nil, []string{"test"}, nil},
		{"fix-first does not ask for the impossible either", []Result{res("test", Test, false)}, red("test"), FixFirst,
			Strict, true, nil, []string{"test"}, nil},
		{"require wants green whatever was", []Result{res("test", Test, false)}, red("test"), Require, Strict, false,
			[]string{"checks: test"}, nil, nil},
		{"off wants green whatever was", []Result{res("test", Test, false)}, red("test"), Off, Strict, false,
			[]string{"checks: test"}, nil, nil},
		{"green once must stay green", []Result{res("test", Test, false)},
			red("test").Update([]Result{res("test", Test, true)}), Record, Strict, false, []string{"checks: test"}, nil, nil},
		{"a check without a baseline must be green", []Result{res("new", Test, false)}, red("test"), Record, Strict,
			false, []string{"checks: new"}, nil, nil},
		{"another command of the same name has no baseline", []Result{{Name: "test", Kind: Test, Command: "other"}},
			red("test"), Record, Strict, false, []string{"checks: test"}, nil, nil},
		{"a criterion must pass under any strategy and baseline", []Result{res("lint", Lint, false),
			res("sh test.sh", Criterion, false)}, red("sh test.sh", "lint"), Record, TestsOnly, false,
			[]string{"criteria: sh test.sh"}, nil, nil},
		{"checks come before criteria", []Result{res("sh test.sh", Criterion, false), res("test", Test, false)},
			Baseline{}, Record, Strict, false, []string{"checks: test", "criteria: sh test.sh"}, nil, nil},
		{"a check that may fail does not reject", []Result{may, res("b", Test, true)}, Baseline{}, Off, Strict, true,
			nil, nil, []string{"nightly"}},
		{"and is not excused by the baseline besides", []Result{may}, red("nightly"), Record, Strict, true, nil, nil,
			[]string{"nightly"}},
		{"a criterion of it rejects", []Result{may, res("nightly", Criterion, false)}, Baseline{}, Record, Strict,
			false, []string{"criteria: nightly"}, nil, []string{"nightly"}},
		{"a suite that is gone is red", []Result{none}, Baseline{}.Update([]Result{ran(2, true)}), Record, Strict, false,
			[]string{"checks: test (no test ran)"}, nil, nil},
		{"also where nobody counted it", []Result{none}, Baseline{}.Update([]Result{uncounted}), Off, Strict, false,
			[]string{"checks: test (no test ran)"}, nil, nil},
		{"also as a criterion", []Result{named}, Baseline{}.Update([]Result{ran(2, true)}), Record, Strict, false,
			[]string{"criteria: test (no test ran)"}, nil, nil},
		{"also for the second time", []Result{none},
			Baseline{}.Update([]Result{ran(2, true)}).Update([]Result{res("test", Test, false)}), Record, Strict, false,
			[]string{"checks: test (no test ran)"}, nil, nil},
		{"a runner that did not come to its end is red", []Result{quiet}, Baseline{}.Update([]Result{ran(2, true)}), Record,
			Strict, false, []string{"checks: test (no test ran)"}, nil, nil},
		{"also where every test failed before", []Result{quiet}, Baseline{}.Update([]Result{failing}), Off, Strict, false,
			[]string{"checks: test (no test ran)"}, nil, nil},
		{"also when the same command proves a task", []Result{silent}, Baseline{}.Update([]Result{failing}), Record, Strict,
			false, []string{"criteria: prove it (no test ran)"}, nil, nil},
		{"a check that never spoke of tests may be quiet", []Result{quiet}, Baseline{}.Update([]Result{quiet}), Record,
			Strict, true, nil, nil, nil},
		{"a runner that says failed and exits with 0 is red", []Result{belied}, Baseline{}.Update([]Result{ran(2, true)}),
			Record, Strict, false, []string{"checks: test (the runner says that tests failed, and exited with 0)"}, nil, nil},
		{"also when nothing is known of its command", []Result{belied}, Baseline{}, Off, Strict, false,
			[]string{"checks: test (the runner says that tests failed, and exited with 0)"}, nil, nil},
		{"a command of the user may forgive what fails", []Result{belied}, Baseline{}.Update([]Result{belied}), Record,
			Strict, true, nil, nil, nil},
		{"a project may begin without tests", []Result{none}, Baseline{}.Update([]Result{none}), Record, Strict, true,
			nil, nil, nil},
		{"fewer tests are the business of the test guard", []Result{ran(1, true)},
			Baseline{}.Update([]Result{ran(2, true)}), Record, Strict, true, nil, nil, nil},
		{"a flaky check is kept", []Result{flaky}, Baseline{}, Record, Strict, true, nil, nil, nil},
	} {
		t.Run(tt.why, func(t *testing.T) {
			v := Weigh(tt.results, tt.base, tt.mode, tt.strategy)
			if v.Pass != tt.pass {
				t.Errorf("Pass = %v", v.Pass)
			}
			for what, pair := range map[string][2][]string{"reasons": {tt.reasons, v.Reasons},
				"already red": {tt.already, v.AlreadyRed}, "tolerated": {tt.tolerate, v.Tolerated}} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			for _, r := range v.Results {
				if want := cmp.Equal(tt.already, []string{r.Name}); r.AlreadyRed != want {
					t.Errorf("%s: AlreadyRed = %v", r.Name, r.AlreadyRed)
				}
			}
			for _, r := range tt.results {
				if r.AlreadyRed {
					t.Error("the given results were changed")
				}
			}
		})
	}
	if got := Weigh([]Result{flaky}, Baseline{}, Record, Strict).Flaky; !cmp.Equal(got, []string{"net"}) {
		t.Errorf("Flaky = %v", got)
	}
}

func TestBaselineUpdate(t *testing.T) {
	first := Baseline{}.Update([]Result{{Name: "a", Command: "1"}, {Name: "b", Command: "2", Passed: true},
		{Name: "c", Kind: Criterion, Passed: true}})
	want := Baseline{Checks: []BaselineCheck{{Name: "a", Command: "1", Green: false},
		{Name: "b", Command: "2", Green: true}}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	second := first.Update([]Result{{Name: "a", Command: "1", Passed: true}, {Name: "b", Command: "other"}})
	want = Baseline{Checks: []BaselineCheck{{Name: "a", Command: "1", Green: true},
		{Name: "b", Command: "other", Green: false}}}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("second (-want +got):\n%s", diff)
	}
	if first.Checks[0].Green {
		t.Error("Update changed the baseline that it was called on")
	}
}

func TestProvable(t *testing.T) {
	lint, unit := Check{Name: "lint", Run: "eslint ."}, Check{Name: "test", Run: "make test"}
	allowed := Check{Name: "test", Run: "make test", AllowFailure: true}
	red := Baseline{}.Update([]Result{{Name: "test", Command: "make test"}})
	for _, tt := range []struct {
		why      string
		checks   []Check
		strategy Strategy
		mode     Mode
		base     Baseline
		verify   []string
		want     bool
	}{
		{"nothing at all", nil, Strict, Record, Baseline{}, nil, false},
		{"a check", []Check{lint}, Strict, Record, Baseline{}, nil, true},
		{"a check that the strategy leaves out", []Check{lint}, TestsOnly, Record, Baseline{}, nil, false},
		{"a check that the strategy lets fail", []Check{lint}, Lenient, Record, Baseline{}, nil, false},
		{"a check that may fail", []Check{allowed}, Strict, Record, Baseline{}, nil, false},
		{"a criterion", nil, TestsOnly, Record, Baseline{}, []string{"sh t.sh"}, true},
		{"a criterion of blanks", nil, Strict, Record, Baseline{}, []string{" "}, false},
		{"a criterion that names a check that may fail", []Check{allowed}, Strict, Record, Baseline{}, []string{"test"},
			true},
		{"the only check was red already", []Check{unit}, Strict, Record, red, nil, false},
		{"the same for fix-first", []Check{unit}, Strict, FixFirst, red, nil, false},
		{"require excuses nothing", []Check{unit}, Strict, Require, red, nil, true},
		{"off excuses nothing", []Check{unit}, Strict, Off, red, nil, true},
		{"another check is green", []Check{unit, lint}, Strict, Record, red, nil, true},
		{"another check is green and may fail", []Check{unit, {Name: "lint", Run: "eslint .", AllowFailure: true}},
			Strict, Record, red, nil, false},
		{"the command was changed since", []Check{{Name: "test", Run: "make check"}}, Strict, Record, red, nil, true},
	} {
		if got := Provable(tt.verify, tt.checks, tt.strategy, tt.mode, tt.base); got != tt.want {
			t.Errorf("%s: Provable = %v", tt.why, got)
		}
	}
}

func TestNarrow(t *testing.T) {
	var log strings.Builder
	for range 200 {
		log.WriteString("compiling something that works well\n")
	}
	log.WriteString("--- FAIL: TestAdd (0.00s)\n    a_test.go:6: got 4, want 3\n")
	for range 200 {
		log.WriteString("ok  example.org/pkg 0.1s\n")
	}
	log.WriteString("FAIL\n")
	for _, tt := range []struct {
		why, in  string
		has, not []string
	}{
		{"short output is whole", "a\nb\n", []string{"a\nb"}, nil},
		{"colours and titles go", "\x1b[31mFAIL\x1b[0m x\x1b]0;title\x07y\x1b]8;;http://a\x1b\\link",
			[]string{"FAIL xylink"}, []string{"\x1b", "title", "http"}},
		{"progress lines show their last state", "10%\r20%\rdone\n", []string{"done"}, []string{"10%"}},
		{"the failure in the middle is found", log.String(), []string{"--- FAIL: TestAdd", "got 4, want 3", "…",
			"FAIL"}, nil},
		{"a line that is too long keeps both ends", strings.Repeat("x", 5000) + " error: here",
			[]string{"xxx…", "error: here"}, nil},
		{"without a telling line the end is kept", strings.Repeat("line\n", 500) + "the end", []string{"the end"}, nil},
		{"the end is there, however many failures come before", strings.Repeat(
			"E   assert 1 == 2, something was expected\n", 100) +
			"==== short test summary ====\nFAILED t/test_a.py::test_add\n1 failed in 0.2s\n",
			[]string{"E   assert 1 == 2", "FAILED t/test_a.py::test_add", "1 failed in 0.2s"}, nil},
		{"no failures is no failure", strings.Repeat("1 passed, 0 failed\n", 60) + strings.Repeat("work\n", 300) +
			"Error: boom\n", []string{"Error: boom"}, nil},
		{"bytes that are no text", "\xff\xfe error\n", []string{"error"}, nil},
		{"control and direction characters go", "a\x00b\x07c\u202ed error", []string{"abcd error"},
			[]string{"\x00", "\u202e"}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			got := Narrow([]byte(tt.in), 500)
			if n := utf8.RuneCountInString(got); n > 500 {
				t.Errorf("%d characters", n)
			}
			for _, s := range tt.has {
				if !strings.Contains(got, s) {
					t.Errorf("lacks %q:\n%s", s, got)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(got, s) {
					t.Errorf("has %q:\n%q", s, got)
				}
			}
		})
	}
}

func FuzzNarrow(f *testing.F) {
	f.Add([]byte("\x1b[31mFAIL\x1b[0m"), 500)
	f.Add([]byte("a\rb\x1b]0;t"), 3)
	f.Add([]byte("\x9b31m\xc2\x9b0m error"), 8)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		n %= 2000
		got := Narrow(in, n)
		if utf8.RuneCountInString(got) > max(0, n) {
			t.Errorf("%d characters of %d", utf8.RuneCountInString(got), n)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00") {
			t.Errorf("not plain text: %q", got)
		}
	})
}

func TestFailures(t *testing.T) {
	got := Failures([]Result{
		{Name: "test", Kind: Test, Command: "go test ./...", ExitCode: 1, Output: []byte("FAIL")},
		{Name: "slow", Kind: Test, Command: "sleep 9", TimedOut: true, DurationMs: 10},
		{Name: "old", Kind: Test, AlreadyRed: true},
		{Name: "ok", Kind: Test, Passed: true},
		{Name: "sh t.sh", Kind: Criterion, Command: "sh t.sh", Problem: "start \"/bin/sh\": no such file"},
	}, 500)
	want := "test `go test ./...`: exit code 1\nFAIL\n\ntest `sleep 9` (slow): timeout after 10 ms\n\ncriterion `sh " +
		"t.sh`: start \"/bin/sh\": no such file"
	if got != want {
		t.Errorf("Failures =\n%s\nwant\n%s", got, want)
	}
}
