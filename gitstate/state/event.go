package state

import (
	"encoding/json"
	"time"

	"git-ralph/notes"
	"git-ralph/plan"
)

// EventType is what one entry of the journal records.
type EventType string

// The events.
const (
	EvInit      EventType = "init"
	EvPhase     EventType = "phase"
	EvPlan      EventType = "plan"
	EvAmend     EventType = "amend"
	EvTask      EventType = "task"
	EvStart     EventType = "iteration-start"
	EvIteration EventType = "iteration"
	EvKnowledge EventType = "knowledge"
	EvOperator  EventType = "operator"
	EvBreaker   EventType = "breaker"
	EvHalt      EventType = "halt"
	EvSession   EventType = "session"
	EvMerge     EventType = "merge"
	EvRewind    EventType = "rewind"
	EvClaim     EventType = "claim"
	EvQuestion  EventType = "question"
	EvContext   EventType = "context"
	EvStuck     EventType = "stuck"
	EvPass      EventType = "pass"
	EvBaseline  EventType = "baseline"
	EvReport    EventType = "report"
)

// Event is the one thing that an entry records. It carries results, never
// inputs: Apply needs nothing but the state and the event. Exactly one of the
// pointers is set, the one of its type.
type Event struct {
	ID    string    `json:"id"`    // ULID, lower case
	Actor string    `json:"actor"` // machine id
	Time  time.Time `json:"time"`
	Type  EventType `json:"type"`
	// Via is where a user gave this command: "page", "live view". "" = the
	// command line, or no user's command.
	Via string `json:"via,omitempty"`
	// Moved reports, where a user decided about tasks or agreed, that the branch was no longer
	// where it was proved or validated: the next run looks at it again before it is complete.
	Moved bool `json:"moved,omitempty"`

	Phase     Phase       `json:"phase,omitempty"`
	Session   int         `json:"session,omitempty"`
	Iteration int         `json:"iteration,omitempty"`
	Task      plan.TaskID `json:"task,omitempty"`
	Attempt   int         `json:"attempt,omitempty"`
	// Under is the claim under which an iteration starts or has ended; "" = there
	// is only one worker, which needs none.
	Under string `json:"claim_id,omitempty"`

	Init      *Init            `json:"init,omitempty"`
	PhaseTo   *PhaseChange     `json:"phase_change,omitempty"`
	Plan      *PlanChange      `json:"plan,omitempty"`
	Amend     *AmendChange     `json:"amend,omitempty"`
	TaskSet   *TaskChange      `json:"task_change,omitempty"`
	Start     *Start           `json:"start,omitempty"`
	Result    *Result          `json:"result,omitempty"`
	Knowledge *KnowledgeChange `json:"knowledge,omitempty"`
	Operator  *Operator        `json:"operator,omitempty"`
	Breaker   *BreakerChange   `json:"breaker,omitempty"`
	Halt      *Halt            `json:"halt,omitempty"`
	Sess      *SessionChange   `json:"session_change,omitempty"`
	Rewind    *Rewind          `json:"rewind,omitempty"`
	Claim     *ClaimChange     `json:"claim,omitempty"`
	Merge     *Merge           `json:"merge,omitempty"`
	Question  *Question        `json:"question,omitempty"`
	Context   *ContextNote     `json:"context,omitempty"`
	Stuck     *Stuck           `json:"stuck,omitempty"`
	Pass      *PassResult      `json:"pass,omitempty"`
	Baseline  []CheckState     `json:"baseline,omitempty"`
	Report    *Report          `json:"report,omitempty"`

	// Superseded lists what did not fit the state any more when the event was
	// applied, and why. It is written by Apply's caller and not an input of it.
	Superseded []Superseded `json:"superseded,omitempty"`
}

// Superseded is a part of an event that had no effect.
type Superseded struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Init begins a journal.
type Init struct {
	JournalID string            `json:"journal_id"`
	Base      string            `json:"base"` // commit, "" on an unborn branch
	Branch    string            `json:"branch"`
	Knowledge []notes.Knowledge `json:"knowledge,omitempty"` // taken over from the nearest journal
	From      string            `json:"from,omitempty"`      // that journal's id
	// Fork: the journal goes on, under an id of its own, from an entry of another
	// one, which is the parent of this entry.
	Fork *Origin `json:"fork,omitempty"`
	// Redacted: the journal begins anew with State, which is the state at the entry
	// Redacted without the redacted texts. State is written as payload files below
	// event/state and shares its blobs with the tree.
	Redacted string `json:"redacted,omitempty"`
	State    *State `json:"-"`
}

