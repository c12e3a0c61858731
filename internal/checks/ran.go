package checks

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"git-ralph/internal/text/lazyregexp"
)

// tally reads how many tests ran and passed from the output of a successful test
// run. Each match adds its first group and subtracts the groups after it: skipped
// tests, and those that may fail. A pattern without a group says that no test ran.
type tally struct {
	runner, pattern string
	last            bool // only the last match counts: totals of a run that are printed again
}

// tallies are the summaries of the usual runners. Runners that print nothing of
// the kind are not known; then nothing is concluded.
var tallies = []tally{
	{"pytest", `(?m)^=* ?(?:\d+ failed, )?(\d+) passed\b[^\n]* in [\d.:]+`, false},
	{"pytest", `(?m)^=* ?(?:no tests ran|\d+ (?:deselected|skipped)[^\n]*) in [\d.:]+`, false},
	{"unittest", `(?m)^Ran (\d+) tests? in [^\n]*(?:\s+(?:OK|FAILED|NO TESTS RAN)[^\n]*?\(?(?:[^\n]*?skipped=(\d+))?` +
		`(?:[^\n]*?expected failures=(\d+))?)?`, false},
	{"Jest", `(?m)^Tests: +(?:\d+ \w+, )*?(\d+) passed, `, true},
	{"Jest", `(?m)^Tests: +(?:\d+ (?:skipped|todo), )+\d+ total`, false},
	{"Vitest", `(?m)^ *Tests +(?:\d+ \w+ \| )*?(\d+) passed`, true},
	{"Vitest", `(?m)^ *Tests +\d+ (?:skipped|todo)[^\n]*\(\d+\)$`, false},
	{"Jest, Vitest", `No test(?: file)?s found, exiting with code 0`, false},
	{"Mocha, Cypress", `(?m)^ +(\d+) passing\b`, false},
	{"node --test", `(?m)^(?:#|ℹ) tests (\d+)(?:\n(?:#|ℹ) \w+ \d+)*?\n(?:#|ℹ) skipped (\d+)` +
		`(?:\n(?:#|ℹ) todo (\d+))?`, false},
	{"cargo test", `(?m)^test result: \w+\. (\d+) passed; `, false},
	{"cargo nextest", `(?m)^ *Summary [^\n]*?(\d+) tests? run:`, false},
	{"Surefire", `(?m)^(?:\[\w+\] +)?Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)$`, false},
	{"Surefire, sbt", `(?m)^(?:\[\w+\] +)?No tests (?:to run|were executed)`, false},
	{"RSpec", `(?m)^(\d+) examples?, \d+ failures?(?:, (\d+) pending)?`, false},
	{"Minitest, test-unit",
		`(?m)^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors(?:, \d+ pendings)?(?:, (\d+) ` +
			`(?:skips|omissions))?`, false},
	{"PHPUnit", `(?m)^OK \((\d+) tests?, `, false},
	{"PHPUnit", `(?m)^Tests: (\d+), Assertions: \d+(?:[^\n]*?\bSkipped: (\d+))?(?:[^\n]*?\bIncomplete: (\d+))?`, false},
	{"PHPUnit", `(?m)^No tests executed!`, false},
	{"dotnet test", `Failed: +\d+, Passed: +(\d+), Skipped: `, false},
	{"dotnet test", `No test matches the given testcase filter|No test is available in`, false},
	{"CTest", `(?m)^\d+% tests passed, \d+ tests failed out of (\d+)`, false},
	{"CTest", `No tests were found!!!`, false},
	{"Swift", `(?m)Executed (\d+) tests?, with(?: (\d+) tests? skipped)?`, true},
	{"Deno", `(?m)^(?:ok|FAILED) \| (\d+) passed`, false},
	{"Bun", `(?m)^ *(\d+) pass$`, false},
	{"ExUnit, Bats", `(?m)^(?:\d+ doctests?, )?(\d+) tests?, \d+ failures?(?:, \d+ excluded)?(?:, (\d+) skipped)?`, false},
	{"ExUnit", `(?m)^There are no tests to run`, false},
	{"Dart", `(?m)^No tests ran\.`, false},
	{"Ginkgo", `(?m)^Ran (\d+) of \d+ Specs`, false},
	{"Playwright", `(?m)^ +(\d+) passed \([\d.]+m?s\)`, false},
	{"sbt", `(?m)Passed: Total (\d+), `, false},
	{"go test", `(?m)^no packages to test$`, false},
	{"Gradle", `(?m)^> Task :\S*[tT]est\S* NO-SOURCE$`, false},
	{"gotestsum", `(?m)^DONE (\d+) tests?(?:, (\d+) skipped)?`, true},
	{"prove", `(?m)^Files=\d+, Tests=(\d+), `, false},
	{"AVA", `(?m)^ +(\d+) tests? passed$`, false},
	{"Bazel", `(?m)^Executed \d+ out of (\d+) tests?:`, false},
	{"Meson", `(?m)^Ok: +(\d+)\s+(?:Expected Fail: +\d+\s+)?Fail: +\d+`, false},
	{"GoogleTest", `(?m)^\[  PASSED  \] (\d+) tests?\.`, false},
	{"Catch2", `(?m)^All tests passed \(\d+ assertions? in (\d+) test cases?\)`, false},
	{"Catch2, doctest", `(?m)^(?:\[doctest\] )?test cases: +\d+ \| +(\d+) passed`, false},
	{"Zig, EUnit, Tasty", `(?m)^ *All (\d+) tests? passed\b`, false},
	{"Zig", `(?m)^Build Summary: [^\n]*?(\d+)/\d+ tests passed`, false},
	{"Dart", `\+(\d+)(?: ~\d+)?: All (?:other )?tests passed!`, true},
	{"Swift Testing", `Test run with (\d+) tests?\b[^\n]* passed after`, false},
	{"Leiningen", `(?m)^Ran (\d+) tests containing \d+ assertions`, false},
	{"Pest", `(?m)^ +Tests: +(?:\d+ \w+, )*?(\d+) passed \(`, false},
	{"busted", `(?m)^(\d+) success(?:es)? / \d+ failures?`, false},
	{"Alcotest", `(?m)^Test Successful in [\d.]+s\. (\d+) tests? run\.`, false},
	{"testthat", `\[ FAIL \d+ \| WARN \d+ \| SKIP \d+ \| PASS (\d+) \]`, true},
	{"Julia", `(?m)^Test Summary: +\| +Pass[^\n]*\n[^|\n]+\| +(\d+)`, false},
	{"dotnet test, uvu", `(?m)^ +Passed: +(\d+)$`, false},
	{"Jasmine", `(?m)^(\d+) specs?, \d+ failures?(?:, (\d+) pending specs?)?`, false},
	{"Karma", `Executed (\d+) of \d+ [^\n\r]*SUCCESS`, true},
	{"tape", `(?m)^# tests (\d+)\n# pass +\d+$`, false},
	{"node-tap", `(?m)^# \{ total: (\d+), pass: `, false},
	{"behave", `(?m)^(\d+) scenarios? passed, \d+ failed`, false},
	{"Cucumber", `(?m)^\d+ scenarios? \((?:\d+ \w+, )*?(\d+) passed\)`, false},
	{"Robot Framework", `(?m)^(\d+) tests?, \d+ passed, \d+ failed`, true},
}

