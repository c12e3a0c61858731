package weaken

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"git-ralph/internal/text/lazyregexp"
)

// otherCounts are what the fallback looks for in the tokens of a language that
// has no reader of its own: names, never comments or strings.
type otherWords struct{ test, skip, focus *regexp.Regexp }

var otherWordsOnce = sync.OnceValue(func() otherWords {
	return otherWords{
		test: regexp.MustCompile(`^(test|it|specify|scenario|example|TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|` +
			`SCENARIO|SECTION|` +
			`BOOST_AUTO_TEST_CASE|InlineData|DataRow|MemberData|Fact|Theory|TestMethod|TestCase|` +
			`Test|testWidgets|property|deftest)$`),
		skip: regexp.MustCompile(`^(skip|skip_if|skip_unless|pending|xit|xdescribe|xcontext|xspecify|xtest|` +
			`xfail|ignore|Ignore|Explicit|` +
			`Inconclusive|markTestSkipped|markTestIncomplete|XCTSkip|XCTSkipIf|XCTSkipUnless|GTEST_SKIP|SKIP|` +
			`todo|TODO|plan_skip_all|skip_all|` +
			`Skip|disabled|DISABLED|moduletag_skip|` +
			`withKnownIssue|pendingUntilFixed|SkipZigTest|xshould|xfeature|xscenario|xgiven|xwhen|xthen)$`),
		focus: regexp.MustCompile(`^(fit|fdescribe|fcontext|focus|solo|tags_only)$`),
	}
})

// readOther makes one unit of a file of any other language: how many tests it
// seems to define, how many assertions and skips it seems to hold. It errs on
// both sides and is only compared with itself.
func readOther(file string, toks []token) *source {
	s := &source{}
	if !IsTest(file) {
		return s
	}
	u := unit{name: "(file)", line: 1, test: true, calls: map[string]int{}}
	words := otherWordsOnce()
	tests := 0
	ext := path.Ext(file)
	toks = withoutRest(ext, withoutZero(toks))
	for i, t := range toks {
		if t.kind == punct && t.text == "@" && i+1 < len(toks) && toks[i+1].is("test") {
			continue
		}
		prev, next := token{}, token{}
		if i > 0 {
			prev = toks[i-1]
		}
		if i+1 < len(toks) {
			next = toks[i+1]
		}
		if ext == ".groovy" { // Spock: names are strings, and conditions are assertions
			if t.kind == str && prev.is("def") && next.is("(") {
				tests++
			} else if t.is("==") || t.is("!=") {
				u.plain++
			}
		}
		if sign := otherSign(ext, file, toks, i); sign != "" {
			u.skips = append(u.skips, sign)
		}
		if t.kind != ident {
			continue
		}
		defines := prev.is("def") || prev.is("func") || prev.is("function") || prev.is("sub") || prev.is("fun") ||
			prev.is("void") || prev.is("proc") || prev.is("let")
		switch {
		case defines && strings.HasPrefix(strings.ToLower(t.text), "test"):
			if i > 1 && toks[i-2].is("private") {
				u.skips = append(u.skips, "private "+t.text)
			}
			tests++
		case ext == ".scala" && next.is("{") && (t.text == "in" || t.text == "ignore" || t.text == "pending"):
			if t.text != "in" {
				u.skips = append(u.skips, t.text)
			}
			tests++
		case t.text == "return" && next.is(";"), ext == ".bats" && (t.text == "return" || t.text == "exit") &&
			(next.is("0") || next.first),
			ext == ".rb" && t.first && t.text == "next" && next.first, ext == ".scala" && t.text == "pending":
			u.skips = append(u.skips, t.text)
		case defines && asserting(t.text), defines:
			// the definition of a helper is no call of it
		case words.test.MatchString(t.text) && !prev.is("."):
			tests++
			if ext == ".cs" && hidden(toks[i+1:]) {
				u.skips = append(u.skips, t.text+" of a method that is not public")
			}
			if strings.HasPrefix(t.text, "TEST") && i+4 < len(toks) && disabledName(toks[i+1:min(len(toks), i+6)]) {
				u.skips = append(u.skips, "DISABLED_")
			}
		case words.skip.MatchString(t.text), t.text == "exclude" && ext == ".exs":
			u.skips = append(u.skips, t.text)
		case words.focus.MatchString(t.text):
			s.exclusive = append(s.exclusive, t.text)
		case otherAssertion(t.text) && saysNothing(toks[i+1:]):
		case otherAssertion(t.text):
			if t.first || t.text != "should" || prev.is(".") {
				u.plain++
			}
		}
	}
	u.rows = tests
	u.setBody(toks)
	if tests == 0 && u.plain == 0 && len(u.skips) == 0 {
		return s
	}
	s.units = append(s.units, u)
	return s
}

// withoutRest leaves out what the language does not read: behind __END__, and between =begin
// and =end.
func withoutRest(ext string, toks []token) []token {
	var out []token
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.first && (oneOf(".rb .pl .pm .t", ext) && (t.is("__END__") || t.is("__DATA__"))),
			ext == ".php" && t.is("__halt_compiler"):
			return out
		case ext == ".rb" && t.first && t.is("=") && i+1 < len(toks) && toks[i+1].is("begin"):
			for i++; i+1 < len(toks) && !(toks[i].first && toks[i].is("=") && toks[i+1].is("end")); i++ {
			}
			i++
			continue
		}
		out = append(out, t)
	}
	return out
}

