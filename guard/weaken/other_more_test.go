package weaken

import "testing"

// TestOtherLanguagesLeaveOut: what a framework or a language without a reader of its own does not
// run, or forgives.
func TestOtherLanguagesLeaveOut(t *testing.T) {
	worse := func(why, path, before, after string) row {
		return row{why: why, path: path, before: before, after: after}
	}
	rows := []row{
		worse("cs: a symbol that nobody defines", "App.Tests/CalcTests.cs",
			"public class C {\n [Fact]\n public void Adds() { Assert.Equal(3, Calc.Add(1,2)); }\n}\n",
			"#if NEVER\npublic class C {\n [Fact]\n public void Adds() { Assert.Equal(3, Calc.Add(1,2)); }\n}\n#endif\n"),
		worse("cs: Assert.True(true)", "App.Tests/CalcTests.cs",
			"public class C {\n [Fact]\n public void Adds() { Assert.Equal(3, Calc.Add(1,2)); }\n}\n",
			"public class C {\n [Fact]\n public void Adds() { Assert.True(true); }\n}\n"),
		worse("rb: behind __END__", "spec/calc_spec.rb",
			"describe Calc do\n it 'adds' do\n  expect(Calc.add(1,2)).to eq(3)\n end\nend\n",
			"__END__\ndescribe Calc do\n it 'adds' do\n  expect(Calc.add(1,2)).to eq(3)\n end\nend\n"),
		worse("rb: between =begin and =end", "spec/calc_spec.rb",
			"describe Calc do\n it 'adds' do\n  expect(Calc.add(1,2)).to eq(3)\n end\nend\n",
			"=begin\ndescribe Calc do\n it 'adds' do\n  expect(Calc.add(1,2)).to eq(3)\n end\nend\n=end\n"),
		worse("rb: rescue nil", "spec/calc_spec.rb",
			"describe Calc do\n it 'adds' do\n  expect(Calc.add(1,2)).to eq(3)\n end\nend\n",
			"describe Calc do\n it 'adds' do\n  expect(Calc.add(1,2)).to eq(3) rescue nil\n end\nend\n"),
		worse("php: the class is abstract", "tests/CalcTest.php",
			"<?php class CalcTest extends TestCase { public function testAdds() { $this->assertSame(3, add(1,2)); } }\n",
			"<?php abstract class CalcTest extends TestCase { public function testAdds() { "+
				"$this->assertSame(3, add(1,2)); } }\n"),
		worse("php: __halt_compiler", "tests/CalcTest.php",
			"<?php class CalcTest extends TestCase { public function testAdds() { $this->assertSame(3, add(1,2)); } }\n",
			"<?php __halt_compiler(); class CalcTest extends TestCase { public function testAdds() { "+
				"$this->assertSame(3, add(1,2)); } }\n"),
		worse("swift: a symbol that nobody defines", "Tests/ATests/CalcTests.swift",
			"@Test func adds() { #expect(add(1,2) == 3) }\n",
			"#if NEVER\n@Test func adds() { #expect(add(1,2) == 3) }\n#endif\n"),
		worse("swift: withKnownIssue", "Tests/ATests/CalcTests.swift",
			"@Test func adds() { #expect(add(1,2) == 3) }\n",
			"@Test func adds() { withKnownIssue { #expect(add(1,2) == 3) } }\n"),
		worse("cpp: a hidden test of Catch2", "tests/calc_test.cpp",
			"TEST_CASE(\"adds\") { REQUIRE(add(1,2) == 3); }\n",
			"TEST_CASE(\"adds\", \"[.]\") { REQUIRE(add(1,2) == 3); }\n"),
		worse("cpp: a test of Catch2 that may fail", "tests/calc_test.cpp",
			"TEST_CASE(\"adds\") { REQUIRE(add(1,2) == 3); }\n",
			"TEST_CASE(\"adds\", \"[!mayfail]\") { REQUIRE(add(1,2) == 3); }\n"),
		worse("bats: || true", "test/a.bats",
			"@test \"adds\" {\n run add 1 2\n [ \"$output\" = 3 ]\n}\n",
			"@test \"adds\" {\n run add 1 2\n [ \"$output\" = 3 ] || true\n}\n"),
		worse("perl: behind __END__", "t/calc.t",
			"use Test::More;\nis(add(1,2), 3);\ndone_testing;\n",
			"use Test::More;\ndone_testing;\n__END__\nis(add(1,2), 3);\n"),
		worse("clj: a comment form", "test/calc_test.clj",
			"(deftest adds (is (= 3 (add 1 2))))\n",
			"(comment (deftest adds (is (= 3 (add 1 2)))))\n"),
		worse("clj: a form that is not read", "test/calc_test.clj",
			"(deftest adds (is (= 3 (add 1 2))))\n",
			"#_(deftest adds (is (= 3 (add 1 2))))\n"),
		worse("kotlin: xtest", "src/test/kotlin/CalcTest.kt",
			"class C : FunSpec({ test(\"adds\") { add(1,2) shouldBe 3 } })\n",
			"class C : FunSpec({ xtest(\"adds\") { add(1,2) shouldBe 3 } })\n"),
		worse("kotlin: a name with !", "src/test/kotlin/CalcTest.kt",
			"class C : FunSpec({ test(\"adds\") { add(1,2) shouldBe 3 } })\n",
			"class C : FunSpec({ test(\"!adds\") { add(1,2) shouldBe 3 } })\n"),
		worse("kotlin: enabled = false", "src/test/kotlin/CalcTest.kt",
			"class C : FunSpec({ test(\"adds\") { add(1,2) shouldBe 3 } })\n",
			"class C : FunSpec({ test(\"adds\").config(enabled = false) { add(1,2) shouldBe 3 } })\n"),
		worse("scala: pendingUntilFixed", "src/test/scala/CalcSpec.scala",
			"class C extends AnyFunSuite { test(\"adds\") { assert(add(1,2) == 3) } }\n",
			"class C extends AnyFunSuite { test(\"adds\") { pendingUntilFixed { assert(add(1,2) == 3) } } }\n"),
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			if rep := Judge(r.input()); len(rep.Findings) == 0 {
				t.Errorf("nothing is found, noted %v", rep.Notes)
			}
		})
	}
	check(t, []row{
		{why: "cs: a symbol of the platform", path: "App.Tests/CalcTests.cs",
			before: "public class C {\n [Fact]\n public void Adds() { Assert.Equal(3, Calc.Add(1, 2)); }\n}\n",
			after: "public class C {\n#if NET8_0\n [Fact]\n public void Adds() { Assert.Equal(3, " +
				"Calc.Add(1, 2)); }\n#endif\n}\n"},
		{why: "cpp: tags of Catch2", path: "tests/calc_test.cpp",
			before: "TEST_CASE(\"adds\") { REQUIRE(add(1, 2) == 3); }\n",
			after:  "TEST_CASE(\"adds\", \"[calc]\") { REQUIRE(add(1, 2) == 3); }\n"},
		{why: "rb: rescue of its own", path: "spec/calc_spec.rb",
			before: "it 'adds' do\n  expect(add(1, 2)).to eq(3)\nend\n",
			after:  "it 'adds' do\n  begin\n    open\n  rescue IOError\n  end\n  expect(add(1, 2)).to eq(3)\nend\n"},
		{why: "php: an abstract class beside it", path: "tests/CalcTest.php",
			before: "<?php class CalcTest extends TestCase { public function testAdds() { " +
				"$this->assertSame(3, add(1, 2)); } }\n",
			after: "<?php abstract class Base {}\nclass CalcTest extends TestCase { public function testAdds() { " +
				"$this->assertSame(3, add(1, 2)); } }\n"},
		{why: "kotlin: another style", path: "src/test/kotlin/CalcTest.kt",
			before: "class C : FunSpec({ test(\"adds\") { add(1, 2) shouldBe 3 } })\n",
			after:  "class C : FunSpec({ test(\"adds\") { add(1, 2) shouldBe 3 }; test(\"subs\") { sub(3, 2) shouldBe 1 } })\n"},
	})
}
