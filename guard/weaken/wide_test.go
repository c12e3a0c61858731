package weaken

import "testing"

// A command that runs as much as before is allowed under another name, with other
// settings or at another place. One that runs less is found.
func TestCommandsThatRunAsMuch(t *testing.T) {
	pkg := func(scripts, rest string) string { return `{"scripts": {` + scripts + `}` + rest + `}` }
	type rows = []row
	npm := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"npm test"}, path: "package.json", before: pkg(before, ""),
			after: pkg(after, ""),
			want:  want}
	}
	tox := func(why, before, after string, more []File, want ...Rule) row {
		head := "[tox]\nenvlist = py\n\n[testenv]\ncommands = "
		return row{why: why, commands: []string{"tox"}, path: "tox.ini", before: head + before + "\n",
			after: head + after + "\n",
			more:  more, want: want}
	}
	makeRow := func(why, before, after string, more []File, want ...Rule) row {
		return row{why: why, commands: []string{"make test"}, path: "Makefile", before: "test:\n\t" + before + "\n",
			after: "test:\n\t" + after + "\n", more: more, want: want}
	}
	movedTest := []File{file("test_all.py", pyTwo, "-"), file("tests/test_all.py", "-", pyTwo)}
	jest := `"jest": {"testMatch": ["**/*.test.ts"]}`
	check(t, rows{
		npm("jest through node", `"test": "jest"`, `"test": "yarn node --experimental-vm-modules $(yarn bin jest)"`),
		npm("with an option of node", `"test": "BABEL_ENV=a jest test"`,
			`"test": "BABEL_ENV=b node --throw-deprecation node_modules/.bin/jest test"`),
		npm("source maps", `"test": "node --test dist/test"`, `"test": "node --enable-source-maps --test dist/test"`),
		npm("coverage around it", `"test": "tap"`, `"test": "c8 tap"`),
		npm("a package in front of the tests", `"test": "mocha --require blanket"`,
			`"test": "mocha --require patched-blanket"`),
		npm("another runner", `"test": "jest"`, `"test": "vitest --run --reporter=default"`),
		npm("another runner of the same folder", `"test": "mocha test/unit"`, `"test": "jest test/unit"`),
		npm("a build comes in front", `"test": "jest", "build": "babel src"`,
			`"pretest": "npm run build", "test": "jest", "build": "babel src"`),
		npm("a script of tests by a runner of JavaScript", `"test": "node test/test.js"`, `"test": "mocha test/test.js"`),
		npm("a script that builds in front", `"test": "tap"`,
			`"pretest": "node scripts/transpile-to-esm.mjs", "test": "tap"`),
		npm("a script is run with the same options by another manager", `"test": "npm run all -- --ci", "all": "jest"`,
			`"test": "yarn all --ci", "all": "jest"`),
		npm("a script is run with a pattern", `"test": "npm run all -- --ci", "all": "jest"`,
			`"test": "npm run all -- --ci -t x", "all": "jest"`, Config),
		npm("a script is run with fewer paths", `"test": "npm run all", "all": "jest"`,
			`"test": "npm run all -- unit/", "all": "jest"`, Config),
		npm("another build", `"pretest": "npm run build", "build": "node scripts/make.js", "test": "jest"`,
			`"pretest": "npm run build", "build": "rm -rf dist && tsc -p . && node fix.js", "test": "jest"`),
		npm("only the tests changed", `"pretest": "[ -n $CI ] || npm run build", "test": "jest --ci"`,
			`"pretest": "[ -n $CI ] || npm run build", "test": "jest --ci --verbose"`),
		{why: "the settings of a runner go with it", commands: []string{"npm test"}, path: "package.json",
			before: pkg(`"test": "jest"`, ","+jest), after: pkg(`"test": "vitest run"`, ""),
			more: []File{file("jest.config.js", "module.exports = {verbose: true}\n", "-"),
				file("vitest.config.ts", "-", "export default {test: {globals: true}}\n")}},
		tox("another runner of Python", "nosetests", "pytest", nil),
		tox("a script of tests by a runner", "python tests.py", "py.test tests.py {posargs}", nil),
		tox("arguments by their new name", "flake8 [] --max-complexity 10 src", "flake8 {posargs} --max-complexity 10 src",
			nil),
		tox("another way to write the manual", "pytest\n    sphinx-build -W -b html docs out",
			"pytest\n    sphinx-build -E -W -b dirhtml docs docs/out", nil),
		tox("a test that moved", "pytest test_all.py", "pytest tests", movedTest),
		makeRow("a recipe over several lines", ". venv/bin/activate; pytest", ". venv/bin/activate; \\\n\tpytest", nil),
		makeRow("a recipe with another runner", ". venv/bin/activate && nosetests", ". venv/bin/activate && pytest", nil),
		makeRow("a recipe of a test that moved", "py.test test_all.py", "py.test tests", movedTest),

		npm("another runner of one folder alone", `"test": "jest"`, `"test": "vitest run src/a"`, Config),
		npm("another runner with a filter", `"test": "jest"`, `"test": "mocha -g add"`, Config),
		npm("another runner that may find nothing", `"test": "jest"`, `"test": "vitest run --passWithNoTests"`, Config),
		npm("the runner becomes a linter", `"test": "jest"`, `"test": "eslint ."`, Config),
		npm("the tests of another language", `"test": "jest"`, `"test": "pytest"`, Config),
		npm("a setting of the shell in front", `"test": "jest"`, `"test": "NODE_OPTIONS=--require=./a.js jest"`, Config),
		npm("a setting by a wrapper", `"test": "jest"`, `"test": "cross-env NODE_OPTIONS=--require=./a.js jest"`, Config),
		npm("a file of the project in front of the tests", `"test": "mocha"`, `"test": "mocha --require ./hook.js"`, Config),
		npm("tests are deleted first", `"test": "jest"`, `"test": "rm -rf src/hard.test.js && jest"`, Config),
		npm("a script comes in front", `"test": "jest"`, `"test": "node fix.js && jest"`, Config),
		npm("a script of its own in front", `"test": "jest"`, `"pretest": "node fix.js", "test": "jest"`, Config),
		npm("a build checks no types any more", `"pretest": "npm run build", "build": "tsc", "test": "jest"`,
			`"pretest": "npm run build", "build": "babel src", "test": "jest"`, Config),
		{why: "a new runner leaves tests out", commands: []string{"npm test"}, path: "package.json",
			before: pkg(`"test": "jest"`, ""), after: pkg(`"test": "vitest run"`, ""),
			more: []File{file("vitest.config.ts", "-", "export default {test: {exclude: ['a.test.ts']}}\n")}, want: is(Config)},
		tox("another runner with a name", "nosetests", "pytest -k add", nil, Config),
		tox("another file instead", "pytest tests/test_a.py", "pytest tests/test_b.py", nil, Config),
		tox("a manual that may have warnings", "sphinx-build -W docs out", "sphinx-build docs out", nil, Config),
		{why: "a variable of pytest", commands: []string{"make test"}, path: "Makefile", before: "test:\n\tpytest\n",
			after: "test:\n\tPYTEST_ADDOPTS=-x pytest\n", want: is(Config)},
		makeRow("the result of a recipe is ignored", "pytest", "-pytest", nil, Config),
		makeRow("a test that moved elsewhere", "py.test test_all.py", "py.test other", movedTest, Config),
	})
}

