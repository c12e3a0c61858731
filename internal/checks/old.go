package checks

import (
	"fmt"
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

// FixTask is the first task of a plan under baseline fix-first: the checks of
// these names are to become green. Its criteria are those checks, so that it
// cannot be kept while one of them is red, although the baseline excuses them
// elsewhere.
func FixTask(id plan.TaskID, priority int, red []string) plan.Task {
	names := strings.Join(red, ", ")
	return plan.Task{
		ID:          id,
		Title:       "make the red checks pass: " + names,
		Description: fmt.Sprintf("These checks failed before any work was done: %s. Find out why and mend the code, not the checks.", names),
		Status:      plan.Pending,
		Priority:    priority,
		Criteria:    []string{"every check passes that was red at the start"},
		Verify:      append([]string{}, red...),
	}
}
