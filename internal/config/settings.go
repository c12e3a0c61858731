// Package config owns the settings: what they are called, what they default
// to, and which of the places that can set one wins. Each setting is declared
// once, as a field of Settings whose tags hold its key, default, help and
// limits; the names in git config and in the environment follow from the key.
//
// The places, a later one wins:
//
//	defaults < ralph.toml < each --config FILE < git config ralph.*
//	         < run overrides (git ralph set) < environment < flags
//
// Load is pure: files, git's values, environment and flags are handed in. The
// package stores nothing; ralph.toml is an ordinary file of the project, read
// by ReadProject and written once, by init.
package config

import "time"

// Settings is every setting. Tags of a field:
//
//	toml     the last part of the key
//	default  the value without any source, in text form; the items of a list are separated by blanks
//	help     one line for ralph.toml and for `git ralph config`
//	enum     the accepted values, separated by |; a leading | accepts the empty string
//	min,max  the accepted range of a number, min is 0 when absent
//	unit     what a plain number counts: percent
//	command  the value is a command or a pattern of commands: ${NAME} in it is left to the shell
//	argv     a list that one line of text fills by splitting it into shell words
//	glob     patterns, checked for syntax
//	example  what stands in the commented template of ralph.toml where no default can
//	flag     the flag of start that sets it
//	set      `git ralph set` and the page may override it for a run
type Settings struct {
	Project    Project              `toml:"project" help:"the project itself"`
	Agent      Agent                `toml:"agent" help:"the coding agent"`
	MCP        map[string]MCPServer `toml:"mcp" example:"context7" help:"a server of the Model Context Protocol that roles may name"`
	Loop       Loop                 `toml:"loop" help:"the loop"`
	Checks     []Check              `toml:"checks" help:"what decides whether an iteration is kept; any number"`
	Validation Validation           `toml:"validation" help:"how the checks are weighed"`
	Context    Context              `toml:"context" help:"what the agent reads"`
	Index      Index                `toml:"index" help:"when the indexer runs in the index modes"`
	Limits     Limits               `toml:"limits" help:"budgets; 0 = none; tokens count cache reads too, and limit clients that report no cost"`
	Breaker    Breaker              `toml:"breaker" help:"the circuit breaker"`
	Recovery   Recovery             `toml:"recovery" help:"what is tried before the breaker opens"`
	Guard      Guard                `toml:"guard" help:"what the agent may touch"`
	Toolchain  Toolchain            `toml:"toolchain" help:"the project's commands; an empty one is the preset's"`
	Worktree   Worktree             `toml:"worktree" help:"checkpoint and restore"`
	Commit     Commit               `toml:"commit" help:"the commits on your branch"`
	Discovery  Discovery            `toml:"discovery" help:"from a sentence to specs"`
	Planning   Planning             `toml:"planning" help:"from specs to tasks"`
	Evidence   Evidence             `toml:"evidence" help:"what is kept of each iteration"`
	Share      Share                `toml:"share" help:"more than one machine"`
	PR         PR                   `toml:"pr" help:"the pull request of git ralph pr"`
	Notify     Notify               `toml:"notify" help:"commands (argv) that get JSON on standard input"`
	Passes     []Pass               `toml:"passes" help:"further agents after an iteration, in agent-orchestrated mode; any number"`
	Steps      []Step               `toml:"steps" help:"commands around an iteration; any number"`
	Pricing    map[string]Price     `toml:"pricing" example:"model-name" help:"USD a million tokens, for clients that report no cost"`
}

// Project is [project].
type Project struct {
	Goal        string   `toml:"goal" help:"one line that every prompt carries"`
	Setup       []string `toml:"setup" command:"true" help:"commands run once, and in every new linked worktree or fresh checkout"`
	SetupPrompt string   `toml:"setup_prompt" help:"a file: one agent iteration before the first task"`
}