// otherSign is how a framework of one language leaves a test out, or forgives it, at a token;
// "" = nothing.
func otherSign(ext, file string, toks []token, i int) string {
	word := func(k int) string {
		if k < 0 || k >= len(toks) || toks[k].kind == str {
			return ""
		}
		return toks[k].text
	}
	t := toks[i]
	switch {
	case t.kind == str:
		if oneOf(".cc .cpp .cxx .hpp", ext) && catchTags().MatchString(t.text) {
			return "tag of Catch2 " + t.text
		}
		if ext == ".kt" && strings.HasPrefix(strings.Trim(t.text, "\"'"), "!") && word(i-1) == "(" && word(i-2) == "test" {
			return "a name of Kotest that begins with !"
		}
	case ext == ".kt" && t.is("enabled") && word(i+1) == "=" && word(i+2) == "false":
		return "enabled = false"
	case oneOf(".php .cs", ext) && t.is("class") && (word(i-1) == "abstract" || word(i-1) == "internal") &&
		word(i+1) == strings.TrimSuffix(path.Base(file), ext) && testClass().MatchString(word(i+1)):
		return word(i-1) + " class"
	case oneOf(".cs .swift", ext) && t.is("#") && t.first && word(i+1) == "if" && !knownSymbol().MatchString(word(i+2)):
		return "#if " + word(i+2)
	case ext == ".rb" && t.is("rescue") && !t.first:
		return "rescue behind a statement"
	case ext == ".bats" && t.is("true") && (word(i-1) == "||" || word(i-1) == "|" && word(i-2) == "|"):
		return "|| true"
	case oneOf(".clj .cljs .cljc", ext) && (t.is("comment") && word(i-1) == "(" || t.is("_") && word(i-1) == "#"):
		return "a comment of Clojure"
	}
	return ""
}

// knownSymbol are conditions about the build and the platform, and parts of longer ones.
var knownSymbol = lazyregexp.New(`^(\W.*|)$|(?i)^(debug|release|trace|net.*|windows|linux|macos|osx|ios|android|` +
	`browser|wasm.*|unix|os|arch|swift|compiler|canImport|targetEnvironment|hasFeature|hasAttribute|unity.*|true|ci)$`)

// testClass is the name of a class whose tests are not made to be inherited.
var testClass = lazyregexp.New(`(Tests?|Specs?)$`)

var catchTags = lazyregexp.New(`\[\.|\[!(mayfail|shouldfail|hide)\]|\[hide\]`)

// saysNothing reports whether an assertion says nothing: Assert.True(true), assert true.
func saysNothing(toks []token) bool {
	i := 0
	for i+1 < len(toks) && toks[i].is(".") && toks[i+1].kind == ident {
		i += 2
	}
	if i+2 < len(toks) && toks[i].is("(") {
		return (toks[i+1].is("true") || toks[i+1].is("1") || toks[i+1].is("TRUE")) && toks[i+2].is(")")
	}
	return i == 0 && len(toks) > 1 && toks[0].is("true") && toks[1].first
}

// hidden reports whether the method behind an attribute is kept from its runner by modifiers.
func hidden(toks []token) bool {
	depth := 0
	for _, t := range toks[:min(len(toks), 80)] {
		switch {
		case t.is("(") || t.is("["):
			depth++
		case t.is(")") || t.is("]"):
			depth--
		case t.is("{") || t.is(";") || depth == 0 && t.is("=>"):
			return false
		case depth <= 0 && (t.is("private") || t.is("protected") || t.is("internal")):
			return true
		}
	}
	return false
}

// withoutZero leaves out what stands between #if 0 and its end.
func withoutZero(toks []token) []token {
	var out []token
	depth := 0
	for i := 0; i < len(toks); i++ {
		if toks[i].is("#") && toks[i].first && i+1 < len(toks) {
			switch word := toks[i+1].text; {
			case depth == 0 && word == "if" && i+2 < len(toks) && (toks[i+2].is("0") || toks[i+2].is("false")):
				depth = 1
			case depth > 0 && strings.HasPrefix(word, "if"):
				depth++
			case depth == 1 && (word == "else" || word == "elif"), depth > 0 && word == "endif":
				depth--
			}
		}
		if depth == 0 {
			out = append(out, toks[i])
		}
	}
	return out
}

func disabledName(toks []token) bool {
	return slices.ContainsFunc(toks, func(t token) bool {
		return t.kind == ident && strings.HasPrefix(t.text, "DISABLED_")
	})
}

func otherAssertion(name string) bool {
	if asserting(name) {
		return true
	}
	for _, p := range []string{"XCTAssert", "EXPECT_", "ASSERT_", "Assert", "assert_", "refute", "should_", "must_",
		"BOOST_", "REQUIRE_", "CHECK_", "TEST_ASSERT"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "refute", "is", "isnt", "ok", "cmp_ok", "is_deeply", "expect", "raises", "must", "shouldBe", "Should", "verify",
		"flunk":
		return true
	}
	return false
}
