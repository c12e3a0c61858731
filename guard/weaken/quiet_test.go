package weaken

import "testing"

// TestQuietHoles: ways to keep assertions from failing without changing their number.
func TestQuietHoles(t *testing.T) {
	py := "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n    assert calc.add(0, 0) == 0\n"
	quiet := "def quiet(f):\n    def run(*a):\n        try:\n            f(*a)\n        except Exception:\n" +
		"            pass\n    return run\n"
	never := "def never(f):\n    def test_nothing():\n        pass\n    return test_nothing\n"
	timed := "import functools\n\ndef timed(f):\n    @functools.wraps(f)\n    def run(*a):\n" +
		"        start()\n        return f(*a)\n    return run\n"
	js := "test('adds', () => {\n  expect(add(1, 2)).toBe(3);\n  expect(add(0, 0)).toBe(0);\n});\n"
	rs := "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n    assert_eq!(add(0, 0), 0);\n}\n"
	jv := "import org.junit.jupiter.api.Test;\n\nclass CalcTest {\n    @Test\n    void adds() {\n" +
		"        assertEquals(3, Calc.add(1, 2));\n        assertEquals(0, Calc.add(0, 0));\n    }\n}\n"
	gos := "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n" +
		"\t\tt.Error(\"add\")\n\t}\n\tassert.Equal(t, 0, Add(0, 0))\n}\n"
	cs := "public class CalcTests {\n  [Fact]\n  public void Adds() { Assert.Equal(3, Calc.Add(1, 2)); }\n}\n"
	pyTest, jvTest := "tests/test_calc.py", "src/test/java/CalcTest.java"
	marked := "import calc\nfrom tools import quiet\n\n\n@quiet" + after(py, "\n\ndef test_add")[1:]
	rows := []row{
		{why: "py: a decorator of the file swallows", path: pyTest, before: py,
			after: quiet + "\n\n" + replace(py, "def test_add", "@quiet\ndef test_add"), want: is(Skipped)},
		{why: "py: a decorator of conftest swallows", path: pyTest, before: py,
			after: replace(py, "def test_add", "@quiet\ndef test_add"),
			more:  []File{file("tests/conftest.py", "-", quiet)}, want: is(Skipped)},
		{why: "py: a decorator of the project swallows", path: pyTest, before: py, after: marked,
			lookup: map[string]string{"src/tools.py": quiet}, paths: []string{"src/tools.py", pyTest}, want: is(Skipped)},
		{why: "py: one that the change adds outside of tests", path: pyTest, before: py, after: marked,
			more: []File{file("src/tools.py", "-", quiet)}, want: is(Skipped)},
		{why: "py: a decorator that runs nothing", path: pyTest, before: py,
			after: never + "\n\n" + replace(py, "def test_add", "@never\ndef test_add"), want: is(Skipped)},
		{why: "py: a decorator that runs it", path: pyTest, before: py,
			after: timed + "\n\n" + replace(py, "def test_add", "@timed\ndef test_add")},
		{why: "py: a decorator of a library", path: pyTest, before: py,
			after: "import freezegun\n" + replace(py, "def test_add", "@freezegun.freeze_time('2020-01-01')\ndef test_add")},
		edit("py: an assertion under a condition", pyTest, py, "    assert calc.add(0",
			"    if calc.ready:\n        assert calc.add(0", Assertions),
		edit("py: on the same line", pyTest, py, "    assert calc.add(0", "    if calc.ready: assert calc.add(0", Assertions),
		edit("py: in both branches", pyTest, py, "    assert calc.add(0, 0) == 0",
			"    if calc.wide:\n        assert calc.add(0, 0) == 0\n    else:\n        assert calc.add(0, 0) == 1"),
		edit("py: in a function that nothing calls", pyTest, py, "    assert calc.add(0",
			"    def check():\n        assert calc.add(0", Assertions),
		edit("py: in a function that is called", pyTest, py, "    assert calc.add(0, 0) == 0",
			"    def check():\n        assert calc.add(0, 0) == 0\n    check()"),
		edit("js: an assertion under a condition", "calc.test.js", js, "  expect(add(0, 0)).toBe(0);",
			"  if (ready) {\n    expect(add(0, 0)).toBe(0);\n  }", Assertions),
		edit("js: without brackets", "calc.test.js", js, "  expect(add(0, 0))", "  if (ready) expect(add(0, 0))", Assertions),
		edit("js: in a callback that nothing calls", "calc.test.js", js, "  expect(add(0, 0)).toBe(0);",
			"  const later = () => {\n    expect(add(0, 0)).toBe(0);\n  };", Assertions),
		edit("js: in a function that nothing calls", "calc.test.js", js, "  expect(add(0, 0)).toBe(0);",
			"  function later() {\n    expect(add(0, 0)).toBe(0);\n  }", Assertions),
		{why: "js: in a callback of a helper that drops it", path: "calc.test.js", before: js,
			after: "function noop(f) {}\n" + replace(js, "  expect(add(0, 0)).toBe(0);",
				"  noop(() => {\n    expect(add(0, 0)).toBe(0);\n  });"), want: is(Assertions)},
		{why: "js: in a callback of a helper that swallows", path: "calc.test.js", before: js,
			after: "const calm = (f) => {\n  try {\n    f();\n  } catch {}\n};\n" +
				replace(js, "  expect(add(0, 0)).toBe(0);",
					"  calm(() => {\n    expect(add(0, 0)).toBe(0);\n  });"), want: is(Assertions)},
		{why: "js: in a callback of a helper that runs it", path: "calc.test.js", before: js,
			after: "function once(f) {\n  f();\n}\n" + replace(js, "  expect(add(0, 0)).toBe(0);",
				"  once(() => {\n    expect(add(0, 0)).toBe(0);\n  });")},
		edit("rs: an assertion under a condition", "tests/calc.rs", rs, "    assert_eq!(add(0, 0), 0);",
			"    if ready() {\n        assert_eq!(add(0, 0), 0);\n    }", Assertions),
		edit("rs: in a closure that nothing calls", "tests/calc.rs", rs, "    assert_eq!(add(0, 0), 0);",
			"    let later = || {\n        assert_eq!(add(0, 0), 0);\n    };", Assertions),
		edit("java: an assertion under a condition", jvTest, jv, "        assertEquals(0,",
			"        if (ready) assertEquals(0,", Assertions),
		edit("java: in a lambda that nothing calls", jvTest, jv, "        assertEquals(0, Calc.add(0, 0));",
			"        Runnable later = () -> {\n            assertEquals(0, Calc.add(0, 0));\n        };", Assertions),
		edit("go: a failure under a further condition", "a_test.go", gos, "\tif Add(1, 2) != 3 {\n\t\tt.Error(\"add\")\n\t}",
			"\tif ready {\n\t\tif Add(1, 2) != 3 {\n\t\t\tt.Error(\"add\")\n\t\t}\n\t}", Assertions),
		edit("go: joined to its condition", "a_test.go", gos, "\tassert.Equal(t, 0, Add(0, 0))",
			"\tif ready {\n\t\tassert.Equal(t, 0, Add(0, 0))\n\t}", Assertions),
		edit("cs: a private test", "test/CalcTests.cs", cs, "public void", "private void", Skipped),
		edit("cs: an internal test", "test/CalcTests.cs", cs, "public void", "internal void", Skipped),
	}
	check(t, rows)
}

