package loop

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
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

// sessionMemory is the memory of the session in which s stands. Files are
// those that the newest iteration changed, said what its agent asked to be
// remembered, ended why the session is over, "" while it goes on.
func sessionMemory(s state.State, files, said []string, ended string) string {
	before, kept := s.Memory["session"], ""
	before, kept, _ = strings.Cut(before, notes.AgentNotes)
	if !ofSessionText(before, s.Run.Session) {
		before, kept = "", ""
	}
	return sessionText(s, before, kept, files, said, ended)
}

// memoryUpTo is the memory of a session after work was taken back: of what it
// was before, only what agents noted up to iteration n is left.
func memoryUpTo(s state.State, memory string, n int) string {
	before, kept, _ := strings.Cut(memory, notes.AgentNotes)
	if !ofSessionText(before, s.Run.Session) {
		kept = ""
	}
	return sessionText(s, "", notes.MemoryUpTo(kept, n), nil, nil, "")
}

func sessionText(s state.State, before, kept string, files, said []string, ended string) string {
	in := notes.SessionInput{Session: s.Run.Session, Iteration: s.Run.Iteration, Phase: string(s.Run.Phase), Reason: ended,
		Percent: s.Plan.PercentComplete(), Figures: sessionFigures(s.Run)}
	for _, t := range s.Plan.Tasks {
		name := strings.TrimSpace(string(t.ID) + " " + notes.OneLine(t.Title, 100))
		switch {
		case t.Status == plan.Done && t.CompletedAt != nil && !t.CompletedAt.Before(s.Run.StartedAt):
			in.Completed = append(in.Completed, name)
		case t.Status == plan.Failed || t.Status == plan.Blocked:
			in.Blockers = append(in.Blockers, fmt.Sprintf("%s is %s: %s", name, t.Status, strings.Join(t.BlockedBy, "; ")))
		case string(t.ID) == s.Run.LastTask && t.Status != plan.Skipped && t.Status != plan.Done:
			in.InProgress = name
			if t.Partial > 0 {
				in.Progress = fmt.Sprintf("Unfinished steps kept: %d. ", t.Partial)
			}
			if t.Attempts > 0 {
				in.Progress += fmt.Sprintf("Attempts rejected: %d. ", t.Attempts)
			}
		}
	}
	in.Decisions = section(before, "Architectural Decisions")
	if h := s.Handoff; h != nil {
		if in.InProgress != "" && h.Origin.Task == s.Run.LastTask {
			in.Progress += h.Summary
		}
		in.Decisions = newestLines(append(in.Decisions, h.ArchitecturalNotes...), 12)
		if h.Origin.Source != "harness" { // that one lists what the rest of this text says
			for _, u := range h.UnfinishedBusiness {
				in.Notes = append(in.Notes, u.Item)
			}
		}
		in.Notes = append(in.Notes, h.Recommendations...)
		for _, b := range h.BugsEncountered {
			if !b.Resolved {
				in.Blockers = append(in.Blockers, b.Description)
			}
		}
	}
	// The newest stand first.
	in.Files = slices.Compact(files)
	for _, f := range section(before, "Files Modified") {
		if !slices.Contains(in.Files, f) {
			in.Files = append(in.Files, f)
		}
	}
	in.Files = in.Files[:min(len(in.Files), 10)]
	in.Deps = section(before, "Dependencies Added")
	for _, f := range files {
		if line := fmt.Sprintf("%s changed in iteration %d", f, s.Run.Iteration); isManifest(f) {
			in.Deps = newestLines(append(in.Deps, line), 10)
		}
	}
	return notes.SessionMemory(in) + agentPart(kept, said, s.Run.Iteration)
}

// ofSessionText says whether a memory text is that of a session.
func ofSessionText(text string, session int) bool {
	return strings.Contains(text, fmt.Sprintf("\n- Session: %d\n", session))
}

func agentPart(kept string, said []string, iteration int) string {
	for _, text := range said {
		kept = notes.AddMemory(kept, text, iteration)
	}
	if kept = strings.Trim(kept, "\n"); kept == "" {
		return ""
	}
	return notes.AgentNotes + kept + "\n"
}

func sessionFigures(r state.Run) notes.Figures {
	f := notes.Figures{Iterations: r.SessionIterations, Tokens: r.Used.Tokens, Duration: r.LastAt.Sub(r.StartedAt)}
	if !r.Cost.Unknown {
		cost := r.Cost.Session
		f.CostMicroUSD = &cost
	}
	return f
}

// section returns the items below a heading of a memory text of ours.
func section(text, title string) []string {
	_, rest, ok := strings.Cut(text, "\n## "+title+"\n")
	if !ok {
		return nil
	}
	var out []string
	for line := range strings.Lines(rest) {
		item, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "- ")
		if !ok {
			break
		}
		if !strings.HasPrefix(item, "and ") || !strings.HasSuffix(item, " more") {
			out = append(out, item)
		}
	}
	return out
}

// newestLines keeps the last n of the lines, each once.
func newestLines(lines []string, n int) []string {
	var out []string
	for _, s := range slices.Backward(lines) {
		if s = notes.OneLine(s, 400); s != "" && !slices.Contains(out, s) && len(out) < n {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// isManifest says whether a file declares what a project depends on.
func isManifest(name string) bool {
	switch base := path.Base(name); base {
	case "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "Gemfile", "composer.json", "pom.xml", "build.gradle",
		"build.gradle.kts", "mix.exs", "Package.swift":
		return true
	default:
		return strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt")
	}
}

// endSession captures the memory of a session. That it fails never keeps the
// session from ending.
func (l *Loop) endSession(ended string) {
	_, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if s.Run.SessionIterations == 0 && !ofSessionText(s.Memory["session"], s.Run.Session) {
			return state.Event{}, journal.ErrNothing // it has done nothing
		}
		return state.Event{Type: state.EvContext, Phase: s.Run.Phase, Session: s.Run.Session,
			Context: &state.ContextNote{Kind: "memory", Memory: sessionMemory(s, nil, nil, ended)}}, nil
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
	in.Decisions = newestLines(in.Decisions, 12)
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
