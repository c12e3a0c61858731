package weaken

import "testing"

// Settings that check as much or more are allowed; looser ones are found.
func TestSettingsThatAreLooser(t *testing.T) {
	ini := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"pytest"}, path: "setup.cfg", before: "[tool:pytest]\n" + before + "\n",
			after: "[tool:pytest]\n" + after + "\n", want: want}
	}
	xo := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"npm test"}, path: "package.json",
			before: `{"scripts": {"test": "xo && ava"}, "xo": ` + before + `}`,
			after:  `{"scripts": {"test": "xo && ava"}, "xo": ` + after + `}`, want: want}
	}
	jest := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"npx jest"}, path: "jest.config.js", before: before, after: after, want: want}
	}
	known := []string{"pkg/a.test.js", "src/a.js", "playground/a.js"}
	left := func(why, patterns string, want ...Rule) row {
		return row{why: why, commands: []string{"npx jest"}, path: "jest.config.js", before: "module.exports = {\n};\n",
			after: "module.exports = {\n  testPathIgnorePatterns: [" + patterns + "],\n};\n", paths: known, want: want}
	}
	eslint := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"npx eslint ."}, path: "eslint.config.js", paths: known,
			before: "export default [{" + before + "}];\n", after: "export default [{" + after + "}];\n", want: want}
	}
	build := func(why, before, after string, want ...Rule) row {
		return row{why: why, commands: []string{"npm test"}, path: "scripts/build.sh", before: before, after: after,
			want:   want,
			lookup: map[string]string{"package.json": `{"scripts": {"pretest": "sh scripts/build.sh", "test": "ava"}}`}}
	}
	const compile = "set -e\nrm -rf dist\ntsc -p .\nbabel src --out-dir dist\n"
	conf := "module.exports = {\n  testMatch: ['**/*.test.ts'],\n  verbose: true\n}\n"
	check(t, []row{
		ini("a hidden folder is not looked into", "norecursedirs = .tox ja", "norecursedirs = .tox ja .env* build"),
		ini("a list of what is ignored gets shorter", "pep8ignore = E501 E128 W1", "pep8ignore = E501"),
		ini("the folder of tests moved", "testpaths = tests.py", "testpaths = tests", Config),
		{why: "the folder of tests moved with the tests", commands: []string{"pytest"}, path: "setup.cfg",
			before: "[tool:pytest]\ntestpaths = tests.py\n", after: "[tool:pytest]\ntestpaths = tests\n",
			more: []File{file("tests.py", pyTwo, "-"), file("tests/test_all.py", "-", pyTwo)}},
		ini("a folder of tests is not looked into", "norecursedirs = .tox", "norecursedirs = .tox tests", Config),
		ini("a linter ignores more", "pep8ignore = E501", "pep8ignore = E501 F821", Config),
		ini("other names of files", "python_files = test_*.py", "python_files = check_*.py", Config),

		xo("rules that were off are gone", `{"rules": {"a": "off", "b": "error"}}`, `{"rules": {"b": "error"}}`),
		xo("a stricter rule, and the surroundings", `{"rules": {"b": "warn"}}`,
			`{"rules": {"b": "error", "c": 2}, "envs": ["node"]}`),
		xo("a rule is turned off", `{"rules": {"b": "error"}}`, `{"rules": {"b": "off"}}`, Config),
		xo("a rule is gone", `{"rules": {"b": "error"}}`, `{"rules": {}}`, Config),
		xo("a rule that was not named is turned off", `{"rules": {}}`, `{"rules": {"b": 0}}`, Config),
		xo("files are ignored", `{"rules": {}}`, `{"rules": {}, "ignores": ["src/*"]}`, Config),

		jest("as a module, with imports", conf, "import x from 'y';\nexport default {\n  testMatch: ['**/*.test.ts'],\n}\n"),
		jest("what is measured", conf, replace(conf, "verbose: true", "coveragePathIgnorePatterns: ['a.js']")),
		jest("which files are tests", conf, replace(conf, "*.test.ts", "*.spec.ts"), Config),
		jest("files are left out", conf, replace(conf, "verbose: true", "testPathIgnorePatterns: ['a.js']"), Config),
		jest("a threshold is gone", replace(conf, "verbose: true", "coverageThreshold: {global: 90}"), conf, Config),
		{why: "eslint knows more globals", commands: []string{"npx eslint ."}, path: "eslint.config.js",
			before: "export default [{languageOptions: {globals: {console: false}}, rules: {a: 'error'}}];\n",
			after: "import globals from 'globals';\n" +
				"export default [{languageOptions: {globals: {...globals.browser}}, rules: {a: 'error'}}];\n"},
		jest("a wait is longer, and workers", conf, replace(conf, "verbose: true", "testTimeout: 9, maxWorkers: 2")),
		left("a folder without tests is left out", "'/node_modules/', '/playground/'"),
		left("a folder of tests is left out", "'/playground/', '<rootDir>/pkg/'", Config),
		left("a test is left out by its name", "'a\\.test'", Config),
		{why: "less is left out", commands: []string{"npx jest"}, path: "jest.config.js",
			before: "const ignore = [];\nignore.push('a.js', 'b.js');\nmodule.exports = {testPathIgnorePatterns: ignore};\n",
			after:  "const ignore = [];\nignore.push('b.js');\nmodule.exports = {testPathIgnorePatterns: ignore};\n"},
		{why: "a set-up has another name", commands: []string{"npx jest"}, path: "jest.config.js",
			before: "module.exports = {globalSetup: './setUp.js'};\n", after: "module.exports = {globalSetup: './set-up.js'};\n",
			more: []File{file("setUp.js", "run();\n", "-"), file("set-up.js", "-", "run();\n")}},
		{why: "a set-up is another one", commands: []string{"npx jest"}, path: "jest.config.js",
			before: "module.exports = {globalSetup: './setUp.js'};\n", after: "module.exports = {globalSetup: './set-up.js'};\n",
			more: []File{file("setUp.js", "run();\n", "-"), file("set-up.js", "-", "run;\n")}, want: is(Config)},
		{why: "what vitest loads instead", commands: []string{"npx vitest run"}, path: "vitest.config.ts",
			before: "export default { resolve: { alias: [a] }, test: { globals: true } };\n",
			after:  "export default { resolve: { alias: [b] }, test: { globals: true } };\n", want: is(Config)},
		{why: "what vitest runs", commands: []string{"npx vitest run"}, path: "vitest.config.ts",
			before: "export default { resolve: { alias: [a] }, test: { globals: true } };\n",
			after:  "export default { resolve: { alias: [a] }, test: { include: ['b'] } };\n", want: is(Config)},
		{why: "a page is built with another tool", commands: []string{"npm test"}, path: "package.json",
			before: `{"scripts": {"test": "npm run build && mocha", "build": "rollup -c && man a.md > a.1"}}`,
			after:  `{"scripts": {"test": "npm run build && mocha", "build": "node es.js && man a.md > a.1"}}`},
		{why: "a test says what it says into a file", commands: []string{"npm test"}, path: "package.json",
			before: `{"scripts": {"test": "npm run all", "all": "mocha && ava"}}`,
			after:  `{"scripts": {"test": "npm run all", "all": "mocha > log"}}`, want: is(Config)},
		eslint("a rule is not off any more", "rules: {a: 'off', b: 2}", "rules: {b: 2}"),
		eslint("a rule warns only", "rules: {b: ['error', {x: 1}]}", "rules: {b: 'warn'}", Config),
		eslint("what a test reads is not linted", "ignores: ['dist']", "ignores: ['dist', 'test/fixtures/new/*.js']"),
		eslint("code is not linted", "ignores: ['dist']", "ignores: ['dist', 'src/**']", Config),
		{why: "a list of what is not linted", commands: []string{"npx eslint ."}, path: ".eslintignore", before: "dist\n",
			after: "dist\ndocs/*\ntest/**/dist/\n", paths: []string{"src/a.js"}},
		{why: "a list of what is not linted holds code", commands: []string{"npx eslint ."}, path: ".eslintignore",
			before: "dist\n", after: "dist\nsrc\n", paths: []string{"src/a.js"}, want: is(Config)},
		{why: "the types of a package are tested without settings", commands: []string{"npx tsd"}, path: "tsconfig.json",
			before: `{"compilerOptions": {"noEmit": true}}`, after: "-"},
		{why: "eslint has a rule less", commands: []string{"npx eslint ."}, path: "eslint.config.js",
			before: "export default [{rules: {a: 'error'}}];\n", after: "export default [{rules: {a: 'off'}}];\n",
			want: is(Config)},

		build("another step of a build", compile, compile+"esbuild --bundle dist/index.js\n"),
		build("other options of a build", compile, replace(compile, "--out-dir dist", "--out-dir dist --copy-files")),
		build("a build checks no types", compile, replace(compile, "tsc -p .\n", ""), Config),
		build("a build goes on after a failure", compile, replace(compile, "set -e\n", ""), Config),
		build("a build ends at once", compile, replace(compile, "rm -rf dist", "exit 0"), Config),
	})
}