// PhaseChange moves the run to another phase.
type PhaseChange struct {
	From   Phase  `json:"from"`
	To     Phase  `json:"to"`
	Reason string `json:"reason"`
	Rounds int    `json:"rounds,omitempty"` // returns from validation to building so far
	// Request begins new work: a person's words. Questions, approvals and the
	// report of the work before are over.
	Request string `json:"request,omitempty"`
}

// PlanChange puts tasks into the plan. Tasks are written as payload files
// event/tasks/<id>.toml and share their blobs with the state.
type PlanChange struct {
	Reason string        `json:"reason"` // import, add, edit, planning, regenerate, validation, fix-first, pull-request, archive
	Goal   *string       `json:"goal,omitempty"`
	Upsert []plan.Task   `json:"-"`
	IDs    []plan.TaskID `json:"tasks,omitempty"` // ids of Upsert, in order
	Remove []plan.TaskID `json:"remove,omitempty"`
	Order  []plan.TaskID `json:"order,omitempty"` // the whole new order; empty = old order, new ones last
	Source string        `json:"source,omitempty"`
	// Aside are tasks that the change replaces: they are set aside, for AsideWhy.
	Aside    []plan.TaskID `json:"set_aside,omitempty"`
	AsideWhy string        `json:"set_aside_reason,omitempty"`
	// Retired are ids that no task may have again.
	Retired []plan.TaskID `json:"retired,omitempty"`
}

// AmendChange is one amendment of a handoff, accepted or refused.
type AmendChange struct {
	Action   string          `json:"action"`
	TaskID   plan.TaskID     `json:"task_id"`
	Accepted bool            `json:"accepted"`
	Reason   string          `json:"reason"`
	Proposal json.RawMessage `json:"proposal,omitempty"`
	Task     *plan.Task      `json:"result,omitempty"` // the task as it is afterwards
	After    plan.TaskID     `json:"after,omitempty"`
}

// TaskChange is a person's decision about tasks, or a recovery rule's.
type TaskChange struct {
	Action string        `json:"action"` // skip retry block unblock fail recover
	IDs    []plan.TaskID `json:"ids"`
	Status plan.Status   `json:"status"`
	Reason string        `json:"reason,omitempty"`
	Rule   string        `json:"rule,omitempty"` // the recovery rule that chose it
	Reset  bool          `json:"reset_attempts,omitempty"`
	// ResetFailures reports whether recovery took the failures that led here out of the count.
	ResetFailures bool `json:"reset_failures,omitempty"`
	// AllowTestChanges reports whether a person permits the tasks to weaken tests. A task in
	// work keeps its status.
	AllowTestChanges bool `json:"allow_test_changes,omitempty"`
}

// Start says that an agent is about to work.
type Start struct {
	// IterationID is the id of the iteration event that will end this start.
	// It names the evidence ref, the checkpoint ref and the code commit.
	IterationID string `json:"iteration_id"`
	Branch      string `json:"branch"`
	Tip         string `json:"tip"`        // the branch's commit, "" when unborn
	Checkpoint  string `json:"checkpoint"` // commit on refs/ralph/local/
	HeadRef     string `json:"head_ref"`
	Worktree    string `json:"worktree"`
	Agent       string `json:"agent"`
	Model       string `json:"model,omitempty"`
	Effort      string `json:"effort,omitempty"`
	Rung        int    `json:"rung,omitempty"` // of agent.ladder
	Step        string `json:"step,omitempty"`
	Role        string `json:"role,omitempty"`
	Sandbox     string `json:"sandbox"`
	// Shared are folders that a worker has without a setup of its own; NotShared is why it has none
	// although it should.
	Shared    []string `json:"shared,omitempty" toml:",omitempty"`
	NotShared string   `json:"not_shared,omitempty" toml:",omitempty"`
	Mode      string   `json:"mode,omitempty"`
	Guidance  []string `json:"guidance,omitempty"` // ids shown in this prompt
	PID       int      `json:"pid"`
	BootID    string   `json:"boot_id"`
	StartTime uint64   `json:"start_time"` // of the process, as the kernel tells it
	Host      string   `json:"host"`

	PromptTokens int      `json:"prompt_tokens,omitempty"`
	Dropped      []string `json:"dropped_sections,omitempty"`
}

