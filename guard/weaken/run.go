package weaken

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"git-ralph/internal/text/lazyregexp"
)

// Outcome is what one test of a run came to.
type Outcome string

// The outcomes. Unresolved is a failure because a name of the tested code is
// not there (an import, an attribute, a function): in a language without a
// compiler that is what "does not build" looks like.
const (
	Passed     Outcome = "passed"
	Failed     Outcome = "failed"
	Unresolved Outcome = "unresolved"
	NotRun     Outcome = "skipped"
)

// TestResult is one test of a run. Unit is the import path of a Go package or
// the file, as the runner prints it, empty when it does not say. Name has the
// form of OldTest.Name: parts joined by "/", "." or "::".
type TestResult struct {
	Unit, Name string
	Outcome    Outcome
}

// RunReport is the output of a test run, taken apart.
type RunReport struct {
	Exit int
	// Known is false when no runner was recognised: then the exit code is all
	// that is known.
	Known bool
	Tests []TestResult
	// NotBuilt are units that could not be compiled, imported or collected;
	// an empty name is one that the runner did not name.
	NotBuilt []string
}

// Failures are the tests that ran and failed, unresolved ones left out.
func (r RunReport) Failures() []TestResult {
	var out []TestResult
	for _, t := range r.Tests {
		if t.Outcome == Failed {
			out = append(out, t)
		}
	}
	return out
}

// ParseRun reads the output of go test (plain, -v, -json), pytest, unittest,
// Jest, Vitest, Mocha, node --test (spec and TAP), cargo test, and the reports of Maven and
// Gradle. The output must be free of terminal escape sequences. It is read
// as what it seems to be: a test that prints such lines itself can add results, but
// cannot take one away.
func ParseRun(output []byte, exit int) RunReport {
	p := &runParser{report: RunReport{Exit: exit}, seen: map[[2]string]int{}}
	lines := strings.Split(strings.ReplaceAll(string(output), "\r\n", "\n"), "\n")
	for _, parse := range []func([]string){p.golang, p.pytest, p.unittest, p.jest, p.vitest, p.mocha, p.nodeSpec, p.tap,
		p.cargo, p.java} {
		parse(lines)
	}
	if !p.report.Known && exit != 0 {
		p.script(lines)
	}
	slices.Sort(p.report.NotBuilt)
	p.report.NotBuilt = slices.Compact(p.report.NotBuilt)
	return p.report
}

type runParser struct {
	report RunReport
	seen   map[[2]string]int
}

// add records a result; a worse one of the same test replaces a better one.
func (p *runParser) add(unit, name string, o Outcome) {
	p.report.Known = true
	key := [2]string{unit, name}
	if i, ok := p.seen[key]; ok {
		if rank(o) > rank(p.report.Tests[i].Outcome) {
			p.report.Tests[i].Outcome = o
		}
		return
	}
	p.seen[key] = len(p.report.Tests)
	p.report.Tests = append(p.report.Tests, TestResult{unit, name, o})
}

func rank(o Outcome) int {
	switch o {
	case Failed:
		return 3
	case Unresolved:
		return 2
	case Passed:
		return 1
	}
	return 0
}

// unresolve turns a failure into an unresolved one when its message says so.
func (p *runParser) unresolve(unit, name string) {
	if i, ok := p.seen[[2]string{unit, name}]; ok && p.report.Tests[i].Outcome == Failed {
		p.report.Tests[i].Outcome = Unresolved
	}
}

func (p *runParser) broken(unit string) {
	p.report.Known = true
	p.report.NotBuilt = append(p.report.NotBuilt, unit)
}

// unresolved are the messages of interpreters for names that do not exist.
var unresolved = lazyregexp.New(`ImportError|ModuleNotFoundError|NameError: name|` +
	`AttributeError: (module|type object|'\w+' object has no attribute|partially)|` +
	`TypeError( \[Error\])?: .{1,80} is not a (function|constructor)|` +
	`ReferenceError: \S+ is not defined|Cannot find (module|package)|ERR_MODULE_NOT_FOUND|` +
	`does not provide an export named|is not exported`)

