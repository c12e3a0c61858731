package weaken

import (
	"path"
	"slices"
	"strings"

	"git-ralph/guard/script"
	"git-ralph/internal/text/lazyregexp"
)

// A file behind a check is either of the check, which decides what is tested and
// how it is judged, or code that the check exercises. Changing the first
// is a finding. The second is what tasks are there to change: it only may
// not reach out of itself and bend the run (bends.go).
//
// Of the check are test files and files named like one, what asserts or runs a
// runner, and what the command of a check itself starts for its exit status. What
// is started for its output, with the output captured or piped into a comparison, is
// code unless it is one of the former.

// testNamed reports whether a path says that it is of the tests.
func testNamed(p string) bool {
	if IsTest(p) || isSupport(p) || inFolder(p, "ci", ".ci", "e2e", "specs", "checks", "acceptance", ".github") {
		return true
	}
	stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
	return slices.ContainsFunc(splitWords(stem), func(w string) bool {
		switch w {
		case "test", "tests", "testing", "spec", "specs", "e2e", "bats", "harness", "expect", "ci", "unittest":
			return true
		}
		return strings.HasPrefix(w, "assert")
	})
}

// checkNamed is testNamed for programs, whose names may also say that they check.
func checkNamed(p string) bool {
	stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
	return testNamed(p) || slices.ContainsFunc(splitWords(stem), func(w string) bool {
		switch w {
		case "check", "checks", "verify", "verification", "accept", "acceptance", "lint", "smoke", "qa", "selftest",
			"regression", "suite", "prove":
			return true
		}
		return false
	})
}

// programNamed reports whether a path is named as projects name their program.
func programNamed(p string) bool {
	switch strings.ToLower(strings.TrimSuffix(path.Base(p), path.Ext(p))) {
	case "main", "app", "cli", "index", "server", "manage", "__main__":
		return true
	}
	if buildNamed(p) {
		return true
	}
	return inFolder(p, "src", "lib", "cmd", "pkg", "app")
}

// loggers are programs that only copy what they read: a test run that is piped
// into one is still run for its exit status.
func loggers(program string) bool {
	switch path.Base(program) {
	case "tee", "cat", "ts", "tail", "less", "more", "sed", "tr", "fold", "column", "nl":
		return true
	}
	return false
}

// lookedAt reports whether what a command prints is compared with something, or
// kept for it. A log that nothing reads is not.
func (c simpleCommand) lookedAt() bool {
	switch c.use {
	case script.Output:
		return !loggers(c.pipe)
	case script.Redirected:
		reads := func(w string) bool { return strings.Contains(w, c.into) }
		return c.from == nil || slices.ContainsFunc(c.from.Inputs, reads) ||
			slices.ContainsFunc(c.from.Commands, func(o script.Command) bool { return slices.ContainsFunc(o.Words, reads) })
	}
	return false
}

// ofCheck reports whether a program that a command starts is of the check.
func (c *configJudge) ofCheck(p string, before []byte, cmd simpleCommand) bool {
	if checkNamed(p) || before == nil {
		return true
	}
	judges, takesInput := c.contentJudges(p, before, 0)
	if judges {
		return true
	}
	if cmd.lookedAt() {
		return false
	}
	return cmd.by == "" && !takesInput && !programNamed(p)
}

// contentJudges reports whether a program asserts something or runs a program
// that does. takesInput says that it reads arguments or standard input, like a
// program that tests call with different ones.
func (c *configJudge) contentJudges(p string, content []byte, depth int) (judges, takesInput bool) {
	if isShell(p, content) {
		return c.shellJudges(p, content, depth)
	}
	lang := languageOf(p)
	if lang == nil || len(content) > maxSource {
		return false, false
	}
	asserts := false
	for _, t := range lex(content, lang) {
		if t.kind == punct {
			continue
		}
		switch t.text {
		case "argv", "argparse", "ArgumentParser", "getopt", "ARGV", "stdin", "readline", "input", "click", "typer",
			"commander", "yargs", "gets", "STDIN":
			takesInput = true
		case "unittest", "pytest", "doctest", "node:test", "minitest", "jest", "vitest", "mocha":
			judges = true
		case "assert", "AssertionError", "strictEqual", "deepEqual":
			asserts = true
		}
	}
	return judges || asserts && !takesInput, takesInput
}

