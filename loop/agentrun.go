package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/internal/proc"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Causes for which the harness itself stops an agent.
var (
	errSkipped    = errors.New("the operator took the task away")
	errStopNow    = errors.New("stopped by the operator")
	errEndedTool  = errors.New("the agent ended its iteration by a tool")
	errOverBudget = errors.New("budget")
)

// budgetError names the limit that was crossed.
type budgetError struct{ limit string }

func (e budgetError) Error() string        { return e.limit }
func (e budgetError) Is(target error) bool { return target == errOverBudget }

// maxTranscript is what evidence keeps of a text, head and tail.
const maxTranscript = 10 << 20

func agentRun(it *iteration, role Role, r Result, d time.Duration) state.AgentRun {
	return state.AgentRun{Role: string(role), SessionID: notes.OneLine(r.SessionID, 100), Client: notes.OneLine(r.Client, 100),
		Model: notes.OneLine(r.Model, 100), Outcome: string(r.Outcome), Reason: "end", Tokens: tokens(r.Usage),
		CostMicro: r.Usage.CostMicroUSD, DurationMs: d.Milliseconds(), Turns: r.Usage.Turns, APICalls: r.Usage.APICalls,
		ContextPeak: it.peak}
}

func tokens(u Usage) state.Tokens {
	return state.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// settleOutcome replaces what a driver says of a run that we stopped ourselves.
func (l *Loop) settleOutcome(it *iteration, m *meter) {
	var over budgetError
	switch {
	case errors.As(it.cause, &over):
		it.run.Outcome, it.run.Detail = BudgetExceeded, over.limit
	case errors.Is(it.cause, errEndedTool):
		it.run.Outcome, it.run.Detail = Completed, ""
	case errors.Is(it.cause, errWindow):
		it.run.Outcome, it.run.Detail = ContextLimit, it.cause.Error()
	case errors.Is(it.cause, errInterrupted), errors.Is(it.cause, errStopNow):
		it.run.Outcome, it.run.Detail = Interrupted, it.cause.Error()
	}
	if limit := it.clients.limit(); limit != "" && it.cause == nil {
		it.run.Outcome, it.run.Detail = BudgetExceeded, limit
	} else if it.kills != nil && it.cause == nil {
		if n := proc.MemoryKills() - *it.kills; n > 0 && it.run.Outcome == Crashed && it.run.Detail == "signal 9" {
			it.run.Outcome, it.run.Detail = BudgetExceeded, proc.LimitMemory
		} else if n > 0 {
			it.notice("memory ran out, and the kernel ended %d processes of this machine meanwhile", n)
		}
	}
	if it.run.Usage.Total() == 0 && m.sum.Total() > 0 {
		it.run.Usage = m.sum
	}
	if it.run.Usage.CostMicroUSD == nil {
		if p, ok := l.price(orElse(it.run.Model, m.model)); ok {
			cost := p.Of(it.run.Usage)
			it.run.Usage.CostMicroUSD = &cost
		}
	}
}

// stepsBefore runs the steps that come before the agent. One that fails ends
// the iteration before the agent has seen anything: the task is not to blame.
func (l *Loop) stepsBefore(ctx context.Context, it *iteration, start Starter) (bool, error) {
	if it.phase != state.Building {
		return false, nil
	}
	r, err := l.Prover.Steps(ctx, "before", l.proofRequest(it, start))
	it.stepped(r)
	if r.Failed != "" {
		it.run.Outcome, it.run.Detail = NotStarted, r.Failed
		for _, c := range named(lacking(r.Runs), r.Failed) {
			it.facts.Checks.Environment = c.Missing // nobody but the harness has done anything yet
		}
		l.Log("the step %s failed before the agent began:\n%s", r.Failed, r.FailText)
	}
	return r.Failed != "", err
}

// stepped records what steps have done.
func (it *iteration) stepped(r StepReport) {
	it.steps = append(it.steps, r.Runs...)
	for name, output := range r.Outputs {
		it.evidence.add("checks/"+name, output)
	}
}

func (l *Loop) proofRequest(it *iteration, start Starter) ProofRequest {
	env := append(append([]string{}, l.Settings.CheckEnv...), "RALPH_PHASE="+string(it.phase), "RALPH_TASK_ID="+string(it.task.ID),
		"RALPH_ITERATION="+strconv.Itoa(it.number))
	req := ProofRequest{Start: start, Dir: l.Repo.Root, Env: env, Baseline: it.state.Baseline,
		Result: func(c state.CheckRun) {
			l.emit("check", it.state, it.task.ID, c, "%s: %s", checkName(c), passed(c))
		}}
	if it.task.ID != "" {
		req.Task = &it.task
	}
	return req
}

// checkName is what a check is called where checks and steps are listed.
func checkName(c state.CheckRun) string {
	if c.Kind == "step" {
		return "step " + c.Name
	}
	return c.Name
}

func passed(c state.CheckRun) string {
	switch {
	case c.Skipped != "":
		return "skipped, " + c.Skipped
	case c.Passed && c.Flaky:
		return "flaky: red, then green in a fresh checkout"
	case c.Passed:
		return "passed"
	case c.AlreadyRed:
		return "already red"
	case c.Tolerated:
		return "failed, and may"
	case c.TimedOut:
		return "timeout"
	case c.Limit != "":
		return "failed: limit: " + c.Limit
	case c.NoTests:
		return "failed: no test ran"
	}
	return "failed"
}

func (l *Loop) scope(it *iteration) Scope {
	sc := Scope{Role: it.role, Phase: it.phase, Iteration: it.number, Attempt: it.attempt, EventID: it.id, State: it.state,
		Specs: it.specs, MaxQuestions: l.Settings.MaxQuestions, Critic: l.Settings.Critic, RunDir: it.runDir}
	if it.task.ID != "" {
		t := it.task
		t.Status = plan.InProgress
		sc.Task = &t
	}
	if it.phase == state.Discovery || it.phase == state.Building && l.Settings.Ask {
		sc.Ask = l.ask
	}
	if it.product != nil {
		it.product.scope(&sc)
	}
	return sc
}

// request puts together what the driver needs.
func (l *Loop) request(it *iteration, box Toolbox, start Starter, transcript io.Writer) (Request, error) {
	set := l.Settings
	role := set.Roles[it.role]
	bin := filepath.Join(it.runDir, "bin")
	err := InstallSelf(l.Binary, bin)
	if err != nil {
		return Request{}, err
	}
	promptFile := filepath.Join(it.runDir, "prompt.md")
	if err := os.WriteFile(promptFile, []byte(it.prompt.Text), 0o600); err != nil {
		return Request{}, fmt.Errorf("write the prompt: %w", err)
	}
	inside := func(p string) string { return l.Sandbox.Inside(it.runDir, p) }
	env := prependPath(set.AgentEnv, inside(bin))
	for _, kv := range box.Env() {
		if name, val, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(val, it.runDir+string(os.PathSeparator)) {
			kv = name + "=" + inside(val)
		}
		env = append(env, kv)
	}
	it.clients = &clients{}
	req := Request{Role: it.role, Phase: string(it.phase), TaskID: string(it.task.ID), EventID: it.id,
		Iteration: it.number, Attempt: it.attempt, Prompt: it.prompt.Text, System: it.prompt.System,
		Model: l.model(it.role), FallbackModel: set.Fallback, MaxTurns: set.MaxTurns, Tools: toolsOf(it, role),
		Timeout: set.Timeout, Idle: set.Idle, MaxCostMicroUSD: set.IterationMicroUSD,
		Dir: l.Repo.Root, Env: env, PromptFile: inside(promptFile), HandoffFile: inside(handoffFile(it)),
		HandoffSchema: notes.HandoffSchema(), ToolSpecs: box.Specs(), OpenCalls: box.Open, Start: it.clients.noting(start),
		Transcript: transcript, Log: l.Log}
	if req.Model == req.FallbackModel {
		req.FallbackModel = "" // clients refuse a model that stands in for itself
	}
	if role.MaxTurns > 0 {
		req.MaxTurns = role.MaxTurns
	}
	if it.task.MaxTurns > 0 && it.role == RoleCoding {
		req.MaxTurns = it.task.MaxTurns
	}
	if role.Timeout > 0 {
		req.Timeout = role.Timeout
	}
	l.remaining(it, &req)
	req.MCP = map[string]MCPServer{}
	for _, name := range role.MCP {
		req.MCP[name] = set.MCP[name]
	}
	req.CallTool = box.Call
	policy := l.policyFor(it, req.Tools)
	if req.Env, err = l.installGuard(it, policy, req.Env); err != nil {
		return Request{}, err
	}
	req.Judge = func(u ToolUse) Permission { return judgeTool(policy, u) }
	req.FollowUp = l.followUp(it, box)
	return req, nil
}

func judgeTool(p *guard.Policy, u ToolUse) Permission {
	v := p.JudgeTool(u.Tool, u.Input)
	if !v.Allowed() {
		return Permission{Reason: v.Message()}
	}
	updated, _ := p.RewriteInput(u.Input, p.Worktree)
	return Permission{Allow: true, Updated: updated}
}

func handoffFile(it *iteration) string { return filepath.Join(it.runDir, "handoff", "handoff.json") }

// InstallSelf makes our binary reachable as git-ralph, so that an agent can
// say `git ralph tool`.
func InstallSelf(binary, dir string) error {
	to := filepath.Join(dir, SelfName(binary))
	if _, err := os.Lstat(to); err == nil {
		return nil // from an earlier session; writing would go through the link
	}
	if os.Symlink(binary, to) == nil || os.Link(binary, to) == nil {
		return nil
	}
	data, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		return fmt.Errorf("put git-ralph on the agent's path: %w", err)
	}
	return nil
}

