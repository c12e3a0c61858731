package loop

import (
	"context"
	"encoding/json"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Prover runs what decides about an attempt: checks, criteria and steps, and
// it knows weakened tests when it sees them. Every process it starts, it
// starts with the Starter that it is given.
type Prover interface {
	// Prove runs the checks of the settings and the criteria of req.Task and
	// weighs them against the baseline.
	Prove(ctx context.Context, req ProofRequest) (ProofReport, error)
	// Steps runs the commands on one side of the agent.
	Steps(ctx context.Context, when string, req ProofRequest) (StepReport, error)
	// Replay runs commands as they were recorded once, whatever the settings say
	// now, and returns them in the same order.
	Replay(ctx context.Context, req ProofRequest, recorded []state.CheckRun) ([]state.CheckRun, error)
	// Repeat runs one command that an agent named as evidence, with its own limit
	// of time, and returns its whole output beside the record.
	Repeat(ctx context.Context, req ProofRequest, command string, limit time.Duration) (state.CheckRun, []byte, error)
	// Demands is what settings and a verify list demand of a commit, as commands
	// that were not run yet. settings is the text of a ralph.toml; nil = the
	// present settings.
	Demands(settings []byte, verify []string) ([]state.CheckRun, error)
	// Setup runs the project's setup commands in a fresh checkout or worktree.
	Setup(ctx context.Context, req ProofRequest) error
	// Weakened names what a change did to the tests: by comparing the two sides,
	// and, where tests were changed, by running the old ones on the new code.
	Weakened(ctx context.Context, req WeakenRequest) (WeakenReport, error)
	// Lacking are the programs that the checks and the verify commands of tasks
	// call by name and that PATH does not have.
	Lacking(ctx context.Context, req ProofRequest, tasks []plan.Task) ([]Lack, error)
	// BaseTests names the tests that fail as they were when the journal began.
	BaseTests(ctx context.Context, req BaseTestsRequest) ([]string, error)
	// TestFiles parts the files of a change that are tests, or serve them, from
	// files of data that may do so. Files of source code with tests inside
	// have Before with the tests of After.
	TestFiles(req WeakenRequest) (tests, data []ChangedFile)
	// RunTests runs the checks of kind test and the verify commands of a task that
	// an agent may see, where in lets it; none when in does not call back.
	RunTests(ctx context.Context, task plan.Task, in func(run func(ProofRequest) error) error) ([]TestRun, error)
	// Provable says whether anything could prove a task: a verify command of its
	// own, or a check that the baseline does not excuse.
	Provable(task plan.Task, baseline []state.CheckState) bool
}

// ProofRequest says where and for what to prove.
type ProofRequest struct {
	Start Starter
	Dir   string
	Env   []string
	Task  *plan.Task // nil = no criteria
	// Done are tasks whose verify commands have to hold as well: those that are
	// done when the work as a whole is proved.
	Done     []plan.Task
	Baseline []state.CheckState
	// Unexcused: what is red fails, whatever the baseline says. So are the
	// baseline run itself, and the last proof before `complete`.
	Unexcused bool
	// Verify are commands that have to pass besides: those that new plans carry.
	Verify []string
	// Complete runs every check: before complete, at a validation, at a landing.
	// Otherwise those are left out that wait for the end, or whose paths are not
	// among Changed; nil = the change is not known, and no check is left out for it.
	Complete bool
	Changed  []string
	// Fresh is a run in a fresh checkout.
	Fresh bool
	// Again runs f in a fresh checkout of the same code, for a check that may
	// only have failed by chance; nil = red is red.
	Again  func(f func(ProofRequest) error) error
	Result func(state.CheckRun) // told as each ends; may be nil
}

// ProofReport is the weighed result.
type ProofReport struct {
	OldTests []string // that fail as they were when the journal began
	Pass     bool
	Reasons  []string // `checks: test`, `criteria: sh test.sh`
	Runs     []state.CheckRun
	Outputs  map[string][]byte  // whole outputs by file name, for evidence
	Baseline []state.CheckState // as it is when the attempt is kept
	FailText string             // for the next prompt
	Criteria []state.CriterionMark
	Fewer    []string // checks of which fewer tests ran than when they were green last
}

// StepReport is what became of the steps on one side of the agent.
type StepReport struct {
	Runs     []state.CheckRun
	Outputs  map[string][]byte // whole outputs by file name, for evidence
	Failed   string            // the first one that failed and may not
	FailText string            // what it printed, for the next prompt
}

// ChangedFile is one file before and after; nil = absent.
type ChangedFile struct {
	Path          string
	Before, After []byte
}

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
}

