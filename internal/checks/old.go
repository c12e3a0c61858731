package checks

import (
	"strings"

	"git-ralph/internal/checks/weaken"
)

// ParseTests takes the output of a test check apart, for weaken.JudgeOldTests.
// What was cut from the middle of a long output is missing in it.
func ParseTests(r Result) weaken.RunReport {
	text := StripEscapes(strings.ToValidUTF8(string(r.Output), "\uFFFD"))
	return weaken.ParseRun([]byte(text), r.ExitCode)
}

// Commands are the shell lines of checks and criteria, for weaken.Input.
func Commands(lists ...[]Check) []string {
	var out []string
	for _, l := range lists {
		for _, c := range l {
			out = append(out, c.Run)
		}
	}
	return out
}
