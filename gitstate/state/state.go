// Package state owns what a journal says: the State of a run, the Events that
// change it, Apply which is the only way it changes, and the files in which
// both are stored in an entry's tree (TOML and JSON, one file a task).
//
// Everything here is pure. Apply is total: it never fails, reads no setting,
// clock or other entry, and lists what did not fit as superseded.
package state

import (
	"fmt"
	"strings"
	"time"

	"git-ralph/notes"
	"git-ralph/plan"
)

// Format is the version of the tree that this program writes.
const Format = "1"

// Phase of the work.
type Phase string

// The phases.
const (
	Discovery  Phase = "discovery"
	Planning   Phase = "planning"
	Building   Phase = "building"
	Validation Phase = "validation"
)

// RefsMoved is the reason of a halt after which a person has to say whether
// refs stay where an agent moved them.
const RefsMoved = "refs_moved"

// SetAside begins the reason of a halt after which a person has to say whether
// the tasks that agents left out stay out.
const SetAside = "set_aside: "

// Status of the run as a whole.
type Status string

// What a run can be.
const (
	New           Status = "new"
	Ready         Status = "ready"
	Running       Status = "running"
	Waiting       Status = "waiting"
	Paused        Status = "paused"
	NeedsReview   Status = "needs_review"
	Stopped       Status = "stopped"
	Interrupted   Status = "interrupted"
	HaltedStatus  Status = "halted"
	BlockedStatus Status = "blocked"
	MaxIterations Status = "max_iterations"
	Complete      Status = "complete"
)

// State is what the tree of the newest entry says. A State is a value: Apply
// returns a new one and shares what did not change.
type State struct {
	Format    string
	Journal   Journal
	Run       Run
	Plan      plan.Plan
	Handoff   *notes.Record
	Recent    []notes.Record // newest last, at most 5
	Knowledge []notes.Knowledge
	Guidance  []Guidance
	// Memory texts by file name without extension: "session", "phase-building".
	Memory    map[string]string
	Questions []Question
	Claims    []Claim // by task
	Baseline  []CheckState
	Report    *Report
}

// Journal names the journal.
type Journal struct {
	ID      string    `toml:"id"`
	Base    string    `toml:"base"`
	Created time.Time `toml:"created"`
	Branch  string    `toml:"branch"`
	// Origins are the journals that this one was forked from, the newest first.
	Origins []Origin `toml:"origin,omitempty"`
}

// Origin is where a journal was forked from another one.
type Origin struct {
	Journal   string `toml:"journal" json:"journal"` // id
	Branch    string `toml:"branch" json:"branch"`
	Entry     string `toml:"entry" json:"entry"` // the last one that both have
	Iteration int    `toml:"iteration" json:"iteration"`
}