// golang reads the three forms of go test.
func (p *runParser) golang(lines []string) {
	var plain []string
	for _, l := range lines {
		if !strings.HasPrefix(l, "{") || !strings.Contains(l, `"Action"`) {
			plain = append(plain, l)
			continue
		}
		var e struct{ Action, Package, Test, ImportPath, FailedBuild string }
		if json.Unmarshal([]byte(l), &e) != nil {
			continue
		}
		switch {
		case e.Action == "build-fail":
			unit, _, _ := strings.Cut(e.ImportPath, " ")
			p.broken(unit)
		case e.Test == "":
		case e.Action == "pass":
			p.add(e.Package, e.Test, Passed)
		case e.Action == "fail":
			p.add(e.Package, e.Test, Failed)
		case e.Action == "skip":
			p.add(e.Package, e.Test, NotRun)
		}
	}
	// The plain form names the package behind its tests.
	var open []TestResult
	for _, l := range plain {
		t := strings.TrimSpace(l)
		if rest, ok := strings.CutPrefix(t, "--- "); ok {
			word, rest, ok := strings.Cut(rest, ": ")
			name, _, timed := strings.Cut(rest, " (")
			if ok && timed {
				switch word {
				case "PASS":
					open = append(open, TestResult{"", name, Passed})
				case "FAIL":
					open = append(open, TestResult{"", name, Failed})
				case "SKIP":
					open = append(open, TestResult{"", name, NotRun})
				}
			}
			continue
		}
		f := strings.Fields(l)
		if len(f) >= 2 && (f[0] == "ok" || f[0] == "FAIL" || f[0] == "---") && strings.Contains(l, "\t") {
			if strings.Contains(l, "[build failed]") || strings.Contains(l, "[setup failed]") {
				p.broken(f[1])
			}
			p.report.Known = true
			for _, r := range open {
				p.add(f[1], r.Name, r.Outcome)
			}
			open = nil
		}
	}
	for _, r := range open {
		p.add("", r.Name, r.Outcome)
	}
}

// pytest reads the short summary and the lines of -v.
func (p *runParser) pytest(lines []string) {
	for i, l := range lines {
		word, rest, ok := strings.Cut(l, " ")
		switch {
		case ok && (word == "FAILED" || word == "ERROR") && (strings.Contains(rest, ".py::") ||
			strings.HasSuffix(firstWord(rest), ".py")):
			id, msg, _ := strings.Cut(rest, " - ")
			unit, name := pytestID(id)
			if name == "" {
				p.broken(unit)
				continue
			}
			p.add(unit, name, Failed)
			if unresolved().MatchString(msg) || p.pytestDetail(lines, name) {
				p.unresolve(unit, name)
			}
		case strings.Contains(l, ".py::"):
			for _, o := range []struct {
				word string
				out  Outcome
			}{{" PASSED", Passed}, {" XPASS", Passed}, {" SKIPPED", NotRun}, {" XFAIL", NotRun}} {
				if id, _, ok := strings.Cut(l, o.word); ok && !strings.HasPrefix(l, " ") {
					unit, name := pytestID(strings.TrimSpace(id))
					p.add(unit, name, o.out)
				}
			}
		case strings.HasPrefix(l, "____") && strings.Contains(l, " ERROR collecting "):
			_, unit, _ := strings.Cut(strings.Trim(l, "_ "), "ERROR collecting ")
			p.broken(strings.TrimSpace(unit))
		case strings.HasPrefix(l, "====") && strings.Contains(l, " passed") && i >= len(lines)-4:
			p.report.Known = true
		}
	}
}