// A test that is rewritten, or whose title appears elsewhere, is not removed.
func TestWrittenAnew(t *testing.T) {
	usage := "describe('usage', () => {\n  it('shows the version when it is asked for', () => {\n" +
		"    run(['--version']).should.equal('1');\n  });\n  it('adds', () => {\n    add(1).should.equal(2);\n  });\n});\n"
	rest := "describe('usage', () => {\n  it('adds', () => {\n    add(1).should.equal(2);\n  });\n});\n"
	moved := "describe('integration', () => {\n  it('shows the version when it is asked for', (done) => {\n" +
		"    command('bin.js', (out) => { out.should.match(/9/); done(); });\n  });\n});\n"
	emptied := "describe('integration', () => {\n  it('shows the version when it is asked for', () => {\n" +
		"    command('bin.js');\n  });\n});\n"
	conf := func(condition, names string) string {
		return "collect_ignore = []\nif " + condition + ":\n    collect_ignore.extend([" + names + "])\n"
	}
	check(t, []row{
		{why: "js: the same title in another suite", path: "test/usage.js", before: usage, after: rest,
			more: []File{file("test/integration.js", "-", moved)}},
		{why: "js: the same title without an assertion", path: "test/usage.js", before: usage, after: rest,
			more: []File{file("test/integration.js", "-", emptied)}, want: is(Removed)},
		{why: "python: conftest.py moves with what it leaves out", path: "conftest.py",
			before: conf("not PY310", `"tests/test_match.py"`), after: "-",
			more: []File{file("tests/conftest.py", "-", conf("not PY310", `"test_match.py"`))}},
		{why: "python: a new file is left out, too", path: "conftest.py", before: conf("OLD", `"tests/test_a.py"`),
			after: conf("OLD", `"tests/test_a.py", "tests/test_b.py"`), more: []File{file("tests/test_b.py", "-", pyTwo)}},
		{why: "python: another file is left out", path: "conftest.py", before: conf("OLD", `"tests/test_a.py"`),
			after: conf("OLD", `"tests/test_a.py", "tests/test_b.py"`), want: is(Escape)},
		{why: "python: the condition is another one", path: "conftest.py", before: conf("OLD", `"tests/test_a.py"`),
			after: conf("True", `"tests/test_a.py"`), want: is(Escape)},
	})
}

