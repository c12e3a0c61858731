package weaken

import (
	"slices"
	"strings"
	"testing"
)

// Every way to remove a test or keep it from running, by one edit, is found.
func TestNotRunAnyMore(t *testing.T) {
	java := "import org.junit.jupiter.api.Test;\nclass ATest extends Base {\n    @BeforeEach\n" +
		"    void setUp() { x = 1; }\n    @Test\n    void adds() {\n        assertEquals(2, f());\n    }\n" +
		"    @Test\n    void subs() {\n        assertEquals(1, g());\n    }\n    @Nested\n    class Inner {\n" +
		"        @Test\n        void deep() { assertEquals(3, h()); }\n    }\n}\n"
	js := "import {it, describe} from 'vitest';\ndescribe('calc', () => {\n  beforeEach(() => { x = 1; });\n" +
		"  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n  it('subs', () => {\n" +
		"    expect(sub(1, 2)).toBe(-1);\n  });\n});\n"
	py := "import pytest\nimport unittest\n\n@pytest.fixture\ndef calc():\n    return Calc()\n\n" +
		"class TestCalc(unittest.TestCase):\n    def setUp(self):\n        self.x = 1\n\n" +
		"    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_sub(self):\n" +
		"        self.assertEqual(sub(1, 2), -1)\n\ndef test_mul(calc):\n    assert calc.mul(2, 2) == 4\n\n" +
		"@pytest.mark.parametrize('a', [1, 2, 3])\ndef test_many(a):\n    assert f(a) == a\n"
	gos := "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(\"f\")\n" +
		"\t}\n}\n\nfunc TestB(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {\n\t\tif g() != 1 {\n" +
		"\t\t\tt.Fatal(\"g\")\n\t\t}\n\t})\n}\n\nfunc ExampleF() {\n\tfmt.Println(f())\n\t// Output: 1\n}\n\n" +
		"func FuzzF(f *testing.F) {\n\tf.Add(1)\n\tf.Add(2)\n\tf.Fuzz(func(t *testing.T, n int) {\n" +
		"\t\tif h(n) != n {\n\t\t\tt.Fatal(n)\n\t\t}\n\t})\n}\n"
	rs := "pub fn f() -> i32 { 1 }\n\nmod inner;\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n" +
		"    #[test]\n    fn a() {\n        assert_eq!(f(), 1);\n    }\n\n    #[test]\n    fn b() {\n" +
		"        assert_eq!(f() + 1, 2);\n    }\n}\n"
	rb := "describe Calc do\n  it 'adds' do\n    expect(add(1)).to eq 2\n  end\n  it 'subs' do\n" +
		"    expect(sub(1)).to eq 0\n  end\nend\n"
	ex := "defmodule CalcTest do\n  use ExUnit.Case\n  test \"adds\" do\n    assert add(1) == 2\n  end\n" +
		"  test \"subs\" do\n    assert sub(1) == 0\n  end\nend\n"
	sw := "class CalcTests: XCTestCase {\n  func testAdd() {\n    XCTAssertEqual(add(1), 2)\n  }\n" +
		"  func testSub() {\n    XCTAssertEqual(sub(1), 0)\n  }\n}\n"
	cs := "public class CalcTests {\n  [Fact]\n  public void Adds() {\n    Assert.Equal(2, Add(1));\n  }\n" +
		"  [Theory]\n  [InlineData(1)]\n  [InlineData(2)]\n  public void Subs(int a) {\n" +
		"    Assert.Equal(0, Sub(a));\n  }\n}\n"
	php := "<?php\nclass CalcTest extends TestCase {\n  public function testAdd() {\n" +
		"    $this->assertSame(2, add(1));\n  }\n  public function testSub() {\n" +
		"    $this->assertSame(0, sub(1));\n  }\n}\n"
	cc := "TEST(Calc, Adds) {\n  EXPECT_EQ(add(1), 2);\n}\nTEST(Calc, Subs) {\n  EXPECT_EQ(sub(1), 0);\n}\n"
	bats := "@test \"adds\" {\n  run add 1\n  [ \"$output\" = 2 ]\n}\n@test \"subs\" {\n  run sub 1\n" +
		"  [ \"$output\" = 0 ]\n}\n"
	kt := "class ATest {\n    @Test\n    fun adds() {\n        assertEquals(2, f())\n    }\n    @Test\n" +
		"    fun subs() {\n        assertEquals(1, g())\n    }\n}\n"
	sc := "class CalcSpec extends AnyFlatSpec {\n  \"calc\" should \"add\" in {\n    assert(add(1) == 2)\n  }\n" +
		"  it should \"sub\" in {\n    assert(sub(1) == 0)\n  }\n}\n"
	sp := "class CalcSpec extends Specification {\n  def \"adds\"() {\n    expect:\n    add(1) == 2\n  }\n" +
		"  def \"subs\"() {\n    expect:\n    sub(1) == 0\n  }\n}\n"
	for _, c := range []struct{ why, path, src, old, new string }{
		{"java abstract class", "src/test/java/ATest.java", java, "class ATest", "abstract class ATest"},
		{"java private test", "src/test/java/ATest.java", java, "void adds()", "private void adds()"},
		{"java static test", "src/test/java/ATest.java", java, "void adds()", "static void adds()"},
		{"java other Test", "src/test/java/ATest.java", java, "org.junit.jupiter.api.Test;", "my.own.Test;"},
		{"java nested lost", "src/test/java/ATest.java", java, "    @Nested\n", ""},
		{"java assume in setUp", "src/test/java/ATest.java", java,
			"x = 1;", "x = 1; Assumptions.assumeTrue(false);"},
		{"java aborted", "src/test/java/ATest.java", java,
			"assertEquals(2, f());",
			"if (x == 1) throw new TestAbortedException(); assertEquals(2, f());"},
		{"java skip exception", "src/test/java/ATest.java", java,
			"assertEquals(2, f());", "if (x == 1) throw new SkipException(\"\"); assertEquals(2, f());"},
		{"java early return", "src/test/java/ATest.java", java,
			"assertEquals(2, f());", "if (System.getenv(\"X\") == null) return; assertEquals(2, f());"},
		{"java tag", "src/test/java/ATest.java", java,
			"@Test\n    void adds", "@Tag(\"slow\") @Test\n    void adds"},
		{"java enabledif", "src/test/java/ATest.java", java,
			"@Test\n    void adds",
			"@EnabledIfSystemProperty(named=\"x\", matches=\"y\") @Test\n    void adds"},
		{"js todo", "a.test.js", js,
			"it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });", "it.todo('adds');"},
		{"js pending", "a.test.js", js,
			"it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });", "it('adds');"},
		{"js null", "a.test.js", js,
			"it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });", "it('adds', null);"},
		{"js ternary", "a.test.js", js, "it('adds'", "(process.env.CI ? it : it.skip)('adds'"},
		{"js alias used", "a.test.js", js, "it('adds'", "later('adds'"},
		{"js alias const", "a.test.js", js,
			"describe('calc', () => {",
			"const describe = global.describe.skip;\ndescribe('calc', () => {"},
		{"js bracket", "a.test.js", js, "it('adds'", "it['skip']('adds'"},
		{"js if env", "a.test.js", js,
			"describe('calc', () => {", "if (process.env.FULL) describe('calc', () => {"},
		{"js never called", "a.test.js", js,
			"describe('calc', () => {", "const later = () => describe('calc', () => {"},
		{"js return in suite", "a.test.js", js, "  it('adds'", "  return;\n  it('adds'"},
		{"js cond return in suite", "a.test.js", js,
			"  it('adds'", "  if (!process.env.FULL) return;\n  it('adds'"},
		{"js skip in hook", "a.test.js", js, "() => { x = 1; }", "function () { this.skip(); }"},
		{"js ctx skip in hook", "a.test.js", js, "() => { x = 1; }", "(ctx) => { ctx.skip(); }"},
		{"js ctx skip", "a.test.js", js, "it('adds', () => {", "it('adds', ({skip}) => { skip();"},
		{"js ctx skip2", "a.test.js", js, "it('adds', () => {", "it('adds', (ctx) => { ctx.skip();"},
		{"js each empty", "a.test.js", js, "it('adds', () => {", "it.each([])('adds', () => {"},
		{"js describe each empty", "a.test.js", js, "describe('calc'", "describe.each([])('calc'"},
		{"js xit", "a.test.js", js, "it('adds'", "xit('adds'"},
		{"js fails", "a.test.js", js, "it('adds'", "it.fails('adds'"},
		{"js skip by options", "a.test.js", js,
			"it('adds', () =>", "it('adds', {skip: !process.env.X}, () =>"},
		{"js env return", "a.test.js", js, "expect(add", "if (!process.env.FULL) return;\n    expect(add"},
		{"py rename", "tests/test_a.py", py, "def test_add", "def _test_add"},
		{"py async", "tests/test_a.py", py, "def test_mul", "async def test_mul"},
		{"py fixture", "tests/test_a.py", py, "def test_mul", "@pytest.fixture\ndef test_mul"},
		{"py class object", "tests/test_a.py", py, "class TestCalc(unittest.TestCase)", "class Calc(object)"},
		{"py class renamed nobase", "tests/test_a.py", py,
			"class TestCalc(unittest.TestCase)", "class CalcBase"},
		{"py test none", "tests/test_a.py", py,
			"    def test_sub", "    test_add = None\n\n    def test_sub"},
		{"py del", "tests/test_a.py", py,
			"@pytest.mark.parametrize", "del test_mul\n\n@pytest.mark.parametrize"},
		{"py func __test__", "tests/test_a.py", py,
			"@pytest.mark.parametrize", "test_mul.__test__ = False\n\n@pytest.mark.parametrize"},
		{"py empty param", "tests/test_a.py", py, "[1, 2, 3]", "[]"},
		{"py param marks", "tests/test_a.py", py,
			"[1, 2, 3]", "[1, 2, pytest.param(3, marks=pytest.mark.skip)]"},
		{"py param xfail", "tests/test_a.py", py,
			"[1, 2, 3]", "[1, 2, pytest.param(3, marks=pytest.mark.xfail)]"},
		{"py if env", "tests/test_a.py", py,
			"def test_mul(calc):\n    assert",
			"if os.environ.get('FULL'):\n  def test_mul(calc):\n    assert"},
		{"py if false", "tests/test_a.py", py,
			"def test_mul(calc):\n    assert", "if False:\n  def test_mul(calc):\n    assert"},
		{"py setUp skip", "tests/test_a.py", py, "self.x = 1", "self.skipTest('x')"},
		{"py setUp raise", "tests/test_a.py", py, "self.x = 1", "raise unittest.SkipTest('x')"},
		{"py fixture skip", "tests/test_a.py", py, "return Calc()", "pytest.skip('x')"},
		{"py autouse skip", "tests/test_a.py", py,
			"def test_mul",
			"@pytest.fixture(autouse=True)\ndef later():\n    pytest.skip('later')\n\ndef test_mul"},
		{"py env return", "tests/test_a.py", py,
			"    assert calc", "    if not os.environ.get('X'): return\n    assert calc"},
		{"py marker slow", "tests/test_a.py", py, "def test_mul", "@pytest.mark.slow\ndef test_mul"},
		{"py nested", "tests/test_a.py", py,
			"def test_mul(calc):\n    assert", "def later():\n  def test_mul(calc):\n    assert"},
		{"py yield", "tests/test_a.py", py,
			"    assert calc.mul(2, 2) == 4", "    yield\n    assert calc.mul(2, 2) == 4"},
		{"py setUpClass", "tests/test_a.py", py,
			"    def setUp(self)",
			"    @classmethod\n    def setUpClass(cls):\n        raise unittest.SkipTest('x')\n\n    def setUp(self)"},
		{"py main exit", "tests/test_a.py", py,
			"import pytest\n", "import pytest\nimport sys\nif not sys.argv[1:]: sys.exit(0)\n"},
		{"py generator", "tests/test_a.py", py,
			"assert calc.mul(2, 2) == 4", "[x for x in () if calc.mul(2, 2) == 4]"},
		{"go lower", "a_test.go", gos, "func TestA", "func testA"},
		{"go output lost", "a_test.go", gos, "\t// Output: 1\n", ""},
		{"go seed lost", "a_test.go", gos, "\tf.Add(2)\n", ""},
		{"go short", "a_test.go", gos,
			"\tif f() != 1", "\tif testing.Short() {\n\t\treturn\n\t}\n\tif f() != 1"},
		{"go short skip", "a_test.go", gos,
			"\tif f() != 1", "\tif !testing.Short() {\n\t\tt.Skip()\n\t}\n\tif f() != 1"},
		{"go env return", "a_test.go", gos,
			"\tif f() != 1", "\tif os.Getenv(\"FULL\") == \"\" {\n\t\treturn\n\t}\n\tif f() != 1"},
		{"go foreign helper", "a_test.go", gos, "\tif f() != 1", "\tskipInCI(t)\n\tif f() != 1"},
		{"go method", "a_test.go", gos, "func TestA(t", "func (x later) TestA(t"},
		{"go run dropped", "a_test.go", gos, "t.Run(\"x\", func", "_ = (func"},
		{"go skipf", "a_test.go", gos, "\tif f() != 1", "\tt.Skipf(\"x\")\n\tif f() != 1"},
		{"go tag", "a_test.go", gos, "package a", "//go:build full\n\npackage a"},
		{"go goexit", "a_test.go", gos, "\tif f() != 1", "\truntime.Goexit()\n\tif f() != 1"},
		{"go fatal to log", "a_test.go", gos, "t.Fatal(\"f\")", "t.Log(\"f\")"},
		{"rs mark", "src/lib.rs", rs, "    #[test]\n    fn a()", "    fn a()"},
		{"rs ignore", "src/lib.rs", rs, "    #[test]\n    fn a()", "    #[test]\n    #[ignore]\n    fn a()"},
		{"rs cfg any", "src/lib.rs", rs, "#[cfg(test)]", "#[cfg(all(test, any()))]"},
		{"rs cfg feature", "src/lib.rs", rs, "#[cfg(test)]", "#[cfg(all(test, feature = \"full\"))]"},
		{"rs cfg not", "src/lib.rs", rs, "#[cfg(test)]", "#[cfg(not(test))]"},
		{"rs cfg_attr", "src/lib.rs", rs,
			"    #[test]\n    fn a()", "    #[cfg_attr(all(), ignore)]\n    #[test]\n    fn a()"},
		{"rs cfg_attr test", "src/lib.rs", rs,
			"    #[test]\n    fn a()", "    #[cfg_attr(any(), test)]\n    fn a()"},
		{"rs return", "src/lib.rs", rs,
			"assert_eq!(f(), 1);", "if std::env::var(\"X\").is_err() { return; }\n assert_eq!(f(), 1);"},
		{"rs commented", "src/lib.rs", rs,
			"    #[test]\n    fn a() {\n        assert_eq!(f(), 1);\n    }\n", ""},
		{"rb xit", "spec/a_spec.rb", rb, "it 'adds'", "xit 'adds'"},
		{"rb pending meta", "spec/a_spec.rb", rb, "it 'adds' do", "it 'adds', skip: true do"},
		{"rb pending", "spec/a_spec.rb", rb, "it 'adds' do\n", "it 'adds' do\n    pending\n"},
		{"rb without block", "spec/a_spec.rb", rb,
			"it 'adds' do\n    expect(add(1)).to eq 2\n  end\n", "it 'adds'\n"},
		{"rb return", "spec/a_spec.rb", rb, "    expect(add", "    next\n    expect(add"},
		{"ex tag skip", "test/a_test.exs", ex, "test \"adds\"", "@tag :skip\n  test \"adds\""},
		{"ex renamed", "test/a_test.exs", ex, "test \"adds\" do", "def adds do"},
		{"swift disabled", "Tests/CalcTests.swift", sw, "func testAdd", "func disabled_testAdd"},
		{"swift skip", "Tests/CalcTests.swift", sw,
			"XCTAssertEqual(add", "throw XCTSkip(\"x\")\n XCTAssertEqual(add"},
		{"cs skip", "CalcTests.cs", cs, "[Fact]", "[Fact(Skip = \"x\")]"},
		{"cs mark", "CalcTests.cs", cs, "  [Fact]\n", ""},
		{"cs row", "CalcTests.cs", cs, "  [InlineData(2)]\n", ""},
		{"cs ignore", "CalcTests.cs", strings.ReplaceAll(cs, "[Fact]", "[Test]"),
			"[Test]", "[Test, Ignore(\"x\")]"},
		{"php skip", "tests/CalcTest.php", php,
			"$this->assertSame(2", "$this->markTestSkipped();\n $this->assertSame(2"},
		{"php renamed", "tests/CalcTest.php", php, "testAdd", "checkAdd"},
		{"php private", "tests/CalcTest.php", php, "public function testAdd", "private function testAdd"},
		{"cc disabled", "calc_test.cc", cc, "TEST(Calc, Adds)", "TEST(Calc, DISABLED_Adds)"},
		{"cc skip", "calc_test.cc", cc, "EXPECT_EQ(add", "GTEST_SKIP();\nEXPECT_EQ(add"},
		{"cc if 0", "calc_test.cc", cc,
			"TEST(Calc, Adds) {\n  EXPECT_EQ(add(1), 2);\n}",
			"#if 0\nTEST(Calc, Adds) {\n  EXPECT_EQ(add(1), 2);\n}\n#endif"},
		{"cc return", "calc_test.cc", cc, "EXPECT_EQ(add", "return;\nEXPECT_EQ(add"},
		{"bats skip", "test/a.bats", bats, "  run add", "  skip\n  run add"},
		{"bats removed", "test/a.bats", bats, "@test \"adds\"", "adds()"},
		{"bats return", "test/a.bats", bats, "  run add", "  return 0\n  run add"},
		{"kt ignore", "src/test/kotlin/ATest.kt", kt, "@Test\n    fun adds", "@Ignore @Test\n    fun adds"},
		{"kt private", "src/test/kotlin/ATest.kt", kt, "fun adds", "private fun adds"},
		{"kt mark", "src/test/kotlin/ATest.kt", kt, "    @Test\n    fun adds", "    fun adds"},
		{"scala ignore", "src/test/scala/CalcSpec.scala", sc,
			"in {\n    assert(add", "ignore {\n    assert(add"},
		{"scala pending", "src/test/scala/CalcSpec.scala", sc, "assert(add(1) == 2)", "pending"},
		{"scala removed", "src/test/scala/CalcSpec.scala", sc,
			"  it should \"sub\" in {\n    assert(sub(1) == 0)\n  }\n", ""},
		{"spock ignore", "src/test/groovy/CalcSpec.groovy", sp,
			"  def \"adds\"", "  @Ignore\n  def \"adds\""},
		{"spock removed", "src/test/groovy/CalcSpec.groovy", sp,
			"  def \"adds\"() {\n    expect:\n    add(1) == 2\n  }\n", ""},
		{"spock assertion", "src/test/groovy/CalcSpec.groovy", sp, "    add(1) == 2\n", "    add(1)\n"},
	} {
		after := strings.Replace(c.src, c.old, c.new, 1)
		if after == c.src {
			t.Fatalf("%s: %q is not in the source", c.why, c.old)
		}
		if rep := Judge(Input{Files: []File{file(c.path, c.src, after)}}); len(rep.Findings) == 0 {
			t.Errorf("%s: nothing is found; open: %v, notes: %v", c.why, rep.Open, rep.Notes)
		}
	}
}

