package weaken

import (
	"go/build/constraint"
	"slices"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// A condition that skips a test on unusual systems alone (Windows, PyPy, an old
// version) is not a skip by itself: the old tests, run here, tell whether it hides
// something. elsewhere marks such skips.
const elsewhere = " (on other platforms)"

var foreignCondition = lazyregexp.New(`^(` + strings.Join([]string{
	`sys\.platform(==|\.startswith)\(?"(win|darwin|cygwin|aix|sunos|freebsd|emscripten|wasi)\w*\)?`,
	`(sys\.platform|os\.name)=="(win32|nt|java)`,
	`sys\.platform!="linux`,
	`notsys\.platform\.startswith\("linux\)`,
	`platform\.system\(\)=="(Windows|Darwin|Java)`,
	`platform\.system\(\)!="Linux`,
	`platform\.python_implementation\(\)(=="PyPy|!="CPython)`,
	`sys\.implementation\.name=="pypy`,
	`sys\.version_info(\[:\d\])?<=?\((2.*|3|3,[0-9]|3,1[0-4])\)`,
	`(compat\.|_compat\.)?(ON_|IS_|is_|on_)?(WIN|WINDOWS|windows|PYPY|pypy|MACOS|macos|CYGWIN|cygwin|WIN32|win32)`,
}, "|") + `)$`)

// foreign reports whether a condition in the text of a reader holds on unusual
// systems alone.
func foreign(condition []node) bool {
	joined := slices.ContainsFunc(flatten(condition), func(t token) bool { return t.is("or") || t.is("and") })
	return !joined && foreignCondition().MatchString(strings.ReplaceAll(text(condition), " ", ""))
}

// holdsHere reports whether a build constraint lets a file in on a usual system
// without any tag of the project's own.
func holdsHere(line string) bool {
	expr, err := constraint.Parse(line)
	return err == nil && expr.Eval(func(tag string) bool {
		switch tag {
		case "linux", "unix", "amd64", "arm64", "cgo", "gc":
			return true
		}
		return strings.HasPrefix(tag, "go1.")
	})
}

// cfgHolds evaluates a cfg predicate of Rust for a usual system; known is false
// when it depends on something else, a feature for one.
func cfgHolds(list []node) (holds, known bool) {
	word := at(list, 0)
	if group(list, 1, '(') {
		parts := split(list[1].kids, ",")
		switch word {
		case "not":
			holds, known = cfgHolds(list[1].kids)
			return !holds, known
		case "all", "any":
			open := false // what is not known may decide
			for _, p := range parts {
				h, k := cfgHolds(p)
				if k && h == (word == "any") {
					return h, true
				}
				open = open || !k
			}
			return word == "all", !open
		}
		return false, false
	}
	value := ""
	if at(list, 1) == "=" && len(list) > 2 {
		value = list[2].text
	}
	switch word {
	case "unix", "test":
		return true, true
	case "target_os":
		return value == "linux", true
	case "target_family":
		return value == "unix", true
	case "target_pointer_width":
		return value == "64", true
	case "target_endian":
		return value == "little", true
	case "target_env":
		return value == "gnu", value == "gnu" || value == "msvc" || value == "sgx"
	case "target_arch":
		return false, value == "wasm32" || value == "wasm64"
	}
	// A flag that only its own build sets, as one of continuous integration does.
	return false, value == "" && len(list) == 1 && word != "debug_assertions"
}
