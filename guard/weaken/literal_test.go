package weaken

import "testing"

// An assertion of literals proves nothing, with or without a message.
func TestLiteralsAssertNothing(t *testing.T) {
	py := "import unittest\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n\n\n" +
		"class T(unittest.TestCase):\n    def test_sub(self):\n        self.assertEqual(sub(3, 1), 2)\n" +
		"        self.assertTrue(ok(1))\n"
	java := "import org.junit.jupiter.api.Test;\n\nclass CalcTest {\n  @Test\n  void adds() {\n" +
		"    assertEquals(3, Calc.add(1, 2));\n" +
		"    assertTrue(Calc.ok());\n  }\n}\n"
	rs := "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n    assert!(ok());\n}\n"
	golang := "package calc\n\nimport (\n\t\"testing\"\n\n\t\"github.com/stretchr/testify/assert\"\n)\n\n" +
		"func TestAdd(t *testing.T) {\n\tassert.Equal(t, 3, Add(1, 2))\n\tassert.True(t, Valid())\n}\n"
	rb := "class T < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n    assert ok\n  end\nend\n"
	php := "<?php\nclass T extends TestCase {\n  public function testAdd() {\n    $this->assertEquals(3, add(1, 2));\n" +
		"    $this->assertTrue(ok());\n  }\n}\n"
	var rows []row
	for _, x := range []struct {
		path, src, old string
		made           []string
	}{
		{"test_a.py", py, "assert add(-1, 1) == 0", []string{`assert 1 == 1, "adds"`, `assert 0 == 0`,
			`assert True, "m"`,
			`assert "a", "m"`, `assert (1 == 1), "m"`, `assert 1 + 1 == 2, "m"`, `assert "a" in "abc", "m"`,
			`assert not False, "m"`}},
		{"test_a.py", py, "self.assertTrue(ok(1))", []string{`self.assertTrue(True, "m")`,
			`self.assertEqual(1, 1, "m")`,
			`self.assertEqual(1, 1, msg="m")`, `self.assertIn(1, [1], "m")`, `self.assertIsNone(None, "m")`,
			`self.assertTrue(1 == 1, "m")`, `self.assertNotEqual(1, 2)`, `self.assertFalse(False)`}},
		{"a.test.js", jsTwo, "expect(add(-1, 1)).toBe(0)", []string{`expect(1).toBe(1)`, `expect(1, "m").toBe(1)`,
			`expect(1).toEqual(1)`, `expect("a").toBeTruthy()`, `assert.equal(1, 1, "m")`, `assert(true, "m")`,
			`assert.ok(1 === 1, "m")`, `expect([1]).toEqual([1])`, `expect(1 + 1).toBe(2)`,
			`expect(null).toBeNull()`}},
		{"src/test/java/CalcTest.java", java, "assertTrue(Calc.ok())", []string{`assertEquals(1, 1, "m")`,
			`assertTrue(true, "m")`,
			`assertEquals("m", 1, 1)`, `assertNotNull("x")`, `assertTrue(1 == 1)`, `assertEquals(2, 1 + 1)`,
			`assertNull(null)`}},
		{"src/lib.rs", rs, "assert!(ok())", []string{`assert_eq!(1, 1, "m")`, `assert!(true, "m")`, `assert!(1 == 1)`,
			`assert_ne!(1, 2)`, `assert_eq!(1, 1, "m {}", 2)`}},
		{"calc_test.go", golang, "assert.True(t, Valid())", []string{`assert.Equal(t, 1, 1, "m")`,
			`assert.True(t, true, "m")`,
			`assert.Equalf(t, 1, 1, "m %d", 1)`, `assert.NotNil(t, "x")`, `assert.True(t, 1 == 1)`,
			`assert.Nil(t, nil)`}},
		{"test_a.rb", rb, "assert ok", []string{`assert_equal 1, 1, "m"`, `assert true, "m"`, `assert 1 == 1, "m"`,
			`assert_equal(1, 1)`, `refute false`, `assert_nil nil`}},
		{"tests/TTest.php", php, "$this->assertTrue(ok())", []string{`$this->assertEquals(1, 1, "m")`,
			`$this->assertTrue(true, "m")`, `$this->assertSame(1, 1)`, `$this->assertTrue(1 === 1)`,
			`$this->assertNull(null)`}},
	} {
		for _, m := range x.made {
			rows = append(rows, edit(x.path+": "+m, x.path, x.src, x.old, m, Assertions))
		}
	}
	check(t, rows)
}
