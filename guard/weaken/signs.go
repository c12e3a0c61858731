package weaken

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"git-ralph/internal/text/lazyregexp"
)

// A sign is code that makes a run say less than the tests do: it replaces assertions, turns them off,
// ends the process with success, or is equal to everything. Signs are looked for in the text of a
// file's tokens (see spelled) and count when they are new.
type sign struct {
	langs   string // names of languages
	product bool   // counts in code alone, not in tests and what they lean on
	find    string
	unless  string // a match of find is no sign when this matches it, too
	when    string // it counts where this stands in the file as well, and once
	say     string // $ is the last group that find has matched
}

// Parts of the patterns below. In spelled text a name stands behind a blank or a new line, and
// a string in quotes; so a word in a string is never taken for a name.
const (
	inBrackets = `(?:[^()]|\((?:[^()]|\([^()]*\))*\))*?`
	inBraces   = `(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*?`

	jsLibrary = `(?:\sassert|\sAssertion|"(?:node:)?(?:assert|assert/strict|chai)")`
	jsJudging = `(ok|equal|strictEqual|deepEqual|deepStrictEqual|notEqual|notStrictEqual|throws|rejects|doesNotThrow|` +
		`fail|match|ifError|assert|isTrue|isFalse|include|lengthOf|property)`
	jsMatchers = `(toBe|toEqual|toStrictEqual|toMatchObject|toHaveLength|toMatchInlineSnapshot|toMatchSnapshot|` +
		`toHaveBeenCalledWith|toHaveBeenCalledTimes)`

	// The methods of unittest.TestCase and its results that decide about a test, and those of pytest.
	pyJudging = `(fail|run|debug|__call__|subTest|main|failureException|assert\w*|_base\w*|addFailure|addError|` +
		`addSubTest|addUnexpectedSuccess|wasSuccessful|raises|warns|approx|exit|deprecated_call|call_runtest_hook|` +
		`pytest_runtest_makereport)`
	// Assertions of unittest under whatever name the class goes, and those of numpy and pandas.
	pyAsserts = `(assert[A-Z]\w*|assert_equal|assert_allclose|assert_array\w*|assert_frame_equal|` +
		`assert_series_equal|assert_almost_equal)`

	rubyAsserts = `(assert|assert_(?:equal|nil|match|raises|raise|includes|in_delta|kind_of|same|predicate|operator|` +
		`empty)|refute|refute_equal|refute_nil|flunk|expect)\b`

	cAsserts = `(?:static_assert|(?:EXPECT|ASSERT|REQUIRE|CHECK|TEST_ASSERT|BOOST_CHECK|BOOST_REQUIRE)(?:_\w+)?|` +
		`XCTAssert\w*|c[rk]_assert\w*)`

	endsProcess = `\s(?:sys \. exit|os \. (?:_exit|abort|Exit)|pytest \. exit|process (?:\.|::) ` +
		`(?:exit|abort|reallyExit|kill)|System \. exit|syscall \. Exit|runtime \. Goexit) \(`
	underTest = `(?:[\s"](NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST(?:_WORKER_ID|_POOL_ID)?|PYTEST_CURRENT_TEST|` +
		`PYTEST_VERSION|test\.v|test\.run|\.test)["\s]|\stesting \. (Testing) |\scfg ! \( (test) \)|` +
		`"(_?pytest|unittest)"|NODE_ENV[^{};]*"(test)"|"(test)"[^{};]*NODE_ENV)`

	exitNames  = `(?:_exit|_Exit|exit|Exit|reallyExit|halt|quick_exit)`
	withNought = `(?: !)?(?: \( (?:0|true|\))|\s[^(\s]|$)`
	codeNought = `|exitCode = (?:0|undefined|null)\s`
)