// SelfName is the file name that InstallSelf gives to our binary.
func SelfName(binary string) string {
	if strings.EqualFold(filepath.Ext(binary), ".exe") {
		return "git-ralph.exe"
	}
	return "git-ralph"
}

func prependPath(env []string, dir string) []string {
	out := make([]string, 0, len(env)+1)
	found := false
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			kv, found = "PATH="+dir+string(os.PathListSeparator)+path, true
		}
		out = append(out, kv)
	}
	if !found {
		out = append(out, "PATH="+dir)
	}
	return out
}

// toolsOf are the tools of a run: those of its settings, else those of its
// phase. A helper agent reads and looks up; a pass only reads.
func toolsOf(it *iteration, role RoleSettings) []string {
	switch {
	case role.Tools != nil:
		return role.Tools
	case it.role == RoleIndexer, it.role == RoleContextPrep, it.role == RoleContextPost:
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Task"}
	case isPhaseRole(it.role):
		return PhaseTools(it.phase)
	}
	return []string{"Read", "Glob", "Grep"}
}

func isPhaseRole(r Role) bool {
	return r == RoleCoding || r == RoleDiscovery || r == RolePlanning || r == RoleValidation
}

// followUp answers the end of an agent's turn: an invalid handoff is asked for
// once more while the session is still open.
func (l *Loop) followUp(it *iteration, box Toolbox) func(Result) (string, bool) {
	if it.product != nil {
		return l.mend(it, box)
	}
	asked := false
	return func(r Result) (string, bool) {
		if asked || r.Outcome != Completed {
			return "", false
		}
		asked = true
		c := box.Collected()
		raw := c.Handoff
		if raw == nil {
			raw, _ = readHandoff(handoffFile(it))
		}
		if raw == nil && c.Complete != nil || c.Blocked != nil || c.Retry != "" {
			return "", false
		}
		var problems []notes.Problem
		if raw != nil {
			if _, problems = notes.ParseHandoff(raw); len(problems) == 0 {
				return "", false
			}
		}
		return agentctx.RepairPrompt(l.Prompt.Templates, raw, problems), true
	}
}

