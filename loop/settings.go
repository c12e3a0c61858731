package loop

import (
	"time"

	agentctx "git-ralph/context"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// Settings are the values of the configuration that the loop reads, fixed at
// its start.
type Settings struct {
	Limits   Limits
	Mode     string
	Driver   string
	Model    string
	Fallback string
	// FallbackDriver is that of Loop.FallbackAgent.
	FallbackDriver string
	Effort         string
	Ladder         []Step // of tasks whose attempts were rejected
	MaxTurns       int
	Timeout        time.Duration
	Idle           time.Duration
	OnLimit        string // wait stop fallback
	Resume         bool   // a retry goes on in the session of the attempt before
	// Pricing is what models cost whose clients report no cost, by model name.
	Pricing      map[string]session.Price
	Delay        time.Duration
	CommitPrefix string
	Hooks        bool
	Sign         bool
	BaselineMode string
	Fresh        string // complete each never
	TestGuard    bool
	Protected    []string
	Unchecked    bool
	KeepEvidence int

	IterationMicroUSD int64
	IterationTokens   int64

	Roles map[session.Role]RoleSettings
	MCP   map[string]session.MCPServer

	AgentEnv []string
	CheckEnv []string
	// Logins are by driver what its client needs besides AgentEnv to log in.
	Logins map[string][]string

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

	// GateWait is how long complete waits for the checks of the pull request,
	// GateSettle how long they have to have been green.
	GateWait, GateSettle time.Duration

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
