package session

import (
	"context"
	"encoding/json"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// CriterionReport is what ralph_report_criterion recorded. Evidence is the
// judge's own words; Command and Expect, or File and Quote, can be checked.
type CriterionReport struct {
	Spec, Criterion, Verdict, Evidence string
	Command, Expect                    string
	File, Quote                        string
}

// Checkable says that the report names something that the harness can look at.
func (r CriterionReport) Checkable() bool { return r.Command != "" || r.File != "" && r.Quote != "" }

// Scope is what the ralph_* tools of one agent run may see and do.
type Scope struct {
	Role      Role
	Phase     state.Phase
	Iteration int
	Attempt   int
	EventID   string
	Task      *plan.Task // nil outside building
	State     state.State
	// Specs with their criteria, for ralph_report_criterion.
	Specs []agentctx.SpecFile
	// Ask puts a question to a person and waits for the answer; ok is false
	// when nobody can answer now. nil = the tool refuses.
	Ask func(ctx context.Context, q state.Question) (answer string, ok bool)
	// MaxQuestions of this run; 0 = no limit.
	MaxQuestions int
	// Critic reviews what planning adds.
	Critic plan.Critic
	// RunDir is a private folder of this run, where an endpoint may lie.
	RunDir string
}

// Toolbox serves the ralph_* tools of one agent run: in process by Call, and
// to `git ralph tool` and `git ralph mcp` by an endpoint. It records; the loop
// alone writes the journal, at the end of the iteration.
type Toolbox interface {
	Specs() []ToolSpec
	Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
	// Open counts calls that the toolbox is working on.
	Open() int
	// Connected says that a client has spoken with git ralph mcp.
	Connected() bool
	// Env tells a process of the run where the endpoint is.
	Env() []string
	Collected() Collected
	Close() error
}

// Collected is what the tools recorded.
type Collected struct {
	Complete   *Claim
	Blocked    *Claim
	Retry      string // reason of ralph_increment_retry, "" = not called
	Handoff    []byte // last ralph_submit_handoff, as it came
	Learnings  []Learning
	Memory     []string
	Tasks      []plan.Task
	Refused    []RefusedTask
	Criteria   []CriterionReport
	Knowledge  []notes.Knowledge
	Prompt     string          // ralph_submit_prompt
	Directive  json.RawMessage // ralph_submit_directive
	InProgress bool
	Asked      int
	Unanswered []string // questions that nobody answered
}

// RefusedTask is a task that a planning run wanted to add and did not repair.
type RefusedTask struct{ Title, Why string }

// Claim is what an agent said about a task.
type Claim struct {
	TaskID plan.TaskID
	Text   string
}

// Learning is what ralph_append_learning recorded.
type Learning struct{ Text, Category string }
