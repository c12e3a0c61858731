package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// relay is what one session of the coding agent hands to the next.
type relay struct {
	text string // of the prompt
	raw  []byte // the newest handoff as it came
}

// work runs the agent, in a fresh session of the same iteration whenever one
// was ended for its context window. An error is one of the harness.
func (l *Loop) work(ctx context.Context, rd *Ready) (*Ran, error) {
	ran := &Ran{prompt: rd.prompt}
	if rd.halted != nil { // a person ended the iteration while a helper worked
		ran.cause = rd.halted
		ran.run = session.Stopped(session.Result{Outcome: session.Interrupted}, rd.halted)
		return ran, nil
	}
	var r relay
	for n := 1; ; n++ {
		reason, h := "", (*notes.Handoff)(nil)
		err := l.sandboxed(rd, rd.use, func(start session.Starter) error {
			if n == 1 {
				if failed, err := l.stepsBefore(ctx, rd, ran, start); err != nil || failed {
					return err
				}
			}
			var err error
			reason, h, err = l.codingSession(ctx, rd, ran, &r, start, n)
			return err
		})
		if err != nil || reason == "" {
			return ran, err
		}
		if err := l.handOver(rd, ran, &r, n, reason, h); err != nil {
			return ran, err
		}
	}
}

// stepsBefore runs the steps that come before the agent. One that fails ends
// the iteration before the agent has seen anything: the task is not to blame.
func (l *Loop) stepsBefore(ctx context.Context, rd *Ready, ran *Ran, start session.Starter) (bool, error) {
	if rd.phase != state.Building {
		return false, nil
	}
	r, err := l.Prover.Steps(ctx, "before", l.proofRequest(rd, start))
	ran.steps = r.Runs
	rd.AddOutputs(r.Outputs)
	if r.Failed != "" {
		ran.run.Outcome, ran.run.Detail = session.NotStarted, r.Failed
		for _, c := range named(lacking(r.Runs), r.Failed) {
			ran.lacks = c.Missing // nobody but the harness has done anything yet
		}
		l.Log("the step %s failed before the agent began:\n%s", r.Failed, r.FailText)
	}
	return r.Failed != "", err
}

// codingSession is one session of the coding agent. A reason says that a fresh
// one shall go on, with the handoff that this one left, if it left one.
func (l *Loop) codingSession(ctx context.Context, rd *Ready, ran *Ran, r *relay, start session.Starter, n int) (
	reason string, h *notes.Handoff, err error) {
	ss, err := l.newSession(rd, rd.role, ran.prompt, rd.state, rd.use)
	if err != nil {
		return "", nil, err
	}
	ss.Start, ss.Calls, ss.Window = start, &ran.calls, l.window(rd, r.text, n)
	ss.Request.HandoffSchema = notes.HandoffSchema()
	ss.Resume = n == 1 && l.Settings.Resume && rd.role == session.RoleCoding && rd.task.ID != ""
	ss.FollowUp = func(box session.Toolbox) func(session.Result) (string, bool) { return l.followUp(rd, ran, box) }
	end, err := l.RunSession(ctx, ss)
	if err == nil {
		err = end.Failed
	}
	if err != nil {
		return "", nil, err
	}
	ran.run, ran.cause = end.Result, end.Cause
	ran.tools = joinCollected(ran.tools, end.Tools)
	ran.peak, ran.lastText = max(ran.peak, end.Peak), end.LastText
	if end.Warning != "" {
		ran.warnings = recovery.Noted(ran.warnings, end.Warning)
	}
	rd.Add(ofSession("transcript", n, "jsonl"), end.Transcript)
	rd.Add(ofSession("prompt", n, "md"), []byte(end.Prompt))
	if ran.prompt.System != "" {
		rd.Add("system.md", []byte(ran.prompt.System))
	}
	raw := session.LeftHandoff(rd.use.RunDir, ran.tools, ran.run)
	if raw != nil {
		h, _ = notes.ParseHandoff(raw)
	}
	if reason = ss.Window.Over(ran.tools, ran.run.Outcome, h); reason != "" {
		l.ForgetSession()
		end.Record.Reason = reason
		if errors.Is(ran.cause, session.ErrWindowFull) {
			ran.cause = nil
		}
		if ss.Window.Last || ctx.Err() != nil {
			// Judged as it stands: what was done may well be enough.
			ran.run.Outcome, reason = session.Completed, ""
			ran.warnings = recovery.Noted(ran.warnings, "the context window was full and no further session was left")
		}
	}
	if reason == "" && raw == nil && ran.tools.Complete == nil {
		ran.tools.Handoff = r.raw // the last submission counts, whichever session made it
	}
	rd.add(contribution{runs: []state.AgentRun{end.Record}})
	return reason, h, nil
}