// A value that is equal to everything passes every assertion of equality.
func TestEqualToEverything(t *testing.T) {
	for _, c := range []struct {
		path, text string
		want       []Rule
	}{
		{"calc.py", "class Sum(int):\n    def __eq__(self, other):\n        \"\"\"Equal.\"\"\"\n        return True\n",
			is(Escape)},
		{"calc.py", "class Sum(int):\n    __eq__ = lambda self, other: True\n", is(Escape)},
		{"calc.py", "class Sum(int):\n    def __ne__(self, other) -> bool: return False\n", is(Escape)},
		{"calc.py", "class Sum(int):\n    def __eq__(self, other):\n        return self.n == other.n\n", nil},
		{"calc.py", "class Sum(int):\n    def __eq__(self, other):\n        return True if self.n else False\n", nil},
		{"calc.go", "package calc\n\nfunc (s Sum) Equal(o Sum) bool { return true }\n", is(Escape)},
		{"calc.go", "package calc\n\nfunc (s Sum) Equal(o Sum) bool { return s.n == o.n }\n", nil},
		{"calc.go", "package calc\n\nvar ok = a.Equal(b) && true\n", nil},
		{"src/lib.rs", "impl PartialEq for Sum {\n    fn eq(&self, _: &Self) -> bool {\n        true\n    }\n}\n",
			is(Escape)},
		{"src/main/java/Sum.java", "class Sum {\n  public boolean equals(Object o) { return true; }\n}\n", is(Escape)},
		{"src/main/java/Sum.java", "class Sum {\n  public boolean equals(Object o) { return o instanceof Sum; }\n}\n", nil},
		{"src/main/kotlin/Sum.kt", "class Sum {\n  override fun equals(other: Any?) = true\n}\n", is(Escape)},
		{"src/sum.js", "class Sum {\n  asymmetricMatch(o) { return true; }\n}\n", is(Escape)},
		{"tests/helpers.py", "class Any:\n    def __eq__(self, other):\n        return True\n", nil},
	} {
		if rep := Judge(Input{Files: []File{file(c.path, "", c.text)}}); !slices.Equal(rulesOf(rep.Findings), c.want) {
			t.Errorf("%s: %v, want %v", c.text, rep.Findings, c.want)
		}
	}
}

