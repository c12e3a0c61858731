package weaken

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// disarms finds what puts something else in the place of the assertions that tests use, or
// turns them off, for all that load the file. Product code has no reason to, and test
// helpers that define assertions of their own give them other names.
func disarms(file, lang string, toks []token) []string {
	d := disarmer{toks: toks, product: !IsTest(file) && !isSupport(file)}
	switch {
	case lang == "js":
		d.javascript()
	case lang == "rust":
		d.each(func(i int) {
			if d.is(i-1, "!") && d.is(i-2, "macro_rules") && rustAsserts.has(toks[i].text) {
				d.found("replaces " + toks[i].text)
			}
		})
	case lang == "c-like":
		d.macros()
	case lang == "php":
		d.each(func(i int) {
			if t := toks[i]; t.kind == ident && t.text == "assert_options" ||
				t.kind == str && d.is(i-2, "ini_set") && strings.Contains(t.text, "zend.assertions") {
				d.found("turns assert off")
			}
		})
	case path.Ext(file) == ".rb":
		d.ruby()
	}
	return d.out
}

type disarmer struct {
	toks    []token
	product bool
	out     []string
}

func (d *disarmer) found(what string) { d.out = append(d.out, what) }

func (d *disarmer) each(look func(i int)) {
	for i := range d.toks {
		look(i)
	}
}

// is reports whether token k is one of some words.
func (d *disarmer) is(k int, words string) bool {
	return k >= 0 && k < len(d.toks) && oneOf(words, d.toks[k].text)
}

var rustAsserts = set("assert assert_eq assert_ne assert_matches panic unreachable")

// macros looks at #define in C and its kin: an assertion that ends nothing, and NDEBUG.
func (d *disarmer) macros() {
	d.each(func(i int) {
		if !d.is(i-1, "define") || !d.is(i-2, "#") || !d.toks[i-2].first {
			return
		}
		name := d.toks[i].text
		if name == "NDEBUG" {
			d.found("turns assert off (NDEBUG)")
			return
		}
		if name != "assert" && (!macroAssert().MatchString(name) || !d.is(i+1, "(") ||
			d.toks[i+1].pos != d.toks[i].end) {
			return
		}
		ends := false
		for k := i + 1; k < len(d.toks) && (!d.toks[k].first || d.is(k-1, "\\")); k++ {
			ends = ends || endingWord().MatchString(d.toks[k].text)
		}
		if !ends {
			d.found("replaces " + name)
		}
	})
}

// macroAssert are the macros of assertions of the usual frameworks.
var macroAssert = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:static_assert|(?:EXPECT|ASSERT|REQUIRE|CHECK|TEST_ASSERT|BOOST_CHECK|BOOST_REQUIRE)` +
		`(?:_\w+)?|XCTAssert\w*|c[rk]_assert\w*)$`)
})

// endingWord is a word of a macro that can make a test fail.
var endingWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)abort|exit|fail|throw|assert|trap|raise|panic|err|die|return|check|expect|` +
		`require|report`)
})

// ruby looks for the methods of Minitest, test-unit and RSpec that judge.
func (d *disarmer) ruby() {
	reopened := false
	d.each(func(i int) {
		name := d.toks[i].text
		if d.is(i-1, "module class") && d.toks[i-1].first && d.is(i, "Minitest MiniTest RSpec Test") {
			end := i
			for end < len(d.toks) && !d.toks[end].first {
				reopened = reopened || d.is(end, "Assertions Expectations")
				end++
			}
			reopened = reopened || !slices.ContainsFunc(d.toks[i:end], func(t token) bool { return t.is("<") })
		}
		if !rubyAsserts.has(name) {
			return
		}
		by := i - 1
		if d.is(by, ":") { // a symbol, in brackets or not
			if by--; d.is(by, "(") {
				by--
			}
		}
		if d.is(by, "def") && (d.product || reopened) ||
			d.is(by, "define_method alias_method remove_method undef_method define_singleton_method alias undef") {
			d.found("replaces " + name)
		}
	})
}

var rubyAsserts = set("assert assert_equal assert_nil assert_match assert_raises assert_raise assert_includes " +
	"assert_in_delta assert_kind_of assert_same assert_predicate assert_operator assert_empty refute refute_equal " +
	"refute_nil flunk expect")