// Agent is [agent]. Roles without a value of their own use these.
type Agent struct {
	Driver         string          `toml:"driver" default:"claude" enum:"claude|codex|opencode|gemini|acp|command|scripted" flag:"agent" help:"the client"`
	Command        []string        `toml:"command" command:"true" argv:"true" help:"argv for the drivers \"command\" and \"acp\""`
	Preset         string          `toml:"preset" enum:"|aider|amp|copilot|cursor|goose|qwen" help:"a client for driver \"command\" without a command; experimental"`
	Script         string          `toml:"script" flag:"script" help:"file for driver \"scripted\"; empty = the embedded demo"`
	Model          string          `toml:"model" set:"true" flag:"model" help:"empty = the client's own choice"`
	Effort         string          `toml:"effort" enum:"|minimal|low|medium|high|xhigh|max|ultra" help:"how much the model thinks; empty = the client's own choice"`
	FallbackModel  string          `toml:"fallback_model" help:"used when the model is overloaded or limited"`
	FallbackDriver string          `toml:"fallback_driver" enum:"|claude|codex|opencode|gemini|acp|command|scripted" help:"for limits of the client, with on_limit = \"fallback\""`
	MaxTurns       int             `toml:"max_turns" default:"50" set:"true" help:"of one iteration; 0 = the client's own limit"`
	Timeout        time.Duration   `toml:"timeout" default:"20m" help:"time limit of one iteration; 0s = none"`
	IdleTimeout    time.Duration   `toml:"idle_timeout" default:"5m" help:"time without output; 0s = none"`
	EnvDeny        []string        `toml:"env_deny" default:"*SECRET* *PASSWORD* *TOKEN* *_KEY AWS_*" glob:"true" help:"variables that tools and checks do not get; the client keeps what it needs"`
	EnvAllow       []string        `toml:"env_allow" glob:"true" help:"exceptions from env_deny"`
	Ask            bool            `toml:"ask" default:"false" help:"ralph_ask_user outside discovery"`
	OnLimit        string          `toml:"on_limit" default:"wait" enum:"wait|stop|fallback" flag:"on-limit" help:"when the provider's limit is reached"`
	ResumeSession  bool            `toml:"resume_session" default:"false" help:"a retry continues the client's session if its window is less than 60 % full; claude and codex"`
	Intent         string          `toml:"intent" enum:"|economic|balanced|strong" help:"sets models of the roles, ladder and review; any key that is set wins"`
	Ladder         []string        `toml:"ladder" argv:"true" help:"steps after rejected attempts of a task: model:NAME, effort:LEVEL, approach, best-of-2"`
	Roles          map[string]Role `toml:"roles" example:"planning" help:"coding discovery planning validation context-prep context-post indexer, or a pass"`
}

// Role is [agent.roles.<name>]: what differs for one role. An empty string, a
// nil pointer and a nil list mean: as in [agent], or as the phase has it.
// Resolved.Role fills them in.
type Role struct {
	Driver   string         `toml:"driver" enum:"|claude|codex|opencode|gemini|acp|command|scripted" help:"empty = agent.driver"`
	Model    string         `toml:"model" help:"empty = agent.model"`
	Effort   string         `toml:"effort" enum:"|minimal|low|medium|high|xhigh|max|ultra" help:"empty = agent.effort"`
	MaxTurns *int           `toml:"max_turns" example:"50" help:"absent = agent.max_turns"`
	Timeout  *time.Duration `toml:"timeout" example:"20m" help:"absent = agent.timeout"`
	Tools    []string       `toml:"tools" example:"Read Glob Grep" help:"canonical names; absent = those of the phase"`
	MCP      []string       `toml:"mcp" help:"names of [mcp.<name>] servers"`
}

// MCPServer is [mcp.<name>]: a command or an address.
type MCPServer struct {
	Command []string          `toml:"command" command:"true" argv:"true" help:"argv of a server on standard input and output"`
	URL     string            `toml:"url" help:"or the address of one on the network"`
	Env     map[string]string `toml:"env" help:"environment variables in addition to the usual ones"`
}

// Loop is [loop].
type Loop struct {
	Mode          string        `toml:"mode" default:"handoff-only" enum:"handoff-only|handoff-plus-index|agent-orchestrated" set:"true" flag:"mode" help:"how the prompt is made"`
	MaxIterations int           `toml:"max_iterations" default:"100" set:"true" flag:"max-iterations" help:"building iterations of one start; 0 = no limit"`
	MaxAttempts   int           `toml:"max_attempts" default:"3" help:"attempts of one task; 0 = no limit"`
	MaxHandoffs   int           `toml:"max_handoffs" default:"5" help:"context handoffs within one iteration"`
	MaxPartial    int           `toml:"max_partial" default:"5" help:"green but unfinished steps a task"`
	Delay         time.Duration `toml:"delay" default:"0s" set:"true" help:"pause between two iterations"`
	CommitPrefix  string        `toml:"commit_prefix" default:"ralph" help:"of the code commits: ralph[7]: T-003 title"`
	Dirty         string        `toml:"dirty" default:"refuse" enum:"refuse|commit" flag:"dirty" help:"changed tracked files at start"`
}

