// Package notes owns what an iteration leaves behind for the next one and for
// people: the handoff document, knowledge entries, the memory texts made from
// them, and the git notes that put a handoff next to its code commit.
//
// Handoffs are JSON (handoff.json and recent/<n>.json in the journal),
// knowledge entries Markdown with TOML front matter (knowledge/<id>.md).
package notes

import "encoding/json"

// Handoff is the document that an iteration leaves for the next. The first
// twelve fields are required of an agent; the last three are signals.
type Handoff struct {
	TaskCompleted         TaskCompleted     `json:"task_completed"`
	Summary               string            `json:"summary"`
	Freeform              string            `json:"freeform"` // at least 50 characters
	Deviations            []Deviation       `json:"deviations"`
	BugsEncountered       []Bug             `json:"bugs_encountered"`
	ArchitecturalNotes    []string          `json:"architectural_notes"`
	UnfinishedBusiness    []Unfinished      `json:"unfinished_business"`
	Recommendations       []string          `json:"recommendations"`
	FilesTouched          []FileTouched     `json:"files_touched"`
	PlanAmendments        []json.RawMessage `json:"plan_amendments"` // plan.Amendment
	TestsAdded            []TestsAdded      `json:"tests_added"`
	ConstraintsDiscovered []Constraint      `json:"constraints_discovered"`

	RequestResearch    []string     `json:"request_research,omitempty"`
	RequestHumanReview *HumanReview `json:"request_human_review,omitempty"`
	ConfidenceLevel    string       `json:"confidence_level,omitempty"` // high | medium | low
}

// TaskCompleted is the agent's claim about its task.
type TaskCompleted struct {
	TaskID        string `json:"task_id"`
	Summary       string `json:"summary"`
	FullyComplete bool   `json:"fully_complete"`
}

// Deviation from the plan.
type Deviation struct {
	Planned string `json:"planned"`
	Actual  string `json:"actual"`
	Reason  string `json:"reason"`
}

// Bug met on the way.
type Bug struct {
	Description string `json:"description"`
	Resolution  string `json:"resolution"`
	Resolved    bool   `json:"resolved"`
}

// Unfinished business.
type Unfinished struct {
	Item     string `json:"item"`
	Reason   string `json:"reason"`
	Priority string `json:"priority"`
}

// FileTouched names a file that the agent says it changed.
type FileTouched struct {
	Path   string `json:"path"`
	Action string `json:"action"`
}

// TestsAdded names tests that the agent says it wrote.
type TestsAdded struct {
	File      string   `json:"file"`
	TestNames []string `json:"test_names"`
}

// Constraint discovered while working.
type Constraint struct {
	Constraint string `json:"constraint"`
	Impact     string `json:"impact"`
	Workaround string `json:"workaround,omitempty"`
}

// HumanReview asks for a person.
type HumanReview struct {
	Needed bool   `json:"needed"`
	Reason string `json:"reason"`
}

// Record is a handoff with where it came from. The document itself keeps its
// own keys, so that a reader of handoff.json sees what the agent wrote.
type Record struct {
	Handoff
	Origin Origin `json:"ralph"`
}

// Origin is the iteration of a handoff and its verdict.
type Origin struct {
	Iteration int    `json:"iteration"`
	Task      string `json:"task"`
	EventID   string `json:"event_id"`
	Verdict   string `json:"verdict"`
	// Source is "agent" or "harness" (built from the tree difference, the
	// transcript and the exit, because the agent left none).
	Source string `json:"source"`
	// Files is how many files the attempt changed, by the difference; nil in
	// records of versions that did not count them.
	Files *int `json:"files,omitempty"`
}
