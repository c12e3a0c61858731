package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/notes"
)

// errWindow is the cause when a session is ended because its window is full.
var errWindow = errors.New("the context window is full")

// Reasons why a session was ended for a fresh one.
const (
	endBudget = "context_budget"
	endManual = "manual"
)

// fill follows the context window of one session. Above the first threshold,
// or when a person asks for it, the client's next tool call is denied with the
// request to hand over, and so is every one after it: that is the only moment
// in the middle of its work at which a client listens. When it ends without a
// handoff, FollowUp asks once more. Above the second threshold the session is
// ended. A client that lets us judge nothing cannot be asked, and is left alone.
// A nil fill watches nothing.
type fill struct {
	ask   func(percent int) string // the words
	asked func() bool              // does the journal say that a person wants a handoff; nil = nobody can
	stop  context.CancelCauseFunc
	last  bool // no further session is left: nothing is asked for

	mu       sync.Mutex
	window   agentctx.Window
	heard    bool   // the client can be asked
	reason   string // why a handoff is wanted, "" = it is not
	told     bool
	prompted bool
}

// newFill is for session n of an iteration, counted from 1; nil where sessions
// do not follow each other.
func (l *Loop) newFill(it *iteration, n int, stop context.CancelCauseFunc) *fill {
	if it.product != nil || it.phase != state.Building {
		return nil
	}
	f := &fill{stop: stop, last: n > l.Settings.MaxHandoffs,
		window: agentctx.Window{Capacity: int64(l.Settings.Window), Ask: l.Settings.HandoffPercent, Hard: l.Settings.HardPercent}}
	s, o := it.asked, l.promptOptions(it)
	f.ask = func(percent int) string { return agentctx.AskHandoff(s, it.task.ID, o, percent) }
	f.asked = func() bool {
		s, err := l.load()
		return err == nil && s.Run.AskHandoff == it.number
	}
	return f
}

func (f *fill) observe(u Usage) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window.Observe(u.ContextTokens, u.ContextWindow)
	switch f.window.State() {
	case agentctx.WindowHard:
		if f.heard {
			f.stop(errWindow)
		}
	case agentctx.WindowAsk:
		f.want(endBudget)
	}
}

// want asks for a handoff at the next occasion; f.mu is held.
func (f *fill) want(reason string) {
	if f.reason == "" && !f.last {
		f.reason = reason
	}
}

// wanted is a person's request.
func (f *fill) wanted() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want(endManual)
}

// judge puts the request before the judgement of a tool call.
func (f *fill) judge(next func(ToolUse) Permission) func(ToolUse) Permission {
	if f == nil {
		return next
	}
	return func(u ToolUse) Permission {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.heard = true
		switch {
		case f.reason == "":
			return next(u)
		case f.told:
			return Permission{Reason: "no more tools in this session: call ralph_submit_handoff now, then end"}
		}
		f.told = true
		return Permission{Reason: f.words()}
	}
}

// followUp puts the request before the repair of a handoff.
func (f *fill) followUp(it *iteration, box Toolbox, next func(Result) (string, bool)) func(Result) (string, bool) {
	if f == nil {
		return next
	}
	return func(r Result) (string, bool) {
		if text, ok := f.prompt(it, box, r); ok {
			return text, true
		}
		return next(r)
	}
}

func (f *fill) prompt(it *iteration, box Toolbox, r Result) (string, bool) {
	if f.asked != nil && f.asked() {
		// Acknowledged before the session ended, and too late for watch to see.
		f.wanted()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = true
	c := box.Collected()
	if f.reason == "" || f.prompted || r.Outcome != Completed || c.Complete != nil || c.Blocked != nil || c.Retry != "" || c.Handoff != nil {
		return "", false
	}
	if raw, _ := readHandoff(handoffFile(it)); raw != nil {
		return "", false
	}
	f.prompted, f.told = true, true
	return f.words(), true
}

// words is the request for a handoff; f.mu is held.
func (f *fill) words() string {
	if f.reason == endManual {
		return f.ask(0)
	}
	return f.ask(f.window.Percent())
}

// over says why the session was one that a fresh one follows, "" when it was
// not, after its client has ended.
func (f *fill) over(it *iteration, h *notes.Handoff) string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := it.tools
	if c.Complete != nil || c.Blocked != nil || c.Retry != "" || h != nil && h.TaskCompleted.FullyComplete {
		return ""
	}
	switch it.run.Outcome {
	case ContextLimit:
		if f.reason == endManual {
			return endManual
		}
		return endBudget
	case Completed, MaxTurns:
		if f.told {
			return f.reason
		}
	}
	return ""
}

