package weaken

import "testing"

const pyTwo = `import pytest
from calc import add, div


def test_add():
    assert add(1, 2) == 3
    assert add(-1, 1) == 0


def test_div():
    with pytest.raises(ZeroDivisionError):
        div(1, 0)
`

const pyParam = `import pytest
from calc import add


@pytest.mark.parametrize("a,b,want", [
    (1, 2, 3),
    (0, 0, 0),
    (-1, 1, 0),
])
def test_add(a, b, want):
    assert add(a, b) == want
`

const pyUnit = `import unittest
from calc import add


class AddTest(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)
        self.assertTrue(add(0, 1))

    def test_zero(self):
        self.assertEqual(add(0, 0), 0)
`

func TestPythonWeakened(t *testing.T) {
	check(t, []row{
		{why: "py: a test is deleted", path: "tests/test_calc.py", before: pyTwo, after: cut(pyTwo, "def test_div", ""),
			want: is(Removed)},
		{why: "py: the file is deleted", path: "tests/test_calc.py", before: pyTwo, after: "-", want: is(Removed)},
		{why: "py: the file gets a name that is not collected", path: "tests/test_calc.py", before: pyTwo, after: "-",
			more: []File{file("tests/calc_tests.py", "-", pyTwo)}, want: is(Removed)},
		edit("py: skip mark", "tests/test_calc.py", pyTwo, "def test_div",
			"@pytest.mark.skip(reason=\"later\")\ndef test_div", Skipped),
		edit("py: skipif mark", "tests/test_calc.py", pyTwo, "def test_div",
			"@pytest.mark.skipif(True, reason=\"x\")\ndef test_div", Skipped),
		edit("py: xfail mark", "tests/test_calc.py", pyTwo, "def test_div", "@pytest.mark.xfail\ndef test_div", Skipped),
		{why: "py: a mark under another name", path: "tests/test_calc.py", before: pyTwo,
			after: replace(replace(pyTwo, "def test_div", "@slow\ndef test_div"), "from calc import add, div\n",
				"from calc import add, div\n\nslow = pytest.mark.skip(reason=\"slow\")\n"), want: is(Skipped)},
		{why: "py: an import under another name", path: "tests/test_calc.py", before: pyUnit,
			after: replace(replace(pyUnit, "import unittest\n", "import unittest\nfrom unittest import skip as todo\n"),
				"    def test_zero", "    @todo(\"x\")\n    def test_zero"), want: is(Skipped)},
		edit("py: pytest.skip in the body", "tests/test_calc.py", pyTwo, "def test_div():\n",
			"def test_div():\n    pytest.skip(\"later\")\n", Skipped),
		edit("py: pytestmark", "tests/test_calc.py", pyTwo, "from calc import add, div\n",
			"from calc import add, div\n\npytestmark = pytest.mark.skip\n", Skipped),
		edit("py: skip at module level", "tests/test_calc.py", pyTwo, "from calc import add, div\n",
			"from calc import add, div\n\npytest.skip(allow_module_level=True)\n", Skipped),
		edit("py: importorskip", "tests/test_calc.py", pyTwo, "from calc import add, div\n",
			"calc = pytest.importorskip(\"calc\")\nadd, div = calc.add, calc.div\n", Skipped),
		edit("py: __test__ = False", "tests/test_calc.py", pyUnit, "class AddTest(unittest.TestCase):\n",
			"class AddTest(unittest.TestCase):\n    __test__ = False\n\n", Skipped),
		edit("py: unittest.skip on the class", "tests/test_calc.py", pyUnit, "class AddTest",
			"@unittest.skip(\"x\")\nclass AddTest", Skipped),
		edit("py: expectedFailure", "tests/test_calc.py", pyUnit, "    def test_zero",
			"    @unittest.expectedFailure\n    def test_zero", Skipped),
		edit("py: skipTest", "tests/test_calc.py", pyUnit, "def test_zero(self):\n",
			"def test_zero(self):\n        self.skipTest(\"x\")\n", Skipped),
		edit("py: raise SkipTest", "tests/test_calc.py", pyUnit, "def test_zero(self):\n",
			"def test_zero(self):\n        raise unittest.SkipTest(\"x\")\n", Skipped, Assertions),
		edit("py: the class loses its base", "tests/test_calc.py", pyUnit, "class AddTest(unittest.TestCase)",
			"class AddChecks", Removed),
		edit("py: an assertion goes", "tests/test_calc.py", pyTwo, "    assert add(-1, 1) == 0\n", "", Assertions),
		edit("py: assert True", "tests/test_calc.py", pyTwo, "assert add(-1, 1) == 0", "assert True", Assertions),
		edit("py: or True", "tests/test_calc.py", pyTwo, "assert add(-1, 1) == 0", "assert add(-1, 1) == 0 or True",
			Assertions),
		edit("py: a tuple is always true", "tests/test_calc.py", pyTwo, "assert add(-1, 1) == 0",
			"assert (add(-1, 1) == 0, \"zero\")", Assertions),
		edit("py: compared with itself", "tests/test_calc.py", pyUnit, "self.assertEqual(add(0, 0), 0)",
			"self.assertEqual(add(0, 0), add(0, 0))", Assertions),
		edit("py: the assertion is in a comment", "tests/test_calc.py", pyTwo, "    assert add(-1, 1) == 0",
			"    # assert add(-1, 1) == 0", Assertions),
		edit("py: the assertion is in a docstring", "tests/test_calc.py", pyTwo, "    assert add(-1, 1) == 0",
			"    \"\"\"\n    assert add(-1, 1) == 0\n    \"\"\"", Assertions),
		edit("py: return first", "tests/test_calc.py", pyTwo, "def test_add():\n", "def test_add():\n    return\n",
			Assertions),
		edit("py: if False", "tests/test_calc.py", pyTwo, "    assert add(-1, 1) == 0",
			"    if False:\n        assert add(-1, 1) == 0", Assertions),
		edit("py: swallowed by a handler", "tests/test_calc.py", pyTwo,
			"    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n",
			"    try:\n        assert add(1, 2) == 3\n        assert add(-1, 1) == 0\n    except Exception:\n        pass\n",
			Assertions),
		edit("py: swallowed by suppress", "tests/test_calc.py", pyTwo, "    assert add(-1, 1) == 0\n",
			"    with contextlib.suppress(AssertionError):\n        assert add(-1, 1) == 0\n", Assertions),
		edit("py: cases go", "tests/test_calc.py", pyParam, "    (-1, 1, 0),\n", "", Cases),
		edit("py: a case is marked xfail", "tests/test_calc.py", pyParam, "    (-1, 1, 0),\n",
			"    pytest.param(-1, 1, 0, marks=pytest.mark.xfail),\n", Skipped),
		{why: "py: a second definition replaces the first", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\ndef test_add():\n    pass\n", want: is(Assertions)},
		{why: "py: the test is deleted at run time", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\ndel test_div\n", want: is(Removed)},
		edit("py: the test is made a fixture", "tests/test_calc.py", pyTwo, "def test_div", "@pytest.fixture\ndef test_div",
			Removed),
		{why: "py: a module that exits", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\nimport os\nos._exit(0)\n", want: is(Escape)},
		{why: "py: conftest ignores a file", path: "tests/conftest.py", before: "-",
			after: "collect_ignore = [\"test_calc.py\"]\n", want: is(Escape)},
		{why: "py: conftest takes tests out", path: "conftest.py", before: "import pytest\n",
			after: "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n", want: is(Escape)},
		{why: "py: a hook of conftest changes", path: "conftest.py",
			before: "def pytest_runtest_setup(item):\n    log(item)\n",
			after:  "def pytest_runtest_setup(item):\n    pytest.skip()\n", want: is(Escape, Skipped)},
		{why: "py: an assertion helper is emptied", path: "tests/helpers.py",
			before: "def assert_user(u):\n    assert u.name\n    assert u.mail\n",
			after:  "def assert_user(u):\n    return True\n", want: is(Assertions)},
		edit("py: assertEqual is overridden", "tests/test_calc.py", pyUnit, "    def test_small",
			"    def assertEqual(self, a, b):\n        pass\n\n    def test_small", Assertions),
	})
}

func TestPythonHonest(t *testing.T) {
	check(t, []row{
		{why: "py: a new test", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"},
		{why: "py: a new test that is skipped somewhere", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\n@pytest.mark.skipif(sys.platform == \"win32\", reason=\"posix\")\ndef test_fork():\n" +
				"    assert fork() == 0\n"},
		edit("py: renamed", "tests/test_calc.py", pyTwo, "test_div", "test_divide_by_zero"),
		{why: "py: moved", path: "tests/test_calc.py", before: pyTwo, after: "-",
			more: []File{file("tests/unit/test_arith.py", "-", pyTwo)}},
		{why: "py: the tested module is renamed", path: "tests/test_calc.py", before: pyTwo,
			after: replace(replace(pyTwo, "from calc import", "from arith import"), "div(1, 0)", "quotient(1, 0)")},
		{why: "py: functions become a class", path: "tests/test_calc.py", before: pyTwo,
			after: "import pytest\nfrom calc import add, div\n\n\nclass TestCalc:\n    def test_add(self):\n" +
				"        assert add(1, 2) == 3\n        assert add(-1, 1) == 0\n\n    def test_div(self):\n" +
				"        with pytest.raises(ZeroDivisionError):\n            div(1, 0)\n"},
		{why: "py: unittest becomes pytest", path: "tests/test_calc.py", before: pyUnit,
			after: "from calc import add\n\n\ndef test_small():\n    assert add(1, 2) == 3\n    assert add(0, 1)\n\n\n" +
				"def test_zero():\n    assert add(0, 0) == 0\n"},
		edit("py: assertions become parameters", "tests/test_calc.py", pyTwo,
			"def test_add():\n    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n",
			"@pytest.mark.parametrize(\"a,b,want\", [(1, 2, 3), (-1, 1, 0)])\ndef test_add(a, b, want):\n"+
				"    assert add(a, b) == want\n"),
		{why: "py: the parameters get a name", path: "tests/test_calc.py", before: pyParam,
			after: "import pytest\nfrom calc import add\n\nCASES = [\n    (1, 2, 3),\n    (0, 0, 0),\n    (-1, 1, 0),\n]\n\n" +
				"\n@pytest.mark.parametrize(\"a,b,want\", CASES)\ndef test_add(a, b, want):\n    assert add(a, b) == want\n"},
		{why: "py: parameters become tests", path: "tests/test_calc.py", before: pyParam,
			after: "from calc import add\n\n\ndef test_add_small():\n    a, b, want = 1, 2, 3\n" +
				"    assert add(a, b) == want\n\n\ndef test_add_zero():\n    a, b, want = 0, 0, 0\n" +
				"    assert add(a, b) == want\n\n\ndef test_add_negative():\n    a, b, want = -1, 1, 0\n" +
				"    assert add(a, b) == want\n"},
		edit("py: split in two", "tests/test_calc.py", pyTwo, "    assert add(-1, 1) == 0\n",
			"\n\ndef test_add_negative():\n    assert add(-1, 1) == 0\n"),
		edit("py: a word that begins like a mark", "tests/test_calc.py", pyTwo, "def test_div",
			"@pytest.mark.skipper_fleet\ndef test_div"),
		edit("py: a keyword called skip", "tests/test_calc.py", pyTwo, "add(1, 2) == 3", "add(1, 2, skip=0) == 3"),
		edit("py: a string that says skip", "tests/test_calc.py", pyTwo, "def test_add():\n",
			"def test_add():\n    \"\"\"pytest.skip('no')\"\"\"\n"),
		edit("py: an error that is expected", "tests/test_calc.py", pyTwo, "    assert add(1, 2) == 3\n",
			"    assert add(1, 2) == 3\n    try:\n        add(None, 1)\n        assert False\n    except TypeError:\n"+
				"        pass\n"),
		{why: "py: conftest gets a fixture", path: "tests/conftest.py", before: "import pytest\n",
			after: "import pytest\n\n\n@pytest.fixture\ndef db():\n    yield connect()\n"},
		edit("py: comments and layout", "tests/test_calc.py", pyTwo, "assert add(1, 2) == 3",
			"assert (\n        add(1, 2)\n        == 3\n    )  # a sum"),
		{why: "py: production code asserts less", path: "calc.py", before: "def add(a, b):\n    assert a\n    return a\n",
			after: "def add(a, b):\n    return a + b\n"},
		{why: "py: a mark goes", path: "tests/test_calc.py", before: replace(pyTwo, "def test_div",
			"@pytest.mark.xfail\ndef test_div"), after: pyTwo},
		{why: "py: a script that exits when it is run", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\nif __name__ == \"__main__\":\n    import sys\n    sys.exit(pytest.main())\n"},
		{why: "py: a function that is no helper of tests", path: "tests/typing/example.py",
			before: "def resolve(cmd):\n    assert cmd is not None\n    return cmd\n",
			after:  "def resolve(cmd):\n    return cmd or default()\n"},
		edit("py: a parser that skips", "tests/test_calc.py", pyTwo, "add(1, 2)", "add(parser.skip(1), 2)"),
		edit("py: a loop over literals", "tests/test_calc.py", pyTwo,
			"    assert add(1, 2) == 3\n    assert add(-1, 1) == 0\n",
			"    for a, b, want in [(1, 2, 3), (-1, 1, 0)]:\n        assert add(a, b) == want\n"),
	})
}
