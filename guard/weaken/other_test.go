package weaken

import "testing"

const rsTwo = `pub fn add(a: i32, b: i32) -> i32 { a + b }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
        assert_eq!(add(-1, 1), 0);
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn overflows() {
        add(i32::MAX, 1);
    }
}
`

const javaTwo = `package calc;

import org.junit.jupiter.api.Test;
import static org.junit.jupiter.api.Assertions.*;

class CalcTest {
    @Test
    void adds() {
        assertEquals(3, Calc.add(1, 2));
        assertEquals(0, Calc.add(-1, 1));
    }

    @Test
    void refusesZero() {
        assertThrows(ArithmeticException.class, () -> Calc.div(1, 0));
    }
}
`

const javaParam = `class CalcTest {
    @ParameterizedTest
    @CsvSource({"1, 2, 3", "0, 0, 0", "-1, 1, 0"})
    void adds(int a, int b, int want) {
        assertEquals(want, Calc.add(a, b));
    }
}
`

func TestRustAndJavaWeakened(t *testing.T) {
	rs, jv := "src/lib.rs", "src/test/java/calc/CalcTest.java"
	check(t, []row{
		edit("rs: #[ignore]", rs, rsTwo, "    fn adds", "    #[ignore]\n    fn adds", Skipped),
		edit("rs: the attribute goes", rs, rsTwo, "    #[test]\n    fn adds", "    fn adds", Removed),
		{why: "rs: the module goes", path: rs, before: rsTwo, after: cut(rsTwo, "#[cfg(test)]", ""), want: is(Removed)},
		edit("rs: cfg(any())", rs, rsTwo, "#[cfg(test)]\nmod", "#[cfg(test)]\n#[cfg(any())]\nmod", Skipped),
		edit("rs: a feature on a test", rs, rsTwo, "    #[test]\n    fn adds",
			"    #[cfg(feature = \"slow\")]\n    #[test]\n    fn adds", Skipped),
		edit("rs: cfg(all(test, …))", rs, rsTwo, "#[cfg(test)]", "#[cfg(all(test, feature = \"x\"))]", Skipped),
		edit("rs: should_panic turns a failure around", rs, rsTwo, "    #[test]\n    fn adds",
			"    #[test]\n    #[should_panic]\n    fn adds", Skipped),
		edit("rs: an assertion goes", rs, rsTwo, "        assert_eq!(add(-1, 1), 0);\n", "", Assertions),
		edit("rs: assert!(true)", rs, rsTwo, "assert_eq!(add(-1, 1), 0)", "assert!(true)", Assertions),
		edit("rs: both sides are one", rs, rsTwo, "assert_eq!(add(-1, 1), 0)", "assert_eq!(add(-1, 1), add(-1, 1))",
			Assertions),
		edit("rs: in a nested comment", rs, rsTwo, "        assert_eq!(add(-1, 1), 0);\n",
			"        /* /* x */ assert_eq!(add(-1, 1), 0); */\n", Assertions),
		edit("rs: in a raw string", rs, rsTwo, "assert_eq!(add(-1, 1), 0);", "let _ = r#\"assert_eq!(add(-1, 1), 0);\"#;",
			Assertions),
		edit("rs: should_panic goes", rs, rsTwo, "    #[should_panic(expected = \"overflow\")]\n", "", Assertions),
		{why: "rs: rows of a loop go", path: "tests/add.rs",
			before: "#[test]\nfn adds() {\n    for (a, b) in [(1, 1), (2, 2), (3, 3)] {\n        assert_eq!(a, b);\n    }\n}\n",
			after:  "#[test]\nfn adds() {\n    for (a, b) in [(1, 1)] {\n        assert_eq!(a, b);\n    }\n}\n",
			want:   is(Cases)},
		edit("java: @Disabled", jv, javaTwo, "    @Test\n    void refusesZero",
			"    @Test\n    @Disabled(\"flaky\")\n    void refusesZero", Skipped),
		edit("java: @Ignore on the class", jv, javaTwo, "class CalcTest", "@Ignore\nclass CalcTest", Skipped),
		edit("java: enabled = false", jv, javaTwo, "    @Test\n    void refusesZero",
			"    @Test(enabled = false)\n    void refusesZero", Skipped),
		edit("java: an assumption", jv, javaTwo, "void refusesZero() {", "void refusesZero() {\n        assumeTrue(false);",
			Skipped),
		edit("java: the annotation goes", jv, javaTwo, "    @Test\n    void refusesZero", "    void refusesZero", Removed),
		edit("java: an assertion goes", jv, javaTwo, "        assertEquals(0, Calc.add(-1, 1));\n", "", Assertions),
		edit("java: assertTrue(true)", jv, javaTwo, "assertEquals(0, Calc.add(-1, 1))", "assertTrue(true)", Assertions),
		edit("java: swallowed", jv, javaTwo, "        assertEquals(0, Calc.add(-1, 1));\n",
			"        try {\n            assertEquals(0, Calc.add(-1, 1));\n        } catch (Throwable e) {\n        }\n",
			Assertions),
		edit("java: cases go", jv, javaParam, `, "-1, 1, 0"`, "", Cases),
		{why: "java: AssertJ chain shrinks", path: jv, before: replace(javaTwo, "assertEquals(3, Calc.add(1, 2));",
			"assertThat(list()).hasSize(2).contains(1);"), after: replace(javaTwo, "assertEquals(3, Calc.add(1, 2));",
			"assertThat(list());"), want: is(Assertions)},
		{why: "java: the file is deleted", path: jv, before: javaTwo, after: "-", want: is(Removed)},
		{why: "kotlin: an assertion goes", path: "src/test/kotlin/CalcTest.kt",
			before: "class CalcTest {\n    @Test\n    fun `adds numbers`() {\n        assertEquals(3, add(1, 2))\n" +
				"        assertEquals(0, add(0, 0))\n    }\n}\n",
			after: "class CalcTest {\n    @Test\n    fun `adds numbers`() {\n        assertEquals(3, add(1, 2))\n    }\n}\n",
			want:  is(Assertions)},
	})
}