// RefusedTask is a task that a planning run wanted to add and did not mend.
type RefusedTask struct{ Title, Why string }

// Claim is what an agent said about a task.
type Claim struct {
	TaskID plan.TaskID
	Text   string
}

// Learning is what ralph_append_learning recorded.
type Learning struct{ Text, Category string }

// Use says what a sandboxed process is for.
type Use struct {
	// Agent: the client itself, which needs its model and its login. Everything
	// else is a check, a criterion or a step.
	Agent bool
	// Dir is the worktree or checkout that is writable.
	Dir string
	// Home is what is seen of the home folder, which is another one for the agent.
	Home Home
	// ReadOnly mounts Dir read-only as well (planning).
	ReadOnly bool
	// ReadOnlyPaths below Dir belong to the user: nested repositories,
	// submodules, oversized files.
	ReadOnlyPaths []string
	// RunDir is the private folder of the run.
	RunDir string
	// Files are commands and scripts that must be visible.
	Files []string
}

// Sandbox is the kernel boundary of this run.
type Sandbox interface {
	// Mechanism is what `status` shows: namespaces, landlock or off.
	Mechanism() string
	// Wrapper puts commands into the sandbox; nil when it is off.
	Wrapper(Use) proc.Wrapper
	// OwnLayer names a layer of the home folder that this process alone uses.
	OwnLayer(id string) string
	// HasLayer says whether a layer was filled and is still there.
	HasLayer(layer string) bool
	// DropLayer removes a layer.
	DropLayer(layer string)
	// Inside is the path under which a process in the sandbox sees a file of
	// the run directory.
	Inside(runDir, path string) string
}

// LoginKeeper is a Sandbox that brings the login back which a client has renewed
// inside. It is called when no process of the agent is left.
type LoginKeeper interface{ KeepLogin() error }

// Live is one line of `start --json` and of the live view.
type Live struct {
	Time      time.Time   `json:"time"`
	Event     string      `json:"event"`
	Iteration int         `json:"iteration,omitempty"`
	Task      plan.TaskID `json:"task,omitempty"`
	Worker    int         `json:"worker,omitempty"` // of several
	Message   string      `json:"message"`
	Data      any         `json:"data,omitempty"`
}

// Settings are the values of the configuration that the loop reads, fixed at
// its start.
type Settings struct {
	Limits   Limits
	Mode     string
	Driver   string
	Model    string
	Fallback string
	Effort   string
	Ladder   []Step // of tasks whose attempts were rejected
	MaxTurns int
	Timeout  time.Duration
	Idle     time.Duration
	OnLimit  string // wait stop fallback
	Resume   bool   // a retry goes on in the session of the attempt before
	// Pricing is what models cost whose clients report no cost, by model name.
	Pricing      map[string]Price
	Delay        time.Duration
	CommitPrefix string
	Hooks        bool
	Sign         bool
	BaselineMode string
	Fresh        string // complete each never
	TestGuard    bool
	Protected    []string
	FailureChars int
	Unchecked    bool
	KeepEvidence int

	IterationMicroUSD int64
	IterationTokens   int64

	Roles map[Role]RoleSettings
	MCP   map[string]MCPServer

	AgentEnv []string
	CheckEnv []string

	Hash     string
	Versions map[string]string

	// Setup are the commands that the Prover's Setup runs, SetupPrompt what the
	// one iteration before the first task is told; empty = none.
	Setup       []string
	SetupPrompt string

	Critic        plan.Critic // of plans that agents make
	MaxQuestions  int
	Ask           bool
	Rounds        int
	HumanApproval bool
	ConfirmPlan   bool
	ConfirmSpecs  bool

	HandoffPercent int
	HardPercent    int
	MaxHandoffs    int
	Window         int

	Notify map[string][]string

	Index  agentctx.TriggerOptions
	Skills []string // folders, relative to the worktree's root
	Passes []Pass   // those that are enabled
}

// RoleSettings are the settings of one role, empty = as coding.
type RoleSettings struct {
	Driver   string
	Model    string
	Effort   string
	MaxTurns int
	Timeout  time.Duration
	Tools    []string
	MCP      []string
}
