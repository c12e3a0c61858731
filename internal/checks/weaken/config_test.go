package weaken

import "testing"

func TestConfigWeakened(t *testing.T) {
	pkg := `{"name": "x", "scripts": {"pretest": "tsc", "test": "vitest run", "lint": "eslint ."}, "jest": {"testMatch": ["**/*.test.js"]}}`
	mk := "GO ?= go\nFLAGS = -count=1\n\ntest: build\n\t$(GO) test $(FLAGS) ./...\n\nbuild:\n\t$(GO) build ./...\n\nclean:\n\trm -rf bin\n"
	just := "go := \"go\"\n\ntest: build\n    {{go}} test ./...\n\nbuild:\n    {{go}} build ./...\n\nrelease:\n    goreleaser\n"
	py := "[project]\nname = \"x\"\nversion = \"1\"\n\n[tool.pytest.ini_options]\naddopts = \"-ra\"\n\n[tool.mypy]\nstrict = true\n"
	sh := "#!/bin/sh\nset -e\ngrep -q hello out.txt\n"
	check(t, []row{
		{why: "the script of a criterion is changed", commands: []string{"sh test.sh"}, path: "test.sh", before: "grep -q hello out.txt\n", after: "exit 0\n", want: is(Config)},
		{why: "the script of a criterion is deleted", commands: []string{"sh test.sh"}, path: "test.sh", before: sh, after: "-", want: is(Config)},
		{why: "a script called by its path", commands: []string{"./scripts/check --all"}, path: "scripts/check", before: "#!/bin/sh\nset -e\nmake test\n", after: "#!/bin/sh\nset -e\nmake test || true\n", want: is(Config)},
		{why: "a script behind wrappers", commands: []string{"FOO=1 timeout 60 env -i bash -eu scripts/t.sh"}, path: "scripts/t.sh", before: sh, after: "true\n", want: is(Config)},
		{why: "a script in a folder", commands: []string{"cd tools && sh t.sh"}, path: "tools/t.sh", before: sh, after: "true\n", want: is(Config)},
		{why: "a script within sh -c", commands: []string{"bash -lc 'sh t.sh && echo ok'"}, path: "t.sh", before: sh, after: "true\n", want: is(Config)},
		{why: "a script that an unchanged script calls", commands: []string{"sh all.sh"}, lookup: map[string]string{"all.sh": "set -e\nsh t.sh\n"}, path: "t.sh", before: sh, after: "true\n", want: is(Config)},
		{why: "exit 0 is put in front", commands: []string{"sh t.sh"}, path: "t.sh", before: sh, after: "#!/bin/sh\nset -e\nexit 0\ngrep -q hello out.txt\n", want: is(Config)},
		{why: "set -e is taken back", commands: []string{"sh t.sh"}, path: "t.sh", before: sh, after: "#!/bin/sh\nset -e\nset +e\ngrep -q hello out.txt\n", want: is(Config)},
		{why: "a check is put into a branch", commands: []string{"sh t.sh"}, path: "t.sh", before: sh, after: "#!/bin/sh\nset -e\nif false; then\ngrep -q hello out.txt\nfi\n", want: is(Config)},
		{why: "grep is redefined", commands: []string{"sh t.sh"}, path: "t.sh", before: sh, after: "#!/bin/sh\nset -e\ngrep() { true; }\ngrep -q hello out.txt\n", want: is(Config)},
		{why: "a last command hides the first without set -e", commands: []string{"sh t.sh"}, path: "t.sh", before: "grep -q hello out.txt\n", after: "grep -q hello out.txt\necho done\n", want: is(Config)},
		{why: "a Python check script", commands: []string{"python3 tools/verify.py"}, path: "tools/verify.py", before: "import sys\nsys.exit(run())\n", after: "print('ok')\n", want: is(Config)},
		{why: "a node check script without its ending", commands: []string{"node scripts/verify"}, path: "scripts/verify.js", before: "process.exit(run());\n", after: "console.log('ok');\n", want: is(Config)},
		{why: "package.json: the test script", commands: []string{"npm test"}, path: "package.json", before: pkg, after: replace(pkg, "vitest run", "vitest run --passWithNoTests"), want: is(Config)},
		{why: "package.json: pretest", commands: []string{"npm run test"}, path: "package.json", before: pkg, after: replace(pkg, `"pretest": "tsc"`, `"pretest": "true"`), want: is(Config)},
		{why: "package.json: a new posttest", commands: []string{"yarn test"}, path: "package.json", before: `{"scripts": {"test": "jest"}}`, after: `{"scripts": {"test": "jest", "posttest": "exit 0"}}`, want: is(Config)},
		{why: "package.json: through pnpm in a folder", commands: []string{"pnpm --dir web run test"}, path: "web/package.json", before: pkg, after: replace(pkg, "vitest run", "true"), want: is(Config)},
		{why: "package.json: the jest section", commands: []string{"npx jest --ci"}, path: "package.json", before: pkg, after: replace(pkg, "**/*.test.js", "**/none.js"), want: is(Config)},
		{why: "package.json: a script that the script runs", commands: []string{"npm run check"}, path: "package.json", before: `{"scripts": {"check": "npm run lint && npm run unit", "lint": "eslint .", "unit": "jest"}}`, after: `{"scripts": {"check": "npm run lint && npm run unit", "lint": "true", "unit": "jest"}}`, want: is(Config)},
		{why: ".npmrc gets another shell", commands: []string{"npm test"}, path: ".npmrc", before: "-", after: "script-shell=/bin/true\n", want: is(Config)},
		{why: "jest.config", commands: []string{"npm test"}, lookup: map[string]string{"package.json": `{"scripts": {"test": "jest"}}`}, path: "jest.config.js", before: "module.exports = {};\n", after: "module.exports = { testPathIgnorePatterns: ['calc'] };\n", want: is(Config)},
		{why: "a new jest.config that ignores", commands: []string{"jest"}, path: "jest.config.ts", before: "-", after: "export default { testPathIgnorePatterns: ['calc'] };\n", want: is(Config)},
		{why: "vite.config: the test block", commands: []string{"vitest run"}, path: "vite.config.ts", before: "export default { plugins: [a()], test: { globals: true } };\n", after: "export default { plugins: [a()], test: { globals: true, exclude: ['x'] } };\n", want: is(Config)},
		{why: "tsconfig: strict is turned off", commands: []string{"npx tsc --noEmit"}, path: "tsconfig.json", before: "{\n  // all of it\n  \"compilerOptions\": { \"strict\": true, },\n}\n", after: `{"compilerOptions": {"strict": false}}`, want: is(Config)},
		{why: "tsconfig: a hole in strict", commands: []string{"tsc"}, path: "tsconfig.json", before: `{"compilerOptions": {"strict": true}}`, after: `{"compilerOptions": {"strict": true, "strictNullChecks": false}}`, want: is(Config)},
		{why: "tsconfig: more is excluded", commands: []string{"tsc"}, path: "tsconfig.json", before: `{"exclude": ["dist"]}`, after: `{"exclude": ["dist", "src/calc.ts"]}`, want: is(Config)},
		{why: "eslint rules", commands: []string{"npm run lint"}, lookup: map[string]string{"package.json": pkg}, path: "eslint.config.mjs", before: "export default [{ rules: { eqeqeq: 'error' } }];\n", after: "export default [{ rules: { eqeqeq: 'off' } }];\n", want: is(Config)},
		{why: "Makefile: the recipe", commands: []string{"make test"}, path: "Makefile", before: mk, after: replace(mk, "\t$(GO) test $(FLAGS) ./...\n", "\t$(GO) test $(FLAGS) ./... || true\n"), want: is(Config)},
		{why: "Makefile: a failure is ignored", commands: []string{"make test"}, path: "Makefile", before: mk, after: replace(mk, "\t$(GO) test", "\t-$(GO) test"), want: is(Config)},
		{why: "Makefile: a variable of the recipe", commands: []string{"make -C . test"}, path: "Makefile", before: mk, after: replace(mk, "FLAGS = -count=1", "FLAGS = -run=NONE"), want: is(Config)},
		{why: "Makefile: a prerequisite goes", commands: []string{"make"}, path: "Makefile", before: mk, after: replace(mk, "test: build", "test:"), want: is(Config)},
		{why: "Makefile: .IGNORE", commands: []string{"make test"}, path: "Makefile", before: mk, after: mk + ".IGNORE: test\n", want: is(Config)},
		{why: "Makefile: another file comes first", commands: []string{"make test"}, lookup: map[string]string{"Makefile": mk}, path: "GNUmakefile", before: "-", after: "test:\n\ttrue\n", want: is(Config)},
		{why: "Makefile: a script of the recipe", commands: []string{"make test"}, lookup: map[string]string{"Makefile": "test:\n\t@sh ./t.sh\n"}, path: "t.sh", before: sh, after: "true\n", want: is(Config)},
		{why: "justfile: the recipe", commands: []string{"just test"}, path: "justfile", before: just, after: replace(just, "{{go}} test ./...", "true"), want: is(Config)},
		{why: "justfile: a variable", commands: []string{"just test"}, path: "justfile", before: just, after: replace(just, "go := \"go\"", "go := \"true\""), want: is(Config)},
		{why: "pytest: pyproject", commands: []string{"uv run pytest -q"}, path: "pyproject.toml", before: py, after: replace(py, `"-ra"`, `"-ra --ignore=tests/test_calc.py"`), want: is(Config)},
		{why: "pytest: settings that leave out appear", commands: []string{"python -m pytest"}, path: "pyproject.toml", before: "[project]\nname = \"x\"\n", after: "[project]\nname = \"x\"\n\n[tool.pytest.ini_options]\naddopts = \"--deselect tests/test_calc.py::test_div\"\n", want: is(Config)},
		{why: "pytest: a new pytest.ini takes the place of pyproject", commands: []string{"pytest"}, lookup: map[string]string{"pyproject.toml": py}, path: "pytest.ini", before: "-", after: "[pytest]\n", want: is(Config)},
		{why: "pytest: a module of its name", commands: []string{"python -m pytest"}, path: "pytest.py", before: "-", after: "print('1 passed')\n", want: is(Config)},
		{why: "python: sitecustomize", commands: []string{"python3 -m unittest"}, path: "sitecustomize.py", before: "-", after: "import os\nos._exit(0)\n", want: is(Config)},
		{why: "mypy: no longer strict", commands: []string{"mypy src"}, path: "pyproject.toml", before: py, after: replace(py, "strict = true", "strict = false"), want: is(Config)},
		{why: "ruff: new rules of ignoring", commands: []string{"ruff check ."}, path: "pyproject.toml", before: py, after: py + "\n[tool.ruff.lint]\nignore = [\"E\", \"F\"]\n", want: is(Config)},
		{why: "golangci: a linter is disabled", commands: []string{"golangci-lint run"}, path: ".golangci.yml", before: "linters:\n  enable:\n    - errcheck\n", after: "linters:\n  disable:\n    - errcheck\n", want: is(Config)},
		{why: "go: a nested module cuts tests off", commands: []string{"go test ./..."}, paths: []string{"go.mod", "calc/calc.go", "calc/calc_test.go"}, path: "calc/go.mod", before: "-", after: "module calc\n", want: is(Config)},
		{why: "go: an ignore directive", commands: []string{"go test ./..."}, path: "go.mod", before: "module x\n\ngo 1.26\n", after: "module x\n\ngo 1.26\n\nignore ./calc\n", want: is(Config)},
		{why: "cargo: a runner that runs nothing", commands: []string{"cargo test"}, path: ".cargo/config.toml", before: "-", after: "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n", want: is(Config)},
		{why: "cargo: test = false", commands: []string{"cargo test --all"}, path: "Cargo.toml", before: "[package]\nname = \"x\"\n\n[lib]\npath = \"src/lib.rs\"\n", after: "[package]\nname = \"x\"\n\n[lib]\npath = \"src/lib.rs\"\ntest = false\n", want: is(Config)},
		{why: "maven: failures are ignored", commands: []string{"./mvnw -q test"}, path: "pom.xml", before: "<project><properties></properties></project>", after: "<project><properties><maven.test.failure.ignore>true</maven.test.failure.ignore></properties></project>", want: is(Config)},
		{why: "gradle: the test block", commands: []string{"./gradlew test"}, path: "build.gradle", before: "test {\n  useJUnitPlatform()\n}\n", after: "test {\n  useJUnitPlatform()\n  exclude '**/CalcTest*'\n}\n", want: is(Config)},
	})
}