// Check is [[checks]]. Kind is never empty after Load.
type Check struct {
	Name    string        `toml:"name" example:"test" help:"its name in reports and in verify lists"`
	Run     string        `toml:"run" command:"true" example:"go test ./..." help:"a shell command"`
	Kind    string        `toml:"kind" enum:"|test|lint|typecheck|format" example:"test" help:"guessed from the command when absent"`
	Timeout time.Duration `toml:"timeout" default:"10m" help:"a check that takes longer is red; 0s = none"`
	// AllowFailure excuses a red check; nothing else does so before complete.
	AllowFailure bool     `toml:"allow_failure" default:"false" help:"a failure neither rejects nor delays complete, and is named at the end"`
	When         string   `toml:"when" default:"each" enum:"each|complete" help:"complete: only before complete, at a landing, and by verify on the last commit"`
	Hidden       bool     `toml:"hidden" default:"false" help:"the agent learns only that it failed, not its name or output"`
	Paths        []string `toml:"paths" glob:"true" help:"run after an iteration only when one of these changed; all run before complete"`
}

// Validation is [validation].
type Validation struct {
	Strategy      string `toml:"strategy" default:"strict" enum:"strict|lenient|tests_only" set:"true" help:"lenient: lint and format may fail; tests_only: only tests run"`
	Baseline      string `toml:"baseline" default:"record" enum:"record|fix-first|require|off" help:"checks that are red before the first iteration"`
	TestGuard     bool   `toml:"test_guard" default:"true" help:"weakening a test rejects"`
	FlakyReruns   int    `toml:"flaky_reruns" default:"1" help:"runs again of a red check; green then counts, and is marked"`
	HumanApproval bool   `toml:"human_approval" default:"false" help:"a person approves the validation report"`
	Rounds        int    `toml:"rounds" default:"3" help:"returns from validation to building"`
	Fresh         string `toml:"fresh" default:"complete" enum:"complete|each|never" help:"checks in a fresh checkout"`
}

// Context is [context].
type Context struct {
	WindowTokens      int      `toml:"window_tokens" default:"200000" min:"1" help:"the model's window, when the client does not say"`
	HandoffPercent    int      `toml:"handoff_percent" default:"60" min:"1" max:"100" unit:"percent" help:"of the window: a handoff is asked for"`
	HardPercent       int      `toml:"hard_percent" default:"80" min:"1" max:"100" unit:"percent" help:"of the window: the session is ended without asking"`
	BudgetTokens      int      `toml:"budget_tokens" default:"8000" min:"1" help:"of a prompt in handoff-only mode"`
	IndexBudgetTokens int      `toml:"index_budget_tokens" default:"16000" min:"1" help:"of a prompt in handoff-plus-index mode"`
	MemoryChars       int      `toml:"memory_chars" default:"8000" help:"of active memory"`
	FailureChars      int      `toml:"failure_chars" default:"500" help:"of a check's output in the next prompt"`
	Templates         string   `toml:"templates" help:"a folder with replacements of the prompt templates"`
	Skills            []string `toml:"skills" default:".claude/skills .agents/skills skills" help:"folders, the first that has a skill wins"`
}

// Index is [index].
type Index struct {
	Interval int     `toml:"interval" default:"5" set:"true" help:"iterations since the last run; 0 = not a trigger"`
	Bytes    int     `toml:"bytes" default:"32000" set:"true" help:"of handoffs that are not indexed; 0 = not a trigger"`
	Novelty  float64 `toml:"novelty" default:"0.25" max:"1" set:"true" help:"it runs when the overlap of terms with the last handoffs is below this"`
	Recent   int     `toml:"recent" default:"3" set:"true" help:"handoffs that novelty looks at"`
	MaxTurns int     `toml:"max_turns" default:"10" set:"true" help:"of the indexer; 0 = the client's own limit"`
}

