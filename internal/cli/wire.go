package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/worktree"
	"git-ralph/guard"
	"git-ralph/internal/agent"
	"git-ralph/internal/checks"
	"git-ralph/internal/config"
	"git-ralph/internal/mcp"
	"git-ralph/internal/proc"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
)

// engine opens the worktree engine.
func (a *App) engine(set *config.Resolved) (*worktree.Engine, error) {
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	opts := worktree.Options{Aside: filepath.Join(repo.Dir(), "aside"), Outputs: outputsIn(repo.Root)}
	if set != nil {
		opts.MaxFile, opts.CaptureIgnored = int64(set.Worktree.MaxFile), set.Worktree.CaptureIgnored
	}
	if f := a.failpoint(); f != nil {
		opts.Fail = f
	}
	e, err := worktree.New(worktree.Repo{Root: repo.Root, GitDir: repo.GitDir, CommonDir: repo.CommonDir, Git: repo.Git,
		Store: repo.Store}, opts)
	if err != nil {
		return nil, err
	}
	a.closeFunctions = append(a.closeFunctions, func() { e.Close() })
	return e, nil
}

func (a *App) recovery(j *journal.Journal, e *worktree.Engine) *recovery.Recovery {
	return &recovery.Recovery{Place: recovery.Place{Repo: j.Repo, Engine: e, Log: a.warn, Now: j.Now, Fail: a.failpoint()},
		Journal: j}
}

// recoverRun repairs what a dead run and its workers left; it is first in every command that
// writes. The engines of the workers' worktrees are opened with set.
func (a *App) recoverRun(j *journal.Journal, e *worktree.Engine, set *config.Resolved) error {
	if err := a.recovery(j, e).Run(a.Ctx); err != nil {
		return err
	}
	snap, err := j.Load(a.Ctx)
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if !recovery.DeadWorkers(snap.State, j.Actor) {
		if found, err := recovery.Unended(a.Ctx, j, snap.State); err != nil || !found {
			return err
		}
	}
	if err := a.recoverWorkers(j, e, set); err != nil {
		return err
	}
	return a.recovery(j, e).Run(a.Ctx) // their checkpoints are needed no more
}

// writable opens the journal for a command that writes: what a crash left is
// repaired first, a missing journal is begun.
func (a *App) writable() (*journal.Journal, error) {
	j, err := a.Journal()
	if err != nil {
		return nil, err
	}
	// Objects that the gc of a dead process took away are restored first.
	if err := j.Repo.Store.Heal(); err != nil {
		return nil, err
	}
	if _, err := a.ensureJournal(j); err != nil {
		return nil, err
	}
	if _, alive := j.Repo.BranchHolder(j.Branch); alive {
		return j, nil
	}
	e, err := a.engine(nil)
	if err != nil {
		return nil, err
	}
	return j, a.recoverRun(j, e, nil)
}

// given says whether somebody set a key.
func given(set *config.Resolved, key string) bool {
	_, ok := set.Origin[key]
	return ok
}