// meter adds up usage as it arrives and stops the client at a limit.
type meter struct {
	l    *Loop
	it   *iteration
	ctx  context.Context // of the run
	stop context.CancelCauseFunc
	once sync.Once // a budget of the session was crossed
	mu   sync.Mutex
	sum  Usage
	cost int64 // of the run so far, in micro-dollars
	// reported is what the client says itself; model is whose prices count where
	// it says nothing.
	reported int64
	model    string
	peak     int
	// lastText is what the agent said last.
	lastText string
	noted    time.Time // when the spend was written last
}

func (m *meter) event(e AgentEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Kind {
	case EventUsage:
		if e.Model != "" {
			m.model = e.Model
		}
		m.usage(e.Usage)
	case EventText:
		m.lastText = notes.CutBytes(e.Text, 4000)
		m.l.emit("agent", m.it.state, m.it.task.ID, map[string]string{"text": notes.CutBytes(e.Text, 4000)}, "%s", notes.OneLine(e.Text, 200))
	case EventToolDone:
		m.it.calls.done(time.Now())
	case EventToolCall:
		m.it.calls.call(e.Tool, e.Path, m.l.Repo.Root, time.Now())
		m.l.emit("agent", m.it.state, m.it.task.ID, map[string]string{"tool": e.Tool}, "%s %s", notes.OneLine(e.Tool, 60), notes.OneLine(e.Text, 160))
	case EventDenied:
		m.l.emit("agent", m.it.state, m.it.task.ID, map[string]string{"denied": e.Tool}, "denied %s: %s", notes.OneLine(e.Tool, 60), notes.OneLine(e.Text, 200))
	case EventLimit, EventRetry, EventWarning:
		m.l.emit("agent", m.it.state, m.it.task.ID, map[string]string{"kind": string(e.Kind)}, "%s", notes.OneLine(e.Text, 200))
	}
}