// runAgent runs the agent, in a fresh session of the same iteration whenever
// one was ended for its context window. An error is one of the harness.
func (l *Loop) runAgent(ctx context.Context, it *iteration) error {
	if it.cause != nil { // a person ended the iteration while a helper worked
		it.run.Outcome = Interrupted
		l.settleOutcome(it, &meter{})
		return nil
	}
	for n := 1; ; n++ {
		reason, h := "", (*notes.Handoff)(nil)
		err := l.sandboxed(it.id, it.use, func(start Starter) error {
			if n == 1 {
				if failed, err := l.stepsBefore(ctx, it, start); err != nil || failed {
					return err
				}
			}
			agent, err := l.agentFor(it.role)
			if err == nil {
				reason, h, err = l.session(ctx, it, agent, start, n)
			}
			return err
		})
		if err != nil || reason == "" {
			return err
		}
		if err := l.freshSession(it, n, reason, h); err != nil {
			return err
		}
	}
}

// session is one run of the client. A reason says that a fresh one shall go
// on, with the handoff that this one left, if it left one.
func (l *Loop) session(ctx context.Context, it *iteration, agent Agent, start Starter, n int) (reason string, h *notes.Handoff, err error) {
	box, err := l.OpenTools(l.scope(it))
	if err != nil {
		return "", nil, fmt.Errorf("open the tools of the run: %w", err)
	}
	defer box.Close()
	transcript := proc.NewHeadTailLines(maxTranscript)
	req, err := l.request(it, box, start, transcript)
	if err != nil {
		return "", nil, err
	}
	if n == 1 {
		l.resume(it, agent, &req)
	}
	run, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	it.window = l.newFill(it, n, stop)
	req.Judge, req.FollowUp = it.window.judge(req.Judge), it.window.followUp(it, box, req.FollowUp)
	unhook := context.AfterFunc(ctx, func() { stop(errInterrupted) })
	defer unhook()
	watched := l.watch(run, it, box, stop)

	meter := &meter{l: l, it: it, ctx: run, stop: stop, model: req.Model}
	began := l.Now()
	it.run, err = agent.Run(run, req, meter.event)
	stop(nil)
	<-watched
	if cause := context.Cause(run); cause != nil && !errors.Is(cause, context.Canceled) {
		it.cause = cause
	}
	if err != nil && it.cause == nil {
		return "", nil, fmt.Errorf("run the agent: %w", err)
	}
	it.tools = joinCollected(it.tools, box.Collected())
	l.settleOutcome(it, meter)
	it.evidence.add(ofSession("transcript", n, "jsonl"), transcript.Take())
	it.evidence.add(ofSession("prompt", n, "md"), []byte(req.Prompt))
	if it.prompt.System != "" {
		it.evidence.add("system.md", []byte(it.prompt.System))
	}
	it.peak, it.lastText = max(it.peak, meter.peak), meter.lastText
	ar := agentRun(it, it.role, it.run, l.Now().Sub(began))
	ar.ContextPeak = meter.peak

	raw := it.leftHandoff()
	if raw != nil {
		h, _ = notes.ParseHandoff(raw)
	}
	l.keepSession(it, agent, req)
	if reason = it.window.over(it, h); reason != "" {
		l.resumable = nil
		ar.Reason = reason
		if errors.Is(it.cause, errWindow) {
			it.cause = nil
		}
		if it.window.last || ctx.Err() != nil {
			// Judged as it stands: what was done may well be enough.
			it.run.Outcome, reason = Completed, ""
			it.notices = append(it.notices, "the context window was full and no further session was left")
		}
	}
	if reason == "" && raw == nil && it.tools.Complete == nil {
		it.tools.Handoff = it.handedOver // the last submission counts, whichever session made it
	}
	it.runs = append(it.runs, ar)
	return reason, h, nil
}

