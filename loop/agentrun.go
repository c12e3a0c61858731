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

func (l *Loop) proofRequest(it *Ready, start Starter) ProofRequest {
	env := append(append([]string{}, l.Settings.CheckEnv...), "RALPH_PHASE="+string(it.phase),
		"RALPH_TASK_ID="+string(it.task.ID),
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

func (l *Loop) scope(ss *session) Scope {
	sc := Scope{Role: ss.role, Phase: ss.phase, Iteration: ss.number, Attempt: ss.attempt, EventID: ss.id, State: ss.known,
		Specs: ss.specs, MaxQuestions: l.Settings.MaxQuestions, Critic: l.Settings.Critic, RunDir: ss.use.RunDir}
	if ss.task.ID != "" {
		t := ss.task
		t.Status = plan.InProgress
		sc.Task = &t
	}
	if ss.phase == state.Discovery || ss.phase == state.Building && l.Settings.Ask {
		sc.Ask = l.ask
	}
	if ss.product != nil {
		ss.product.scope(&sc)
	}
	return sc
}

// request puts together what the driver needs.
func (l *Loop) request(ss *session, box Toolbox, transcript io.Writer) (Request, error) {
	set := l.Settings
	role := set.Roles[ss.role]
	bin := filepath.Join(ss.use.RunDir, "bin")
	err := InstallSelf(l.Binary, bin)
	if err != nil {
		return Request{}, err
	}
	promptFile := filepath.Join(ss.use.RunDir, "prompt.md")
	if err := os.WriteFile(promptFile, []byte(ss.prompt.Text), 0o600); err != nil {
		return Request{}, fmt.Errorf("write the prompt: %w", err)
	}
	inside := func(p string) string { return l.Sandbox.Inside(ss.use.RunDir, p) }
	env := prependPath(set.AgentEnv, inside(bin))
	for _, kv := range box.Env() {
		if name, val, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(val, ss.use.RunDir+string(os.PathSeparator)) {
			kv = name + "=" + inside(val)
		}
		env = append(env, kv)
	}
	req := Request{Role: ss.role, Phase: string(ss.phase), TaskID: string(ss.task.ID), EventID: ss.id,
		Iteration: ss.number, Attempt: ss.attempt, Prompt: ss.prompt.Text, System: ss.prompt.System,
		Model: l.model(ss.role, ss.task, ss.choice), Effort: l.effort(ss.role, ss.choice), FallbackModel: set.Fallback,
		MaxTurns: set.MaxTurns, Tools: toolsOf(ss, role),
		Timeout: set.Timeout, Idle: set.Idle, MaxCostMicroUSD: set.IterationMicroUSD,
		Dir: l.Repo.Root, Env: env, PromptFile: inside(promptFile), HandoffFile: inside(ss.handoffFile()),
		HandoffSchema: notes.HandoffSchema(), ToolSpecs: box.Specs(), OpenCalls: box.Open, Start: ss.clients.noting(ss.start),
		Self: inside(filepath.Join(bin, SelfName(l.Binary))), Transcript: transcript, Log: l.Log}
	if req.Model == req.FallbackModel {
		req.FallbackModel = "" // clients refuse a model that stands in for itself
	}
	if role.MaxTurns > 0 {
		req.MaxTurns = role.MaxTurns
	}
	if ss.task.MaxTurns > 0 && ss.role == RoleCoding {
		req.MaxTurns = ss.task.MaxTurns
	}
	if role.Timeout > 0 {
		req.Timeout = role.Timeout
	}
	l.remaining(ss.runs, ss.since, ss.role, &req)
	req.MCP = map[string]MCPServer{}
	for _, name := range role.MCP {
		req.MCP[name] = set.MCP[name]
	}
	req.CallTool = box.Call
	policy := l.policyFor(ss.Ready, ss.role, req.Tools)
	if req.Env, err = l.installGuard(ss.use.RunDir, policy, req.Env); err != nil {
		return Request{}, err
	}
	req.Judge = func(u ToolUse) Permission { return judgeTool(policy, u) }
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
func toolsOf(ss *session, role RoleSettings) []string {
	switch {
	case role.Tools != nil:
		return role.Tools
	case ss.role == RoleIndexer, ss.role == RoleContextPrep, ss.role == RoleContextPost:
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Task"}
	case isPhaseRole(ss.role):
		return PhaseTools(ss.phase)
	}
	return []string{"Read", "Glob", "Grep"}
}

func isPhaseRole(r Role) bool {
	return r == RoleCoding || r == RoleDiscovery || r == RolePlanning || r == RoleValidation
}

// followUp answers the end of an agent's turn: an invalid handoff is asked for
// once more while the session is still open.
func (l *Loop) followUp(ss *session, ran *Ran, box Toolbox) func(Result) (string, bool) {
	if !ss.claims {
		return l.mend(ss.Ready, ran, box)
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
			raw, _ = readHandoff(ss.handoffFile())
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
	ss   *session
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
	doing    *Doing
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
		m.l.emit("agent", m.ss.state, m.ss.task.ID, told(e, "text", notes.CutBytes(e.Text, 4000)), "%s",
			notes.OneLine(e.Text, 200))
		m.does(notes.Redact(notes.OneLine(e.Text, 200)), false)
	case EventOutput:
		line := notes.Redact(notes.OneLine(e.Text, 200))
		m.l.emit("agent", m.ss.state, m.ss.task.ID, map[string]string{"output": line}, "%s", line)
		m.does(line, false)
	case EventToolDone:
		m.ss.calls.done(time.Now())
		if e.Agent != "" {
			m.l.emit("agent", m.ss.state, m.ss.task.ID, told(e, "done", "yes"), "%s is done", notes.OneLine(e.Agent, 60))
		}
	case EventToolCall:
		m.ss.calls.call(e.Tool, e.Path, m.l.Repo.Root, time.Now())
		m.l.emit("agent", m.ss.state, m.ss.task.ID, told(e, "tool", e.Tool), "%s %s", notes.OneLine(e.Tool, 60),
			notes.OneLine(e.Text, 160))
		m.does(notes.Redact(notes.OneLine(e.Tool, 60)+" "+notes.OneLine(e.Text, 160)), true)
	case EventDenied:
		m.l.emit("agent", m.ss.state, m.ss.task.ID, map[string]string{"denied": e.Tool}, "denied %s: %s",
			notes.OneLine(e.Tool, 60), notes.OneLine(e.Text, 200))
	case EventLimit, EventRetry, EventWarning:
		m.l.emit("agent", m.ss.state, m.ss.task.ID, map[string]string{"kind": string(e.Kind)}, "%s",
			notes.OneLine(e.Text, 200))
	}
}

// told is what an event says besides its line, and which sub-agent it is of.
func told(e AgentEvent, key, value string) map[string]string {
	data := map[string]string{key: value}
	if e.Agent != "" {
		data["agent"] = e.Agent
	}
	return data
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
	m.ss.window.observe(u)
	m.spend()
	r, s, lim := m.ss.state.Run, m.l.Settings, m.l.Settings.Limits
	// Runs of the same iteration that are over count as well; their event is
	// not written yet.
	cost, used := m.ss.spent()
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
func (l *Loop) watch(ctx context.Context, ss *session, box Toolbox, stop context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		last, ended := object.Zero, 0
		deadline := time.Time{}
		if d := l.Settings.Limits.SessionTime; d > 0 {
			deadline = ss.state.Run.StartedAt.Add(d)
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
			if snap.State.Run.AskHandoff == ss.number {
				ss.window.wanted()
			}
			if s := snap.State; s.Run.StopNow && s.Run.StopAsked == s.Run.Session {
				stop(errStopNow)
				return
			} else if ss.task.ID != "" && taskGone(s, ss.task) {
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
	return []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "Todo", "WebSearch", "WebFetch",
		"NotebookEdit"}
}