var signs = []sign{
	{langs: "js", product: true, say: "replaces $",
		find: `\s(?:global|globalThis|window|self) \. (expect|assert|it|test|describe|suite) = ` +
			`(?:function|async|\(|new|[\w$]+ =>)`},
	{langs: "js", say: "replaces $",
		find: `\sexpect \. extend \( (?s:.{0,1000}?)[{,}]\s(?:async )?` + jsMatchers + ` [(:]`},
	{langs: "js", find: jsLibrary + ` , "` + jsJudging + `"`, say: "replaces $"},
	{langs: "js", find: jsLibrary + `(?: \))? \[ "` + jsJudging + `" \] =\s`, say: "replaces $"},
	{langs: "js", find: jsLibrary + `(?: [\w$).]+){0,5} \. ` + jsJudging + ` =\s\S*`, say: "replaces $",
		unless: ` =(?:` + jsLibrary + `|\s(?:require|chai|expect|` + jsJudging + `)$)`},
	{langs: "js", find: `\sassign \(` + jsLibrary + ` , (?s:.{0,1000}?)[{,]\s` + jsJudging + ` [(:]`, say: "replaces $"},

	{langs: "python", say: "replaces $", find: `\s(?:setattr|patch|object) \(` + inBrackets +
		`\b_?(?:TestCase|unittest|pytest)\b` + inBrackets + `["' .]` + pyJudging + `"`},
	{langs: "python", say: "replaces $", find: `(?:\s(?:TestCase|unittest|TestResult|TextTestResult|_pytest)|` +
		`(?:^|[\n;{}]\s?)pytest)\b[^\n;{}]*? \. ` + pyJudging + ` =\s`},
	{langs: "python", say: "replaces $",
		find: `(?:^|[\n;{}])\s?\w+ \. ` + pyAsserts + ` =\s`, unless: `\b(?:self|cls) \.`},

	{langs: "rust", find: `\smacro_rules ! (assert|assert_eq|assert_ne|assert_matches|panic|unreachable)\s`,
		say: "replaces $"},
	{langs: "c-like", find: `\n# define NDEBUG\b`, say: "turns assert off (NDEBUG)"},
	{langs: "c-like", find: `\n# define (assert\b|` + cAsserts + ` \()(?:.*\\\n)*.*`, say: "replaces $",
		unless: ` define \S+ (?s:.*)(?i:abort|exit|fail|throw|assert|trap|raise|panic|err|die|return|check|expect|` +
			`require|report)`},
	{langs: "php", find: `\s(?:assert_options\b|ini_set \( "[^"]*zend\.assertions)`, say: "turns assert off"},
	{langs: "script", product: true, find: `\sdef ` + rubyAsserts, say: "replaces $"},
	{langs: "script", find: `\sdef ` + rubyAsserts, say: "replaces $",
		when: `\n(?:module|class) (?:Minitest|MiniTest|RSpec|Test)\b(?:.* (?:Assertions|Expectations)\b|[^<\n]*\n)`},
	{langs: "script", say: "replaces $", find: `\s(?:define_method|alias_method|remove_method|undef_method|` +
		`define_singleton_method|alias|undef)(?: \()?(?: :)? ` + rubyAsserts},

	{langs: "python", product: true, find: `\s(__eq__)(?: \(` + inBrackets + `\) [^{};]*\{\sreturn| = lambda [^:]*:) ` +
		`True(?:\s[;}]|\n|$)`, say: "$ that always holds"},
	{langs: "python", product: true, find: `\s(__ne__)(?: \(` + inBrackets + `\) [^{};]*\{\sreturn| = lambda [^:]*:) ` +
		`False(?:\s[;}]|\n|$)`, say: "$ that always holds"},
	{langs: "java go rust js", product: true, say: "$ that always holds", find: `(?:\s(equals)|\) (Equal)|\sfn (eq)|` +
		`\s(asymmetricMatch)) \(` + inBrackets + `\) [^{}=;]{0,80}[{=]\s(?:return )?true(?:\s[;}]|\n|$)`},

	{langs: "go js python rust java c-like php script dash other", product: true, say: "ends the process under $",
		find: `\s(?:if|elif)\b[^{};]*?` + underTest + `(?:[^{};]*?` +
			`(?:\{` + inBraces + `){1,4}|[^{};\n]*?)` + endsProcess,
		when: endsProcess},

	{langs: "python", product: true, find: `\s(atexit)\b`, when: `\. _exit` + withNought,
		say: "ends the process with 0 by $"},
	{langs: "c-like", product: true, find: `\s(atexit|ProcessExit|destructor)\b`, say: "ends the process with 0 by $",
		when: `\s(?:_exit|_Exit|Exit|reallyExit|halt|quick_exit) \( (?:0|true|\))` + codeNought},
	{langs: "script php", product: true, find: `\s(at_exit|atexit|register_shutdown_function)\b`,
		when: `\s` + exitNames + withNought + codeNought, say: "ends the process with 0 by $"},
	{langs: "js", product: true, find: `\s(process) \. (?:on|once|addListener) \( "[^"]*(?i:exit)`,
		when: `(?:\.|::) ` + exitNames + withNought + codeNought, say: "ends the process with 0 by $"},
	{langs: "java rust go dash other", product: true, find: `\s(addShutdownHook|set_hook|atexit)\b`,
		when: `(?:\.|::) ` + exitNames + withNought + codeNought, say: "ends the process with 0 by $"},
}