// leftHandoff is what the session left, as it came.
func (it *iteration) leftHandoff() []byte {
	if it.tools.Handoff != nil {
		return it.tools.Handoff
	}
	if raw, _ := readHandoff(handoffFile(it)); raw != nil {
		return raw
	}
	return it.run.Structured
}

// ofSession names a file of evidence: prompt.md, prompt.2.md.
func ofSession(name string, n int, ext string) string {
	if n == 1 {
		return name + "." + ext
	}
	return fmt.Sprintf("%s.%d.%s", name, n, ext)
}

// freshSession stores what the session before left and makes the next one
// ready, in the same worktree.
func (l *Loop) freshSession(it *iteration, n int, reason string, h *notes.Handoff) error {
	percent := it.runs[len(it.runs)-1].ContextPeak
	source := "agent"
	if h == nil {
		source = "harness"
		made := l.facts(it)
		h = &made
	} else {
		it.handedOver = it.leftHandoff()
		it.earlier = append(it.earlier, *h)
	}
	if data, err := json.MarshalIndent(h, "", "  "); err == nil {
		it.evidence.add(fmt.Sprintf("handoff.%d.json", n), append(data, '\n'))
	}
	it.tools.Handoff, it.run.Structured = nil, nil
	if err := os.Remove(handoffFile(it)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clear the handoff of the session: %w", err)
	}
	why := fmt.Sprintf("%d %% of the window", percent)
	if reason == endManual {
		why = "a person asked for a handoff"
	}
	if err := l.note(it, state.ContextNote{Kind: "window", Action: reason, Reason: why, Detail: notes.OneLine(source+": "+h.Summary, 500)}); err != nil {
		return err
	}
	l.emit("agent", it.state, it.task.ID, map[string]any{"window": reason, "session": n + 1}, "%s: going on in a fresh session", why)
	it.session = strings.TrimSpace(agentctx.SessionText(*h) + olderSessions(it.earlier[:max(0, len(it.earlier)-1)]))
	it.prompt = l.assemble(it)
	return nil
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

// facts are the handoff of a session that left none.
func (l *Loop) facts(it *iteration) notes.Handoff {
	in := notes.SynthInput{Iteration: it.number, Attempt: it.attempt, TaskID: string(it.task.ID), Title: it.task.Title,
		Outcome: string(it.run.Outcome), Detail: it.run.Detail, Tail: notes.Clean(it.lastText)}
	if c, err := l.Engine.Capture(l.background(), it.before); err == nil {
		for _, x := range c.Changes[:min(len(c.Changes), 200)] {
			in.Files = append(in.Files, notes.FileTouched{Path: x.Path, Action: string(x.Kind)})
		}
	}
	return notes.Synthesize(in)
}

// joinCollected is what the tools recorded over the sessions of an iteration.
// What was said about the task is the newest session's; records add up.
func joinCollected(before, now Collected) Collected {
	out := now
	out.Learnings = append(before.Learnings, now.Learnings...)
	out.Memory = append(before.Memory, now.Memory...)
	out.Tasks = append(before.Tasks, now.Tasks...)
	out.Refused = append(before.Refused, now.Refused...)
	out.Criteria = append(before.Criteria, now.Criteria...)
	out.Knowledge = append(before.Knowledge, now.Knowledge...)
	out.InProgress = before.InProgress || now.InProgress
	out.Asked += before.Asked
	return out
}

// remaining takes what the iteration has used already from the limits of a
// further run of it.
func (l *Loop) remaining(it *iteration, req *Request) {
	spent, _ := it.spent()
	if limit := l.Settings.IterationMicroUSD; limit > 0 {
		req.MaxCostMicroUSD = max(1, limit-spent)
	}
	var took time.Duration
	turns := 0
	for _, r := range it.runs {
		if r.Role == string(it.role) {
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

// spent is what the finished runs of the iteration have used, in millionths of
// a dollar and in tokens.
func (it *iteration) spent() (micro, tokens int64) {
	for _, r := range it.runs {
		tokens += r.Tokens.Total()
		if r.CostMicro != nil {
			micro += *r.CostMicro
		}
	}
	return micro, tokens
}
