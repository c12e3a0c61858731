// Package agentctx owns exactly what an agent reads this turn: the prompt, the
// addition to its system prompt, the templates both are made of, and the
// manifests, directives and triggers of the agents that help to make them.
//
// Everything is a pure function of the state and of Options: no clock, no
// file, no network; the same state gives the same bytes. The folder is called
// context; the clause is agentctx because nearly every file that uses it also
// needs the standard context.
package agentctx

import (
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// Mode says how the prompt of a coding agent is made.
type Mode string

// The modes (loop.mode).
const (
	HandoffOnly  Mode = "handoff-only"
	HandoffIndex Mode = "handoff-plus-index"
	Orchestrated Mode = "agent-orchestrated"
)

// Indexed reports whether the knowledge index is part of the mode.
func (m Mode) Indexed() bool { return m == HandoffIndex || m == Orchestrated }

// Default budgets, in tokens, and limits, in characters.
const (
	DefaultBudget      = 8000
	DefaultIndexBudget = 16000
	DefaultMemoryChars = 8000
	// MaxInstructions is how much of AGENTS.md the system addition carries.
	MaxInstructions = 8000
	// MaxSystem bounds the system addition as a whole.
	MaxSystem = 16000
)

// Name is the header of a section.
type Name string

// The sections of a prompt, in the order in which they stand.
const (
	CurrentTask       Name = "Current Task"
	FailureContext    Name = "Failure Context"
	RetrievedMemory   Name = "Retrieved Memory"
	PreviousHandoff   Name = "Previous Handoff"
	ProjectMemory     Name = "Retrieved Project Memory"
	Skills            Name = "Skills"
	PreparedContext   Name = "Prepared Context" // only in agent-orchestrated mode, in place of the middle
	OutputInstruction Name = "Output Instructions"
)

// dropOrder is the order of dropping sections from a prompt over budget. The
// task is not in it: it is cut when all of them are gone.
func dropOrder() []Name {
	return []Name{Skills, OutputInstruction, PreviousHandoff, ProjectMemory, RetrievedMemory, FailureContext}
}

// Section is one part of a prompt. Tokens are an estimate of Text with its
// header; a dropped section keeps the size it had and its text.
type Section struct {
	Name    Name
	Tokens  int
	Dropped bool
	// Reduced says that the section was shortened to fit; its text says what is
	// missing.
	Reduced bool
	Text    string
}

// Prompt is what one agent run reads.
type Prompt struct {
	Text   string
	Tokens int // estimate of Text
	// BytesPerToken is the factor of that estimate.
	BytesPerToken float64
	Budget        int // 0 = none
	Sections      []Section
	// Dropped names the sections that did not fit, and "Current Task (cut)"
	// when even the task had to be shortened.
	Dropped []string
	// System is the addition to the client's system prompt; not in the budget.
	System string
	// Guidance lists the ids of the operator's notes in the prompt.
	Guidance []string
}

// Check is one configured check as the agent is told about it.
type Check struct {
	Name    string
	Kind    string // test lint typecheck format
	Command string
	// Lenient says that the strategy in force lets it fail.
	Lenient bool
	// AtEnd checks do not run after this iteration, but before the work counts as complete.
	AtEnd bool
}

// Blocked is a command that the guard refuses, and what to use in its place.
type Blocked struct{ Command, Instead string }

// Toolchain is the project's own way to test, lint and add dependencies.
type Toolchain struct {
	Test, Lint, Typecheck, Add, Sync string
	Blocked                          []Blocked
}

// Empty reports whether there is nothing to tell.
func (t Toolchain) Empty() bool {
	return t.Test == "" && t.Lint == "" && t.Typecheck == "" && t.Add == "" && t.Sync == "" && len(t.Blocked) == 0
}

// Skill is a Markdown file of conventions that a task names.
type Skill struct{ Name, Path, Text string }

// Options is everything that comes from outside the state. The zero value of
// a number or a text means: the default, or none.
type Options struct {
	Mode Mode
	Role Role // empty = by Phase
	// Phase is empty for the state's own.
	Phase state.Phase
	// Goal is the setting project.goal; the plan's own goal stands beside it.
	Goal string

	Budget        int     // tokens; 0 = Budget or IndexBudget of the mode
	IndexBudget   int     // tokens, in the index modes; 0 = DefaultIndexBudget
	BytesPerToken float64 // 0 = DefaultBytesPerToken
	Window        int     // tokens of the model's window; 0 = 200,000
	MemoryChars   int     // of active memory; 0 = DefaultMemoryChars

	Iteration   int // of the run that reads the prompt; 0 = the state's next
	Attempt     int // 0 = the task's next
	MaxAttempts int // setting; 0 = no limit

	Checks    []Check
	Strategy  string
	Protected []string
	Toolchain Toolchain

	// Instructions is the text of InstructionsFile (AGENTS.md, CLAUDE.md or
	// GEMINI.md) as of the checkpoint.
	Instructions     string
	InstructionsFile string

	Skills []Skill
	// Missing names skills of the task that were not found.
	Missing   []string
	Templates *Templates // nil = the embedded ones
	Research  []Finding
	// PreviousPhase is the phase just left, "" when this one has run before.
	PreviousPhase state.Phase
	// Session is what the harness stored when this iteration's earlier session
	// was ended for its context window.
	Session string
	// Prepared is the context agent's text (agent-orchestrated mode).
	Prepared string
	// Failure replaces the task's own failure text; outside building it is the
	// only one.
	Failure string
	// Approach asks for another approach than that of the attempts before.
	Approach bool

	// Request is the person's sentence in discovery, or the text that
	// planning shall make tasks of.
	Request      string
	Specs        []SpecFile
	MaxQuestions int
	TaskTokens   int
	// Replaces reports whether planning sets the open tasks aside for new ones.
	Replaces bool
	Ask      bool // ralph_ask_user is offered
	Browser  bool // a browser tool is configured

	HandoffPercent int
	// Sandbox says that a kernel boundary keeps git read-only.
	Sandbox bool
}

// Finding is a result of research.
type Finding struct{ Topic, Text string }

// SpecFile is a file under specs/ with its acceptance criteria.
type SpecFile struct {
	Path     string
	Title    string
	Criteria []string
}

func (o Options) phase(s state.State) state.Phase {
	if o.Phase != "" {
		return o.Phase
	}
	if s.Run.Phase != "" {
		return s.Run.Phase
	}
	return state.Building
}

func (o Options) iteration(s state.State) int {
	if o.Iteration > 0 {
		return o.Iteration
	}
	return s.Run.Iteration + 1
}

func (o Options) mode() Mode {
	if o.Mode == "" {
		return HandoffOnly
	}
	return o.Mode
}

// budget is the mode's, in tokens.
func (o Options) budget() int {
	if o.mode().Indexed() {
		return first(o.IndexBudget, DefaultIndexBudget)
	}
	return first(o.Budget, DefaultBudget)
}

func (o Options) window() int { return first(o.Window, 200000) }

func (o Options) templates() *Templates {
	if o.Templates != nil {
		return o.Templates
	}
	return embedded()
}

func first(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// findTask returns the task, nil when there is none.
func findTask(p plan.Plan, id plan.TaskID) *plan.Task {
	for i := range p.Tasks {
		if p.Tasks[i].ID == id {
			return &p.Tasks[i]
		}
	}
	return nil
}