func TestRustAndJavaHonest(t *testing.T) {
	rs, jv := "src/lib.rs", "src/test/java/calc/CalcTest.java"
	check(t, []row{
		edit("rs: production code changes", rs, rsTwo, "{ a + b }", "{ a.wrapping_add(b) }"),
		edit("rs: renamed", rs, rsTwo, "fn overflows", "fn panics_on_overflow"),
		{why: "rs: tests move to a file", path: rs, before: rsTwo,
			after: cut(rsTwo, "#[cfg(test)]", "#[cfg(test)]\nmod tests;\n"), more: []File{file("src/tests.rs", "-", rsInner)}},
		{why: "rs: tests move to tests/", path: rs, before: rsTwo, after: cut(rsTwo, "#[cfg(test)]", ""),
			more: []File{file("tests/add.rs", "-", "use calc::add;\n\n"+rsInner)}},
		edit("rs: lifetimes are no characters", rs, rsTwo, "pub fn add",
			"pub fn first<'a>(s: &'a str) -> &'a str { s }\n\npub fn add"),
		edit("rs: a new ignored test", rs, rsTwo, "    #[test]\n    fn adds",
			"    #[test]\n    #[ignore = \"slow\"]\n    fn big() {\n        assert_eq!(sum_all(), 9);\n    }\n\n"+
				"    #[test]\n    fn adds"),
		edit("rs: assertions become rows", rs, rsTwo,
			"        assert_eq!(add(1, 2), 3);\n        assert_eq!(add(-1, 1), 0);\n",
			"        for (a, b, want) in [(1, 2, 3), (-1, 1, 0)] {\n            assert_eq!(add(a, b), want);\n        }\n"),
		edit("java: renamed", jv, javaTwo, "void refusesZero", "void throwsOnZeroDivisor"),
		{why: "java: moved with its package", path: jv, before: javaTwo, after: "-",
			more: []File{file("src/test/java/arith/ArithTest.java", "-",
				replace(replace(javaTwo, "package calc;", "package arith;"), "class CalcTest", "class ArithTest"))}},
		{why: "java: nested classes", path: jv, before: javaTwo,
			after: replace(replace(javaTwo, "    @Test\n    void refusesZero",
				"    @Nested\n    class Division {\n    @Test\n    void refusesZero"), "Calc.div(1, 0));\n    }\n",
				"Calc.div(1, 0));\n    }\n    }\n")},
		edit("java: assertions become cases", jv, javaTwo,
			"    @Test\n    void adds() {\n        assertEquals(3, Calc.add(1, 2));\n"+
				"        assertEquals(0, Calc.add(-1, 1));\n",
			"    @ParameterizedTest\n    @CsvSource({\"3, 1, 2\", \"0, -1, 1\"})\n"+
				"    void adds(int want, int a, int b) {\n        assertEquals(want, Calc.add(a, b));\n"),
		edit("java: a generic helper and text", jv, javaTwo, "    @Test\n    void refusesZero",
			"    private static <T extends Comparable<T>> T max(java.util.List<T> l) { return l.get(0); }\n\n    @Test\n"+
				"    void refusesZero"),
		{why: "java: a helper gets an overload", path: jv, before: replace(javaTwo,
			"        assertEquals(3, Calc.add(1, 2));\n        assertEquals(0, Calc.add(-1, 1));\n    }\n",
			"        sum(3, 1, 2);\n        sum(0, -1, 1);\n    }\n\n    void sum(int want, int a, int b) {\n"+
				"        assertEquals(want, Calc.add(a, b));\n    }\n"),
			after: replace(javaTwo, "        assertEquals(3, Calc.add(1, 2));\n"+
				"        assertEquals(0, Calc.add(-1, 1));\n    }\n",
				"        sum(3, 1, 2);\n        sum(0, -1, 1);\n    }\n\n    void sum(int want, int a, int b) {\n"+
					"        sum(calc, want, a, b);\n    }\n\n    void sum(Calc calc, int want, int a, int b) {\n"+
					"        assertEquals(want, calc.add(a, b));\n    }\n")},
		edit("java: a message in front of the values", jv, javaTwo, "assertEquals(3, Calc.add(1, 2))",
			`assertEquals("one and two", 3, Calc.add(1, 2))`),
		edit("java: a method whose name begins with disable", jv, javaTwo, "assertEquals(3, Calc.add(1, 2))",
			"assertEquals(3, Calc.disableTracing().add(1, 2))"),
		edit("java: a reader that skips a value", jv, javaTwo, "Calc.add(1, 2)",
			"Calc.add(reader.skipValue(), list.stream().skip(1).count())"),
		edit("rs: an iterator that skips", rs, rsTwo, "add(1, 2)", "add(v.iter().skip(1).count(), 2)"),
		edit("java: a comment about @Disabled", jv, javaTwo, "    @Test\n    void refusesZero",
			"    // @Disabled was here\n    @Test\n    void refusesZero"),
	})
}