// A similar change that leaves no test out is not found.
func TestStillRun(t *testing.T) {
	gos := "package a\n\nfunc TestA(t *testing.T) {\n\tgot, err := f()\n\tif got != 1 {\n\t\tt.Fatal(got)\n\t}\n}\n"
	py := "class TestCalc(Base):\n    def test_add(self):\n        assert add(1, 2) == 3\n"
	java := "class ATest extends Base {\n    @Test\n    void adds() {\n        assertEquals(2, f());\n    }\n}\n"
	base := "class Base {\n    @Test\n    void inherited() {\n        assertEquals(2, g());\n    }\n}\n"
	js := "describe('calc', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n"
	override := func(text string) string { return replace(java, "    @Test\n", "    @Override\n"+text+"\n    @Test\n") }
	lookup := map[string]string{"src/test/Base.java": base, "helper_test.go": "package a\n\nimport \"testing\"\n\n" +
		"func needsNetwork(t *testing.T) {\n\tt.Helper()\n\tt.Skip(\"no network\")\n}\n\nfunc start(t *testing.T) {\n" +
		"\tt.Helper()\n}\n"}
	paths := []string{"src/test/Base.java", "helper_test.go"}
	check(t, []row{
		edit("go: it fails before it returns", "a_test.go", gos, "\tif got",
			"\tif err != nil {\n\t\tt.Error(err)\n\t\treturn\n\t}\n\tif got"),
		edit("go: it returns at its end", "a_test.go", gos, "\t}\n}\n", "\t}\n\tif err == nil {\n\t\treturn\n\t}\n}\n"),
		{why: "go: a helper of another file skips", path: "a_test.go", before: gos, lookup: lookup, paths: paths,
			after: replace(gos, "\tgot,", "\tneedsNetwork(t)\n\tgot,"), want: is(Skipped)},
		{why: "go: a helper of another file skips nothing", path: "a_test.go", before: gos, lookup: lookup, paths: paths,
			after: replace(gos, "\tgot,", "\tstart(t)\n\tgot,")},
		edit("python: a coroutine that waits", "test_a.py", py, "    def test_add(self):\n        assert add",
			"    async def test_add(self):\n        assert await add"),
		edit("python: a set-up that skips nothing", "test_a.py", py, "    def test_add",
			"    def setUp(self):\n        self.x = 1\n\n    def test_add"),
		{why: "java: a class that others are made from", path: "src/test/ATest.java", before: java,
			after: replace(java, "class ATest", "abstract class ATest"),
			more:  []File{file("src/test/BTest.java", "-", "class BTest extends ATest {\n}\n")}},
		{why: "java: an override hides an inherited test", path: "src/test/ATest.java", before: java, lookup: lookup,
			paths: paths, after: override("    void inherited() {}\n"), want: is(Skipped)},
		{why: "java: a disabled override hides it", path: "src/test/ATest.java", before: java, lookup: lookup,
			paths: paths, after: override("    @Test @Disabled\n    void inherited() { super.inherited(); }\n"),
			want: is(Skipped)},
		{why: "java: an override of what is no test", path: "src/test/ATest.java", before: java, lookup: lookup,
			paths: paths, after: override("    void close() {}\n")},
		{why: "java: an override that tests", path: "src/test/ATest.java", before: java, lookup: lookup,
			paths: paths, after: override("    @Test\n    void inherited() { assertEquals(3, g()); }\n")},
		{why: "js: a suite that came new under a condition", path: "a.test.js", before: js,
			after: js + "if (process.env.FULL) {\n  describe('full', () => {\n" +
				"    it('all', () => { expect(all()).toBe(1); });\n  });\n}\n"},
		{why: "js: a function that is called makes tests", path: "a.test.js", before: js,
			after: "const both = () => {\n" + js + "};\nboth();\n"},
		edit("js: an error is handed on", "a.test.js", js, "    expect(", "    if (x) return done(x);\n    expect("),
	})
	node := "test('adds', (t, done) => {\n  t.plan(1);\n  t.assert.strictEqual(add(1, 2), 3);\n  done();\n});\n"
	made := "macro_rules! buf_tests {\n    ($f:ident) => {\n        #[test]\n        fn $f() {\n" +
		"            assert_eq!(f(), 1);\n" +
		"        }\n    };\n}\nbuf_tests!(a);\n"
	cargo := "[package]\nname = \"a\"\n\n[[example]]\nname = \"x\"\n"
	check(t, []row{
		edit("js: an assertion of the context goes", "a.test.js", node, "  t.assert.strictEqual(add(1, 2), 3);\n", "",
			Assertions),
		edit("js: a return in front of it", "a.test.js", node, "  t.plan", "  if (true) return;\n  t.plan", Assertions),
		edit("rust: what a macro makes is ignored", "tests/a.rs", made, "#[test]", "#[test]\n        #[ignore]", Skipped),
		{why: "rust: an example needs a feature", commands: []string{"cargo test"}, path: "Cargo.toml", before: cargo,
			after: cargo + "required-features = [\"x\"]\n"},
		{why: "rust: a test needs a feature", commands: []string{"cargo test"}, path: "Cargo.toml",
			before: replace(cargo, "example", "test"), after: replace(cargo, "example", "test") +
				"required-features = [\"x\"]\n",
			want: is(Config)},
	})
	types := "test('types', () => {\n  const a: Schema<number> = {type: 'number'};\n" +
		"  const b: Schema<string> = {type: 'string'};\n" +
		"  void [a, b];\n});\ntest('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n"
	imports := "def test_import():\n    import calc.extra\n    from calc import add, sub, mul\n\ndef test_add():\n" +
		"    assert add(1, 2) == 3\n"
	check(t, []row{
		{why: "js: a test of types goes", path: "a.test.ts", before: types, after: after(types, "test('adds'"),
			want: is(Removed)},
		edit("js: a test of types returns at once", "a.test.ts", types, "  const a", "  if (true) return;\n  const a",
			Assertions),
		{why: "python: a test of imports goes", path: "test_a.py", before: imports, after: after(imports, "def test_add"),
			want: is(Removed)},
		edit("python: a test of imports returns at once", "test_a.py", imports, "    import calc",
			"    if not 0: return\n    import calc", Assertions),
	})
	gated := file("tests/b.rs", "#[test]\nfn a() {\n    assert_eq!(f(), 1);\n}\n",
		"#[test]\n#[cfg(feature = \"x\")]\nfn a() {\n    assert_eq!(f(), 1);\n}\n")
	code := file("src/lib.rs", "pub fn f() -> i32 { 1 }\n", "#[cfg(feature = \"x\")]\npub fn f() -> i32 { 1 }\n")
	if rep := Judge(Input{Files: []File{gated, code}}); len(rep.Findings) > 0 || len(rep.Open) != 1 {
		t.Errorf("a test under the feature of its code: findings %v, open %v", rep.Findings, rep.Open)
	}
	if rep := Judge(Input{Files: []File{gated}}); len(rep.Findings) == 0 {
		t.Error("a test under a feature alone is not found")
	}
	browser := Judge(Input{Files: []File{file("tests/a.rs", made, "#![cfg(not(target_arch = \"wasm32\"))]\n"+made)}})
	if len(browser.Findings) > 0 {
		t.Errorf("tests that a browser does not run: %v", browser.Findings)
	}
	rep := Judge(Input{Files: []File{file("a.test.js", js, replace(js, "    expect(",
		"    if (process.platform === 'win32') return;\n    expect("))}})
	if len(rep.Findings) > 0 || len(rep.Open) != 1 {
		t.Errorf("a return on another system: findings %v, open %v", rep.Findings, rep.Open)
	}
}
