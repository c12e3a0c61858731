package session

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"git-ralph/internal/proc"
)

// Agent is a coding client. Run starts it once with one prompt and returns
// when the client has ended; every process it started belongs to req.Start and
// is gone when the caller has released that. Run streams events while it works
// and never returns an error for anything the client did: that is an Outcome.
// An error means that the harness itself could not do its part.
type Agent interface {
	Run(ctx context.Context, req Request, events func(AgentEvent)) (Result, error)
}

// Starter starts a process under the guard of this iteration (sandbox, process
// group, environment). It is the only way an Agent may start anything.
type Starter func(ctx context.Context, cmd proc.Command) (*proc.Process, error)

// Role says what an agent run is for.
type Role string

// The roles of agent runs. A pass has its own name as role.
const (
	RoleCoding      Role = "coding"
	RoleDiscovery   Role = "discovery"
	RolePlanning    Role = "planning"
	RoleValidation  Role = "validation"
	RoleContextPrep Role = "context-prep"
	RoleContextPost Role = "context-post"
	RoleIndexer     Role = "indexer"
)

// Request is everything an agent run needs. All paths are absolute.
type Request struct {
	Role      Role
	Phase     string // discovery, planning, building, validation
	TaskID    string
	EventID   string // id of the iteration's event
	Iteration int
	Attempt   int

	Prompt string
	// Resume is the session of this client to go on in, nil = a fresh one. Only
	// a Resumer is asked; when the session is gone it begins a fresh one.
	Resume *ClientSession
	// KeepSession asks for a session in which a later run can go on.
	KeepSession bool
	// System is added to the client's system prompt (phase, rules, project instructions).
	System string

	Model         string
	FallbackModel string
	// Effort is how much the model thinks, "" = the client's own choice. A client
	// without such a choice ignores it.
	Effort   string
	MaxTurns int // 0 = the client's own limit
	// Tools are canonical names (Read, Write, Bash …); nil = all of the phase.
	Tools []string
	// Timeout is the wall clock of the run, Idle the longest silence while no
	// tool call of the agent is open; 0 = none.
	Timeout time.Duration
	Idle    time.Duration
	// MaxCostMicroUSD is given to clients that can stop themselves; 0 = none.
	MaxCostMicroUSD int64

	Dir         string   // the worktree's root, where the agent runs
	Env         []string // the environment of the agent, complete
	PromptFile  string   // holds Prompt, for clients that read files
	HandoffFile string   // where the agent may leave its handoff; does not exist before
	// HandoffSchema is the JSON Schema of the handoff, for clients that enforce one.
	HandoffSchema json.RawMessage

	// ToolSpecs are the ralph_* tools offered in this run; CallTool executes one
	// of them in the harness and answers with a JSON value.
	ToolSpecs []ToolSpec
	CallTool  func(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
	// OpenCalls counts the ralph_* calls of this run that the harness is
	// executing right now by another way than CallTool (git ralph tool). While
	// one is open the client waits for us and is not idle. nil = none.
	OpenCalls func() int
	// ToolsConnected says whether a client has spoken with the MCP server of
	// these tools (git ralph mcp) in this run. nil = nobody knows.
	ToolsConnected func() bool
	// Judge decides about a tool call of the client before it runs.
	Judge func(ToolUse) Permission
	// FollowUp is asked each time the client has finished a prompt, before its
	// session is closed: Result is how that prompt ended. With again the client
	// gets a further prompt in the same session (a handoff that is missing, one
	// to be repaired). What a further prompt ends with never makes the run worse.
	// nil = never; drivers whose client takes one prompt a run do not call it.
	FollowUp func(Result) (prompt string, again bool)
	// MCP are further MCP servers that the role may use, by name.
	MCP map[string]MCPServer

	// Self is this program as the client and its hooks reach it. Called by this
	// path it finds the run's policy and tools.
	Self  string
	Start Starter
	// Transcript receives the client's output, bounded by the writer itself.
	Transcript io.Writer
	// Log receives warnings for people.
	Log func(format string, args ...any)
}

// ToolSpec describes one ralph_* tool. Schema is a JSON Schema of its arguments.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// MCPServer is a server of the settings ([mcp.<name>]).
type MCPServer struct {
	Command []string
	URL     string
	Env     map[string]string
}

// ToolUse is a tool call that a client is about to make.
type ToolUse struct {
	Tool  string          // the client's own name
	Input json.RawMessage // the client's own arguments
}

// Permission answers a ToolUse. With Updated the call runs with other arguments.
type Permission struct {
	Allow   bool
	Reason  string // shown to the agent when denied: the fact and what to do instead
	Updated json.RawMessage
}

// AgentEventKind is what a driver reports while the client works.
type AgentEventKind string

// Kinds of AgentEvent.
const (
	EventText     AgentEventKind = "text"
	EventOutput   AgentEventKind = "output"    // a line that a command printed; not every one
	EventToolCall AgentEventKind = "tool_call" // Tool, Text = a short form of the arguments; opens a call
	EventToolDone AgentEventKind = "tool_done" // closes a call
	EventDenied   AgentEventKind = "denied"    // Tool, Text = reason
	EventUsage    AgentEventKind = "usage"     // Usage = increments since the last usage event
	EventLimit    AgentEventKind = "limit"     // Text; Until when known
	EventRetry    AgentEventKind = "retry"     // the client itself retries its provider
	EventSession  AgentEventKind = "session"   // Text = the client's session id; Model, Version when known
	EventWarning  AgentEventKind = "warning"
)

// AgentEvent is one thing that happened in a run.
type AgentEvent struct {
	Kind    AgentEventKind
	Text    string
	Tool    string
	Path    string // the file that a tool call names, "" = none
	Model   string
	Version string
	Usage   Usage
	Until   time.Time
	// Agent is the sub-agent that says or does it, "" = the agent itself. With
	// EventToolDone it is the one that has ended.
	Agent string
}

// Usage counts tokens and money. Cost is nil while it is unknown, in
// millionths of a dollar.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
	CostMicroUSD                         *int64
	// ContextTokens is the present use of the window, ContextWindow its
	// capacity; 0 = not reported. Not increments.
	ContextTokens, ContextWindow int64
	Turns, APICalls              int
}