const rsInner = `use super::*;

#[test]
fn adds() {
    assert_eq!(add(1, 2), 3);
    assert_eq!(add(-1, 1), 0);
}

#[test]
#[should_panic(expected = "overflow")]
fn overflows() {
    add(i32::MAX, 1);
}
`

func TestOtherLanguages(t *testing.T) {
	rb := "describe Calc do\n  it \"adds\" do\n    expect(add(1, 2)).to eq(3)\n  end\n\n  it \"zero\" do\n" +
		"    expect(add(0, 0)).to eq(0)\n  end\nend\n"
	cs := "public class CalcTests {\n  [Fact]\n  public void Adds() { Assert.Equal(3, Calc.Add(1, 2)); }\n\n  [Fact]\n" +
		"  public void Zero() { Assert.Equal(0, Calc.Add(0, 0)); }\n}\n"
	cc := "TEST(Calc, Adds) {\n  EXPECT_EQ(add(1, 2), 3);\n}\n\nTEST(Calc, Zero) {\n  EXPECT_EQ(add(0, 0), 0);\n}\n"
	bats := "@test \"adds\" {\n  run add 1 2\n  assert_output 3\n}\n\n@test \"zero\" {\n  run add 0 0\n" +
		"  assert_output 0\n}\n"
	check(t, []row{
		{why: "rb: a test goes", path: "spec/calc_spec.rb", before: rb, after: cut(rb, "\n  it \"zero\"", "end\n"),
			want: is(Removed)},
		edit("rb: xit", "spec/calc_spec.rb", rb, `  it "zero"`, `  xit "zero"`, Removed, Skipped),
		edit("rb: pending", "spec/calc_spec.rb", rb, `  it "zero" do`, "  it \"zero\" do\n    pending", Skipped),
		{why: "rb: renamed and moved", path: "spec/calc_spec.rb", before: rb, after: "-",
			more: []File{file("spec/models/arith_spec.rb", "-", rb)}},
		edit("cs: Skip", "test/CalcTests.cs", cs, "  [Fact]\n  public void Zero",
			"  [Fact(Skip = \"x\")]\n  public void Zero", Skipped),
		edit("cs: an assertion goes", "test/CalcTests.cs", cs, "Assert.Equal(0, Calc.Add(0, 0));", "", Assertions),
		edit("cs: a test is added", "test/CalcTests.cs", cs, "  [Fact]\n  public void Zero",
			"  [Fact]\n  public void One() { Assert.Equal(1, Calc.Add(0, 1)); }\n\n  [Fact]\n  public void Zero"),
		{why: "c++: a test goes", path: "test/calc_test.cc", before: cc, after: cut(cc, "\nTEST(Calc, Zero)", ""),
			want: is(Removed)},
		edit("c++: DISABLED_", "test/calc_test.cc", cc, "Calc, Zero", "Calc, DISABLED_Zero", Skipped),
		edit("c++: a check becomes a comment", "test/calc_test.cc", cc, "  EXPECT_EQ(add(0, 0), 0);",
			"  // EXPECT_EQ(add(0, 0), 0);", Assertions),
		edit("bats: skip", "test/calc.bats", bats, "@test \"zero\" {", "@test \"zero\" {\n  skip \"later\"", Skipped),
		{why: "bats: a test goes", path: "test/calc.bats", before: bats, after: cut(bats, "\n@test \"zero\"", ""),
			want: is(Removed)},
		{why: "php: incomplete", path: "tests/CalcTest.php",
			before: "<?php\nclass CalcTest extends TestCase {\n" +
				"  public function testAdd() { $this->assertSame(3, add(1, 2)); }\n}\n",
			after: "<?php\nclass CalcTest extends TestCase {\n" +
				"  public function testAdd() { $this->markTestIncomplete(); $this->assertSame(3, add(1, 2)); }\n}\n",
			want: is(Skipped)},
		{why: "a text file is no test", path: "tests/README.md", before: "assert everything", after: "nothing"},
		{why: "test data may change", path: "testdata/in.txt", before: "1", after: "2"},
	})
}
