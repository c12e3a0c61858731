package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// title is what the iteration was about, in its commit as well.
func (it *attempt) title() string { return cmp.Or(it.task.Title, it.made.title) }

func verdictLine(j Verdict) string {
	switch {
	case j.Partial:
		return "keep (partial)"
	case len(j.Reasons) > 0:
		return string(j.Verdict) + ": " + strings.Join(j.Reasons, "; ")
	}
	return string(j.Verdict)
}

// result puts together the event of an iteration.
func (l *Loop) result(it *attempt, j Verdict) *state.Result {
	rec := l.handoffRecord(it, j)
	var tok state.Tokens
	turns, calls := 0, 0
	for _, r := range it.runs {
		tok = tok.Plus(r.Tokens)
		turns, calls = turns+r.Turns, calls+r.APICalls
	}
	cost := costOf(it.runs)
	res := &state.Result{Verdict: j.Verdict, Partial: j.Partial, Reasons: j.Reasons, Outcome: string(it.facts.Outcome),
		Detail: notes.OneLine(notes.Redact(it.facts.Detail), 500), Title: it.title(),
		Summary: notes.OneLine(rec.Summary, 500),
		Parent:  object.Hex(it.tip), Attempt: j.Attempt, Failure: j.Failure, Agent: l.Settings.Driver,
		Model: notes.OneLine(it.run.Model, 100),
		Runs:  it.runs, Tokens: tok, CostMicro: cost, DurationMs: l.Now().Sub(it.started).Milliseconds(), Turns: turns,
		APICalls: calls,
		Checks:   append(slices.Concat([]state.CheckRun{}, it.steps, it.stepsAfter), it.report.Runs...), PutBack: it.putBack,
		Notices:  it.told(),
		Criteria: it.report.Criteria, Handoff: rec, PromptTokens: it.Ran.prompt.Tokens, Dropped: it.Ran.prompt.Dropped,
		Sandbox: l.Sandbox.Mechanism(), ContextPeak: it.peak, ContextTokens: it.run.Usage.ContextTokens,
		ContextWindow: it.run.Usage.ContextWindow, ClaimedDone: it.facts.Said.Done, Passes: it.passed,
		TestsReleased: it.task.AllowTestChanges, Reproduction: it.reproduced}
	if res.ContextWindow == 0 && res.ContextTokens > 0 {
		res.ContextWindow = int64(l.Settings.Window)
	}
	if it.after != nil {
		for _, c := range it.after.Changes {
			if len(res.Files) == 1000 {
				res.Notices = append(res.Notices, fmt.Sprintf("%d files changed; the first 1000 are listed", len(it.after.Changes)))
				break
			}
			res.Files = append(res.Files, state.FileChange{Path: c.Path, Kind: string(c.Kind)})
		}
	}
	if it.claims {
		if j.Failure && it.after != nil {
			res.Tree = object.Hex(it.after.Tree)
		}
		stalled := res.Tree != "" && it.repeats(j) && it.state.Run.LastFailTree == res.Tree
		res.Rung, res.Step = it.choice.Rung, it.choice.Step
		res.Climbs = Climb(l.Settings.Ladder, it.task.Rung, j, stalled) - it.task.Rung
		l.taskEnd(it, j, res)
	} else {
		res.PhaseDone = it.made.done && j.Verdict == state.Keep
		if res.PhaseDone && len(res.Runs) > 0 {
			res.Runs[len(res.Runs)-1].Reason = "phase_complete"
		}
	}
	l.recordEffects(it, j, res)
	return res
}

// repeats reports whether the task failed in the same way as the time before.
func (it *attempt) repeats(v Verdict) bool {
	r := it.state.Run
	return v.Failure && r.LastFailTask == string(it.task.ID) &&
		r.LastFailKey == state.Result{Reasons: v.Reasons}.FailureKey()
}

// costOf adds up what runs reported; nil when one that used tokens did not say,
// or when none said anything.
func costOf(runs []state.AgentRun) *int64 {
	var sum *int64
	for _, r := range runs {
		switch {
		case r.CostMicro != nil:
			n := *r.CostMicro
			if sum != nil {
				n += *sum
			}
			sum = &n
		case r.Tokens.Total() > 0:
			return nil
		}
	}
	return sum
}

