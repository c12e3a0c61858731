package weaken

import (
	"slices"
	"strings"
	"sync"
)

// wordSet is a set of names, written as one text. A name that ends in * stands for all
// that begin so; one that begins with a dot is a method of anything.
type wordSet struct{ *wordList }

// wordList is read when somebody asks: most commands of the program ask for none.
type wordList struct {
	text   string
	once   sync.Once
	exact  map[string]bool
	prefix []string
}

func set(text string) wordSet { return wordSet{&wordList{text: text}} }

func (w *wordList) read() {
	w.exact = map[string]bool{}
	for _, f := range strings.Fields(w.text) {
		if p, ok := strings.CutSuffix(f, "*"); ok {
			w.prefix = append(w.prefix, p)
		} else {
			w.exact[f] = true
		}
	}
}

func (w wordSet) has(name string) bool {
	if name == "" || w.wordList == nil {
		return false
	}
	w.once.Do(w.read)
	return w.exact[name] ||
		slices.ContainsFunc(w.prefix, func(p string) bool { return strings.HasPrefix(name, p) })
}

// language is what is known about a language: how its text is cut into tokens, how its
// blocks are formed, and which words make, skip and assert in tests.
type language struct {
	name string

	slash     bool // // and /* */
	nested    bool // block comments nest
	hash      bool // # to the end of the line
	dash      bool // -- to the end of the line
	triple    bool // """ and, with layout, '''
	single    bool // 'strings' (else '…' is a character of at most a few bytes)
	multiline bool // quoted strings go over line ends
	backtick  byte // 't' template, 'r' raw string, 'i' identifier, 0 = punctuation
	layout    bool // blocks by indentation; string prefixes, continuation by backslash
	rust      bool // raw strings, lifetimes
	regexps   bool // /…/ where a value may stand

	declares   wordSet // keywords in front of a name that gets a value
	skips      wordSet // calls that skip the test which they are in, also handed on as values
	asserts    wordSet // calls that are an assertion, whatever the helpers of their name do
	idle       wordSet // calls without effect
	chains     wordSet // calls whose value is asserted by what is chained to them
	links      bool    // each link of such a chain is an assertion
	neutral    wordSet // links that do not assert
	methods    bool    // a call on an object is not a call of a function of the file
	statement  bool    // assert is a statement
	catches    wordSet // what a handler catches that takes failed assertions
	catchesAll bool    // every handler does
	thrown     wordSet // what is an assertion when it is thrown, in helpers and conditions
	thrownSkip wordSet // what skips when it is thrown
	testMarks  wordSet // attributes that make a test
	skipMarks  wordSet // attributes that skip one
}

var golang = &language{name: "go", slash: true, backtick: 'r'}

var python = &language{name: "python", hash: true, triple: true, single: true, layout: true,
	skips:     set("pytest.skip pytest.xfail pytest.importorskip .skipTest skipTest"),
	asserts:   set("pytest.raises pytest.warns pytest.fail pytest.deprecated_call"),
	statement: true,
	catches:   set("AssertionError Exception BaseException"),
	thrown:    set("AssertionError"),
	thrownSkip: set("skip skipif skipIf skipUnless xfail expectedFailure SkipTest importorskip skip_* skipT* Skip " +
		"SkipTest* Skipped"),
	skipMarks: set("skip skipif skipIf skipUnless xfail expectedFailure SkipTest importorskip"),
}

var javascript = &language{name: "js", slash: true, single: true, backtick: 't', regexps: true,
	declares:   set("const let var"),
	idle:       set("require"),
	chains:     set("expect expectAsync"),
	catchesAll: true,
	thrown:     set("*"),
}

var rust = &language{name: "rust", slash: true, nested: true, rust: true, multiline: true,
	declares: set("let const static"),
	asserts:  set("panic unreachable"),
	idle:     set("todo unimplemented"),
	testMarks: set("test rstest test_case wasm_bindgen_test quickcheck proptest test_log case test_matrix " +
		"traced_test"),
}

var java = language{name: "java", slash: true, triple: true,
	skips:     set("skip assume* .assume*"),
	asserts:   set("fail .fail .should*"),
	chains:    set("assertThat assertThatThrownBy expectThat that"),
	links:     true,
	neutral:   set("as describedAs extracting withFailMessage asList first"),
	methods:   true,
	statement: true,
	catches:   set("Throwable AssertionError Error AssertionFailedError"),
	thrown:    set("AssertionError AssertionFailedError"),
	thrownSkip: set("TestAbortedException AbortedException AssumptionViolated* SkipException " +
		"IncompleteExecutionException"),
	testMarks: set("Test ParameterizedTest RepeatedTest TestFactory TestTemplate Theory Property Example ArchTest"),
	skipMarks: set("Disabled Ignore Ignored DisabledOnOs DisabledIf DisabledOnJre DisabledIfEnvironmentVariable " +
		"DisabledIfSystemProperty EnabledIf EnabledOnOs EnabledOnJre EnabledIfEnvironmentVariable " +
		"EnabledIfSystemProperty PendingFeature IgnoreIf Requires FlakyTest EnabledForJreRange"),
}

// keywords are written like calls and are none.
var keywords = set("if elif else while for switch match case catch except return await yield not and or in del " +
	"assert raise throw try typeof function fn fun def class new with")

// languages are those of files by the ends of their names.
var languages = byEnding(map[string]*language{
	".go":                                   golang,
	".py .pyi":                              python,
	".js .jsx .mjs .cjs .ts .tsx .mts .cts": javascript,
	".rs":                                   rust,
	".java":                                 &java,
	".kt .kts .scala":                       java.with(func(l *language) { l.nested, l.backtick = true, 'i' }),
	".groovy": java.with(func(l *language) {
		l.nested, l.backtick, l.single = true, 'i', true
	}),
	".c .cc .cpp .cxx .h .hpp .m .mm .cs .zig .v": {name: "c-like", slash: true},
	".swift":       {name: "c-like", slash: true, triple: true},
	".dart":        {name: "c-like", slash: true, triple: true, single: true},
	".php":         {name: "php", slash: true, hash: true, single: true, multiline: true},
	".vue .svelte": {name: "php", slash: true, single: true, multiline: true},
	".rb .sh .bash .zsh .bats .ex .pl .t .r .cr .nim .tcl .ps1 .fish": {name: "script", hash: true, single: true,
		multiline: true},
	".exs .jl":            {name: "script", hash: true, single: true, multiline: true, triple: true},
	".lua .sql .ada":      {name: "dash", dash: true, single: true, multiline: true},
	".hs .elm":            {name: "dash", dash: true, multiline: true},
	".clj .cljs .erl .ml": {name: "other"},
	".fs":                 {name: "other", slash: true, triple: true},
})

func (l language) with(change func(*language)) *language {
	change(&l)
	return &l
}

func byEnding(table map[string]*language) map[string]*language {
	out := map[string]*language{}
	for endings, l := range table {
		for _, e := range strings.Fields(endings) {
			out[e] = l
		}
	}
	return out
}
