package checks

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"git-ralph/guard"
)

// Shells end with 127 when they do not find a program and with 126 when they may
// not run it; what starts programs for others (env, nice, xargs, npm) passes
// that on, and make turns it into a 2 that it explains.
var makeError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\S*make(\[\d+\])?: \*\*\* .*Error 12[67]\s*$`)
})

// notFound are the ends of the lines that name such a program.
var notFound = []string{": bad interpreter", ": command not found", ": Command not found", ": not found",
	": No such file or directory", ": Permission denied",
	": cannot execute", ": executable file not found in $PATH"}

// missingProgram names the program that a command did not find or could not
// run, "" when it ended for another reason. A script that a shell was to read
// is named as a path.
func missingProgram(line string, code int, output []byte) string {
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
