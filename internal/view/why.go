package view

import (
	"strings"

	"git-ralph/plan"
)

// whys says to a person what the first word of a verdict's reason means, and
// what they can do about it. A reason that explains itself has no row.
var whys = map[string]string{
	"not_claimed": "nothing said that the task is done; an agent of your own says so by " +
		`{"fully_complete": true} in the file named by $RALPH_HANDOFF_FILE`,
	"no_change":     "no file was changed; git ralph edit ID sets no_change_expected for a task that needs none",
	"protected":     "the agent changed files that guard.protected names; they were put back",
	"test_weakened": "a test, or what a check runs, was removed, skipped or asserts less",
	"old_tests":     "the tests as they were before fail with the new code",
	"tampered":      "the agent changed something of git's own; it was put back",
	"reproduction":  "a task of type bug begins with a test that fails on the code as it was",
	"too_large":     "a new file is larger than worktree.max_file; it is not committed",
	"nested":        "the agent made a repository inside of yours",
	"hook":          "a commit hook of the repository refused the commit",
	"hang":          "nothing happened for longer than agent.idle_timeout",
	"branch_moved":  "the branch moved while the attempt ran",

	// of a run
	"stagnation":           "that many iterations in a row ended without a task done (breaker.stagnation)",
	"consecutive_failures": "that many iterations in a row failed (breaker.failures)",
	"fresh_checks":         "a check that counts is red, so the plan is not complete",
	"remote_checks":        "complete waits for green checks of the pull request (pr.gate)",
}

// Why explains a reason such as "not_claimed" or "checks: test"; "" is what
// needs no words.
func Why(reason string) string {
	word, _, _ := strings.Cut(reason, ":")
	return whys[word]
}

// Blockers names the tasks that are not worked on, and explains once what made
// the last attempt of one fail.
func (p Printer) Blockers(of plan.Plan) {
	told := map[string]bool{}
	for _, b := range of.Blockers() {
		p.Say("  %s: %s\n", b.ID, b.Reason)
		_, reason, _ := strings.Cut(b.Reason, ": ")
		if why := Why(reason); why != "" && !told[why] && strings.HasPrefix(b.Reason, "failed") {
			told[why] = true
			p.Say("      %s\n", p.Paint("2", why))
		}
	}
}