// failedScript are the words with which a plain program of assertions ends when one fails, and
// the summaries of runners whose tests are not read by name.
var failedScript = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^AssertionError(: |$)|^ *AssertionError \\[ERR_ASSERTION\\]|" + // Python, node
		"Assertion .+ failed\\.?$|^Assertion failed: |" + // assert.h
		`^Exception in thread "main" (java\.lang\.AssertionError|\S*AssertionFailed\w*)|` +
		"^thread 'main' .*panicked at .*assert|^assertion .*failed|" + // Rust
		`^# +Failed test\b|` + // Perl
		`^PHP Fatal error: +Uncaught AssertionError|\(Minitest::Assertion\)|` +
		`^\[  FAILED  \] |^test cases: .*\b[1-9]\d* failed|^not ok \d+`) // GoogleTest, Catch2, TAP
})

// script reads what says of an unknown runner that a test failed.
func (p *runParser) script(lines []string) {
	if failedScript().MatchString(strings.Join(lines, "\n")) {
		p.add("", "(file)", Failed)
	}
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// pytestDetail looks for the message of a failure in its own section, because
// the summary cuts it to the width of a terminal.
func (p *runParser) pytestDetail(lines []string, name string) bool {
	in := false
	for _, l := range lines {
		if strings.HasPrefix(l, "_____") {
			in = strings.Trim(l, "_ ") == name || strings.HasPrefix(strings.Trim(l, "_ "), name+"[")
		}
		if in && strings.HasPrefix(l, "E  ") {
			return unresolved().MatchString(l)
		}
	}
	return false
}

// pytestID is tests/test_a.py::TestX::test_y[1-2] as file and name.
func pytestID(id string) (unit, name string) {
	parts := strings.Split(id, "::")
	name = strings.Join(parts[1:], ".")
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	return parts[0], name
}

// unittest reads the sections of failures and the lines of -v.
func (p *runParser) unittest(lines []string) {
	unit, name := "", ""
	for _, l := range lines {
		word, rest, ok := strings.Cut(l, ": ")
		if ok && (word == "FAIL" || word == "ERROR") && strings.Contains(rest, "(") &&
			strings.HasSuffix(strings.TrimSpace(rest), ")") {
			unit, name = unittestID(rest)
			if strings.Contains(rest, "_FailedTest") {
				p.broken(strings.ReplaceAll(name, ".", "/"))
				unit, name = "", ""
				continue
			}
			p.add(unit, name, Failed)
			continue
		}
		if id, result, ok := strings.Cut(l, " ... "); ok && strings.HasSuffix(id, ")") && strings.Contains(id, " (") {
			u, n := unittestID(id)
			switch {
			case result == "ok":
				p.add(u, n, Passed)
			case strings.HasPrefix(result, "skipped"):
				p.add(u, n, NotRun)
			}
		}
		if name != "" && unresolved().MatchString(l) {
			p.unresolve(unit, name)
		}
		if strings.HasPrefix(l, "Ran ") && !strings.HasPrefix(l, "Ran 0 ") {
			p.report.Known = true
			unit, name = "", ""
		}
	}
}

// unittestID is "test_add (test_u.CalcTest.test_add)", or without the last part
// before Python 3.11.
func unittestID(s string) (unit, name string) {
	method, where, _ := strings.Cut(strings.TrimSpace(s), " (")
	where = strings.TrimSuffix(where, ")")
	where = strings.TrimSuffix(where, "."+method)
	if strings.Contains(where, "_FailedTest") {
		return "", method
	}
	i := strings.LastIndexByte(where, '.')
	if i < 0 {
		return where, method
	}
	return where[:i], where[i+1:] + "." + method
}

// cargo reads the lines of libtest and the compiler's last word.
func (p *runParser) cargo(lines []string) {
	unit := ""
	for _, l := range lines {
		t := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(t, "Running "):
			unit = firstWord(strings.TrimPrefix(strings.TrimPrefix(t, "Running "), "unittests "))
		case strings.HasPrefix(t, "Doc-tests "):
			unit = "doc"
		case strings.HasPrefix(l, "test ") && strings.Contains(l, " ... "):
			name, result, _ := strings.Cut(strings.TrimPrefix(l, "test "), " ... ")
			name = strings.TrimSuffix(name, " - should panic")
			switch {
			case result == "ok":
				p.add(unit, name, Passed)
			case strings.HasPrefix(result, "FAILED"):
				p.add(unit, name, Failed)
			case strings.HasPrefix(result, "ignored"):
				p.add(unit, name, NotRun)
			}
		case strings.HasPrefix(l, "error: could not compile"):
			_, what, _ := strings.Cut(l, "(")
			what, _, _ = strings.Cut(what, ")")
			if _, quoted, ok := strings.Cut(what, `"`); ok {
				p.broken("tests/" + strings.Trim(quoted, `"`) + ".rs")
			} else {
				p.broken("")
			}
		}
	}
}

