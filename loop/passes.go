package loop

import (
	"context"
	"errors"
	"maps"
	"slices"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
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
func (l *Loop) passes(ctx context.Context, it *iteration, s state.State, o agentctx.HelperOptions, j Verdict) (Verdict, error) {
	for _, p := range l.Settings.Passes {
		if ctx.Err() != nil || it.cause != nil && !errors.Is(it.cause, errEndedTool) {
			break
		}
		if !p.Trigger.Fires(j.Verdict == state.Keep, it.number) {
			continue
		}
		o.Pass, o.Template = p.Name, p.Template
		h := helperRun{role: Role(p.Name), kind: agentctx.Reviewer, job: agentctx.Helper(agentctx.Reviewer, s, it.task.ID, o), known: s,
			keeps: !p.ReadOnly && j.Verdict == state.Keep}
		ans, err := l.help(ctx, it, h)
		if err != nil {
			return j, err
		}
		if h.keeps {
			if j, err = l.adopt(ctx, it, p, j); err != nil {
				return j, err
			}
		}
		if err := l.endPass(it, s, p, ans); err != nil {
			return j, err
		}
	}
	return j, nil
}

// endPass records what a pass found.
func (l *Loop) endPass(it *iteration, s state.State, p Pass, ans answer) error {
	r := state.PassResult{Name: p.Name, Findings: notes.CutBytes(ans.text, 4000)}
	if d := ans.directive; d != nil && (d.Prompt != "" || d.Reason != "") {
		r.Findings = notes.CutBytes(or(ans.prompt, d.Reason), 4000)
	}
	failed := ans.failed
	if failed == nil && len(ans.knowledge) > 0 {
		all := append(slices.Clip(it.learned), ans.knowledge...)
		if failed = notes.CheckKnowledge(s.Knowledge, all); failed == nil {
			it.learned = all
		}
	}
	if failed != nil {
		r.Failed = true
		it.notices = append(it.notices, "the pass "+p.Name+" failed: "+notes.OneLine(failed.Error(), 300))
		if r.Findings == "" {
			r.Findings = "failed: " + notes.OneLine(failed.Error(), 300)
		}
	}
	it.passed = append(it.passed, r)
	snap, err := l.Journal.Record(l.background(), state.Event{Type: state.EvPass, Phase: it.phase, Iteration: it.number, Task: it.task.ID, Pass: &r})
	if err != nil {
		return err
	}
	it.state = snap.State
	l.emit("pass", it.state, it.task.ID, r, "%s: %s", p.Name, notes.OneLine(or(r.Findings, "no findings"), 300))
	return nil
}

// adopt weighs what a pass that may write has changed on a kept iteration: it
// becomes part of the iteration when every gate accepts it, else it is put back.
func (l *Loop) adopt(ctx context.Context, it *iteration, p Pass, j Verdict) (Verdict, error) {
	now, err := l.Engine.Capture(l.background(), it.before)
	if err != nil {
		return j, err
	}
	if now.Tree == it.after.Tree {
		return j, l.putBackAfter(it, Role(p.Name))
	}
	try := *it
	try.after, try.evidence = now, maps.Clone(it.evidence)
	try.putBack, try.notices = nil, slices.Clip(it.notices)
	q := &try.facts
	q.Change.Protected, q.Change.OutOfPhase, q.Checks.Weakened, q.Change.TooLarge, q.Change.Nested, q.Checks.Reasons = nil, nil, nil, nil, nil, nil
	l.weighChange(&try)
	if err := l.prove(ctx, &try); err != nil {
		return j, err
	}
	if nj := Judge(try.facts); nj.Verdict == state.Keep && nj.Partial == j.Partial {
		try.notices = append(slices.Clip(it.notices), "the pass "+p.Name+" changed files; the checks accept it")
		*it = try
		return j, nil
	}
	it.notices = append(it.notices, "the pass "+p.Name+" changed files and the checks did not accept it; they were put back")
	_, err = l.restoreCaptured(it)
	return j, err
}
