package weaken

import "testing"

// Settings that run as many tests as before are allowed.
func TestSettingsThatRunAsMuch(t *testing.T) {
	pkg := func(scripts string) string { return `{"scripts": {` + scripts + `}}` }
	tox := "[tox]\nenvlist = py37,py38\n\n[testenv]\ndeps = pytest\ncommands = pytest tests\n"
	npm := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"npm test"}, path: "package.json", before: pkg(before), after: pkg(after),
			want: want}
	}
	check(t, []row{
		npm("a script is renamed", `"test": "jest && npm run typecheck", "typecheck": "tsc -p ."`,
			`"test": "jest && npm run check:type", "check:type": "tsc -p ."`),
		npm("a linter comes in front", `"test": "mocha --check-leaks -R dot"`,
			`"test": "standard && mocha --check-leaks -R spec"`),
		npm("it moves behind the tests", `"pretest": "standard", "test": "mocha"`, `"posttest": "standard", "test": "mocha"`),
		npm("coverage is measured", `"test": "mocha test/*.js"`, `"test": "c8 --check-coverage mocha test/*.js"`),
		npm("a compiler becomes stricter", `"pretest": "tsc --noEmit", "test": "jest"`,
			`"pretest": "tsc --noEmit --strict", "test": "jest"`),
		npm("the first real tests", `"test": "echo \"Error: no test specified\" && exit 1"`, `"test": "jest"`),
		npm("a renamed script checks less", `"test": "jest && npm run typecheck", "typecheck": "tsc -p ."`,
			`"test": "jest && npm run check:type", "check:type": "true"`, Config),
		npm("the linter is gone", `"pretest": "standard", "test": "mocha"`, `"test": "mocha"`, Config),
		npm("one folder alone", `"test": "mocha"`, `"test": "mocha test/unit"`, Config),
		npm("another folder", `"test": "mocha test/unit"`, `"test": "mocha test/none"`, Config),
		npm("a filter", `"test": "jest"`, `"test": "jest -t add"`, Config),
		npm("failures are swallowed", `"test": "jest"`, `"test": "jest || echo failed"`, Config),
		npm("and behind it", `"test": "jest"`, `"test": "jest; exit 0"`, Config),
		npm("in a pipe", `"test": "jest"`, `"test": "jest | cat"`, Config),
		npm("a run without tests passes", `"test": "jest"`, `"test": "jest --passWithNoTests --verbose"`, Config),
		{why: "jest: how code is compiled", commands: []string{"npx jest"}, path: "package.json",
			before: `{"jest": {"testMatch": ["**/a.js"], "preset": "a"}}`,
			after:  `{"jest": {"testMatch": ["**/a.js"], "transform": {}, "collectCoverageFrom": ["src/*"]}}`},
		{why: "jest: a threshold is lowered", commands: []string{"npx jest"}, path: "package.json",
			before: `{"jest": {"coverageThreshold": {"global": 90}}}`,
			after:  `{"jest": {"coverageThreshold": {"global": 10}}}`, want: is(Config)},
		{why: "nyc: what is measured", commands: []string{"npm test"}, lookup: map[string]string{}, path: "package.json",
			before: `{"scripts": {"test": "nyc mocha"}, "nyc": {"exclude": []}}`,
			after:  `{"scripts": {"test": "nyc mocha"}, "nyc": {"exclude": ["node_modules"]}}`},
		{why: "tox: versions", commands: []string{"tox"}, path: "tox.ini", before: tox,
			after: replace(replace(tox, "py37,py38", "py38,py39"), "deps = pytest",
				"deps =\n    pytest27: pytest<3\n    pytest")},
		{why: "tox: arguments may be given", commands: []string{"tox"}, path: "tox.ini", before: tox,
			after: replace(tox, "pytest tests", "pytest {posargs:tests}")},
		{why: "tox: a wider folder", commands: []string{"tox"}, path: "tox.ini",
			before: replace(tox, "pytest tests", "pytest tests/test_a.py"), after: tox},
		{why: "tox: one file alone", commands: []string{"tox"}, path: "tox.ini", before: tox,
			after: replace(tox, "pytest tests", "pytest tests/test_a.py"), want: is(Config)},
		{why: "tox: results are ignored", commands: []string{"tox"}, path: "tox.ini", before: tox,
			after: tox + "ignore_outcome = true\n", want: is(Config)},
		{why: "tox: nothing is run", commands: []string{"tox"}, path: "tox.ini", before: tox,
			after: replace(tox, "pytest tests", "true"), want: is(Config)},
		{why: "pytest: a warning is let through", commands: []string{"pytest"}, path: "setup.cfg",
			before: "[tool:pytest]\nfilterwarnings =\n    error\n",
			after:  "[tool:pytest]\nfilterwarnings =\n    error\n    ignore:old:DeprecationWarning\n"},
		{why: "a project that is what runners use", commands: []string{"pytest"}, path: "pluggy.py", before: "a = 1\n",
			after: "a = 2\n"},
		{why: "it becomes a package", commands: []string{"pytest"}, lookup: map[string]string{"pluggy.py": "a = 1\n"},
			path: "pluggy/__init__.py", before: "-", after: "a = 2\n"},
		{why: "js: a new script has a test function of its own", path: "scripts/size-test.js", before: "-",
			after: "function test(n) {\n  console.log(n);\n}\ntest(1);\n"},
		{why: "maven: a further module", commands: []string{"mvn test"}, path: "pom.xml",
			before: "<project><modules><module>a</module></modules></project>",
			after:  "<project><modules><module>a</module><module>b</module></modules></project>"},
		{why: "maven: a module goes", commands: []string{"mvn test"}, path: "pom.xml",
			before: "<project><modules><module>a</module><module>b</module></modules></project>",
			after:  "<project><modules><module>a</module></modules></project>", want: is(Config)},
	})
}

