package loop

import (
	"errors"
	"fmt"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// The harness captures memory at the end of every iteration, phase and session,
// whatever the agent did: from the state, the difference and the verdict. The
// text of a session is written anew each time; the lines that the state does
// not know any more come from the text before.

// endSession captures the memory of a session. That it fails never keeps the
// session from ending.
func (l *Loop) endSession(ended string) {
	_, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if s.Run.SessionIterations == 0 && !state.OfSession(s.Memory["session"], s.Run.Session) {
			return state.Event{}, journal.ErrNothing // it has done nothing
		}
		return state.Event{Type: state.EvContext, Phase: s.Run.Phase, Session: s.Run.Session,
			Context: &state.ContextNote{Kind: "memory", Memory: state.SessionMemory(s, nil, nil, ended)}}, nil
	})
	l.unlessNothing("the memory of the session", err)
}

func (l *Loop) unlessNothing(what string, err error) {
	if err != nil && !errors.Is(err, journal.ErrNothing) {
		l.Log("%s could not be recorded: %v", what, err)
	}
}

// leavePhase captures the memory of the phase that ends, from its own
// iterations. A phase in which no agent ran leaves none.
func (l *Loop) leavePhase(to state.Phase, reason string) {
	s, err := l.load()
	if err != nil || s.Run.Phase == to {
		return
	}
	from := s.Run.Phase
	in := notes.PhaseInput{Phase: string(from), Next: string(to), Reason: reason}
	if in.Figures, err = l.phaseFigures(from); err != nil || in.Figures.Iterations == 0 {
		return
	}
	in.Artifacts = l.artifacts(s, from)
	for _, k := range s.Knowledge {
		if k.Live() && k.Type == notes.KDecision {
			in.Decisions = append(in.Decisions, k.Text)
		}
	}
	in.Decisions = state.NewestLines(in.Decisions, 12)
	l.unlessNothing("the memory of the phase", l.record(state.Event{Type: state.EvContext, Phase: from,
		Context: &state.ContextNote{Kind: "memory", MemoryPhase: from, Memory: notes.PhaseMemory(in)}}))
}

// artifacts are what a phase has left behind.
func (l *Loop) artifacts(s state.State, p state.Phase) []string {
	var out []string
	switch p {
	case state.Discovery:
		specs, err := ReadSpecs(l.Repo.Root)
		if err != nil {
			l.Log("%v", err)
		}
		for _, sp := range specs {
			out = append(out, fmt.Sprintf("%s: %s, %d acceptance criteria", sp.Path, sp.Title, len(sp.Criteria)))
		}
	case state.Planning:
		for _, t := range s.Plan.Tasks {
			out = append(out, fmt.Sprintf("%s %s (%s)", t.ID, t.Title, t.Status))
		}
	case state.Building:
		for _, t := range s.Plan.Tasks {
			if t.Status == plan.Done {
				out = append(out, fmt.Sprintf("%s %s", t.ID, t.Title))
			}
		}
		if k := s.Run.LastKeep; k != nil {
			out = append(out, "newest commit "+k.Commit)
		}
	case state.Validation:
		if s.Report != nil {
			out = append(out, "report: "+reportLine(*s.Report))
		}
	}
	return out
}

// phaseFigures adds up the iterations since the phase was entered.
func (l *Loop) phaseFigures(p state.Phase) (notes.Figures, error) {
	var f notes.Figures
	cost, known := int64(0), true
	err := l.Journal.Walk(l.background(), func(e journal.Entry) (bool, error) {
		if c := e.Event.PhaseTo; c != nil {
			return false, nil
		}
		r := e.Event.Result
		if r == nil || e.Event.Phase != p {
			return true, nil
		}
		f.Iterations++
		f.Tokens += r.Tokens.Total()
		f.Duration += time.Duration(r.DurationMs) * time.Millisecond
		if r.CostMicro != nil {
			cost += *r.CostMicro
		} else if r.Tokens.Total() > 0 {
			known = false
		}
		return true, nil
	})
	if known {
		f.CostMicroUSD = &cost
	}
	return f, err
}