// Limits is [limits]. Money is in micro-dollars; 0 = no limit.
type Limits struct {
	IterationUSD    USD           `toml:"iteration_usd" default:"2" set:"true" help:"crossed: the iteration is rejected"`
	SessionUSD      USD           `toml:"session_usd" default:"50" set:"true" flag:"max-cost" help:"crossed: the run halts"`
	TotalUSD        USD           `toml:"total_usd" default:"200" set:"true" help:"of the whole journal; crossed: the run halts"`
	IterationTokens int64         `toml:"iteration_tokens" default:"10000000" set:"true" help:"the same in tokens"`
	SessionTokens   int64         `toml:"session_tokens" default:"250000000" set:"true" help:"the same in tokens"`
	TotalTokens     int64         `toml:"total_tokens" default:"1000000000" set:"true" help:"the same in tokens"`
	SessionTime     time.Duration `toml:"session_time" default:"0s" set:"true" help:"wall clock of one start, with those before it that a crash or an interrupt cut short"`
}

// Breaker is [breaker].
type Breaker struct {
	Failures   int           `toml:"failures" default:"3" help:"in a row; 0 = never"`
	Stagnation int           `toml:"stagnation" default:"5" help:"iterations without a task done; 0 = never"`
	Cooldown   time.Duration `toml:"cooldown" default:"0s" help:"until one attempt is allowed; 0s = only git ralph resume"`
}

// Recovery is [recovery].
type Recovery struct {
	RegeneratePlan      bool `toml:"regenerate_plan" default:"true" help:"after stagnation with less than half of the plan done: plan again, once a session"`
	SkipAfterStagnation bool `toml:"skip_after_stagnation" default:"true" help:"otherwise block the task with the most attempts"`
}

// Guard is [guard].
type Guard struct {
	Sandbox    string   `toml:"sandbox" default:"auto" enum:"auto|require|off" help:"auto asks when there is none"`
	Network    string   `toml:"network" default:"open" enum:"open|loopback|none" help:"of checks, criteria, steps; the client needs its model"`
	Writable   []string `toml:"writable" help:"folders that an agent may write in addition to the worktree"`
	Hidden     []string `toml:"hidden" help:"hidden from the agent, in addition to the usual credential places"`
	Sockets    []string `toml:"sockets" help:"for example \"/run/docker.sock\": status then says that the boundary is gone"`
	Attributes bool     `toml:"attributes" default:"false" help:"let commands change owners, ACLs and extended attributes, which a restore does not put back"`
	TempSize   Size     `toml:"temp_size" default:"0B" help:"size of all private temporary folders, which use memory; 0B = a quarter of it"`
	Processes  int      `toml:"processes" default:"4096" help:"limit of processes and threads of one command in the sandbox; 0 = none"`
	DiskFree   Size     `toml:"disk_free" default:"512MiB" help:"a command is ended when it leaves less than this, or less than a quarter of what was free; 0B = never"`
	Protected  []string `toml:"protected" default:"ralph.toml specs/** .github/** .gitlab-ci.yml .ci/**" glob:"true" help:"a change there rejects the iteration"`
	Allow      []string `toml:"allow" command:"true" help:"command patterns"`
	Deny       []string `toml:"deny" command:"true" help:"command patterns"`
}

// Toolchain is [toolchain]. Commands fills empty ones from the preset.
type Toolchain struct {
	Preset    string `toml:"preset" default:"none" enum:"none|go|python-uv|node-pnpm|rust" help:"commands, blocked commands and their replacements"`
	Test      string `toml:"test" command:"true" help:"git ralph test"`
	Lint      string `toml:"lint" command:"true" help:"git ralph lint"`
	Typecheck string `toml:"typecheck" command:"true" help:"git ralph typecheck"`
	Add       string `toml:"add" command:"true" help:"git ralph deps add NAME"`
	Sync      string `toml:"sync" command:"true" help:"git ralph deps sync"`
}

// Worktree is [worktree].
type Worktree struct {
	MaxFile        Size     `toml:"max_file" default:"50MB" help:"a larger file made or changed by the agent rejects; 0B = no limit"`
	CaptureIgnored []string `toml:"capture_ignored" glob:"true" help:"ignored folders that are part of the checkpoint anyway"`
	Share          []string `toml:"share" help:"ignored folders that workers share with this worktree instead of running the setup"`
}

// Commit is [commit].
type Commit struct {
	Hooks bool   `toml:"hooks" default:"false" help:"run the repository's commit hooks"`
	Sign  string `toml:"sign" default:"auto" enum:"auto|off" help:"auto = as git is configured"`
}

// Discovery is [discovery].
type Discovery struct {
	MaxQuestions int  `toml:"max_questions" default:"10" help:"to the user"`
	Confirm      bool `toml:"confirm" default:"true" help:"a person approves the specs"`
}