// taskEnd says what becomes of the task.
func (l *Loop) taskEnd(it *attempt, j Verdict, res *state.Result) {
	switch {
	case j.Waits:
		res.TaskStatus, res.BlockedBy = plan.Blocked, []string{state.AwaitsAnswer + it.facts.Said.Question}
	case j.Block:
		res.TaskStatus, res.BlockedBy = plan.Blocked, []string{notes.OneLine(it.facts.Said.Blocked, 500)}
	case j.Verdict == state.Keep && !j.Partial:
		res.TaskStatus = plan.Done
		if it.report.Baseline != nil {
			res.Baseline = it.report.Baseline
		}
	default:
		res.TaskStatus = plan.Pending
	}
	if j.Verdict == state.Keep && j.Partial && it.report.Baseline != nil {
		res.Baseline = it.report.Baseline
	}
	conflict := len(j.Reasons) > 0 && strings.HasPrefix(j.Reasons[0], "conflict: ")
	if j.Verdict == state.Reject && (j.Failure || conflict) && it.run.Outcome != session.NotStarted {
		res.FailText = l.failText(it, j)
	} else if j.Verdict == state.Reject && !j.Block {
		res.FailText = it.task.Failure // an interruption says nothing new
	}
}

// failText is what the next attempt is told about this one.
func (l *Loop) failText(it *attempt, j Verdict) string {
	var b strings.Builder
	b.WriteString("The attempt was rejected: " + strings.Join(j.Reasons, "; ") + "\n")
	for _, r := range j.Reasons {
		if h := reasonHelp(r); h != "" {
			b.WriteString("- " + h + "\n")
		}
	}
	for _, text := range []string{it.stepFail, it.report.FailText} {
		if text != "" {
			b.WriteString("\n" + text + "\n")
		}
	}
	return notes.CutBytes(notes.Redact(notes.Clean(b.String())), 6000)
}

// reasonHelp explains a reason to the agent.
func reasonHelp(reason string) string {
	word, _, _ := strings.Cut(reason, ":")
	switch word {
	case "not_claimed":
		return "nothing said that the task is complete: call ralph_mark_task_complete, or leave a handoff with " +
			"fully_complete = true, when it is"
	case "no_change":
		return "no file was changed"
	case "protected":
		return "these files may not be changed; they were put back"
	case "secret":
		return "these files hold what a file of secrets holds, which is not committed; read the value from the " +
			"environment or that file where it is needed"
	case "test_weakened":
		return "tests may not be removed, skipped or made to assert less; mend the code"
	case "reproduction":
		return "write the test of the bug first, or add a case to one that is there: it has to fail on the code as it " +
			"was and pass with the change"
	case "too_large":
		return "large generated files may not be committed; add them to .gitignore or do not make them"
	case "nested":
		return "a repository inside the worktree is not part of the project; do not run git init or git clone here"
	case "hang":
		return "the run was ended because nothing happened any more; do not start servers or wait for input"
	case "max_turns":
		return "the turns were used up; do a smaller step and hand it off with fully_complete = false"
	case "handoff":
		return "the handoff could not be used: write one JSON object about this task to the file named by " +
			"$RALPH_HANDOFF_FILE, or call ralph_submit_handoff or ralph_mark_task_complete"
	case "hook":
		return "a commit hook of the repository refused the work"
	case "tampered":
		return "git is read-only for you; the harness commits your work"
	}
	return ""
}

// handoffRecord is the handoff of the iteration: the agent's when it is valid,
// else one built from the facts.
func (l *Loop) handoffRecord(it *attempt, j Verdict) *notes.Record {
	rec := &notes.Record{Origin: notes.Origin{Iteration: it.number, Task: string(it.task.ID), EventID: it.id,
		Verdict: string(j.Verdict), Source: "agent"}}
	if it.after != nil {
		n := len(it.after.Changes)
		rec.Origin.Files = &n
	}
	if it.left.handoff != nil {
		rec.Handoff = *it.left.handoff
		return rec
	}
	in := notes.SynthInput{Iteration: it.number, Attempt: it.attempt, TaskID: string(it.task.ID), Title: it.title(),
		Outcome: string(it.facts.Outcome), Detail: it.facts.Detail, Claimed: it.facts.Said.Done,
		Tail: notes.Clean(it.lastText), Raw: it.left.raw, Problems: it.left.problems}
	if it.after != nil {
		for _, c := range it.after.Changes {
			if len(in.Files) < 200 {
				in.Files = append(in.Files, notes.FileTouched{Path: c.Path, Action: string(c.Kind)})
			}
		}
	}
	rec.Handoff = notes.Synthesize(in)
	rec.Origin.Source = "harness"
	return rec
}

func (l *Loop) event(it *Ready, res *state.Result) state.Event {
	return state.Event{ID: it.id, Time: l.Now().UTC().Truncate(time.Millisecond), Type: state.EvIteration, Phase: it.phase,
		Iteration: it.number, Task: it.task.ID, Attempt: it.attempt, Under: it.under, Result: res}
}
