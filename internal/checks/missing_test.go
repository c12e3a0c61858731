package checks

import "testing"

func TestMissingProgram(t *testing.T) {
	for _, tt := range []struct {
		why, line string
		code      int
		output    string
		want      string
	}{
		{"dash", "pytest -q", 127, "/bin/sh: 1: pytest: not found\n", "pytest"},
		{"dash in a script", "sh t.sh", 127, "collecting\nt.sh: 2: pytest: not found\n", "pytest"},
		{"bash", "bash t.sh", 127, "t.sh: line 1: pytest: command not found\n", "pytest"},
		{"busybox", "sh t.sh", 127, "sh: pytest: not found\n", "pytest"},
		{"zsh", "zsh t.sh", 127, "t.sh:1: command not found: pytest\n", "pytest"},
		{"env", "env pytest", 127, "env: ‘pytest’: No such file or directory\n", "pytest"},
		{"a launcher in words", "timeout 3 pytest", 127,
			"timeout: failed to run command ‘pytest’: No such file or directory\n", "pytest"},
		{"npm passes it on", "npm test", 127, "\n> test\n> jest\n\nsh: 1: jest: not found\n", "jest"},
		{"make explains it", "make test", 2,
			"pytest -q\nmake: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", "pytest"},
		{"make in make", "make all", 2,
			"make[1]: pytest: No such file or directory\nmake[1]: *** [Makefile:2: test] Error 127\nmake[1]: Leaving " +
				"directory '/x'\nmake: *** [Makefile:4: all] Error 2\n", "pytest"},
		{"make for another reason", "make test", 2, "make: *** [Makefile:2: test] Error 1\n", ""},
		{"not executable", "./check.sh", 126, "/bin/sh: 1: ./check.sh: Permission denied\n", "./check.sh"},
		{"its interpreter is missing", "bash -c ./x", 126,
			"bash: ./x: /usr/bin/python9: bad interpreter: No such file or directory\n", "/usr/bin/python9"},
		{"a script that a shell was to read", "bash gone.sh", 127, "bash: gone.sh: No such file or directory\n", "./gone.sh"},
		{"nothing was said", "pytest -q", 127, "", "pytest"},
		{"nothing was said, a path", "./x -q", 127, "", "./x"},
		{"a module of Python", "python3 -m pytest -q", 1, "/usr/bin/python3: No module named pytest\n", "pytest"},
		{"a part of one", "python -m coverage run x", 1,
			"/v/bin/python: No module named coverage.__main__; 'coverage' is a package and cannot be directly executed\n",
			"coverage"},
		{"a module behind make", "make test", 2,
			"python3 -m pytest\n/usr/bin/python3.11: No module named pytest\nmake: *** [Makefile:2: test] Error 1\n", "pytest"},
		{"a module of the project", "python3 -m converter", 1, "/usr/bin/python3: No module named converter\n", ""},
		{"an import of the project", "python3 t.py", 1, "ModuleNotFoundError: No module named 'pytest'\n", ""},
		{"a subcommand of cargo", "cargo nextest run", 101, "error: no such command: `nextest`\n\nhelp: view all installed " +
			"commands with `cargo --list`\n", "nextest"},
		{"an alias of the project", "cargo xtask ci", 101, "error: no such command: `xtask`\n", ""},
		{"a tool that go.mod names", "go tool made", 2, "go: no such tool \"made\"\n", ""},
		{"ruby", "ruby -S rspec", 1, "ruby: No such file or directory -- rspec (LoadError)\n", "rspec"},
		{"words of a run that passed", "make", 0, "/usr/bin/python3: No module named pytest\n", ""},
		{"another code", "pytest", 1, "sh: 1: pytest: not found\n", ""},
	} {
		if got := missingProgram(tt.line, tt.code, []byte(tt.output)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.why, got, tt.want)
		}
	}
}