var compiledTallies = sync.OnceValue(func() []filtered {
	var out []filtered
	for _, t := range tallies {
		out = append(out, newFiltered(t.pattern))
	}
	return out
})

// ends are the last words of runners that say whether tests failed; the first group
// of the last match is not empty when some did. A runner that is not ended by what it
// runs says this and exits with a number that is not 0.
var ends = sync.OnceValue(func() []filtered {
	var out []filtered
	for _, pattern := range []string{
		`(?m)^(?:OK|(FAILED) \((?:failures|errors|unexpected successes)=\d+.*\))(?: |$)`,               // unittest
		`(?m)^(?:=+ )?(?:(\d+ (?:failed|errors?))|\d+ (?:passed|skipped))\b.* in \d+\.\d+s\b`,          // pytest
		`(?m)^(?:#|ℹ) fail (?:0|([1-9]\d*))$`,                                                          // node --test
		`(?m)^ *Tests:? +(?:(\d+ failed)|\d+ \w+)\b.*(?:total|\(\d+\))$`,                               // Jest, Vitest
		`(?m)^ +(?:\d+ passing\b.*|([1-9]\d*) failing)$`,                                               // Mocha
		`(?m)^test result: (?:ok|(FAILED))\. \d+ passed; `,                                             // cargo test
		`(?m)^\d+ examples?, (?:0|([1-9]\d*)) failures?\b`,                                             // RSpec
		`(?m)^\d+ (?:runs|tests), \d+ assertions, (?:0 failures, 0 errors|(\d+ failures, \d+ errors))`, // Minitest
		`(?m)^(?:OK \(\d+ tests?, .*|(FAILURES|ERRORS)!)$`,                                             // PHPUnit
		`(?m)^(?:(FAIL)(?:\t\S.*)?|PASS|ok  \t\S.*)$`,                                                  // go test
		`(?m)^DONE \d+ tests?(?:, \d+ skipped)?(, \d+ (?:failures?|errors?))?`,                         // gotestsum
		`(?m)^ *Summary .*\d+ tests? run:(?:.*?(\d+ (?:failed|timed out)))?`,                           // cargo nextest
		`(?m)^\d+% tests passed, (?:0|([1-9]\d*)) tests failed out of \d+`,                             // CTest
		`(?m)^(?:ok|(FAILED)) \| \d+ passed`,                                                           // Deno
		`(?m)^ *(?:0|([1-9]\d*)) fail$`,                                                                // Bun
		`(?m)^(?:\d+ doctests?, )?\d+ tests?, (?:0|([1-9]\d*)) failures?\b`,                            // ExUnit, Bats
		`(?m)^(?:Passed|(Failed))! +- Failed: +\d+, Passed: `,                                          // dotnet test
		`(?m)^(?:\[\w+\] +)?(There are test failures\.)$`,                                              // Surefire
		`(?m)^(There were failing tests\.)`,                                                            // Gradle
		`(?m)Executed \d+ tests?, with (?:.*and )?(?:0|([1-9]\d*)) failures? \(`,                       // Swift
		`(?m)Test run with \d+ tests?\b.* (?:passed|(failed)) after`,                                   // Swift Testing
		`(?m)^Result: (?:PASS|(FAIL))$`,                                                                // prove
		`(?m)^Executed \d+ out of \d+ tests?:(?:.*?(\d+ fails?))?`,                                     // Bazel
		`(?m)^Ok: +\d+\s+(?:Expected Fail: +\d+\s+)?Fail: +(?:0|([1-9]\d*))`,                           // Meson
		`(?m)^\[  (?:PASSED|(FAILED))  \] \d+ tests?\b`,                                                // GoogleTest
		`(?m)^(?:All tests passed \(|(?:\[doctest\] )?test cases: .*?(?: 0 failed|( \d+ failed)|$))`,   // Catch2, doctest
		`(?m): (?:All (?:other )?tests passed!|(Some tests failed)\.)`,                                 // Dart
		`(?m)^\d+ specs?, (?:0|([1-9]\d*)) failures?`,                                                  // Jasmine
	} {
		out = append(out, newFiltered(pattern))
	}
	return out
})