// Run is run.toml: where the run stands and what it has used.
type Run struct {
	Phase     Phase  `toml:"phase"`
	Status    Status `toml:"status"`
	Reason    string `toml:"reason,omitempty"` // of a halt
	Iteration int    `toml:"iteration"`        // the newest number given
	Session   int    `toml:"session"`

	Mode     string `toml:"mode,omitempty"`
	Driver   string `toml:"driver,omitempty"`
	Model    string `toml:"model,omitempty"`
	Sandbox  string `toml:"sandbox,omitempty"`
	Workers  int    `toml:"workers,omitempty"` // of the session; 0 = none
	LastTask string `toml:"last_task,omitempty"`

	// Shared are the folders that workers have without a setup of their own; NotShared is why not.
	Shared    []string `toml:"shared,omitempty"`
	NotShared string   `toml:"not_shared,omitempty"`

	StartedAt time.Time  `toml:"started_at,omitempty"` // of the session
	LastAt    time.Time  `toml:"last_activity_at,omitempty"`
	WaitUntil *time.Time `toml:"waiting_until,omitempty"`
	Rounds    int        `toml:"validation_rounds,omitempty"`
	// PhaseDone reports whether the phase has left what it is for (specs, a plan, a report).
	PhaseDone bool `toml:"phase_done,omitempty"`
	// SetUp reports whether the iteration of project.setup_prompt was kept.
	SetUp bool `toml:"set_up,omitempty"`
	// Request is the person's own words that the work came from.
	Request    string   `toml:"request,multiline,omitempty"`
	Confirmed  []string `toml:"confirmed,omitempty"`     // phases a person approved
	PauseAsked bool     `toml:"paused,omitempty"`        // pause was asked for
	StopAsked  int      `toml:"stop_session,omitempty"`  // stop was asked for this session
	StopNow    bool     `toml:"stop_now,omitempty"`      //
	AskHandoff int      `toml:"handoff_asked,omitempty"` // iteration that shall hand off now

	SessionDone       int `toml:"tasks_done_in_session,omitempty"`
	SessionIterations int `toml:"iterations_in_session,omitempty"`
	SessionReplans    int `toml:"replans_in_session,omitempty"`

	Cost    Costs   `toml:"cost_micro_usd"`
	Tokens  Tokens  `toml:"tokens"`
	Used    Used    `toml:"session_use"`
	Breaker Breaker `toml:"breaker"`

	// Current is the iteration in work, nil between iterations.
	Current *Current `toml:"current,omitempty"`
	// Untouched is the event of an interrupted iteration whose worktree was left
	// for a person, with its checkpoint, until the session after it ends.
	Untouched string `toml:"untouched,omitempty"`
	// Proved reports whether the checks passed in a fresh checkout at the end of the session.
	Proved bool `toml:"proved,omitempty"`
	// ProvedCommit is the commit that they passed on.
	ProvedCommit string `toml:"proved_commit,omitempty"`
	// LastKeep is the newest kept commit.
	LastKeep *Kept `toml:"last_keep,omitempty"`
	// Pending are amendments of the last kept handoff not judged yet.
	Pending []string `toml:"pending_amendments,omitempty"`
	// PendingOf is how many amendments that handoff proposed.
	PendingOf int `toml:"amendments_proposed,omitempty"`
	// Proposed are amendments that name their origin: several workers may hand
	// over before the first one's are judged.
	Proposed []Proposed `toml:"proposed,omitempty"`
	// Overrides are settings changed by `set` while the run continues.
	Overrides map[string]string `toml:"overrides,omitempty"`

	Index IndexState `toml:"index,omitzero"`
	// LeftPhase is the phase before this one, until a run of this one has ended.
	LeftPhase Phase `toml:"left_phase,omitempty"`
	// Stuck is the task whose last two iterations ended in the same way.
	Stuck string      `toml:"stuck_task,omitempty"`
	Prep  Preparation `toml:"preparation,omitzero"`

	Claims       int    `toml:"claims,omitempty"`       // iterations that said they were done
	FalseClaims  int    `toml:"false_claims,omitempty"` // of those, not kept
	LastFailKey  string `toml:"last_failure,omitempty"` // to see that a task is stuck
	LastFailTree string `toml:"last_failure_tree,omitempty"`
	LastFailTask string `toml:"last_failure_task,omitempty"`
	// Remote says which checks of the pull request are red, "" = none that is known.
	Remote      string `toml:"remote_checks,multiline,omitempty"`
	ContextZone Zone   `toml:"context_zone,omitzero"`
	ContextPct  int    `toml:"context_percent,omitempty"`
}

// Zone counts iterations by the largest share of the window that they used.
type Zone struct {
	Below int `toml:"below" json:"below"` // under 40 %
	In    int `toml:"in" json:"in"`       // 40 to 60 %
	Above int `toml:"above" json:"above"`
}

// Costs in millionths of a dollar.
type Costs struct {
	Iteration int64 `toml:"iteration"`
	Session   int64 `toml:"session"`
	Total     int64 `toml:"total"`
	Unknown   bool  `toml:"unknown,omitempty"` // some run reported no cost
}

// Used is what the session's budgets count, beside money.
type Used struct {
	Tokens int64 `toml:"tokens"`
	Ms     int64 `toml:"ms"`
	// EarlierMs is the wall clock of the starts before this one that a crash or an interrupt cut short.
	EarlierMs int64 `toml:"earlier_ms,omitempty"`
}

// Moved reports whether the branch, whose commit is tip, is no longer where its work was validated
// or proved as a whole. Before that there is nothing that it could have moved from.
func (s State) Moved(tip string) bool {
	switch {
	case s.Run.Phase == Validation && s.Report != nil:
		return s.Report.Commit != tip
	case s.Run.Phase == Building && s.Run.Proved:
		return s.Run.ProvedCommit != tip
	}
	return false
}

// BudgetsGoOn reports whether the next start goes on with the budgets of the session: a crash or
// an interrupt has ended it.
func (r Run) BudgetsGoOn() bool {
	return r.Session > 0 && (r.Status == Running || r.Status == Waiting || r.Status == Interrupted)
}

// SessionTime is the wall clock that the session's budget counts.
func (r Run) SessionTime(now time.Time) time.Duration {
	return now.Sub(r.StartedAt) + time.Duration(r.Used.EarlierMs)*time.Millisecond
}

// Breaker is the circuit breaker.
type Breaker struct {
	State      string `toml:"state"` // closed open half-open
	Failures   int    `toml:"failures"`
	Stagnation int    `toml:"stagnation"`
	// FailedTasks counts tasks that ran out of attempts since the last keep.
	FailedTasks int        `toml:"failed_tasks,omitempty"`
	Reason      string     `toml:"reason,omitempty"`
	Until       *time.Time `toml:"until,omitempty"`
}

