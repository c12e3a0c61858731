package checks

import (
	"slices"
	"strings"

	"git-ralph/internal/checks/weaken"
	"git-ralph/plan"
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

// CommandsOf are the shell lines of the settings' checks and of everything that
// tasks are verified by, done ones included: a script that proved a task must
// go on proving it.
func CommandsOf(configured []Check, tasks []plan.Task) []string {
	out := Commands(configured)
	for _, t := range tasks {
		if t.Status != plan.Skipped {
			out = append(out, Commands(Criteria(t.Verify, configured))...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