// saysFailed reports whether a runner's last words are that tests failed.
func saysFailed(output string) bool {
	for _, re := range ends() {
		if all := re.find(output); len(all) > 0 && all[len(all)-1][1] != "" {
			return true
		}
	}
	_, failed, _ := reported(output)
	return failed > 0
}

// goVerbose and goJSON are single tests of go test -v and -json; goPackage is
// the line of a package of which at least one test ran, or none.
var (
	goVerbose = lazyregexp.New(`(?m)^ *--- (?:PASS|FAIL): `)
	goJSON    = lazyregexp.New(`(?m)^\{[^\n]*"Action":"(?:pass|fail)"[^\n]*"Test":"`)
	goNone    = lazyregexp.New(`(?m)(?:^|"Output":")ok  ?(?:\\t|\t)[^\n]*\[no tests to run\]`)
	goSome    = lazyregexp.New(`(?m)^ok  \t\S+\t[^\n]*$`)
	goFiles   = lazyregexp.New(`(?m)(?:^|"Output":")\?   ?(?:\\t|\t)[^\n]*\[no test files\]`)
	gradleRun = lazyregexp.New(`(?m)^> Task :\S*[tT]est(?: UP-TO-DATE| FROM-CACHE)?$`)
	ctestSkip = lazyregexp.New(`(?m)^\t +\d+ - .* \(Skipped\)$`) // its total has those, and none that is disabled
	nodeFile  = lazyregexp.New(`(?m)^(?:ok \d+ -|✔) \S*/\S+\.[cm]?[jt]s(?: \([\d.]+ms\))?$|` +
		`<testcase name="\S*/\S+\.[cm]?[jt]s" `)
)

// uncounted reports whether a runner says that tests ran and not how many.
func uncounted(output string) bool {
	return len(goSome().FindAllString(output, -1)) > len(goNone().FindAllString(output, -1)) ||
		gradleRun().MatchString(output)
}