// Total is the sum of all tokens, cache reads included.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// OutcomeKind says how an agent run ended.
type OutcomeKind string

// The ends of a run.
const (
	Completed        OutcomeKind = "completed"
	MaxTurns         OutcomeKind = "max_turns"
	ContextLimit     OutcomeKind = "context_limit"
	RateLimited      OutcomeKind = "rate_limited"
	UsageLimit       OutcomeKind = "usage_limit"
	Overloaded       OutcomeKind = "overloaded"
	AuthFailed       OutcomeKind = "auth"
	PermissionDenied OutcomeKind = "permission_denied"
	Hang             OutcomeKind = "hang"
	Crashed          OutcomeKind = "crashed"
	Interrupted      OutcomeKind = "interrupted"
	ProtocolError    OutcomeKind = "protocol_error"
	BudgetExceeded   OutcomeKind = "budget"      // one of our limits or the client's was crossed
	NotStarted       OutcomeKind = "not_started" // a step before the agent failed
)

// Result is how a run ended and what it used.
type Result struct {
	Outcome OutcomeKind
	// Detail is one line for people: "signal 9", "idle 5m", "429 …".
	Detail string
	// Until is when a limit ends, if the client said so.
	Until time.Time
	Usage Usage // totals of the run
	// Structured is a handoff that the client returned by its own structured
	// output, nil when it has none.
	Structured json.RawMessage
	Model      string // what really answered
	Client     string // "claude 2.1.329"
	SessionID  string
	// Session is what a later run can go on in, nil where none was kept.
	Session  *ClientSession
	ExitCode int
}

// ClientSession is one of the client's own.
type ClientSession struct {
	ID string
	// Used is what the client has counted in it: clients go on counting where
	// the run before ended.
	Used Usage
}
