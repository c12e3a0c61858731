package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// prepareHelpers lets helper agents make ready what the coding agent will read. It may
// come to rd.stop: the task was skipped, or waits for research or a person.
func (l *Loop) prepareHelpers(ctx context.Context, it *Ready) error {
	if !it.claims {
		return nil
	}
	var err error
	switch agentctx.Mode(l.Settings.Mode) {
	case agentctx.HandoffIndex:
		err = l.index(ctx, it)
	case agentctx.Orchestrated:
		err = l.prepareContext(ctx, it)
	default:
		return nil
	}
	if err == nil && it.stop == nil {
		it.prompt = l.assemble(it, "")
	}
	return err
}

// prepareContext runs the context agent before the coding agent and does what
// it answers. A preparation that fails in any way falls back to the prompt of
// the index mode.
func (l *Loop) prepareContext(ctx context.Context, it *Ready) error {
	left := it.state.Run.Prep
	o := l.helperOptions(it)
	o.Outputs = l.lastOutputs(ctx, it)
	o.Findings, o.Advice = left.Findings, left.Advice
	o.Stuck = it.task.ID != "" && it.state.Run.Stuck == string(it.task.ID)
	if left.Task == it.task.ID {
		o.Topics = left.Topics
	}
	job := agentctx.Helper(agentctx.ContextPrep, it.state, it.task.ID, o)
	ans, err := l.help(ctx, it, helperRun{role: session.RoleContextPrep, kind: agentctx.ContextPrep, job: job,
		known:    it.state,
		readOnly: true})
	if err != nil {
		return err
	}
	if ans.halted != nil {
		it.add(ans.contribution)
		return nil
	}
	step, reason := agentctx.AfterPrep(ans.directive, ans.prompt, ans.failed, left.Rounds[string(it.task.ID)])
	refused, err := l.remember(it, ans.knowledge, "agent")
	if err != nil {
		return err
	}
	n := state.ContextNote{Kind: "prep", Action: string(step), Reason: notes.OneLine(reason, 500),
		Failed: step == agentctx.StepFallback}
	switch step {
	case agentctx.StepPrepared: // also when research was answered once too often
		n.Action = string(agentctx.Proceed)
	case agentctx.StepSkip, agentctx.StepPause, agentctx.StepResearch:
		n.Action = string(ans.directive.Action)
	}
	if refused != nil {
		n.Detail = "knowledge refused: " + notes.OneLine(refused.Error(), 300)
		ans.remark(n.Detail)
	}
	if step == agentctx.StepResearch {
		n.Topics, n.Research = ans.directive.Topics, ans.prompt
		if len(n.Topics) == 0 {
			n.Topics = []string{ans.directive.Reason}
		}
	}
	if err := l.note(it, n); err != nil {
		return err
	}
	l.emit("agent", it.state, it.task.ID, map[string]string{"role": string(session.RoleContextPrep), "action": n.Action},
		"%s: %s",
		session.RoleContextPrep,
		strings.TrimSuffix(n.Action+": "+n.Reason, ": "))
	if d := ans.directive; d != nil && d.Stuck {
		if err := l.stuck(it, "the context agent sees the task go in circles: "+d.Reason); err != nil {
			return err
		}
	}
	switch step {
	case agentctx.StepSkip, agentctx.StepPause, agentctx.StepResearch:
		it.stop = &stopped{step, n}
	case agentctx.StepPrepared:
		it.prepared = ans.prompt
	default:
		ans.remark("the context agent failed, so the prompt was made as in handoff-plus-index: " + n.Reason)
	}
	it.add(ans.contribution)
	return nil
}

// stuck records that a task goes in circles.
func (l *Loop) stuck(it *Ready, reason string) error {
	l.emit("stuck", it.state, it.task.ID, nil, "%s", reason)
	return l.record(state.Event{Type: state.EvStuck, Task: it.task.ID, Iteration: it.number, Phase: it.phase,
		Stuck: &state.Stuck{Reason: notes.OneLine(reason, 500)}})
}

// endPrepared ends an iteration whose preparation said that no agent shall
// work on the task now. It spends no attempt and is no failure.
func (l *Loop) endPrepared(rd *Ready) (Ending, error) {
	l.KeepLogin()
	step, n := rd.stop.step, rd.stop.note
	it := &attempt{rd, &Ran{prompt: rd.prompt}, &Examined{}}
	f, err := l.checkTamper(rd)
	if err != nil {
		return Ending{}, err
	}
	if it = it.with(f); it.moved != nil {
		return l.endMoved(it)
	}
	it.facts.Outcome = session.Completed
	evidence, err := it.Store(it.tip, it.Before.Tree)
	if err != nil {
		return Ending{}, err
	}
	v := reject("prep: " + n.Action)
	l.emit("verdict", it.state, it.task.ID, map[string]any{"verdict": v.Verdict, "reasons": v.Reasons}, "%s",
		verdictLine(v))
	res := l.result(it, v)
	// Nobody worked: the handoff of the iteration before stays the newest.
	res.Handoff, res.Summary, res.Evidence = nil, n.Reason, evidence.String()
	if step == agentctx.StepSkip {
		res.TaskStatus, res.SkippedBy, res.BlockedBy = plan.Skipped, plan.ByAgent,
			[]string{cmp.Or(n.Reason, "skipped by the context agent")}
	}
	l.memorise(it, res)
	if err := l.close(it, res); err != nil {
		return Ending{}, err
	}
	if step == agentctx.StepPause {
		return it.ending(v, &Action{Kind: Halt, Status: state.NeedsReview, Reason: n.Reason}), nil
	}
	return it.ending(v, nil), nil
}