// Ran is how many tests ran, if the output of a command says so; else known is
// false. When one of several runners ran none, that says nothing about another
// one that does not count.
func Ran(output string) (n int, known bool) {
	n, known = counted(output)
	if n == 0 && uncounted(output) {
		return 0, false
	}
	return n, known || goNone().MatchString(output) || goFiles().MatchString(output)
}

func counted(output string) (n int, known bool) {
	if m := len(goVerbose().FindAllString(output, -1)) + len(goJSON().FindAllString(output, -1)); m > 0 {
		n, known = n+m, true
	}
	for i, re := range compiledTallies() {
		all := re.find(output)
		if len(all) > 0 && tallies[i].last {
			all = all[len(all)-1:]
		}
		for _, m := range all {
			known = true
			count := 0
			for j, group := range m[1:] {
				v, _ := strconv.Atoi(group) // an empty group is none
				if j > 0 {
					v = -v
				}
				count += v
			}
			n += max(0, count)
		}
	}
	if !known {
		n, _, known = reported(output)
	}
	return max(0, n-len(ctestSkip().FindAllString(output, -1))), known
}

// filters says how a runner is told to run some tests alone.
type filters struct {
	words []string // that name the runner, one after the other
	flags []string // that choose tests; with "=", also "-Dtest="
	// names: any further word chooses tests; otherwise only one that is a file
	// or a test in it (x_test.py, a.py::test_b).
	names  bool
	values []string // flags whose value is the next word
}

var filterTable = []filters{
	{words: []string{"go", "test"}, flags: []string{"-run", "--run", "-test.run"}},
	{words: []string{"gotestsum"}, flags: []string{"-run", "--run", "-test.run"}},
	{words: []string{"ginkgo"}, flags: []string{"-focus", "--focus", "--focus-file", "--label-filter"}},
	{words: []string{"pytest"}, flags: []string{"-k", "-m"}},
	{words: []string{"py.test"}, flags: []string{"-k", "-m"}},
	{words: []string{"unittest", "discover"}, flags: []string{"-k", "-p", "--pattern"}},
	{words: []string{"unittest"}, flags: []string{"-k"}, names: true},
	{words: []string{"manage.py", "test"}, flags: []string{"-k", "--tag"}, names: true,
		values: []string{"--settings", "--parallel", "-v", "--verbosity"}},
	{words: []string{"jest"}, flags: []string{"-t", "--testNamePattern", "--testPathPattern", "--testPathPatterns"}},
	{words: []string{"vitest"}, flags: []string{"-t", "--testNamePattern"}},
	{words: []string{"mocha"}, flags: []string{"-g", "--grep", "-f", "--fgrep"}},
	{words: []string{"ava"}, flags: []string{"-m", "--match"}},
	{words: []string{"playwright", "test"}, flags: []string{"-g", "--grep"}},
	{words: []string{"node"}, flags: []string{"--test-name-pattern"}},
	{words: []string{"deno", "test"}, flags: []string{"--filter"}},
	{words: []string{"bun", "test"}, flags: []string{"-t", "--test-name-pattern"}},
	{words: []string{"cargo", "nextest", "run"}, flags: []string{"-E", "--test"}, names: true, values: cargoValues},
	{words: []string{"cargo", "test"}, flags: []string{"--test"}, names: true, values: cargoValues},
	{words: []string{"cargo", "t"}, flags: []string{"--test"}, names: true, values: cargoValues},
	{words: []string{"rspec"}, flags: []string{"-e", "--example", "-t", "--tag"}},
	{words: []string{"rails", "test"}, flags: []string{"-n", "--name"}},
	{words: []string{"ruby"}, flags: []string{"-n", "--name"}},
	{words: []string{"phpunit"}, flags: []string{"--filter", "--group"}},
	{words: []string{"pest"}, flags: []string{"--filter", "--group"}},
	{words: []string{"artisan", "test"}, flags: []string{"--filter", "--group"}},
	{words: []string{"dotnet", "test"}, flags: []string{"--filter"}},
	{words: []string{"mvn"}, flags: []string{"-Dtest=", "-Dit.test=", "-Dgroups="}},
	{words: []string{"mvnw"}, flags: []string{"-Dtest=", "-Dit.test=", "-Dgroups="}},
	{words: []string{"gradle"}, flags: []string{"--tests"}},
	{words: []string{"gradlew"}, flags: []string{"--tests"}},
	{words: []string{"ctest"}, flags: []string{"-R", "--tests-regex", "-L", "--label-regex"}},
	{words: []string{"swift", "test"}, flags: []string{"--filter"}},
	{words: []string{"mix", "test"}, flags: []string{"--only"}},
	{words: []string{"bats"}, flags: []string{"-f", "--filter", "--filter-tags"}},
	{words: []string{"dart", "test"}, flags: []string{"-n", "--name", "-N", "--plain-name"}},
	{words: []string{"flutter", "test"}, flags: []string{"--name", "--plain-name"}},
	{words: []string{"sbt"}, flags: []string{"testOnly"}},
	// What npm test and its like pass on says which tests, whatever the runner.
	{words: []string{"npm"}, flags: passedOn},
	{words: []string{"pnpm"}, flags: passedOn},
	{words: []string{"yarn"}, flags: passedOn},
	{words: []string{"make"}, flags: passedOn},
	{words: []string{"just"}, flags: passedOn},
	{words: []string{"rake"}, flags: []string{"TEST=", "N="}},
}

