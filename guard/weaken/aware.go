package weaken

import "strings"

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

// libraryAssertion reports whether a framework's assertion compares its arguments: with
// literals alone it cannot fail. What a project's own assertTokens does with its
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

// refuting lists assertions that hold for false or absent values. With literals alone
// they always hold, or fail in every run.
func refuting(name string) bool {
	return oneOf("assertFalse assert_false assertNull assertIsNone refute assert_nil", name)
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