// A project's own assertion may get only literals. A library's cannot fail with those.
func TestOwnAssertionsOfLiterals(t *testing.T) {
	java := `class ATest extends Base {
    @Test
    void lines() {
        assertLines("a", 1);
    }
    @Test
    void other() {
        assertEquals(2, f());
    }
}
`
	py := "class TestA(Base):\n    def test_a(self):\n        self.assertTokens('a', 1)\n\n    def test_b(self):\n" +
		"        f()\n"
	rust := "#[test]\nfn a() {\n    assert_tokens!(\"a\", 1);\n}\n\n#[test]\nfn b() {\n    f();\n}\n"
	check(t, []row{
		edit("java: it is not reached", "src/test/ATest.java", java, "assertLines", "if (true) return;\nassertLines",
			Assertions),
		edit("java: the test is gone", "src/test/ATest.java", java,
			"    @Test\n    void lines() {\n        assertLines(\"a\", 1);\n    }\n", "", Removed),
		{why: "java: an assertion of literals alone is nothing", path: "src/test/ATest.java",
			before: replace(java, "assertLines(\"a\", 1)", "assertTrue(true)"),
			after:  replace(java, "assertLines(\"a\", 1);", "")},
		edit("python: the test is gone", "test_a.py", py, "self.assertTokens('a', 1)", "pass", Assertions),
		edit("rust: the test is empty", "tests/a.rs", rust, "assert_tokens!(\"a\", 1);", "", Assertions),
	})
}