// loopSettings translates the configuration into the loop's own words.
func (a *App) loopSettings(set *config.Resolved) loop.Settings {
	s := loop.Settings{
		Limits: loop.Limits{MaxIterations: set.Loop.MaxIterations, MaxAttempts: set.Loop.MaxAttempts,
			SessionMicroUSD: int64(set.Limits.SessionUSD), TotalMicroUSD: int64(set.Limits.TotalUSD),
			SessionTokens: set.Limits.SessionTokens, TotalTokens: set.Limits.TotalTokens, SessionTime: set.Limits.SessionTime,
			Failures: set.Breaker.Failures, FailuresGiven: given(set, "breaker.failures"), MaxPartial: set.Loop.MaxPartial,
			Stagnation: set.Breaker.Stagnation, Cooldown: set.Breaker.Cooldown,
			RegeneratePlan: set.Recovery.RegeneratePlan, SkipStagnant: set.Recovery.SkipAfterStagnation},
		Mode: set.Loop.Mode, Driver: set.Agent.Driver, Model: set.Agent.Model, Fallback: set.Agent.FallbackModel,
		FallbackDriver: set.Agent.FallbackDriver,
		Effort:         set.Agent.Effort, Ladder: ladder(set.Agent.Ladder), Resume: set.Agent.ResumeSession,
		MaxTurns: set.Agent.MaxTurns, Timeout: set.Agent.Timeout, Idle: set.Agent.IdleTimeout, OnLimit: set.Agent.OnLimit,
		Delay: set.Loop.Delay, CommitPrefix: set.Loop.CommitPrefix,
		Hooks: set.Commit.Hooks, Sign: set.Commit.Sign != "off" && a.gitBool("commit.gpgsign"),
		BaselineMode: set.Validation.Baseline, Fresh: set.Validation.Fresh, TestGuard: set.Validation.TestGuard,
		Protected: set.Guard.Protected, KeepEvidence: set.Evidence.Keep,
		IterationMicroUSD: int64(set.Limits.IterationUSD), IterationTokens: set.Limits.IterationTokens,
		Hash: set.Hash, Setup: set.Project.Setup, Critic: a.planCritic(set), MaxQuestions: set.Discovery.MaxQuestions,
		Ask:    set.Agent.Ask,
		Rounds: set.Validation.Rounds, HumanApproval: set.Validation.HumanApproval, ConfirmPlan: set.Planning.Confirm,
		ConfirmSpecs: set.Discovery.Confirm, HandoffPercent: set.Context.HandoffPercent, HardPercent: set.Context.HardPercent,
		MaxHandoffs: set.Loop.MaxHandoffs, Window: set.Context.WindowTokens,
		GateWait: set.PR.Wait, GateSettle: set.PR.Settle,
	}
	// The client keeps what it needs to log in; tools, checks and steps do not.
	deny := append(proc.SecretNames(), set.Agent.EnvDeny...)
	s.CheckEnv = proc.CleanEnv(a.Env, deny, set.Agent.EnvAllow, nil)
	s.Logins = map[string][]string{}
	for _, d := range drivers(set) {
		with := proc.CleanEnv(a.Env, deny, set.Agent.EnvAllow, agent.LoginOf(d).Env)
		s.Logins[d] = slices.DeleteFunc(with, func(kv string) bool { return slices.Contains(s.CheckEnv, kv) })
	}
	// Without a sandbox, too, git has no credentials and nobody to ask; and
	// what a project installs does not bring its hooks along.
	quiet := append(proc.AgentGitEnv(), "HUSKY=0", "LEFTHOOK=0")
	s.CheckEnv = append(s.CheckEnv, quiet...)
	s.AgentEnv = slices.Clone(s.CheckEnv)
	s.Roles = map[session.Role]loop.RoleSettings{}
	roles := []string{"coding", "discovery", "planning", "validation", "context-prep", "context-post", "indexer"}
	for _, p := range set.Passes {
		roles = append(roles, p.Name)
	}
	for _, name := range roles {
		r := set.Role(name)
		s.Roles[session.Role(name)] = loop.RoleSettings{Driver: r.Driver, Model: r.Model, Effort: r.Effort,
			MaxTurns: r.MaxTurns,
			Timeout:  r.Timeout, Tools: r.Tools, MCP: r.MCP}
	}
	s.Index = agentctx.TriggerOptions{Interval: set.Index.Interval, Bytes: set.Index.Bytes, Novelty: set.Index.Novelty,
		Recent: set.Index.Recent}
	s.Skills = set.Context.Skills
	for _, p := range set.Passes {
		// The settings were checked when they were loaded.
		if t, err := agentctx.ParseTrigger(p.Trigger); err == nil && p.Enabled {
			s.Passes = append(s.Passes, loop.Pass{Name: p.Name, Trigger: t, Template: p.Template, ReadOnly: p.ReadOnly})
		}
	}
	s.Pricing = map[string]session.Price{}
	for name, p := range set.Pricing {
		s.Pricing[name] = session.Price{Input: int64(p.Input), Output: int64(p.Output), CacheRead: int64(p.CacheRead),
			CacheWrite: int64(p.CacheWrite)}
	}
	s.MCP = map[string]session.MCPServer{}
	for name, m := range set.MCP {
		s.MCP[name] = session.MCPServer{Command: m.Command, URL: m.URL, Env: m.Env}
	}
	return s
}

// clientEnv is what the client of agent.driver is started with.
func clientEnv(s loop.Settings) []string { return slices.Concat(s.AgentEnv, s.Logins[s.Driver]) }

