// Package plan owns the work list: what a task is, which one is next, and whether
// a list makes sense. Its folder exchange reads and writes the formats of other
// tools, located has values with their lines. It stores nothing itself; in the
// journal a plan is plan.toml (the facts of the plan as a whole) and one
// tasks/<id>.toml a task.
//
// Everything here is pure: no clock, no file, no network.
package plan

import (
	"strings"
	"time"

	"git-ralph/internal/text"
)

// TaskID names a task: [A-Za-z0-9][A-Za-z0-9._-]*, at most 64 characters,
// unique in a plan without regard to case.
type TaskID string

// Status is where a task stands.
//
//	pending → in_progress → done | pending (retry) | failed | blocked | skipped
type Status string

// The states of a task.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Done       Status = "done"
	Failed     Status = "failed"
	Blocked    Status = "blocked"
	Skipped    Status = "skipped"
)

// Task is one piece of work for one context window. EncodeTask and MarshalJSON
// write it; the tags only name the fields for the decoder.
type Task struct {
	ID          TaskID `toml:"id"`
	Title       string `toml:"title"`
	Description string `toml:"description"`
	Status      Status `toml:"status"`
	// Priority: the lowest number is worked on first.
	Priority  int      `toml:"priority"`
	DependsOn []TaskID `toml:"depends_on"`
	// Criteria are text for people and agents; they are never run.
	Criteria []string `toml:"criteria"`
	// Verify are shell commands, or names or kinds of configured checks.
	Verify    []string `toml:"verify"`
	Skills    []string `toml:"skills"`
	Libraries []string `toml:"libraries"`
	NeedsDocs bool     `toml:"needs_docs"`
	// Spec is the file under specs/ that the task came from.
	Spec string `toml:"spec"`
	// Type selects a prompt template of the project, when it has one of that name;
	// a bug needs a test that shows it.
	Type string `toml:"type"`
	// Model of the coding agent on this task; "" = the setting.
	Model string `toml:"model"`
	// MaxTurns of an agent on this task; 0 = the setting.
	MaxTurns int `toml:"max_turns"`
	// MaxAttempts: nil = the setting (loop.max_attempts), 0 = no limit.
	MaxAttempts *int `toml:"max_attempts"`
	Attempts    int  `toml:"attempts"`
	// Rung of agent.ladder on which the next attempt works; 0 = the settings alone.
	Rung int `toml:"rung"`
	// Partial counts the green but unfinished steps that were kept.
	Partial         int   `toml:"partial"`
	EstimatedTokens int64 `toml:"estimated_tokens"`
	ActualTokens    int64 `toml:"actual_tokens"`
	// CostMicroUSD is millionths of a dollar; JSON shows dollars as cost_usd.
	CostMicroUSD int64 `toml:"cost_micro_usd"`
	// BlockedBy lists reasons, not ids.
	BlockedBy []string `toml:"blocked_by"`
	// SkippedBy says who left a skipped task out: ByAgent, or "" for a person.
	// What an agent leaves out is set aside: it counts as unfinished until a
	// person agrees or takes it back.
	SkippedBy string `toml:"skipped_by"`
	// SkippedIn is the iteration in which an agent did.
	SkippedIn   int        `toml:"skipped_in"`
	Notes       string     `toml:"notes"`
	CompletedAt *time.Time `toml:"completed_at"`
	// AllowTestChanges, NoChangeExpected and AllowProtected are set by people
	// and by the planning phase, never by a building agent.
	AllowTestChanges bool     `toml:"allow_test_changes"`
	NoChangeExpected bool     `toml:"no_change_expected"`
	AllowProtected   []string `toml:"allow_protected"`
	// Failure of the newest attempt, shown to the next one: at most a few
	// kilobytes, cut when the event was written.
	Failure string `toml:"failure"`
}

// Bug says that a test has to show what the task repairs.
func (t Task) Bug() bool { return strings.EqualFold(strings.TrimSpace(t.Type), "bug") }

// ByAgent in SkippedBy: an agent removed, skipped or replaced the task.
const ByAgent = "agent"

// SetAside says that an agent left the task out and no person has agreed yet.
func (t Task) SetAside() bool { return t.Status == Skipped && t.SkippedBy == ByAgent }

// PutAside leaves an unfinished task out on behalf of an agent.
func (t *Task) PutAside(iteration int, reasons ...string) {
	t.Status, t.SkippedBy, t.SkippedIn, t.BlockedBy = Skipped, ByAgent, iteration, nil
	for _, r := range reasons {
		if r = text.Clip(text.OneLine(r), 500); r != "" {
			t.BlockedBy = append(t.BlockedBy, r)
		}
	}
}

// Plan is the work list in its own order.
type Plan struct {
	Goal    string
	Created time.Time
	Tasks   []Task
	// Retired are ids of tasks that have left the plan. No task gets one again.
	Retired []TaskID
}
