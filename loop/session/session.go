// Package session owns one agent session: what a client is asked and how it answers
// (Agent, Request, AgentEvent, Result), the tools and the sandbox that it gets, its
// private folder, and what is watched while it works: usage and budgets, the context
// window, and the word of a person. Coding and helper agents differ by values alone.
// It stores nothing but the spend of the iteration at work, in a file beside the locks.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/internal/proc"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Host is where the sessions of a run take place. All fields are required unless
// they say otherwise.
type Host struct {
	Repo      *gitstate.Repo
	Journal   *journal.Journal
	OpenTools func(Scope) (Toolbox, error)
	Sandbox   Sandbox
	// Binary is our own executable, for `git ralph tool` inside a session.
	Binary string
	// RunBase is where the private folders of runs lie; "" = the user's runtime
	// or temporary folder, which not every sandbox keeps an agent from.
	RunBase string

	Emit func(Live)                       // told what happens; optional
	Log  func(format string, args ...any) // warnings for people
	Now  func() time.Time
	// Sleep waits and returns early when ctx ends.
	Sleep func(ctx context.Context, d time.Duration)

	resumable *resumable // the session of the attempt before
}

// Session is one run of a client for an iteration.
type Session struct {
	Agent Agent
	// Request is what the client is asked, without its files, our part of its
	// environment, its tools and their judge. RunSession adds those.
	Request Request
	Scope   Scope         // what its tools see
	Policy  *guard.Policy // what its tools may do
	Use     Use           // RunDir is its private folder
	Start   Starter
	// Resume reports whether it goes on in the session of the attempt before, where
	// the client can.
	Resume bool
	// FollowUp makes what Request.FollowUp says; nil = nothing is asked for.
	FollowUp func(Toolbox) func(Result) (prompt string, again bool)
	Window   *Window          // nil = the context window is not watched
	Hear     func(AgentEvent) // told of every event; may be nil
	Calls    *CallWatch       // told of every tool call

	Before   []state.AgentRun // of the iteration, which are over
	Bounds   []Bound
	Deadline time.Time // of the run as a whole; zero = none
	// Pricing is what models cost whose clients report no cost, by model name.
	Pricing map[string]Price
	// Capacity of the context window, where the client does not report it.
	Capacity int
	// MemoryKills counts the processes that the kernel had ended because memory ran out when
	// the iteration began; nil = not known.
	MemoryKills *int64

	clients clients
}

// End is the result of a session.
type End struct {
	Result     Result
	Prompt     string // as it was sent
	Cause      error  // why the harness stopped it
	Tools      Collected
	Record     state.AgentRun
	Transcript []byte
	Peak       int // of the context window, in percent
	LastText   string
	Warning    string
	Failed     error // of the harness; nothing was run, or nothing is known of it
}

// maxTranscript is what evidence keeps of a text, head and tail.
const maxTranscript = 10 << 20

// HandoffFile is where a client may leave its handoff.
func HandoffFile(runDir string) string { return filepath.Join(runDir, "handoff", "handoff.json") }

// LeftHandoff is what a session left, as it came.
func LeftHandoff(runDir string, c Collected, r Result) []byte {
	if c.Handoff != nil {
		return c.Handoff
	}
	if raw, _ := ReadHandoff(HandoffFile(runDir)); raw != nil {
		return raw
	}
	return r.Structured
}

// RunSession runs a client once. An error is one of the harness before it began.
func (h *Host) RunSession(ctx context.Context, ss *Session) (End, error) {
	box, err := h.OpenTools(ss.Scope)
	if err != nil {
		return End{}, fmt.Errorf("open the tools of the run: %w", err)
	}
	defer box.Close()
	transcript := proc.NewHeadTailLines(maxTranscript)
	req, err := h.request(ss, box, transcript)
	if err != nil {
		return End{}, err
	}
	h.resume(ss, &req)
	run, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	if ss.Window != nil {
		ss.Window.stop = stop
	}
	unhook := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrStopNow) {
			stop(ErrStopNow)
		}
		stop(ErrInterrupted)
	})
	defer unhook()
	watched := h.watch(run, ss, box, stop)
	meter := &meter{h: h, ss: ss, ctx: run, stop: stop, model: req.Model}
	began := h.Now()
	var end End
	end.Result, err = ss.Agent.Run(run, req, func(e AgentEvent) {
		if ss.Hear != nil {
			ss.Hear(e)
		}
		meter.event(e)
	})
	meter.end()
	stop(nil)
	<-watched
	if cause := context.Cause(run); cause != nil && !errors.Is(cause, context.Canceled) {
		end.Cause = cause
	}
	if err != nil && end.Cause == nil {
		end.Failed = fmt.Errorf("run the agent: %w", err)
	}
	end.Tools = box.Collected()
	end.Result, end.Warning = ss.finalize(end.Result, end.Cause, meter)
	h.keepSession(ss, req, end.Result)
	end.Prompt, end.Transcript = req.Prompt, transcript.Take()
	end.Peak, end.LastText = meter.peak, meter.lastText
	end.Record = agentRun(req.Role, end.Result, meter.peak, h.Now().Sub(began))
	end.Record.Model, end.Record.Effort = cmp.Or(end.Record.Model, notes.OneLine(req.Model, 100)), req.Effort
	return end, nil
}

