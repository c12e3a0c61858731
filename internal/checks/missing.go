package checks

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"git-ralph/guard"
	"git-ralph/internal/text/lazyregexp"
)

// Shells exit with 127 when they do not find a program and with 126 when they
// may not run it. Programs that start others (env, nice, xargs, npm) pass the
// code on. make exits with 2 and prints it.
var makeError = lazyregexp.New(`(?m)^\S*make(\[\d+\])?: \*\*\* .*Error 12[67]\s*$`)

// notFound are the ends of the lines that name such a program.
var notFound = []string{": bad interpreter", ": command not found", ": Command not found", ": not found",
	": No such file or directory", ": Permission denied",
	": cannot execute", ": executable file not found in $PATH"}

// tools are modules of Python that run or judge other code, and that a project
// seldom has of its own: one that Python does not find was not installed.
const tools = "bandit|behave|black|coverage|flake8|hatch|isort|mypy|nose2?|nox|pip|pycodestyle|pyflakes|pylint|" +
	"pyright|pytest|ruff|tox|virtualenv"

// notInstalled are the last words of launchers that did not find their program and exit
// with other codes.
var notInstalled = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^\S*python[\d.]*(?:\.exe)?: No module named (` + tools + `)(?:\.\S*)?(?:;.*)?$`),
		// An alias such as xtask is the project's own, and so is what go.mod names as a tool.
		regexp.MustCompile("^error: no such (?:sub)?command: `(audit|clippy|deny|fmt|hack|llvm-cov|machete|miri|nextest|" +
			"outdated|tarpaulin|udeps)`"),
		regexp.MustCompile(`^ruby: No such file or directory -- (rake|rspec|rubocop) \(LoadError\)$`),
	}
})

// launched is a word of a line that asks Python to run one of the tools.
var launched = lazyregexp.New(
	`(?:^|[\s;&|(])(python[\d.]*)\s+(?:-[A-Za-z]+\s+)*?-m\s+(` + tools + `)(?:[\s;&|)]|$)`)

// missingProgram names the program that a command did not find or could not
// run, "" when it ended for another reason. A script that a shell was to read
// is named as a path.
func missingProgram(line string, code int, output []byte) string {
	if code == 0 {
		return ""
	}
	for _, said := range Tail(output, 10) {
		for _, re := range notInstalled() {
			if m := re.FindStringSubmatch(strings.TrimRight(said, "\r ")); m != nil {
				return m[1]
			}
		}
	}
	if code != 126 && code != 127 && !(code == 2 && makeError().Match(output)) {
		return ""
	}
	lines := cleanLines(output)
	for i := len(lines) - 1; i >= 0; i-- {
		if name := namedProgram(lines[i]); name != "" {
			return name
		}
	}
	if names := guard.Programs(line); len(names) > 0 {
		return names[0]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return first
}

// namedProgram is the program that a line of output says was not found.
func namedProgram(line string) string {
	if _, name, ok := strings.Cut(line, "command not found: "); ok { // zsh
		return strings.TrimSpace(name)
	}
	for _, end := range notFound {
		i := strings.LastIndex(line, end)
		if i < 0 {
			continue
		}
		who, before := "", strings.TrimSpace(line[:i])
		if j := strings.LastIndexAny(before, ": "); j >= 0 {
			who, _, _ = strings.Cut(before, ":")
			before = before[j+1:]
		}
		name := strings.Trim(before, "'\"`‘’“”")
		// A shell says this of the script that it was told to read, and something
		// else of a program.
		if end == ": No such file or directory" && strings.HasSuffix(filepath.Base(who), "sh") && name != "" &&
			!strings.Contains(name, "/") {
			name = "./" + name
		}
		return name
	}
	return ""
}
