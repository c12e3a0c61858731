package weaken

import (
	"strings"
	"testing"
)

const (
	rubyTest = "require 'minitest/autorun'\nclass CalcTest < Minitest::Test\n  def test_add\n" +
		"    assert_equal 3, add(1, 2)\n" +
		"  end\nend\n"
	phpTest = "<?php\nclass CalcTest extends TestCase {\n  function testAdd() { $this->assertSame(3, add(1, 2)); " +
		"}\n}\n"
)

// A file that a check's script sources, imports, includes or calls is code, unless
// it decides what is tested or how it is judged.
func TestCodeBehindChecks(t *testing.T) {
	runner := ". ./lib.sh\n[ \"$(greet Bob)\" = 'hello Bob' ] || { echo wrong; exit 1; }\n"
	counting := "failed=0\n. ./lib.sh\ngreet Bob > out.txt\ngrep -q hello out.txt || failed=1\nexit $failed\n"
	lib := "greet() {\n  echo \"hi $1\"\n}\n"
	better := "VERSION=2\ngreet() {\n  local name=$1\n  [ -n \"$name\" ] || return 1\n  echo \"hello $name\"\n}\n\n" +
		"shout() { greet \"$1\" | tr a-z A-Z; }\n"
	with := func(script string) map[string]string { return map[string]string{"test.sh": script} }
	py := "import calc\nimport sys\nif calc.add(2, 3) != 5:\n    sys.exit(1)\n"
	node := "const { add } = require('./calc');\nif (add(2, 3) !== 5) process.exit(1);\n"
	mk := "SRCS = a.c b.c\ntest: calc\n\t./calc 2 3 | grep -q 5\n\ncalc: $(SRCS)\n\tcc -o calc $(SRCS)\n"
	check(t, []row{
		{why: "a sourced library of functions", commands: []string{"sh test.sh"}, lookup: with(runner), path: "lib.sh",
			before: lib, after: better},
		{why: "it is new", commands: []string{"sh test.sh"}, lookup: with(runner), path: "lib.sh", before: "-",
			after: better},
		{why: "sourced by a script with a state of its own", commands: []string{"sh test.sh"}, lookup: with(counting),
			path: "lib.sh", before: lib, after: better},
		{why: "sourced by source", commands: []string{"bash test.sh"},
			lookup: with("set -e\nsource lib.sh\ntest \"$(greet Bob)\" = 'hello Bob'\n"), path: "lib.sh", before: lib,
			after: better},
		{why: "sourced beside the script", commands: []string{"sh test.sh"},
			lookup: with(". \"$(dirname \"$0\")/lib.sh\"\n[ \"$(greet x)\" = 'hello x' ]\n"), path: "lib.sh", before: lib,
			after: better},
		{why: "a program that is started as a module", commands: []string{"python3 -m todo add x"}, path: "todo/__main__.py",
			before: "print(1)\n", after: "print(2)\n"},
		{why: "a module that reads arguments", commands: []string{"python3 -m todo add x"}, path: "todo.py",
			before: "import sys\nprint(sys.argv)\n", after: "import sys\nprint(sys.argv[1:])\n"},
		{why: "a program of Go", commands: []string{"go run ./cmd/calc 2 3"}, path: "cmd/calc/main.go",
			before: "package main\n\nfunc main() {}\n", after: "package main\n\nfunc main() { run() }\n"},
		{why: "new output to compare with", commands: []string{"./calc 2 3 | diff - sums.txt"}, path: "sums.txt",
			before: "-", after: "6\n"},
		{why: "sourced for what comes behind it", commands: []string{". ./env.sh && make -q all"}, path: "env.sh",
			before: "A=1\n", after: "A=2\n"},
		{why: "sourced in the check itself", commands: []string{". ./lib.sh && [ \"$(greet Bob)\" = 'hello Bob' ]"},
			path: "lib.sh", before: lib, after: better},
		{why: "sourced through another library", commands: []string{"sh test.sh"},
			lookup: map[string]string{"test.sh": runner, "lib.sh": ". ./words.sh\n"}, path: "words.sh", before: lib,
			after: better},
		{why: "an error exit of a program that is sourced, too", commands: []string{"sh test.sh"}, lookup: with(runner),
			path: "lib.sh", before: lib, after: better +
				"usage() { echo usage >&2; exit 2; }\nif [ \"${0##*/}\" = lib.sh ]; then greet \"$@\"; exit 0; fi\n"},
		{why: "a function that exits in a substitution ends nothing", commands: []string{"sh test.sh"},
			lookup: with(runner), path: "lib.sh", before: lib, after: "greet() { echo \"hello $1\"; exit 0; }\n"},
		{why: "a library in a folder", commands: []string{"sh test.sh"},
			lookup: with(". ./src/lib.sh\n[ \"$(greet x)\" = 'hello x' ]\n"), path: "src/lib.sh", before: lib, after: better},
		{why: "a program that the check calls for its output", commands: []string{"sh test.sh"},
			lookup: with("out=$(sh greet.sh Bob)\n[ \"$out\" = 'hello Bob' ]\n"), path: "greet.sh", before: "echo hi\n",
			after: "echo \"hello $1\"\n"},
		{why: "in quotes", commands: []string{"sh test.sh"}, lookup: with("[ \"$(./greet.sh Bob)\" = 'hello Bob' ]\n"),
			path: "greet.sh", before: "#!/bin/sh\necho hi\n", after: "#!/bin/sh\necho \"hello $1\"\n"},
		{why: "into a file that is compared", commands: []string{"sh test.sh"},
			lookup: with("set -e\nsh greet.sh Bob > out\ndiff out expected\n"), path: "greet.sh", before: "echo hi\n",
			after: "echo \"hello $1\"\n"},
		{why: "a program that is called with arguments", commands: []string{"sh test.sh"},
			lookup: with("set -e\nsh app.sh good.txt\n! sh app.sh bad.txt\n"), path: "app.sh", before: "echo todo\n",
			after: "grep -q '^ok' \"$1\" || exit 1\n"},
		{why: "a program of the check's own line, piped into a comparison",
			commands: []string{"python3 calc.py 2 3 | grep -qx 5"}, path: "calc.py", before: "print(4)\n",
			after: "import sys\nprint(sum(map(int, sys.argv[1:])))\n"},
		{why: "in a test", commands: []string{"test \"$(node calc.js 2 3)\" = 5"}, path: "calc.js",
			before: "console.log(4);\n", after: "console.log(2 + 3);\n"},
		{why: "a program named as one", commands: []string{"python3 main.py --help"}, path: "main.py",
			before: "print('todo')\n", after: "import argparse\nargparse.ArgumentParser().parse_args()\n"},
		{why: "data that a script loads beside code", commands: []string{"node test.js"},
			lookup: map[string]string{"test.js": "require('./data.json');\n" + node, "data.json": "[1]\n"}, path: "calc.js",
			before: "exports.add = () => 0;\n", after: "exports.add = (a, b) => a + b;\n"},
		{why: "a step that builds", commands: []string{"sh ci.sh"},
			lookup: map[string]string{"ci.sh": "set -e\nsh build.sh\nsh test.sh\n", "test.sh": runner}, path: "build.sh",
			before: "mkdir -p out\n", after: "[ -d out ] || mkdir -p out\ncp a out/\n"},
		{why: "a test of Ruby beside another", commands: []string{"ruby -Ilib test/calc_test.rb"}, path: "test/calc_test.rb",
			before: rubyTest, after: strings.Replace(rubyTest, "end\nend",
				"end\n  def test_sub\n    assert_equal 1, sub(3, 2)\n  end\nend", 1)},
		{why: "a test of PHP beside another", commands: []string{"phpunit tests/CalcTest.php", "php tests/CalcTest.php"},
			path: "tests/CalcTest.php", before: phpTest,
			after: strings.Replace(phpTest, "}\n}", "}\n  function testSub() { $this->assertSame(1, sub(3, 2)); }\n}", 1)},
		{why: "a module that a script of a check imports", commands: []string{"python3 check.py"},
			lookup: map[string]string{"check.py": py}, path: "calc.py", before: "def add(a, b):\n    return 4\n",
			after: "import sys\n\ndef add(a, b):\n    return a + b\n\ndef main():\n    print(add(1, 2))\n    sys.exit(0)\n" +
				"\nif __name__ == '__main__':\n    sys.exit()\n"},
		{why: "a package of which a name is imported", commands: []string{"python3 check.py"},
			lookup: map[string]string{"check.py": "from pkg import calc\nassert calc.add(2, 3) == 5\n"}, path: "pkg/calc.py",
			before: "", after: "def add(a, b):\n    assert a is not None\n    return a + b\n"},
		{why: "a module that a script of a check requires", commands: []string{"node check.js"},
			lookup: map[string]string{"check.js": node}, path: "calc.js", before: "exports.add = () => 4;\n",
			after: "exports.add = (a, b) => a + b;\n"},
		{why: "a module that a script imports", commands: []string{"node check.mjs"},
			lookup: map[string]string{"check.mjs": "import { add } from './src/calc.js';\n" +
				"if (add(2, 3) !== 5) process.exit(1);\n"}, path: "src/calc.js", before: "export const add = () => 4;\n",
			after: "export const add = (a, b) => a + b;\n"},
		{why: "make: a list of sources that is included grows", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": "include sources.mk\ntest: calc\n\t./calc 2 3 | grep -q 5\n\n" +
				"calc: $(SRCS)\n\tcc -o calc $(SRCS)\n"}, path: "sources.mk", before: "SRCS = a.c b.c\n",
			after: "SRCS = a.c b.c \\\n\tc.c\n"},
		{why: "make: a list of sources grows", commands: []string{"make test"}, path: "Makefile", before: mk,
			after: replace(mk, "a.c b.c\n", "a.c b.c c.c\n")},
		{why: "make: a target compiles another file", commands: []string{"make test"}, path: "Makefile",
			before: "test:\n\tcc -o calc calc.c\n\t./calc 2 3 | grep -q 5\n",
			after:  "test:\n\tcc -O2 -o calc calc.c util.c -lm\n\t./calc 2 3 | grep -q 5\n"},
		{why: "make: a program of a recipe", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": "PY = python3\ntest:\n\t@$(PY) calc.py 2 3 | grep -qx 5\n"}, path: "calc.py",
			before: "print(4)\n", after: "print(5)\n"},
	})
}