func (c *configJudge) shellJudges(p string, content []byte, depth int) (judges, takesInput bool) {
	s, err := script.Read(string(content))
	if err != nil {
		return true, false
	}
	for _, v := range []string{"1", "2", "@", "*", "#"} {
		takesInput = takesInput || s.Used[v] && !usedInFunctionsAlone(s, v) || s.Compared[v]
	}
	asserts, exits := false, false
	for _, raw := range s.Commands {
		cmd, inner := simpleCommand{words: raw.Words, use: raw.Use, by: p}.unwrap()
		if inner != "" || len(cmd.words) == 0 {
			continue
		}
		name, args := path.Base(cmd.words[0]), cmd.words[1:]
		switch name {
		case "getopts", "read":
			takesInput = true
		case "[", "[[", "test":
			asserts = asserts || raw.Use == script.Plain
			exits = exits || raw.Use == script.InCondition && strings.Contains(strings.Join(args, " "), "$(…)")
		case "grep", "egrep", "fgrep", "diff", "cmp":
			asserts = asserts || raw.Use == script.Plain
		case "exit", "return":
			exits = exits || len(args) > 0 && args[0] != "0"
		case "sh", "bash", "dash", "zsh", "ksh", "source", ".":
			if arg := firstArgument(args); arg != "" && checkNamed(arg) {
				judges = true
			}
		default:
			judges = judges || runsTests(name, args) || assertingFunction(name) || strings.Contains(cmd.words[0], "/") &&
				checkNamed(cmd.words[0])
		}
	}
	compares := slices.ContainsFunc(s.Commands, func(cmd script.Command) bool {
		switch cmd.Words[0] {
		case "grep", "diff", "cmp", "[", "[[", "test":
			return cmd.Use == script.InCondition
		}
		return false
	})
	return judges || (asserts || exits && compares) && !takesInput, takesInput
}

// usedInFunctionsAlone: $1 is then the argument of a function.
func usedInFunctionsAlone(s script.Script, name string) bool {
	for _, cmd := range s.Commands {
		if cmd.Func != "" {
			continue
		}
		for _, w := range cmd.Words {
			if strings.Contains(w, "$"+name) || strings.Contains(w, "${"+name) {
				return false
			}
		}
	}
	return len(s.Functions) > 0
}

// runsTests reports whether a command is a runner, a linter or a compiler that
// only checks.
func runsTests(name string, args []string) bool {
	switch name {
	case "pytest", "py.test", "unittest", "nose2", "tox", "nox", "jest", "vitest", "mocha", "ava", "tap", "karma",
		"cypress", "playwright",
		"tsc", "eslint", "ruff", "mypy", "pyright", "flake8", "pylint", "ctest", "rspec", "bats", "shellcheck", "phpunit",
		"prove",
		"golangci-lint", "staticcheck", "gotestsum", "rubocop", "stylelint", "biome", "nyc", "c8", "coverage":
		return true
	case "python", "python3", "go", "cargo", "npm", "pnpm", "yarn", "bun", "make", "just", "dotnet", "mvn", "mvnw",
		"gradle", "gradlew", "node",
		"deno", "mix", "swift", "zig", "dart", "flutter", "rake", "composer", "sbt":
		return slices.ContainsFunc(args, func(a string) bool {
			a = strings.TrimLeft(a, "-")
			for _, w := range []string{"test", "check", "vet", "lint", "clippy", "verify", "pytest", "unittest"} {
				if a == w || strings.HasPrefix(a, w+":") || strings.HasPrefix(a, w+"s") {
					return true
				}
			}
			return false
		})
	}
	return false
}

var assertingWord = lazyregexp.New(`^_?(assert|expect|should|fail|xfail|not_ok|nok|ok|pass|passed|failed|it|describe)` +
	`([A-Z_0-9]\w*|s|ed|)$`)

// assertingFunction reports whether a function of a script asserts by its name.
// Functions called check_x or verify_x are as often the project's own.
func assertingFunction(name string) bool { return assertingWord().MatchString(name) }

var shellUnknown = lazyregexp.New("\\$\\w+|\\$\\{[^}]*\\}|\\$\\([^)]*\\)|\\*|`")

// unresolved notes that a check runs what only the shell knows, when the change
// touched files that it could be.
func (c *configJudge) unresolved(name string, cmd simpleCommand) {
	parts := shellUnknown().Split(name, -1)
	tail := parts[len(parts)-1]
	for _, p := range c.paths() {
		f := c.files[p]
		if f.added() || IsTest(p) || tail != "" && !strings.HasSuffix(p, tail) || tail == "" && !isShell(p, f.Before) {
			continue
		}
		by := "a check"
		if cmd.by != "" {
			by = cmd.by
		}
		c.note(Config, p, "", "%s runs %s, which cannot be followed: look at the change of %s", by, name, p)
	}
}