// java reads the reports of Surefire and Gradle.
func (p *runParser) java(lines []string) {
	for _, l := range lines {
		t := strings.TrimSpace(l)
		switch {
		case strings.Contains(t, "Tests run: ") && !strings.Contains(t, "Tests run: 0,"):
			p.report.Known = true
		case strings.Contains(t, "COMPILATION ERROR") || strings.Contains(t, "Compilation failed; see the compiler") ||
			strings.HasPrefix(t, "> Task :") && strings.Contains(t, "compileTest") && strings.HasSuffix(t, "FAILED"):
			p.broken("")
		case strings.HasPrefix(t, "[ERROR] ") && strings.Contains(t, "<<< ") &&
			(strings.Contains(t, "FAILURE!") || strings.Contains(t, "ERROR!")):
			id := firstWord(strings.TrimPrefix(t, "[ERROR] "))
			if id != "Tests" && strings.Contains(id, ".") {
				p.add("", javaName(id), Failed)
			}
		case strings.HasSuffix(t, " FAILED") && strings.Contains(t, " > ") && !strings.HasPrefix(t, "> "):
			p.gradleLine(t, " FAILED", Failed)
		case strings.HasSuffix(t, " PASSED") && strings.Contains(t, " > ") && !strings.HasPrefix(t, "> "):
			p.gradleLine(t, " PASSED", Passed)
		}
	}
}

func (p *runParser) gradleLine(line, suffix string, o Outcome) {
	class, method, _ := strings.Cut(strings.TrimSuffix(line, suffix), " > ")
	method, _, _ = strings.Cut(method, "(")
	p.add("", javaName(class+"."+strings.ReplaceAll(method, " > ", ".")), o)
}

// javaName drops the packages in front of the class.
func javaName(id string) string {
	id, _, _ = strings.Cut(id, "(")
	id, _, _ = strings.Cut(id, "[")
	parts := strings.Split(id, ".")
	for i, part := range parts[:len(parts)-1] {
		if part != "" && part[0] >= 'A' && part[0] <= 'Z' {
			return strings.ReplaceAll(strings.Join(parts[i:], "."), "$", ".")
		}
	}
	return id
}

// sameUnit reports whether a unit of a run can be the file of a test.
func sameUnit(unit, file string) bool {
	if unit == "" {
		return true
	}
	dir := path.Dir(file)
	switch path.Ext(file) {
	case ".go":
		return dir == "." || unit == dir || strings.HasSuffix(unit, "/"+dir)
	case ".py":
		if !strings.HasSuffix(unit, ".py") { // a module of unittest
			return path.Base(strings.ReplaceAll(unit, ".", "/")) == strings.TrimSuffix(path.Base(file), ".py")
		}
	}
	unit = strings.TrimPrefix(unit, "./")
	return unit == file || strings.HasSuffix(unit, "/"+file) || strings.HasSuffix(file, "/"+unit)
}