// Verdict is the harness's decision about an iteration.
type Verdict string

// The verdicts.
const (
	Keep   Verdict = "keep"
	Reject Verdict = "reject"
	Halted Verdict = "halt"
)

// Tokens counts tokens.
type Tokens struct {
	Input      int64 `toml:"input" json:"input"`
	Output     int64 `toml:"output" json:"output"`
	CacheRead  int64 `toml:"cache_read" json:"cache_read"`
	CacheWrite int64 `toml:"cache_write" json:"cache_write"`
}

// Total counts every token, cache reads included.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

// Plus adds.
func (t Tokens) Plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Output + o.Output, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite}
}

// CheckRun is one check, criterion or step as it was run; the output whole is
// in evidence.
type CheckRun struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"` // test lint typecheck format criterion step
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"`
	Passed     bool   `json:"passed"`
	DurationMs int64  `json:"duration_ms"`
	Output     string `json:"output"` // cut
	TimedOut   bool   `json:"timeout,omitempty"`
	Flaky      bool   `json:"flaky,omitempty"`
	AlreadyRed bool   `json:"already_red,omitempty"`
	// Tests is how many tests ran, nil when the output does not say. NoTests:
	// it asks for tests and ran none, or there were some before; that is red.
	Tests   *int `json:"tests,omitempty"`
	NoTests bool `json:"no_tests,omitempty"`
	// Limit names what it took too much of: memory, disk or processes.
	Limit string `json:"limit,omitempty"`
	// Tolerated: red, and allowed to be by the check or the strategy.
	Tolerated bool `json:"tolerated,omitempty"`
	// Missing is the program that the command did not find or could not run.
	Missing string `json:"missing,omitempty"`
	// Problem is why it is red whatever its exit code is.
	Problem string `json:"problem,omitempty"`
	// Tail are the last lines of the output, for the live view; never stored.
	Tail []string `json:"-"`
	// Hidden: an agent may only learn that the check failed. Name and command
	// are placeholders, and there is no output.
	Hidden bool `json:"hidden,omitempty"`
	// Skipped says why it was not run; Passed says nothing then.
	Skipped string `json:"skipped,omitempty"`
}

// FileChange is one path of a difference.
type FileChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // added modified deleted typechange mode
}

// AgentRun is one agent session inside an iteration.
type AgentRun struct {
	Role       string `json:"role"`
	SessionID  string `json:"session_id,omitempty"`
	Client     string `json:"client,omitempty"`
	Model      string `json:"model,omitempty"`
	Outcome    string `json:"outcome"`
	Effort     string `json:"effort,omitempty"`
	Reason     string `json:"reason,omitempty"` // end context_budget manual retry phase_complete
	Tokens     Tokens `json:"tokens"`
	CostMicro  *int64 `json:"cost_micro_usd"`
	DurationMs int64  `json:"duration_ms"`
	Turns      int    `json:"turns,omitempty"`
	APICalls   int    `json:"api_calls,omitempty"`
	// ContextPeak is the largest share of the window in use, in percent.
	ContextPeak int `json:"context_peak,omitempty"`
}