func (m *meter) usage(u Usage) {
	m.sum.Input += u.Input
	m.sum.Output += u.Output
	m.sum.CacheRead += u.CacheRead
	m.sum.CacheWrite += u.CacheWrite
	m.sum.Turns += u.Turns
	m.sum.APICalls += u.APICalls
	if u.CostMicroUSD != nil {
		m.reported += *u.CostMicroUSD
	}
	if c, ok := m.spentSoFar(); ok {
		m.cost, m.sum.CostMicroUSD = c, &c
	}
	if u.ContextTokens > 0 {
		m.sum.ContextTokens = u.ContextTokens
	}
	if u.ContextWindow > 0 {
		m.sum.ContextWindow = u.ContextWindow
	}
	if w := m.window(); w > 0 && m.sum.ContextTokens > 0 {
		m.peak = max(m.peak, int(100*m.sum.ContextTokens/w))
	}
	m.it.window.observe(u)
	m.spend()
	r, s, lim := m.it.state.Run, m.l.Settings, m.l.Settings.Limits
	// Runs of the same iteration that are over count as well; their event is
	// not written yet.
	cost, used := m.it.spent()
	cost, used = cost+m.cost, used+m.sum.Total()
	over := func(limit, used int64) bool { return limit > 0 && used >= limit }
	switch {
	case over(s.IterationMicroUSD, cost):
		m.stop(budgetError{"iteration_usd"})
	case over(s.IterationTokens, used):
		m.stop(budgetError{"iteration_tokens"})
	case over(lim.SessionMicroUSD, r.Cost.Session+cost):
		m.end("session_usd")
	case over(lim.TotalMicroUSD, r.Cost.Total+cost):
		m.end("total_usd")
	case over(lim.SessionTokens, r.Used.Tokens+used):
		m.end("session_tokens")
	case over(lim.TotalTokens, r.Tokens.Total()+used):
		m.end("total_tokens")
	}
}