var (
	cargoValues = []string{"-p", "--package", "--exclude", "-F", "--features", "--bench", "--example", "--bin",
		"--target", "--target-dir",
		"--manifest-path", "--profile", "-j", "--jobs", "--color", "--message-format", "-Z", "--config",
		"--test-threads", "--skip"}
	passedOn = []string{"-t", "--testNamePattern", "--testPathPattern", "-g", "--grep", "--test-name-pattern",
		"--filter", "-run", "TESTFLAGS=-run"}
)

// separators end one command of a line. A quoted one is cut as well, which
// does not matter for finding flags.
var separators = lazyregexp.New(`&&|\|\||[;|\n&()]`)

// NamesTests says whether a command line asks for certain tests.
func NamesTests(line string) bool {
	for _, part := range separators().Split(line, -1) {
		words := strings.Fields(strings.NewReplacer(`"`, "", "'", "", "`", "").Replace(part))
		for _, f := range filterTable {
			if rest, ok := after(words, f.words); ok {
				if f.chosen(rest) {
					return true
				}
				break
			}
		}
	}
	return false
}

// after is what follows the words of a runner; a path in front of its name does
// not matter, nor what starts it (uv run, npx, python -m, env X=1).
func after(words, runner []string) ([]string, bool) {
	for i := range words {
		at := i
		for n, want := range runner {
			// As in go -C sub test, cargo +nightly test.
			for n > 0 && at < len(words) && (words[at][0] == '-' || words[at][0] == '+') {
				if words[at] == "-C" {
					at++
				}
				at++
			}
			if at >= len(words) || path.Base(words[at]) != want {
				at = -1
				break
			}
			at++
		}
		if at > 0 {
			return words[at:], true
		}
	}
	return nil, false
}

func (f filters) chosen(words []string) bool {
	skip := false
	for _, w := range words {
		switch {
		case skip:
			skip = false
		case slices.ContainsFunc(f.flags, func(flag string) bool {
			return w == flag || strings.HasPrefix(w, strings.TrimSuffix(flag, "=")+"=") ||
				len(flag) == 2 && flag[0] == '-' && strings.HasPrefix(w, flag) && !strings.HasPrefix(w, "--")
		}):
			return true
		case slices.Contains(f.values, w):
			skip = true
		case strings.HasPrefix(w, "-") || strings.HasPrefix(w, "<") || strings.HasPrefix(w, ">") ||
			strings.HasPrefix(w, "2>"):
		case f.names:
			return true
		case strings.Contains(w, "::") || testFile().MatchString(w) && !strings.ContainsAny(w, "*?[{"):
			return true
		}
	}
	return false
}

// testFile is a word that names one file of tests.
var testFile = lazyregexp.New(`(?i)(?:[._-](?:test|spec)s?|(?:^|/)tests?_[^/]*|Tests?|Spec)\.[a-z]{1,4}(?::\d+)?$`)

// RanNothing says that a command succeeded without running a test, although it
// asks for tests, as a criterion always does. An empty suite as a whole says
// nothing against a check: a project may begin without tests. But go reports when
// the tests of a package were all filtered out, by any setting.
func RanNothing(kind Kind, line, output string) bool {
	none, some := len(goNone().FindAllString(output, -1)), len(goSome().FindAllString(output, -1))
	if none > 0 && some <= none && len(goVerbose().FindAllString(output, -1)) == 0 &&
		len(goJSON().FindAllString(output, -1)) == 0 {
		return true
	}
	n, known := Ran(output)
	if strings.Contains(line, "--test-name-pattern") {
		n = max(0, n-len(nodeFile().FindAllString(output, -1))) // a file without a test of that name passes as one
	}
	return known && n == 0 && (kind == Criterion || NamesTests(line))
}
