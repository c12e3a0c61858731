package weaken

import (
	"strings"
	"testing"
)

// TestConstantConditions: a return under an always true condition counts as a
// return, in every language.
func TestConstantConditions(t *testing.T) {
	jv, rs := "src/test/java/calc/CalcTest.java", "src/lib.rs"
	var rows []row
	for _, c := range []string{"true", "1 < 2", "!false", "1 == 1", "(true)", "x == x", "0 != 1", "true || slow"} {
		for _, l := range []struct{ path, before, head string }{
			{jv, javaTwo, "void adds() {"}, {rs, rsTwo, "fn adds() {"}, {"calc.test.js", jsTwo, "adds\", () => {"},
			{"calc_test.go", goTwo, "func TestAdd(t *testing.T) {"},
		} {
			ending := " return; }"
			if strings.HasSuffix(l.path, ".go") {
				ending = " return }"
			}
			cond := " if (" + c + ") {"
			if strings.HasSuffix(l.path, ".go") || strings.HasSuffix(l.path, ".rs") {
				cond = " if " + c + " {"
			}
			if strings.HasSuffix(l.path, ".rs") && strings.HasPrefix(c, "0") {
				continue
			}
			rows = append(rows, row{why: l.path + ": " + c, path: l.path, before: l.before,
				after: replace(l.before, l.head, l.head+cond+ending), want: is(Assertions)})
		}
	}
	for _, c := range []string{"if True: return", "if not False:\n        return", "if 1 < 2: return",
		"while True:\n        return", "for _ in [1]: return", "if 'a':\n        return"} {
		rows = append(rows, row{why: "python: " + c, path: "tests/test_calc.py", before: pyTwo,
			after: replace(pyTwo, "def test_add():\n", "def test_add():\n    "+c+"\n"), want: is(Assertions)})
	}
	for _, c := range []string{"switch {\n\tdefault:\n\t\treturn\n\t}", "for {\n\t\treturn\n\t}",
		"if len(os.Args) > 3 {\n\t\treturn\n\t} else {\n\t\treturn\n\t}", "select {\n\tdefault:\n\t\treturn\n\t}",
		"for range []int{1} {\n\t\treturn\n\t}",
		"switch x := 1; x {\n\tcase 1:\n\t\tlog.Print(x)\n\t\treturn\n\tdefault:\n\t\treturn\n\t}"} {
		rows = append(rows, row{why: "go: " + c, path: "calc_test.go", before: goTwo,
			after: replace(goTwo, "func TestAdd(t *testing.T) {", "func TestAdd(t *testing.T) {\n\t"+c),
			want:  is(Assertions)})
	}
	for _, c := range []string{"try { throw 1 } catch { return }", "try { f() } finally { return }",
		"switch (x) { default: return }", "switch (x) { case 1: f(); return; default: return }",
		"if (x) { return } else { return }", "if (x) { return } else if (1) { return }"} {
		rows = append(rows, row{why: "js: " + c, path: "calc.test.js", before: jsTwo,
			after: replace(jsTwo, "adds\", () => {", "adds\", () => { "+c), want: is(Assertions)})
	}
	for _, c := range []string{"try:\n        raise ValueError\n    except ValueError:\n        return",
		"try:\n        pass\n    finally:\n        return"} {
		rows = append(rows, row{why: "python: " + c, path: "tests/test_calc.py", before: pyTwo,
			after: replace(pyTwo, "def test_add():\n", "def test_add():\n    "+c+"\n"), want: is(Assertions)})
	}
	for _, c := range []string{"match 1 { _ => return, }", "if x() { return; } else { return; }"} {
		rows = append(rows, row{why: "rust: " + c, path: rs, before: rsTwo,
			after: replace(rsTwo, "fn adds() {", "fn adds() { "+c), want: is(Assertions)})
	}
	rows = append(rows,
		row{why: "java: a try that throws", path: jv, before: javaTwo, after: replace(javaTwo, "void adds() {",
			"void adds() { try { throw new X(); } catch (X e) { return; }"), want: is(Assertions)},
		row{why: "js: without brackets", path: "calc.test.js", before: jsTwo,
			after: replace(jsTwo, "adds\", () => {", "adds\", () => { if (true) return;"), want: is(Assertions)},
		row{why: "js: a block", path: "calc.test.js", before: jsTwo,
			after: replace(jsTwo, "adds\", () => {", "adds\", () => { { return; }"), want: is(Assertions)},
		row{why: "java: a loop that returns", path: jv, before: javaTwo,
			after: replace(javaTwo, "void adds() {", "void adds() { while (true) { return; }"), want: is(Assertions)},
	)
	check(t, rows)
	check(t, []row{
		edit("js: a condition of the run time", "calc.test.js", jsTwo, "adds\", () => {", "adds\", () => { if (slow) return;",
			Skipped),
		edit("js: a loop that is left", "calc.test.js", jsTwo, "adds\", () => {",
			"adds\", () => { while (true) { next(); break; }"),
		edit("rust: a loop that is left", rs, rsTwo, "fn adds() {", "fn adds() { loop { next(); break; }"),
		edit("go: a loop that is left", "calc_test.go", goTwo, "func TestAdd(t *testing.T) {",
			"func TestAdd(t *testing.T) {\n\tfor {\n\t\tnext()\n\t\tbreak\n\t}\n"),
		edit("python: what is raised in a try", "tests/test_calc.py", pyTwo, "def test_add():\n",
			"def test_add():\n    try:\n        raise ValueError\n    except ValueError:\n        pass\n"),
	})
}