// javascript looks for assertions of node, chai, Jest and Vitest.
func (d *disarmer) javascript() {
	names := set("assert Assertion")
	d.each(func(i int) { // const a = require('assert'), import a from 'assert', import * as a from 'assert'
		if !d.asserts(i, names) || d.toks[i].kind != str {
			return
		}
		for k := i - 1; k >= max(0, i-6); k-- {
			if d.is(k, "= from") && k > 0 && d.toks[k-1].kind == ident {
				names.exact[d.toks[k-1].text] = true
			}
		}
	})
	d.each(func(i int) {
		name := strings.Trim(d.toks[i].text, "\"'`")
		switch {
		case d.product && jsGlobals.has(name) && d.is(i-1, ".") && d.is(i-2, "global globalThis window self") &&
			d.is(i+1, "=") && d.function(i+2):
			d.found("replaces " + name)
		case d.toks[i].is("extend") && d.is(i-2, "expect") && d.is(i+1, "("):
			depth := 0
			for k := i + 1; k < len(d.toks); k++ {
				if d.is(k, "( {") {
					depth++
				} else if d.is(k, ") }") {
					if depth--; depth == 0 {
						break
					}
				} else if m := d.toks[k].text; depth == 2 && d.is(k+1, "( :") && m[0] == 't' && comparing.has(m) {
					d.found("replaces " + m)
				}
			}
		case !jsJudging.has(name):
		case d.toks[i].kind == str && d.is(i-1, ",") && d.asserts(i-2, names),
			d.toks[i].kind == str && d.is(i-1, "[") && d.is(i+1, "]") && d.is(i+2, "=") && d.asserts(i-2, names),
			d.toks[i].kind == ident && d.is(i-1, ".") && d.is(i+1, "=") && d.fresh(i+2, names) &&
				slices.ContainsFunc([]int{i - 2, i - 3, i - 4, i - 6}, func(k int) bool { return d.asserts(k, names) }):
			d.found("replaces " + name)
		case d.toks[i].kind == ident && d.is(i+1, "( :") && d.is(i-1, "{ ,"):
			for k := i - 1; k > max(0, i-400); k-- { // Object.assign(assert, { equal() {} })
				if d.is(k, "assign") && d.is(k-1, ".") && d.is(k+1, "(") {
					if d.asserts(k+2, names) && d.is(k+3, ",") {
						d.found("replaces " + name)
					}
					break
				}
			}
		}
	})
}

// asserts reports whether token k is a library of assertions: its module, or a name of it.
func (d *disarmer) asserts(k int, names wordSet) bool {
	if k < 0 || k >= len(d.toks) {
		return false
	}
	if t := d.toks[k]; t.kind != str {
		return t.kind == ident && names.has(t.text)
	}
	switch strings.TrimPrefix(strings.Trim(d.toks[k].text, "\"'`"), "node:") {
	case "assert", "assert/strict", "chai":
		return true
	}
	return false
}

// function reports whether a value that begins at k is a new function.
func (d *disarmer) function(k int) bool {
	return d.is(k, "function async ( new") || d.is(k+1, "=>")
}

// fresh reports whether a value that begins at k is not another assertion of the library.
func (d *disarmer) fresh(k int, names wordSet) bool {
	return !d.asserts(k, names) && !d.is(k, "require chai expect") && !jsJudging.has(d.toks[min(k, len(d.toks)-1)].text)
}

var (
	jsJudging = set("ok equal strictEqual deepEqual deepStrictEqual notEqual notStrictEqual throws rejects " +
		"doesNotThrow fail match ifError assert isTrue isFalse include lengthOf property")
	jsGlobals = set("expect assert it test describe suite")
)

// foreignPackage are the folders of libraries that tests of Java and its kin are made with: a
// class there is found before that of the library.
var foreignPackage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|/)((?:org/(?:junit|assertj|hamcrest|testng|mockito|scalatest|spockframework)|` +
		`junit/framework|kotlin/test)/)(?:[\w/]*/)?(?:Assert|Assertions|AssertionsKt|Assume|Assumptions|Test|TestCase|` +
		`TestSuite|ParameterizedTest|MatcherAssert|Matchers|Mockito|Verifier)\.\w+$`)
})

// shadowsLibrary names the library whose class a new file takes the place of, "" for none.
// The library's own project has such folders already.
func (j *judge) shadowsLibrary(p string) string {
	m := foreignPackage().FindStringSubmatch(p)
	if m == nil || slices.ContainsFunc(j.in.Paths, func(q string) bool { return strings.Contains("/"+q, "/"+m[1]) }) {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(m[1], "/"), "/", ".")
}