// postProcess runs the context agent and the passes after the verdict and before
// it is carried out, so that their output is in the iteration's evidence and
// event. Their words cannot change the verdict. Changes to git, and file changes
// that the checks accept, can.
func (l *Loop) postProcess(ctx context.Context, it *attempt, v Verdict) (*attempt, Verdict, error) {
	worked := it.run.Outcome != session.NotStarted && (v.Verdict == state.Keep || v.Failure || v.Block)
	ended := ctx.Err() != nil || it.cause != nil && !errors.Is(it.cause, session.ErrEndedByTool)
	if !it.claims || agentctx.Mode(l.Settings.Mode) != agentctx.Orchestrated || !worked || ended {
		return it, v, nil
	}
	s, o := l.afterState(it, v)
	if err := l.contextPost(ctx, it, s, o); err != nil {
		return it, v, err
	}
	it, v, err := l.passes(ctx, it, s, o, v)
	if err != nil || l.isolated() {
		return it, v, err
	}
	// Without a boundary only a look tells whether a helper touched git.
	f, err := l.checkTamper(it.Ready)
	it = it.with(f)
	if err == nil && it.moved == nil && len(it.facts.Tampered) > 0 {
		v = Judge(it.facts)
	}
	return it, v, err
}

// afterState is the state after the iteration, for agents that see it before
// its event is written, with their options.
func (l *Loop) afterState(it *attempt, j Verdict) (state.State, agentctx.HelperOptions) {
	s := it.state
	rec := l.handoffRecord(it, j)
	s.Handoff, s.Recent = rec, append(slices.Clip(s.Recent), *rec)
	s.Knowledge, _, _ = l.learned(it, rec)
	o := l.helperOptions(it.Ready)
	o.Verdict = verdictLine(j)
	o.Failure = l.failText(it, j)
	if j.Verdict == state.Keep {
		o.Failure = ""
	}
	o.Stuck = it.repeats(j)
	for _, c := range it.after.Changes {
		o.Changed = append(o.Changed, fmt.Sprintf("%s %s", c.Kind, c.Path))
	}
	for name, text := range it.report.Outputs {
		o.Outputs = append(o.Outputs, agentctx.Output{Name: name, Text: string(text)})
	}
	stable.Sort(o.Outputs, func(a, b agentctx.Output) int { return strings.Compare(a.Name, b.Name) })
	return s, o
}

// contextPost lets the context agent put in order what was learned.
func (l *Loop) contextPost(ctx context.Context, it *attempt, s state.State, o agentctx.HelperOptions) error {
	job := agentctx.Helper(agentctx.ContextPost, s, it.task.ID, o)
	ans, err := l.help(ctx, it.Ready, helperRun{role: session.RoleContextPost, kind: agentctx.ContextPost, job: job,
		known:    s,
		readOnly: true, after: it.after})
	if err != nil {
		return err
	}
	left := ans.contribution
	defer func() { it.Ready.add(left) }()
	if ans.halted != nil {
		return nil
	}
	failed := ans.failed
	if failed == nil {
		failed = notes.CheckKnowledge(s.Knowledge, ans.knowledge)
	}
	n := state.ContextNote{Kind: "post"}
	if failed != nil {
		n.Failed, n.Reason = true, notes.OneLine(failed.Error(), 500)
		left.remark("the context agent failed after the iteration: " + n.Reason)
		return l.note(it.Ready, n)
	}
	left.learned = ans.knowledge
	n.Action, n.Detail = string(agentctx.Proceed), fmt.Sprintf("%d entries", len(ans.knowledge))
	if d := ans.directive; d != nil {
		n.Action, n.Reason = string(d.Action), d.Reason
		if len(d.Suggestions) > 0 {
			n.Detail += "; " + notes.OneLine(strings.Join(d.Suggestions, "; "), 500)
			n.Reason = notes.OneLine(n.Reason+" Suggested: "+strings.Join(d.Suggestions, "; "), 1000)
		}
		if d.Action == agentctx.HumanReview {
			left.review = cmp.Or(d.Reason, "the context agent asks for a person")
		}
	}
	l.emit("agent", it.state, it.task.ID, map[string]string{"role": string(session.RoleContextPost), "action": n.Action},
		"%s: %s",
		session.RoleContextPost,
		strings.TrimSuffix(n.Action+": "+n.Reason, ": "))
	return l.note(it.Ready, n)
}
