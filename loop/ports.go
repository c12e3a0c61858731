package loop

import (
	"context"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
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
	// now, and returns them in the same order, weighed against req.Baseline.
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
	// Excuses says of each check of the settings that rejects no iteration why.
	Excuses() []string
}

// ProofRequest says where and for what to prove.
type ProofRequest struct {
	Start session.Starter
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