// Result is how an iteration ended.
type Result struct {
	Verdict Verdict  `json:"verdict"`
	Partial bool     `json:"partial,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Outcome string   `json:"outcome"`
	Detail  string   `json:"detail,omitempty"`
	Title   string   `json:"title,omitempty"`
	Summary string   `json:"summary,omitempty"`

	Parent   string `json:"parent,omitempty"` // of the code commit, when kept
	Commit   string `json:"commit,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Landed   bool   `json:"landed,omitempty"`
	// Brought reports whether the commit was made on top of others' landed
	// work. Its files are then written after it.
	Brought bool `json:"brought,omitempty"`
	// TestsReleased: a person allowed the task to change tests.
	TestsReleased bool `json:"tests_released,omitempty"`
	// Reproduction is the test of a bug: it failed on the code before.
	Reproduction []TestBlob `json:"reproduction,omitempty"`
	// Untouched reports whether recovery found the worktree changed by a person and left it.
	Untouched bool `json:"untouched,omitempty"`

	// What the iteration does to its task and to the run.
	TaskStatus plan.Status `json:"task_status,omitempty"`
	Attempt    bool        `json:"spends_attempt,omitempty"`
	Failure    bool        `json:"counts_as_failure,omitempty"`
	FailText   string      `json:"failure_text,omitempty"`
	// Rung of agent.ladder on which the iteration worked, Step its name, Climbs by how
	// many rungs the task's next attempt is higher.
	Rung   int    `json:"rung,omitempty"`
	Step   string `json:"step,omitempty"`
	Climbs int    `json:"climbs,omitempty"`
	// Tree is the worktree that the attempt left, if it counts as a failure.
	Tree      string   `json:"tree,omitempty"`
	BlockedBy []string `json:"blocked_by,omitempty"`
	SkippedBy string   `json:"skipped_by,omitempty"`
	// PhaseDone reports whether a run outside building left what its phase is for; in building
	// it is the iteration of project.setup_prompt.
	PhaseDone bool `json:"phase_done,omitempty"`

	Agent      string     `json:"agent,omitempty"`
	Model      string     `json:"model,omitempty"`
	Runs       []AgentRun `json:"runs,omitempty"`
	Tokens     Tokens     `json:"tokens"`
	CostMicro  *int64     `json:"cost_micro_usd"`
	DurationMs int64      `json:"duration_ms"`
	Turns      int        `json:"turns,omitempty"`
	APICalls   int        `json:"api_calls,omitempty"`

	Checks   []CheckRun      `json:"checks,omitempty"`
	Baseline []CheckState    `json:"baseline,omitempty"` // when it changed
	Files    []FileChange    `json:"files,omitempty"`
	PutBack  []string        `json:"put_back,omitempty"`
	Notices  []string        `json:"notices,omitempty"`
	Criteria []CriterionMark `json:"criteria,omitempty"`

	Handoff       *notes.Record     `json:"-"` // payload event/handoff.json
	Learned       []notes.Knowledge `json:"learned,omitempty"`
	SessionMemory string            `json:"session_memory,omitempty"`
	Plan          *PlanChange       `json:"plan,omitempty"`       // of a planning run; payload as in a plan event
	Amendments    []json.RawMessage `json:"amendments,omitempty"` // to be judged one by one
	// Queued: they are appended to other iterations' amendments; otherwise they replace
	// them.
	Queued bool `json:"queued,omitempty"`

	PromptTokens  int      `json:"prompt_tokens,omitempty"`
	Dropped       []string `json:"dropped_sections,omitempty"`
	Sandbox       string   `json:"sandbox,omitempty"`
	ContextPeak   int      `json:"context_peak,omitempty"`
	ContextTokens int64    `json:"context_tokens,omitempty"`
	ContextWindow int64    `json:"context_window,omitempty"`
	ClaimedDone   bool     `json:"claimed_done,omitempty"`

	Passes []PassResult `json:"passes,omitempty"`
}

// TestBlob is a test file as it was kept.
type TestBlob struct {
	Path string `json:"path"`
	Blob string `json:"blob"`
}

// CriterionMark says how far a criterion of the task was shown.
type CriterionMark struct {
	Text string `json:"text"`
	Mark string `json:"mark"` // proved judged unjudged failed
}

// KnowledgeChange adds entries; each may supersede others.
type KnowledgeChange struct {
	Add    []notes.Knowledge `json:"add"`
	Source string            `json:"source"` // agent, indexer, person, harness
}

// Operator is a command of a person to a run.
type Operator struct {
	Command string `json:"command"` // pause resume stop stop-now inject set answer approve reject handoff-now reset adopt land
	Text    string `json:"text,omitempty"`
	Key     string `json:"key,omitempty"`
	Value   string `json:"value,omitempty"`
	Session int    `json:"session,omitempty"` // the session that stop means
	ID      string `json:"id,omitempty"`      // guidance or question
	Branch  string `json:"branch,omitempty"`  // that the journal belongs to from now on
	// of adopt and land: the newest kept commit that the branch has; of reset: the commit that removed the specs
	Kept *Kept `json:"kept,omitempty"`
	// Tasks that were set aside: approve agrees that they are left out, reject
	// makes them pending again. Of reset: those that leave the plan. Of answer: those that waited for it. Of
	// inject: the one that the note is for.
	Tasks []plan.TaskID `json:"tasks,omitempty"`
}