const rsMacro = `rgtest!(finds, |dir: Dir, mut cmd: Cmd| {
    dir.create("a", "x");
    eqnice!("x", cmd.stdout());
});

rgtest!(counts, |dir: Dir, mut cmd: Cmd| {
    assert_eq!(1, cmd.count());
});

macro_rules! size_tests {
    ($($name:ident: $value:expr,)*) => { $( #[test] fn $name() { let (i, w) = $value; assert_eq!(parse(i), w); } )* };
}

size_tests! {
    one_byte: ("1b", 1),
    one_kilo: ("1k", 1000),
}
`

const javaPlain = `package calc;

import org.junit.jupiter.api.Test;

class CalcTest extends AbstractCalcTest {
    @Test
    void testAdd() {
        assertEquals(3, calc.testAdd(1, 2));
        assertEquals(0, calc.testAdd(0, 0));
    }

    @Test
    void testDiv() {
        assertEquals(3, calc.testAdd(6, 2));
    }
}
`

func TestHoles(t *testing.T) {
	tests, jv := "tests/regression.rs", "src/test/java/calc/CalcTest.java"
	js := "calc.test.js"
	snap := "test(\"adds\", () => {\n  expect(add(1, 2)).toMatchInlineSnapshot(`3`);\n});\n"
	mk := "test:\n\tgo test ./...\n"
	table := "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n" +
		"\tfor _, c := range []struct{ a, b, want int }{\n\t\t{2, 2, 4},\n\t\t{5, 5, 10},\n\t} {\n" +
		"\t\tif Add(c.a, c.b) != c.want {\n\t\t\tt.Error(c)\n\t\t}\n\t}\n}\n"
	nested := "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n" +
		"\tfor _, c := range []struct{ rows []row }{\n\t\t{[]row{\n\t\t\t{2, 2, 4},\n\t\t\t{5, 5, 10},\n\t\t}},\n\t} {\n" +
		"\t\tif add(c) {\n\t\t\tt.Error(c)\n\t\t}\n\t}\n}\n"
	goTrue := "package calc\n\nimport \"testing\"\n\nfunc TestEven(t *testing.T) {\n" +
		"\tassert.Equal(t, false, Even(3))\n\tassert.Equal(t, true, Even(4))\n}\n"
	pyTable := "import pytest\n\n@pytest.mark.parametrize('a, b, want', [\n    (2, 2, 4),\n    (5, 5, 10),\n])\n" +
		"def test_add(a, b, want):\n    assert add(a, b) == want\n"
	jsTable := "test.each([\n  [2, 2, 4],\n  [5, 5, 10],\n])('adds', (a, b, want) => {\n" +
		"  expect(add(a, b)).toBe(want);\n});\n"
	code := "package calc\n\nfunc Add(a, b int) int { return a + b }\n"
	check(t, []row{
		{why: "rs: a file of macro-made tests is emptied", path: tests, before: rsMacro, after: "", want: is(Removed)},
		{why: "rs: one macro-made test goes", path: tests, before: rsMacro,
			after: cut(rsMacro, "rgtest!(counts", "macro_rules!"+strings.SplitN(rsMacro, "macro_rules!", 2)[1]),
			want:  is(Removed)},
		edit("rs: a row of a test macro goes", tests, rsMacro, "    one_kilo: (\"1k\", 1000),\n", "", Removed),
		edit("rs: the macro asserts nothing", tests, rsMacro, "assert_eq!(parse(i), w);", "let _ = (parse(i), w);",
			Assertions),
		edit("java: @Test goes from a method of a class with a base class", jv, javaPlain, "    @Test\n    void testDiv",
			"    void testDiv", Removed),
		edit("java: a test that is called like the method under test pays for nothing", jv, javaPlain,
			"    @Test\n    void testAdd", "    void testAdd", Removed),
		{why: "java: the file leaves the names that are collected", path: jv, before: javaTwo, after: "-",
			more: []File{file("src/test/java/calc/CalcChecks.java", "-",
				replace(javaTwo, "class CalcTest", "class CalcChecks"))}, want: is(Removed)},
		edit("js: an inline snapshot is emptied", js, snap, "`3`", "", Assertions),
		edit("go: a row is replaced by its neighbour", "calc_test.go", table, "{2, 2, 4}", "{5, 5, 10}", Cases),
		edit("go: a row of a table within a row goes", "calc_test.go", nested, "\t\t\t{5, 5, 10},\n", "", Cases),
		edit("go: the literal comes first", "calc_test.go", goTrue, "\tassert.Equal(t, true, Even(4))\n", "", Assertions),
		{why: "js: expect.fail goes", path: js,
			before: "test(\"a\", () => {\n  run(() => {\n    expect.fail();\n  });\n});\n",
			after:  "test(\"a\", () => {\n  run(() => {\n  });\n});\n", want: is(Assertions)},
		edit("py: a row is replaced by its neighbour", "tests/test_calc.py", pyTable, "(2, 2, 4)", "(5, 5, 10)", Cases),
		{why: "js: a row of a suite goes", path: js,
			before: "describe.each([\n  [1, 2],\n  [3, 4],\n])('pairs', (a, b) => {\n  it('adds', () => {\n" +
				"    expect(add(a)).toBe(b);\n  });\n});\n",
			after: "describe.each([\n  [1, 2],\n])('pairs', (a, b) => {\n  it('adds', () => {\n" +
				"    expect(add(a)).toBe(b);\n  });\n});\n", want: is(Cases)},
		{why: "js: a test that only calls returns at once", path: js, before: "test(\"starts\", () => {\n  start();\n});\n",
			after: "test(\"starts\", () => {\n  if (1) return;\n  start();\n});\n", want: is(Assertions)},
		edit("js: a row is replaced by its neighbour", js, jsTable, "[2, 2, 4]", "[5, 5, 10]", Cases),
		{why: "py: load_tests gives an empty suite", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\ndef load_tests(loader, tests, pattern):\n    return unittest.TestSuite()\n", want: is(Escape)},
		{why: "py: load_tests in the package", path: "tests/__init__.py", before: "",
			after: "import unittest\n\n\ndef load_tests(*args):\n    return unittest.TestSuite()\n", want: is(Escape)},
		{why: "py: a hook at the exit", path: "tests/test_calc.py", before: pyTwo,
			after: "import atexit, os\natexit.register(lambda: os._exit(0))\n" + pyTwo, want: is(Escape)},
		{why: "js: a hook that exits", path: js, before: jsTwo,
			after: "process.on('uncaughtException', () => process.exit(0));\n" + jsTwo, want: is(Escape)},
		{why: "go: init of the code exits under test", path: "add.go", before: code,
			after: code + "\nfunc init() {\n\tif testing.Testing() {\n\t\tos.Exit(0)\n\t}\n}\n", want: is(Escape)},
		{why: "go: init of a test file exits", path: "calc_test.go", before: goTwo,
			after: goTwo + "\nfunc init() {\n\tos.Exit(0)\n}\n", want: is(Escape)},
		{why: "js: the code exits under test", path: "add.js", before: "module.exports = 1;\n",
			after: "if (process.env.NODE_TEST_CONTEXT) process.exit(0);\nmodule.exports = 2;\n", want: is(Escape)},
		{why: "py: the code exits under test", path: "calc.py", before: "x = 1\n",
			after: "import os, sys\nif 'pytest' in sys.modules:\n    os._exit(0)\nx = 2\n", want: is(Escape)},
		{why: "py: the code has a hook at the exit", path: "calc.py", before: "x = 1\n",
			after: "import atexit, os\natexit.register(lambda: os._exit(0))\nx = 2\n", want: is(Escape)},
		{why: "py: a hook with a name", path: "calc.py", before: "x = 1\n",
			after: "import os\nfrom atexit import register\ndef bye():\n    os._exit(0)\nregister(bye)\nx = 2\n",
			want:  is(Escape)},
		{why: "py: a hook that tidies up is none", path: "calc.py", before: "x = 1\n",
			after: "import atexit, shutil\natexit.register(shutil.rmtree, '/tmp/x')\nx = 2\n", want: nil},
		{why: "js: the code has a hook that sets the exit code", path: "add.js", before: "module.exports = 1;\n",
			after: "process.on('exit', () => { process.exitCode = 0; });\nmodule.exports = 2;\n", want: is(Escape)},
		{why: "js: a hook that reports is none", path: "add.js", before: "module.exports = 1;\n",
			after: "process.on('uncaughtException', (e) => { console.error(e); process.exit(1); });\nmodule.exports = 2;\n",
			want:  nil},
		{why: "java: a hook that halts", path: "src/main/java/Calc.java", before: "class Calc {\n}\n",
			after: "class Calc {\n  static {\n    Runtime.getRuntime().addShutdownHook(new Thread(() ->\n" +
				"      Runtime.getRuntime().halt(0)));\n  }\n}\n", want: is(Escape)},
		{why: "pytest settings behind a script with a variable", commands: []string{"scripts/test"},
			lookup: map[string]string{"scripts/test": "#!/bin/sh -e\n${PREFIX}coverage run -m pytest\n"},
			path:   "pyproject.toml", before: "[tool.pytest.ini_options]\naddopts = \"-ra\"\n",
			after: "[tool.pytest.ini_options]\naddopts = \"-ra -k 'not add'\"\n", want: is(Config)},
		{why: "pytest settings behind tox", commands: []string{"tox -e py"}, path: "pyproject.toml",
			before: "[tool.pytest.ini_options]\naddopts = \"-ra\"\n",
			after:  "[tool.pytest.ini_options]\naddopts = \"-ra --ignore=tests\"\n", want: is(Config)},
		{why: "tox runs less", commands: []string{"tox"}, path: "tox.ini", before: "[testenv]\ncommands = pytest\n",
			after: "[testenv]\ncommands = pytest -k fast\n", want: is(Config)},
		{why: "py: collection leaves out a file that ran", path: "tests/conftest.py", before: "collect_ignore = []\n",
			after: "collect_ignore = [\"test_calc.py\"]\n", want: is(Escape)},
		{why: "pytest settings behind nox", commands: []string{"nox -s tests"}, path: "pytest.ini",
			before: "[pytest]\naddopts = -ra\n", after: "[pytest]\naddopts = -ra --ignore=tests\n", want: is(Config)},
		{why: "pytest settings behind hatch", commands: []string{"hatch test"}, path: "pyproject.toml",
			before: "[tool.pytest.ini_options]\naddopts = \"-ra\"\n",
			after:  "[tool.pytest.ini_options]\naddopts = \"-ra --ignore=tests\"\n", want: is(Config)},
		{why: "a module of the standard library is shadowed", commands: []string{"python3 -m unittest"},
			path: "argparse.py", before: "-", after: "import os\nos._exit(0)\n", want: is(Config)},
		{why: "make: a file takes the name of the target", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": mk}, path: "test", before: "-", after: "notes\n", want: is(Config)},
		{why: "make: a folder does", commands: []string{"make test"}, lookup: map[string]string{"Makefile": mk},
			path: "test/a_test.go", before: "-", after: "package test\n", want: is(Config)},
		{why: "make: -include of a new file", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": "-include local.mk\n.PHONY: test\n" + mk}, path: "local.mk", before: "-",
			after: "SHELL = /bin/true\n", want: is(Config)},
		{why: ".npmrc: with blanks", commands: []string{"npm test"}, path: ".npmrc", before: "-",
			after: "  script-shell = /bin/true\n", want: is(Config)},
		{why: ".npmrc: with quotes", commands: []string{"npm test"}, path: ".npmrc", before: "-",
			after: "\"script-shell\"=\"/bin/true\"\n", want: is(Config)},
		{why: ".npmrc: with an underscore", commands: []string{"npm test"}, path: ".npmrc", before: "registry=x\n",
			after: "registry=x\nscript_shell=/bin/true\n", want: is(Config)},
		{why: "a program of node_modules that is tracked", commands: []string{"npm test"}, path: "node_modules/.bin/jest",
			before: "-", after: "#!/bin/sh\nexit 0\n", want: is(Config)},
	})
	check(t, []row{
		{why: "make: the target is phony", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": ".PHONY: test\n" + mk}, path: "test/a_test.go", before: "-",
			after: "package test\n"},
		{why: "make: the folder was there", commands: []string{"make test"}, lookup: map[string]string{"Makefile": mk},
			paths: []string{"test/b_test.go"}, path: "test/a_test.go", before: "-", after: "package test\n"},
		{why: "py: load_tests that adds doctests", path: "tests/test_calc.py", before: pyTwo,
			after: pyTwo + "\n\ndef load_tests(loader, tests, ignore):\n    tests.addTests(doctest.DocTestSuite(calc))\n" +
				"    return tests\n"},
		{why: "java: JUnit 3 by its import", path: jv,
			before: "import junit.framework.Assert;\nclass CalcTest extends BaseTest {\n  void testAdd() {\n" +
				"    assertEquals(3, add(1, 2));\n  }\n}\n",
			after: "import junit.framework.Assert;\nclass CalcTest extends BaseTest {\n  void testAdd() {\n" +
				"    assertEquals(3, add(2, 1));\n  }\n}\n"},
		{why: "pytest settings become stricter", commands: []string{"pytest"}, path: "setup.cfg",
			before: "[tool:pytest]\naddopts = -rxXs\n", after: "[tool:pytest]\naddopts = -rxXs\nfilterwarnings =\n  error\n"},
		{why: "py: collection leaves out a file that is new", path: "tests/conftest.py", before: "collect_ignore = []\n",
			after: "collect_ignore = []\nif old:\n    collect_ignore.extend([\"tests/test_match.py\"])\n",
			more:  []File{file("tests/test_match.py", "-", "def test_a():\n    assert a() == 1\n")}},
		{why: "tox: fewer versions", commands: []string{"tox"}, path: "tox.ini",
			before: "[tox]\nenvlist = py{38,39}\n[testenv]\ncommands = pytest\n",
			after:  "[tox]\nenvlist = py{39}\n[testenv]\ncommands = pytest\n"},
		{why: "a module of the project in a package", commands: []string{"python3 -m unittest"}, path: "src/app/types.py",
			before: "-", after: "x = 1\n"},
		{why: "the code asks whether it is tested, and goes on", path: "add.go", before: code,
			after: code + "\nfunc quiet() bool { return testing.Testing() }\n"},
	})
}

// TestOnlyNoted: some changes are only noted for the user, some are left to the old
// tests.
func TestOnlyNoted(t *testing.T) {
	code := "package calc\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Div(a, b int) (int, error) {\n" +
		"\tif b == 0 {\n\t\treturn 0, errZero\n\t}\n\treturn a / b, nil\n}\n"
	noDiv := cut(code, "func Div", "")
	dropped := file("calc_test.go", goTwo, cut(goTwo, "func TestDiv", ""))
	js := "test(\"adds\", () => {\n  expect(add(1, 2)).toBe(3);\n});\n"
	for _, tt := range []struct {
		why         string
		files       []File
		found       []Rule
		open, noted []Rule
	}{
		{why: "the test goes with what it exercises", files: []File{file("calc.go", code, noDiv), dropped},
			noted: is(Removed)},
		{why: "the test goes and the code stays", files: []File{file("calc.go", code, replace(code, "a + b", "b + a")),
			dropped}, found: is(Removed)},
		{why: "the test goes and the function is renamed", files: []File{file("calc.go", code,
			replace(code, "func Div(", "func Quotient(")), dropped}, open: is(Removed)},
		{why: "the test goes and a message is worded anew", files: []File{
			file("calc.py", "def div(a, b):\n    raise ValueError('division by zero')\n",
				"def div(a, b):\n    raise ValueError('must not be zero')\n"),
			file("tests/test_calc.py", "def test_div():\n    with pytest.raises(ValueError, match='division by zero'):\n"+
				"        div(1, 0)\n", "")}, open: is(Removed)},
		{why: "a test goes beside code that it does not exercise",
			files: []File{file("calc.go", code, code+"\nfunc Neg(a int) int { return -a }\n"), dropped}, found: is(Removed)},
		{why: "a file of tests goes with the module that it loads",
			files: []File{file("lib/parser.js", "module.exports = (s) => s;\n", "-"),
				file("test/parser.js", "const p = require('../lib/parser');\ntest(\"a\", () => {\n  expect(p('x')).toBe('x');\n"+
					"});\n", "-")}, noted: is(Removed)},
		{why: "py: a marker is registered", files: []File{file("conftest.py",
			"def pytest_configure(config):\n    config.addinivalue_line('markers', 'slow')\n",
			"def pytest_configure(config):\n    config.addinivalue_line('markers', 'quick')\n")}},
		{why: "the function goes, and another file has one of that name from elsewhere", files: []File{
			file("more.py", "def pairs(a):\n    return zip(a, a[1:])\n\n\ndef one(a):\n    return a[0]\n",
				"def one(a):\n    return a[0]\n"),
			file("use.py", "from more import pairs\n", "from itertools import pairwise as pairs\n"),
			file("tests/test_more.py", "def test_pairs():\n    assert list(more.pairs([1, 2])) == [(1, 2)]\n\n"+
				"def test_one():\n    assert more.one([1]) == 1\n", "def test_one():\n    assert more.one([1]) == 1\n")},
			noted: is(Removed)},
		{why: "a test is renamed and written anew where it stood",
			files: []File{file("calc_test.go", goTwo, replace(replace(goTwo, "TestAdd", "TestSum"), "Add(1, 2)",
				"Sum([]int{1, 2}, base)"))}},
		{why: "an option goes with its test", files: []File{
			file("cli.js", "program.option('--colour');\n", "program.parse();\n"),
			file("cli.test.js", "test(\"colour\", () => {\n  expect(run('--colour')).toBe(1);\n});\n"+js, js)},
			noted: is(Removed)},
		{why: "an assertion goes beside changed code", files: []File{file("calc.go", code, replace(code, "a + b", "b + a")),
			file("calc_test.go", goTwo, replace(goTwo, "got != 3", "false"))}, open: is(Assertions)},
		{why: "an assertion goes beside a changed comment", files: []File{file("calc.go", code,
			"// Package calc adds.\n"+code),
			file("calc_test.go", goTwo, replace(goTwo, "got != 3", "false"))}, found: is(Assertions)},
		{why: "equality becomes a look whether it is there", files: []File{file("a.test.js", js,
			replace(js, ".toBe(3)", ".toBeDefined()"))}, noted: is(Assertions)},
		{why: "py: == becomes truth", files: []File{file("tests/test_calc.py", pyTwo,
			replace(pyTwo, "assert add(1, 2) == 3", "assert add(1, 2)"))}, noted: is(Assertions)},
		{why: "py: any exception will do", files: []File{file("tests/test_a.py",
			"def test_a():\n    with pytest.raises(ValueError):\n        a()\n",
			"def test_a():\n    with pytest.raises(Exception):\n        a()\n")}, noted: is(Assertions)},
		{why: "java: equality becomes not null", files: []File{file("src/test/java/calc/CalcTest.java", javaTwo,
			replace(javaTwo, "assertEquals(3, Calc.add(1, 2))", "assertNotNull(Calc.add(1, 2))"))}, noted: is(Assertions)},
		{why: "rs: equality becomes a truth", files: []File{file("tests/a.rs",
			"#[test]\nfn a() {\n    assert_eq!(f(), 3);\n}\n", "#[test]\nfn a() {\n    assert!(f() > 0);\n}\n")},
			noted: is(Assertions)},
		{why: "a stronger assertion is none", files: []File{file("a.test.js", replace(js, ".toBe(3)", ".toBeDefined()"),
			js)}},
		{why: "js: a placeholder goes", files: []File{file("a.test.js", "test(\"\", () => {});\n"+js, js)}},
		{why: "js: constants alone", files: []File{file("a.test.js",
			"test(\"one\", () => {\n  expect(1).toEqual(1);\n});\n"+js, js)}},
		{why: "js: an array called expect", files: []File{file("a.test.js", js, "var expect = [1, 2];\n"+js)}},
		{why: "js: test of a runtime", files: []File{file("a.test.js", "-", "const test = Deno.test;\n"+js)}},
		{why: "js: the log of a handler that takes everything goes",
			files: []File{file("a.test.js",
				"test(\"a\", () => {\n  try {\n    expect(a()).toBe(1);\n  } catch (err) {\n"+
					"    console.log(JSON.stringify(err));\n  }\n});\n",
				"test(\"a\", () => {\n  try {\n    expect(a()).toBe(1);\n  } catch (err) {\n  }\n});\n")}},
		{why: "js: should.throw becomes assert.throws", files: []File{file("a.test.js",
			"test(\"a\", () => {\n  a.should.throw(/b/);\n});\n", "test(\"a\", () => {\n  assert.throws(a, /b/);\n});\n")}},
		{why: "js: process.exit in a program that tests start",
			files: []File{file("test/fixtures/fail.js", "-", "process.exit(1);\n")}},
		{why: "js: expect is written anew", files: []File{file("a.test.js", js,
			"const expect = () => ({ toBe() {} });\n"+js)}, found: is(Escape)},
		{why: "js: process.exit is replaced in a new script", files: []File{file("test/exit.js", "-",
			"process.exit = function () { throw new Error('exit'); };\n"+js)}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			rep := Judge(Input{Files: tt.files})
			for name, g := range map[string][2][]Rule{"findings": {tt.found, rulesOf(rep.Findings)},
				"open": {tt.open, rulesOf(rep.Open)}, "notes": {tt.noted, rulesOf(rep.Notes)}} {
				if strings.Join(words(g[0]), " ") != strings.Join(words(g[1]), " ") {
					t.Errorf("%s: %v, want %v\n%+v", name, g[1], g[0], rep)
				}
			}
		})
	}
}

func words(rules []Rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, string(r))
	}
	return out
}
