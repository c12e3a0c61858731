package loop

import (
	"context"
	"slices"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// newSession is a session for an iteration, as far as the coding agent and the agents
// that help it are alike. known is what its tools see.
func (l *Loop) newSession(it *Ready, role session.Role, prompt agentctx.Prompt, known state.State,
	use session.Use) (*session.Session, error) {
	agent, err := l.agentFor(role, use.Driver)
	if err != nil {
		return nil, err
	}
	req := l.request(it, role, prompt)
	req.Env = slices.Concat(req.Env, l.Settings.Logins[use.Driver])
	ss := &session.Session{Agent: agent, Request: req, Scope: l.scope(it, role, known, use.RunDir),
		Policy: l.policyFor(it, role, req.Tools), Use: use, Before: it.runs, Bounds: l.bounds(it),
		Pricing: l.Settings.Pricing, Capacity: l.Settings.Window, MemoryKills: it.kills}
	if d := l.Settings.Limits.SessionTime; d > 0 {
		ss.Deadline = it.state.Run.StartedAt.Add(d - it.state.Run.SessionTime(it.state.Run.StartedAt))
	}
	return ss, nil
}

func (l *Loop) scope(it *Ready, role session.Role, known state.State, runDir string) session.Scope {
	sc := session.Scope{Role: role, Phase: it.phase, Iteration: it.number, Attempt: it.attempt, EventID: it.id,
		State: known, Specs: it.specs, MaxQuestions: l.Settings.MaxQuestions, Critic: l.Settings.Critic, RunDir: runDir}
	if it.task.ID != "" {
		t := it.task
		t.Status = plan.InProgress
		sc.Task = &t
	}
	if it.phase == state.Discovery || it.phase == state.Building && l.Settings.Ask {
		sc.Ask = func(ctx context.Context, q state.Question) (string, bool) {
			if it.phase == state.Building {
				q.Tasks = []plan.TaskID{it.task.ID}
			}
			return l.ask(ctx, q)
		}
	}
	if it.product != nil {
		it.product.scope(&sc)
	}
	return sc
}

// request is what an agent of the iteration is asked, under the settings.
func (l *Loop) request(it *Ready, role session.Role, prompt agentctx.Prompt) session.Request {
	set, own := l.Settings, l.Settings.Roles[role]
	req := session.Request{Role: role, Phase: string(it.phase), TaskID: string(it.task.ID), EventID: it.id,
		Iteration: it.number, Attempt: it.attempt, Prompt: prompt.Text, System: prompt.System,
		Model: l.model(role, it.task, it.choice), Effort: l.effort(role, it.choice), FallbackModel: set.Fallback,
		MaxTurns: set.MaxTurns, Tools: toolsOf(role, it.phase, own), Timeout: set.Timeout, Idle: set.Idle,
		MaxCostMicroUSD: set.IterationMicroUSD, Env: set.AgentEnv, MCP: map[string]session.MCPServer{}}
	if req.Model == req.FallbackModel {
		req.FallbackModel = "" // clients refuse a model that stands in for itself
	}
	if own.MaxTurns > 0 {
		req.MaxTurns = own.MaxTurns
	}
	if it.task.MaxTurns > 0 && role == session.RoleCoding {
		req.MaxTurns = it.task.MaxTurns
	}
	if own.Timeout > 0 {
		req.Timeout = own.Timeout
	}
	l.remaining(it.runs, it.since, role, &req)
	for _, name := range own.MCP {
		req.MCP[name] = set.MCP[name]
	}
	return req
}

// remaining subtracts what the iteration has used from the limits of a further
// run: money for all runs, time and turns from the run at index since on, where
// the attempt began.
func (l *Loop) remaining(runs []state.AgentRun, since int, role session.Role, req *session.Request) {
	spent, _ := session.Spent(runs)
	if limit := l.Settings.IterationMicroUSD; limit > 0 {
		req.MaxCostMicroUSD = max(1, limit-spent)
	}
	var took time.Duration
	turns := 0
	for _, r := range runs[since:] {
		if r.Role == string(role) {
			took += time.Duration(r.DurationMs) * time.Millisecond
			turns += r.Turns
		}
	}
	if req.Timeout > 0 && took > 0 {
		req.Timeout = max(req.Timeout-took, time.Second)
	}
	if req.MaxTurns > 0 && turns > 0 {
		req.MaxTurns = max(req.MaxTurns-turns, 1)
	}
}

// bounds are the budgets that a session can cross. What earlier sessions of the same
// iteration used counts as well; their event is not written yet.
func (l *Loop) bounds(it *Ready) []session.Bound {
	r, s, lim := it.state.Run, l.Settings, l.Settings.Limits
	cost, used := session.Spent(it.runs)
	return []session.Bound{
		{Name: "iteration_usd", Money: true, Limit: s.IterationMicroUSD, Used: cost},
		{Name: "iteration_tokens", Limit: s.IterationTokens, Used: used},
		// The run ends after this iteration in any case.
		{Name: "session_usd", Money: true, Limit: lim.SessionMicroUSD, Used: r.Cost.Session + cost, Grace: true},
		{Name: "total_usd", Money: true, Limit: lim.TotalMicroUSD, Used: r.Cost.Total + cost, Grace: true},
		{Name: "session_tokens", Limit: lim.SessionTokens, Used: r.Used.Tokens + used, Grace: true},
		{Name: "total_tokens", Limit: lim.TotalTokens, Used: r.Tokens.Total() + used, Grace: true},
	}
}

// window watches the context window of session n, which was handed a text by the one
// before; nil where sessions do not follow each other.
func (l *Loop) window(it *Ready, handed string, n int) *session.Window {
	if !it.claims {
		return nil
	}
	o := l.promptOptions(it, handed)
	return &session.Window{Last: n > l.Settings.MaxHandoffs,
		Fill: agentctx.Window{Capacity: int64(l.Settings.Window), Ask: l.Settings.HandoffPercent,
			Hard: l.Settings.HardPercent},
		Ask: func(percent int) string { return agentctx.AskHandoff(it.asked, it.task.ID, o, percent) },
		Asked: func() bool {
			s, err := l.load()
			return err == nil && s.Run.AskHandoff == it.number
		}}
}

// followUp answers the end of an agent's turn: an invalid handoff is asked for
// once more while the session is still open.
func (l *Loop) followUp(it *Ready, ran *Ran, box session.Toolbox) func(session.Result) (string, bool) {
	if !it.claims {
		return l.repair(it, ran, box)
	}
	asked := false
	return func(r session.Result) (string, bool) {
		if asked || r.Outcome != session.Completed {
			return "", false
		}
		asked = true
		c := box.Collected()
		raw := c.Handoff
		if raw == nil {
			raw, _ = session.ReadHandoff(session.HandoffFile(it.use.RunDir))
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

// policyFor is the guard's policy of one agent run.
func (l *Loop) policyFor(it *Ready, role session.Role, tools []string) *guard.Policy {
	p := l.Policy.ForPhase(string(it.phase))
	p.Tools = tools
	p.AllowProtected = it.task.AllowProtected
	p.MCP = l.Settings.Roles[role].MCP
	return p
}

// toolsOf are the tools of a run: those of its settings, else those of its
// phase. A helper agent reads and looks up; a pass only reads.
func toolsOf(role session.Role, phase state.Phase, own RoleSettings) []string {
	if own.Tools != nil {
		return own.Tools
	}
	switch role {
	case session.RoleIndexer, session.RoleContextPrep, session.RoleContextPost:
		return []string{"Read", "Glob", "Grep", "WebSearch", "WebFetch", "Task"}
	case session.RoleCoding, session.RoleDiscovery, session.RolePlanning, session.RoleValidation:
		return PhaseTools(phase)
	}
	return []string{"Read", "Glob", "Grep"}
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