// TestLintersThatAreRaised: a new version of a linter brings new rules, and some may be disabled
// with it. Without a new version a disabled rule weakens the check.
func TestLintersThatAreRaised(t *testing.T) {
	pkg := func(xo, rules string) string {
		return `{"scripts": {"test": "xo && ava"}, "devDependencies": {
  "xo": "` + xo + `"
}, "xo": {"rules": {` + rules + `}}}`
	}
	ruff := func(version, ignore string) string {
		return "[project]\ndependencies = [\"ruff==" + version + "\"]\n\n[tool.ruff]\nignore = [" + ignore + "]\n"
	}
	cargo := "[package]\nname = \"calc\"\n"
	fmtTest := "#[test]\nfn shows() {\n    assert_eq!(show(1), \"1\");\n}\n"
	check(t, []row{
		{why: "a rule goes, the linter stays", commands: []string{"npm test"}, path: "package.json",
			before: pkg("^0.24.0", ""), after: pkg("^0.24.0", `"no-undef": "off"`), want: is(Config)},
		{why: "a rule goes, the linter is raised", commands: []string{"npm test"}, path: "package.json",
			before: pkg("^0.24.0", ""), after: pkg("^0.25.3", `"no-undef": "off"`)},
		{why: "a rule of ruff goes", commands: []string{"ruff check ."}, path: "pyproject.toml",
			before: ruff("0.4.1", `"E501"`), after: ruff("0.4.1", `"E501", "F821"`), want: is(Config)},
		{why: "a rule of ruff goes, it is raised", commands: []string{"ruff check ."}, path: "pyproject.toml",
			before: ruff("0.4.1", `"E501"`), after: ruff("0.5.0", `"E501", "F821"`)},
		{why: "a raised linter hides no test", commands: []string{"npm test"}, path: "package.json",
			before: pkg("^0.24.0", ""), after: replace(pkg("^0.25.3", ""), "xo && ava", "xo"), want: is(Config)},
		{why: "a bench in Cargo.toml", commands: []string{"cargo test"}, path: "Cargo.toml", before: cargo,
			after: cargo + "\n[[bench]]\nname = \"add\"\nharness = false\n"},
		{why: "a test without a harness", commands: []string{"cargo test"}, path: "Cargo.toml", before: cargo,
			after: cargo + "\n[[test]]\nname = \"add\"\nharness = false\n", want: is(Config)},
		{why: "more features", commands: []string{"make test"}, path: "Makefile",
			before: "test:\n\tcargo test --features 'serde'\n", after: "test:\n\tcargo test --features 'serde bin'\n"},
		{why: "other features", commands: []string{"make test"}, path: "Makefile",
			before: "test:\n\tcargo test --features 'serde'\n", after: "test:\n\tcargo test --features 'bin'\n",
			want: is(Config)},
		{why: "a flag that the build sets", path: "tests/show.rs", before: fmtTest,
			after: "#[cfg_attr(not(has_trace), ignore)]\n" + fmtTest, more: []File{file("build.rs", "fn main() {}\n",
				"fn main() {\n    println!(\"cargo:rustc-cfg=has_trace\");\n}\n")}},
		{why: "a flag that nothing sets", path: "tests/show.rs", before: fmtTest,
			after: "#[cfg_attr(not(has_trace), ignore)]\n" + fmtTest, want: is(Skipped)},
		{why: "a flag that continuous integration sets", path: "tests/show.rs", before: fmtTest,
			after: "#[cfg_attr(slow_runner, ignore)]\n" + fmtTest, more: []File{file("src/lib.rs", "fn a() {}\n",
				"fn a() { b() }\n")}},
		{why: "cfg(any()) is never set", path: "tests/show.rs", before: fmtTest,
			after: "#[cfg(any())]\n" + fmtTest, want: is(Skipped)},
		{why: "a flag that is known to the lints", commands: []string{"cargo test"}, path: "Cargo.toml",
			before: cargo + "\n[lints.rust.unexpected_cfgs]\nlevel = \"warn\"\ncheck-cfg = [\n  'cfg(a)',\n]\n",
			after: cargo + "\n[lints.rust.unexpected_cfgs]\nlevel = \"warn\"\ncheck-cfg = [\n  'cfg(a)',\n" +
				"  'cfg(b)',\n]\n"},
		{why: "a mark of a platform gets a name", path: "tests/test_show.py",
			before: "import sys, pytest\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a():\n" +
				"    assert show(1) == '1'\n",
			after: "import sys, pytest\n\nskip_windows = pytest.mark.skipif(sys.platform == 'win32', reason='x')\n\n" +
				"@skip_windows\ndef test_a():\n    assert show(1) == '1'\n"},
		{why: "a mark that always skips gets a name", path: "tests/test_show.py",
			before: "import pytest\n\ndef test_a():\n    assert show(1) == '1'\n",
			after: "import pytest\n\nskip_now = pytest.mark.skip(reason='x')\n\n@skip_now\ndef test_a():\n" +
				"    assert show(1) == '1'\n", want: is(Skipped)},
		{why: "a script of shell leaves a package out", path: "ci/test.sh", before: "set -e\ncargo test\n",
			after: "set -e\ncargo test --workspace --exclude bench\n"},
	})
}