func TestCheatsBehindChecks(t *testing.T) {
	runner := ". ./lib.sh\ngreet Bob > out.txt\n[ \"$(cat out.txt)\" = 'hello Bob' ] || { echo wrong; exit 1; }\n"
	counting := ". ./lib.sh\nfailed=0\ncheck_greet() { [ \"$1\" = \"$2\" ] || failed=$((failed+1)); }\n" +
		"greet Bob > out.txt\ncheck_greet \"$(cat out.txt)\" 'hello Bob'\nexit $failed\n"
	lib := "greet() {\n  echo \"hi $1\"\n}\n"
	with := func(script string) map[string]string { return map[string]string{"test.sh": script} }
	var rows []row
	for _, cheat := range []struct{ why, after string }{
		{"it exits", "exit 0\n" + lib},
		{"it exits without a number", lib + "exit\n"},
		{"it exits in a condition", lib + "[ -e out.txt ] || exit 0\n"},
		{"a function that the test calls exits", "greet() { echo hi; exit 0; }\n"},
		{"through another function", "greet() { stop; }\nstop() { exit 0; }\n"},
		{"a trap", "trap 'exit 0' EXIT\n" + lib},
		{"a trap by a function", "done_() { exit 0; }\ntrap done_ EXIT\n" + lib},
		{"failures are ignored", lib + "set +e\n"},
		{"nothing is run", "set -n\n" + lib},
		{"exit is redefined", lib + "exit() { :; }\n"},
		{"the bracket is redefined", lib + "[() { return 0; }\n"},
		{"test by the other syntax", lib + "function test { return 0; }\n"},
		{"an alias", "alias exit=true\n" + lib},
		{"another PATH", "PATH=$PWD/bin:$PATH\n" + lib},
		{"the shell is replaced", "exec true\n" + lib},
		{"text is run", lib + "eval \"$(cat x)\"\n"},
	} {
		rows = append(rows, row{why: cheat.why, commands: []string{"sh test.sh"}, lookup: with(runner), path: "lib.sh",
			before: lib, after: cheat.after, want: is(Config)})
	}
	check(t, append(rows, []row{
		{why: "a new library exits", commands: []string{"sh test.sh"},
			lookup: with("[ -f lib.sh ] && . ./lib.sh\ngrep -q hello out\n"), path: "lib.sh", before: "-", after: "exit 0\n",
			want: is(Config)},
		{why: "the check's own line ends with it", commands: []string{"cd . && . ./accept.sh"}, path: "accept.sh",
			before: "exit 1\n", after: "true\n", want: is(Config)},
		{why: "a module that is run", commands: []string{"python3 -m tools.accept"}, path: "tools/accept.py",
			before: "import calc\nassert calc.add(2, 2) == 4\n", after: "import calc\n", want: is(Config)},
		{why: "a package that is run", commands: []string{"python3 -m acceptance"}, path: "acceptance/__main__.py",
			before: "import calc\nassert calc.add(2, 2) == 4\n", after: "import calc\n", want: is(Config)},
		{why: "a program of Go that is named as a check", commands: []string{"go run ./cmd/accept"},
			path:   "cmd/accept/main.go",
			before: "package main\n\nfunc main() { panic(1) }\n",
			after:  "package main\n\nfunc main() {}\n", want: is(Config)},
		{why: "a source file of Java that is run", commands: []string{"java -ea Accept.java"}, path: "Accept.java",
			before: "class Accept { void main() { assert Calc.add() == 3; } }\n", after: "class Accept { void main() { } }\n",
			want: is(Config)},
		{why: "what a program's output is compared with", commands: []string{"./calc 2 3 | diff - sums.txt"},
			path: "sums.txt", before: "5\n", after: "6\n", want: is(Config)},
		{why: "the same in a script", commands: []string{"sh test.sh"}, lookup: with("./calc 2 3 > out\ncmp out sums.txt\n"),
			path: "sums.txt", before: "5\n", after: "6\n", want: is(Config)},
		{why: "the check's own line sources it", commands: []string{". ./lib.sh && [ \"$(greet)\" = hello ]"},
			path: "lib.sh", before: lib, after: "exit 0\n", want: is(Config)},
		{why: "a function of the test is redefined", commands: []string{"sh test.sh"}, lookup: with(counting),
			path: "lib.sh", before: lib, after: lib + "check_greet() { :; }\n", want: is(Config)},
		{why: "its count is set", commands: []string{"sh test.sh"}, lookup: with(counting), path: "lib.sh", before: lib,
			after: "greet() { echo hi; failed=-1; }\n", want: is(Config)},
		{why: "a setting of the check", commands: []string{"sh test.sh"},
			lookup: with(". ./test.env\nfor t in $TESTS; do sh $t || exit 1; done\n"), path: "test.env",
			before: "TESTS='a.sh b.sh'\n", after: "TESTS=a.sh\n", want: is(Config)},
		{why: "a setting in a file of another name", commands: []string{"sh test.sh"},
			lookup: with(". ./vars\nfor t in $TESTS; do sh $t || exit 1; done\n"), path: "vars", before: "TESTS='a.sh b.sh'\n",
			after: "TESTS=a.sh\n", want: is(Config)},
		{why: "a library of assertions", commands: []string{"sh test.sh"},
			lookup: with(". ./lib.sh\nassert_equal \"$(greet)\" hello\n"), path: "lib.sh",
			before: "assert_equal() { [ \"$1\" = \"$2\" ] || exit 1; }\n" + lib, after: "assert_equal() { :; }\n" + lib,
			want: is(Config)},
		{why: "a helper in a folder of tests", commands: []string{"sh test.sh"},
			lookup: with(". ./tests/common.sh\nrun \"$(greet)\" hello\n"), path: "tests/common.sh",
			before: "run() { [ \"$1\" = \"$2\" ] || exit 1; }\n", after: "run() { echo \"$1\"; }\n", want: is(Config)},
		{why: "a script that counts for its callers", commands: []string{"sh test.sh"},
			lookup: with(". ./lib.sh\nt greet hello\nexit $failed\n"), path: "lib.sh",
			before: "failed=0\nt() { [ \"$($1)\" = \"$2\" ] || failed=1; }\n", after: "failed=0\nt() { $1; }\n",
			want: is(Config)},
		{why: "a step that tests", commands: []string{"sh ci.sh"},
			lookup: map[string]string{"ci.sh": "set -e\nsh build.sh\nsh run.sh\n"}, path: "run.sh", before: "go test ./...\n",
			after: "echo ok\n", want: is(Config)},
		{why: "a step that compares", commands: []string{"sh ci.sh"},
			lookup: map[string]string{"ci.sh": "set -e\nsh step.sh\n"}, path: "step.sh",
			before: "[ \"$(./calc 2 3)\" = 5 ] || exit 1\n", after: "./calc 2 3\n", want: is(Config)},
		{why: "a step that is emptied", commands: []string{"sh ci.sh"},
			lookup: map[string]string{"ci.sh": "set -e\nsh step.sh a\n"}, path: "step.sh", before: "./calc \"$1\"\n",
			after: "exit 0\n", want: is(Config)},
		{why: "a test whose output is only logged", commands: []string{"sh t.sh | tee log"}, path: "t.sh",
			before: "./calc\n", after: "true\n", want: is(Config)},
		{why: "a test suite whose word is looked for", commands: []string{"sh run_tests.sh | grep -q OK"},
			path: "run_tests.sh", before: "./calc && echo OK\n", after: "echo OK\n", want: is(Config)},
		{why: "the same without a name that says so", commands: []string{"sh all.sh | grep -q OK"}, path: "all.sh",
			before: "[ \"$(./calc 2 3)\" = 5 ] || exit 1\necho OK\n", after: "echo OK\n", want: is(Config)},
		{why: "a module of a script of a check ends the run", commands: []string{"python3 check.py"},
			lookup: map[string]string{"check.py": "import calc\nassert calc.add(2, 3) == 5\n"}, path: "calc.py",
			before: "def add(a, b):\n    return 4\n", after: "import os\ndef add(a, b):\n    os._exit(0)\n", want: is(Config)},
		{why: "where it is loaded", commands: []string{"python3 check.py"},
			lookup: map[string]string{"check.py": "import calc\nassert calc.add(2, 3) == 5\n"}, path: "calc.py",
			before: "def add(a, b):\n    return 4\n", after: "import sys\nsys.exit(0)\n", want: is(Config)},
		{why: "in the function that is called", commands: []string{"python3 check.py"},
			lookup: map[string]string{"check.py": "from calc import add\nassert add(2, 3) == 5\n"}, path: "calc.py",
			before: "def add(a, b):\n    return 4\n", after: "def add(a, b):\n    raise SystemExit\n", want: is(Config)},
		{why: "a module of the tests", commands: []string{"python3 tools/check.py"},
			lookup: map[string]string{"tools/check.py": "from rules import run\nrun()\n"}, path: "tools/rules.py",
			before: "def run():\n    for f in files():\n        judge(f)\n", after: "def run():\n    pass\n", want: is(Config)},
		{why: "a module called like one of tests", commands: []string{"python3 check.py"},
			lookup: map[string]string{"check.py": "from test_support import run\nrun()\n"}, path: "test_support.py",
			before: "def run():\n    for f in files():\n        judge(f)\n", after: "def run():\n    pass\n", want: is(Config)},
		{why: "a module that a script requires ends the run", commands: []string{"node check.js"},
			lookup: map[string]string{"check.js": "const { add } = require('./calc');\nif (add(2, 3) !== 5) process.exit(1);\n"},
			path:   "calc.js", before: "exports.add = () => 4;\n", after: "exports.add = () => 4;\nprocess.exit(0);\n",
			want: is(Config)},
		{why: "a line of Python loads it", commands: []string{"python3 -c 'import calc; assert calc.add(2, 3) == 5'"},
			path: "calc.py", before: "def add(a, b):\n    return 4\n", after: "raise SystemExit(0)\n", want: is(Config)},
		{why: "it leaves a hook", commands: []string{"node check.js"},
			lookup: map[string]string{"check.js": "const { add } = require('./calc');\nif (add(2, 3) !== 5) process.exit(1);\n"},
			path:   "calc.js", before: "exports.add = () => 4;\n",
			after: "exports.add = () => 4;\nprocess.on('exit', () => { process.exitCode = 0; });\n", want: is(Config, Escape)},
		{why: "a test of Ruby in a check is emptied", commands: []string{"ruby test/calc_test.rb"}, path: "test/calc_test.rb",
			before: rubyTest, after: strings.Replace(rubyTest, "    assert_equal 3, add(1, 2)\n", "", 1), want: is(Assertions)},
		{why: "a program of Ruby that tests", commands: []string{"ruby test/calc.rb"}, path: "test/calc.rb",
			before: "require_relative '../calc'\nexit 1 unless add(1, 2) == 3\n", after: "exit 0\n",
			want: is(Config, Removed)},
		{why: "make: an included variable gains an option", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": "include flags.mk\ntest:\n\tgo test $(FLAGS) ./...\n"}, path: "flags.mk",
			before: "FLAGS = -count=1\n", after: "FLAGS = -count=1 -run=NONE\n", want: is(Config)},
		{why: "make: a test of a list goes", commands: []string{"make test"}, path: "Makefile",
			before: "TESTS = a.sh b.sh\ntest:\n\tfor t in $(TESTS); do sh $$t || exit 1; done\n",
			after:  "TESTS = a.sh\ntest:\n\tfor t in $(TESTS); do sh $$t || exit 1; done\n", want: is(Config)},
		{why: "make: assertions are compiled away", commands: []string{"make test"}, path: "Makefile",
			before: "test:\n\tcc -o t t.c\n\t./t\n", after: "test:\n\tcc -DNDEBUG -o t t.c\n\t./t\n", want: is(Config)},
		{why: "make: an included rule", commands: []string{"make test"},
			lookup: map[string]string{"Makefile": "include rules.mk\n"}, path: "rules.mk", before: "test:\n\tgo test ./...\n",
			after: "test:\n\ttrue\n", want: is(Config)},
	}...))
}

// A script that cannot be followed is noted, not guessed.
func TestWrappersThatCannotBeFollowed(t *testing.T) {
	rep := Judge(Input{Commands: []string{"sh all.sh"}, Files: []File{file("steps/one.sh", "grep -q a b\n", "true\n")},
		Lookup: func(p string) ([]byte, bool) {
			return []byte("for s in $STEPS; do sh \"$s\" || exit 1; done\n"), p == "all.sh"
		}})
	if len(rep.Findings) > 0 || len(rep.Notes) != 1 || rep.Notes[0].Path != "steps/one.sh" {
		t.Errorf("findings %v, notes %v", rep.Findings, rep.Notes)
	}
	rep = Judge(Input{Commands: []string{"node check.js"}, Files: []File{file("package.json", `{"main": "src/a.js"}`,
		`{"main": "src/b.js"}`)},
		Lookup: func(p string) ([]byte, bool) {
			return []byte("const { add } = require('./');\nif (add(2, 3) !== 5) process.exit(1);\n"), p == "check.js"
		}})
	if len(rep.Findings) > 0 || len(rep.Notes) != 1 {
		t.Errorf("findings %v, notes %v", rep.Findings, rep.Notes)
	}
}
