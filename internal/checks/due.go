package checks

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"git-ralph/guard"
)

// Left is a check that is not run now, and why.
type Left struct {
	Check Check
	Why   string
}

// Due separates the checks to run after an iteration from the others: those for
// the end, and those whose paths were not changed. Paths leave nothing out when
// the difference is unknown (nil or empty), or when no other check that can reject
// would look at the change.
func Due(configured []Check, changed []string, s Strategy) (due []Check, left []Left) {
	var elsewhere []Check
	for _, c := range configured {
		globs := guard.Protected{Globs: c.Paths}
		touched := func(p string) bool { _, hit := globs.Match(p); return hit }
		switch {
		case c.AtEnd:
			left = append(left, Left{c, "until the end"})
		case len(c.Paths) == 0 || len(changed) == 0 || slices.ContainsFunc(changed, touched):
			due = append(due, c)
		default:
			elsewhere = append(elsewhere, c)
		}
	}
	if !slices.ContainsFunc(due, func(c Check) bool { return c.Binds(s) }) {
		return append(due, elsewhere...), left
	}
	for _, c := range elsewhere {
		left = append(left, Left{c, "none of its paths was changed"})
	}
	return due, left
}

// HiddenName is what a hidden check is called wherever an agent may read.
const HiddenName = "hidden check"

const hiddenFailed = "a hidden check failed"

// HiddenMark stands for the command of a hidden check wherever an agent may
// read; it tells one from another.
func (c Check) HiddenMark() string {
	sum := sha256.Sum256([]byte(c.Name + "\x00" + c.Run))
	return fmt.Sprintf("sha256:%x", sum[:8])
}

// shown is what a result is called in a verdict.
func (r Result) shown() string {
	if r.Hidden {
		return HiddenName
	}
	return r.Name
}
