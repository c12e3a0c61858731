package state

import (
	"fmt"
	"strings"

	"git-ralph/plan"
)

// Proved is what a session has shown by its end.
type Proved struct {
	// Whole reports whether the checks ran on the result as a whole, in a fresh checkout unless
	// the settings forbid one. Green, Checks, Red and Tolerated are theirs.
	Whole     bool          `json:"whole"`
	Green     int           `json:"checks_green"`
	Checks    int           `json:"checks"`
	Red       []string      `json:"red"`
	Tolerated []string      `json:"allowed_to_fail"` // red, and allowed to be
	Criteria  CriteriaCount `json:"criteria"`        // of the tasks that are done
	LeftOut   []LeftOut     `json:"left_out"`
	Commit    string        `json:"commit,omitempty"` // that the checks ran on, "" = they did not
}

// LeftOut is a task that was not done and is not to be done.
type LeftOut struct {
	ID      plan.TaskID `json:"id"`
	ByAgent bool        `json:"by_agent"` // no person has agreed to it
	Reasons []string    `json:"reasons,omitempty"`
}

// CriteriaCount says how far criteria were shown.
type CriteriaCount struct {
	Proved   int `json:"proved"`   // a command
	Judged   int `json:"judged"`   // a model, with evidence
	Unjudged int `json:"unjudged"` // nobody
	// Failed is 0 in entries of versions that called a red command unjudged.
	Failed int `json:"failed,omitempty"`
}

// Add counts one criterion by its mark.
func (n *CriteriaCount) Add(mark string) {
	switch mark {
	case "proved":
		n.Proved++
	case "judged":
		n.Judged++
	case "failed":
		n.Failed++
	default:
		n.Unjudged++
	}
}

func (n CriteriaCount) String() string {
	s := fmt.Sprintf("%d proved, %d judged, %d unjudged", n.Proved, n.Judged, n.Unjudged)
	if n.Failed > 0 {
		s += fmt.Sprintf(", %d failed", n.Failed)
	}
	return s
}

// String is all of it in one line.
func (p Proved) String() string {
	line := "nothing was checked as a whole"
	switch {
	case p.Whole && p.Checks == 0:
		line = "there are no checks"
	case p.Whole:
		line = fmt.Sprintf("%d of %d checks green", p.Green, p.Checks)
	}
	if len(p.Red) > 0 {
		line += ", red: " + strings.Join(p.Red, ", ")
	}
	if len(p.Tolerated) > 0 {
		line += ", red and allowed to fail: " + strings.Join(p.Tolerated, ", ")
	}
	line += "; criteria: " + p.Criteria.String()
	for i, t := range p.LeftOut {
		line += ", "
		if i == 0 {
			line = strings.TrimSuffix(line, ", ") + "; left out: "
		}
		who := "a person"
		if t.ByAgent {
			who = "an agent"
		}
		line += fmt.Sprintf("%s by %s", t.ID, who)
		if len(t.Reasons) > 0 {
			line += " (" + strings.Join(t.Reasons, "; ") + ")"
		}
	}
	return line
}
