package weaken

import "strings"

// goKeywords are those of the keywords of other languages that are one in Go, or stand for one.
var goKeywords = set("if for while switch case return")

// goPackages are libraries of assertions, by the names that they have in files.
var goPackages = set("assert require is qt td check autogold golden cupaloy snaps log")

// goName handles a name in a function of Go and returns the last index that it used.
func (w *walker) goName(list []node, i, times int) int {
	name, scope, owner := list[i].text, &w.r.goScope, ""
	if at(list, i-1) == "." {
		if owner = at(list, i-2); group(list, i-2, '(') {
			owner = at(list, i-3) + "()" // s.Require().Equal(…)
		}
	}
	k := i + 1
	if group(list, k, '[') && group(list, k+1, '(') {
		k++ // f[T](…)
	}
	if scope.handles[owner] && oneOf("Skip Skipf SkipNow", name) {
		w.u.skips = append(w.u.skips, "t.Skip") // also as a value: f := t.Skip
	}
	if name == "func" || !group(list, k, '(') {
		return i
	}
	args := list[k].kids
	switch {
	case scope.handles[owner]:
		if oneOf("Error Errorf Fatal Fatalf Fail FailNow Add", name) { // f.Add: a seed is a case
			w.asserts(times, 1)
		} else if oneOf("Assert Check Equals Equal True Nil", name) {
			w.goAsserts(args, times)
		}
	case owner == "" && name == "panic":
		w.asserts(times, 1)
	case owner == "" && ginkgoNode(name):
		if strings.ContainsAny(name[:1], "PX") {
			w.u.skips = append(w.u.skips, name)
		} else if name[0] == 'F' {
			w.r.s.exclusive = append(w.r.s.exclusive, name)
		}
	case goMatched.has(name) && owner == "": // counted where its matcher is
	case goMatched.has(strings.TrimSuffix(owner, "()")):
		if oneOf("To ToNot NotTo Should ShouldNot", name) {
			w.goAsserts(list[i-2].kids, times)
		}
	case owner == "" && name == "Skip" && len(scope.handles) == 2:
		w.u.skips = append(w.u.skips, name)
	case !w.u.test && (owner == "errors" && name == "New" || owner == "fmt" && name == "Errorf"):
		w.asserts(times, 1) // a helper that gives its verdict back
	case goPackages.has(owner):
		ends := strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic")
		switch before := w.r.plumbed(list, i-2); {
		case name == "New", owner == "log" && !ends:
		case name == "NoError" && before != "" && strings.Contains(" "+text(args), " "+before+" "):
		case strings.HasPrefix(name, "Fail"):
			w.asserts(times, 0)
		default:
			w.goAsserts(args, times)
		}
	case scope.asserters[owner], owner == "Require()", owner == "Assert()", owner == scope.receiver && testifyMethod(name):
		w.goAsserts(args, times)
	case skipping(name) && !w.given(args): // it can only skip a test whose handle it gets
	default:
		w.calls(name, times)
	}
	return k - 1
}

// goMatched begin an expectation of Gomega.
var goMatched = set("Expect Eventually Consistently Ω")

func (w *walker) given(args []node) bool {
	for i := range args {
		if w.r.goScope.handles[at(args, i)] {
			return true
		}
	}
	return false
}

// goAsserts counts an assertion whose arguments can make it fail. The test handle in front
// does not count.
func (w *walker) goAsserts(args []node, times int) {
	if oneOf("t tb c", at(args, 0)) && (len(args) == 1 || at(args, 1) == ",") {
		args = args[min(2, len(args)):]
	}
	if !trivial(args) && (len(args) == 0 || !literalOnly(args)) {
		w.asserts(times, 0)
	}
}

// goAsserter reports whether a value holds assertions: assert.New(t), s.Require(), NewWithT(t).
func goAsserter(value []node) bool {
	name := at(value, len(value)-2)
	if !group(value, len(value)-1, '(') || name == "" {
		return false
	}
	return name == "New" && oneOf("assert require is quicktest qt check td must", at(value, len(value)-4)) ||
		name == "Require" || name == "Assert" || strings.HasPrefix(name, "NewWithT") || name == "NewGomega"
}

// plumbed is the name of the error that the statement before list[start] got from a call into the
// standard library: `f, err := os.Create(…)`. A check of that error goes when the call goes
// (os.MkdirTemp becomes t.TempDir). It says nothing about the tested code.
func (r *reader) plumbed(list []node, start int) string {
	if at(list, start-1) != ";" {
		return ""
	}
	from := start - 1
	for from > 0 && at(list, from-1) != ";" {
		from--
	}
	st := list[from : start-1]
	for k := range st {
		if word := at(st, k); word == ":=" || word == "=" {
			call := st[k+1:]
			if len(call) == 4 && at(call, 1) == "." && group(call, 3, '(') && plumbing.has(r.goScope.imports[at(call, 0)]) &&
				!oneOf("Stat Lstat", at(call, 2)) { // those look at what the tested code has left
				return at(st, k-1)
			}
			return ""
		}
	}
	return ""
}

// testifyMethod are the assertions that a suite has as methods of its own.
func testifyMethod(name string) bool {
	name = strings.TrimSuffix(name, "f")
	switch name {
	case "Equal", "NotEqual", "True", "False", "Nil", "NotNil", "NoError", "Error", "ErrorIs", "ErrorAs",
		"ErrorContains", "Contains",
		"NotContains", "Len", "Empty", "NotEmpty", "EqualValues", "Exactly", "ElementsMatch", "Panics", "NotPanics",
		"InDelta",
		"Greater", "Less", "GreaterOrEqual", "LessOrEqual", "JSONEq", "YAMLEq", "Regexp", "Subset", "WithinDuration",
		"Eventually",
		"Zero", "NotZero", "IsType", "Implements", "Same", "NotSame", "EqualError", "FileExists", "Fail", "FailNow",
		"Condition":
		return true
	}
	return false
}

// plumbing are the packages of the standard library that tests use to prepare
// something.
var plumbing = set("os io io/ioutil io/fs path/filepath os/exec os/user net net/http net/url net/http/httptest " +
	"bufio bytes strconv time embed crypto/rand crypto/x509 crypto/tls crypto/rsa crypto/ecdsa " +
	"encoding/json encoding/hex encoding/base64 encoding/xml encoding/pem encoding/gob " +
	"database/sql text/template html/template regexp archive/tar archive/zip compress/gzip " +
	"go/parser log syscall strings mime/multipart")