func TestConfigHonest(t *testing.T) {
	mk := "test: build\n\tgo test ./...\n\nbuild:\n\tgo build ./...\n"
	sh := "#!/bin/sh\nset -eu\ngrep -q hello out.txt\n"
	pkg := `{"name": "x", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {}}`
	check(t, []row{
		{why: "the script of a criterion is new", commands: []string{"sh test.sh"}, path: "test.sh", before: "-", after: "grep -q hello out.txt\n"},
		{why: "the script gains a check", commands: []string{"sh t.sh"}, path: "t.sh", before: sh, after: sh + "grep -q world out.txt\n[ -s out.txt ]\n"},
		{why: "the script gains a comment", commands: []string{"sh t.sh"}, path: "t.sh", before: sh, after: "#!/bin/sh\n# what must hold\nset -eu\ngrep -q hello out.txt\n"},
		{why: "another script changes", commands: []string{"sh t.sh"}, path: "build.sh", before: "make\n", after: "make all\n"},
		{why: "go.mod gets a dependency", commands: []string{"go test ./...", "go vet ./..."}, path: "go.mod", before: "module x\n", after: "module x\n\nrequire example.org/y v1.0.0\n"},
		{why: "a nested module with new code", commands: []string{"go test ./..."}, paths: []string{"go.mod", "a.go", "a_test.go"}, path: "tools/go.mod", before: "-", after: "module tools\n"},
		{why: "package.json gets a dependency", commands: []string{"npm test"}, path: "package.json", before: pkg, after: replace(pkg, `"dependencies": {}`, `"dependencies": {"left-pad": "1.0.0"}`)},
		{why: "package.json gets a script", commands: []string{"npm test"}, path: "package.json", before: pkg, after: replace(pkg, `{"test": "jest"}`, `{"test": "jest", "build": "tsc"}`)},
		{why: "the test script gets a further command", commands: []string{"npm test"}, path: "package.json", before: pkg, after: replace(pkg, `"jest"`, `"jest && node test/smoke.js"`)},
		{why: "a first package.json", commands: []string{"npm test"}, path: "package.json", before: "-", after: pkg},
		{why: "npm ci reads no script", commands: []string{"npm ci"}, path: "package.json", before: pkg, after: replace(pkg, `"jest"`, `"vitest"`)},
		{why: "Makefile: another target", commands: []string{"make test"}, path: "Makefile", before: mk, after: mk + "\nrun:\n\tgo run .\n"},
		{why: "Makefile: the target needs more", commands: []string{"make test"}, path: "Makefile", before: mk, after: replace(mk, "test: build", "test: build gen") + "\ngen:\n\tgo generate ./...\n"},
		{why: "Makefile: the target checks more", commands: []string{"make test"}, path: "Makefile", before: mk, after: replace(mk, "\tgo test ./...\n", "\tgo vet ./...\n\tgo test ./...\n")},
		{why: "Makefile: a comment", commands: []string{"make test"}, path: "Makefile", before: mk, after: "# all of it\n" + mk},
		{why: "justfile: another recipe", commands: []string{"just test"}, path: "justfile", before: "test:\n    go test ./...\n", after: "test:\n    go test ./...\n\nrun:\n    go run .\n"},
		{why: "pyproject: a dependency", commands: []string{"pytest"}, path: "pyproject.toml", before: "[project]\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = \"-ra\"\n", after: "[project]\ndependencies = [\"httpx\"]\n\n[tool.pytest.ini_options]\naddopts = \"-ra\"\n"},
		{why: "pyproject: settings of pytest appear", commands: []string{"pytest"}, path: "pyproject.toml", before: "[project]\nname = \"x\"\n", after: "[project]\nname = \"x\"\n\n[tool.pytest.ini_options]\npythonpath = [\"src\"]\n"},
		{why: "pyproject: another tool's settings", commands: []string{"pytest"}, path: "pyproject.toml", before: "[tool.black]\nline-length = 88\n", after: "[tool.black]\nline-length = 100\n"},
		{why: "tsconfig: a path alias", commands: []string{"tsc --noEmit"}, path: "tsconfig.json", before: `{"compilerOptions": {"strict": true}}`, after: `{"compilerOptions": {"strict": true, "paths": {"@/*": ["./src/*"]}, "jsx": "react-jsx"}}`},
		{why: "tsconfig: stricter", commands: []string{"tsc"}, path: "tsconfig.json", before: `{"compilerOptions": {}}`, after: `{"compilerOptions": {"strict": true}}`},
		{why: "vite.config: a plugin", commands: []string{"vitest run"}, path: "vite.config.ts", before: "export default { plugins: [a()], test: { globals: true } };\n", after: "export default { plugins: [a(), b()], test: { globals: true } };\n"},
		{why: "settings of a tool that no check runs", commands: []string{"go test ./..."}, path: ".eslintrc.json", before: `{"rules": {"a": 2}}`, after: `{"rules": {}}`},
		{why: "Cargo.toml gets a dependency", commands: []string{"cargo test"}, path: "Cargo.toml", before: "[package]\nname = \"x\"\n\n[dependencies]\n", after: "[package]\nname = \"x\"\n\n[dependencies]\nserde = \"1\"\n"},
		{why: "pom.xml gets a dependency", commands: []string{"mvn test"}, path: "pom.xml", before: "<project><dependencies></dependencies></project>", after: "<project><dependencies><dependency><artifactId>x</artifactId></dependency></dependencies></project>"},
		{why: "the tested file of a command is a test file", commands: []string{"node --test test/a.test.js", "pytest tests/test_a.py"}, path: "test/a.test.js", before: jsNode, after: jsNode + "\ntest(\"one\", () => {\n  assert.equal(add(0, 1), 1);\n});\n"},
		{why: "a workflow is changed: guard.protected has those", path: ".github/workflows/test.yml", before: "on: push\n", after: "on: never\n"},
		{why: "a CI file is added", path: ".gitlab-ci.yml", before: "-", after: "test:\n  script: true\n"},
		{why: "a CI file is deleted", path: ".ci/run", before: "go test ./...\n", after: "-"},
		{why: "documentation of CI", path: "docs/ci.md", before: "a", after: "b"},
	})
}