// budgetGrace is how long an agent may go on after it has crossed a budget of
// the session or of all: clients say what they used when they are finished.
const budgetGrace = time.Second

// end stops the client a moment after a budget of the session was crossed. The
// run ends after this iteration in any case.
func (m *meter) end(limit string) {
	m.once.Do(func() {
		go func() {
			m.l.Sleep(m.ctx, budgetGrace)
			m.stop(budgetError{limit})
		}()
	})
}

func (m *meter) window() int64 {
	if m.sum.ContextWindow > 0 {
		return m.sum.ContextWindow
	}
	return int64(m.l.Settings.Window)
}

// watch looks at the journal while the agent runs: an operator may skip the
// task, stop the run now, or ask for a handoff. The channel closes when it ends.
func (l *Loop) watch(ctx context.Context, it *iteration, box Toolbox, stop context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		last, ended := object.Zero, 0
		deadline := time.Time{}
		if d := l.Settings.Limits.SessionTime; d > 0 {
			deadline = it.state.Run.StartedAt.Add(d)
		}
		for ctx.Err() == nil {
			l.Sleep(ctx, 200*time.Millisecond)
			if c := box.Collected(); c.Blocked != nil || c.Retry != "" {
				// The tool ended the iteration; the agent has a moment for its handoff.
				if ended++; ended > 10 {
					stop(errEndedTool)
					return
				}
			}
			if !deadline.IsZero() && !l.Now().Before(deadline) {
				stop(budgetError{"session_time"})
				return
			}
			tip, err := l.Journal.Tip(ctx)
			if err != nil || tip == last {
				continue
			}
			last = tip
			snap, err := l.Journal.At(tip)
			if err != nil {
				continue
			}
			if snap.State.Run.AskHandoff == it.number {
				it.window.wanted()
			}
			if s := snap.State; s.Run.StopNow && s.Run.StopAsked == s.Run.Session {
				stop(errStopNow)
				return
			} else if it.task.ID != "" && taskGone(s, it.task) {
				stop(errSkipped)
				return
			}
		}
	}()
	return done
}

// taskGone reports whether the user has since skipped, blocked or removed the task.
func taskGone(s state.State, t plan.Task) bool {
	i := s.Plan.Find(t.ID)
	return i < 0 || s.Plan.Tasks[i].Status != plan.InProgress
}

// taskEdited reports whether a person changed what the task asks for while it was in work. A
// permission to change tests is no such change: work that passed without it
// passes with it.
func taskEdited(s state.State, t plan.Task) bool {
	i := s.Plan.Find(t.ID)
	if i < 0 {
		return false
	}
	t.AllowTestChanges = t.AllowTestChanges || s.Plan.Tasks[i].AllowTestChanges
	return !sameAsk(s.Plan.Tasks[i], t)
}

// sameAsk reports whether two versions of a task ask for the same; what the harness counts
// on a task does not matter.
func sameAsk(a, b plan.Task) bool {
	for _, t := range []*plan.Task{&a, &b} {
		*t = plan.Task{ID: t.ID, Title: t.Title, Description: t.Description, Criteria: t.Criteria, Verify: t.Verify,
			AllowTestChanges: t.AllowTestChanges, NoChangeExpected: t.NoChangeExpected, AllowProtected: t.AllowProtected}
	}
	return reflect.DeepEqual(a, b)
}

// PhaseTools are the canonical tools of a phase.
func PhaseTools(p state.Phase) []string {
	switch p {
	case state.Discovery:
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Write", "Task", "AskUser"}
	case state.Planning:
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Task"}
	case state.Validation:
		return []string{"Read", "Glob", "Grep", "Bash", "Task", "WebFetch"}
	}
	return []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "Todo", "WebSearch", "WebFetch", "NotebookEdit"}
}