// Current is the iteration in work.
type Current struct {
	EventID   string      `toml:"event_id"`
	Iteration int         `toml:"iteration"`
	Task      plan.TaskID `toml:"task,omitempty"`
	Attempt   int         `toml:"attempt,omitempty"`
	Phase     Phase       `toml:"phase"`
	Since     time.Time   `toml:"since"`
	Actor     string      `toml:"actor"`
	Start     Start       `toml:"start"`
}

// Kept is the newest code commit of the run.
type Kept struct {
	EventID   string `toml:"event_id" json:"event_id"`
	Iteration int    `toml:"iteration" json:"iteration"`
	Parent    string `toml:"parent" json:"parent"`
	Commit    string `toml:"commit" json:"commit"`
	Evidence  string `toml:"evidence" json:"evidence"`
	// Rewind reports whether the commit is a revert, so that its files are written after it.
	Rewind bool `toml:"rewind,omitempty" json:"rewind,omitempty"`
	// Reset reports whether it took back nothing but the specs of a plan that was given up.
	Reset bool `toml:"reset,omitempty" json:"reset,omitempty"`
	// Brought reports whether it came over from a linked worktree, so that its files
	// are written after it as well.
	Brought bool `toml:"brought,omitempty" json:"brought,omitempty"`
}

// IndexState counts towards the indexer's triggers.
type IndexState struct {
	Since int `toml:"iterations_since,omitempty"`
	Bytes int `toml:"bytes_since,omitempty"`
	Last  int `toml:"last_iteration,omitempty"`
}

// Preparation is what helper agents left for the next preparation of context
// (agent-orchestrated mode). All of it is bounded.
type Preparation struct {
	// Rounds counts research answers by task. Task is the one of the newest
	// answer, with its topics and what was found out by then.
	Rounds   map[string]int `toml:"research_rounds,omitempty"`
	Task     plan.TaskID    `toml:"research_task,omitempty"`
	Topics   []string       `toml:"topics,omitempty"`
	Research string         `toml:"research,multiline,omitempty"`
	// Advice is the newest directive of the context agent after an iteration.
	Advice string `toml:"advice,omitempty"`
	// Findings of passes, a line each, newest last.
	Findings []string `toml:"findings,omitempty"`
}

// Guidance is a note of the operator for the agent. It is shown from the
// first prompt after it was given until the task of that prompt ends; with several
// workers, from the first prompt of each of them until its task ends.
type Guidance struct {
	ID    string      `toml:"id"`
	Text  string      `toml:"text,multiline"`
	Time  time.Time   `toml:"time"`
	Task  plan.TaskID `toml:"task,omitempty"` // that first received it
	Shown bool        `toml:"shown,omitempty"`

	Workers int           `toml:"workers,omitempty"` // that shall have it; 0 = whoever has the next prompt
	Seen    []string      `toml:"seen,omitempty"`    // who has had it
	Tasks   []plan.TaskID `toml:"tasks,omitempty"`   // that it was shown with
}

// Question is something an agent asks a person.
type Question struct {
	ID        string    `toml:"id" json:"id"`
	Text      string    `toml:"question,multiline" json:"question"`
	Options   []string  `toml:"options,omitempty" json:"options"`
	Iteration int       `toml:"iteration" json:"iteration"`
	Asked     time.Time `toml:"asked" json:"asked"`
	Answer    string    `toml:"answer,multiline,omitempty" json:"answer,omitempty"`
	Answered  bool      `toml:"answered,omitempty" json:"answered"`
	// Tasks are those whose agents asked; their prompts carry the answer.
	Tasks []plan.TaskID `toml:"tasks,omitempty" json:"tasks,omitempty"`
}

// CheckState is what the baseline knows of a check.
type CheckState struct {
	Name    string `toml:"name" json:"name"`
	Command string `toml:"command" json:"command"` // a check that was rewritten starts anew
	Red     bool   `toml:"red" json:"red"`
	Tests   int    `toml:"tests,omitempty" json:"tests,omitempty"` // that ran when it was green last; 0 = unknown
	// Tested is true once tests ran, also where nobody counted them.
	Tested bool `toml:"tested,omitempty" json:"tested,omitempty"`
	// Spoke is true once its output spoke of tests, green or red.
	Spoke bool `toml:"spoke,omitempty" json:"spoke,omitempty"`
	// Lenient is true when it exited with 0 though its runner said that tests failed.
	Lenient bool `toml:"lenient,omitempty" json:"lenient,omitempty"`
	// Criterion: a task's verify command, whose tests are remembered like a check's.
	Criterion bool `toml:"criterion,omitempty" json:"criterion,omitempty"`
}

// Proposed is an amendment that waits to be judged.
type Proposed struct {
	Iteration int         `toml:"iteration"`
	Task      plan.TaskID `toml:"task"`
	Of        int         `toml:"of"` // how many its handoff proposed
	JSON      string      `toml:"json"`
}