// If new tests make a removed test's calls and assert as much, and code was changed as
// well, the old tests decide.
func TestRewrittenTestsAreOpen(t *testing.T) {
	rest := "def test_b():\n    assert b() == 1\n"
	before := "def test_pair():\n    assert parse('a,b', 7) == load('[1, 2]', 9) == {'k': 'v', 'w': 'z'}\n\n" + rest
	added := file("tests/test_all.py", "-",
		"def test_all():\n    for name in sorted(os.listdir('samples')):\n        with open(name) as f:\n"+
			"            data = load(f.read(), strict=True)\n            assert data.version == parse(name).version, name\n")
	code := file("calc.py", "x = 1\n", "x = 2\n")
	for _, c := range []struct {
		why, after  string
		code        []File
		find, leave bool
	}{
		{"rewritten beside changed code", rest, []File{added, code}, false, true},
		{"no code was changed", rest, []File{added}, true, false},
		{"nothing calls it any more", rest, []File{file("calc.py", "x = 1\n", "x = 2\n")}, true, false},
	} {
		rep := Judge(Input{Files: append([]File{file("tests/test_a.py", before, c.after)}, c.code...)})
		if len(rep.Findings) > 0 != c.find || len(rep.Open) > 0 != c.leave {
			t.Errorf("%s: findings %v, open %v", c.why, rep.Findings, rep.Open)
		}
	}
}
