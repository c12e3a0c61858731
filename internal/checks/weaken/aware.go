package weaken

import "strings"

// exitsUnderTest finds code that ends the process when tests run it:
// `if testing.Testing() { os.Exit(0) }`, `if (process.env.NODE_TEST_CONTEXT)
// process.exit(0)`. It is looked for in the code under test, in any language.
func exitsUnderTest(lang string, toks []token) []string {
	var out []string
	var walk func([]node)
	walk = func(list []node) {
		for i := range list {
			if word := at(list, i); word == "if" || word == "elif" {
				cond, body := condition(list, i)
				end := statementEnd(list, body)
				if group(list, body, '{') {
					end = body + 1
				}
				if mark := testMark(cond, lang); mark != "" && exits(list[min(body, len(list)):min(end, len(list))]) {
					out = append(out, "ends the process under "+mark)
				}
			}
			walk(list[i].kids)
		}
	}
	if lang == "python" {
		toks = blocks(toks)
	}
	walk(tree(toks))
	return out
}

// exitHooks finds code that has a hook at the end of its process and sets the exit
// code to 0, or ends the process without one: who tests it exits as it wants.
func exitHooks(lang string, toks []token) []string {
	hook, clean := "", false
	for i, t := range toks {
		is := func(k int, words string) bool {
			return k >= 0 && k < len(toks) && oneOf(words, toks[k].text)
		}
		switch {
		case t.kind == str:
			if is(i-1, "(") && is(i-2, "on once addListener") && is(i-4, "process") &&
				strings.Contains(strings.ToLower(t.text), "exit") {
				hook = "process.on exit"
			}
		case t.kind == ident && exitHookWords.has(t.text) && (t.text != "set_hook" || lang == "rust"):
			hook = t.text
		case is(i, "_exit _Exit exit Exit reallyExit halt quick_exit") && (is(i-1, ". ::") || bareExit.has(lang)):
			ends := lang == "python" && t.text == "_exit" || lang == "c-like" && t.text != "exit" ||
				lang != "python" && lang != "c-like"
			k := i + 1
			if is(k, "!") { // Ruby's exit!
				k++
			}
			clean = clean || ends && (is(k, "0 true") || is(k, "(") && is(k+1, "0 true )") || !is(k, "(") && lang != "c-like")
		case is(i, "exitCode") && is(i+1, "=") && is(i+2, "0 undefined null"):
			clean = true
		}
	}
	if hook == "" || !clean {
		return nil
	}
	return []string{"ends the process with 0 by " + hook}
}

// exitHookWords register what runs at the end of a process, or when a test fails.
var exitHookWords = set("atexit addShutdownHook at_exit register_shutdown_function set_hook ProcessExit destructor")

// bareExit are the languages in which what ends the process is a function of no module.
var bareExit = set("c-like script php")

// testMark is the sign in a condition by which code can tell that tests run.
func testMark(cond []node, lang string) string {
	for i, n := range cond {
		if n.open != 0 {
			if m := testMark(n.kids, lang); m != "" {
				return m
			}
			continue
		}
		switch n.text {
		case "NODE_TEST_CONTEXT", "JEST_WORKER_ID", "VITEST", "VITEST_WORKER_ID", "VITEST_POOL_ID", "PYTEST_CURRENT_TEST",
			"PYTEST_VERSION", "test.v", "test.run", ".test":
			return n.text
		case "Testing":
			if lang == "go" && at(cond, i-2) == "testing" {
				return "testing.Testing()"
			}
		case "pytest", "unittest", "_pytest":
			if lang == "python" && n.kind == str {
				return n.text
			}
		case "test":
			if n.kind == str && lang == "js" && strings.Contains(text(cond), "NODE_ENV") || lang == "rust" && len(cond) == 1 {
				return n.text // cfg!(test)
			}
		}
	}
	return ""
}

// exits finds a call that ends the process, at any depth.
func exits(list []node) bool {
	for i, n := range list {
		if n.open != 0 && exits(n.kids) || n.kind == ident && at(list, i-1) != "." && at(list, i-1) != "::" &&
			exitCalls.has(called(list, i)) {
			return true
		}
	}
	return false
}

// strength counts what a body compares with a value, in contrast to what only
// looks whether there is one: `== 3` and assertEqual, not `is not None` or
// assertTrue. An expected exception of a class counts, one of any class does not.
func strength(toks []token) int {
	n := 0
	for i, t := range toks {
		next := token{}
		if i+2 < len(toks) && toks[i+1].is("(") {
			next = toks[i+2]
		}
		switch {
		case t.kind == punct && (t.text == "==" || t.text == "===" || t.text == "!=" || t.text == "!=="):
			other := token{}
			if i+1 < len(toks) {
				other = toks[i+1]
			}
			switch other.text {
			case "", "nil", "null", "None", "undefined":
			default:
				n++
			}
		case t.kind != ident:
		case raising.has(t.text):
			switch next.text {
			case "Exception", "BaseException", "Throwable", "Error", ")", "":
			default:
				n++
			}
		case comparing.has(t.text):
			n++
		}
	}
	return n
}

var raising = set("raises assertRaises assertRaisesRegex assertThrows assertThrowsExactly toThrow " +
	"toThrowError throws rejects expected ErrorIs ErrorAs")

// libraryAssertion are those of the frameworks, which compare what they are given: with
// literals alone they cannot fail. What a project's own assertTokens does with its
// literals is not known.
func libraryAssertion(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "debug_"), "prop_")
	switch name {
	case "assert", "assertTrue", "assertFalse", "assertNull", "assertNotNull", "assertNotEquals", "assertNotSame",
		"assertNotEqual", "assertIsNone", "assertIsNotNone", "assertIn", "assertNotIn", "assertIsNot", "assertIsInstance",
		"assertNotIsInstance", "assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual", "assertRegex",
		"assertNotAlmostEqual", "assertInstanceOf", "assert_matches", "assert_true", "assert_false":
		return true
	}
	return comparing.has(name) && strings.HasPrefix(name, "assert")
}

// comparing are assertions that compare with a value.
var comparing = set("assertEqual assertEquals assertIs assertListEqual assertDictEqual assertSequenceEqual " +
	"assertTupleEqual assertSetEqual assertCountEqual assertMultiLineEqual assertAlmostEqual " +
	"assertArrayEquals assertIterableEquals assertLinesMatch assertSame assertThat isEqualTo " +
	"containsExactly hasSize toBe toEqual toStrictEqual toMatchObject toHaveLength " +
	"toMatchInlineSnapshot toMatchSnapshot toHaveBeenCalledWith toHaveBeenCalledTimes " +
	"strictEqual deepEqual deepStrictEqual equal eql equals is same strictSame Equal " +
	"EqualValues Exactly EqualError JSONEq YAMLEq ElementsMatch Len InDelta assert_eq assert_ne " +
	"DeepEqual")
