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