// request completes what the driver needs.
func (h *Host) request(ss *Session, box Toolbox, transcript io.Writer) (Request, error) {
	req, runDir := ss.Request, ss.Use.RunDir
	bin := filepath.Join(runDir, "bin")
	if err := InstallSelf(h.Binary, bin); err != nil {
		return req, err
	}
	promptFile := filepath.Join(runDir, "prompt.md")
	if err := os.WriteFile(promptFile, []byte(req.Prompt), 0o600); err != nil {
		return req, fmt.Errorf("write the prompt: %w", err)
	}
	inside := func(p string) string { return h.Sandbox.Inside(runDir, p) }
	env := prependPath(req.Env, inside(bin))
	for _, kv := range box.Env() {
		if name, val, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(val, runDir+string(os.PathSeparator)) {
			kv = name + "=" + inside(val)
		}
		env = append(env, kv)
	}
	var err error
	if req.Env, err = h.installGuard(runDir, ss.Policy, env); err != nil {
		return req, err
	}
	req.Dir, req.PromptFile, req.HandoffFile = h.Repo.Root, inside(promptFile), inside(HandoffFile(runDir))
	req.ToolSpecs, req.OpenCalls, req.CallTool = box.Specs(), box.Open, box.Call
	req.ToolsConnected = box.Connected
	req.Start, req.Self = ss.clients.noting(ss.Start), inside(filepath.Join(bin, SelfName(h.Binary)))
	req.Transcript, req.Log = transcript, h.Log
	req.Judge = ss.Window.judge(func(u ToolUse) Permission { return judgeTool(ss.Policy, u) })
	if ss.FollowUp != nil {
		req.FollowUp = ss.Window.followUp(HandoffFile(runDir), box, ss.FollowUp(box))
	}
	return req, nil
}

func (h *Host) emit(ss *Session, event string, data any, format string, args ...any) {
	if h.Emit != nil {
		h.Emit(Live{Time: h.Now(), Event: event, Iteration: ss.Request.Iteration,
			Task: plan.TaskID(ss.Request.TaskID), Message: fmt.Sprintf(format, args...), Data: data})
	}
}

func agentRun(role Role, r Result, peak int, d time.Duration) state.AgentRun {
	return state.AgentRun{Role: string(role), SessionID: notes.OneLine(r.SessionID, 100),
		Client: notes.OneLine(r.Client, 100),
		Model:  notes.OneLine(r.Model, 100), Outcome: string(r.Outcome), Reason: "end", Tokens: tokens(r.Usage),
		CostMicro: r.Usage.CostMicroUSD, DurationMs: d.Milliseconds(), Turns: r.Usage.Turns, APICalls: r.Usage.APICalls,
		ContextPeak: peak}
}

func tokens(u Usage) state.Tokens {
	return state.Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// Stopped is the result of a client that the harness itself has stopped for a cause.
func Stopped(r Result, cause error) Result {
	var over budgetError
	switch {
	case errors.As(cause, &over):
		r.Outcome, r.Detail = BudgetExceeded, over.limit
	case errors.Is(cause, ErrEndedByTool):
		r.Outcome, r.Detail = Completed, ""
	case errors.Is(cause, ErrWindowFull):
		r.Outcome, r.Detail = ContextLimit, cause.Error()
	case errors.Is(cause, ErrInterrupted), errors.Is(cause, ErrStopNow):
		r.Outcome, r.Detail = Interrupted, cause.Error()
	}
	return r
}

// finalize replaces a driver's result when we stopped the client or it exceeded a
// resource limit, and fills in what it did not report. The warning is for people.
func (ss *Session) finalize(r Result, cause error, m *meter) (_ Result, warning string) {
	r = Stopped(r, cause)
	if limit := ss.clients.limit(); limit != "" && cause == nil {
		r.Outcome, r.Detail = BudgetExceeded, limit
	} else if ss.MemoryKills != nil && cause == nil {
		if n := proc.MemoryKills() - *ss.MemoryKills; n > 0 && r.Outcome == Crashed && r.Detail == "signal 9" {
			r.Outcome, r.Detail = BudgetExceeded, proc.LimitMemory
		} else if n > 0 {
			warning = fmt.Sprintf("memory ran out, and the kernel ended %d processes of this machine meanwhile", n)
		}
	}
	if r.Usage.Total() == 0 && m.sum.Total() > 0 {
		r.Usage = m.sum
	}
	if r.Usage.CostMicroUSD == nil {
		if p, ok := ss.price(cmp.Or(r.Model, m.model)); ok {
			cost := p.Of(r.Usage)
			r.Usage.CostMicroUSD = &cost
		}
	}
	return r, warning
}
