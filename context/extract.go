package agentctx

import (
	"encoding/json"
	"fmt"

	"git-ralph/notes"
)

// L1 is a handoff in one line: [T-003] Summary. Complete. 4 files.
func L1(rec notes.Record) string {
	id := rec.TaskCompleted.TaskID
	if rec.Origin.Task != "" {
		id = rec.Origin.Task
	}
	done := "Partial"
	if rec.TaskCompleted.FullyComplete {
		done = "Complete"
	}
	if rec.Origin.Verdict == "reject" {
		done = "Rejected"
	}
	n := len(rec.FilesTouched) // the agent's word, where nobody has counted
	if rec.Origin.Files != nil {
		n = *rec.Origin.Files
	}
	files := fmt.Sprintf("%d files", n)
	if n == 1 {
		files = "1 file"
	}
	line := fmt.Sprintf("[%s] %s. %s. %s.", notes.OneLine(id, 64), trimStop(notes.OneLine(rec.Summary, 200)), done, files)
	if rec.Origin.Iteration > 0 {
		line = fmt.Sprintf("Iteration %d ", rec.Origin.Iteration) + line
	}
	return line
}

func trimStop(s string) string {
	if n := len(s); n > 0 && s[n-1] == '.' {
		return s[:n-1]
	}
	return s
}

// l2 is the key facts of a handoff.
type l2 struct {
	Task        string   `json:"task"`
	Iteration   int      `json:"iteration,omitempty"`
	Decisions   []string `json:"decisions"`
	Deviations  []string `json:"deviations"`
	Constraints []string `json:"constraints"`
	Failed      []string `json:"failed"`
	Unfinished  []string `json:"unfinished"`
}

// L2 is a handoff's key decisions as one JSON object: task, decisions,
// deviations, constraints, failed (bugs not resolved), unfinished.
func L2(rec notes.Record) string {
	out := l2{Task: rec.TaskCompleted.TaskID, Iteration: rec.Origin.Iteration,
		Decisions: []string{}, Deviations: []string{}, Constraints: []string{}, Failed: []string{}, Unfinished: []string{}}
	if rec.Origin.Task != "" {
		out.Task = rec.Origin.Task
	}
	out.Task = notes.OneLine(out.Task, 64)
	const items, width = 20, 400
	put := func(to *[]string, s string) {
		if s = notes.OneLine(s, width); s != "" && len(*to) < items {
			*to = append(*to, s)
		}
	}
	for _, s := range rec.ArchitecturalNotes {
		put(&out.Decisions, s)
	}
	for _, d := range rec.Deviations {
		s := d.Planned + " → " + d.Actual
		if d.Reason != "" {
			s += " (" + d.Reason + ")"
		}
		put(&out.Deviations, s)
	}
	for _, c := range rec.ConstraintsDiscovered {
		s := c.Constraint
		if c.Workaround != "" {
			s += " (workaround: " + c.Workaround + ")"
		}
		put(&out.Constraints, s)
	}
	for _, b := range rec.BugsEncountered {
		if !b.Resolved {
			put(&out.Failed, b.Description)
		}
	}
	for _, u := range rec.UnfinishedBusiness {
		put(&out.Unfinished, u.Item)
	}
	data, err := json.Marshal(out)
	if err != nil { // strings and ints only
		return "{}"
	}
	return string(data)
}

// L3 is a pointer to a whole handoff: its file in $RALPH_CONTEXT_DIR.
func L3(rec notes.Record) string { return fmt.Sprintf("handoffs/%06d.json", rec.Origin.Iteration) }

// PreparedLimit is the most tokens a prepared prompt may have: 40 % of the
// window, so that the work itself stays in the zone where models do well.
func PreparedLimit(window int) int { return first(window, 200000) * 2 / 5 }

// MinPrepared is the fewest bytes of a prepared prompt: less is a failed
// preparation.
const MinPrepared = 50
