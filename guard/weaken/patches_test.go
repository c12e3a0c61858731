package weaken

import "testing"

func TestPatchesRunner(t *testing.T) {
	old := "def add(a, b):\n    return a + b\n"
	for _, c := range []struct {
		why, path, code string
		found           bool
	}{
		{"an assertion replaced by code", "calc.py",
			"import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n", true},
		{"by a new test", "test_aaa.py", "from unittest import TestCase\nTestCase.assertTrue = print\n", true},
		{"inside of a function", "calc.py", "def f():\n    import unittest\n    unittest.TestCase.run = None\n", true},
		{"by setattr", "calc.py", "import unittest\nsetattr(unittest.TestCase, 'fail', print)\n", true},
		{"by a mock", "calc.py", "import unittest\nfrom unittest import mock\n" +
			"mock.patch.object(unittest.TestCase, \"assertEqual\").start()\n", true},
		{"by a mock of a name", "test_aaa.py",
			"from unittest import mock\nmock.patch('unittest.TestCase.assertEqual', print).start()\n", true},
		{"a mock of something else", "test_aaa.py", "from unittest import mock\nmock.patch('calc.run', print).start()\n",
			false},
		{"a setting of the class", "test_aaa.py", "import unittest\nunittest.TestCase.maxDiff = None\n", false},
		{"a method of a class of its own", "test_aaa.py",
			"import unittest\nclass T(unittest.TestCase):\n    def assertSmall(self, x):\n        self.assertLess(x, 3)\n",
			false},
		{"a comparison", "calc.py", "import unittest\nok = unittest.TestCase.run == f\n", false},
		{"a result that counts no failure", "calc.py",
			"import unittest.result as r\nr.TestResult.addFailure = lambda *a: None\n", true},
		{"another class", "calc.py", "Server.run = wrap(Server.run)\n", false},
	} {
		report := Judge(Input{Files: []File{{Path: c.path, Before: []byte(old), After: []byte(old + c.code)}},
			Commands: []string{"python3 -m unittest"}})
		if found := len(report.Findings)+len(report.Open) > 0; found != c.found {
			t.Errorf("%s: %v", c.why, append(report.Findings, report.Open...))
		}
		report = Judge(Input{Files: []File{{Path: c.path, After: []byte(c.code)}}, Commands: []string{"python3 -m unittest"}})
		if found := len(report.Findings)+len(report.Open) > 0; found != c.found {
			t.Errorf("%s, in a new file: %v", c.why, append(report.Findings, report.Open...))
		}
	}
}

// TestPatchesAssertions: JavaScript can replace the assertions of a library for all who load it.
func TestPatchesAssertions(t *testing.T) {
	old := "exports.add = (a, b) => a + b\n"
	for _, c := range []struct {
		why, path, code string
		found           bool
	}{
		{"by code", "calc.js", "require('assert').strictEqual = () => {}\n", true},
		{"of a module with a scheme", "calc.mjs",
			"import assert from 'node:assert'\nassert.deepEqual = function () {}\n", true},
		{"by a helper of the tests", "setup.js", "const a = require('node:assert').strict; a\nassert.equal = x => x\n", true},
		{"by a mock", "calc.test.js", "const { mock } = require('node:test')\nmock.method(assert, 'strictEqual', () => {})\n",
			true},
		{"by its properties", "calc.js", "Object.defineProperty(assert, 'ok', { value: () => {} })\n", true},
		{"of chai", "setup.js", "chai.Assertion.prototype.assert = function () {}\n", true},
		{"another name for one", "calc.test.js", "assert.deepEqual = assert.deepStrictEqual\n", false},
		{"one of its own", "setup.js", "assert.sameColour = (a, b) => assert.equal(a.rgb, b.rgb)\n", false},
		{"a setting of the library", "setup.js", "chai.config.deepEqual = (a, b) => a === b\n", false},
		{"a property of something else", "calc.js", "router.match = (x) => x\nexports.ok = () => true\n", false},
		{"a call", "calc.test.js", "assert.strictEqual(a, 'equal')\nassert.equal(assert, 'ok' + x)\n", true},
	} {
		report := Judge(Input{Files: []File{{Path: c.path, Before: []byte(old), After: []byte(old + c.code)}},
			Commands: []string{"npm test"}})
		if found := len(report.Findings)+len(report.Open) > 0; found != c.found {
			t.Errorf("%s: %v", c.why, append(report.Findings, report.Open...))
		}
	}
}