// Report is the result of a validation.
type Report struct {
	Iteration int            `toml:"iteration" json:"iteration"`
	Time      time.Time      `toml:"time" json:"time"`
	Commit    string         `toml:"commit" json:"commit"`
	Passed    bool           `toml:"passed" json:"passed"`
	Checks    []ReportCheck  `toml:"checks" json:"checks"`
	Specs     []ReportSpec   `toml:"specs" json:"specs"`
	Tasks     []ReportUnmet  `toml:"unmet_tasks,omitempty" json:"unmet_tasks,omitempty"`
	Approved  *ReportVerdict `toml:"approved,omitempty" json:"approved,omitempty"`
}

// Unmet says what a user approved without proof: "approved with 1 of 3 criteria
// unmet". "" if nobody approved or everything was shown.
func (r *Report) Unmet() string {
	if r == nil || r.Passed || r.Approved == nil || !r.Approved.Approved {
		return ""
	}
	var parts []string
	red := 0
	for _, c := range r.Checks {
		if !c.Passed && !c.Tolerated {
			red++
		}
	}
	if red > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d checks red", red, len(r.Checks)))
	}
	if n := r.Count(); n.Unjudged+n.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d criteria unmet", n.Unjudged+n.Failed, n.All()))
	}
	if len(r.Tasks) > 0 {
		parts = append(parts, fmt.Sprintf("unfinished tasks: %d", len(r.Tasks)))
	}
	if len(parts) == 0 {
		parts = []string{"a validation that failed"}
	}
	return "approved with " + strings.Join(parts, ", ")
}

// ReportCheck is one check of a validation.
type ReportCheck struct {
	Name   string `toml:"name" json:"name"`
	Kind   string `toml:"kind" json:"kind"`
	Passed bool   `toml:"passed" json:"passed"`
	// Tolerated: red, and allowed to be by the check or the strategy.
	Tolerated bool `toml:"tolerated,omitempty" json:"tolerated,omitempty"`
}

// ReportSpec is one spec file.
type ReportSpec struct {
	File     string            `toml:"file" json:"file"`
	Title    string            `toml:"title" json:"title"`
	Criteria []ReportCriterion `toml:"criteria" json:"criteria"`
}

// ReportCriterion is one acceptance criterion.
type ReportCriterion struct {
	Text     string `toml:"text" json:"text"`
	Verdict  string `toml:"verdict" json:"verdict"`             // pass fail
	Evidence string `toml:"evidence,omitempty" json:"evidence"` // what the harness found, or why it failed
	// Mark is how far it was shown: proved by a command that the harness ran,
	// judged by a model with a place that the harness opened, or unjudged. ""
	// stands in reports of versions that opened nothing.
	Mark string `toml:"mark,omitempty" json:"mark"`
	// What the judge named as evidence, and its words.
	Command string `toml:"command,omitempty" json:"command,omitempty"`
	File    string `toml:"file,omitempty" json:"file,omitempty"`
	Quote   string `toml:"quote,omitempty" json:"quote,omitempty"`
	Said    string `toml:"said,omitempty" json:"said,omitempty"`
}

// ReportCount is how many criteria of a report were shown in which way.
type ReportCount struct {
	Proved, Judged, Unjudged int
	Failed                   int // that a judge found not to be met
}

// All is the number of criteria.
func (n ReportCount) All() int { return n.Proved + n.Judged + n.Unjudged + n.Failed }

func (n ReportCount) String() string {
	s := fmt.Sprintf("%d proved, %d judged, %d unjudged", n.Proved, n.Judged, n.Unjudged)
	if n.Failed > 0 {
		s += fmt.Sprintf(", %d failed", n.Failed)
	}
	return s
}

// Count counts the criteria. A pass of a version that opened no evidence is a
// judge's word.
func (r Report) Count() ReportCount {
	var n ReportCount
	for _, sp := range r.Specs {
		for _, c := range sp.Criteria {
			switch {
			case c.Verdict == "pass" && c.Mark == "proved":
				n.Proved++
			case c.Verdict == "pass":
				n.Judged++
			case c.Mark == "unjudged":
				n.Unjudged++
			default:
				n.Failed++
			}
		}
	}
	return n
}

// ReportUnmet is a failed or blocked task.
type ReportUnmet struct {
	ID     plan.TaskID `toml:"id" json:"id"`
	Status plan.Status `toml:"status" json:"status"`
	Reason string      `toml:"reason,omitempty" json:"reason"`
}

// ReportVerdict is a person's word on a report.
type ReportVerdict struct {
	Approved bool      `toml:"approved" json:"approved"`
	Reason   string    `toml:"reason,omitempty" json:"reason"`
	Time     time.Time `toml:"time" json:"time"`
}