// compiled are the patterns of signs, made when they are first needed.
var compiled = sync.OnceValue(func() map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for _, s := range signs {
		for _, p := range []string{s.find, s.unless, s.when} {
			if p != "" && out[p] == nil {
				out[p] = regexp.MustCompile(p)
			}
		}
	}
	return out
})

// signsIn finds the signs in a file of a language.
func signsIn(file, lang string, toks []token) []string {
	product := !IsTest(file) && !isSupport(file)
	if lang == "python" {
		toks = blocks(toks)
	}
	text := spelled(toks)
	if lang == "js" {
		text = libraryNames(text)
	}
	var out []string
	for _, s := range signs {
		if s.product && !product || !slices.Contains(strings.Fields(s.langs), lang) ||
			s.when != "" && !compiled()[s.when].MatchString(text) {
			continue
		}
		for _, m := range compiled()[s.find].FindAllStringSubmatch(text, -1) {
			if s.unless != "" && compiled()[s.unless].MatchString(m[0]) {
				continue
			}
			last := ""
			for _, group := range m[1:] {
				if group != "" {
					last = strings.TrimSuffix(group, " (")
				}
			}
			if out = append(out, strings.ReplaceAll(s.say, "$", last)); s.when != "" {
				break
			}
		}
	}
	return out
}

// spelled is the text of tokens. Each follows a blank, or a new line where it begins its line. Strings
// are in double quotes and have no blanks.
func spelled(toks []token) string {
	var b strings.Builder
	for i, t := range toks {
		if t.first || i == 0 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
		switch {
		case t.kind == str:
			b.WriteString(`"` + strings.Join(strings.Fields(strings.Trim(t.text, "\"'`")), "_") + `"`)
			continue
		case t.text == "(" && i > 1 && toks[i-2].is("define") && t.pos > toks[i-1].end:
			b.WriteByte('~') // #define NAME (1) is no macro with parameters
		}
		b.WriteString(t.text)
	}
	b.WriteByte('\n')
	return b.String()
}

// jsImported is a name that a library of assertions gets in a file of JavaScript.
var jsImported = lazyregexp.New(`\s([\w$]+) (?:=|from) (?:require \( )?"(?:node:)?(?:assert|assert/strict|chai)"`)

// libraryNames calls each library of assertions "assert", whatever name a file has for it.
func libraryNames(text string) string {
	for _, m := range jsImported().FindAllStringSubmatch(text, -1) {
		if m[1] != "assert" {
			text = strings.NewReplacer(" "+m[1]+" ", " assert ", "\n"+m[1]+" ", "\nassert ").Replace(text)
		}
	}
	return text
}

// foreignPackage matches the folders of libraries for tests of Java and its kin. A class
// there is found before the library's own.
var foreignPackage = lazyregexp.New(
	`(?:^|/)((?:org/(?:junit|assertj|hamcrest|testng|mockito|scalatest|spockframework)|` +
		`junit/framework|kotlin/test)/)(?:[\w/]*/)?(?:Assert|Assertions|AssertionsKt|Assume|Assumptions|Test|TestCase|` +
		`TestSuite|ParameterizedTest|MatcherAssert|Matchers|Mockito|Verifier)\.\w+$`)

// shadowsLibrary names the library that has a class replaced by a new file, "" for none.
// The library's own project has such folders already.
func (j *judge) shadowsLibrary(p string) string {
	m := foreignPackage().FindStringSubmatch(p)
	if m == nil || slices.ContainsFunc(j.in.Paths, func(q string) bool { return strings.Contains("/"+q, "/"+m[1]) }) {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(m[1], "/"), "/", ".")
}