// handOver stores what a session left and makes the prompt of the next one, in
// the same worktree.
func (l *Loop) handOver(rd *Ready, ran *Ran, r *relay, n int, reason string, h *notes.Handoff) error {
	percent := rd.runs[len(rd.runs)-1].ContextPeak
	source := "agent"
	if h == nil {
		source = "harness"
		made := l.sessionFacts(rd, ran)
		h = &made
	} else {
		r.raw = session.LeftHandoff(rd.use.RunDir, ran.tools, ran.run)
		ran.earlier = append(ran.earlier, *h)
	}
	if data, err := json.MarshalIndent(h, "", "  "); err == nil {
		rd.Add(fmt.Sprintf("handoff.%d.json", n), append(data, '\n'))
	}
	ran.tools.Handoff, ran.run.Structured = nil, nil
	if err := os.Remove(session.HandoffFile(rd.use.RunDir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear the handoff of the session: %w", err)
	}
	why := fmt.Sprintf("%d %% of the window", percent)
	if reason == session.EndManual {
		why = "a person asked for a handoff"
	}
	window := state.ContextNote{Kind: "window", Action: reason, Reason: why,
		Detail: notes.OneLine(source+": "+h.Summary, 500)}
	if err := l.note(rd, window); err != nil {
		return err
	}
	l.emit("agent", rd.state, rd.task.ID, map[string]any{"window": reason, "session": n + 1},
		"%s: going on in a fresh session", why)
	r.text = strings.TrimSpace(agentctx.SessionText(*h) + olderSessions(ran.earlier[:max(0, len(ran.earlier)-1)]))
	ran.prompt = l.assemble(rd, r.text)
	return nil
}

// sessionFacts are the handoff of a session that left none.
func (l *Loop) sessionFacts(rd *Ready, ran *Ran) notes.Handoff {
	in := notes.SynthInput{Iteration: rd.number, Attempt: rd.attempt, TaskID: string(rd.task.ID), Title: rd.task.Title,
		Outcome: string(ran.run.Outcome), Detail: ran.run.Detail, Tail: notes.Clean(ran.lastText)}
	if c, err := l.Engine.Capture(l.background(), rd.Before); err == nil {
		for _, x := range c.Changes[:min(len(c.Changes), 200)] {
			in.Files = append(in.Files, notes.FileTouched{Path: x.Path, Action: string(x.Kind)})
		}
	}
	return notes.Synthesize(in)
}

// joinCollected is what the tools recorded over the sessions of an iteration.
// What was said about the task is the newest session's; records add up.
func joinCollected(before, now session.Collected) session.Collected {
	out := now
	out.Learnings = append(before.Learnings, now.Learnings...)
	out.Memory = append(before.Memory, now.Memory...)
	out.Tasks = append(before.Tasks, now.Tasks...)
	out.Refused = append(before.Refused, now.Refused...)
	out.Criteria = append(before.Criteria, now.Criteria...)
	out.Knowledge = append(before.Knowledge, now.Knowledge...)
	out.InProgress = before.InProgress || now.InProgress
	out.Asked += before.Asked
	out.Unanswered = append(before.Unanswered, now.Unanswered...)
	return out
}

// ofSession names a file of evidence: prompt.md, prompt.2.md.
func ofSession(name string, n int, ext string) string {
	if n == 1 {
		return name + "." + ext
	}
	return fmt.Sprintf("%s.%d.%s", name, n, ext)
}

// olderSessions names what sessions before the last one handed over, so that
// the third does not depend on the second's retelling of the first.
func olderSessions(list []notes.Handoff) string {
	var b strings.Builder
	for i, h := range list {
		fmt.Fprintf(&b, "\n- Session %d: %s", i+1, notes.OneLine(h.Summary, 300))
		for _, c := range h.ConstraintsDiscovered[:min(len(h.ConstraintsDiscovered), 5)] {
			fmt.Fprintf(&b, "\n  - %s", notes.OneLine(c.Constraint, 300))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\nSessions before that:\n" + b.String()
}