// TestDisarms: code that turns assertions off or replaces them, in each language.
func TestDisarms(t *testing.T) {
	for _, c := range []struct {
		why, path, code string
		found           bool
	}{
		{"C: assert as nothing", "src/calc.h", "#include <assert.h>\n#undef assert\n#define assert(x) ((void)0)\n", true},
		{"C: assert that says something", "src/calc.h", "#define assert(x) puts(#x)\n", true},
		{"C++: an assertion of GoogleTest", "src/calc.hpp", "#define EXPECT_EQ(a, b) \\\n  (void)(a); (void)(b)\n", true},
		{"C: no assertions at all", "calc.c", "#define NDEBUG\n#include <assert.h>\n", true},
		{"C: an assertion of its own", "test/check.h",
			"#define ASSERT_EQ(a, b) \\\n  do { if ((a) != (b)) { abort(); } } while (0)\n", false},
		{"C: a macro", "src/calc.h", "#define ADD(a, b) ((a) + (b))\n", false},
		{"C: a constant that is named like one", "src/calc.c", "#define Check_FLT_ROUNDS 1\n#define CHECK_ALL (1)\n", false},
		{"C: asks for NDEBUG", "src/calc.h", "#ifndef NDEBUG\nint debug;\n#endif\n", false},
		{"Rust: a macro of the same name", "src/lib.rs", "macro_rules! assert_eq { ($($t:tt)*) => {} }\n", true},
		{"Rust: a macro of its own", "src/lib.rs", "macro_rules! assert_sum { ($a:expr) => { assert!($a) } }\n", false},
		{"Rust: a hook that ends it", "src/lib.rs",
			"pub fn f() { std::panic::set_hook(Box::new(|_| std::process::exit(0))); }\n", true},
		{"PHP: assert is off", "src/Calc.php", "<?php\nini_set('zend.assertions', 0);\n", true},
		{"PHP: in the older way", "src/Calc.php", "<?php\nassert_options(ASSERT_ACTIVE, 0);\n", true},
		{"PHP: a hook that ends it", "src/Calc.php", "<?php\nregister_shutdown_function(function () { exit(0); });\n", true},
		{"PHP: another setting", "src/Calc.php", "<?php\nini_set('memory_limit', '1G');\nassert($x > 0);\n", false},
		{"Ruby: a module is opened again", "lib/calc.rb",
			"module Minitest\n  module Assertions\n    def assert_equal(*) = true\n  end\nend\n", true},
		{"Ruby: in one line", "test/test_helper.rb", "module Minitest::Assertions\n  def assert(*); end\nend\n", true},
		{"Ruby: a class", "lib/calc.rb", "class Minitest::Test\n  def flunk(m = nil); end\nend\n", true},
		{"Ruby: from outside", "lib/calc.rb", "Minitest::Test.class_eval { define_method(:assert_equal) { |*| true } }\n",
			true},
		{"Ruby: an alias", "lib/calc.rb", "class Minitest::Test\n  alias_method :assert_equal, :puts\nend\n", true},
		{"Ruby: a hook that ends it", "lib/calc.rb", "at_exit { exit!(0) }\n", true},
		{"Ruby: one that prints", "lib/calc.rb", "at_exit { puts 'bye' }\n", false},
		{"Ruby: an assertion of its own", "test/test_helper.rb",
			"module Minitest::Assertions\n  def assert_sum(a, b) = assert_equal(a, b)\nend\n", false},
		{"Ruby: a test", "test/calc_test.rb",
			"class CalcTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n", false},
		{"Python: by another name", "calc.py", "from unittest import TestCase as T\nT.assertEqual = print\n", true},
		{"Python: pytest's", "calc.py", "import pytest\npytest.fail = print\n", true},
		{"Python: inside of pytest", "calc.py", "import _pytest.runner\n_pytest.runner.call_runtest_hook = print\n", true},
		{"Python: by setattr", "calc.py", "import pytest\nsetattr(pytest, 'raises', f)\n", true},
		{"Python: numpy's", "calc.py", "import numpy.testing as npt\nnpt.assert_allclose = print\n", true},
		{"Python: an attribute", "calc.py", "self.assertions = []\nserver.assert_ready = True\n", false},
		{"JavaScript: a name of nothing", "calc.js", "const assert = require('assert')\nassert.equal = noop\n", true},
		{"JavaScript: by another name", "calc.js", "const a = require('node:assert')\na.deepEqual = () => {}\n", true},
		{"JavaScript: in brackets", "calc.js", "require('assert')['strictEqual'] = f\nassert['ok'] = f\n", true},
		{"JavaScript: by assign", "calc.js", "Object.assign(assert, { equal() {} })\n", true},
		{"JavaScript: the library by its own name", "calc.js", "require('assert').strict.equal = () => {}\n", true},
		{"JavaScript: in TypeScript", "calc.ts", "(assert as any).equal = () => {}\n", true},
		{"JavaScript: an end under test, deeper", "calc.js",
			"if (process.env.JEST_WORKER_ID !== undefined) { f({ a: {} }); if (x) { process.exit(0); } }\n", true},
		{"JavaScript: an end behind what is under test", "calc.js",
			"if (process.env.VITEST) { f({ a: {} }); }\nmodule.exports = () => { process.exit(2); };\n", false},
		{"JavaScript: a global", "calc.js", "globalThis.expect = () => new Proxy({}, h)\n", true},
		{"JavaScript: a matcher", "vitest.setup.ts", "expect.extend({ toBe() { return { pass: true } } })\n", true},
		{"JavaScript: a matcher of its own", "vitest.setup.ts",
			"expect.extend({ toBeSum(a, b) { return { pass: this.equals(a, b), message: () => '' } } })\n", false},
		{"JavaScript: chai for all", "test/setup.js", "global.expect = require('chai').expect\n", false},
		{"Java: a class of JUnit", "src/test/java/org/junit/Assert.java",
			"package org.junit;\npublic class Assert { static void assertEquals(Object a, Object b) {} }\n", true},
		{"Java: the library's tests", "src/test/java/org/assertj/core/api/AssertionsTest.java",
			"package org.assertj.core.api;\nclass AssertionsTest { @Test void a() { assertThat(1).isEqualTo(1); } }\n", false},
		{"C: a hook that ends it", "calc.c", "static void bye(void) { _exit(0); }\nvoid f(void) { atexit(bye); }\n", true},
		{"C: one that frees", "calc.c", "static void bye(void) { free(p); }\nint f(void) { return atexit(bye); }\n", false},
		{"C#: a hook", "Calc.cs", "AppDomain.CurrentDomain.ProcessExit += (s, e) => Environment.Exit(0);\n", true},
	} {
		report := Judge(Input{Files: []File{{Path: c.path, After: []byte(c.code)}}, Commands: []string{"make test"}})
		if found := len(report.Findings)+len(report.Open) > 0; found != c.found {
			t.Errorf("%s: %v", c.why, append(report.Findings, report.Open...))
		}
	}
}