// ladder is agent.ladder, which was checked when it was loaded.
func ladder(steps []string) []loop.Step {
	var out []loop.Step
	for _, text := range steps {
		if s, err := loop.ParseStep(text); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// checkSettings translates the configuration for the checks.
func checkSettings(set *config.Resolved) checks.Settings {
	s := checks.Settings{Setup: set.Project.Setup, Strategy: checks.Strategy(set.Validation.Strategy),
		Baseline:    checks.Mode(set.Validation.Baseline),
		FlakyReruns: set.Validation.FlakyReruns, FailureChars: set.Context.FailureChars}
	for _, c := range set.Checks {
		s.Checks = append(s.Checks, checks.Check{Name: c.Name, Run: c.Run, Kind: checks.Kind(c.Kind), Timeout: c.Timeout,
			AllowFailure: c.AllowFailure, AtEnd: c.When == "complete", Hidden: c.Hidden, Paths: c.Paths})
	}
	for _, c := range set.Steps {
		s.Steps = append(s.Steps, checks.Step{Name: c.Name, When: checks.When(c.When), Run: c.Run, Enabled: c.Enabled,
			Timeout: c.Timeout,
			Retries: c.Retries, RetryDelay: c.RetryDelay, ContinueOnError: c.ContinueOnError,
			Breaker: checks.StepBreaker{Threshold: c.Breaker.Threshold, ResetAfter: c.Breaker.ResetAfter}})
	}
	return s
}

// gitBool reads a boolean of git's configuration, which is read once.
func (a *App) gitBool(key string) bool {
	git, err := a.gitConfig()
	if err != nil {
		return false
	}
	val := ""
	for _, g := range git { // the last one counts
		if strings.EqualFold(g.Key, key) {
			val = strings.ToLower(g.Value)
			if g.Bare {
				val = "true"
			}
		}
	}
	n, err := strconv.Atoi(val)
	return val == "true" || val == "yes" || val == "on" || err == nil && n != 0
}

// promptOptions is what the prompt needs from outside the state.
func (a *App) promptOptions(set *config.Resolved, root string) (agentctx.Options, error) {
	o := agentctx.Options{Mode: agentctx.Mode(set.Loop.Mode), Goal: set.Project.Goal, Budget: set.Context.BudgetTokens,
		IndexBudget: set.Context.IndexBudgetTokens,
		Window:      set.Context.WindowTokens, MemoryChars: set.Context.MemoryChars,
		MaxAttempts: set.Loop.MaxAttempts,
		Strategy:    set.Validation.Strategy, Protected: set.Guard.Protected, MaxQuestions: set.Discovery.MaxQuestions,
		TaskTokens: set.Planning.TaskTokens, Ask: set.Agent.Ask, HandoffPercent: set.Context.HandoffPercent}
	for _, c := range set.Checks {
		if c.Hidden {
			continue
		}
		kind := c.Kind
		if kind == "" {
			kind = string(checks.GuessKind(c.Run))
		}
		lenient := c.AllowFailure || set.Validation.Strategy == "lenient" && (kind == "lint" || kind == "format") ||
			set.Validation.Strategy == "tests_only" && kind != "test"
		o.Checks = append(o.Checks, agentctx.Check{Name: c.Name, Kind: kind, Command: c.Run, Lenient: lenient,
			AtEnd: c.When == "complete"})
	}
	t := set.Toolchain.Commands()
	o.Toolchain = agentctx.Toolchain{Test: t.Test, Lint: t.Lint, Typecheck: t.Typecheck, Add: t.Add, Sync: t.Sync}
	chain, err := guard.NewToolchain(set.Toolchain.Preset)
	if err != nil {
		return o, err
	}
	o.Toolchain.Blocked = blockedFor(chain)
	var folder fs.FS
	if set.Context.Templates != "" {
		folder = os.DirFS(filepath.Join(root, set.Context.Templates))
	}
	o.Templates, err = agentctx.LoadTemplates(folder)
	return o, err
}

// blockedFor is what an agent is told of blocked commands, those that mean the
// same on one line.
func blockedFor(chain guard.Toolchain) []agentctx.Blocked {
	seen := map[string]bool{}
	var out []agentctx.Blocked
	at := map[string]int{}
	for _, b := range chain.Blocks {
		name := strings.TrimSuffix(strings.TrimSuffix(string(b.Pattern), " *"), "-*")
		instead := strings.TrimPrefix(b.Instead, "use ")
		if strings.ContainsAny(name, "*[") || seen[name] {
			continue
		}
		seen[name] = true
		if i, ok := at[instead]; ok {
			out[i].Command += ", " + name
			continue
		}
		at[instead] = len(out)
		out = append(out, agentctx.Blocked{Command: name, Instead: instead})
	}
	return out
}

// policy is the guard's policy of this run.
func (a *App) policy(set *config.Resolved) (*guard.Policy, error) {
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	p := guard.New(repo.Root, home)
	p.GitDirs = []string{repo.GitDir}
	if repo.CommonDir != repo.GitDir {
		p.GitDirs = append(p.GitDirs, repo.CommonDir)
	}
	p.Writable, p.Allow, p.Deny, p.Protected = set.Guard.Writable, set.Guard.Allow, set.Guard.Deny, set.Guard.Protected
	if p.Protected == nil {
		p.Protected = []string{} // the setting says none; nil would mean the default
	}
	if p.Toolchain, err = guard.NewToolchain(set.Toolchain.Preset); err != nil {
		return nil, err
	}
	p.Aliases = map[string]string{}
	git, err := a.gitConfig()
	if err != nil {
		return nil, err
	}
	for _, g := range git {
		if name, ok := strings.CutPrefix(strings.ToLower(g.Key), "alias."); ok {
			p.Aliases[name] = g.Value
		}
	}
	return p, nil
}

// wire puts the parts of a run together.
func (a *App) wire(set *config.Resolved, sandbox session.Sandbox) (*loop.Loop, error) {
	j, err := a.Journal()
	if err != nil {
		return nil, err
	}
	e, err := a.engine(set)
	if err != nil {
		return nil, err
	}
	opts, err := a.promptOptions(set, j.Repo.Root)
	if err != nil {
		return nil, err
	}
	opts.Sandbox = view.Bound(sandbox.Mechanism())
	pol, err := a.policy(set)
	if err != nil {
		return nil, err
	}
	drv, err := agent.New(set.Agent.Driver, a.agentOptions(set))
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	setupPrompt, err := a.setupPrompt(set, j.Repo.Root)
	if err != nil {
		return nil, err
	}
	l := &loop.Loop{Engine: e, Agent: drv, Prover: checks.NewProver(checkSettings(set), sleep), Policy: pol,
		Prompt: opts, Settings: a.loopSettings(set), Fail: a.failpoint()}
	l.Host = session.Host{Repo: j.Repo, Journal: j, Sandbox: sandbox, Binary: binary, Log: a.warn, Now: j.Now,
		Sleep:     sleep,
		OpenTools: func(s session.Scope) (session.Toolbox, error) { return mcp.Open(s) }}
	l.Settings.SetupPrompt = setupPrompt
	if b, ok := sandbox.(*boundary); ok {
		l.RunBase = b.runs
	}
	l.AgentFor = func(r session.Role) (session.Agent, error) {
		if d := l.Settings.Roles[r].Driver; d != "" && d != set.Agent.Driver {
			return agent.New(d, a.agentOptions(set))
		}
		return drv, nil
	}
	if d := set.Agent.FallbackDriver; d != "" && set.Agent.OnLimit == "fallback" {
		if l.FallbackAgent, err = agent.New(d, a.agentOptions(set)); err != nil {
			return nil, err
		}
	}
	l.AgentFiles = agentFiles(set, j.Repo.Root)
	l.Mend = func() error { return a.recoverWorkers(j, e, set) }
	return l, nil
}

func (a *App) agentOptions(set *config.Resolved) agent.Options {
	return agent.Options{Command: set.Agent.Command, Preset: set.Agent.Preset, Script: set.Agent.Script, Dir: a.repo.Root}
}

// agentFiles are the agent's command and those of its arguments that are files.
func agentFiles(set *config.Resolved, root string) []string {
	var out []string
	add := func(name string) {
		p := name
		if !filepath.IsAbs(p) {
			p = filepath.Join(root, p)
		}
		if _, err := os.Stat(p); err == nil && strings.ContainsRune(name, os.PathSeparator) {
			out = append(out, p)
		}
	}
	for _, arg := range set.Agent.Command {
		add(arg)
	}
	if set.Agent.Script != "" {
		add(set.Agent.Script)
	}
	return out
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
