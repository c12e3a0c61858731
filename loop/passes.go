package loop

import (
	"cmp"
	"context"
	"slices"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// Pass is an optional agent after an iteration ([[passes]]). Its role is its
// name.
type Pass struct {
	Name     string
	Trigger  agentctx.Trigger
	Template string // "" = its own, else the reviewer's
	// ReadOnly reports whether what it changed is put back. Otherwise what it changes on an
	// iteration that is kept is part of it, if the checks accept that.
	ReadOnly bool
}

// passes runs those whose trigger fires. None can fail the iteration.
func (l *Loop) passes(ctx context.Context, it *attempt, s state.State, o agentctx.HelperOptions, j Verdict) (*attempt,
	Verdict, error) {
	for _, p := range l.Settings.Passes {
		if ctx.Err() != nil || it.halted != nil {
			break
		}
		if !p.Trigger.Fires(j.Verdict == state.Keep, it.number) {
			continue
		}
		o.Pass, o.Template = p.Name, p.Template
		h := helperRun{role: session.Role(p.Name), kind: agentctx.Reviewer, job: agentctx.Helper(agentctx.Reviewer, s,
			it.task.ID, o),
			known: s, after: it.after, writes: !p.ReadOnly && j.Verdict == state.Keep}
		ans, err := l.help(ctx, it.Ready, h)
		if err == nil && h.writes {
			it, err = l.adopt(ctx, it, h, &ans.contribution, j)
		}
		if err == nil {
			err = l.endPass(it, s, p, ans)
		}
		if err != nil {
			return it, j, err
		}
	}
	return it, j, nil
}

// endPass records what a pass found.
func (l *Loop) endPass(it *attempt, s state.State, p Pass, ans answer) error {
	r := state.PassResult{Name: p.Name, Findings: notes.CutBytes(ans.text, 4000)}
	if d := ans.directive; d != nil && (d.Prompt != "" || d.Reason != "") {
		r.Findings = notes.CutBytes(cmp.Or(ans.prompt, d.Reason), 4000)
	}
	failed := ans.failed
	if failed == nil && len(ans.knowledge) > 0 {
		all := append(slices.Clip(it.learned), ans.knowledge...)
		if failed = notes.CheckKnowledge(s.Knowledge, all); failed == nil {
			ans.learned = ans.knowledge
		}
	}
	if failed != nil {
		r.Failed = true
		ans.remark("the pass " + p.Name + " failed: " + notes.OneLine(failed.Error(), 300))
		if r.Findings == "" {
			r.Findings = "failed: " + notes.OneLine(failed.Error(), 300)
		}
	}
	ans.passed = []state.PassResult{r}
	it.Ready.add(ans.contribution)
	snap, err := l.Journal.Record(l.background(), state.Event{Type: state.EvPass, Phase: it.phase, Iteration: it.number,
		Task: it.task.ID, Pass: &r})
	if err != nil {
		return err
	}
	it.state = snap.State
	l.emit("pass", it.state, it.task.ID, r, "%s: %s", p.Name, notes.OneLine(cmp.Or(r.Findings, "no findings"), 300))
	return nil
}

// adopt weighs what a pass that may write has changed on a kept iteration: it
// becomes part of the iteration when every gate accepts it, else it is put back.
func (l *Loop) adopt(ctx context.Context, it *attempt, h helperRun, left *contribution, v Verdict) (*attempt, error) {
	now, err := l.Engine.Capture(l.background(), it.Before)
	if err != nil {
		return it, err
	}
	if now.Tree == it.after.Tree {
		return it, l.putBackAfter(it.Ready, h, left)
	}
	try := it.again(now)
	change, f := l.weighChange(try.Ready, now)
	try = try.with(f)
	try.facts.Change = change
	proof, err := l.prove(ctx, try)
	if err != nil {
		return it, err
	}
	try.prove(proof)
	if nv := Judge(try.facts); nv.Verdict == state.Keep && nv.Partial == v.Partial {
		*it.Record = *try.Record
		try.Ready = it.Ready
		return try.with(noted("the pass %s changed files; the checks accept it", h.role)), nil
	}
	it = it.with(noted("the pass %s changed files and the checks did not accept it; they were put back", h.role))
	it.TakeFound(try.Record)
	back, err := it.RestoreCaptured(it.after)
	left.remark(back.Notices...)
	return it, err
}

// again is the attempt with another change. Only the agent's claims about the
// original change are kept.
func (it *attempt) again(after *worktree.Capture) *attempt {
	rd, x := *it.Ready, *it.Examined
	rd.Record = it.Trial()
	x.after, x.putBack = after, slices.Clone(after.PutBack)
	x.facts.Change, x.facts.Checks.Weakened, x.facts.Checks.Reasons = Change{}, nil, nil
	return &attempt{&rd, it.Ran, &x}
}
