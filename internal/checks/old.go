package checks

import (
	"slices"
	"strings"

	"git-ralph/guard/weaken"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/plan"
)

// ParseTests parses the output of a test check, for weaken.JudgeOldTests. Tests in the part cut
// from a long output are missing. If no test is named and the runner's last words are that tests
// failed, as with -q or behind a pipe, the run itself has failed, unless something may not have
// been loaded.
func ParseTests(r Result) weaken.RunReport {
	text := StripEscapes(strings.ToValidUTF8(string(r.Output), "\uFFFD"))
	run := weaken.ParseRun([]byte(text), r.ExitCode)
	told := len(run.NotBuilt) > 0 || errorsAlone().MatchString(text) || slices.ContainsFunc(run.Tests,
		func(t weaken.TestResult) bool { return t.Outcome == weaken.Failed || t.Outcome == weaken.Unresolved })
	if saysFailed(text) && !told {
		run.Known = true
		run.Tests = append(run.Tests, weaken.TestResult{Name: "(file)", Outcome: weaken.Failed})
	}
	return run
}

// errorsAlone are last words of failed tests that may not have been loaded, or built.
var errorsAlone = lazyregexp.New(`(?m)^FAILED \(errors=\d+|^(?:=+ )?\d+ errors? in |` +
	`\[(?:build|setup) failed\]|^FAIL$`)

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