// BreakerChange moves the circuit breaker.
type BreakerChange struct {
	State  string `json:"state"` // closed open half-open
	Reason string `json:"reason,omitempty"`
	Until  string `json:"until,omitempty"` // end of the cool-down
	Reset  bool   `json:"reset,omitempty"` // the counts begin anew: the attempt that half-open allows is judged alone
}

// Halt says that a run ended or stands still without a person.
type Halt struct {
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// SessionChange begins or ends one start of the loop.
type SessionChange struct {
	Action   string            `json:"action"` // begin end
	Number   int               `json:"number"`
	Status   Status            `json:"status,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Budgets  bool              `json:"continue_budgets,omitempty"`
	Earlier  int64             `json:"earlier_ms,omitempty"` // wall clock of the starts whose budgets go on
	Mode     string            `json:"mode,omitempty"`
	Driver   string            `json:"driver,omitempty"`
	Model    string            `json:"model,omitempty"`
	Sandbox  string            `json:"sandbox,omitempty"`
	Workers  int               `json:"workers,omitempty"` // at once; 0 = the run itself works
	Versions map[string]string `json:"versions,omitempty"`
	Settings string            `json:"settings_hash,omitempty"`
	Proof    *Proved           `json:"proof,omitempty"` // what the end has shown
	PID      int               `json:"pid,omitempty"`
	Host     string            `json:"host,omitempty"`
	Proved   bool              `json:"proved,omitempty"` // at an end: a fresh checkout was green
}

// Rewind takes back what the iterations after To have put on the branch, by
// one revert commit. Numbers, attempts and spend stay as they are.
type Rewind struct {
	To       int           `json:"to"`
	Commit   string        `json:"commit,omitempty"` // the revert, "" when the branch had nothing to take back
	Parent   string        `json:"parent,omitempty"` // of the revert
	Reverted []int         `json:"reverted,omitempty"`
	Tasks    []plan.TaskID `json:"tasks,omitempty"`     // that are to be done again
	LastKept *Kept         `json:"last_kept,omitempty"` // the newest kept commit of the branch, when there is no revert
	NotFound []int         `json:"not_found,omitempty"` // iterations whose commits the branch does not have
	// Told is what agents are told from here on. Entries of earlier versions
	// have none and do not change it.
	Told *Told `json:"told,omitempty"`
}

// Told is what is known after a rewind, as it was when the iteration to which
// the run went back had ended.
type Told struct {
	Handoff   *notes.Record       `json:"handoff,omitempty"`
	Recent    []notes.Record      `json:"recent,omitempty"`
	Withdrawn []string            `json:"withdrawn,omitempty"` // ids of knowledge
	Steps     map[plan.TaskID]int `json:"steps,omitempty"`     // unfinished steps that each task has left
	Memory    string              `json:"memory,omitempty"`    // of the session
}

// ContextNote records a preparation, an index run or a window handoff.
type ContextNote struct {
	Kind   string `json:"kind"` // prep post index window harvest memory replan remote
	Action string `json:"action,omitempty"`
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Memory texts captured at a phase's or session's end.
	MemoryPhase Phase  `json:"memory_phase,omitempty"`
	Memory      string `json:"memory,omitempty"`
	Failed      bool   `json:"failed,omitempty"`
	// Of a preparation that answered research: what to look up, and what its
	// agent has found out already.
	Topics   []string `json:"topics,omitempty"`
	Research string   `json:"research,omitempty"`
	// CostMicro and Tokens are in no iteration's event.
	CostMicro *int64 `json:"cost_micro_usd,omitempty"`
	Tokens    Tokens `json:"tokens,omitzero"`
}

// Stuck says that two iterations of one task failed in the same way.
type Stuck struct {
	Reason string `json:"reason"`
}

// PassResult is the end of an optional pass.
type PassResult struct {
	Name     string `json:"name"`
	Failed   bool   `json:"failed,omitempty"`
	Findings string `json:"findings,omitempty"`
}