// Planning is [planning].
type Planning struct {
	TaskTokens int  `toml:"task_tokens" default:"30000" min:"1" help:"the size that a task aims at"`
	Confirm    bool `toml:"confirm" default:"false" help:"a person approves the plan"`
}

// Evidence is [evidence].
type Evidence struct {
	Keep int `toml:"keep" default:"200" help:"number of iterations; rejected ones of unfinished tasks are kept in addition"`
}

// Share is [share].
type Share struct {
	Remote   string        `toml:"remote" help:"a git remote for work on several machines; empty = work alone"`
	Evidence bool          `toml:"evidence" default:"false" help:"push evidence too"`
	Lease    time.Duration `toml:"lease" default:"3m" min:"1" help:"a claim without a heartbeat for this long is free"`
}

// PR is [pr].
type PR struct {
	Gate   bool          `toml:"gate" default:"false" help:"push kept commits to the open one; its failing checks come first in the next prompt, complete waits until they pass"`
	Wait   time.Duration `toml:"wait" default:"1h" min:"1" help:"for its checks, before complete"`
	Settle time.Duration `toml:"settle" default:"20s" help:"green counts after it lasted this long: some checks are reported late"`
	Remote string        `toml:"remote" default:"origin" help:"a git remote"`
	Base   string        `toml:"base" help:"the target branch; empty = the remote's default branch"`
	Head   string        `toml:"head" help:"its branch on the remote; empty = the present branch, or ralph/BRANCH if that is the base"`
}

// Notify is [notify].
type Notify struct {
	Complete   []string `toml:"complete" command:"true" argv:"true" help:"the plan is complete; a command, or desktop, webhook:URL, slack:URL, ntfy:TOPIC, telegram:CHAT"`
	Halt       []string `toml:"halt" command:"true" argv:"true" help:"breaker, budget, error"`
	NeedsHuman []string `toml:"needs_human" command:"true" argv:"true" help:"a question or an approval"`
	Limit      []string `toml:"limit" command:"true" argv:"true" help:"the provider's limit"`
}

// Pass is [[passes]].
type Pass struct {
	Name     string   `toml:"name" example:"review" help:"also the name of its role"`
	Enabled  bool     `toml:"enabled" default:"false" help:"it runs only when true"`
	Model    string   `toml:"model" help:"empty = agent.model"`
	Trigger  string   `toml:"trigger" default:"on_success" help:"always | on_success | on_failure | periodic:N"`
	MaxTurns int      `toml:"max_turns" default:"5" help:"0 = the client's own limit"`
	Template string   `toml:"template" help:"a file; empty = the embedded one"`
	Tools    []string `toml:"tools" example:"Read Glob Grep" help:"canonical names; absent = those that only read"`
	ReadOnly bool     `toml:"read_only" default:"true" help:"what it changed is restored"`
}

// Step is [[steps]].
type Step struct {
	Name            string        `toml:"name" example:"format" help:"its name in reports"`
	When            string        `toml:"when" default:"after" enum:"before|after" help:"before the agent, or after it and before the checks"`
	Run             string        `toml:"run" command:"true" example:"gofmt -w ." help:"a shell command"`
	Enabled         bool          `toml:"enabled" default:"false" help:"it runs only when true"`
	Timeout         time.Duration `toml:"timeout" default:"5m" help:"0s = none"`
	Retries         int           `toml:"retries" default:"0" help:"after a failure"`
	RetryDelay      time.Duration `toml:"retry_delay" default:"0s" help:"before each of them"`
	ContinueOnError bool          `toml:"continue_on_error" default:"false" help:"otherwise a failing step rejects"`
	Breaker         StepBreaker   `toml:"breaker" help:"skips a step that keeps failing"`
}

// StepBreaker is the table breaker of a step.
type StepBreaker struct {
	Threshold  int           `toml:"threshold" default:"0" help:"failures in a row; 0 = never"`
	ResetAfter time.Duration `toml:"reset_after" default:"0s" help:"0s = only git ralph resume"`
}

// Price is [pricing."<model>"]: micro-dollars a million tokens.
type Price struct {
	Input      USD `toml:"input" default:"0" help:"tokens read"`
	Output     USD `toml:"output" default:"0" help:"tokens written"`
	CacheRead  USD `toml:"cache_read" default:"0" help:"tokens read from the provider's cache"`
	CacheWrite USD `toml:"cache_write" default:"0" help:"tokens written to it"`
}