// A test that is only skipped on other systems is left to the old tests.
func TestSkippedElsewhere(t *testing.T) {
	mark := func(condition string) File {
		return file("tests/test_calc.py", pyTwo, replace(pyTwo, "def test_div",
			"@pytest.mark.skipif("+condition+", reason=\"x\")\ndef test_div"))
	}
	tag := func(constraint string) File {
		return file("calc_test.go", goTwo, "//go:build "+constraint+"\n\n"+goTwo)
	}
	rust := "#[test]\nfn a() {\n    assert_eq!(f(), 3);\n}\n"
	attr := func(a string) File { return file("tests/a.rs", rust, "#["+a+"]\n"+rust) }
	for _, c := range []struct {
		why  string
		file File
		open bool
	}{
		{"rust: not on windows", attr("cfg(not(windows))"), true},
		{"rust: a width", attr(`cfg(target_pointer_width = "64")`), true},
		{"rust: ignored by a tool", attr("cfg_attr(miri, ignore)"), true},
		{"rust: ignored there", attr(`cfg_attr(all(target_env = "msvc", target_pointer_width = "32"), ignore)`), true},
		{"rust: ignored here", attr("cfg_attr(unix, ignore)"), false},
		{"rust: on windows", attr("cfg(windows)"), false},
		{"rust: a feature", attr(`cfg(feature = "slow")`), false},
		{"rust: a system and a feature", attr(`cfg(all(unix, feature = "slow"))`), false},
		{"windows", mark(`sys.platform == "win32"`), true},
		{"not linux", mark(`not sys.platform.startswith("linux")`), true},
		{"by another module", mark(`platform.system() == "Windows"`), true},
		{"an old version", mark(`sys.version_info < (3, 8)`), true},
		{"a version that nobody has yet", mark(`sys.version_info < (3, 99)`), false},
		{"a new version", mark(`sys.version_info >= (3, 8)`), false},
		{"linux", mark(`sys.platform == "linux"`), false},
		{"windows or anything", mark(`sys.platform == "win32" or True`), false},
		{"go: a tag of systems like this one", tag("!windows"), true},
		{"go: a version", tag("go1.18"), true},
		{"go: no tag is set", tag("!slow"), true},
		{"go: another system", tag("windows"), false},
		{"go: a tag of the project", tag("slow"), false},
	} {
		rep := Judge(Input{Files: []File{c.file}})
		if (len(rep.Open) > 0) != c.open || (len(rep.Findings) > 0) == c.open {
			t.Errorf("%s: findings %v, open %v", c.why, rep.Findings, rep.Open)
		}
	}
}

// Tests that stand in the body of a macro are tests; overloads of a test are not.
func TestTestsInPlacesOfTheirOwn(t *testing.T) {
	macro := "macro_rules! buf_tests {\n    ($make:ident) => {\n        #[test]\n        fn empty() {\n" +
		"            assert_eq!($make().len(), 0);\n        }\n" +
		"        #[test]\n        fn full() {\n            assert_eq!($make().len(), 9);\n        }\n    };\n}\n" +
		"mod a { buf_tests!(new); }\n"
	java := "class HexTest {\n    private void testAll(String name) {\n        assertEquals(name, f(name));\n    }\n\n" +
		"    @Test\n    public void testAll() {\n        testAll(\"a\");\n    }\n}\n"
	kotlin := "class CalcTest {\n    class A(val x: Int)\n\n    @Test\n    fun adds() {\n" +
		"        assertEquals(3, add(1, 2))\n    }\n}\n"
	mixin := "class _Shared:\n    def test_a(self):\n        assert self.cls() == 1\n\n\nclass TestOne(_Shared):\n" +
		"    cls = One\n"
	lone := "fn units(x: u8) -> u8 {\n    x\n}\n\n#[test]\nfn test_units() {\n    assert_eq!(units(1), 1);\n}\n"
	check(t, []row{
		edit("kotlin: a test behind a class without a body is skipped", "src/test/kotlin/CalcTest.kt", kotlin, "    @Test",
			"    @Disabled\n    @Test", Skipped),
		edit("python: a test of a class that others are made from", "tests/test_a.py", mixin, "    def test_a",
			"    @pytest.mark.skip\n    def test_a", Skipped),
		edit("rust: a test beside code loses its mark", "src/units.rs", lone, "#[test]\n", "", Removed),
		{why: "go: a row of a table that a call gets", path: "calc_test.go",
			before: "package calc\n\nfunc TestAll(t *testing.T) {\n\tcheck(t, cases{\n\t\t{1, 2},\n\t\t{3, 4},\n\t})\n}\n",
			after:  "package calc\n\nfunc TestAll(t *testing.T) {\n\tcheck(t, cases{\n\t\t{1, 2},\n\t})\n}\n", want: is(Cases)},
		edit("rust: a test in a macro is ignored", "tests/buf.rs", macro, "        #[test]\n        fn full",
			"        #[test]\n        #[ignore]\n        fn full", Skipped),
		edit("rust: it is no test any more", "tests/buf.rs", macro, "        #[test]\n        fn full", "        fn full",
			Removed),
		edit("rust: it asserts nothing", "tests/buf.rs", macro, "assert_eq!($make().len(), 9);", "", Assertions),
		edit("java: layout beside an overload of a test", "src/test/java/HexTest.java", java, "    }\n\n", "    }\n"),
		edit("java: the overload asserts nothing", "src/test/java/HexTest.java", java, "assertEquals(name, f(name));", "",
			Assertions),
	})
}
